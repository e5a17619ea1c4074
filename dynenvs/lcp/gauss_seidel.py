"""Block Gauss-Seidel for LCPs: one contact after the other is solved exactly, the others frozen.

Source: Cottle, Pang, Stone, The Linear Complementarity Problem, sec. 5.2 (block splittings).  With
one variable a block this is projected Gauss-Seidel.
"""

from __future__ import annotations

from dynenvs.jit.compiled import kernel
from dynenvs.lcp.tableau import PIVOT_LIMIT, SOLVED, tableau_lemke
from dynenvs.lcp.workspace import (
    BLOCK_BASIS,
    BLOCK_MATRIX,
    BLOCK_VECTOR,
    BLOCK_Z,
    COVER,
    MEMBERS,
    Integers,
    Matrix,
    Vector,
    Workspace,
    integer,
)


@kernel
def _block_problem(
    A: Matrix, b: Vector, size: int, block: Integers, label: int, z: Vector, work: Workspace
) -> int:
    """Write the LCP of one block, for the present values of the others, into `work`.

    Returns its size; MEMBERS says which variables it has.
    """
    members = work.integers[MEMBERS]
    inner_matrix = work.matrices[BLOCK_MATRIX]
    inner_vector = work.vectors[BLOCK_VECTOR]
    cover = work.vectors[COVER]
    # Labels may come in any order: the block's variables are listed first
    count = integer(0)
    for i in range(size):
        if block[i] == label:
            members[count] = i
            count += 1
    # The others' values count as constants: they go into the offset
    for p in range(count):
        i = members[p]
        total = b[i]
        for j in range(size):
            if block[j] != label:
                total += A[i, j] * z[j]
        inner_vector[p] = total
        cover[p] = 1.0
        for q in range(count):
            inner_matrix[p, q] = A[i, members[q]]
    return count


@kernel
def gauss_seidel(
    A: Matrix,
    b: Vector,
    size: int,
    block: Integers,
    sweeps: int,
    tolerance: float,
    z: Vector,
    basis: Integers,
    work: Workspace,
) -> tuple[int, int]:
    """Sweep over the blocks from z = 0, until no variable changes by more than `tolerance`.

    A: shape (>= size, >= size), equilibrated; b: shape (>= size,)
    block: shape (>= size,), the label 0, 1, ... of each variable's block; negative labels are
        skipped
    sweeps: greatest number of sweeps; tolerance: in the unit of z
    z: shape (>= size,), receives the answer; a block whose own LCP is not solved keeps its values
    basis: shape (>= size,), receives 1 where z > 0, else 0
    Returns (SOLVED if the changes fell below the tolerance, or PIVOT_LIMIT; number of sweeps).
    """
    members = work.integers[MEMBERS]
    inner_basis = work.integers[BLOCK_BASIS]
    inner_matrix = work.matrices[BLOCK_MATRIX]
    inner_vector = work.vectors[BLOCK_VECTOR]
    inner_z = work.vectors[BLOCK_Z]
    cover = work.vectors[COVER]
    labels = 0
    for i in range(size):
        z[i] = 0.0
        labels = max(labels, block[i] + 1)
    change, used = 0.0, 0
    while used < sweeps:
        used += 1
        change = 0.0
        # Each block's own LCP, exactly; where that fails its values stay
        for label in range(labels):
            count = _block_problem(A, b, size, block, label, z, work)
            status, _ = tableau_lemke(
                inner_matrix,
                inner_vector,
                cover,
                count,
                20 + 10 * count,
                inner_z,
                inner_basis,
                work,
            )
            if status == SOLVED:
                for p in range(count):
                    i = members[p]
                    change = max(change, abs(inner_z[p] - z[i]))
                    z[i] = inner_z[p]
        if change <= tolerance:
            break
    # The basis, for callers that solve again
    for i in range(size):
        basis[i] = 1 if z[i] > 0.0 else 0
    return SOLVED if change <= tolerance else PIVOT_LIMIT, used
