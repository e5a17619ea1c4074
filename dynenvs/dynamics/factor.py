"""Sparse factorisation M = L^T D L that keeps the tree's zeros (Featherstone 2008, section 6.5).

L is unit lower triangular with the sparsity of M: L_ij is non-zero only for j on the way from i
to the root.  Columns are eliminated tips to base, so no fill-in arises.  `factor` stores L below
the diagonal and D^-1 on it: solves then divide by nothing.  Kinematic coordinates have an infinite
mass, D^-1 = 0: no force changes their velocity (what that does to others that they carry is a bias
force, `carried.py`).  Rows are subtracted in blocks where
that is quicker; what then stands between a row's own entries means nothing and is never read.
"""

from __future__ import annotations

from dynenvs.jit.compiled import inlined, kernel
from dynenvs.memory.layout import Floats, ModelView, Records
from dynenvs.simd.vectors import add_multiple


@inlined
def factor(w: ModelView, M: Floats, factors: Floats) -> bool:
    """L^T D L of the lower triangle of M, shapes (nv, nv); False if M is not positive definite."""
    for i in range(w.header[0].nv):
        for j in range(i + 1):
            factors[i, j] = M[i, j]
    return factor_in_place(w.dofs, factors)


@kernel
def factor_in_place(dofs: Records, factors: Floats) -> bool:
    """The same for a matrix that lies in L already."""
    for k in range(dofs.shape[0] - 1, -1, -1):
        # An infinite mass: nothing is subtracted from what carries it
        if dofs[k].kinematic:
            factors[k, k] = 0.0
            continue
        pivot = factors[k, k]
        if not pivot > 0.0:  # catches NaN too
            return False
        inverse = 1.0 / pivot
        factors[k, k] = inverse
        i = dofs[k].parent
        while i >= 0:
            # Rows that are whole up to here in blocks, the rest along the tree
            ratio = factors[k, i] * inverse
            whole = dofs[i].whole
            add_multiple(factors, i, factors, k, 0, whole, -ratio)
            j = i
            while j >= whole:
                factors[i, j] -= ratio * factors[k, j]
                j = dofs[j].parent
            factors[k, i] = ratio
            i = dofs[i].parent
    return True


@inlined
def solve(w: ModelView, factors: Floats, vector: Floats) -> None:
    """vector <- M^-1 vector, shape (nv,)."""
    solve_factors(w.dofs, factors, vector)


@kernel
def solve_factors(dofs: Records, factors: Floats, vector: Floats) -> None:
    """The same for the degrees of freedom of an opened model."""
    nv = dofs.shape[0]
    # L^-T: tips to base
    for i in range(nv - 1, -1, -1):
        xi = vector[i]
        j = dofs[i].parent
        while j >= 0:
            vector[j] -= factors[i, j] * xi
            j = dofs[j].parent
    # D^-1, then L^-1: base to tips
    for i in range(nv):
        total = vector[i] * factors[i, i]
        j = dofs[i].parent
        while j >= 0:
            total -= factors[i, j] * vector[j]
            j = dofs[j].parent
        vector[i] = total
