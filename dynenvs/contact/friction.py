"""`solve_friction`: contact problems from anywhere, solved and certified as those of a step."""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from scipy.sparse.csgraph import connected_components

from dynenvs.contact.assembly.problem import ContactProblem, velocity_scale
from dynenvs.contact.stages import solve_island
from dynenvs.lcp.interface import LcpStatus
from dynenvs.lcp.proof import careful_w
from dynenvs.lcp.solve import CERTIFIED_RESIDUAL, DEGRADED_RESIDUAL
from dynenvs.memory.records import (
    BLOCK,
    CONE,
    CONES,
    KEPT,
    LEMKE,
    MODES,
    PATH,
    POLYGON,
    PYRAMID,
    SWEEPS,
)
from dynenvs.model.packing import fill_polygon

Floats = NDArray[np.float64]

LAWS = {"exact": CONE, "pyramid": PYRAMID}
PLANAR = 2  # rows of a contact in the plane, and directions of its friction
MOST_DIRECTIONS = 64
# In units of the square roots of both diagonal entries
UNSYMMETRIC = 1e-9  # difference of two entries that ought to be equal
INDEFINITE = 1e-5  # eigenvalue below zero: that of entries written out with six digits


class FrictionStage(IntEnum):
    """Which solver found an answer, from the quickest to the slowest."""

    KEPT = KEPT  # the guess holds already
    MODES = MODES  # Newton's method on contact modes
    SWEEPS = SWEEPS  # the same, from modes in which Gauss-Seidel ends
    PATH = PATH  # the central path
    LEMKE = LEMKE  # Lemke's method on the LCP written out
    CONES = CONES  # the exact cone's own, from the pyramid's answer


class FrictionResult(NamedTuple):
    """Answer of `solve_friction`.

    Attributes:
        p: impulses, in the order of q.
        u: velocities W p + q, summed as if in twice the working precision.
        status: certified or why not.
        residual: natural residual in natural scales, the worst of all contacts.
        iterations: linear systems solved by Newton's methods, and pivots.
        stage: which solver gave the answer; of several islands the slowest.
    """

    p: Floats
    u: Floats
    status: LcpStatus
    residual: float
    iterations: int
    stage: FrictionStage

    @property
    def certified(self) -> bool:
        """Whether p solves the problem: its residual is 1e-9 at most."""
        return self.status is LcpStatus.CERTIFIED


