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
    A: Matrix, b: Vector, n: int, limit: int, z: Vector, basis: Integers, work: Workspace
) -> tuple[int, int]:
    """Solve w = A z + b >= 0, z >= 0, w'z = 0 by the criss-cross method.

    Expects equilibrated data (`scaling.equilibrate`).

    A: shape (>= n, >= n); b: shape (>= n,)
    limit: greatest number of pivots
    z: shape (>= n,), receives the answer (of the last basis if there is none)
    basis: shape (>= n,), receives 1 where z is basic at the end, else 0
    Returns (SOLVED, RAY if a row cannot become positive, or PIVOT_LIMIT; number of pivots).
    """
    T, q, scratch = work.matrices[FACTOR], work.vectors[BASIC_Z], work.vectors[STEP_W]
    for i in range(n):
        basis[i] = 0
        q[i] = b[i]
        for j in range(n):
            T[i, j] = A[i, j]
    pivots, status = 0, PIVOT_LIMIT
    while pivots < limit:
        k = _first_negative(q, n)
        if k < 0:
            status = SOLVED
            break
        r = _partner(T, k, n)
        if r < 0:
            status = RAY
            break
        exchange(T, q, n, n, k, r, scratch)
        pivots += 1
        basis[k] = 1 - basis[k]
        if r != k:
            exchange(T, q, n, n, r, k, scratch)
            pivots += 1
            basis[r] = 1 - basis[r]
            _swap(T, q, n, k, r)
    for i in range(n):
        z[i] = max(q[i], 0.0) if basis[i] != 0 else 0.0
    return status, pivots


@inlined
def _first_negative(q: Vector, n: int) -> int:
    """The least index of a negative basic variable, or -1."""
    scale = 1.0
    for i in range(n):
        scale = max(scale, abs(q[i]))
    for i in range(n):
        if q[i] < -NEGATIVE * scale:
            return i
    return -1


@inlined
def _partner(T: Matrix, k: int, n: int) -> int:
    """Column whose variable raises basic variable k: its own if it does, else the first; -1: none.

    The exchange goes both ways, so the entry on the other side must not vanish either.
    """
    largest = 0.0
    for j in range(n):
        largest = max(largest, abs(T[k, j]))
    if T[k, k] > SMALLEST_PIVOT * largest:
        return k
    for j in range(n):
        # What is left of T_jk once k and j have changed places, times T_kj
        rest = abs(T[j, k] * T[k, j] - T[j, j] * T[k, k])
        if j != k and T[k, j] > SMALLEST_PIVOT * largest and rest > SMALLEST_PIVOT * T[k, j]:
            return j
    return -1


@inlined
def _swap(T: Matrix, q: Vector, n: int, k: int, r: int) -> None:
    """Bring the two pairs back: row and column i belong to pair i."""
    q[k], q[r] = q[r], q[k]
    for j in range(n):
        T[k, j], T[r, j] = T[r, j], T[k, j]
    for i in range(n):
        T[i, k], T[i, r] = T[i, r], T[i, k]
