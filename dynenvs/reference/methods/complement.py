"""The natural orthogonal complement P with M = P^T P (Angeles and Ma 1988; Cloutier 1995, 3.1.2).

Every body adds six rows: L^T J, where J maps qdd to its spatial acceleration about the centre of
mass and L L^T is its inertia there, which is block diagonal: sqrt(m) 1 and a Cholesky factor of
the moments.  Rotor inertia adds the row sqrt(armature) of its coordinate.  P is block lower
triangular for chains.  The square of P's condition number is M's: a method that never forms P^T P
keeps twice the digits.
"""

from __future__ import annotations

import numpy as np

from dynenvs.reference.methods.scalars import Array, Scalars
from dynenvs.reference.methods.spatial import cross_matrix
from dynenvs.reference.methods.tree import Tree


class Weights:
    """L^T of one body's inertia at its centre of mass, applied to motions of the body frame."""

    def __init__(self, tree: Tree, body: int) -> None:
        self.scalars = tree.scalars
        self.mass = self.scalars.number(tree.mass[body])
        self.sqrt_mass = self.scalars.root(self.mass)
        self.center = cross_matrix(self.scalars.array(tree.center[body]), self.scalars)
        self.turn = semidefinite_root(self.scalars.array(tree.moments[body]), self.scalars)

    def __call__(self, motion: Array) -> Array:
        """L^T times motions of the body frame, shape (6,) or (6, k)."""
        angular, linear = motion[:3], motion[3:]
        out = motion.copy()
        out[:3] = self.turn.T @ angular
        out[3:] = self.sqrt_mass * (linear - self.center @ angular)
        return out


def semidefinite_root(A: Array, scalars: Scalars) -> Array:
    """Lower L with L L^T = A, positive semidefinite, shape (3, 3); zero pivots give zeros."""
    L = scalars.zeros(3, 3)
    zero = scalars.number(0.0)
    largest = max(A[k, k] for k in range(3))
    for j in range(3):
        # What is left of the pivot; of a body without extent it is rounding
        pivot = A[j, j] - L[j, :j] @ L[j, :j] if j else A[j, j]
        if not pivot > largest * scalars.number(1e-15):
            continue
        L[j, j] = scalars.root(pivot)
        for i in range(j + 1, 3):
            L[i, j] = (A[i, j] - (L[i, :j] @ L[j, :j] if j else zero)) / L[j, j]
    return L


def jacobians(tree: Tree) -> list[Array]:
    """Of each body: its frame's spatial velocity is J v, in body axes, shape (6, nv)."""
    found: list[Array] = []
    world = tree.scalars.zeros(6, tree.nv)
    for i, dofs in enumerate(tree.dofs):
        J = tree.from_parent(i, found, world)
        J[:, dofs] = J[:, dofs] + tree.S[i]
        found.append(J)
    return found


def complement(tree: Tree) -> Array:
    """P with P^T P = M, shape (6 n + nv, nv)."""
    rows = [Weights(tree, i)(J) for i, J in enumerate(jacobians(tree))]
    rotors = tree.scalars.zeros(tree.nv, tree.nv)
    for j in range(tree.nv):
        rotors[j, j] = tree.scalars.root(tree.armature[j])
    return np.concatenate([*rows, rotors])
