"""Goals of the biped's feet: those that stand stay where they are, the others swing or land.

A swinging foot follows a smooth curve from wherever it is to its foothold: that of least greatest
jerk, which would have begun where its remaining way says.  So no swing's beginning is remembered.
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
from dynenvs.agents.experts.planar.biped_records import LEGS, TWIST
from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Records

HOVER = 3e-4  # height at which a swing ends [m]
NEAR = 0.02  # height below which a foot whose swing is over comes down [m]
LANDING_SPEED = 0.4  # at most [m/s]
PRESSING_SPEED = 0.05  # of a foot that is down and does not carry yet [m/s]
FLATTENING = 1.5  # of a sole on the ground, at most [rad/s]
HANGING = 0.8  # part of the swing in which the toe hangs
LAST = 0.04  # least part of the way that is divided by
RAMP = 0.25  # of a swing's acceleration, in a part of it


@inlined
def set_goals(g: Any, p: Any, legs: Records) -> None:
    """Twists of all soles after the control period."""
    for leg in range(LEGS):
        one = legs[leg]
        if one.stands:
            _stay(one, g.period)
        elif one.phase < p.duty:  # it is late
            _lower_flat(g, p, one)
        else:
            _swing(g, p, one)
            if one.phase > 1.0 - g.landing and one.gap < NEAR:
                down = _down(g, p, one)
                if one.gap < DOWN:
                    _lower_flat(g, p, one)
                one.goal[5] = down


@inlined
def _stay(one: Any, h: float) -> None:
    """The lowest corner stays on the ground; what is up of the sole comes down about it."""
    size = math.sqrt(one.tilt[0] * one.tilt[0] + one.tilt[1] * one.tilt[1])
    rate = min(1.0 / h, FLATTENING / max(size, 1e-9))
    wx, wy = rate * one.tilt[0], rate * one.tilt[1]
    r = one.corner
    one.goal[0], one.goal[1], one.goal[2] = wx, wy, 0.0
    one.goal[3], one.goal[4] = -wy * r[2], wx * r[2]
    one.goal[5] = -one.gap / h - (wx * r[1] - wy * r[0])


@inlined
def _lower_flat(g: Any, p: Any, one: Any) -> None:
    """The foot comes straight down while its sole turns flat."""
    for k in range(TWIST):
        one.goal[k] = 0.0
    size = math.sqrt(one.tilt[0] * one.tilt[0] + one.tilt[1] * one.tilt[1])
    rate = min(1.0 / g.period, FLATTENING / max(size, 1e-9))
    one.goal[0], one.goal[1] = rate * one.tilt[0], rate * one.tilt[1]
    one.goal[5] = _down(g, p, one)


@inlined
def _down(g: Any, p: Any, one: Any) -> float:
    """Vertical speed: on the ground when the foot is due to carry, or at the end of the period.

    In physics steps of equal acceleration a foot goes two thirds of its new velocity's way.
    """
    h = g.period
    left = (1.0 - one.phase) / p.frequency if one.phase > p.duty else 0.0
    down = one.gap / left if left > 1.5 * h else 1.5 * (one.gap + 3e-5) / h + 0.5 * one.velocity[5]
    return -min(max(down, PRESSING_SPEED), LANDING_SPEED)


@inlined
def _swing(g: Any, p: Any, one: Any) -> None:
    """From where the foot is to its next place, up and down, toe down and up again."""
    f, h, lag = p.frequency, g.period, g.lag
    steps = math.floor((one.phase - p.duty) / (h * f) + 1e-9)
    start = one.phase - steps * h * f
    elapsed = steps * h
    whole = max(1.0 - start, 0.05) / f
    span = whole - g.arrival / f
    rest = max(1.0 - glide(phase_warp(elapsed / span, g.phase_warp), RAMP, RAMP), LAST)
    rate = _rate((elapsed - lag) / span, g.phase_warp) / span / rest
    next_rate = _rate((elapsed - lag + h) / span, g.phase_warp) / span / rest
    k = g.swing_rate
    pull = k * k * smooth_step(4.0 * elapsed / whole - 2.5)  # in the end the place alone counts
    x, y = p.place[0] - one.point[0], p.place[1] - one.point[1]
    yaw = p.command[2] * (p.left + 0.5 * p.step) - one.yaw
    one.goal[2] = one.velocity[2] + yaw * (next_rate - rate)
    one.goal[2] += h * (pull * yaw + 2.0 * k * (rate * yaw - one.velocity[2]))
    one.goal[3] = one.velocity[3] + x * (next_rate - rate)
    one.goal[3] += h * (pull * x + 2.0 * k * (rate * x - one.velocity[3]))
    one.goal[4] = one.velocity[4] + y * (next_rate - rate)
    one.goal[4] += h * (pull * y + 2.0 * k * (rate * y - one.velocity[4]))
    # The toe hangs while the foot is well above the ground
    part, most = HANGING * whole, g.heel * p.command[0]
    since = elapsed - 0.5 * (whole - part)
    pitch = most * hop(since / part, RAMP)
    turn = most * hop_rate((since - lag) / part, RAMP) / part
    next_turn = most * hop_rate((since - lag + h) / part, RAMP) / part
    x, y = -math.sin(one.yaw), math.cos(one.yaw)
    one.goal[0] = one.velocity[0] + x * (next_turn - turn)
    one.goal[0] += h * k * (k * (one.tilt[0] + x * pitch) + 2.0 * (x * turn - one.velocity[0]))
    one.goal[1] = one.velocity[1] + y * (next_turn - turn)
    one.goal[1] += h * k * (k * (one.tilt[1] + y * pitch) + 2.0 * (y * turn - one.velocity[1]))
    span = whole - g.landing / f
    up = g.clearance * hop(elapsed / span, RAMP) + HOVER * smooth_step(4.0 * elapsed / span)
    rate = g.clearance * hop_rate((elapsed - lag) / span, RAMP) / span
    next_rate = g.clearance * hop_rate((elapsed - lag + h) / span, RAMP) / span
    one.goal[5] = one.velocity[5] + next_rate - rate
    one.goal[5] += h * (k * k * (up - one.point[2]) + 2.0 * k * (rate - one.velocity[5]))


@inlined
def _rate(s: float, more: float) -> float:
    """Rate of the way forward: it begins more gently than it ends."""
    return glide_rate(phase_warp(s, more), RAMP, RAMP) * phase_warp_rate(s, more)
