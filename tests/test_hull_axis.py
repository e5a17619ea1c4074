"""The axis that parts two polyhedra best, beside a search through all faces and all pairs of edges;
and what is remembered of it, which changes nothing."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation
from trees import Array

from dynenvs import ModelBuilder, World, Worlds, free
from dynenvs.contact.detection.geometry.polyhedron import Polyhedron
from dynenvs.contact.detection.geometry.separating_axis import best_axis
from dynenvs.model.polyhedra import polyhedron

NOTHING = -1.0, (0.0, 0.0, 0.0)


def random_corners(rng: np.random.Generator) -> Array:
    """Of a round or a flat solid, turned anyhow."""
    points = rng.normal(size=(int(rng.integers(5, 40)), 3)) * rng.uniform(0.2, 1.0, 3)
    turned = Rotation.random(rng=rng).apply(points / np.linalg.norm(points, axis=1).max())
    return turned[ConvexHull(turned).vertices]


def placed(corners: Array) -> tuple[Polyhedron, Array, Array]:
    """As kernels see it; its normals, and where its edges lead."""
    found = polyhedron(corners, "solid")
    flat = [corners, found.normals, found.levels, np.cumsum([0, *map(len, found.loops)])]
    flat += [list(itertools.chain(*found.loops)), found.edges]
    edges = np.array([corners[j] - corners[i] for i, j, *_ in found.edges])
    return Polyhedron(*(np.ravel(np.asarray(x, float)) for x in flat)), found.normals, edges


def parted(a: Array, b: Array, n: Array) -> Array:
    """By how much planes across n, which leads from B to A, part the corners; n: shape (k, 3)."""
    return np.asarray((n @ a.T).min(axis=1) - (n @ b.T).max(axis=1))


def best_of_all(a: Array, b: Array, normals_a: Array, normals_b: Array, edges: Array) -> float:
    """The largest separation of all faces and of all pairs of edges, either way."""
    lengths = np.linalg.norm(edges, axis=1)
    across = edges[lengths > 1e-9] / lengths[lengths > 1e-9, None]
    return float(parted(a, b, np.concatenate([-normals_a, normals_b, across, -across])).max())


@pytest.mark.parametrize("seed", range(6))
def test_the_best_of_all_axes_is_found(seed: int) -> None:
    """The best axis is that of the Minkowski difference, from a deep overlap to a gap along it."""
    rng = np.random.default_rng(seed)
    by_edges = 0
    for _ in range(60):
        a, b = random_corners(rng), random_corners(rng)
        (_, normals_a, edges_a), (other, normals_b, edges_b) = placed(a), placed(b)
        crosses = np.cross(edges_a[:, None], edges_b[None]).reshape(-1, 3)
        depth = -best_of_all(a, b, normals_a, normals_b, crosses)
        if depth <= 0.0:
            continue
        way = shortest(a, b, normals_a, normals_b, crosses)
        for share in (1.0, 0.1, 1e-3, 1e-6, -1e-6, -1e-3, -0.1):  # of the depth, that is left
            moved = a + (1.0 - share) * depth * way
            known = NOTHING if share > 0.0 else (-share * depth, tuple(way))
            room = np.zeros(3 * len(normals_a) + 3 * len(normals_b) + 11 * len(edges_b))
            n = np.array(best_axis(placed(moved)[0], other, *known, 1.0, room))
            right = best_of_all(moved, b, normals_a, normals_b, crosses)
            assert parted(moved, b, n[None])[0] == pytest.approx(right, abs=2e-9)
        by_edges += np.abs(n @ np.concatenate([normals_a, normals_b]).T).max() < 1.0 - 1e-6
    assert by_edges > 5


def shortest(a: Array, b: Array, normals_a: Array, normals_b: Array, edges: Array) -> Array:
    """The unit vector along which A leaves B soonest."""
    lengths = np.linalg.norm(edges, axis=1)
    across = edges[lengths > 1e-9] / lengths[lengths > 1e-9, None]
    ways = np.concatenate([-normals_a, normals_b, across, -across])
    return np.asarray(ways[parted(a, b, ways).argmax()])


def test_planes_that_other_worlds_leave_change_no_bit() -> None:
    """Worlds that share a workspace remember each other's planes: the bits are those of each alone.

    Hulls that tumble in a heap, near each other and far, and fall past each other.
    """
    rng = np.random.default_rng(4)
    builder = ModelBuilder(friction="minimum", max_contacts=200)
    builder.half_space("floor")
    for k in range(5):
        name = f"stone {k}"
        builder.body(name, joint=free(), mass=1.0, inertia=(0.02, 0.02, 0.02))
        builder.convex(name + " skin", name, points=0.2 * random_corners(rng))
    model = builder.build()
    count = 6
    q = np.zeros((count, 5, 7))
    q[..., :3] = rng.uniform(-0.2, 0.2, (count, 5, 3)) + np.arange(5)[:, None] * [0, 0, 0.45]
    q[..., 2] += 0.3
    q[..., 3:] = Rotation.random(count * 5, rng=rng).as_quat().reshape(count, 5, 4)
    v = rng.normal(size=(count, 30))
    worlds = Worlds(model, count, threads=1)
    worlds.reset(q.reshape(count, -1), v)
    worlds.step(steps=150)
    for i in range(count):
        world = World(model)
        world.reset(q[i].ravel(), v[i])
        for _ in range(150):
            world.step()
        assert (world.q == worlds.q[i]).all()
        assert (world.v == worlds.v[i]).all()
