"""A groove of two planes presses harder than a floor: where a box slips in it, how a ball rolls.

Each plane's normal makes the angle phi with the groove's own upward direction.  On a slope s both
carry N = m g cos(s) / (2 cos(phi)), so that friction is that of a floor with mu / cos(phi).

A pyramid whose directions do not lie along the slip pulls across the groove, too, and that changes
N: there the bar is for the exact cone.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import atan, cos, pi, sin, sqrt

import numpy as np

from studies.verify.scene import (
    G,
    Make,
    Plane,
    Reading,
    Scene,
    Solid,
    about,
    ball,
    box,
    tilted,
)

PHI = pi / 4
MU = 0.4
HALF = (0.1, 0.05, 0.05)
RADIUS = 0.1
TIMESTEP, STEPS = 1e-3, 1000
THROWN = 0.1  # where it is to slip, it begins with so much: then the answer is unique [m/s]
X = (1.0, 0.0, 0.0)


def readings(make: Make) -> Iterator[Reading]:
    """A box just below and above the slope at which it slips; a ball that rolls, and that slips."""
    for off in (-1e-3, 1e-3):
        yield from _box(make, off)
    yield from _ball(make, 0.2, "rolls")
    yield from _ball(make, 1.2, "slips")


def grooved(solid: Solid, slope: float) -> Scene:
    """A solid in a groove along x that falls by `slope` [rad]; it touches both planes."""
    planes = tuple(Plane((0.0, 0.0, 0.0), (0.0, side * sin(PHI), cos(PHI))) for side in (-1.0, 1.0))
    gravity = tilted(slope)
    return Scene((solid,), TIMESTEP, False, gravity, MU, planes=planes)


def _box(make: Make, off: float) -> Iterator[Reading]:
    """Turned by 45 degrees, with two faces on the planes.

    Above the threshold it is thrown: one at rest may also jam there, for friction across the groove
    can press it against the planes, and both answers keep to Coulomb's law.
    """
    slope = atan(MU / cos(PHI)) + off
    begins = 0.0 if off < 0 else THROWN
    solid = box(2.0, HALF, position=(0.0, 0.0, sqrt(2.0) * HALF[2]), turned=about(X, PHI))
    solid = solid._replace(velocity=(begins, 0.0, 0.0))
    simulation = make(grooved(solid, slope))
    simulation.step(STEPS)
    rate = G * (sin(slope) - MU / cos(PHI) * cos(slope)) if begins else 0.0
    speed = float(np.linalg.norm(simulation.read().velocity[0]))
    expected = begins + rate * TIMESTEP * STEPS
    name = f"box in a groove, 1 mrad {'below' if off < 0 else 'above'} the threshold"
    yield Reading(name, "speed [m/s]", expected, speed, 1e-9, exact=bool(begins))


def _ball(make: Make, slope: float, what: str) -> Iterator[Reading]:
    """It turns about x no more than its contacts let it: they are r cos(phi) below its centre."""
    begins = 0.0 if what == "rolls" else THROWN
    place = (0.0, 0.0, RADIUS / cos(PHI))
    solid = ball(1.0, RADIUS, position=place, velocity=(begins, 0.0, 0.0))
    simulation = make(grooved(solid, slope))
    simulation.step(STEPS)
    rolls = G * sin(slope) / (1 + 0.4 / cos(PHI) ** 2)
    slips = G * (sin(slope) - MU / cos(PHI) * cos(slope))
    speed = float(simulation.read().velocity[0, 0])
    expected = begins + (rolls if what == "rolls" else slips) * TIMESTEP * STEPS
    name = f"ball {what} down a groove"
    yield Reading(name, "speed [m/s]", expected, speed, 1e-9, exact=bool(begins))
