"""The trot's plan: who carries, how the base should move, and where the next feet go.

Between two steps the robot is a linear inverted pendulum of its angular momentum about the line
between the standing feet (Gong & Grizzle, One-step ahead prediction of angular momentum about the
contact point for control of bipedal locomotion, ICRA 2021): L' = m g d, d' = L / (m z), d the
distance of the centre of mass from the line.  Steady, its velocity is the command times
factor(t) = c cosh(omega (t - T / 2)), with mean 1 over the time T between two steps.
"""

from __future__ import annotations

import math

from dynenvs.agents.experts.common.curves import smooth_step
from dynenvs.agents.experts.quadruped.records import PAIRS, Memo, Plan, Trot
from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Floats, Records
from dynenvs.simd.elementary import cos, cosh, exp, sin, sinh

WAIT, WAIT_FROM = 0.1, 0.05  # share by which a clock that is ahead runs slower; cycles of that


@inlined
def desired_accelerations(g: Trot, p: Plan, R: Floats) -> None:
    """The base's desired accelerations, balance left aside.

    The command is trimmed first: the pendulum knows nothing of the legs' own momentum.
    """
    p.command[0] = (1.0 + g.trim[0]) * p.command[0] + g.trim[2]
    p.command[1] *= 1.0 + g.trim[1]
    half = 0.5 / p.frequency
    p.omega = math.sqrt(g.gravity / max(p.center[2], 0.05))
    swing = 0.5 * p.omega * half
    mean = swing / sinh(swing)
    p.last = mean * cosh(swing)
    p.last_along = 1.0 + g.sway * (p.last - 1.0)
    turning = p.command[2]
    most = _most(g, p)
    p.a[0] = p.a[1] = 0.0
    for pair in range(PAIRS):
        # Through the double support either pair goes on from, or begins before, its own step
        time = p.since
        if pair != p.main:
            time += half if p.since < p.left else -half
        p.factor[pair] = 1.0 + g.sway * (mean * cosh(p.omega * (time - 0.5 * half)) - 1.0)
        growth = g.sway * mean * p.omega * sinh(p.omega * (time - 0.5 * half))
        x = g.speed_rate * (p.command[0] * p.factor[pair] - p.speed[0])
        y = g.speed_rate * (p.command[1] * p.factor[pair] - p.speed[1])
        shrink = most / max(math.sqrt(x * x + y * y), most)
        p.along[pair, 0] = shrink * x + p.command[0] * growth - turning * p.command[1]
        p.along[pair, 1] = shrink * y + p.command[1] * growth + turning * p.command[0]
        p.a[0] += p.weight[pair] * p.along[pair, 0]
        p.a[1] += p.weight[pair] * p.along[pair, 1]
    k = g.height_rate
    speed = math.sqrt(p.command[0] ** 2 + p.command[1] ** 2)
    low = g.height - g.height_slope * speed
    climb = p.rise[0] * p.speed[0] + p.rise[1] * p.speed[1]
    lift = k * k * (low - p.height) - 2.0 * k * (p.speed[2] - climb)
    p.a[2] = min(max(lift, -g.lift), g.lift)
    k = g.tilt_rate
    x, y = g.follow * p.rise[0], g.follow * p.rise[1]
    steep = math.sqrt(1.0 + x * x + y * y)
    p.alpha[0] = k * k * (R[1, 2] + y / steep) - 2.0 * k * p.turning[0]
    p.alpha[1] = -k * k * (R[0, 2] + x / steep) - 2.0 * k * p.turning[1]
    p.alpha[2] = g.turn_rate * (turning - p.turning[2])
    for k in range(3):
        p.alpha[k] = min(max(p.alpha[k], -g.twist), g.twist)


