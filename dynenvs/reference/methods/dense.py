"""Factorisations of dense matrices for any number type, as the textbooks write them.

Golub and Van Loan, Matrix Computations (4th ed.): algorithms 3.4.1 (LU with partial pivoting),
4.2.1 (Cholesky) and 5.2.1 (Householder QR); Featherstone 2008, table 6.3 (L^T D L of a tree).
"""

from __future__ import annotations

import numpy as np

from dynenvs.reference.methods.scalars import Array, Scalars


def cholesky(A: Array, scalars: Scalars) -> Array:
    """Lower L with L L^T = A, shape (n, n); n^3/3 operations.

    Raises:
        ArithmeticError: A is not positive definite in these numbers.
    """
    n = len(A)
    L = scalars.zeros(n, n)
    for j in range(n):
        pivot = A[j, j] - L[j, :j] @ L[j, :j] if j else A[j, j]
        if not pivot > scalars.number(0.0):
            raise ArithmeticError(
                f"the matrix is not positive definite: pivot {j} is {float(pivot):.3g}"
            )
        L[j, j] = scalars.root(pivot)
        for i in range(j + 1, n):
            L[i, j] = (A[i, j] - L[i, :j] @ L[j, :j] if j else A[i, j]) / L[j, j]
    return L


def cholesky_solve(L: Array, rhs: Array) -> Array:
    """(L L^T)^-1 rhs, rhs of shape (n,) or (n, m)."""
    return solve_upper(L.T, solve_lower(L, rhs))


def solve_lower(L: Array, rhs: Array) -> Array:
    """L^-1 rhs of a lower triangular L, rhs of shape (n,) or (n, m)."""
    x = rhs.copy()
    for i in range(len(L)):
        x[i] = (x[i] - L[i, :i] @ x[:i] if i else x[i]) / L[i, i]
    return x


def solve_upper(U: Array, rhs: Array) -> Array:
    """U^-1 rhs of an upper triangular U, rhs of shape (n,) or (n, m)."""
    x = rhs.copy()
    for i in reversed(range(len(U))):
        rest = x[i] - U[i, i + 1 :] @ x[i + 1 :] if i + 1 < len(U) else x[i]
        x[i] = rest / U[i, i]
    return x


def ltdl_solve(A: Array, parent: list[int], rhs: Array) -> Array:
    """A^-1 rhs by A = L^T D L, which keeps the zeros that a tree leaves in A.

    Args:
        A: symmetric positive definite, shape (n, n); A_ij = 0 unless i is an ancestor of j or j
            of i.
        parent: of each row, -1 at a root; smaller than the row's own number.
        rhs: shape (n,).
    """
    # From the tips on, so that nothing fills in: only ancestors of k are touched
    L, x = A.copy(), rhs.copy()
    for k in reversed(range(len(A))):
        i = parent[k]
        while i >= 0:
            ratio = L[k, i] / L[k, k]
            j = i
            while j >= 0:
                L[i, j] = L[i, j] - ratio * L[k, j]
                j = parent[j]
            L[k, i] = ratio
            i = parent[i]
    for i in reversed(range(len(A))):  # L^-T
        j = parent[i]
        while j >= 0:
            x[j] = x[j] - L[i, j] * x[i]
            j = parent[j]
    for i in range(len(A)):  # D^-1, then L^-1
        x[i] = x[i] / L[i, i]
        j = parent[i]
        while j >= 0:
            x[i] = x[i] - L[i, j] * x[j]
            j = parent[j]
    return x


def lu_solve(A: Array, rhs: Array) -> Array:
    """A^-1 rhs by Gaussian elimination with partial pivoting; A of shape (n, n), rhs of (n,)."""
    U, x = A.copy(), rhs.copy()
    n = len(A)
    for k in range(n):
        # The largest pivot that is left in the column
        best = max(range(k, n), key=lambda i: abs(U[i, k]))
        if best != k:
            U[[k, best]], x[[k, best]] = U[[best, k]], x[[best, k]]
        if U[k, k] == 0:
            raise ArithmeticError(f"the matrix is singular: no pivot in column {k}")
        for i in range(k + 1, n):
            ratio = U[i, k] / U[k, k]
            U[i, k:] = U[i, k:] - ratio * U[k, k:]
            x[i] = x[i] - ratio * x[k]
    return solve_upper(U, x)


def householder(
    A: Array, scalars: Scalars, *, pivot: bool = False
) -> tuple[Array, list[Array], list[int]]:
    """A[:, order] = Q [R; 0] by reflections I - 2 u u^T, for m rows >= n.

    Args:
        A: shape (m, n).
        scalars: its number type.
        pivot: take the longest remaining column next (Golub and Van Loan, algorithm 5.4.1).

    Returns:
        R, shape (n, n), the reflections' u, and the order of the columns.

    Raises:
        ArithmeticError: a column depends on the others.
    """
    W = A.copy()
    n = W.shape[1]
    two, zero = scalars.number(2.0), scalars.number(0.0)
    order = list(range(n))
    reflectors: list[Array] = []
    for j in range(n):
        if pivot:
            longest = max(range(j, n), key=lambda k: float(W[j:, k] @ W[j:, k]))
            W[:, [j, longest]] = W[:, [longest, j]]
            order[j], order[longest] = order[longest], order[j]
        largest = max((abs(x) for x in W[j:, j]), default=zero)
        if not largest > zero:
            raise ArithmeticError(f"column {order[j]} depends on the others")
        u = W[j:, j] / largest  # before squaring, which could overflow
        norm = scalars.root(u @ u)
        u[0] = u[0] + norm if u[0] >= zero else u[0] - norm
        u = u / scalars.root(u @ u)
        W[j:, j:] = W[j:, j:] - two * np.outer(u, u @ W[j:, j:])
        reflectors.append(u)
    return W[:n], reflectors, order


def apply_transposed(reflectors: list[Array], rhs: Array, scalars: Scalars) -> Array:
    """The first n entries of Q^T rhs, for `rhs` of shape (m,)."""
    x, two = rhs.copy(), scalars.number(2.0)
    for j, u in enumerate(reflectors):
        x[j:] = x[j:] - two * (u @ x[j:]) * u
    return x[: len(reflectors)]


def apply(reflectors: list[Array], rhs: Array, rows: int, scalars: Scalars) -> Array:
    """Q [b; 0], shape (rows,), for `rhs` of shape (n,)."""
    x, two = scalars.zeros(rows), scalars.number(2.0)
    x[: len(rhs)] = rhs
    for j in reversed(range(len(reflectors))):
        u = reflectors[j]
        x[j:] = x[j:] - two * (u @ x[j:]) * u
    return x
