"""Operational-space compliance by recursion, and the LCP in minimal coordinates made of it."""

from __future__ import annotations

import numpy as np
import pytest
from trees import Array, random_tree

from dynenvs.dynamics.compliance import compliance
from dynenvs.dynamics.crba import crba
from dynenvs.dynamics.jacobians import point_jacobian
from dynenvs.lcp import LcpStatus, solve_lcp
from dynenvs.model.model import Model
from studies.reproduce.formulations import by_kind, minimal_coordinates, stewart_trinkle

Nodes = list[tuple[str, Array]]


def random_nodes(model: Model, rng: np.random.Generator, count: int) -> Nodes:
    """Points of random bodies; some bodies have several."""
    names = rng.choice(model.body_names[1:], count)
    return [(str(name), rng.normal(size=3)) for name in names]


def jacobian(model: Model, q: Array, nodes: Nodes) -> Array:
    """Of all nodes, shape (3 k, nv)."""
    return np.vstack([point_jacobian(model, q, name, point) for name, point in nodes])


@pytest.mark.parametrize("seed", range(40))
def test_it_is_j_m_inverse_j_transposed(seed: int) -> None:
    """On random trees with joints of all kinds, armature included: 1e-12 of the largest entry."""
    tree = random_tree(seed)
    model = tree.model
    q, _ = tree.state()
    nodes = random_nodes(model, tree.rng, 5)
    J = jacobian(model, q, nodes)
    expected = J @ np.linalg.solve(crba(model, q), J.T)
    found = compliance(model, q, nodes)
    size = np.abs(expected).max()
    assert np.abs(found - expected).max() <= 1e-12 * size
    assert np.abs(found - found.T).max() <= 1e-12 * size


def test_the_world_does_not_give_way() -> None:
    """Its rows and columns are zero."""
    tree = random_tree(3)
    q, _ = tree.state()
    nodes: Nodes = [("world", np.ones(3)), (tree.model.body_names[-1], np.ones(3))]
    found = compliance(tree.model, q, nodes)
    assert not found[:3].any()
    assert not found[:, :3].any()


def test_bad_nodes_are_named() -> None:
    """Unknown bodies and points that are none."""
    tree = random_tree(3)
    q, _ = tree.state()
    with pytest.raises(KeyError, match="tail"):
        compliance(tree.model, q, [("tail", np.zeros(3))])
    with pytest.raises(ValueError, match="point of"):
        compliance(tree.model, q, [(tree.model.body_names[1], np.zeros(2))])


def frames(rng: np.random.Generator, contacts: int, directions: int) -> Array:
    """A random normal and its directions in opposite pairs, shape (nc, 1 + nd, 3)."""
    found = np.zeros((contacts, 1 + directions, 3))
    for D in found:
        Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        angles = 2 * np.pi * np.arange(directions) / directions
        D[0] = Q[:, 0]
        D[1:] = np.outer(np.cos(angles), Q[:, 1]) + np.outer(np.sin(angles), Q[:, 2])
    return found


@pytest.mark.parametrize("directions", [2, 4, 8])
@pytest.mark.parametrize("seed", range(8))
def test_minimal_coordinates_permute_stewart_and_trinkle(seed: int, directions: int) -> None:
    """Same A, same b, same velocities: equation 28 without M and J against M, N and B."""
    tree = random_tree(seed + 100, bodies=6)
    model, rng = tree.model, tree.rng
    q, v = tree.state()
    nodes = random_nodes(model, rng, 3)
    mu, D = rng.uniform(0.1, 1.0, 3), frames(rng, 3, directions)
    J, M = jacobian(model, q, nodes), crba(model, q)
    N = np.vstack([D[i, 0] @ J[3 * i : 3 * i + 3] for i in range(3)])
    B = np.vstack([D[i, 1:] @ J[3 * i : 3 * i + 3] for i in range(3)])
    A, b = stewart_trinkle(M, N, B, mu, v)
    minimal, offset = minimal_coordinates(compliance(model, q, nodes), D, mu, (J @ v).reshape(3, 3))
    i = by_kind(3, directions)
    assert sorted(i) == list(range(len(b)))
    size = np.abs(A).max()
    np.testing.assert_allclose(minimal[np.ix_(i, i)], A, atol=1e-12 * size)
    np.testing.assert_allclose(offset[i], b, atol=1e-12)
    answers = [solve_lcp(A, b), solve_lcp(minimal, offset)]
    assert all(answer.status == LcpStatus.CERTIFIED for answer in answers)
    rows = np.vstack([N, B])
    by_mass, by_nodes = (np.linalg.solve(M, rows.T @ z[: len(rows)]) for z in (
        answers[0].z, answers[1].z[i]))  # fmt: skip
    np.testing.assert_allclose(by_nodes, by_mass, atol=1e-9 * max(1.0, np.abs(by_mass).max()))


def test_shapes_that_do_not_fit_are_named() -> None:
    """Before numpy trips over them."""
    with pytest.raises(ValueError, match="compliance must have shape"):
        minimal_coordinates(np.eye(4), np.zeros((1, 3, 3)), [0.5], np.zeros((1, 3)))
    with pytest.raises(ValueError, match="not of 2 contacts"):
        minimal_coordinates(np.eye(6), np.zeros((1, 3, 3)), [0.5, 0.5], np.zeros((1, 3)))
    with pytest.raises(ValueError, match="3 direction rows"):
        stewart_trinkle(np.eye(2), np.zeros((2, 2)), np.zeros((3, 2)), [0.5, 0.5], [0, 0])
