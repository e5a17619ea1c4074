"""Composite-rigid-body algorithm (Featherstone 2008, table 6.2).

See docs/theory.md, Composite rigid bodies.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dynenvs.jit.compiled import entry, inlined, kernel
from dynenvs.kinematics.poses import update_kinematics
from dynenvs.kinematics.spatial import dot6, inertia_times
from dynenvs.memory.layout import Floats, Matrix, WorkView, WorldView
from dynenvs.model.model import Model
from dynenvs.model.validation import borrow


@inlined
def composite_inertias(w: WorkView) -> None:
    """(mc, hc, Ic) of each body and all that it carries, tips to base.

    One origin a tree: composites add without transformation.
    """
    nb = w.header[0].nb
    for i in range(1, nb):
        work = w.body[i]
        work.mc = work.m
        for r in range(3):
            work.hc[r] = work.h[r]
            for c in range(3):
                work.Ic[r, c] = work.I[r, c]
    for i in range(nb - 1, 0, -1):
        parent = w.bodies[i].parent
        if parent > 0:
            work, carrier = w.body[i], w.body[parent]
            carrier.mc += work.mc
            for r in range(3):
                carrier.hc[r] += work.hc[r]
                for c in range(3):
                    carrier.Ic[r, c] += work.Ic[r, c]


@kernel
def crba_passes(w: WorkView, M: Floats) -> None:
    """Fill the lower triangle of the joint-space inertia M, shape (nv, nv).

    M_ij = S_j^T Ic_i S_i for j on the way from i to the root; entries that the tree makes zero
    are written as zero.  Needs `update_kinematics`.  Armature is not part of it.
    """
    composite_inertias(w)
    for i in range(w.header[0].nv):
        # Row i: zero where the tree has no way from j to i
        for j in range(i + 1):
            M[i, j] = 0.0
        work = w.body[w.dofs[i].body]
        f = work.f  # free at this stage
        inertia_times(work.mc, work.hc, work.Ic, w.S[i], f)
        j = i
        while j >= 0:
            M[i, j] = dot6(w.S[j], f)
            j = w.dofs[j].parent


@entry
def _crba(w: WorldView, M: Matrix) -> None:
    update_kinematics(w)
    crba_passes(w, M)
    for i in range(w.header[0].nv):
        M[i, i] += w.dofs[i].armature
        for j in range(i):
            M[j, i] = M[i, j]


def crba(model: Model, q: ArrayLike) -> Floats:
    """Joint-space inertia matrix M(q), armature on its diagonal, shape (nv, nv).

    Args:
        model: the model.
        q: positions, shape (nq,).

    Raises:
        ValueError: wrong shape, or not finite.
    """
    M = np.zeros((model.nv, model.nv))
    _crba(borrow(model, q), M)
    return M
