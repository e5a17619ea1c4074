"""Recursive Newton-Euler algorithm (Featherstone 2008, table 5.1).

See docs/theory.md, Recursive Newton-Euler.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dynenvs.jit.compiled import entry, inlined, kernel
from dynenvs.kinematics.poses import center_from_origin, update_kinematics
from dynenvs.kinematics.spatial import add_cross_force, dot6, inertia_times
from dynenvs.memory.layout import Floats, WorldView
from dynenvs.model.model import Model
from dynenvs.model.validation import borrow, finite_vector


@kernel
def rnea_passes(w: WorldView, accelerations: Floats, moving: bool, tau: Floats) -> None:
    """tau = M a + h - J^T wrench, shape (nv,); with `moving` False, a is taken as zero.

    Needs `update_kinematics`.  `h` holds Coriolis, centrifugal and gravity forces; armature and
    damping are not part of it.
    """
    g = w.header[0].gravity
    # Pass 1: accelerations base to tips (gravity as an acceleration of the base), body forces
    world = w.body[0]
    for k in range(3):
        world.a[k] = 0.0
        world.a[3 + k] = -g[k]
    for i in range(1, w.header[0].nb):
        body = w.bodies[i]
        work = w.body[i]
        parent = w.body[body.parent]
        # With velocity products alone first: v x S qd of each joint
        for k in range(6):
            work.a[k] = parent.a[k] + work.c[k]
        if moving:
            for j in range(body.v_at, body.v_at + body.nv):
                for k in range(6):
                    work.a[k] += w.S[j, k] * accelerations[j]
        if work.m > 0.0:
            # f = I a + v x* I v; pA serves as the momentum I v
            inertia_times(work.m, work.h, work.I, work.v, work.pA)
            inertia_times(work.m, work.h, work.I, work.a, work.f)
            add_cross_force(work.v, work.pA, work.f)
        else:
            for k in range(6):
                work.f[k] = 0.0
        subtract_wrench(w, i, work.f)
    # Pass 2: forces tips to base
    for i in range(w.header[0].nb - 1, 0, -1):
        body = w.bodies[i]
        work = w.body[i]
        for j in range(body.v_at, body.v_at + body.nv):
            tau[j] = dot6(w.S[j], work.f)
        parent = w.body[body.parent]
        for k in range(6):
            parent.f[k] += work.f[k]


@inlined
def subtract_wrench(w: WorldView, index: int, force: Floats) -> None:
    """force -= a body's external wrench, moved from its centre of mass to the tree's origin."""
    e = w.wrench[index]
    if e[0] == 0 and e[1] == 0 and e[2] == 0 and e[3] == 0 and e[4] == 0 and e[5] == 0:
        return
    x, y, z = center_from_origin(w, index)
    force[0] -= e[0] + y * e[5] - z * e[4]
    force[1] -= e[1] + z * e[3] - x * e[5]
    force[2] -= e[2] + x * e[4] - y * e[3]
    for k in range(3, 6):
        force[k] -= e[k]


@entry
def _rnea(w: WorldView, accelerations: Floats, moving: bool, tau: Floats) -> None:
    update_kinematics(w)
    rnea_passes(w, accelerations, moving, tau)


def rnea(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    wrenches: ArrayLike | None = None,
) -> Floats:
    """Generalized forces tau = M(q) a + h(q, v) - J^T wrenches [N m, N], shape (nv,).

    Inverse dynamics by the recursive Newton-Euler algorithm; rigid bodies alone, without
    armature and damping.

    Args:
        model: the model.
        q: positions, shape (nq,).
        v: velocities, shape (nv,).
        a: accelerations, shape (nv,).
        wrenches: external (moment; force) at each body's centre of mass, world axes, (nb, 6).

    Raises:
        ValueError: wrong shape, or not finite.
    """
    w, tau = borrow(model, q, v, wrenches), np.zeros(model.nv)
    _rnea(w, finite_vector(a, model.nv, "a"), True, tau)
    return tau


def bias_force(
    model: Model, q: ArrayLike, v: ArrayLike, *, wrenches: ArrayLike | None = None
) -> Floats:
    """h(q, v) = rnea(q, v, 0): Coriolis, centrifugal and gravity forces, shape (nv,)."""
    return rnea(model, q, v, np.zeros(model.nv), wrenches=wrenches)
