"""Bias forces alone, for other velocities at poses whose mass matrix is known.

What `motion.py` does without the mass matrix: velocities and bias accelerations of the bodies from
base to tips, then Newton's and Euler's equations of each about its centre of mass, and forces from
tips to base.  Composite inertias in the workspace stay what they are.
"""

from __future__ import annotations

from typing import Any

from dynenvs.dynamics.motion import move_body
from dynenvs.dynamics.passive import add_passive
from dynenvs.dynamics.planar import planar_passes
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.kinematics.rotation import rotate
from dynenvs.kinematics.triples import (
    cross,
    entries,
    into_body,
    plus,
    put_entries,
    scaled,
)
from dynenvs.memory.layout import Floats, WorldView


@inlined
def bias_forces(w: WorldView, v: Floats) -> None:
    """h + D v + K (q - r) - J^T wrench into `w.bias`, for velocities v.

    Comes after `equations_of_motion`.  Leaves `w.M` in disorder.
    """
    if w.header[0].planar:
        planar_passes(w, w.pose, w.body, w.S, v, 0.0, w.M, w.bias)
    else:
        _passes(w, v)
    add_passive(w, v, w.M, w.bias, 0.0)


@kernel
def _passes(w: WorldView, v: Floats) -> None:
    nb, g = w.header[0].nb, w.header[0].gravity
    # The world falls upwards: gravity needs no force of its own
    world = w.body[0]
    for k in range(6):
        world.v[k] = world.a[k] = 0.0
    for k in range(3):
        world.a[3 + k] = -g[k]
    for i in range(1, nb):
        body = w.bodies[i]
        origin = w.pose[body.root].p
        move_body(body, w.body[body.parent], w.pose[i], origin, v, w.S, w.body[i])
        _load(body, w.mass_scale[i], w.wrench[i], origin, w.pose[i], w.body[i])
    # Forces from tips to base
    for i in range(nb - 1, 0, -1):
        body, f = w.bodies[i], w.body[i].f
        for j in range(body.v_at, body.v_at + body.nv):
            x = w.S[j]
            force = x[0] * f[0] + x[1] * f[1] + x[2] * f[2] + x[3] * f[3] + x[4] * f[4]
            w.bias[j] = force + x[5] * f[5] + w.dofs[j].damping * v[j]
        if body.parent > 0:
            up = w.body[body.parent].f
            for k in range(6):
                up[k] += f[k]


@inlined
def _load(body: Any, scale: float, wrench: Floats, origin: Floats, pose: Any, work: Any) -> None:
    """What moves one body so (moment; force) at the tree's origin, but for its external wrench."""
    R, v, a, B = pose.R, work.v, work.a, body.inertia
    x, y, z = rotate(R, body.com)
    c = (x + pose.p[0] - origin[0], y + pose.p[1] - origin[1], z + pose.p[2] - origin[2])
    turn, spin = entries(v, 0), entries(a, 0)
    # Acceleration of the centre of mass
    fall = plus(entries(a, 3), 1.0, cross(spin, c))
    fall = plus(fall, 1.0, cross(turn, plus(entries(v, 3), 1.0, cross(turn, c))))
    force = plus(scaled(scale * body.mass, fall), -1.0, entries(wrench, 3))
    # Moment about it, in the body's axes
    t, u = into_body(R, turn), into_body(R, spin)
    Iu, It = rotate(B, u), rotate(B, t)
    n = rotate(R, plus(Iu, 1.0, cross(t, It)))
    moment = plus(scaled(scale, n), -1.0, entries(wrench, 0))
    put_entries(work.f, 0, plus(moment, 1.0, cross(c, force)))
    put_entries(work.f, 3, force)
