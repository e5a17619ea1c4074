"""Roots of a Delassus matrix, G = A^T A, and the matrix of multipliers that is made of one."""

from __future__ import annotations

import numpy as np
import pytest
from contact_views import scratch
from trees import Array

from dynenvs.contact.assembly.problem import WORDS, ContactProblem
from dynenvs.contact.solvers.multipliers import linearise
from dynenvs.contact.solvers.roots import root_of
from dynenvs.memory.records import BLOCK, POLYGON

# Rows of a block: (tangents, moments)
KINDS = [(2, 0), (0, 0), (1, 0), (2, 1), (2, 3)]


def legs(rng: np.random.Generator, number: int, joints: int, each: int) -> tuple[Array, Array]:
    """(Y, D^-1) of a body with so many legs, each with `each` contacts of three rows."""
    nv, rows = 6 + number * joints, 3 * number * each
    Y = np.zeros((nv, rows))
    Y[:6] = rng.normal(size=(6, rows))
    for leg in range(number):
        own = slice(6 + leg * joints, 6 + (leg + 1) * joints)
        Y[own, 3 * leg * each : 3 * (leg + 1) * each] = rng.normal(size=(joints, 3 * each))
    return Y, rng.uniform(0.1, 10.0, nv)


def problem_of(Y: Array, lightness: Array, known: bool) -> ContactProblem:
    """Contacts whose G is Y^T D^-1 Y; known: whether the problem says so."""
    rows = Y.shape[1]
    blocks = np.zeros(rows // 3, BLOCK)
    blocks["row"], blocks["tangents"] = 3 * np.arange(rows // 3), 2
    G, bias = Y.T @ (lightness[:, None] * Y), np.zeros(rows)
    freedoms = len(lightness) if known else 0
    return ContactProblem(
        np.zeros(1, POLYGON), blocks, len(blocks), G, bias, rows, 1.0, freedoms, Y,
        np.diag(lightness),
    )  # fmt: skip


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_a_root_squared_is_the_matrix(seed: int, known: bool) -> None:
    rng = np.random.default_rng(seed)
    problem = problem_of(*legs(rng, 6, 3, 3), known)
    room = scratch(problem)
    size = root_of(problem, room)
    A = room.roots[:size]
    np.testing.assert_allclose(A.T @ A, problem.G, atol=1e-12 * np.abs(problem.G).max())
    assert size == 24
    # Of six legs a contact moves one
    assert np.mean(A == 0.0) == (pytest.approx(15 / 24) if known else pytest.approx(0.0, abs=0.1))


def test_few_ways_to_move_have_a_root_of_few_rows() -> None:
    """Fingers of four joints each, which move as one: as many rows as the rank."""
    rng = np.random.default_rng(0)
    Y, lightness = legs(rng, 4, 4, 3)
    Y[6:] = rng.normal(size=(16, 1)) @ rng.normal(size=(1, Y.shape[1]))
    problem = problem_of(Y, lightness, True)
    room = scratch(problem)
    size = root_of(problem, room)
    A = room.roots[:size]
    assert size == 7
    np.testing.assert_allclose(A.T @ A, problem.G, atol=1e-12 * np.abs(problem.G).max())


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_newtons_matrix_is_one_plus_a_w_at(seed: int, known: bool) -> None:
    """Of blocks of one to six rows, some of them without a derivative."""
    rng = np.random.default_rng(seed)
    kinds = [KINDS[k] for k in rng.integers(len(KINDS), size=12)]
    counts = [1 + tangents + moments for tangents, moments in kinds]
    Y, lightness = legs(rng, 3, 4, 2)
    Y = np.hstack([Y, Y, Y, Y])[:, : sum(counts)]
    blocks = np.zeros(12, BLOCK)
    blocks["row"] = np.cumsum(counts) - counts
    blocks["tangents"], blocks["moments"] = np.transpose(kinds)
    problem = problem_of(Y, lightness, known)._replace(blocks=blocks, n=12)
    room = scratch(problem)
    size = root_of(problem, room)
    A, expected = room.roots[:size], np.eye(size)
    for i, (tangents, moments) in enumerate(kinds):
        width = 3 if moments == 0 else 6
        # Where its rows stand among those of a whole contact, whose moments come after two tangents
        at = [k if k <= tangents else 2 + k - tangents for k in range(counts[i])]
        whole = rng.normal(size=(width, width)) * (rng.random() < 0.8)
        room.laws[WORDS * i : WORDS * i + width**2] = whole.ravel()
        columns = A[:, blocks["row"][i] : blocks["row"][i] + counts[i]]
        expected += columns @ whole[np.ix_(at, at)] @ columns.T
    linearise(problem, room, size)
    np.testing.assert_allclose(room.K[:size, :size].T, expected, rtol=1e-12, atol=1e-11)
