"""A belt that runs under a box: how fast it takes the box along, and up which slope.

A box put on it at rest is accelerated by mu g until it goes as fast as the belt, at u / (mu g), and
rides along from then on; until then it has slid by u^2 / (2 mu g).  On a slope that rises along the
belt it rides up if tan(slope) < mu.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import atan, cos, radians, sin

import numpy as np

from studies.verify.scene import G, Make, Reading, Scene, box, tilted

HALF = (0.2, 0.15, 0.05)
MU = 0.3
SPEED = 1.0  # [m/s]
STEPS = 400  # until the box rides along, exactly
DT = SPEED / (MU * G * STEPS)  # [s]


def readings(make: Make) -> Iterator[Reading]:
    """Put on the belt at rest, along two headings; riding up a slope, and sliding down it."""
    for heading in (0.0, 22.5):
        yield from _dropped(make, heading)
    for off in (-1e-3, 1e-3):
        yield from _inclined(make, off)


def _dropped(make: Make, heading: float) -> Iterator[Reading]:
    c, s = cos(radians(heading)), sin(radians(heading))
    solid = box(2.0, HALF, position=(0.0, 0.0, HALF[2]))
    simulation = make(Scene((solid,), DT, friction=MU, belt=(SPEED * c, SPEED * s, 0.0)))
    simulation.step(STEPS // 2)
    v = simulation.read().velocity[0]
    name = f"box dropped on a belt at {heading:g} degrees"
    yield Reading(name, "speed half-way [m/s]", SPEED / 2, float(c * v[0] + s * v[1]), 1e-9)
    yield Reading(name, "speed aside [m/s]", 0.0, float(abs(c * v[1] - s * v[0])), 1e-9)
    simulation.step(STEPS)
    state = simulation.read()
    v, x = state.velocity[0], state.position[0]
    off = float(np.linalg.norm(v - SPEED * np.array([c, s, 0.0])))
    yield Reading(name, "speed off the belt's as it rides [m/s]", 0.0, off, 1e-9)
    slid = SPEED * DT * 1.5 * STEPS - float(c * x[0] + s * x[1])
    exact = SPEED**2 / (2 * MU * G) - SPEED * DT / 2  # of a step that ends as it stops to slip
    yield Reading(name, "slid / exact [1]", 1.0, slid / exact, 1e-3)


def _inclined(make: Make, off: float) -> Iterator[Reading]:
    """A box that starts as fast as the belt, just below and above atan(mu), after 1 s."""
    slope = atan(MU) + off
    heading = radians(22.5)
    up = (-SPEED * cos(heading), -SPEED * sin(heading), 0.0)
    solid = box(2.0, HALF, position=(0.0, 0.0, HALF[2]), velocity=up)
    gravity = tilted(slope, heading)
    simulation = make(Scene((solid,), 1e-3, gravity=gravity, friction=MU, belt=up))
    simulation.step(1000)
    v = simulation.read().velocity[0]
    measured = -float(cos(heading) * v[0] + sin(heading) * v[1])
    expected = SPEED - max(0.0, G * (sin(slope) - MU * cos(slope)))
    side = "below" if off < 0 else "above"
    name = f"box on a rising belt, 1 mrad {side} the threshold"
    yield Reading(name, "speed upwards [m/s]", expected, measured, 1e-9)
