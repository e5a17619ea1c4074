"""Augmented system of bodies, joints and constraint forces, solved sparsely.

Source: Pai, Ascher and Kry 2000, eq. (5); docs/theory.md, Augmented system.

Unknowns of each body are its joint's wrench f, minus its spatial acceleration -a and the joint's
qdd; its rows are Newton-Euler, the joint's kinematics and the joint's force (bodies from the tips):

    f_k - sum over children of X^T f_child + M_k (-a_k) = v x* M_k v
    (-a_k) - X (-a_parent) + S_k qdd_k = -c_k
    S_k^T f_k + armature qdd_k = tau_k

Nothing is eliminated by hand: a sparse LU finds the order.  All other methods of this layer are
elimination orders of this one matrix.

Cost: O(n) for trees (some 190 nonzero factors a body, measured for chains of 10 to 80), with a
constant some ten times that of the articulated-body method.
Digits: no sums of light and heavy bodies are formed before the elimination chooses an order, so
errors stay near eps at any ratio of masses.  That takes two steps of iterative refinement, which
make the solution exact for a system whose every entry is off by eps of itself (Skeel 1980);
partial pivoting alone mixes rows of different physical scales (measured without refinement, masses
spread over 1e12 in general position: 5e-7).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dynenvs.reference.methods.dense import lu_solve
from dynenvs.reference.methods.newton_euler import gyroscopic
from dynenvs.reference.methods.scalars import DOUBLE, Array
from dynenvs.reference.methods.tree import Tree

REFINEMENTS = 2


def kkt(tree: Tree) -> Array:
    """qdd, shape (nv,), by the augmented system, eq. (5)."""
    matrix, right, places = augmented_system(tree)
    if tree.scalars is DOUBLE:
        solution = _solve_sparsely(matrix, right)
    else:
        solution = lu_solve(_dense(matrix, len(right), tree), right)
    acceleration = tree.scalars.zeros(tree.nv)
    for i, dofs in enumerate(tree.dofs):
        acceleration[dofs] = solution[places[i] + 12 : places[i] + 12 + dofs.stop - dofs.start]
    return acceleration


def augmented_system(tree: Tree) -> tuple[dict[tuple[int, int], Any], Array, list[int]]:
    """Entries of the matrix by (row, column), the right-hand side, and where each body begins."""
    # A body's unknowns: the force that it passes on, its acceleration, its joint's
    n = len(tree.parent)
    sizes = [12 + dofs.stop - dofs.start for dofs in tree.dofs]
    places = [sum(sizes[i + 1 :]) for i in range(n)]  # the tips come first
    right = tree.scalars.zeros(sum(sizes))
    entries: dict[tuple[int, int], Any] = {}

    def put(row: int, column: int, block: Array) -> None:
        for r, c in zip(*np.nonzero(block), strict=True):
            entries[row + int(r), column + int(c)] = block[r, c]

    # Rows of a body: balance of forces, acceleration from the parent's, the joint's force
    one = np.eye(6) if tree.scalars is DOUBLE else tree.scalars.array(np.eye(6))
    for i in range(n):
        at, S = places[i], tree.S[i]
        put(at, at, one)
        put(at, at + 6, tree.inertia[i])
        put(at + 6, at + 6, one)
        put(at + 6, at + 12, S)
        put(at + 12, at, S.T)
        put(at + 12, at + 12, np.diag(tree.armature[tree.dofs[i]]))
        right[at : at + 6] = gyroscopic(tree, i)
        right[at + 6 : at + 12] = -tree.product[i]
        right[at + 12 : at + sizes[i]] = tree.tau[tree.dofs[i]]
        # The parent's acceleration is known for the world: minus gravity
        above = tree.parent[i]
        if above < 0:
            right[at + 6 : at + 12] = right[at + 6 : at + 12] - tree.X[i] @ tree.base
        else:
            put(places[above], at, -tree.X[i].T)
            put(at + 6, places[above] + 6, -tree.X[i])
    return entries, right, places


def _solve_sparsely(entries: dict[tuple[int, int], Any], right: Array) -> Array:
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import splu

    if not len(right):
        return right
    rows, columns = zip(*entries, strict=True)
    size = (len(right), len(right))
    matrix = csc_array((list(entries.values()), (rows, columns)), shape=size)
    factors = splu(matrix)
    solution: Array = factors.solve(right)
    for _ in range(REFINEMENTS):
        solution = solution + factors.solve(right - matrix @ solution)
    return solution


def _dense(entries: dict[tuple[int, int], Any], size: int, tree: Tree) -> Array:
    matrix = tree.scalars.zeros(size, size)
    for (row, column), value in entries.items():
        matrix[row, column] = value
    return matrix
