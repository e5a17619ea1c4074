"""The planar walkers' gait: who carries how much, and where feet go, by the clock.

A leg with phase p in [0, 1) is due to stand for p < duty and to swing for the rest of the cycle.  A
swinging foot goes a stride forward on a cycloid over the ground and rises once; it comes down to a
little below where the ground should be, so that it meets it, wherever that is, at a small speed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from dynenvs.agents.experts.common.curves import smooth_step
from dynenvs.agents.experts.planar.records import Carriage, Clock, Gait, Load, Stance, Swing
from dynenvs.jit.compiled import inlined
from dynenvs.simd.elementary import cos, sin

EARLY = 0.6  # part of the swing from which a foot that touches has landed
SINKING = 0.85  # part of the swing from which a foot goes below the ground
HELD = 0.1  # of the cycle that a foot which has come down is taken to stand
REST = 0.15  # pace below which feet share by halves [m/s]


@inlined
def share_of(g: Gait, phase: float, pace: float) -> float:
    """Of the load: rises from a light one after touchdown, falls to it before lift-off."""
    if phase >= g.duty:
        return g.light
    x = min(phase, g.duty - phase) / g.ramp
    share = g.light + (1.0 - g.light) * smooth_step(x)
    # Before a robot that stands moves on, its feet share evenly
    even = 0.5 * max(1.0 - abs(pace) / REST, 0.0)
    return max(share, even) if phase < 0.5 * g.duty else min(share, 1.0 - even)


@inlined
def decide_stance(g: Gait, clock: Clock, legs: Sequence[Stance], load: Load) -> None:
    """Which feet stand, and their shares: the clock's, as far as their flags allow."""
    felt = 0
    for leg in range(g.legs):
        felt += legs[leg].touches
    for leg in range(g.legs):
        one = legs[leg]
        s = (one.phase - g.duty) / (1.0 - g.duty)
        one.stands = 1 if one.touches != 0 and (s < 0.0 or s > EARLY) else 0
        if one.stood and one.phase < HELD:  # a light foot may lose touch for a moment
            one.stands = 1
        if g.balances and felt == 0 and clock.known == 0 and s < 0.0:  # an episode's start
            one.stands = 1
    for leg in range(g.legs):  # no foot is lifted before the next one at its end stands
        one = legs[leg]
        alone = True
        for other in range(g.legs):
            if other != leg and g.hips[other] == g.hips[leg] and legs[other].stands != 0:
                alone = False
        if alone and one.touches != 0:
            one.stands = 1
    load.carried = 0.0
    for leg in range(g.legs):
        one = legs[leg]
        if one.stands == 0:
            one.share = 0.0
        else:
            one.share = share_of(g, one.phase, clock.pace)
        load.carried += one.share


@inlined
def rolling(g: Gait, phase: float, length: float, rate: float) -> tuple[float, float, float]:
    """Pitch of a foot that rolls over its toe and comes back, its rate, its acceleration."""
    span = g.roll_end - g.roll_start
    s = (phase - g.roll_start) / span
    if s <= 0.0 or s >= 1.0:
        return 0.0, 0.0, 0.0
    top, r = g.roll * length, rate / span
    u, d = s * (1.0 - s), 1.0 - 2.0 * s
    return (
        64.0 * top * u * u * u,
        192.0 * top * r * u * u * d,
        384.0 * top * r * r * u * (d * d - u),
    )


@inlined
def stride(s: float) -> tuple[float, float, float]:
    """A cycloid from 0 to 1 and its first two derivatives: at rest at both ends."""
    s = min(max(s, 0.0), 1.0)
    a = 2.0 * math.pi * s
    return s - sin(a) / (2.0 * math.pi), 1.0 - cos(a), 2.0 * math.pi * sin(a)


@inlined
def even_stride(s: float, ramp: float) -> tuple[float, float, float]:
    """The same, but for a part `ramp` at either end its acceleration is a line: less jerk."""
    s = min(max(s, 0.0), 1.0)
    near = min(s, 1.0 - s)
    top = 6.0 / (1.0 - ramp)
    slope = 2.0 * top / (1.0 - 2.0 * ramp)
    if near < ramp:
        way, rate, bend = near * near * near / 6.0, 0.5 * near * near, near
        way, rate, bend = top / ramp * way, top / ramp * rate, top / ramp * bend
    else:
        y = near - ramp
        way = top * (ramp * ramp / 6.0 + y * (0.5 * ramp + 0.5 * y)) - slope * y * y * y / 6.0
        rate, bend = top * (0.5 * ramp + y) - 0.5 * slope * y * y, top - slope * y
    return (way, rate, bend) if s < 0.5 else (1.0 - way, rate, -bend)


@inlined
def lift(g: Swing, s: float) -> tuple[float, float, float]:
    """Height of a swinging foot [m], s from 0 to 1, and its first two derivatives by s."""
    s = min(max(s, 0.0), 1.0)
    u, d = s * (1.0 - s), 1.0 - 2.0 * s
    k, b = 64.0 * g.clearance, g.below
    x = max(s - SINKING, 0.0) / (1.0 - SINKING)
    r = 1.0 / (1.0 - SINKING)
    z = k * u * u * u - b * x * x * x
    dz = 3.0 * k * u * u * d - 3.0 * b * r * x * x
    return z, dz, 6.0 * k * u * (d * d - u) - 6.0 * b * r * r * x


@inlined
def hip_height(g: Carriage, length: float) -> float:
    """Height of the hip at which no foot is out of a leg's reach in a stride [m]."""
    half = 0.5 * g.duty * length + abs(g.ahead)
    return min(g.height, math.sqrt(max(g.reach * g.reach - half * half, 0.01)) - g.sole)