def solve_friction(
    W: Any,
    q: ArrayLike,
    mu: ArrayLike,
    *,
    cone: str = "exact",
    directions: int = 8,
    guess: ArrayLike | None = None,
    scale: float = 0.0,
) -> FrictionResult:
    """Find impulses p of n contacts with velocities u = W p + q by Coulomb's law.

    Rows of a contact are (normal, tangent, tangent), or in the plane (normal, tangent).  Each
    contact has u_n >= 0, p_n >= 0, u_n p_n = 0 and norm(p_t) <= mu p_n; where it slips, p_t has
    that size and opposes u_t.  With cone="pyramid" friction lies in a pyramid with that cone's
    edges instead, which makes the problem an LCP.  Contacts that no entry of W couples are solved
    separately, each such island as a dense problem.  (docs/theory.md, Solvers; Acary, Brogliato,
    Numerical Methods for Nonsmooth Dynamical Systems.)

    The certificate is the norm of g (p - P(p - w / g)) over a velocity scale: P is the projection
    on the contact's cone, w its velocity with De Saxce's correction (u_n + mu norm(u_t), u_t), g
    its largest diagonal entry of W, and the scale the island's largest entry of q; and the size of
    min(u_n, p_n W_nn), too.  Of pyramids it is that of their LCP (docs/theory.md, Certificate).

    Args:
        W: Delassus operator J M^-1 J^T, shape (3n, 3n) or (2n, 2n), symmetric and positive
            semidefinite, any units; an array or a SciPy sparse one.
        q: velocities without impulses, shape (3n,) or (2n,).
        mu: coefficients of friction, shape (n,).
        cone: "exact" or "pyramid".
        directions: of friction in a pyramid, even, 4 to 64; the exact cone begins with one.
        guess: impulses of a similar problem, in the order of q: tried first, never trusted.
        scale: least velocity scale of the certificate, in the unit of q (g dt in a step).

    Returns:
        The answer.  Look at its `status` or `certified` before you use p; some problems have none,
        and on exact cones with mu beyond 10 some answers are not found.

    Raises:
        ValueError: wrong shapes or choices, entries that are not finite, a negative coefficient,
            or a W that is not symmetric or not positive semidefinite.
    """
    # The arguments, each with an error that says what would be right
    friction = _vector(mu, "mu", None)
    n = len(friction)
    if n and friction.min() < 0.0:
        i = int(np.argmin(friction))
        raise ValueError(f"mu[{i}] is {friction[i]}; a coefficient of friction is not negative")
    free = _vector(q, "q", None)
    if len(free) not in (2 * n, 3 * n):
        raise ValueError(
            f"q has shape ({len(free)},); expected ({3 * n},), or ({2 * n},) in the plane: three "
            f"or two rows for each of the {n} coefficients in mu"
        )
    size = len(free) // n if n else 3
    if cone not in LAWS:
        raise ValueError(f"unknown cone {cone!r}; choose from: {', '.join(LAWS)}")
    polygon = _polygon(directions, size)
    if not 0.0 <= scale < math.inf:
        raise ValueError(f"scale is {scale}; expected a finite velocity scale >= 0")
    start = None if guess is None else _vector(guess, "guess", len(free))
    matrix = _operator(W, len(free))
    # Islands are solved one by one: the work grows with the largest
    p, u, worst, iterations, stage = np.zeros(len(free)), free.copy(), 0.0, 0, int(KEPT)
    for contacts in _islands(matrix, n, size):
        rows = (size * contacts[:, None] + np.arange(size)).ravel()
        island = _Island(matrix[rows][:, rows].toarray(), free[rows], friction[contacts], polygon)
        island.check(rows)
        p[rows], u[rows], residual, used, by = island.solve(
            LAWS[cone], None if start is None else start[rows], scale
        )
        worst, iterations, stage = max(worst, residual), iterations + used, max(stage, by)
    # The worst island decides
    status = LcpStatus.FAILED
    if worst <= DEGRADED_RESIDUAL:
        status = LcpStatus.DEGRADED if worst > CERTIFIED_RESIDUAL else LcpStatus.CERTIFIED
    return FrictionResult(p, u, status, worst, iterations, FrictionStage(stage))


class _Island(NamedTuple):
    """Contacts that are coupled: W dense, q, mu, and the base of friction pyramids."""

    W: Floats
    q: Floats
    mu: Floats
    polygon: Any

    def check(self, rows: NDArray[np.int64]) -> None:
        """Raise ValueError if W is not positive semidefinite; `rows` are their numbers in it."""
        diagonal = np.diag(self.W)
        if diagonal.min() < 0.0:
            i = int(np.argmin(diagonal))
            raise ValueError(
                f"W[{rows[i]}, {rows[i]}] is {diagonal[i]}; W must be positive semidefinite"
            )
        # A diagonal of ones: what is small beside its own row is rounding, in any units
        unit = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
        scaled = self.W / unit / unit[:, None]
        try:
            np.linalg.cholesky(scaled + INDEFINITE * np.eye(len(rows)))
        except np.linalg.LinAlgError:
            least = np.linalg.eigvalsh(scaled)[0]
            raise ValueError(
                f"W is not positive semidefinite: with a diagonal of ones, the rows that are "
                f"coupled with row {rows[0]} have an eigenvalue of {least:.3g}"
            ) from None

    def solve(
        self, law: int, guess: Floats | None, floor: float
    ) -> tuple[Floats, Floats, float, int, int]:
        """(p, u, residual, iterations, stage); floor: least velocity scale."""
        n, size = len(self.mu), len(self.q) // len(self.mu)
        # Without friction a contact is its normal row alone
        tangents = np.where(self.mu > 0.0, size - 1, 0)
        kept = (np.arange(size) <= tangents[:, None]).ravel()
        # Rows are packed: those without friction leave no gap
        blocks = np.zeros(n, BLOCK)
        blocks["row"] = np.cumsum(1 + tangents) - (1 + tangents)
        blocks["tangents"], blocks["friction"] = tangents, self.mu
        G, bias = np.ascontiguousarray(self.W[np.ix_(kept, kept)]), self.q[kept]
        unit = velocity_scale(self.polygon, blocks, n, G, bias, floor)
        problem = ContactProblem(self.polygon, blocks, n, G, bias, len(bias), unit)
        found, iterations = solve_island(problem, law, None if guess is None else guess[kept])
        p, u = np.zeros(len(kept)), np.zeros(len(kept))
        p[kept] = found.p
        # Velocities of all rows, those left out too, summed in twice the working precision
        careful_w(self.W, self.q, len(kept), p, u)
        # What nothing moves the solvers leave out: it must not approach
        fixed = np.diag(self.W)[::size] == 0.0
        jammed = float(np.max(-u[::size][fixed], initial=0.0)) / unit
        return p, u, max(found.residual, jammed), iterations, max(found.stage, int(KEPT))


