"""The cascade: warm start, Lemke, careful Lemke, interior point, principal pivoting, and so on.

Why contact problems have solutions, and what counts as one: docs/theory.md, Existence, and
docs/theory.md, Certificate.  Lemke's method runs on an updated dictionary first (`tableau.py`) and,
where its answer is not certified, with a basis refactored in twice the working precision
(`lemke.py`), which decides near ties rightly where light bodies carry heavy ones.  Interior points
and principal pivoting find answers that Lemke's method misses, for it ends on a ray; then come
regularised problems and block Gauss-Seidel.  An answer is certified on the problem as given, never
on a regularised one, by `scaling.certificate`: CERTIFIED up to 1e-9, DEGRADED up to 1e-5, FAILED
beyond.  One that is not exact is solved again with its own basis ("polished").  What would be
CERTIFIED or DEGRADED must be so with all rounding counted (`proof.proven_residual`).
"""

from __future__ import annotations

import math

import numpy as np

from dynenvs.jit.compiled import entry, inlined, kernel
from dynenvs.jit.views import raw, vector, words
from dynenvs.lcp.active_set import solve_active_set
from dynenvs.lcp.fallback import solve_by_fallback
from dynenvs.lcp.gauss_seidel import gauss_seidel
from dynenvs.lcp.interior_point import interior_point
from dynenvs.lcp.lemke import lemke
from dynenvs.lcp.principal_pivoting import principal_pivoting
from dynenvs.lcp.proof import proven_residual
from dynenvs.lcp.scaling import certificate, equilibrate, natural_scales
from dynenvs.lcp.semismooth_newton import semismooth_newton
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
)

CERTIFIED, DEGRADED, FAILED = 0, 1, 2

CERTIFIED_RESIDUAL = 1e-9
DEGRADED_RESIDUAL = 1e-5
WARM_RESIDUAL = (
    1e-12  # a guess that is right solves to roundoff; a stale one would let bodies creep
)
EXACT = 1e-14  # residual of a dictionary's answer that would gain nothing from its basis
POLISHED_RESIDUAL = 1e-3  # an answer this close is worth solving again with its own basis

# Methods of `solve_by`
(
    BY_LEMKE,
    BY_CAREFUL_LEMKE,
    BY_PRINCIPAL_PIVOTING,
    BY_GAUSS_SEIDEL,
    BY_SEMISMOOTH_NEWTON,
    BY_INTERIOR_POINT,
) = range(6)

WARM_START, LEMKE, CAREFUL_LEMKE = 0, 1, 2
# Careful Lemke is stages 2 to 4, interior point 5 to 8 from four starts, the ladder 10 to 18
INTERIOR_POINT, PRINCIPAL_PIVOTING, REGULARISED, GAUSS_SEIDEL = 5, 9, 10, 19
FIRST_SHIFT = 1e-14  # of the ladder; ten times more on each stage, 1e-6 on the last
SWEEPS = 300


