"""Articulated-body method (Pai, Ascher and Kry 2000, section 5; Featherstone 2008, table 7.1).

Block elimination of the augmented system (`kkt.py`) from the tips, body by body, which keeps it
sparse.  With IA the inertia of a body and all that it carries as felt at its joint:

    U = IA S,  D = S^T U,  u = tau - S^T (pA + IA c)
    parent's IA += X^T (IA - U D^-1 U^T) X
    parent's pA += X^T (pA + IA c + U D^-1 u)
    back:  qdd = D^-1 (u - U^T X a_parent),  a = X a_parent + c + S qdd

Cost: O(n); 300 n - 267 multiplications and 279 n - 259 additions at best (Cloutier 1995, section
3.4), 348 n - 446 multiplications as written here.
Digits: the heavy part of a child is projected out before it meets the light parent, so the error
of chains with a heavy tip stays near eps where the composite method has cond(M) eps.  Where the
projection leaves all entries large (coaxial joints not along coordinate axes) digits go too:
some 1e-8 at mass ratio 1e8 (docs/theory.md, Lost digits).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dynenvs.reference.methods.dense import cholesky, cholesky_solve
from dynenvs.reference.methods.newton_euler import gyroscopic
from dynenvs.reference.methods.scalars import Array, Scalars
from dynenvs.reference.methods.spatial import lift_inertia
from dynenvs.reference.methods.tree import Tree


class Child(NamedTuple):
    """What a child hands to its parent."""

    inertia: Array  # IA
    taken: Array  # U D^-1 U^T
    lift: Callable[[Array], Array]  # X^T (.) X


# From own inertia and the children: IA and IA S, for a motion subspace S
Gather = Callable[[Array, list[Child], Array], tuple[Array, Array]]


def articulated(tree: Tree) -> Array:
    """qdd, shape (nv,), in three passes."""
    return eliminate(tree, _project_then_add)


def _project_then_add(own: Array, children: list[Child], S: Array) -> tuple[Array, Array]:
    """The good order: a child's inertia is projected before anything is added to it."""
    IA = own
    for child in children:
        IA = IA + child.lift(child.inertia - child.taken)
    return IA, IA @ S


def eliminate(tree: Tree, gather: Gather) -> Array:
    """The passes that all articulated-body methods share; `gather` sums up the inertias."""
    n = len(tree.parent)
    children: list[list[int]] = [[] for _ in range(n)]
    for i, above in enumerate(tree.parent):
        if above >= 0:
            children[above].append(i)
    IA, U, ratio, bias = ([tree.scalars.zeros(0)] * n for _ in range(4))
    u, D = list(bias), list(bias)
    # Tips to base: articulated inertias and bias forces
    for i in reversed(range(n)):
        S, dofs = tree.S[i], tree.dofs[i]
        carried = [
            Child(IA[k], _symmetric_product(U[k], ratio[k]), _lift(tree, k)) for k in children[i]
        ]
        IA[i], U[i] = gather(tree.inertia[i], carried, S)
        bias[i] = gyroscopic(tree, i)
        for k in children[i]:
            bias[i] = bias[i] + tree.X[k].T @ (bias[k] + ratio[k].T @ u[k])
        bias[i] = bias[i] + IA[i] @ tree.product[i]  # now pA + IA c
        u[i] = tree.tau[dofs] - S.T @ bias[i]
        D[i] = S.T @ U[i] + np.diag(tree.armature[dofs])
        ratio[i] = solve_joint(D[i], U[i].T, tree.scalars)
    # Base to tips: accelerations
    qdd = tree.scalars.zeros(tree.nv)
    accelerations: list[Array] = []
    for i, dofs in enumerate(tree.dofs):
        a = tree.from_parent(i, accelerations, tree.base)
        qdd[dofs] = solve_joint(D[i], u[i] - U[i].T @ a, tree.scalars)
        accelerations.append(a + tree.product[i] + tree.S[i] @ qdd[dofs])
    return qdd


def _lift(tree: Tree, body: int) -> Callable[[Array], Array]:
    """X_i^T (.) X_i of symmetric matrices."""
    return lambda A: lift_inertia(A, tree.rotation[body], tree.position[body], tree.scalars)


def _symmetric_product(U: Array, ratio: Array) -> Array:
    """U D^-1 U^T, shape (6, 6), of which one half is computed."""
    out = U @ ratio if U.shape[1] == 0 else np.empty((6, 6), dtype=U.dtype)
    for i in range(6 if U.shape[1] else 0):
        for j in range(i, 6):
            out[i, j] = out[j, i] = U[i] @ ratio[:, j]
    return out


def solve_joint(D: Array, rhs: Array, scalars: Scalars) -> Array:
    """D^-1 rhs for the few coordinates of one joint."""
    if len(D) == 0:
        return rhs
    if len(D) == 1:
        return rhs / D[0, 0]
    return cholesky_solve(cholesky(D, scalars), rhs)
