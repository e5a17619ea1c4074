"""Hulls that are apart, corner before corner and edge across edge: what is nearest has a slot."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from solids import pose
from test_hull_axis import random_corners
from test_parallel_faces import read
from trees import Array

from dynenvs import ModelBuilder, World, free
from dynenvs.contact.detection.overlaps import measure_overlaps
from dynenvs.memory.records import FAR

POSES = 20
SLANTED = 0.9  # cosine of a slot's normal with the line between the nearest points, at least


def distance_of(world: World, q: Array) -> float:
    """How far apart the two solids of a world are [m], or FAR."""
    world.reset(q)
    depths = np.zeros(int(world.model.header["npoints"] + world.model.header["np"]))
    measure_overlaps(world._handle, depths)
    return -float(depths.max())


def apart(world: World, turn: Array, way: Array, gap: float) -> Array:
    """Coordinates with the first solid so far from the second one, at the origin, along `way`."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        q = np.concatenate([pose(turn, middle * way), pose(np.eye(3), np.zeros(3))])
        low, high = (low, middle) if distance_of(world, q) > gap else (middle, high)
    return np.concatenate([pose(turn, high * way), pose(np.eye(3), np.zeros(3))])


@pytest.mark.parametrize("seed", range(12))
def test_what_is_nearest_has_a_slot(seed: int) -> None:
    """A slot tells no more than the distance, and none less than a tenth under it.

    What tells more would be met unseen; what tells less stops things that do not touch.
    """
    rng = np.random.default_rng(seed)
    builder = ModelBuilder(gravity=(0, 0, 0))
    for name in ("a", "b"):
        builder.body(name, joint=free(), mass=1.0, inertia=(0.02, 0.02, 0.02))
        builder.convex(name, name, points=0.15 * random_corners(rng))
    world = World(builder.build())
    for _ in range(POSES):
        turn, way = Rotation.random(rng=rng).as_matrix(), rng.normal(size=3)
        q = apart(world, turn, way / np.linalg.norm(way), rng.uniform(1e-5, 0.018))
        gap, least = distance_of(world, q), read(world.model, q).least
        assert gap < FAR
        assert least <= gap + 1e-9
        assert least >= SLANTED * gap - 1e-9
