"""Physics does not depend on where in the world it happens, nor on which way it faces.

Bodies tumble onto each other and onto the floor: once as they are, once moved, once turned about
the vertical.  A wrong sign of one coordinate, in what finds contacts or in what solves them, is
seen here whatever it is multiplied with: most other scenes stand at the origin.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from dynenvs import ModelBuilder, World, frames, free
from dynenvs.model.model import Model

Array = NDArray[np.float64]
SHAPES = ("box", "capsule", "sphere")
MOVED = np.array([3.0, -7.0, 0.0])
TURNED = 0.7  # [rad]
EPS = 1e-9  # what rounding may grow to [m]; 4e-12 is seen


def scene(shapes: tuple[str, ...], **options: str) -> Model:
    """Loose bodies above a floor, centres of mass off the middle."""
    builder = ModelBuilder(**options)
    builder.half_space("floor")
    for i, shape in enumerate(shapes):
        name = f"{shape}{i}"
        inertia = [[0.012, 0.002, -0.001], [0.002, 0.010, 0.003], [-0.001, 0.003, 0.009]]
        builder.body(name, joint=free(), mass=1.0 + i, com=(0.02, -0.03, 0.01), inertia=inertia)
        if shape == "box":
            builder.box(name, name, half_size=(0.12, 0.09, 0.06), friction=0.6)
        elif shape == "capsule":
            ends = {"start": (-0.1, 0.0, 0.02), "end": (0.12, 0.01, 0.0)}
            builder.capsule(name, name, radius=0.05, friction=0.6, **ends)
        else:
            builder.sphere(name, name, radius=0.09, friction=0.6)
    return builder.build()


def fall(
    model: Model, steps: int, moved: Array, angle: float, timestep: float = 0.004
) -> list[Array]:
    """Rotations and positions of all bodies over time, taken back to where they were not moved."""
    world, rng = World(model, timestep=timestep), np.random.default_rng(3)
    c, s = np.cos(angle), np.sin(angle)
    R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    for i, body in enumerate(model.bodies[1:]):
        quaternion = rng.normal(size=4)
        quaternion /= np.linalg.norm(quaternion)
        w, x, y, z = quaternion
        h, k = np.cos(angle / 2), np.sin(angle / 2)
        turned = np.array([h * w - k * z, h * x - k * y, h * y + k * x, h * z + k * w])
        at = np.array([0.02 * i, -0.03 * i, 0.25 + 0.34 * i])
        world.q[body.q_at : body.q_at + 3] = R @ at + moved
        world.q[body.q_at + 3 : body.q_at + 7] = turned
        world.v[body.v_at : body.v_at + 3] = R @ rng.normal(0.0, 0.5, 3)
        world.v[body.v_at + 3 : body.v_at + 6] = rng.normal(0.0, 3.0, 3)
    seen, touched = [], 0
    for _ in range(steps):
        world.step()
        touched += len(world.contacts) > 0
        found = frames(model, world.q, world.v)
        back = (found.positions[1:] - moved) @ R
        seen.append(np.concatenate([back.ravel(), (R.T @ found.rotations[1:]).ravel()]))
    assert touched > steps // 3
    assert world.diagnostics.failed == 0
    return seen


@pytest.mark.parametrize("shapes", [SHAPES, ("box", "box", "box"), ("capsule", "box", "capsule")])
@pytest.mark.parametrize("cone", ["exact", "pyramid"])
def test_moved_and_turned_scenes_go_the_same_way(cone: str, shapes: tuple[str, ...]) -> None:
    """To rounding.

    Coulomb's exact law may have several answers where bodies touch each other and the floor at
    once; rounding then chooses, so that the exact cone is watched in the first impacts alone.
    """
    model, steps = scene(shapes, cone=cone), 90 if cone == "pyramid" else 56
    first = fall(model, steps, np.zeros(3), 0.0)
    for moved, angle in ((MOVED, 0.0), (np.zeros(3), TURNED), (MOVED, TURNED)):
        for here, there in zip(first, fall(model, steps, moved, angle), strict=True):
            np.testing.assert_allclose(there, here, rtol=0.0, atol=EPS)


@pytest.mark.parametrize("shapes", [SHAPES, ("box", "capsule", "box")])
@pytest.mark.parametrize(("integrator", "timestep"), [("midpoint", 0.004), ("euler", 0.02)])
def test_so_they_do_by_the_midpoint_rule_and_in_long_steps(
    shapes: tuple[str, ...], integrator: str, timestep: float
) -> None:
    """Contacts are carried along with their bodies, or found at the end of a step alone."""
    model, steps = scene(shapes, integrator=integrator), 60 if timestep < 0.01 else 24
    first = fall(model, steps, np.zeros(3), 0.0, timestep)
    moved = fall(model, steps, MOVED, TURNED, timestep)
    for here, there in zip(first, moved, strict=True):
        np.testing.assert_allclose(there, here, rtol=0.0, atol=EPS)
