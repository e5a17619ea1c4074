"""The corpus of LCPs on which the solvers are compared: made from seeds, or recorded.

Every family but the last has solutions, by construction or by a theorem; the last has none, and
no solver may certify an answer to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from dynenvs.memory.layout import Floats, Ints

GRAVITY = 9.8  # [m/s^2]
TIMESTEP = 0.01  # of stacks [s]


class Problem(NamedTuple):
    """w = A z + b >= 0, z >= 0, w'z = 0."""

    A: Floats  # shape (n, n)
    b: Floats  # shape (n,)
    blocks: Ints  # label of each variable's contact
    floor: float = 0.0  # least velocity scale of the certificate, in the unit of b


def plain(A: Any, b: Any) -> Problem:
    """A problem without contacts: each variable its own block."""
    matrix, vector = np.array(A, dtype=float), np.array(b, dtype=float)
    return Problem(matrix, vector, np.arange(len(vector)))


# Textbook and adversarial problems

# Cottle and Dantzig (1968); Kostreva, Cycling in linear complementarity problems (1979), where a
# free choice of the negative variable goes round in circles; Murty (1988), as QuantEcon quotes it.
TEXTBOOK: dict[str, tuple[Any, Any, Any]] = {
    "Cottle-Dantzig": ([[2, 1], [1, 2]], [-5, -6], [4 / 3, 7 / 3]),
    "Kostreva 1979, cycling": ([[1, 2, 0], [0, 1, 2], [2, 0, 1]], [-1, -1, -1], [1 / 3] * 3),
    "Murty": ([[1, 0, 0], [2, 1, 0], [2, 2, 1]], [-8, -12, -14], [8, 0, 0]),
    "all tied": ([[1, 0], [0, 1]], [-1, -1], [1, 1]),
    "rank 1, not unique": ([[1, 1], [1, 1]], [-1, -1], None),
    "skew": ([[0, -1], [1, 0]], [1, -1], [1, 1]),
    "b = 0": ([[1, 2], [3, 4]], [0, 0], [0, 0]),
}

INFEASIBLE = (
    ([[-1]], [-1]),
    ([[0]], [-1]),
    ([[0, 1], [-1, 0]], [-1, -1]),
    ([[1, -1], [-1, 1]], [-1, 0.5]),
)


def murty(n: int) -> Problem:
    """Murty's exponential family (1978): 2^n pivots of Lemke's method from the ray of ones.

    The answer is (1, 0, ..., 0).
    """
    return plain(np.eye(n) + 2 * np.tril(np.ones((n, n)), -1), -np.ones(n))


def fathi(n: int) -> Problem:
    """Fathi's family (1979): positive definite and symmetric, and as long for Lemke's method."""
    lower = np.eye(n) + 2 * np.tril(np.ones((n, n)), -1)
    return plain(lower @ lower.T, -np.ones(n))


def p_matrix(rng: np.random.Generator, n: int, degenerate: bool = False) -> Problem:
    """A P-matrix, not symmetric, and b for which half of the variables are positive.

    degenerate: of a third of the pairs both are 0
    """
    root, skew = rng.standard_normal((n, n)), rng.normal(size=(n, n))
    A = root @ root.T + 0.3 * np.eye(n) + skew - skew.T
    return _with_answer(rng, A, degenerate)


