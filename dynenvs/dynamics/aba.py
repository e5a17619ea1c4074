"""Articulated-body algorithm, O(n) (Featherstone 2008, table 7.1).

Joints with several coordinates are eliminated one coordinate at a time, last first: this is the
block elimination of D = S^T IA S, done by its own LDL^T, and needs no small inverse
(docs/theory.md, Articulated bodies).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dynenvs.dynamics.passive import add_passive
from dynenvs.dynamics.rnea import subtract_wrench
from dynenvs.jit.compiled import entry, kernel, prepare
from dynenvs.kinematics.poses import update_kinematics
from dynenvs.kinematics.spatial import add_cross_force, dot6, inertia_matrix, inertia_times
from dynenvs.memory.layout import Floats, WorldView
from dynenvs.model.model import Model
from dynenvs.model.validation import borrow, finite_vector, refuse_kinematic


@kernel
def aba_passes(w: WorldView, tau: Floats, damping_step: float, accelerations: Floats) -> None:
    """a = (M + armature + damping_step * damping)^-1 (tau - h + J^T wrench), shape (nv,).

    Needs `update_kinematics`.  `w.rhs` and `w.v_next` serve as u and D.
    """
    U, u, D = w.U, w.rhs, w.v_next
    # Pass 1: rigid inertias and bias forces
    for i in range(1, w.header[0].nb):
        work = w.body[i]
        inertia_matrix(work, work.IA)
        inertia_times(work.m, work.h, work.I, work.v, work.f)
        for k in range(6):
            work.pA[k] = 0.0
        add_cross_force(work.v, work.f, work.pA)
        subtract_wrench(w, i, work.pA)
    # Pass 2: articulated inertias and bias forces, tips to base
    for i in range(w.header[0].nb - 1, 0, -1):
        body = w.bodies[i]
        work = w.body[i]
        IA, pA = work.IA, work.pA
        for r in range(6):
            # The velocity products c push as accelerations of the body do
            pA[r] += dot6(IA[r], work.c)
        # One coordinate at a time, the last first: D is a number, and its inverse a division
        for j in range(body.v_at + body.nv - 1, body.v_at - 1, -1):
            dof = w.dofs[j]
            for r in range(6):
                U[j, r] = dot6(IA[r], w.S[j])
            D[j] = dot6(w.S[j], U[j]) + dof.armature + damping_step * dof.damping
            u[j] = tau[j] - dot6(w.S[j], pA)
            for r in range(6):
                ratio = U[j, r] / D[j]
                pA[r] += ratio * u[j]
                for k in range(6):
                    IA[r, k] -= ratio * U[j, k]
        # One origin a tree: nothing is transformed on the way to the parent
        if body.parent > 0:
            parent = w.body[body.parent]
            for r in range(6):
                parent.pA[r] += pA[r]
                for k in range(6):
                    parent.IA[r, k] += IA[r, k]
    # Pass 3: accelerations, base to tips
    g = w.header[0].gravity
    world = w.body[0]
    for k in range(3):
        world.a[k] = 0.0
        world.a[3 + k] = -g[k]
    for i in range(1, w.header[0].nb):
        body = w.bodies[i]
        work = w.body[i]
        parent = w.body[body.parent]
        for k in range(6):
            work.a[k] = parent.a[k]
        for j in range(body.v_at, body.v_at + body.nv):
            accelerations[j] = (u[j] - dot6(U[j], work.a)) / D[j]
            for k in range(6):
                work.a[k] += w.S[j, k] * accelerations[j]
        for k in range(6):
            work.a[k] += work.c[k]


@entry(seconds=7)
def _aba(w: WorldView, tau: Floats, accelerations: Floats) -> None:
    update_kinematics(w)
    # Dampers, springs and carried weights are forces like others here
    for j in range(w.header[0].nv):
        w.bias[j] = w.dofs[j].damping * w.v[j]
    add_passive(w, w.v, w.M, w.bias, 0.0)
    for j in range(w.header[0].nv):
        w.tau[j] = tau[j] - w.bias[j]
    aba_passes(w, w.tau, 0.0, accelerations)


def aba(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    *,
    wrenches: ArrayLike | None = None,
) -> Floats:
    """Accelerations of (M + armature) a + h + damping v + passive = tau + J^T wrenches, (nv,).

    Forward dynamics without contact, cost linear in the number of bodies.  Passive are springs of
    joints and tendons, these' dampers, and weights that are carried (`ModelBuilder.body`'s `lift`).

    Args:
        model: the model.
        q: positions, shape (nq,).
        v: velocities, shape (nv,).
        tau: generalized forces of all coordinates [N m, N], shape (nv,).
        wrenches: external (moment; force) at each body's centre of mass, world axes, (nb, 6).

    Raises:
        ValueError: wrong shape, or not finite; or the mass matrix is singular at this `q`, as of
            two hinges of a point mass that have become one line; or the model has kinematic bodies.
    """
    refuse_kinematic(model)
    a = np.zeros(model.nv)
    call = borrow(model, q, v, wrenches), finite_vector(tau, model.nv, "tau"), a
    prepare("forward dynamics", [_aba], ())
    _aba(*call)
    if not np.isfinite(a).all():
        j = int(np.flatnonzero(~np.isfinite(a))[0])
        name = model.body_names[model.dofs[j]["body"]]
        raise ValueError(
            f"the mass matrix is singular at q = {np.asarray(q)}: the joint of body {name!r} moves "
            "no inertia there"
        )
    return a
