"""Accelerations of the biped's feet: those that stand keep still, the others swing or come down.

A swinging foot follows a smooth curve from wherever it is to its foothold: that of least greatest
jerk, which would have begun where its remaining way says.  So no swing's beginning is remembered.
It ends on its way down: the foot meets the ground earlier or later, as the ground has it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from dynenvs.agents.experts.common.curves import (
    between,
    glide,
    glide_rate,
    hop,
    hop_rate,
    phase_warp,
    phase_warp_rate,
    smooth_step,
)
from dynenvs.agents.experts.humanoid.legs import find_tilt
from dynenvs.agents.experts.humanoid.records import LEGS, TWIST, Clock, Ground, Leg, Stride, Swing
from dynenvs.agents.experts.humanoid.terrain import aim, rise_over
from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Floats
from dynenvs.simd.elementary import cos, sin

LAST = 0.15  # about the least part of the way that is divided by
RAMP, RAMP_UP = 0.25, 0.18  # of a swing's acceleration, and upwards, in a part of it


@inlined
def set_goals(
    g: Swing, o: Floats, clock: Clock, ground: Ground, stride: Stride, legs: Sequence[Leg]
) -> None:
    """Accelerations of all soles, turning and then linear."""
    for leg in range(LEGS):
        one = legs[leg]
        if one.stands:
            for k in range(TWIST):
                one.goal[k] = 0.0
            _lie_down(g, clock, one)
        elif one.phase < clock.duty:  # it is late
            _come_down(g, clock, one)
        else:
            _swing(g, o, clock, ground, stride, one)


@inlined
def _lie_down(g: Swing, clock: Clock, one: Leg) -> None:
    """A standing sole is as flat as its roll says, and turns about an edge that stays."""
    pitch = one.roll[0]
    x, y, v = -sin(one.yaw), cos(one.yaw), one.velocity
    _turn(one, between(g.flat_rate, clock.rolls), x, y)
    rate = x * v[0] + y * v[1]
    along, high = -one.edge * cos(pitch), one.edge * sin(pitch)
    turn = x * one.goal[0] + y * one.goal[1]
    forward = turn * high - rate * rate * along
    one.goal[3], one.goal[4] = forward * y, -forward * x
    one.goal[5] = -turn * along - rate * rate * high


@inlined
def _turn(one: Leg, k: float, x: float, y: float) -> None:
    """Follow the sole's roll about the axis (x, y) across it, with a bandwidth of k [rad/s]."""
    roll = one.roll
    for i, axis in enumerate((x, y)):
        error = one.tilt[i] + axis * roll[0]
        one.goal[i] = axis * roll[2] + k * (k * error + 2.0 * (axis * roll[1] - one.velocity[i]))


@inlined
def _come_down(g: Swing, clock: Clock, one: Leg) -> None:
    """The foot comes straight down while its sole turns flat."""
    k, c = g.swing_rate, g.foot_rate
    for i in range(2):
        one.goal[i] = c * (c * one.tilt[i] - 2.0 * one.velocity[i])
    for i in range(2, TWIST):
        one.goal[i] = -2.0 * k * one.velocity[i]
    sink = between(g.landing_speed, clock.rolls) + g.sink * max(one.point[2] - one.ground, 0.0)
    one.goal[5] -= 2.0 * k * sink


@inlined
def _swing(g: Swing, o: Floats, clock: Clock, ground: Ground, stride: Stride, one: Leg) -> None:
    """From where the foot is to its next place, up and down, toe down and up again: its roll."""
    if g.scan_x > 0:
        aim(g, o, ground, stride, one)
        find_tilt(one)
    f, h = clock.frequency, g.period
    k = g.swing_rate * (1.0 + g.hurry[1] * smooth_step(stride.moved / g.hurry[0]))
    warp = between(g.phase_warp, clock.rolls)
    elapsed, whole = (one.phase - clock.duty) / f, (1.0 - clock.duty) / f
    done = elapsed / whole
    rest = 1.0 - glide(phase_warp(done, warp), RAMP, RAMP)
    rest = math.sqrt(rest * rest + LAST * LAST)
    rate = _rate(done, warp) / whole / rest
    jerk = (_rate((elapsed + h) / whole, warp) / whole / rest - rate) / h
    pull = k * k * smooth_step(4.0 * done - 2.5)  # in the end the place alone counts
    x, y = stride.place[0] - one.point[0], stride.place[1] - one.point[1]
    yaw = clock.command[2] * (clock.left + 0.5 * clock.step) - one.yaw
    v = one.velocity
    one.goal[2] = (jerk + pull + 2.0 * k * rate) * yaw - 2.0 * k * v[2]
    one.goal[3] = (jerk + pull + 2.0 * k * rate) * x - 2.0 * k * v[3]
    one.goal[4] = (jerk + pull + 2.0 * k * rate) * y - 2.0 * k * v[4]
    _turn(one, g.foot_rate, -sin(one.yaw), cos(one.yaw))
    if g.scan_x > 0:
        one.goal[5] = rise_over(g, o, ground, stride, one, elapsed, whole)
        return
    up, rise = _rise(g, clock, elapsed, whole)
    _, later = _rise(g, clock, elapsed + h, whole)
    one.goal[5] = one.lift[2] + (later - rise) / h
    up, rise = up + one.lift[0], rise + one.lift[1]
    one.goal[5] += k * (k * (up - one.point[2]) + 2.0 * (rise - v[5]))


@inlined
def _rise(g: Swing, clock: Clock, elapsed: float, whole: float) -> tuple[float, float]:
    """Height and vertical speed of a swing, which meets the ground on its way down."""
    speed = between(g.landing_speed, clock.rolls)
    sinking = g.landing * whole  # in which it reaches its landing speed
    over = max(elapsed - whole + sinking, 0.0) / sinking
    hover = speed * sinking / 3.0 * smooth_step(3.0 * elapsed / whole)
    up = g.clearance * hop(elapsed / whole, RAMP_UP) + hover
    rate = g.clearance * hop_rate(elapsed / whole, RAMP_UP) / whole
    down = speed * over * over
    return up - down * over * sinking / 3.0, rate - down


@inlined
def _rate(s: float, more: float) -> float:
    """Rate of the way forward: it begins more gently than it ends."""
    return glide_rate(phase_warp(s, more), RAMP, RAMP) * phase_warp_rate(s, more)