def _vector(value: ArrayLike, name: str, length: int | None) -> Floats:
    """A copy as float64, shape (length,); raises ValueError naming it otherwise."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be an array of real numbers") from None
    if array.ndim != 1 or length not in (None, len(array)):
        expected = "one axis" if length is None else f"({length},), as q"
        raise ValueError(f"{name} has shape {array.shape}; expected {expected}")
    if not np.isfinite(array).all():
        i = int(np.argmin(np.isfinite(array)))
        raise ValueError(f"{name}[{i}] is {array[i]}; every entry must be finite")
    return array


def _polygon(directions: Any, size: int) -> Any:
    """POLYGON of so many directions, or of two in the plane, shape (1,)."""
    whole = isinstance(directions, int | np.integer) and not isinstance(directions, bool)
    if not (whole and 4 <= directions <= MOST_DIRECTIONS and directions % 2 == 0):
        raise ValueError(
            f"directions is {directions!r}; expected an even number from 4 to {MOST_DIRECTIONS}"
        )
    polygon = np.zeros(1, POLYGON)
    fill_polygon(polygon[0], PLANAR if size == PLANAR else int(directions))
    return polygon


def _operator(W: Any, rows: int) -> csr_array:
    """W, symmetric, as a sparse array; raises ValueError for what it must not be."""
    try:
        matrix = csr_array(W if issparse(W) else np.array(W, dtype=np.float64), dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError("W must be a matrix of real numbers, an array or a sparse one") from None
    if matrix.shape != (rows, rows):
        raise ValueError(f"W has shape {matrix.shape}; expected ({rows}, {rows}), a row for each q")
    matrix.sum_duplicates()
    # Entries written twice count as their sum
    entries = matrix.tocoo()
    bad = np.flatnonzero(~np.isfinite(entries.data))
    if len(bad):
        i, j = int(entries.row[bad[0]]), int(entries.col[bad[0]])
        raise ValueError(f"W[{i}, {j}] is {entries.data[bad[0]]}; every entry must be finite")
    # Symmetry in units of the diagonal: entries of heavy and light bodies differ by many digits
    unit = np.sqrt(np.abs(matrix.diagonal()))
    other = matrix.T.tocsr()
    gap = (matrix - other).tocoo()
    bad = np.flatnonzero(np.abs(gap.data) > UNSYMMETRIC * unit[gap.row] * unit[gap.col])
    if len(bad):
        i, j = int(gap.row[bad[0]]), int(gap.col[bad[0]])
        raise ValueError(
            f"W[{i}, {j}] is {matrix[i, j]} and W[{j}, {i}] is {matrix[j, i]}; W must be symmetric"
        )
    return matrix


def _islands(matrix: csr_array, contacts: int, size: int) -> list[NDArray[np.int64]]:
    """Contacts of each island, in order."""
    # Zeros that are written out couple nothing
    entries = matrix.tocoo()
    used = entries.data != 0.0
    pairs = entries.row[used] // size, entries.col[used] // size
    coupled = csr_array((np.ones(int(used.sum())), pairs), shape=(contacts, contacts))
    count, labels = connected_components(coupled, directed=False) if contacts else (0, np.zeros(0))
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(labels[order])) + 1) if count else []
