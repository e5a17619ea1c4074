"""Composite-rigid-body method (Pai, Ascher and Kry 2000, section 4; Featherstone 2008, table 6.2).

The joint-space inertia M = S^T A^T I A S is formed from the inertias of each body and all that it
carries, and M qdd = tau - h is solved by one of four factorisations:

* `crb_cholesky`  M = L L^T, n^3/6 multiplications;
* `crb_ltdl`      M = L^T D L with the tree's zeros kept, n d^2 for depth d;
* `crb_lu`        partial pivoting, n^3/3: answers too where roundoff has made M indefinite;
* `crb_svd`       singular values, some 12 n^3: shows how near to singular M is.

Cost: O(n^2) for M, O(n^3) to solve; with few bodies the fastest in practice (Cloutier 1995, 3.4).
Digits: forming M adds a light body's inertia to a heavy one's, and the solve subtracts it again:
the relative error grows as cond(M) eps, whatever the factorisation (Cloutier 1995, 4.2).
"""

from __future__ import annotations

import numpy as np

from dynenvs.reference.methods.dense import cholesky, cholesky_solve, ltdl_solve, lu_solve
from dynenvs.reference.methods.newton_euler import bias_forces
from dynenvs.reference.methods.scalars import DOUBLE, Array
from dynenvs.reference.methods.spatial import cross_matrix, turned
from dynenvs.reference.methods.tree import Tree


def mass_matrix(tree: Tree) -> Array:
    """M with the armature on its diagonal, shape (nv, nv)."""
    # Inertia of each body with all that it carries
    composite = list(tree.inertia)
    for i in reversed(range(len(composite))):
        above = tree.parent[i]
        if above >= 0:
            composite[above] = composite[above] + lifted(tree, i, composite[i])
    # The force of a joint's own acceleration, felt by every joint towards the root
    M = tree.scalars.zeros(tree.nv, tree.nv)
    for i, dofs in enumerate(tree.dofs):
        force = composite[i] @ tree.S[i]
        M[dofs, dofs] = tree.S[i].T @ force
        j = i
        while tree.parent[j] >= 0:
            force = tree.X[j].T @ force
            j = tree.parent[j]
            M[tree.dofs[j], dofs] = tree.S[j].T @ force
            M[dofs, tree.dofs[j]] = M[tree.dofs[j], dofs].T
    for j in range(tree.nv):
        M[j, j] = M[j, j] + tree.armature[j]
    return M


def lifted(tree: Tree, body: int, inertia: Array) -> Array:
    """X^T I X of a rigid inertia by its ten numbers (Featherstone 2008, section 2.13).

    Mass m, moment h = m c and rotational inertia J = I_C + m c x c x^T in `body` become, in its
    parent's frame at distance p, with h' = R h: m, h' + m p and R J R^T + [p x][h' x]^T +
    [h' x][p x]^T + m [p x][p x]^T.
    """
    R, p = tree.rotation[body], tree.position[body]
    m = inertia[3, 3]
    h = R @ np.array([inertia[2, 4], inertia[0, 5], inertia[1, 3]])
    J = turned(inertia[:3, :3], R)
    # [a x][b x]^T = (a.b) 1 - b a^T, summed over both orders: 2 (p.h) 1 - h p^T - p h^T
    arm = h + h + m * p
    outer = np.outer(p, arm)
    out = tree.scalars.zeros(6, 6)
    out[:3, :3] = J - (outer + outer.T) / tree.scalars.number(2.0)
    for k in range(3):
        out[k, k] = out[k, k] + outer[0, 0] + outer[1, 1] + outer[2, 2]
        out[3 + k, 3 + k] = m
    out[:3, 3:] = cross_matrix(h + m * p, tree.scalars)
    out[3:, :3] = -out[:3, 3:]
    return out


def crb_cholesky(tree: Tree) -> Array:
    """qdd, shape (nv,); ArithmeticError if M is not positive definite in these numbers."""
    L = cholesky(mass_matrix(tree), tree.scalars)
    return cholesky_solve(L, tree.tau - bias_forces(tree))


def crb_ltdl(tree: Tree) -> Array:
    """qdd, shape (nv,)."""
    return ltdl_solve(mass_matrix(tree), tree.dof_parent, tree.tau - bias_forces(tree))


def crb_lu(tree: Tree) -> Array:
    """qdd, shape (nv,)."""
    return lu_solve(mass_matrix(tree), tree.tau - bias_forces(tree))


def crb_svd(tree: Tree) -> Array:
    """qdd, shape (nv,); doubles only."""
    if tree.scalars is not DOUBLE:
        raise TypeError(f"crb_svd computes with doubles, not with {tree.scalars.name} numbers")
    U, sigma, Vt = np.linalg.svd(mass_matrix(tree))
    solution: Array = Vt.T @ ((U.T @ (tree.tau - bias_forces(tree))) / sigma)
    return solution