@inlined
def choose_friction(g: Trot, p: Plan, legs: Records) -> None:
    """The friction that is relied on: little, for the ground may be slippery, but all in need.

    In need is who is faster than commanded, or moves another way: a push, a stumble.  Who is slower
    just has time.  And who is far from the line between the standing feet: that asks for friction
    of the distance over the height.
    """
    x, y = p.command[0], p.command[1]
    size = math.sqrt(x * x + y * y)
    forward = (x * p.speed[0] + y * p.speed[1]) / max(size, 0.05)
    across = (x * p.speed[1] - y * p.speed[0]) / max(size, 0.05)
    wrong = max(forward - size, -forward, 0.0)
    wrong = math.sqrt(wrong * wrong + across * across)
    if size < 0.05:
        wrong = math.sqrt(p.speed[0] ** 2 + p.speed[1] ** 2)
    p.wrong = wrong
    need = smooth_step((wrong - g.fast[0]) / (g.fast[1] - g.fast[0]))
    ux, uy = p.line[p.main, 0], p.line[p.main, 1]
    foot = legs[g.first[p.main]].point
    beside = abs(ux * (p.center[1] - foot[1]) - uy * (p.center[0] - foot[0])) / p.center[2]
    far = smooth_step((beside - g.beside[0]) / (g.beside[1] - g.beside[0]))
    need = max(need, far)
    p.friction = g.friction + need * (g.grip - g.friction)


@inlined
def choose_pace(g: Trot, p: Plan, new: Memo) -> None:
    """Who is in need steps quicker; later the clock waits."""
    rate = g.quicker[2] * smooth_step((p.wrong - g.quicker[0]) / (g.quicker[1] - g.quicker[0]))
    new.ahead = p.ahead + g.period * p.frequency * p.faster / (1.0 + p.faster)
    new.ahead -= math.floor(new.ahead + 0.5)
    lead = min(max(new.ahead / WAIT_FROM, -1.0), 1.0)
    new.faster = rate - WAIT * lead if rate < WAIT else rate


@inlined
def plan_step(g: Trot, p: Plan, legs: Records) -> None:
    """Where the centre of mass will be when the next pair takes over, and where that pair goes.

    Along the line the velocity is controlled, across it the pendulum falls.  The next pair stands
    so that the pendulum has the commanded velocity when it leaves: deadbeat, in both directions.
    """
    ux, uy = p.line[p.main, 0], p.line[p.main, 1]
    foot = legs[g.first[p.main]].point
    distance = -uy * (p.center[0] - foot[0]) + ux * (p.center[1] - foot[1])
    across = -uy * p.momentum[0] + ux * p.momentum[1]
    along = ux * p.speed[0] + uy * p.speed[1]
    w, left = p.omega, p.left
    c, s = cosh(w * left), sinh(w * left)
    lack = (ux * p.command[0] + uy * p.command[1]) * p.factor[p.main] - along
    change = min(abs(lack) * (1.0 - exp(-g.speed_rate * left)), _most(g, p) * left)
    then = along / p.factor[p.main] * p.last_along + math.copysign(change, lack)
    swept = 0.5 * (along + then) * left
    fallen = distance * (c - 1.0) + across / w * s
    falling = across * c + w * distance * s
    p.place[0] = p.center[0] + ux * swept - uy * fallen
    p.place[1] = p.center[1] + uy * swept + ux * fallen
    vx, vy = ux * then - uy * falling, uy * then + ux * falling
    half = 0.5 / p.frequency
    turn = p.command[2] * (left + 0.5 * half + g.lead)
    ct, st = cos(turn), sin(turn)
    wx = _change(g, ct * p.command[0] - st * p.command[1], vx / p.last)
    wy = _change(g, st * p.command[0] + ct * p.command[1], vy / p.last)
    c, s = cosh(w * half), w * sinh(w * half)
    x, y = (vx * c - vx - wx * p.last) / s, (vy * c - vy - wy * p.last) / s
    shrink = g.reach / max(math.sqrt(x * x + y * y), g.reach)
    p.offset[0], p.offset[1] = shrink * x, shrink * y


@inlined
def _most(g: Trot, p: Plan) -> float:
    """Bound on the acceleration along the line: it gathers way gently, too."""
    wanted = p.command[0] ** 2 + p.command[1] ** 2
    return g.acceleration if wanted > p.speed[0] ** 2 + p.speed[1] ** 2 else g.deceleration


@inlined
def _change(g: Trot, wanted: float, present: float) -> float:
    """What one step is to change of a mean velocity: it gathers way gently and brakes hard."""
    most = g.gain if abs(wanted) > abs(present) else g.braking
    return min(max(wanted - present, -most), most)
