"""Gaits of the planar walkers: foot and hip motion as pure functions of phase and command.

A leg with phase p in [0, 1) stands for p < duty and swings for the rest of the cycle.  Measured in
strides, stride = command * cycle time, the motion has one shape for each command, a row of numbers
that `gait_plan.py` has chosen for smooth torques:

- the hip's way and height are their means and a few harmonics of the step frequency;
- a standing foot is fixed to the ground; before it lifts off it may roll over its toe;
- a swinging foot goes one stride forward and one clearance up, both measured over the ground.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.agents.experts.common.memory import TIMES
from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Floats
from dynenvs.memory.records import record_type

# Entries of a shape: lengths in strides and angles a stride, unless they say otherwise.
ANKLE_X = 0  # of a foot in mid-stance, from the hip [m]
HEIGHT = 1  # mean of the hip above the ground [m]
HIP_X = 2  # sine and cosine of each harmonic of the hip's way ...
X_HARMONICS = 3
HIP_Z = HIP_X + 2 * X_HARMONICS  # ... and of its height
Z_HARMONICS = 2
FORWARD = HIP_Z + 2 * Z_HARMONICS  # a swinging foot's lead on a cycloid: shaped bump
CLEARANCE = FORWARD + 3  # height of its apex [m]
LIFT = CLEARANCE + 1  # skew of its rise [1]
HEEL = LIFT + 2  # height of the bump of its pitch, toe down [rad], ...
HEEL_START = HEEL + 1  # ... its phases ...
HEEL_END = HEEL + 2
HEEL_SKEW = HEEL + 3  # ... and its skew [1]
ENTRIES = HEEL + 4

ROLLING = 0.06  # phase before it rises in which a heel sheds its load
STANDING_PACE = 0.15  # of the hip, from which feet share by the phase alone [m/s]
KNOTS = 10  # commands at which shapes are given

# A walker's gait and the shape of its legs; one record, made by `expert.py`.
GAIT = record_type(
    [
        *TIMES,
        ("legs", "i8"),
        ("root", "i8"),  # root coordinates: x, z, and the trunk's pitch if it is free
        ("hips", "f8", (4,)),  # each leg's hip before the trunk's origin [m]
        ("duty", "f8"),  # fraction of the cycle that a foot stands
        ("landing", "f8"),  # fraction of the cycle by which a foot is forward before it is down
        ("slow_frequency", "f8"),  # cycles a second at rest [Hz]
        ("frequency_slope", "f8"),  # [Hz s/m]
        ("commands", "f8", (KNOTS,)),  # rising [m/s]
        ("shapes", "f8", (KNOTS, ENTRIES)),  # a shape for each of them
        ("pitch", "f8"),  # of the foot flat on the ground, sum of the leg's angles [rad]
        ("sole_x", "f8"),  # contact point that the foot rolls off from, from the ankle [m]
        ("sole_z", "f8"),
        ("heel_x", "f8"),  # the contact point at its other end; the same for a spherical foot [m]
        ("radius", "f8"),  # of a spherical foot, 0 for a sole [m]
        ("thigh", "f8"),  # hip to knee [m]
        ("shank", "f8"),  # knee to ankle [m]
        ("offsets", "f8", (4,)),  # phase of each leg
        ("weight", "f8"),  # of the whole robot [N]
        ("hip_rate", "f8"),  # bandwidth of the hip's forward speed [rad/s]
        ("hip_acceleration", "f8"),  # its bound [m/s^2]
        ("height_rate", "f8"),  # bandwidth of the hip's height [rad/s]
        ("swing_rate", "f8"),  # bandwidth of a swinging foot [rad/s]
        ("tilt_rate", "f8"),  # bandwidth of the trunk's pitch, where it is free [rad/s]
    ]
)


@inlined
def frequency(g: Any, command: float) -> float:
    """Gait cycles a second at a commanded speed [Hz]."""
    return g.slow_frequency + g.frequency_slope * command


@inlined
def interpolate(g: Any, command: float, shape: Floats) -> None:
    """The shape for a command: linear between its neighbours, the end's beyond the ends."""
    k = 0
    while k < KNOTS - 2 and command > g.commands[k + 1]:
        k += 1
    t = (command - g.commands[k]) / (g.commands[k + 1] - g.commands[k])
    t = min(max(t, 0.0), 1.0)
    for i in range(ENTRIES):
        shape[i] = (1.0 - t) * g.shapes[k, i] + t * g.shapes[k + 1, i]


