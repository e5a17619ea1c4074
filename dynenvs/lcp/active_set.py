"""The answer of an LCP when it is known which variables are positive: one linear solve."""

from __future__ import annotations

from dynenvs.jit.compiled import kernel
from dynenvs.lcp.dense import factorise, gather, solve_basis
from dynenvs.lcp.workspace import (
    BASIC_Z,
    COLUMNS,
    FACTOR,
    ORDER,
    RIGHT,
    ROWS,
    Integers,
    Matrix,
    Vector,
    Workspace,
    integer,
)

SMALLEST_PIVOT = 1e-13  # relative; below, the guessed basis does not determine its variables
NEGLIGIBLE = 1e-9  # negative values this close to 0, relative to the largest, become 0


@kernel
def solve_active_set(
    A: Matrix, b: Vector, size: int, basis: Integers, careful: bool, z: Vector, work: Workspace
) -> bool:
    """Solve A_BB z_B = -b_B for the set B of basic variables, and set all others to 0.

    (Cottle, Pang, Stone, The Linear Complementarity Problem, sec. 2.2: a complementary basic
    solution.)  Nothing is said about signs: the caller certifies it (`scaling.certificate`).

    A: shape (>= size, >= size); b: shape (>= size,); basis: shape (>= size,), nonzero where z_i is
        basic
    careful: refine in twice the working precision
    z: shape (>= size,), receives the answer; left alone if A_BB is singular
    Returns whether A_BB was well enough conditioned to be solved.
    """
    rows = work.integers[ROWS]
    columns = work.integers[COLUMNS]
    right = work.vectors[RIGHT]
    x = work.vectors[BASIC_Z]
    # The block of basic rows and columns
    k = integer(0)
    for i in range(size):
        if basis[i] != 0:
            rows[k] = i
            columns[k] = i
            right[k] = -b[i]
            k += 1
    gather(A, b, k, k, work)
    if factorise(work.matrices[FACTOR], k, work.integers[ORDER]) < SMALLEST_PIVOT:
        return False
    solve_basis(A, b, k, k, right, x, careful, work)
    # Tiny negative values are rounding of zeros: an answer with them would fail its certificate
    largest = 0.0
    for j in range(k):
        largest = max(largest, abs(x[j]))
    for i in range(size):
        z[i] = 0.0
    for j in range(k):
        z[columns[j]] = 0.0 if -NEGLIGIBLE * largest <= x[j] <= 0.0 else x[j]
    return True