@inlined
def _begin(
    A: Matrix,
    b: Vector,
    size: int,
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
    for i in range(size):
        z[i] = 0.0
        if has_guess:
            basis[i] = guess[i]
        guess[i] = 0
    natural_scales(A, b, size, floor, work.vectors[Z_SCALE], work.vectors[W_SCALE])
    matrix = work.matrices[EQUILIBRATED]
    return equilibrate(A, b, size, work.vectors[UNIT], matrix, work.vectors[OFFSET])


@inlined
def _prepare(A: Matrix, size: int, stage: int, work: Workspace) -> None:
    """Set up what a stage solves: the shift of the ladder, and the covering vector of Lemke."""
    matrix = work.matrices[EQUILIBRATED]
    unit = work.vectors[UNIT]
    cover = work.vectors[COVER]
    shift = 0.0
    if REGULARISED <= stage < GAUSS_SEIDEL:
        shift = FIRST_SHIFT
        for _ in range(stage - REGULARISED):
            shift *= 10.0
    # The ladder's shift changes diagonals of impulse rows alone: cone rows have none
    for i in range(size):
        if A[i, i] > 0.0:
            matrix[i, i] = unit[i] * A[i, i] * unit[i] + shift
        # Another covering vector, or start, takes another path, often to another of many solutions
        cover[i] = 1.0
        if CAREFUL_LEMKE < stage < PRINCIPAL_PIVOTING and stage != INTERIOR_POINT:
            share = stage * (i + 1) * 0.6180339887498949
            cover[i] += share - math.floor(share)


@kernel
def _polish(A: Matrix, size: int, careful: bool, work: Workspace) -> bool:
    """Solve the unregularised problem for BASIS into TRIAL; returns whether that was possible.

    careful: in twice the working precision
    """
    matrix = work.matrices[EQUILIBRATED]
    offset = work.vectors[OFFSET]
    unit = work.vectors[UNIT]
    trial = work.vectors[TRIAL]
    for i in range(size):
        matrix[i, i] = unit[i] * A[i, i] * unit[i]
    return solve_active_set(matrix, offset, size, work.integers[BASIS], careful, trial, work)


@inlined
def _certify_best(
    A: Matrix,
    b: Vector,
    size: int,
    beta: float,
    again: bool,
    bound: float,
    z: Vector,
    guess: Integers,
    work: Workspace,
) -> float:
    """Certify the answer in TRIAL, and those of its BASIS; the best replaces z and `guess`.

    beta: unit of the scaled impulses; again: there is no answer yet, only a basis
    bound: an answer counts if its residual is below this
    Returns the least residual, infinite if nothing counts.
    """
    trial, answer, unit = work.vectors[TRIAL], work.vectors[ANSWER], work.vectors[UNIT]
    basis = work.integers[BASIS]
    best = math.inf
    z_scale, w_scale = work.vectors[Z_SCALE], work.vectors[W_SCALE]
    for step in range(1 if again else 0, 3):  # as it is, solved again, and more carefully
        if step > 0 and not _polish(A, size, step == 2, work):
            break
        # In the units of the problem as given
        for i in range(size):
            answer[i] = beta * unit[i] * trial[i]
        seen = certificate(A, b, size, answer, z_scale, w_scale, step == 2)
        residual = seen
        # What seems good enough must be so with its rounding counted
        if seen <= DEGRADED_RESIDUAL and seen < min(best, bound):
            proven = proven_residual(A, b, size, answer, CERTIFIED_RESIDUAL, True, work)
            if proven > CERTIFIED_RESIDUAL:
                residual = max(seen, proven)
        if residual < min(best, bound):
            best = residual
            for i in range(size):
                z[i] = answer[i]
                guess[i] = basis[i]
        # Exact already, or so far off that its basis is no use
        enough = EXACT if step == 0 else CERTIFIED_RESIDUAL
        if residual <= enough or seen > POLISHED_RESIDUAL:
            break
    return best


@entry(seconds=11)
def solve(
    A: Matrix,
    b: Vector,
    size: int,
    floor: float,
    guess: Integers,
    has_guess: bool,
    block: Integers,
    z: Vector,
    work: Workspace,
) -> tuple[int, float, int, int]:
    """Solve w = A z + b >= 0, z >= 0, w'z = 0 by the cascade, without allocating.

    A: shape (>= size, >= size), C-contiguous; b: shape (>= size,)
    floor: least velocity scale of the certificate, in the unit of b (g dt), 0 for none
    guess: shape (>= size,), nonzero where z is basic; read if has_guess, receives the final basis
    block: shape (>= size,), label 0, 1, ... of each variable's contact (Gauss-Seidel only)
    z: shape (>= size,), receives the best answer found; zeros if none is finite
    work: `workspace(capacity)` with capacity >= size
    Returns (CERTIFIED, DEGRADED or FAILED; natural residual; pivots; stage of the answer).
    """
    # Methods from quick to robust, until one is certified; the best answer is kept
    matrix, offset = work.matrices[EQUILIBRATED], work.vectors[OFFSET]
    cover, trial = work.vectors[COVER], work.vectors[TRIAL]
    basis = work.integers[BASIS]
    limit = 100 + 10 * size
    beta = _begin(A, b, size, floor, guess, has_guess, z, work)
    best, best_stage, pivots = math.inf, LEMKE, 0
    for stage in range(WARM_START if has_guess else LEMKE, GAUSS_SEIDEL + 1):
        if stage == GAUSS_SEIDEL and best <= DEGRADED_RESIDUAL:
            break  # it is slow, and has never bettered an answer this close
        _prepare(A, size, stage, work)
        count = 0
        if stage == GAUSS_SEIDEL:
            gauss_seidel(matrix, offset, size, block, SWEEPS, 1e-13, trial, basis, work)
        elif stage == LEMKE:
            _, count = tableau_lemke(matrix, offset, cover, size, limit, trial, basis, work)
        elif INTERIOR_POINT <= stage <= PRINCIPAL_PIVOTING:
            count = solve_by_fallback(
                words(work.matrices, work.matrices.size),
                words(work.vectors, work.vectors.size),
                vector(raw(work.integers, 8 * work.integers.size), 0, work.integers.size, np.int64),
                size,
                1 if stage == PRINCIPAL_PIVOTING else 0,
            )
            if count < 0:  # it could not be compiled
                continue
        elif stage != WARM_START:
            _, count = lemke(matrix, offset, cover, size, limit, trial, basis, work)
        pivots += count
        # A stale guess must not change the answer, so it counts only when certified.
        bound = WARM_RESIDUAL if stage == WARM_START else best
        residual = _certify_best(A, b, size, beta, stage == WARM_START, bound, z, guess, work)
        if residual < best:
            best, best_stage = residual, stage
        if best <= CERTIFIED_RESIDUAL:
            return CERTIFIED, best, pivots, best_stage
    return DEGRADED if best <= DEGRADED_RESIDUAL else FAILED, best, pivots, best_stage


@kernel
def solve_by_lemke(
    A: Matrix, b: Vector, size: int, floor: float, basis: Integers, z: Vector, work: Workspace
) -> tuple[int, float, int]:
    """Solve the same as the step does: by Lemke's method, and if need be by the careful one.

    That may end on a ray from one covering vector and not from another: it has three.

    basis: shape (>= size,), receives 1 where z is basic, else 0; other arguments as for `solve`
    Returns (CERTIFIED, DEGRADED or FAILED; natural residual; pivots).
    """
    matrix, offset = work.matrices[EQUILIBRATED], work.vectors[OFFSET]
    cover, trial, found = work.vectors[COVER], work.vectors[TRIAL], work.integers[BASIS]
    limit = 100 + 10 * size
    beta = _begin(A, b, size, floor, basis, False, z, work)
    _prepare(A, size, LEMKE, work)
    _, pivots = tableau_lemke(matrix, offset, cover, size, limit, trial, found, work)
    best = _certify_best(A, b, size, beta, False, math.inf, z, basis, work)
    for stage in range(CAREFUL_LEMKE, INTERIOR_POINT):  # each from another covering vector
        if best <= CERTIFIED_RESIDUAL:
            break
        _prepare(A, size, stage, work)
        _, more = lemke(matrix, offset, cover, size, limit, trial, found, work)
        pivots += more
        best = min(best, _certify_best(A, b, size, beta, False, best, z, basis, work))
    if best <= CERTIFIED_RESIDUAL:
        return CERTIFIED, best, pivots
    return DEGRADED if best <= DEGRADED_RESIDUAL else FAILED, best, pivots


@entry(seconds=11)
def solve_by(
    A: Matrix,
    b: Vector,
    floor: float,
    method: int,
    limit: int,
    basis: Integers,
    block: Integers,
    z: Vector,
    work: Workspace,
) -> tuple[int, float, int]:
    """Solve the same by one method alone, for comparisons; arguments as for `solve`, and:

    method: BY_LEMKE, BY_CAREFUL_LEMKE, ..., BY_INTERIOR_POINT
    limit: greatest number of pivots, sweeps or iterations
    basis: shape (>= n,), receives 1 where z is basic, else 0

    Its answer is solved again with its own basis, and certified, as in the cascade.
    Returns (CERTIFIED, DEGRADED or FAILED; natural residual; pivots, sweeps or iterations).
    """
    n = b.shape[0]
    matrix, offset = work.matrices[EQUILIBRATED], work.vectors[OFFSET]
    cover, trial = work.vectors[COVER], work.vectors[TRIAL]
    found = work.integers[BASIS]
    # The scaled problem as the cascade's first stage sees it
    beta = _begin(A, b, n, floor, basis, False, z, work)
    _prepare(A, n, LEMKE, work)
    used = 0
    if method == BY_LEMKE:
        _, used = tableau_lemke(matrix, offset, cover, n, limit, trial, found, work)
    elif method == BY_CAREFUL_LEMKE:
        _, used = lemke(matrix, offset, cover, n, limit, trial, found, work)
    elif method == BY_PRINCIPAL_PIVOTING:
        _, used = principal_pivoting(matrix, offset, n, limit, trial, found, work)
    elif method == BY_GAUSS_SEIDEL:
        _, used = gauss_seidel(matrix, offset, n, block, limit, 1e-13, trial, found, work)
    elif method == BY_SEMISMOOTH_NEWTON:
        _, used = semismooth_newton(matrix, offset, n, limit, trial, found, work)
    else:
        _, used = interior_point(matrix, offset, cover, n, limit, trial, found, work)
    # The same certificate for all methods, on the problem as given
    best = _certify_best(A, b, n, beta, False, math.inf, z, basis, work)
    if best <= CERTIFIED_RESIDUAL:
        return CERTIFIED, best, used
    return DEGRADED if best <= DEGRADED_RESIDUAL else FAILED, best, used
