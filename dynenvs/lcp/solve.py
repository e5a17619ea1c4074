"""The cascade: warm start, Lemke, careful Lemke, regularised Lemke, block Gauss-Seidel.

Source: physics.md, section 3, but Lemke's method runs on an updated dictionary first (`tableau.py`)
and, where its answer is not certified, with a basis refactored in twice the working precision
(`lemke.py`), which decides near ties rightly where light bodies carry heavy ones.  An answer is
judged on the problem as given, never on a regularised one, by `scaling.certificate`: CERTIFIED up
to 1e-9, DEGRADED up to 1e-5, FAILED beyond.  One not certified is solved again with its own basis
("polished"); the first two rungs' bases are in any case.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynenvs.compiled import kernel
from dynenvs.lcp.active_set import solve_active_set
from dynenvs.lcp.gauss_seidel import gauss_seidel
from dynenvs.lcp.lemke import lemke
from dynenvs.lcp.scaling import certificate, equilibrate, natural_scales
from dynenvs.lcp.tableau import tableau_lemke
from dynenvs.lcp.workspace import (
    ANSWER,
    BASIS,
    COVER,
    EQUILIBRATED,
    OFFSET,
    TRIAL,
    UNIT,
    W_SCALE,
    Z_SCALE,
    Integers,
    Matrix,
    Vector,
    Workspace,
    workspace,
)

CERTIFIED, DEGRADED, FAILED = 0, 1, 2

CERTIFIED_RESIDUAL = 1e-9
DEGRADED_RESIDUAL = 1e-5
WARM_RESIDUAL = (
    1e-12  # a guess that is right solves to roundoff; a stale one would let bodies creep
)
EXACT = 1e-14  # residual of a dictionary's answer that would gain nothing from its basis
POLISHED_RESIDUAL = 1e-3  # an answer this close is worth solving again with its own basis

WARM_START, LEMKE, CAREFUL_LEMKE = 0, 1, 2
REGULARISED, GAUSS_SEIDEL = 5, 14  # careful Lemke is rungs 2 to 4, the ladder rungs 5 to 13
FIRST_SHIFT = 1e-14  # of the ladder; ten times more on each rung, 1e-6 on the last
SWEEPS = 300


class LcpStatus(IntEnum):
    """What the certificate says of an answer."""

    CERTIFIED = CERTIFIED
    DEGRADED = DEGRADED
    FAILED = FAILED


class LcpRung(IntEnum):
    """Which step of the cascade found an answer."""

    WARM_START = WARM_START
    LEMKE = LEMKE
    CAREFUL_LEMKE = CAREFUL_LEMKE
    REGULARISED = REGULARISED
    GAUSS_SEIDEL = GAUSS_SEIDEL


class LcpResult(NamedTuple):
    """Answer of `solve_lcp`.

    z, w: shape (n,), w = A z + b
    status: LcpStatus; residual: natural residual in natural scales (`scaling.certificate`)
    pivots: of all Lemke runs together, 0 after a warm start
    active: bool, shape (n,), the basic z's: the `guess` for the next, similar problem
    rung: LcpRung that gave the answer
    """

    z: NDArray[np.float64]
    w: NDArray[np.float64]
    status: LcpStatus
    residual: float
    pivots: int
    active: NDArray[np.bool_]
    rung: LcpRung


@kernel
def _begin(
    A: Matrix,
    b: Vector,
    n: int,
    floor: float,
    guess: Integers,
    has_guess: bool,
    z: Vector,
    work: Workspace,
) -> float:
    """Scale the problem, move the guess to BASIS and clear the results; arguments as for `solve`.

    Returns the unit beta of the scaled impulses (`scaling.equilibrate`).
    """
    basis = work.integers[BASIS]
    for i in range(n):
        z[i] = 0.0
        if has_guess:
            basis[i] = guess[i]
        guess[i] = 0
    natural_scales(A, b, n, floor, work.vectors[Z_SCALE], work.vectors[W_SCALE])
    matrix = work.matrices[EQUILIBRATED]
    return equilibrate(A, b, n, work.vectors[UNIT], matrix, work.vectors[OFFSET])


@kernel
def _prepare(A: Matrix, n: int, rung: int, work: Workspace) -> None:
    """Set up what a rung solves: the shift of the ladder, and the covering vector of Lemke."""
    matrix = work.matrices[EQUILIBRATED]
    unit = work.vectors[UNIT]
    cover = work.vectors[COVER]
    shift = 0.0
    if REGULARISED <= rung < GAUSS_SEIDEL:
        shift = FIRST_SHIFT * 10.0 ** (rung - REGULARISED)
    for i in range(n):
        if A[i, i] > 0.0:
            matrix[i, i] = unit[i] * A[i, i] * unit[i] + shift
        # Another covering vector takes another path, often to another of many solutions.
        cover[i] = 1.0
        if CAREFUL_LEMKE < rung < REGULARISED:
            cover[i] += (rung * (i + 1) * 0.6180339887498949) % 1.0


@kernel
def _polish(A: Matrix, n: int, careful: bool, work: Workspace) -> bool:
    """Solve the unregularised problem for BASIS into TRIAL; returns whether that was possible.

    careful: in twice the working precision
    """
    matrix = work.matrices[EQUILIBRATED]
    offset = work.vectors[OFFSET]
    unit = work.vectors[UNIT]
    trial = work.vectors[TRIAL]
    for i in range(n):
        matrix[i, i] = unit[i] * A[i, i] * unit[i]
    return solve_active_set(matrix, offset, n, work.integers[BASIS], careful, trial, work)


@kernel
def solve(
    A: Matrix,
    b: Vector,
    n: int,
    floor: float,
    guess: Integers,
    has_guess: bool,
    block: Integers,
    z: Vector,
    work: Workspace,
) -> tuple[int, float, int, int]:
    """Solve w = A z + b >= 0, z >= 0, w'z = 0 by the cascade, without allocating.

    A: shape (>= n, >= n), C-contiguous; b: shape (>= n,)
    floor: least velocity scale of the certificate, in the unit of b (g dt), 0 for none
    guess: shape (>= n,), nonzero where z is basic; read if has_guess, receives the final basis
    block: shape (>= n,), label 0, 1, ... of each variable's contact (Gauss-Seidel only)
    z: shape (>= n,), receives the best answer found; zeros if none is finite
    work: `workspace(capacity)` with capacity >= n
    Returns (CERTIFIED, DEGRADED or FAILED; natural residual; pivots; rung of the answer).
    """
    matrix = work.matrices[EQUILIBRATED]
    offset = work.vectors[OFFSET]
    unit = work.vectors[UNIT]
    cover = work.vectors[COVER]
    trial = work.vectors[TRIAL]
    answer = work.vectors[ANSWER]
    z_scale, w_scale = work.vectors[Z_SCALE], work.vectors[W_SCALE]
    basis = work.integers[BASIS]
    beta = _begin(A, b, n, floor, guess, has_guess, z, work)
    best, best_rung, pivots = math.inf, LEMKE, 0
    for rung in range(WARM_START if has_guess else LEMKE, GAUSS_SEIDEL + 1):
        if rung == GAUSS_SEIDEL and best <= DEGRADED_RESIDUAL:
            break  # it is slow, and has never bettered an answer this close
        _prepare(A, n, rung, work)
        if rung == GAUSS_SEIDEL:
            gauss_seidel(matrix, offset, n, block, SWEEPS, 1e-13, trial, basis, work)
        elif rung == LEMKE:
            _, count = tableau_lemke(matrix, offset, cover, n, 100 + 10 * n, trial, basis, work)
            pivots += count
        elif rung != WARM_START:
            _, count = lemke(matrix, offset, cover, n, 100 + 10 * n, trial, basis, work)
            pivots += count
        for step in range(3):  # the rung's own answer, its basis solved again, and more carefully
            if step == (0 if rung == WARM_START else 1 if rung != LEMKE else 3):
                continue
            if step > 0 and not _polish(A, n, step == 2, work):
                break
            for i in range(n):
                answer[i] = beta * unit[i] * trial[i]
            residual = certificate(A, b, n, answer, z_scale, w_scale, step == 2)
            # A stale guess must not change the answer, so it counts only when certified.
            if residual < best and (rung != WARM_START or residual <= WARM_RESIDUAL):
                best, best_rung = residual, rung
                for i in range(n):
                    z[i] = answer[i]
                    guess[i] = basis[i]
            enough = CERTIFIED_RESIDUAL if step > 0 or rung != LEMKE else EXACT
            if residual <= enough or residual > POLISHED_RESIDUAL:
                break
        if best <= CERTIFIED_RESIDUAL:
            return CERTIFIED, best, pivots, best_rung
    return DEGRADED if best <= DEGRADED_RESIDUAL else FAILED, best, pivots, best_rung


def _vector(value: ArrayLike, name: str, n: int, why: str) -> NDArray[Any]:
    """`value` as an array of shape (n,); raises ValueError naming it otherwise."""
    array = np.asarray(value)
    if array.shape != (n,):
        raise ValueError(f"{name} has shape {array.shape}; expected ({n},), {why}")
    return array


def solve_lcp(
    A: ArrayLike,
    b: ArrayLike,
    *,
    guess: ArrayLike | None = None,
    blocks: ArrayLike | None = None,
    scale: float = 0.0,
) -> LcpResult:
    """Find z >= 0 with w = A z + b >= 0 and w'z = 0, and say how good the answer is.

    (Cottle, Pang, Stone, The Linear Complementarity Problem; the cascade of physics.md, sec. 3.)

    A: shape (n, n), any units; b: shape (n,)
    guess: bool, shape (n,), which z's are thought positive: tried first, never trusted
    blocks: integers >= 0, shape (n,), a label for each variable's contact; used by the last rung
    scale: least velocity scale of the certificate, in the unit of b (g dt for contacts)
    Returns LcpResult; look at its `status` before using z.
    Raises ValueError for wrong shapes, labels, or entries that are not finite.
    """
    matrix = np.array(A, dtype=np.float64, order="C")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"A has shape {matrix.shape}; expected a square matrix (n, n)")
    n = matrix.shape[0]
    vector = _vector(b, "b", n, "one entry for each row of A").astype(np.float64)
    for name, array in (("A", matrix), ("b", vector)):
        if not np.isfinite(array).all():
            index = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
            place = ", ".join(map(str, index))
            raise ValueError(f"{name}[{place}] is {array[index]}; every entry must be finite")
    if not 0.0 <= scale < math.inf:
        raise ValueError(f"scale is {scale}; expected a finite velocity scale >= 0")
    active = np.zeros(n, dtype=np.int64)
    if guess is not None:
        active[:] = _vector(guess, "guess", n, "true where z is positive").astype(np.bool_)
    block = np.arange(n, dtype=np.int64)
    if blocks is not None:
        labels = _vector(blocks, "blocks", n, "a label for each variable")
        if labels.dtype.kind not in "iu" or (n > 0 and labels.min() < 0):
            raise ValueError("blocks holds something else than integers >= 0")
        block[:] = np.unique(labels, return_inverse=True)[1]
    z = np.zeros(n)
    status, residual, pivots, rung = solve(
        matrix, vector, n, float(scale), active, guess is not None, block, z, workspace(n)
    )
    return LcpResult(
        z,
        matrix @ z + vector,
        LcpStatus(status),
        residual,
        pivots,
        active.astype(np.bool_),
        max(known for known in LcpRung if known <= rung),
    )
