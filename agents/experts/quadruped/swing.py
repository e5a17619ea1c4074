"""Goals of the trot's feet: those that stand stay where they are, the others swing or land.

A swing starts at the first control step in which the foot is free; counted from there, velocities
of the reference meet those of the foot exactly, however the steps fall into the cycle.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dynenvs.agents.experts.common.curves import (
    glide,
    glide_rate,
    hop,
    hop_rate,
    phase_warp,
    phase_warp_rate,
)
from dynenvs.agents.experts.quadruped.records import LEGS, Base, Clock, Leg, Pairs, Stride, Swing
from dynenvs.agents.experts.quadruped.terrain import swing_over
from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Floats
from dynenvs.simd.elementary import cos, sin


@inlined
def set_places(g: Pairs, clock: Clock, stride: Stride, legs: Sequence[Leg]) -> None:
    """Where each foot is to stand next."""
    for leg in range(LEGS):
        one = legs[leg]
        x, y = _turned(g.stance[leg], clock.command[2] * (clock.left + 0.25 / clock.frequency))
        one.place[0] = x + stride.place[0] + stride.offset[0]
        one.place[1] = y + stride.place[1] + stride.offset[1]


@inlined
def set_goals(g: Swing, o: Floats, clock: Clock, base: Base, legs: Sequence[Leg]) -> None:
    """Velocities of all feet after the control period."""
    h = g.period
    press = min(g.press, 1.0 / h)
    for leg in range(LEGS):
        one = legs[leg]
        if one.rests:
            one.goal[0] = one.goal[1] = one.goal[2] = 0.0
        elif one.phase < clock.duty:  # it is late
            one.goal[0] = one.velocity[0] * (1.0 - h * press)
            one.goal[1] = one.velocity[1] * (1.0 - h * press)
            down = g.touchdown + g.sink * max(one.gap, 0.0)
            one.goal[2] = one.velocity[2] - h * press * (one.velocity[2] + down)
        elif g.scan_x > 0:
            swing_over(g, o, clock, base.height, one)
        else:
            _swing(g, clock, base, one, leg)


@inlined
def _swing(g: Swing, clock: Clock, base: Base, one: Leg, leg: int) -> None:
    """From where a steady gait would have lifted the foot to its next place, up and down."""
    f, h, lag = clock.frequency, g.period, g.lag
    steps = math.floor((one.phase - clock.duty) / (h * f) + 1e-9)
    start = one.phase - steps * h * f
    elapsed = steps * h
    whole = max(1.0 - start, 0.05) / f
    since = elapsed + 0.5 * clock.duty / f  # it stood below its hip [s]
    x0, y0 = _turned(g.stance[leg], -clock.command[2] * since)
    x0 += base.center[0] - clock.command[0] * since
    y0 += base.center[1] - clock.command[1] * since
    x1, y1 = one.place[0], one.place[1]
    span = whole - g.arrival / f
    part = _way(g, elapsed / span)
    rate = _way_rate(g, (elapsed - lag) / span) / span
    next_rate = _way_rate(g, (elapsed - lag + h) / span) / span
    # No stiffer than the least acceleration that comes there in the time left
    k = min(g.swing_rate, g.ease / max(whole - elapsed, h))
    k = min(k, 0.5 / (g.swing_damping * h))
    damping = 2.0 * g.swing_damping * k
    for i in range(2):
        start, end = (x0, x1) if i == 0 else (y0, y1)
        way, speed = start + part * (end - start), rate * (end - start)
        one.goal[i] = one.velocity[i] + (end - start) * (next_rate - rate)
        one.goal[i] += h * (k * k * (way - one.point[i]) + damping * (speed - one.velocity[i]))
    span = whole - g.landing / f
    up, _ = _height(g, elapsed, span)
    _, rate = _height(g, elapsed - lag, span)
    _, next_rate = _height(g, elapsed - lag + h, span)
    one.goal[2] = one.velocity[2] + next_rate - rate
    one.goal[2] += h * (k * k * (up - one.gap) + damping * (rate - one.velocity[2]))


@inlined
def _turned(place: Any, angle: float) -> tuple[float, float]:
    """A place over ground, turned about the origin."""
    c, s = cos(angle), sin(angle)
    return c * place[0] - s * place[1], s * place[0] + c * place[1]


@inlined
def _height(g: Swing, elapsed: float, span: float) -> tuple[float, float]:
    """Height and vertical speed of the reference: up, down, and on down until it touches."""
    x = elapsed / span
    if x > 1.0:
        return -g.touchdown * (elapsed - span), -g.touchdown
    up = g.clearance * hop(phase_warp(x, -g.rise), 0.0) + g.touchdown * span * x * x * (1.0 - x)
    rate = g.clearance * _hop_rate(g, x) / span + g.touchdown * x * (2.0 - 3.0 * x)
    return up, rate


@inlined
def _hop_rate(g: Swing, s: float) -> float:
    """Slope of the way up and down."""
    return hop_rate(phase_warp(s, -g.rise), 0.0) * phase_warp_rate(s, -g.rise)


@inlined
def _way(g: Swing, s: float) -> float:
    """Part of a swing's way over ground that is done after the part s of its time.

    The acceleration is a straight line: no other way asks for so little change of the torques.  It
    begins and ends in a jump, where the feet take over the load from each other anyway.
    """
    return glide(phase_warp(s, g.phase_warp), 0.0, 0.0)


@inlined
def _way_rate(g: Swing, s: float) -> float:
    return glide_rate(phase_warp(s, g.phase_warp), 0.0, 0.0) * phase_warp_rate(s, g.phase_warp)
