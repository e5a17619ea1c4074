"""A corner of a solid on an edge of another one, or a hair beside it: what overlaps has a slot."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation
from solids import few_of, pose
from test_hull_axis import random_corners
from test_hulls_apart import distance_of
from test_parallel_faces import read
from trees import Array

from dynenvs import ModelBuilder, World, free

POSES = 20
HALF = (0.05, 0.08, 0.06)
DEPTH = 1e-8  # [m]
NOTHING = 1e-9  # [m]
BOX = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * HALF


def solid(builder: ModelBuilder, name: str, kind: str, rng: np.random.Generator) -> Array:
    """A body with a box or a hull; returns its corners."""
    builder.body(name, joint=free(), mass=1.0, inertia=(0.02, 0.02, 0.02))
    if kind == "box":
        builder.box(name, name, half_size=HALF)
        return BOX
    corners = BOX if kind == "prism" else 0.1 * random_corners(rng)
    builder.convex(name, name, points=corners)
    return corners


def over_an_edge(corners: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """A point on an edge of a hull, and a unit vector that leads away from both faces there."""
    hull = ConvexHull(corners)
    while True:
        k, side = rng.integers(len(hull.simplices)), rng.integers(3)
        one, other = hull.equations[k, :3], hull.equations[hull.neighbors[k, side], :3]
        if one @ other < 0.999:  # no diagonal of a face
            break
    p, q = corners[np.delete(hull.simplices[k], side)]
    way = rng.uniform(0.2, 1.0) * one + rng.uniform(0.2, 1.0) * other
    return p + rng.uniform(0.1, 0.9) * (q - p), way / np.linalg.norm(way)


def sunk(world: World, turn: Array, place: Array, way: Array) -> Array:
    """Coordinates with the first solid at `place`, moved along `way` until it is DEPTH deep."""
    low, high = -1e-3, 1e-3
    for _ in range(60):
        middle = 0.5 * (low + high)
        q = np.concatenate([pose(turn, place + middle * way), pose(np.eye(3), np.zeros(3))])
        low, high = (low, middle) if distance_of(world, q) > -DEPTH else (middle, high)
    return q


def parted(corners: Array, others: Array) -> float:
    """How far the best axis parts two polyhedra [m]: all faces' normals, all products of edges."""
    axes, edges = [], []
    for side, points in ((-1.0, corners), (1.0, others)):
        hull = ConvexHull(points)
        axes.append(side * hull.equations[:, :3])
        found = points[hull.simplices] - points[np.roll(hull.simplices, 1, axis=1)]
        edges.append(found.reshape(-1, 3))
    across = np.cross(edges[0][:, None], edges[1][None]).reshape(-1, 3)
    size = np.linalg.norm(across, axis=1, keepdims=True)
    across = (across / np.maximum(size, 1e-300))[size[:, 0] > 1e-6 * size.max()]
    n = np.concatenate([*axes, across, -across])
    return float(((corners @ n.T).min(axis=0) - (others @ n.T).max(axis=0)).max())


@pytest.mark.parametrize("kinds", ["box box", "prism prism", "hull box", "box hull"])
@pytest.mark.parametrize("seed", few_of(40, 4))
def test_a_corner_on_an_edge_has_a_slot_as_deep_as_it_is(kinds: str, seed: int) -> None:
    """The plane of a face tells too little of a corner that stands within 1e-7 m of its edge.

    It was told by that alone, and the crossings of the corner's own edges were taken for it.
    """
    rng = np.random.default_rng(seed)
    builder = ModelBuilder(gravity=(0, 0, 0))
    first, second = kinds.split()
    corners = solid(builder, "a", first, rng)
    others = solid(builder, "b", second, rng)
    world = World(builder.build())
    for _ in range(POSES):
        point, way = over_an_edge(others, rng)
        turn = Rotation.random(rng=rng).as_matrix()
        lowest = corners[np.argmin(corners @ turn.T @ way)]
        beside = rng.normal(size=3) * 10.0 ** rng.uniform(-9, -7)
        q = sunk(world, turn, point + beside - turn @ lowest, way)
        gap = parted(corners @ turn.T + q[:3], others)
        assert read(world.model, q).least <= gap + NOTHING
