"""Gaits of the planar walkers: foot and hip motion as pure functions of phase and command.

A leg with phase p in [0, 1) stands for p < duty and swings for the rest of the cycle.  While it
stands, its foot is fixed to the ground; while it swings, the foot travels one stride in the frame
of the ground, with s from 0 to 1 over the swing (forward motion ends a little earlier):

    x(s) = stride m(s),   m(s) = s - sin(2 pi s) / (2 pi)      (cycloid: at rest at both ends)
    z(s) = clearance b(s), b(s) = 64 s^3 (1 - s)^3             (smooth to the second derivative)

Measured from the hip, the foot lifts off half a stance length behind its nominal place and lands
half a stance length before it, stance length = speed * duty * cycle time.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.compiled import inlined
from dynenvs.layout import record_type

# A walker's gait and the shape of its legs; one record, made by `walking.py`.
GAIT = record_type(
    [
        ("legs", "i8"),
        ("duty", "f8"),  # fraction of the cycle that a foot stands
        ("landing", "f8"),  # fraction of the cycle by which a foot is forward before it is down
        ("slow_frequency", "f8"),  # cycles a second at rest [Hz]
        ("frequency_slope", "f8"),  # [Hz s/m]
        ("clearance", "f8"),  # height of the swing's apex [m]
        ("hip_height", "f8"),  # of the hip above the ankle, at low speed [m]
        ("reach", "f8"),  # longest hip-to-ankle distance used at the ends of a stance [m]
        ("bounce", "f8"),  # amplitude of the hip's vertical oscillation per stance length [m/m]
        ("ankle_x", "f8"),  # nominal place of the ankle ahead of the hip in mid-stance [m]
        ("pitch", "f8"),  # of the foot flat on the ground, sum of the leg's angles [rad]
        ("heel_rise", "f8"),  # most that a swinging foot tips toe down, a metre of stance [rad/m]
        ("rise_start", "f8"),  # phases between which the heel is up
        ("rise_end", "f8"),
        ("sole_x", "f8"),  # contact point that the foot rolls off from, from the ankle [m]
        ("sole_z", "f8"),
        ("radius", "f8"),  # of a spherical foot, 0 for a sole [m]
        ("thigh", "f8"),  # hip to knee [m]
        ("shank", "f8"),  # knee to ankle [m]
        ("offsets", "f8", (4,)),  # phase of each leg
        ("hips", "f8", (4,)),  # x of each hip [m]
        ("sway", "f8"),  # how much the hip gives way to a swinging foot, of the foot's motion
        ("hip_rate", "f8"),  # bandwidth of the hip's forward speed [rad/s]
        ("hip_acceleration", "f8"),  # its bound [m/s^2]
        ("height_rate", "f8"),  # bandwidth of the hip's height [rad/s]
        ("swing_rate", "f8"),  # bandwidth of a swinging foot [rad/s]
    ]
)


LAG = 0.035  # of a stride


@inlined
def frequency(g: Any, command: float) -> float:
    """Gait cycles a second at a commanded speed [Hz]."""
    return g.slow_frequency + g.frequency_slope * command


@inlined
def stance_length(g: Any, command: float) -> float:
    """Way of the hip over a standing foot [m]."""
    return command * g.duty / frequency(g, command)


@inlined
def stride(s: float) -> tuple[float, float, float]:
    """Cycloid m(s) and its first two derivatives by s.

    Its greatest jerk, 39.5 stride / T^3, is two thirds of the minimum-jerk polynomial's.
    """
    a = 2.0 * math.pi * s
    return s - math.sin(a) / (2.0 * math.pi), 1.0 - math.cos(a), 2.0 * math.pi * math.sin(a)


@inlined
def lift(s: float) -> tuple[float, float, float]:
    """The bump b(s) and its first two derivatives by s."""
    u = s * (1.0 - s)
    du = 1.0 - 2.0 * s
    return 64.0 * u * u * u, 192.0 * u * u * du, 384.0 * u * (du * du - u)


@inlined
def heel_rise(g: Any, phase: float, command: float) -> tuple[float, float, float]:
    """Pitch of a swinging foot, toe down [rad], with its first two time derivatives."""
    width = g.rise_end - g.rise_start
    t = (phase - g.rise_start) / width
    if t <= 0.0 or t >= 1.0:
        return 0.0, 0.0, 0.0
    top = g.heel_rise * stance_length(g, command)
    rate = frequency(g, command) / width
    b0, b1, b2 = lift(t)
    return top * b0, top * rate * b1, top * rate * rate * b2


@inlined
def smooth_step(x: float) -> float:
    """0 for x <= 0, 1 for x >= 1, 3 x^2 - 2 x^3 between."""
    y = min(max(x, 0.0), 1.0)
    return y * y * (3.0 - 2.0 * y)


@inlined
def hip_height(g: Any, phase: float, command: float) -> tuple[float, float, float]:
    """Height of the hip above the ground [m], its velocity and acceleration.

    The stance leg's reach bounds it; over a cycle it rises and sinks twice, lowest in the middle
    of double support.
    """
    # A foot gathers speed slowly after lift-off: it falls behind by some more of its stride.
    half = 0.5 * stance_length(g, command) + LAG * command / frequency(g, command)
    bounce = g.bounce * stance_length(g, command)
    level = min(g.hip_height, math.sqrt(g.reach * g.reach - half * half)) - g.sole_z
    rate = 4.0 * math.pi * frequency(g, command)
    angle = 4.0 * math.pi * (phase - 0.5 * (g.duty - 0.5))
    c, s = math.cos(angle), math.sin(angle)
    # Lowest where the angle is 0
    return level + bounce * (1.0 - c), bounce * rate * s, bounce * rate * rate * c


@inlined
def load_share(g: Any, phase: float) -> float:
    """How much of its load a leg should carry: 0 at touchdown and lift-off, 1 in single support."""
    ramp = max(g.duty - 0.5, 0.02)
    return min(max(min(phase, g.duty - phase) / ramp, 0.0), 1.0)
