"""A capsule between a wall and a jaw, held by friction alone: it must not sink.

As reported of MuJoCo (google-deepmind/mujoco, issue 3328): 45 g, 4 mm thick at each side, friction
0.7, pinched by 12 to 60 N, of which friction can hold twenty times the weight and more.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from studies.verify.scene import Hinge, Make, Plane, Reading, Scene, Solid, about, capsule

RADIUS, LENGTH, MASS = 0.004, 0.02, 0.045
THICK = 0.02  # half of the jaw's thickness [m]
HIGH = 0.3  # of the jaw's hinge above the capsule [m]
MU, TIMESTEP = 0.7, 2e-3
JAW = 6.0  # mass of the jaw [kg]
SETTLED, STEPS = 500, 5000


def pinched() -> Scene:
    """The jaw hangs on a hinge right above its face, its centre of mass beyond: so it closes.

    It presses with N = m g a / h, a the centre's distance from the hinge and h the hinge's height.
    N is 20 N, and friction can hold 2 mu N: 62 times the capsule's weight.
    """
    held = capsule(
        MASS, RADIUS, LENGTH, position=(RADIUS, 0.0, 0.0), turned=about((1, 0, 0), np.pi / 2)
    )
    jaw = Solid(
        JAW,
        (0.02, 0.02, 0.02),
        box=(THICK, 0.1, 0.05),
        offsets=((THICK - 0.1, 0.0, -HIGH),),
        hinge=Hinge(None, (0.0, 1.0, 0.0), (2 * RADIUS, 0.0, HIGH), (0.1, 0.0, 0.0)),
    )
    wall = Plane((0.0, 0.0, 0.0), (1.0, 0.0, 0.0))
    return Scene((held, jaw), TIMESTEP, False, friction=MU, planes=(wall,))


def readings(make: Make) -> Iterator[Reading]:
    """Ten seconds from the first on."""
    simulation = make(pinched())
    simulation.step(SETTLED)
    start = simulation.read().position[0]
    simulation.step(STEPS)
    moved = float(np.linalg.norm(simulation.read().position[0] - start))
    name = "capsule pinched between plates"
    yield Reading(name, "slip [um/s]", 0.0, 1e6 * moved / (STEPS * TIMESTEP), 1e-5)
