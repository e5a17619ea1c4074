"""Recursive Newton-Euler algorithm in body frames (Featherstone 2008, table 5.1).

The O(n) passes through which other methods see a tree: the bias force h = RNEA(q, v, 0), and the
product of the mass matrix with a vector, M y = RNEA(q, 0, y) without gravity.
"""

from __future__ import annotations

from dynenvs.reference.methods.scalars import Array
from dynenvs.reference.methods.spatial import motion_cross
from dynenvs.reference.methods.tree import Tree


def bias_forces(tree: Tree) -> Array:
    """h: generalized forces at zero joint acceleration, gravity included, shape (nv,)."""
    accelerations: list[Array] = []
    forces: list[Array] = []
    for i, inertia in enumerate(tree.inertia):
        accelerations.append(tree.from_parent(i, accelerations, tree.base) + tree.product[i])
        forces.append(inertia @ accelerations[i] + gyroscopic(tree, i))
    return _project(tree, forces)


def mass_times(tree: Tree, y: Array) -> Array:
    """M y with the armature in M, shape (nv,), without forming M."""
    accelerations: list[Array] = []
    forces: list[Array] = []
    rest = tree.scalars.zeros(6)
    for i, inertia in enumerate(tree.inertia):
        moving = tree.S[i] @ y[tree.dofs[i]]
        accelerations.append(tree.from_parent(i, accelerations, rest) + moving)
        forces.append(inertia @ accelerations[i])
    return _project(tree, forces) + tree.armature * y


def gyroscopic(tree: Tree, body: int) -> Array:
    """v x* I v of `body`, shape (6,)."""
    momentum = tree.inertia[body] @ tree.velocity[body]
    return -(motion_cross(tree.velocity[body], tree.scalars).T @ momentum)


def _project(tree: Tree, forces: list[Array]) -> Array:
    """tau_i = S_i^T f_i, tips to base; consumes `forces`."""
    tau = tree.scalars.zeros(tree.nv)
    for i in reversed(range(len(forces))):
        tau[tree.dofs[i]] = tree.S[i].T @ forces[i]
        if tree.parent[i] >= 0:
            forces[tree.parent[i]] = forces[tree.parent[i]] + tree.X[i].T @ forces[i]
    return tau