@inlined
def bump(s: float, c0: float, c1: float, c2: float) -> tuple[float, float, float]:
    """64 s^3 (1 - s)^3 (c0 + c1 d + c2 d^2), d = 2 s - 1, and two derivatives; 0 outside [0, 1]."""
    if s <= 0.0 or s >= 1.0:
        return 0.0, 0.0, 0.0
    u, d = s * (1.0 - s), 2.0 * s - 1.0
    b0, b1, b2 = 64.0 * u * u * u, -192.0 * u * u * d, 384.0 * u * (d * d - u)
    p0, p1, p2 = c0 + d * (c1 + d * c2), 2.0 * c1 + 4.0 * c2 * d, 8.0 * c2
    return b0 * p0, b1 * p0 + b0 * p1, b2 * p0 + 2.0 * b1 * p1 + b0 * p2


@inlined
def stride(shape: Floats, s: float) -> tuple[float, float, float]:
    """A swinging foot's way in strides, s from 0 to 1, and its first two derivatives by s.

    A cycloid, s - sin(2 pi s) / (2 pi), whose greatest jerk is two thirds of the minimum-jerk
    polynomial's, and a shaped bump.  At rest at both ends.
    """
    s = min(max(s, 0.0), 1.0)
    a = 2.0 * math.pi * s
    b0, b1, b2 = bump(s, shape[FORWARD], shape[FORWARD + 1], shape[FORWARD + 2])
    return (
        s - math.sin(a) / (2.0 * math.pi) + b0,
        1.0 - math.cos(a) + b1,
        2.0 * math.pi * math.sin(a) + b2,
    )


@inlined
def lift(shape: Floats, s: float) -> tuple[float, float, float]:
    """A swinging foot's height [m], s from 0 to 1, and its first two derivatives by s."""
    up = shape[CLEARANCE]
    return bump(s, up, up * shape[LIFT], up * shape[LIFT + 1])


@inlined
def heel_rise(g: Any, shape: Floats, phase: float, command: float) -> tuple[float, float, float]:
    """Pitch of a foot, toe down [rad], with its first two time derivatives."""
    f = frequency(g, command)
    rate = f / (shape[HEEL_END] - shape[HEEL_START])
    s = (phase - shape[HEEL_START]) / (shape[HEEL_END] - shape[HEEL_START])
    top = shape[HEEL] * command / f
    b0, b1, b2 = bump(s, top, top * shape[HEEL_SKEW], 0.0)
    return b0, rate * b1, rate * rate * b2


@inlined
def smooth_step(x: float) -> float:
    """0 for x <= 0, 1 for x >= 1, 3 x^2 - 2 x^3 between."""
    y = min(max(x, 0.0), 1.0)
    return y * y * (3.0 - 2.0 * y)


@inlined
def hip(
    g: Any, shape: Floats, start: int, harmonics: int, phase: float, length: float, command: float
) -> tuple[float, float, float]:
    """A hip coordinate's deviation from its mean, its velocity and acceleration.

    start: where its harmonics are in the shape (HIP_X or HIP_Z); length: a stride [m].  The first
    harmonic goes once round from step to step, from the middle of double support.
    """
    rate = 4.0 * math.pi * frequency(g, command)
    angle = 4.0 * math.pi * (phase - 0.5 * (g.duty - 0.5))
    x, v, a = 0.0, 0.0, 0.0
    for k in range(harmonics):
        w = (k + 1) * rate
        c, s = math.cos((k + 1) * angle), math.sin((k + 1) * angle)
        p, q = length * shape[start + 2 * k], length * shape[start + 2 * k + 1]
        x += p * s + q * c
        v += w * (p * c - q * s)
        a -= w * w * (p * s + q * c)
    return x, v, a


@inlined
def load_share(g: Any, phase: float, pace: float) -> float:
    """How much of its load a leg should carry: 0 at touchdown and lift-off, 1 in single support.

    Before a robot that stands moves on, at a pace [m/s] near 0, its feet share evenly: handed over
    within a step or two, the load would make a foot slip.
    """
    if phase >= g.duty:
        return 0.0
    ramp = max(g.duty - 0.5, 0.02)
    share = min(max(min(phase, g.duty - phase) / ramp, 0.0), 1.0)
    even = 0.5 * max(1.0 - abs(pace) / STANDING_PACE, 0.0)
    return max(share, even) if phase < 0.5 * g.duty else min(share, 1.0 - even)


@inlined
def heel_share(shape: Floats, phase: float) -> float:
    """How much of a foot's load may lie behind its toe: none from where the heel rises."""
    return min(max((shape[HEEL_START] - phase) / ROLLING, 0.0), 1.0)
