"""Balls, capsules and boxes beside cylinders: distances by hand, and by a search along the rod."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.spatial.transform import Rotation
from solids import add_free, pose
from test_distance import depth_of
from trees import Array

from dynenvs.model.builder import ModelBuilder
from dynenvs.simulation.world import World

RADIUS, HEIGHT = 0.05, 0.04  # of the cylinder, and half of its length [m]
BALL = 0.01  # radius of the ball and of the capsule [m]
HALF = np.array([0.01, 0.02, 0.08])  # of the box; the last one, too, of the capsule's axis [m]
# The rod's axis in the cylinder's: at random, parallel, across, nearly parallel
AXES = ["random", "parallel", "across", "nearly"]


def beside(kind: str) -> World:
    """A ball, capsule or box, and the cylinder."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    size = HALF if kind == "box" else np.array([BALL, HALF[2], 0.0])
    add_free(builder, "rod", kind, size, np.zeros((0, 3)))
    add_free(builder, "cylinder", "cylinder", np.array([RADIUS, HEIGHT, 0.0]), np.zeros((0, 3)))
    return World(builder.build())


def from_cylinder(p: Array) -> float:
    """How far a point is from the cylinder, in its axes [m]."""
    out, over = np.hypot(p[0], p[1]) - RADIUS, abs(p[2]) - HEIGHT
    return float(np.hypot(max(out, 0.0), max(over, 0.0)))


def from_rod(middle: Array, axis: Array, end: float) -> float:
    """How far a rod is from the cylinder: along it the distance has one valley [m]."""
    tried = np.linspace(-end, end, 201)
    best = int(np.argmin([from_cylinder(middle + t * axis) for t in tried]))
    found = minimize_scalar(
        lambda t: from_cylinder(middle + t * axis), method="bounded",
        bounds=(tried[max(best - 1, 0)], tried[min(best + 1, 200)]), options={"xatol": 1e-13},
    )  # fmt: skip
    ends = [from_cylinder(middle + t * axis) for t in (-end, end)]
    return float(min(found.fun, *ends))


def turned(how: str, rng: np.random.Generator) -> Array:
    """A rotation of the rod's axis, z, against the cylinder's."""
    if how == "random":
        return np.asarray(Rotation.random(random_state=int(rng.integers(2**31))).as_matrix())
    about_z = Rotation.from_euler("z", rng.uniform(0, 2 * np.pi)).as_matrix()
    lean = {"parallel": 0.0, "across": np.pi / 2, "nearly": 1e-7}[how]
    return np.asarray(about_z @ Rotation.from_euler("y", lean).as_matrix())


@pytest.mark.parametrize("how", AXES)
@pytest.mark.parametrize("kind", ["sphere", "capsule", "box"])
def test_the_distance_from_a_cylinder(kind: str, how: str) -> None:
    """Of a box it is that of the nearest edge, or less where a face is nearer."""
    rng, world = np.random.default_rng(7), beside(kind)
    seen, equal = 0, 0
    while seen < 40:
        R, p = turned(how, rng), rng.uniform(-0.15, 0.15, 3)
        if kind == "box":
            apart = min(
                from_rod(p + R @ middle, R[:, k], HALF[k]) for k in range(3) for middle in edges(k)
            )
        else:
            apart = from_rod(p, R[:, 2], HALF[2] if kind == "capsule" else 0.0) - BALL
        if not 1e-3 < apart < 0.02:
            continue
        B = Rotation.random(random_state=int(rng.integers(2**31))).as_matrix()
        at = rng.normal(size=3)
        found = -depth_of(world, np.concatenate([pose(B @ R, at + B @ p), pose(B, at)]))
        assert found <= apart + 1e-12
        seen += 1
        equal += found > apart - 1e-12
    assert equal == 40 if kind != "box" else equal > 10


def edges(k: int) -> list[Array]:
    """Middles of the four edges of the box along axis k."""
    signs = [[x, y] for x in (-1.0, 1.0) for y in (-1.0, 1.0)]
    return [np.insert(np.delete(HALF, k) * sign, k, 0.0) for sign in signs]
