"""The trot's plan: who carries, how the base should move, and where the next feet go.

Between two steps the robot is a linear inverted pendulum of its angular momentum about the line
between the standing feet (Gong & Grizzle, One-step ahead prediction of angular momentum about the
contact point for control of bipedal locomotion, ICRA 2021): L' = m g d, d' = L / (m z), d the
distance of the centre of mass from the line.  Steady, its velocity is the command times
factor(t) = c cosh(omega (t - T / 2)), with mean 1 over the time T between two steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from dynenvs.agents.experts.common.curves import smooth_step
from dynenvs.agents.experts.quadruped.records import (
    PAIRS,
    Base,
    Carriage,
    Clock,
    Footsteps,
    Ground,
    Leg,
    Load,
    Reserve,
    Stride,
    Wanted,
)
from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Floats
from dynenvs.simd.elementary import cos, cosh, exp, sin, sinh


@inlined
def carry_base(
    g: Carriage,
    clock: Clock,
    ground: Ground,
    base: Base,
    load: Load,
    R: Floats,
    stride: Stride,
    wanted: Wanted,
) -> None:
    """The base's desired accelerations, balance left aside.

    The command is trimmed first: the pendulum knows nothing of the legs' own momentum.
    """
    clock.command[0] = (1.0 + g.trim[0]) * clock.command[0] + g.trim[2]
    clock.command[1] *= 1.0 + g.trim[1]
    half = 0.5 / clock.frequency
    stride.omega = math.sqrt(g.gravity / max(base.center[2], 0.05))
    swing = 0.5 * stride.omega * half
    mean = swing / sinh(swing)
    stride.last = mean * cosh(swing)
    stride.last_along = 1.0 + g.sway * (stride.last - 1.0)
    turning = clock.command[2]
    most = _most(g, clock, base)
    wanted.a[0] = wanted.a[1] = 0.0
    for pair in range(PAIRS):
        # Through the double support either pair goes on from, or begins before, its own step
        time = clock.since
        if pair != clock.main:
            time += half if clock.since < clock.left else -half
        stride.factor[pair] = 1.0 + g.sway * (mean * cosh(stride.omega * (time - 0.5 * half)) - 1.0)
        growth = g.sway * mean * stride.omega * sinh(stride.omega * (time - 0.5 * half))
        x = g.speed_rate * (clock.command[0] * stride.factor[pair] - base.speed[0])
        y = g.speed_rate * (clock.command[1] * stride.factor[pair] - base.speed[1])
        shrink = most / max(math.sqrt(x * x + y * y), most)
        wanted.along[pair, 0] = shrink * x + clock.command[0] * growth - turning * clock.command[1]
        wanted.along[pair, 1] = shrink * y + clock.command[1] * growth + turning * clock.command[0]
        wanted.a[0] += load.weight[pair] * wanted.along[pair, 0]
        wanted.a[1] += load.weight[pair] * wanted.along[pair, 1]
    k = g.height_rate
    speed = math.sqrt(clock.command[0] ** 2 + clock.command[1] ** 2)
    low = g.height - g.height_slope * speed
    climb = ground.rise[0] * base.speed[0] + ground.rise[1] * base.speed[1]
    lift = k * k * (low - base.height) - 2.0 * k * (base.speed[2] - climb)
    wanted.a[2] = min(max(lift, -g.lift), g.lift)
    k = g.tilt_rate
    x, y = g.follow * ground.rise[0], g.follow * ground.rise[1]
    steep = math.sqrt(1.0 + x * x + y * y)
    wanted.alpha[0] = k * k * (R[1, 2] + y / steep) - 2.0 * k * base.turning[0]
    wanted.alpha[1] = -k * k * (R[0, 2] + x / steep) - 2.0 * k * base.turning[1]
    wanted.alpha[2] = g.turn_rate * (turning - base.turning[2])
    for k in range(3):
        wanted.alpha[k] = min(max(wanted.alpha[k], -g.twist), g.twist)


@inlined
def choose_friction(g: Reserve, clock: Clock, base: Base, legs: Sequence[Leg], load: Load) -> float:
    """The friction that is relied on: little, for the ground may be slippery, but all in need.

    In need is who is faster than commanded, or moves another way: a push, a stumble.  Who is slower
    just has time.  And who is far from the line between the standing feet: that asks for friction
    of the distance over the height.  Returns the speed that is wrong, which is also a reason to
    step quicker [m/s].
    """
    x, y = clock.command[0], clock.command[1]
    size = math.sqrt(x * x + y * y)
    forward = (x * base.speed[0] + y * base.speed[1]) / max(size, 0.05)
    across = (x * base.speed[1] - y * base.speed[0]) / max(size, 0.05)
    wrong = max(forward - size, -forward, 0.0)
    wrong = math.sqrt(wrong * wrong + across * across)
    if size < 0.05:
        wrong = math.sqrt(base.speed[0] ** 2 + base.speed[1] ** 2)
    need = smooth_step((wrong - g.fast[0]) / (g.fast[1] - g.fast[0]))
    ux, uy = base.line[clock.main, 0], base.line[clock.main, 1]
    foot = legs[g.first[clock.main]].point
    beside = abs(ux * (base.center[1] - foot[1]) - uy * (base.center[0] - foot[0])) / base.center[2]
    far = smooth_step((beside - g.beside[0]) / (g.beside[1] - g.beside[0]))
    need = max(need, far)
    load.friction = g.friction + need * (g.grip - g.friction)
    return wrong


@inlined
def plan_step(g: Footsteps, clock: Clock, base: Base, legs: Sequence[Leg], stride: Stride) -> None:
    """Where the centre of mass will be when the next pair takes over, and where that pair goes.

    Along the line the velocity is controlled, across it the pendulum falls.  The next pair stands
    so that the pendulum has the commanded velocity when it leaves: deadbeat, in both directions.
    """
    ux, uy = base.line[clock.main, 0], base.line[clock.main, 1]
    foot = legs[g.first[clock.main]].point
    distance = -uy * (base.center[0] - foot[0]) + ux * (base.center[1] - foot[1])
    across = -uy * base.momentum[0] + ux * base.momentum[1]
    along = ux * base.speed[0] + uy * base.speed[1]
    w, left = stride.omega, clock.left
    c, s = cosh(w * left), sinh(w * left)
    lack = (ux * clock.command[0] + uy * clock.command[1]) * stride.factor[clock.main] - along
    change = min(abs(lack) * (1.0 - exp(-g.speed_rate * left)), _most(g, clock, base) * left)
    then = along / stride.factor[clock.main] * stride.last_along + math.copysign(change, lack)
    swept = 0.5 * (along + then) * left
    fallen = distance * (c - 1.0) + across / w * s
    falling = across * c + w * distance * s
    stride.place[0] = base.center[0] + ux * swept - uy * fallen
    stride.place[1] = base.center[1] + uy * swept + ux * fallen
    vx, vy = ux * then - uy * falling, uy * then + ux * falling
    half = 0.5 / clock.frequency
    turn = clock.command[2] * (left + 0.5 * half + g.lead)
    ct, st = cos(turn), sin(turn)
    wx = _change(g, ct * clock.command[0] - st * clock.command[1], vx / stride.last)
    wy = _change(g, st * clock.command[0] + ct * clock.command[1], vy / stride.last)
    c, s = cosh(w * half), w * sinh(w * half)
    x, y = (vx * c - vx - wx * stride.last) / s, (vy * c - vy - wy * stride.last) / s
    shrink = g.reach / max(math.sqrt(x * x + y * y), g.reach)
    stride.offset[0], stride.offset[1] = shrink * x, shrink * y


@inlined
def _most(g: Carriage, clock: Clock, base: Base) -> float:
    """Bound on the acceleration along the line: it gathers way gently, too."""
    wanted = clock.command[0] ** 2 + clock.command[1] ** 2
    return g.acceleration if wanted > base.speed[0] ** 2 + base.speed[1] ** 2 else g.deceleration


@inlined
def _change(g: Footsteps, wanted: float, present: float) -> float:
    """What one step is to change of a mean velocity: it gathers way gently and brakes hard."""
    most = g.gain if abs(wanted) > abs(present) else g.braking
    return min(max(wanted - present, -most), most)
