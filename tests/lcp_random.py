"""Random LCPs of all kinds, and an exact judge of the answers that are called certified.

The judge shares nothing with the kernels but the definition of the natural scales: residuals are
summed in extended precision where that decides, in rational arithmetic where it does not, and small
integer problems are asked whether they have any solution, in rational arithmetic throughout.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynenvs.lcp.solve import CERTIFIED_RESIDUAL
from studies.verify.lcp_problems import random_contacts

Array = NDArray[np.float64]
Rational = list[Fraction]
Rng = np.random.Generator

ENUMERATED = 6  # variables up to which integer problems are solved in rational arithmetic
LONG = float(np.finfo(np.longdouble).eps)


class Random(NamedTuple):
    """A problem, and what is known of it."""

    kind: str
    A: Array
    b: Array
    solvable: bool | None = None  # None: not known
    exact: bool = False  # small, and of integers but for powers of two: to be solved exactly


# Kinds


def _size(rng: Rng, most: int = 40) -> int:
    """Small ones mostly: they are what is degenerate by chance."""
    if rng.random() < 0.75:
        return int(rng.integers(1, min(most, 6) + 1))
    return int(np.exp(rng.uniform(0, np.log(most + 0.999))))


def skew(rng: Rng) -> Random:
    """Skew matrices have a null vector where n is odd, and a ray to infinity along it."""
    n = _size(rng)
    A = np.tril(rng.standard_normal((n, n)), -1)
    b = rng.standard_normal(n)
    if rng.random() < 0.5:
        A, b = A.round(3), b.round(3)
    return Random("skew", A - A.T, b)


def integer(rng: Rng) -> Random:
    """Small integers: singular and degenerate in every way."""
    n, most = int(rng.integers(1, ENUMERATED + 1)), int(rng.integers(1, 5))
    A = rng.integers(-most, most + 1, (n, n)).astype(float)
    b = rng.integers(-most, most + 1, n).astype(float)
    return Random("integer", A, b, None, True)


def integer_low_rank(rng: Rng) -> Random:
    """Singular integer matrices."""
    n = int(rng.integers(2, ENUMERATED + 1))
    rank = int(rng.integers(1, n))
    left, right = rng.integers(-2, 3, (n, rank)), rng.integers(-2, 3, (rank, n))
    A = left @ (left.T if rng.random() < 0.3 else right)
    return Random(
        "integer, singular", A.astype(float), rng.integers(-3, 4, n).astype(float), None, True
    )


def dense(rng: Rng) -> Random:
    """No structure at all."""
    n = _size(rng)
    return Random("dense", rng.standard_normal((n, n)), rng.standard_normal(n))


def low_rank(rng: Rng) -> Random:
    """Singular but for rounding, semidefinite or not."""
    n = _size(rng)
    rank = int(rng.integers(0, n))
    left = rng.standard_normal((n, rank))
    A = left @ (left.T if rng.random() < 0.5 else rng.standard_normal((rank, n)))
    return Random("singular", A + 10.0 ** rng.uniform(-18, -8) * A.T, rng.standard_normal(n))


def sparse(rng: Rng) -> Random:
    """Mostly zeros: empty rows, empty columns, empty diagonals."""
    n = _size(rng)
    A = rng.standard_normal((n, n)) * (rng.random((n, n)) < rng.uniform(0.1, 0.6))
    return Random("sparse", A, rng.standard_normal(n) * (rng.random(n) < 0.8))


def tiny_diagonal(rng: Rng) -> Random:
    """Diagonals from 1e-20 to 1 beside entries of size one: natural scales at their worst."""
    n = _size(rng, 12)
    A = rng.standard_normal((n, n))
    np.fill_diagonal(A, 10.0 ** rng.uniform(-20, 0, n) * rng.choice([1.0, 1.0, 0.0, -1.0], n))
    if rng.random() < 0.3:
        A = np.diag(np.diag(A)) + np.tril(A, -1) - np.tril(A, -1).T
    return Random("tiny diagonal", A, rng.standard_normal(n))


def no_solution(rng: Rng) -> Random:
    """y >= 0 with y'A < 0 and y'b < 0, so that no z >= 0 gives w >= 0 (Farkas)."""
    n = _size(rng)
    A, b = rng.standard_normal((n, n)), rng.standard_normal(n)
    if rng.random() < 0.3:
        np.fill_diagonal(A, np.abs(np.diag(A)) * 10.0 ** rng.uniform(-15, 0, n))
    y = rng.uniform(0, 1, n) * (rng.random(n) < rng.random())
    r = int(rng.integers(n))
    y[r] = 0.0
    A[r] = -(y @ A) - rng.uniform(1e-3, 1, n)
    b[r] = -(y @ b) - rng.uniform(0.1, 1)
    return Random("no solution", A, b, False)


def integer_no_solution(rng: Rng) -> Random:
    """The same in integers, with y'A = 0 exactly: the least there is to see it by."""
    n = _size(rng)
    A, b = rng.integers(-3, 4, (n, n)).astype(float), rng.integers(-3, 4, n).astype(float)
    y = rng.integers(0, 3, n) * (rng.random(n) < rng.random())
    r = int(rng.integers(n))
    y[r] = 0
    A[r] = -(y @ A) - (rng.random(n) < 0.2)
    b[r] = -(y @ b) - 1.0
    return Random("no solution, integer", A, b, False)


def with_solution(rng: Rng) -> Random:
    """Any matrix, and b for which a drawn z is an answer, up to rounding."""
    n = _size(rng)
    A = rng.standard_normal((n, n)) if rng.random() < 0.5 else rng.integers(-3, 4, (n, n)) * 1.0
    z = rng.uniform(0, 1, n) * (rng.random(n) < 0.5)
    w = rng.uniform(0, 1, n) * (z == 0.0) * (rng.random(n) < 0.8)
    return Random("with a solution", A, w - A @ z)


