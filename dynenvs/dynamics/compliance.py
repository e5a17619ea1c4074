"""Operational-space compliance Lambda = J (M + armature)^-1 J^T without M and without J, O(n).

Source: Jain et al. 2012, section V (docs/theory.md, Operational space): with psi = 1 - S D^-1 U^T,
what a joint lets through of its parent's acceleration,

    Upsilon_i = psi_i Upsilon_parent psi_i^T + S D^-1 S^T        the compliance of body i,
    Omega_ii = Upsilon_i,  Omega_ij = psi_i Omega_parent(i),j    unless i is an ancestor of j,

and Omega = 0 between different trees.  The nodes' blocks are picked off: f_a^T Omega_ij f_b, where
f = (r x e; e) is a unit force at the node.  All in world axes at the tree's origin, so that no
transformation stands between bodies; joints of several coordinates go one coordinate at a time, as
in `aba.py`.  For k nodes on n bodies the cost is O(k n + k^2).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynenvs.jit.compiled import entry, kernel
from dynenvs.kinematics.poses import update_kinematics
from dynenvs.kinematics.spatial import dot6, inertia_matrix
from dynenvs.memory.layout import Floats, Ints, Matrices, Matrix, WorkView, WorldView
from dynenvs.model.model import Model
from dynenvs.model.validation import borrow, finite_vector


@kernel
def _articulate(w: WorkView) -> None:
    """Articulated inertias, `w.U` = IA S and D in `w.v_next`, tips to base (ABA's second pass)."""
    # The inertias alone, without forces
    for i in range(1, w.header[0].nb):
        inertia_matrix(w.body[i], w.body[i].IA)
    # What a joint lets through is taken out, one coordinate at a time, tips first
    for i in range(w.header[0].nb - 1, 0, -1):
        body = w.bodies[i]
        IA = w.body[i].IA
        for j in range(body.v_at + body.nv - 1, body.v_at - 1, -1):
            for r in range(6):
                w.U[j, r] = dot6(IA[r], w.S[j])
            w.v_next[j] = dot6(w.S[j], w.U[j]) + w.dofs[j].armature
            for r in range(6):
                ratio = w.U[j, r] / w.v_next[j]
                for k in range(6):
                    IA[r, k] -= ratio * w.U[j, k]
        if body.parent > 0:
            parent = w.body[body.parent]
            for r in range(6):
                for k in range(6):
                    parent.IA[r, k] += IA[r, k]


@kernel
def _let_through(w: WorkView, coordinate: int, matrix: Floats) -> None:
    """matrix <- psi_j matrix for one coordinate, matrix of shape (6, 6)."""
    S, U = w.S[coordinate], w.U[coordinate]
    for c in range(6):
        total = 0.0
        for r in range(6):
            total += U[r] * matrix[r, c]
        total /= w.v_next[coordinate]
        for r in range(6):
            matrix[r, c] -= S[r] * total


@kernel
def _lessen(matrix: Floats, D: float, u: Floats, s: Floats) -> None:
    """matrix <- matrix (1 - u D^-1 s^T)."""
    for r in range(6):
        total = dot6(matrix[r], u) / D
        for c in range(6):
            matrix[r, c] -= total * s[c]


@kernel
def _copy(source: Floats, target: Floats) -> None:
    for r in range(6):
        for c in range(6):
            target[r, c] = source[r, c]


@kernel
def _kernels(w: WorkView, upsilon: Floats) -> None:
    """Upsilon of all bodies, base to tips, shape (nb, 6, 6); the world does not give way."""
    for r in range(6):
        for c in range(6):
            upsilon[0, r, c] = 0.0
    for i in range(1, w.header[0].nb):
        body, own = w.bodies[i], upsilon[i]
        _copy(upsilon[body.parent], own)
        for j in range(body.v_at, body.v_at + body.nv):
            _let_through(w, j, own)
            _lessen(own, w.v_next[j], w.U[j], w.S[j])  # own psi_j^T
            for r in range(6):
                for c in range(6):
                    own[r, c] += w.S[j, r] * w.S[j, c] / w.v_next[j]


@kernel
def _blocks(w: WorkView, upsilon: Floats, node: int, omega: Floats) -> None:
    """Omega_ij of all bodies i with the body j = node, shape (nb, 6, 6).

    Ancestors first: Omega_ij = Upsilon_i psi^T, with psi the product from j up to below i.
    `omega[0]` serves as that product; as the world's block it is zero at last.
    """
    above = np.int64(node)
    product = omega[0]
    for r in range(6):
        for c in range(6):
            product[r, c] = 1.0 if r == c else 0.0
    last = w.header[0].nb
    # On the way up the product grows from the right: psi_j ... psi_i
    while above > 0:
        block = omega[above]
        for r in range(6):
            for c in range(6):
                block[r, c] = dot6(upsilon[above, r], product[c])
        body = w.bodies[above]
        for k in range(body.v_at + body.nv - 1, body.v_at - 1, -1):
            _lessen(product, w.v_next[k], w.S[k], w.U[k])  # product psi_k
        above = body.parent
    for r in range(6):
        for c in range(6):
            product[r, c] = 0.0
    # The other bodies follow from their parents, base to tips
    ancestor = np.int64(node)
    for i in range(last - 1, 0, -1):  # marks: whose block is known
        known = i == ancestor
        if known:
            ancestor = w.bodies[i].parent
        w.body[i].a[0] = 1.0 if known else 0.0
    for i in range(1, last):
        if w.body[i].a[0] == 0.0:
            _copy(omega[w.bodies[i].parent], omega[i])
            for k in range(w.bodies[i].v_at, w.bodies[i].v_at + w.bodies[i].nv):
                _let_through(w, k, omega[i])


@entry
def compliance_of_nodes(
    w: WorldView,
    bodies: Ints,
    points: Matrix,
    upsilon: Matrices,
    omega: Matrices,
    forces: Matrix,
    Lambda: Matrix,
) -> None:
    """`Lambda` of k points [m] of bodies; scratch: (nb, 6, 6) twice, and (3 k, 6)."""
    update_kinematics(w)
    _articulate(w)
    _kernels(w, upsilon)
    count = bodies.shape[0]
    # A unit force along each axis at the point, as (moment; force) about the tree's origin
    for a in range(count):
        pose = w.pose[bodies[a]]
        origin = w.pose[w.bodies[bodies[a]].root].p
        x, y, z = pose.p[0] - origin[0], pose.p[1] - origin[1], pose.p[2] - origin[2]
        p = points[a]
        x += pose.R[0, 0] * p[0] + pose.R[0, 1] * p[1] + pose.R[0, 2] * p[2]
        y += pose.R[1, 0] * p[0] + pose.R[1, 1] * p[1] + pose.R[1, 2] * p[2]
        z += pose.R[2, 0] * p[0] + pose.R[2, 1] * p[1] + pose.R[2, 2] * p[2]
        for k in range(3):
            f = forces[3 * a + k]
            for c in range(6):
                f[c] = 0.0
            f[3 + k] = 1.0
            f[0] = y * f[5] - z * f[4]
            f[1] = z * f[3] - x * f[5]
            f[2] = x * f[4] - y * f[3]
    # Nodes of one body share its blocks
    for b in range(count):
        if b == 0 or bodies[b] != bodies[b - 1]:
            _blocks(w, upsilon, bodies[b], omega)
        for a in range(count):
            for k in range(3 * b, 3 * b + 3):
                for i in range(3 * a, 3 * a + 3):
                    total = 0.0
                    for r in range(6):
                        total += forces[i, r] * dot6(omega[bodies[a], r], forces[k])
                    Lambda[i, k] = total


def compliance(model: Model, q: ArrayLike, nodes: Sequence[tuple[str, ArrayLike]]) -> Floats:
    """How points of bodies give way to forces on each other, J (M + armature)^-1 J^T.

    The cost is linear in the number of bodies.

    Args:
        model: the model.
        q: positions, shape (nq,).
        nodes: names of bodies and points in their frames [m], shape (3,).

    Returns the matrix from forces [N] to accelerations [m/s^2] of the nodes in world axes, shape
    (3 k, 3 k) for k nodes; zero rows and columns for nodes of the world.

    Raises:
        KeyError: unknown body.
        ValueError: wrong shape, or not finite.
    """
    w = borrow(model, q)
    ids: NDArray[np.int64] = np.array([model.body_id(name) for name, _ in nodes], np.int64)
    points = np.zeros((len(nodes), 3))
    for place, (name, point) in zip(points, nodes, strict=True):
        place[:] = finite_vector(point, 3, f"point of {name!r}")
    nb, size = len(model.body_names), 3 * len(nodes)
    Lambda = np.zeros((size, size))
    upsilon, omega = np.zeros((nb, 6, 6)), np.zeros((nb, 6, 6))
    compliance_of_nodes(w, ids, points, upsilon, omega, np.zeros((size, 6)), Lambda)
    return Lambda
