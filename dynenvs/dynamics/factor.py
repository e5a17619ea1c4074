"""Sparse factorisation M = L^T D L that keeps the tree's zeros (Featherstone 2008, section 6.5).

L is unit lower triangular with the sparsity of M: L_ij is non-zero only for j on the way from i
to the root.  Columns are eliminated tips to base, so no fill-in arises.  `factor` stores L below
the diagonal and D on it.
"""

from __future__ import annotations

from dynenvs.compiled import inlined
from dynenvs.layout import Floats, ModelView


@inlined
def factor(m: ModelView, M: Floats, L: Floats) -> bool:
    """L^T D L of the lower triangle of M, shapes (nv, nv); False if M is not positive definite."""
    for i in range(m.header[0].nv):
        for j in range(i + 1):
            L[i, j] = M[i, j]
    return factor_in_place(m, L)


@inlined
def factor_in_place(m: ModelView, L: Floats) -> bool:
    """The same for a matrix that lies in L already."""
    for k in range(m.header[0].nv - 1, -1, -1):
        pivot = L[k, k]
        if not pivot > 0.0:  # catches NaN too
            return False
        i = m.dofs[k].parent
        while i >= 0:
            ratio = L[k, i] / pivot
            j = i
            while j >= 0:
                L[i, j] -= ratio * L[k, j]
                j = m.dofs[j].parent
            L[k, i] = ratio
            i = m.dofs[i].parent
    return True


@inlined
def solve_lower_transposed(m: ModelView, L: Floats, x: Floats) -> None:
    """x <- L^-T x, shape (nv,): tips to base."""
    for i in range(m.header[0].nv - 1, -1, -1):
        xi = x[i]
        if xi != 0.0:
            j = m.dofs[i].parent
            while j >= 0:
                x[j] -= L[i, j] * xi
                j = m.dofs[j].parent


@inlined
def solve_lower(m: ModelView, L: Floats, x: Floats) -> None:
    """x <- L^-1 x, shape (nv,): base to tips."""
    for i in range(m.header[0].nv):
        j = m.dofs[i].parent
        total = x[i]
        while j >= 0:
            total -= L[i, j] * x[j]
            j = m.dofs[j].parent
        x[i] = total


@inlined
def solve(m: ModelView, L: Floats, x: Floats) -> None:
    """x <- M^-1 x, shape (nv,)."""
    solve_lower_transposed(m, L, x)
    for i in range(m.header[0].nv):
        x[i] /= L[i, i]
    solve_lower(m, L, x)