def low_rank(rng: np.random.Generator, n: int) -> Problem:
    """Symmetric of rank n / 2, as of contacts without friction, half of them redundant."""
    root = rng.standard_normal((n, max(1, n // 2)))
    return _with_answer(rng, root @ root.T, False)


def _with_answer(rng: np.random.Generator, A: Floats, degenerate: bool) -> Problem:
    n = len(A)
    positive, nothing = rng.random(n) < 0.5, rng.random(n) < (1 / 3 if degenerate else 0)
    z = rng.uniform(0, 1, n) * (positive & ~nothing)
    w = rng.uniform(0, 1, n) * (~positive & ~nothing)
    return plain(A, w - A @ z)


def copositive(rng: np.random.Generator, n: int) -> Problem:
    """Strictly copositive: semidefinite and positive parts; any b has an answer (CPS 3.8.6)."""
    root = rng.standard_normal((n, max(1, n // 3)))
    A = root @ root.T + np.abs(rng.standard_normal((n, n))) + 0.1 * np.eye(n)
    return plain(A, rng.standard_normal(n))


def bimatrix(rng: np.random.Generator, n: int) -> Problem:
    """A game of two players with n / 2 choices each; every one has an equilibrium (Nash)."""
    half = max(1, n // 2)
    A = np.zeros((2 * half, 2 * half))
    A[:half, half:], A[half:, :half] = rng.uniform(1, 2, (2, half, half))
    return plain(A, -np.ones(2 * half))


def infeasible(rng: np.random.Generator, n: int) -> Problem:
    """A P-matrix problem, one row of which no z >= 0 can make positive."""
    problem = p_matrix(rng, n)
    row = rng.integers(n)
    problem.A[row] = -np.abs(problem.A[row])
    problem.b[row] = -1.0
    return problem


# Contacts


def stewart_trinkle(
    W: Floats, N: Floats, B: Floats, mu: Floats, v: Floats, gap: Floats, floor: float = 0.0
) -> Problem:
    """The contact LCP (docs/theory.md, The LCP) of normals N, directions B and inverse inertia W.

    W: shape (nv, nv); N: shape (nv, nc); B: shape (nv, nc nd); mu, gap [m/s]: shape (nc,)
    """
    nc, nd = N.shape[1], B.shape[1] // N.shape[1]
    moving = nc * (nd + 1)
    J, E = np.hstack([N, B]), np.kron(np.eye(nc), np.ones((nd, 1)))
    A = np.zeros((moving + nc, moving + nc))
    A[:moving, :moving] = J.T @ W @ J
    A[nc:moving, moving:], A[moving:, nc:moving], A[moving:, :nc] = E, -E.T, np.diag(mu)
    b = np.concatenate([N.T @ v + gap, B.T @ v, np.zeros(nc)])
    labels = [np.arange(nc), np.repeat(np.arange(nc), nd), np.arange(nc)]
    return Problem(A, b, np.concatenate(labels), floor)


def directions(dimension: int, nd: int) -> Floats:
    """Unit tangent directions in +- pairs, shape (dimension, nd)."""
    if dimension == 1:
        return np.array([[1.0, -1.0]])
    return np.array([f(2 * np.pi * np.arange(nd) / nd) for f in (np.cos, np.sin)])


def random_contacts(
    rng: np.random.Generator, nc: int, nv: int, nd: int = 2, mu: float = 1.5, spread: float = 1.0
) -> Problem:
    """Random contacts of a random mechanism; some repeat earlier ones, some are at a distance.

    nv: coordinates (fewer than contacts: rank-deficient); spread: decades of W's eigenvalues, +-
    """
    Q = np.linalg.qr(rng.standard_normal((nv, nv)))[0]
    W = Q @ np.diag(10.0 ** rng.uniform(-spread, spread, nv)) @ Q.T
    dimension = 1 if nd == 2 else 2
    N, T = rng.standard_normal((nv, nc)), rng.standard_normal((nc, nv, dimension))
    for i in range(1, nc):
        if rng.random() < 0.4:
            copied = rng.integers(i)
            N[:, i], T[i] = N[:, copied], T[copied]
    B = np.hstack([t @ directions(dimension, nd) for t in T])
    gap = np.abs(rng.standard_normal(nc)) * (rng.random(nc) < 0.5)
    v = rng.standard_normal(nv)
    return stewart_trinkle((W + W.T) / 2, N, B, rng.uniform(0, mu, nc), v, gap)


def box_stack(
    rng: np.random.Generator, masses: list[float], gap: float = 0.0, shift: float = 0.0
) -> Problem:
    """Unit cubes on top of each other, at rest before a step of 10 ms, four corners a face, nd = 4.

    gap: noise of the corners' gap velocities [m/s]; shift: noise of the boxes' places [m]
    """
    count, step = len(masses), GRAVITY * TIMESTEP
    place = shift * rng.standard_normal((count, 2))
    W = np.diag(np.concatenate([[1 / m] * 3 + [6 / m] * 3 for m in masses]))
    columns: list[Floats] = []
    for i in range(count):
        for corner in ([-0.5, -0.5], [0.5, -0.5], [-0.5, 0.5], [0.5, 0.5]):
            J = np.zeros((6 * count, 3))
            point = np.array([*(place[i] + corner), float(i)])
            for sign, body in ((1, i), (-1, i - 1)):
                if body >= 0:
                    arm = point - np.array([*place[body], body + 0.5])
                    turning = np.array([np.cross(arm, axis) for axis in np.eye(3)]).T
                    J[6 * body : 6 * body + 6] = sign * np.vstack([np.eye(3), turning])
            columns.append(J)
    N = np.array([J[:, 2] for J in columns]).T
    B = np.hstack([J[:, :2] @ directions(2, 4).round(15) for J in columns])
    v = np.zeros(6 * count)
    v[2::6] = -step
    mu = np.full(4 * count, rng.uniform(0.2, 1.0))
    return stewart_trinkle(W, N, B, mu, v, gap * rng.standard_normal(4 * count), step)


# The corpus


def _seeded(count: int) -> Iterator[tuple[int, np.random.Generator]]:
    for seed in range(count):
        yield seed, np.random.default_rng(seed)


def games(first: int, last: int) -> list[Problem]:
    """Bimatrix games of so many variables, even ones."""
    return [bimatrix(np.random.default_rng(n), n) for n in range(first + first % 2, last + 1, 2)]


def families() -> dict[str, list[Problem]]:
    """All solvable families that are made from seeds, by name."""
    ratios = (1.0, 1e1, 1e2, 1e3)  # a layer of three: the top box is up to 1e6 times heavier
    stacks = [[1.0, ratio, ratio**2] for ratio in ratios] + [[r**2, r, 1.0] for r in ratios]
    return {
        "textbook": [plain(A, b) for A, b, _ in TEXTBOOK.values()],
        "Murty, n = 1 to 20": [murty(n) for n in range(1, 21)],
        "Fathi, n = 1 to 12": [fathi(n) for n in range(1, 13)],
        "P-matrices, n to 40": [p_matrix(rng, 1 + s) for s, rng in _seeded(40)],
        "degenerate, n to 40": [p_matrix(rng, 1 + s, degenerate=True) for s, rng in _seeded(40)],
        "rank n / 2, n to 40": [low_rank(rng, 1 + s) for s, rng in _seeded(40)],
        "copositive, n to 40": [copositive(rng, 1 + s) for s, rng in _seeded(40)],
        "bimatrix games, n = 2 to 20": games(2, 20),
        "planar contacts, 1 to 12": [
            random_contacts(rng, 1 + s % 12, 3 + s % 4) for s, rng in _seeded(48)
        ],
        "spatial contacts, 1 to 12": [
            random_contacts(rng, 1 + s % 12, 6, 4 + 4 * (s % 2)) for s, rng in _seeded(48)
        ],
        "redundant contacts, 16 to 40": [
            random_contacts(rng, 16 + 8 * (s % 4), 6 + s, 4) for s, rng in _seeded(8)
        ],
        "boxes, masses 1 to 1e6": [
            box_stack(rng, stacks[s % 8], shift=0.1 * (s // 8 % 2)) for s, rng in _seeded(32)
        ],
        "nearly tied corners": [box_stack(rng, stacks[s % 3], gap=1e-12) for s, rng in _seeded(12)],
        "ten boxes, 40 contacts": [
            box_stack(rng, [ratio**i for i in range(10)], shift=0.02)
            for (_, rng), ratio in zip(_seeded(4), (1.0, 2.0, 0.5, 4.6), strict=True)
        ],
    }


def unsolvable() -> list[Problem]:
    """Problems that have no solution."""
    made = [infeasible(rng, 2 + s) for s, rng in _seeded(20)]
    return [*(plain(A, b) for A, b in INFEASIBLE), *made]
