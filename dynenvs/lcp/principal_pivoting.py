"""Principal pivoting: complementary variables change places, one pair or two at a time.

The criss-cross rule: the least index whose basic variable is negative, and where its own diagonal
entry cannot be the pivot (friction pyramids have zeros there), the least index to exchange with.
No start, no artificial variable, and no cycles where the matrix is sufficient (all P-matrices and
all positive semidefinite ones are); contact with friction is only copositive, so that it may fail.

Source: den Hertog, Roos, Terlaky, The linear complementarity problem, sufficient matrices, and the
criss-cross method (1993); Murty, Note on a Bard-type scheme for solving the complementarity problem
(1974), for the rule of the least index; Cottle, Pang, Stone, The Linear Complementarity Problem,
sec. 4.2 and 4.3.
"""

from __future__ import annotations

from dynenvs.jit.compiled import inlined, kernel
from dynenvs.lcp.tableau import PIVOT_LIMIT, RAY, SOLVED, exchange
from dynenvs.lcp.workspace import (
    BASIC_Z,
    FACTOR,
    STEP_W,
    Integers,
    Matrix,
    Vector,
    Workspace,
)

SMALLEST_PIVOT = 1e-10  # relative to its row
NEGATIVE = 1e-12  # a basic variable above minus this, relative to the largest, counts as 0


@kernel
def principal_pivoting(
    A: Matrix, b: Vector, size: int, limit: int, z: Vector, basis: Integers, work: Workspace
) -> tuple[int, int]:
    """Solve w = A z + b >= 0, z >= 0, w'z = 0 by the criss-cross method.

    Expects equilibrated data (`scaling.equilibrate`).

    A: shape (>= size, >= size); b: shape (>= size,)
    limit: greatest number of pivots
    z: shape (>= size,), receives the answer (of the last basis if there is none)
    basis: shape (>= size,), receives 1 where z is basic at the end, else 0
    Returns (SOLVED, RAY if a row cannot become positive, or PIVOT_LIMIT; number of pivots).
    """
    T, q, scratch = work.matrices[FACTOR], work.vectors[BASIC_Z], work.vectors[STEP_W]
    for i in range(size):
        basis[i] = 0
        q[i] = b[i]
        for j in range(size):
            T[i, j] = A[i, j]
    pivots, status = 0, PIVOT_LIMIT
    # The least index that is negative, and the least that can be exchanged with it
    while pivots < limit:
        k = _first_negative(q, size)
        if k < 0:
            status = SOLVED
            break
        r = _partner(T, k, size)
        if r < 0:
            status = RAY
            break
        exchange(T, q, size, size, k, r, scratch)
        pivots += 1
        basis[k] = 1 - basis[k]
        # Its own diagonal could not be the pivot: two exchanges, of both pairs
        if r != k:
            exchange(T, q, size, size, r, k, scratch)
            pivots += 1
            basis[r] = 1 - basis[r]
            _swap(T, q, size, k, r)
    for i in range(size):
        z[i] = max(q[i], 0.0) if basis[i] != 0 else 0.0
    return status, pivots


@inlined
def _first_negative(q: Vector, size: int) -> int:
    """The least index of a negative basic variable, or -1."""
    scale = 1.0
    for i in range(size):
        scale = max(scale, abs(q[i]))
    for i in range(size):
        if q[i] < -NEGATIVE * scale:
            return i
    return -1


@inlined
def _partner(tableau: Matrix, row: int, size: int) -> int:
    """Column whose variable raises that of a row: its own if it does, else the first; -1: none.

    The exchange goes both ways, so the entry on the other side must not vanish either.
    """
    # Its own diagonal is the best partner
    largest = 0.0
    for j in range(size):
        largest = max(largest, abs(tableau[row, j]))
    if tableau[row, row] > SMALLEST_PIVOT * largest:
        return row
    # Else the first that does both ways
    for j in range(size):
        # What is left of T_jk once `row` and j have changed places, times T_kj
        rest = abs(tableau[j, row] * tableau[row, j] - tableau[j, j] * tableau[row, row])
        if (
            j != row
            and tableau[row, j] > SMALLEST_PIVOT * largest
            and rest > SMALLEST_PIVOT * tableau[row, j]
        ):
            return j
    return -1


@inlined
def _swap(tableau: Matrix, q: Vector, size: int, row: int, other: int) -> None:
    """Bring the two pairs back: row and column i belong to pair i."""
    q[row], q[other] = q[other], q[row]
    for j in range(size):
        tableau[row, j], tableau[other, j] = tableau[other, j], tableau[row, j]
    for i in range(size):
        tableau[i, row], tableau[i, other] = tableau[i, other], tableau[i, row]
