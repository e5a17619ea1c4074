"""The sparse solver's parts: the factor, the law's projection and its derivative, the islands."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from test_many_bodies import standing, thrown, wall
from trees import Array

from dynenvs import World
from dynenvs.contact.solvers.projection import project_contact
from dynenvs.contact.sparse.factor import factorise, order_trees, substitute
from dynenvs.contact.sparse.islands import find_islands
from dynenvs.contact.sparse.proximal import assemble
from dynenvs.memory.records import CONE, CONSTRAINT, PYRAMID
from dynenvs.memory.sparse_view import SparseView


def solver(world: World) -> SparseView:
    """What the last step left in the solver's memory; records with named fields."""
    return world._handle.scene


def dense(x: SparseView, island: Any) -> tuple[Array, Array]:
    """M + J^T W J of an island, and which entries of the velocities are its own."""
    size = x.free.size
    A = np.zeros((size, size))
    own = []
    for t in x.trees_of[island.first_tree : island.first_tree + island.trees]:
        tree = x.trees[t]
        at = slice(tree.first, tree.first + tree.nv)
        words = x.masses[tree.mass_at : tree.mass_at + tree.nv**2]
        A[at, at] = words.reshape(tree.nv, tree.nv)
        own += range(at.start, at.stop)
    for i in x.members[island.first : island.first + island.count]:
        c = x.constraints[i]
        J = np.zeros((3, size))
        for side, t in enumerate((c.a, c.b)):
            if t >= 0:
                tree = x.trees[t]
                at = slice(tree.first, tree.first + tree.nv)
                J[:, at] = x.J[6 * i + 3 * side : 6 * i + 3 * side + 3, : tree.nv]
        A += J.T @ x.W[i].reshape(3, 3) @ J
    return A[np.ix_(own, own)], np.array(own)


def test_the_factor_solves_what_numpy_solves() -> None:
    rng = np.random.default_rng(0)
    world = standing(wall(18))
    world.step()
    x = solver(world)
    island = x.islands[0]
    assert island.trees == 18
    for _ in range(5):
        x.W[:] = 10 * rng.normal(size=x.W.shape) + 30 * np.eye(3).ravel()
        assert order_trees(x, island)
        assemble(x, island)
        A, own = dense(x, island)
        assert factorise(x, island)
        right = rng.normal(size=x.free.size)
        solved = right.copy()
        substitute(x, island, solved)
        np.testing.assert_allclose(A @ solved[own], right[own], atol=1e-9 * np.abs(A).max())


def test_a_factor_of_zero_is_told() -> None:
    world = standing(wall(4))
    world.step()
    x = solver(world)
    island = x.islands[0]
    assert order_trees(x, island)
    x.factor[:] = 0.0
    assert not factorise(x, island)


def test_islands_are_the_components_of_the_graph() -> None:
    rng = np.random.default_rng(1)
    world = standing([(i, 0.0, 0.05) for i in range(40)])
    world.step()
    x = solver(world)
    for links in (0, 5, 20, 60):
        pairs = rng.integers(40, size=(links, 2))
        pairs[rng.random(links) < 0.2, 1] = -1
        pairs[pairs[:, 0] == pairs[:, 1], 1] = -1
        for i, (a, b) in enumerate(pairs):
            x.constraints[i].a, x.constraints[i].b = a, b
        count = find_islands(x, links)
        joined = pairs[pairs[:, 1] >= 0]
        graph = coo_array((np.ones(len(joined)), joined.T), shape=(40, 40))
        _, label = connected_components(graph, directed=False)
        touched = np.unique(label[pairs[:, 0]])
        assert count == len(touched)
        for k in range(count):
            island = x.islands[k]
            trees = x.trees_of[island.first_tree : island.first_tree + island.trees]
            assert set(trees) == set(np.flatnonzero(label == label[trees[0]]))
            members = x.members[island.first : island.first + island.count]
            assert list(members) == [
                i for i in range(links) if label[pairs[i, 0]] == label[trees[0]]
            ]


LAWS = [(rows, cone) for rows, cone in ((1, PYRAMID), (2, PYRAMID), (3, PYRAMID), (3, CONE))]


@pytest.fixture(scope="module")
def polygon() -> Any:
    world = thrown(2, 0, 0.5, "pyramid")
    number = world._handle.status[0].polygon
    return world._handle.polygons[number : number + 1]


def apply(
    law: tuple[int, int], polygon: Any, mu: float, rho: float, p: Array, u: Array, held: float,
    compression: float = 0.0,
) -> tuple[Array, Array]:  # fmt: skip
    c = np.zeros(1, CONSTRAINT)[0]
    c.rows, c.tangents, c.friction, c.compression = law[0], law[0] - 1, mu, compression
    out, W = np.zeros(3), np.zeros(9)
    project_contact(law[1], polygon, c, rho, p, tuple(u), held, out, W)
    return out, W.reshape(3, 3)