def contacts(rng: Rng) -> Random:
    """Frictional contacts, some of them doubled."""
    nd = int(rng.choice([2, 4]))
    found = random_contacts(rng, int(rng.integers(1, 40 // (nd + 2) + 1)), 6, nd)
    return Random("contacts", found.A, found.b)


KINDS: tuple[Callable[[Rng], Random], ...] = (
    skew, integer, integer_low_rank, dense, low_rank, sparse, tiny_diagonal, no_solution,
    integer_no_solution, with_solution, contacts,
)  # fmt: skip


def draw(rng: Rng) -> Random:
    """A problem of any kind; a third of them in other units, row by row and column by column.

    Units are powers of two: what has a solution keeps it, and what has none gets none.
    """
    problem = KINDS[rng.integers(len(KINDS))](rng)
    if rng.random() < 2 / 3:
        return problem
    n = len(problem.b)
    rows, columns = 2.0 ** rng.integers(-12, 13, n), 2.0 ** rng.integers(-12, 13, n)
    if rng.random() < 0.5:
        columns = rows
    A = rows[:, None] * problem.A * columns
    return problem._replace(kind=problem.kind + ", scaled", A=A, b=rows * problem.b)


# The judge


def scales(A: Array, b: Array) -> tuple[Array, Array]:
    """Natural scales of z and w, as `dynenvs.lcp.scaling` defines them; those of w at most |b|
    in rows that no contact has, with a negative diagonal or an entry of b."""
    speed = float(np.abs(b).max(initial=0.0)) or 1.0
    z, w = np.full(len(b), speed), np.full(len(b), speed)
    yields = np.diag(A) > 0
    z[yields] = speed / np.diag(A)[yields]
    rest = ~yields
    flow = (np.abs(A) * z)[rest][:, yields].max(axis=1, initial=0.0)
    flow[flow == 0.0] = speed
    strange = (b[rest] != 0) | (np.diag(A)[rest] < 0)
    w[rest] = np.where(strange, np.minimum(flow, speed), flow)
    most = np.abs(A)[yields][:, rest].max(axis=0, initial=0.0)
    z[rest] = speed / np.where(most > 0, most, 1.0)
    return z, w


def within(A: Array, b: Array, z: Array, tolerance: float = CERTIFIED_RESIDUAL) -> bool:
    """Whether the exact natural residual of the doubles z is within the tolerance."""
    z_unit, w_unit = scales(A, b)
    x = z.astype(np.longdouble)
    w = A @ x + b
    doubt = (len(b) + 2) * LONG * (np.abs(A) @ np.abs(x) + np.abs(b)) / w_unit
    residual = np.abs(np.minimum(x / z_unit, w / w_unit))
    if (residual + doubt).max(initial=0.0) <= tolerance:
        return True
    most = Fraction(tolerance * (1 + 1e-12))  # the scales themselves are rounded
    exact = [Fraction(float(value)) for value in z]
    for i in np.flatnonzero(residual + doubt > tolerance):
        total = Fraction(float(b[i]))
        for a, value in zip(A[i].tolist(), exact, strict=True):
            total += Fraction(a) * value
        least = min(exact[i] / Fraction(float(z_unit[i])), total / Fraction(float(w_unit[i])))
        if abs(least) > most:
            return False
    return True


def is_solvable(A: Array, b: Array, basis: NDArray[np.bool_]) -> bool:
    """Whether there is any solution, in rational arithmetic; the basis is tried first."""
    rows = [[Fraction(value) for value in row] for row in A.tolist()]
    right = [Fraction(value) for value in b.tolist()]
    n = len(right)
    sets = itertools.product((False, True), repeat=n)
    return any(_feasible(rows, right, s) for s in itertools.chain([tuple(basis.tolist())], sets))


def _feasible(A: list[Rational], b: Rational, basic: tuple[bool, ...]) -> bool:
    """Whether some z_B, w_N >= 0 solve w - A z = b with all others zero.

    Phase one of the simplex method with Bland's rule, which always ends.
    """
    n = len(b)
    T = []
    for i in range(n):
        row = [-A[i][j] if basic[j] else Fraction(int(i == j)) for j in range(n)] + [b[i]]
        T.append([-value for value in row] if b[i] < 0 else row)
    owners = [-1] * n  # each row begins with an artificial variable
    while True:
        needed = [row for row, owner in zip(T, owners, strict=True) if owner < 0]
        if not any(row[n] for row in needed):
            return True
        costs = [sum((row[j] for row in needed), Fraction(0)) for j in range(n)]
        entering = next((j for j in range(n) if j not in owners and costs[j] > 0), None)
        if entering is None:
            return False
        ratios = [(T[i][n] / T[i][entering], owners[i], i) for i in range(n) if T[i][entering] > 0]
        leaving = min(ratios)[2]
        _pivot(T, leaving, entering)
        owners[leaving] = entering


def _pivot(T: list[Rational], r: int, c: int) -> None:
    """Gauss-Jordan elimination of column c by row r."""
    pivot = T[r][c]
    T[r] = [value / pivot for value in T[r]]
    for i, row in enumerate(T):
        if i != r and row[c]:
            factor = row[c]
            T[i] = [value - factor * own for value, own in zip(row, T[r], strict=True)]


def false_certificate(problem: Random, z: Array, basis: NDArray[np.bool_]) -> str | None:
    """What is wrong with a certificate; None if it is right."""
    if problem.solvable is False:
        return "there is no solution"
    if not within(problem.A, problem.b, z):
        return "the exact residual is above the tolerance"
    if problem.exact and not is_solvable(problem.A, problem.b, basis):
        return "rational arithmetic finds no solution"
    return None
