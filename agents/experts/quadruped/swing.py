"""Goals of the trot's feet: those that stand stay where they are, the others swing or land.

A swing starts at the first control step in which the foot is free; counted from there, velocities
of the reference meet those of the foot exactly, however the steps fall into the cycle.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.agents.experts.common.curves import (
    glide,
    glide_rate,
    hop,
    hop_rate,
    phase_warp,
    phase_warp_rate,
    smooth_step,
)
from dynenvs.agents.experts.common.motion import DOWN
from dynenvs.agents.experts.quadruped.records import LEGS
from dynenvs.agents.experts.quadruped.terrain import swing_over
from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Floats, Records

HOVER = 3e-4  # height at which a swing ends [m]
NEAR = 0.02  # height below which a foot whose swing is over comes down [m]
LANDING_SPEED = 0.5  # at most [m/s]
LANDED = 0.85  # phase from which on a foot that touches terrain stays
PRESSING_SPEED = 0.05  # of a foot that is down and does not carry yet [m/s]


@inlined
def set_places(g: Any, p: Any, legs: Records) -> None:
    """Where each foot is to stand next."""
    for leg in range(LEGS):
        one = legs[leg]
        x, y = _turned(g.stance[leg], p.command[2] * (p.left + 0.25 / p.frequency))
        one.place[0], one.place[1] = x + p.place[0] + p.offset[0], y + p.place[1] + p.offset[1]


@inlined
def set_goals(g: Any, o: Floats, p: Any, legs: Records, base: float) -> None:
    """Velocities of all feet after the control period.

    o: observation; base: height of the robot's base in the frame [m].
    """
    h = g.period
    for leg in range(LEGS):
        one = legs[leg]
        if one.stands:
            one.goal[0] = one.goal[1] = 0.0
            one.goal[2] = -one.gap / h
        elif one.phase < p.duty:  # it is late
            one.goal[0] = one.goal[1] = 0.0
            one.goal[2] = _down(g, p, one)
        elif g.scan_x > 0:
            swing_over(g, o, p, one, base)
            if one.touches and one.phase > LANDED:
                one.goal[0] = one.goal[1] = 0.0
                one.goal[2] = -PRESSING_SPEED
        else:
            _swing(g, p, one, leg)
            if one.phase > 1.0 - g.landing and one.gap < NEAR:
                one.goal[2] = _down(g, p, one)
                if one.gap < DOWN:
                    one.goal[0] = one.goal[1] = 0.0


@inlined
def _down(g: Any, p: Any, one: Any) -> float:
    """Vertical speed: on the ground when the foot is due to carry, or at the end of the period.

    In physics steps of equal acceleration a foot goes two thirds of its new velocity's way.
    """
    h = g.period
    left = (1.0 - one.phase) / p.frequency if one.phase > p.duty else 0.0
    down = one.gap / left if left > 1.5 * h else 1.5 * (one.gap + 3e-5) / h + 0.5 * one.velocity[2]
    return -min(max(down, PRESSING_SPEED), LANDING_SPEED)


@inlined
def _swing(g: Any, p: Any, one: Any, leg: int) -> None:
    """From where a steady gait would have lifted the foot to its next place, up and down."""
    f, h, lag = p.frequency, g.period, g.lag
    steps = math.floor((one.phase - p.duty) / (h * f) + 1e-9)
    start = one.phase - steps * h * f
    elapsed = steps * h
    whole = max(1.0 - start, 0.05) / f
    since = elapsed + 0.5 * p.duty / f  # it stood below its hip [s]
    x0, y0 = _turned(g.stance[leg], -p.command[2] * since)
    x0 += p.center[0] - p.command[0] * since
    y0 += p.center[1] - p.command[1] * since
    x1, y1 = one.place[0], one.place[1]
    span = whole - g.arrival / f
    way = _way(g, elapsed / span)
    rate = _way_rate(g, (elapsed - lag) / span) / span
    next_rate = _way_rate(g, (elapsed - lag + h) / span) / span
    k = g.swing_rate
    pull = k * k * smooth_step(4.0 * elapsed / whole)
    one.goal[0] = one.velocity[0] + (x1 - x0) * (next_rate - rate)
    one.goal[0] += h * pull * (x0 + way * (x1 - x0) - one.point[0])
    one.goal[0] += h * 2.0 * k * (rate * (x1 - x0) - one.velocity[0])
    one.goal[1] = one.velocity[1] + (y1 - y0) * (next_rate - rate)
    one.goal[1] += h * pull * (y0 + way * (y1 - y0) - one.point[1])
    one.goal[1] += h * 2.0 * k * (rate * (y1 - y0) - one.velocity[1])
    span = whole - g.landing / f
    up = g.clearance * hop(phase_warp(elapsed / span, -g.rise), 0.0)
    up += HOVER * smooth_step(4.0 * elapsed / span)
    rate = g.clearance * _hop_rate(g, (elapsed - lag) / span) / span
    next_rate = g.clearance * _hop_rate(g, (elapsed - lag + h) / span) / span
    one.goal[2] = one.velocity[2] + next_rate - rate
    one.goal[2] += h * (k * k * (up - one.gap) + 2.0 * k * (rate - one.velocity[2]))


@inlined
def _turned(place: Any, angle: float) -> tuple[float, float]:
    """A place over ground, turned about the origin."""
    c, s = math.cos(angle), math.sin(angle)
    return c * place[0] - s * place[1], s * place[0] + c * place[1]


@inlined
def _hop_rate(g: Any, s: float) -> float:
    """Slope of the way up and down."""
    return hop_rate(phase_warp(s, -g.rise), 0.0) * phase_warp_rate(s, -g.rise)


@inlined
def _way(g: Any, s: float) -> float:
    """Part of a swing's way over ground that is done after the part s of its time.

    The acceleration is a straight line: no other way asks for so little change of the torques.  It
    begins and ends in a jump, where the feet take over the load from each other anyway.
    """
    return glide(phase_warp(s, g.phase_warp), 0.0, 0.0)


@inlined
def _way_rate(g: Any, s: float) -> float:
    return glide_rate(phase_warp(s, g.phase_warp), 0.0, 0.0) * phase_warp_rate(s, g.phase_warp)