def draw(rng: np.random.Generator, rows: int) -> tuple[float, float, Array, Array]:
    mu, rho = rng.uniform(0.1, 1.5), 10 ** rng.uniform(-1, 2)
    p, u = rng.normal(size=3), rng.normal(size=3) / rho
    p[rows:] = u[rows:] = 0.0
    return mu, rho, p, u


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("held", [False, True])
def test_w_is_the_derivative_of_the_law(law: tuple[int, int], held: bool, polygon: Any) -> None:
    rng = np.random.default_rng(2)
    checked = 0
    for _ in range(400):
        mu, rho, p, u = draw(rng, law[0])
        slip = 0.3 * mu if held else -1.0
        _, W = apply(law, polygon, mu, rho, p, u, slip)
        step = 1e-6 / rho
        kinks = False
        slopes = np.zeros((3, 3))
        for k in range(law[0]):
            e = step * np.eye(3)[k]
            ahead, there = apply(law, polygon, mu, rho, p, u + e, slip)
            behind, here = apply(law, polygon, mu, rho, p, u - e, slip)
            kinks = kinks or not np.allclose(there, here, rtol=1e-3, atol=1e-3 * rho)
            slopes[:, k] = -(ahead - behind) / (2 * step)
        if not kinks:
            checked += 1
            np.testing.assert_allclose(W, slopes, atol=2e-4 * rho)
    assert checked > 200


@pytest.mark.parametrize(("rows", "cone"), [(2, CONE), (3, CONE), (3, PYRAMID)])
def test_a_compression_impulse_cuts_the_cone_off(rows: int, cone: int, polygon: Any) -> None:
    """The nearest point of |p_t| <= mu (p_n + r), p_n >= 0, by its variational inequality; and W.

    Oracle: a convex set's nearest point P of y has (y - P).(z - P) <= 0 for all points z of it.
    """
    rng = np.random.default_rng(5)
    angles = np.linspace(0, 2 * np.pi, 361)
    circle = np.c_[np.cos(angles), np.sin(angles)] if rows == 3 else np.array([[1, 0], [-1.0, 0]])
    if cone == PYRAMID:
        k = polygon[0].directions
        circle = np.c_[polygon[0].cosines[:k], polygon[0].sines[:k]]
    flat = checked = 0
    for _ in range(300):
        mu, rho, p, u = draw(rng, rows)
        compression = rng.uniform(0.1, 1.0)
        P, W = apply((rows, cone), polygon, mu, rho, p, u, 0.0, compression)
        flat += P[0] == 0.0
        assert P[0] >= 0.0
        size = _gauge(circle, P[1:]) if cone == PYRAMID else np.hypot(P[1], P[2])
        assert size <= mu * (P[0] + compression) * (1 + 1e-12)
        y = p - rho * u
        for height in (0.0, 0.5, 1.0, 30.0):
            points = np.c_[np.full(len(circle), height), mu * (height + compression) * circle]
            assert ((points - P) @ (y - P)).max() <= 1e-11 * (1 + height) * (1 + np.abs(y).max())
        step, slopes, kink = 1e-7 / rho, np.zeros((3, 3)), False
        for k in range(rows):
            ahead, behind = u.copy(), u.copy()
            ahead[k] += step
            behind[k] -= step
            one, W1 = apply((rows, cone), polygon, mu, rho, p, ahead, 0.0, compression)
            two, W2 = apply((rows, cone), polygon, mu, rho, p, behind, 0.0, compression)
            kink = kink or np.abs(W1 - W2).max() > 1e-3 * rho
            slopes[:, k] = (two - one) / (2 * step)
        if not kink:
            checked += 1
            np.testing.assert_allclose(W, slopes, atol=2e-4 * rho)
    assert flat > 30
    assert checked > 200


@pytest.mark.parametrize("law", LAWS)
def test_the_law_is_a_projection_on_the_cone(law: tuple[int, int], polygon: Any) -> None:
    """P lies in K, y - P in its polar, and both are orthogonal: no other point is nearest."""
    rng = np.random.default_rng(3)
    k = polygon[0].directions
    directions = np.c_[polygon[0].cosines[:k], polygon[0].sines[:k]]
    if law[0] == 2:
        directions = np.array([[1.0, 0.0], [-1.0, 0.0]])
    if law[1] == CONE:
        angles = np.linspace(0, 2 * np.pi, 721)
        directions = np.c_[np.cos(angles), np.sin(angles)]
    for _ in range(300):
        mu, rho, p, u = draw(rng, law[0])
        P, _ = apply(law, polygon, mu, rho, p, u, 0.0)
        y = p - rho * u
        edges = np.c_[np.ones(len(directions)), mu * directions]
        if law[0] == 1:
            edges = np.array([[1.0, 0.0, 0.0]])
        size = 1 + np.abs(y).max()
        assert abs((y - P) @ P) < 1e-12 * size**2
        assert (edges @ (y - P)).max() < 1e-12 * size
        inward = np.linalg.lstsq(edges.T, P, rcond=None)[0] if law[0] == 1 else None
        if inward is None:
            reach = (directions @ P[1:]).max() if law[1] == CONE else _gauge(directions, P[1:])
            assert reach <= mu * P[0] + 1e-12 * size


def _gauge(directions: Array, point: Array) -> float:
    """The least factor by which the polygon of the directions must be stretched to hold a point."""
    if len(directions) == 2:
        return float(abs(point[0]))
    after = np.roll(directions, -1, axis=0)
    middles = directions + after
    middles /= (middles * directions).sum(axis=1)[:, None]
    return float((middles @ point).max())
