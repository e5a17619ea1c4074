"""Forward kinematics: poses, joint axes, spatial velocities, rigid inertias, point Jacobians.

Everything is expressed in world axes; spatial vectors are taken at the origin of the body's
kinematic tree (the position of its first body), so parent and child need no transformation.
Each kernel fills its part of the workspace from what the previous ones left there.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

from dynenvs.jit.compiled import entry, inlined, kernel
from dynenvs.jit.views import copy_words, raw
from dynenvs.kinematics.joints import joint_axes, place_body, place_in_plane, turn_joints
from dynenvs.kinematics.rotation import rotate
from dynenvs.kinematics.spatial import add_cross_motion
from dynenvs.memory.layout import Floats, ModelView, Records, WorkView, WorldView
from dynenvs.memory.records import FIXED, FREE, POSE


@entry
def update_poses(w: ModelView, q: Floats, poses: Annotated[Records, POSE]) -> None:
    """Rotation and position of every body for the configuration `q`, base to tips."""
    # The world's pose is what the first bodies stand on
    world = poses[0]
    world.angle, world.sine, world.cosine = 0.0, 0.0, 1.0
    for i in range(3):
        world.p[i] = 0.0
        for j in range(3):
            world.R[i, j] = 1.0 if i == j else 0.0
    turn_joints(w.bodies, poses, q)
    for i in range(1, w.header[0].nb):
        body = w.bodies[i]
        if body.in_plane:
            place_in_plane(body, poses[body.parent], poses[i], q)
        else:
            place_body(body, poses[body.parent], poses[i], q)


@inlined
def copy_poses(w: ModelView, source: Records, target: Records) -> None:
    """target = source."""
    size = w.header[0].nb * source.itemsize
    copy_words(raw(source, size), raw(target, size), 0, size // 8)


@inlined
def likeness(a: Any, b: Any) -> float:
    """The trace of the rotation from one pose to another."""
    trace = 0.0
    for k in range(3):
        for l in range(3):
            trace += a.R[k, l] * b.R[k, l]
    return trace


@inlined
def turn_between(a: Any, b: Any) -> float:
    """How far a point of a unit ball moves at most where it turns from one pose to another.

    |R - S|^2 = 6 - 2 trace(R^T S) = 4 - 4 cos(angle); rounding of a turn of less than 1e-7 may give
    none.
    """
    return math.sqrt(max(6.0 - 2.0 * likeness(a, b), 0.0))


@kernel
def update_velocities(w: WorkView, v: Floats) -> None:
    """Joint axes S, spatial velocities v_i = v_parent + S qd and products c_i = v_parent x S qd.

    A free joint is three translations and then a turn: its turn sees the velocity after them.
    """
    # Scratch may hold anything: the world stands still
    world = w.body[0]
    for k in range(6):
        world.v[k] = 0.0
    for i in range(1, w.header[0].nb):
        body = w.bodies[i]
        work = w.body[i]
        parent = w.body[body.parent]
        # With the parent, then by the joint's own motion
        for k in range(6):
            work.v[k] = parent.v[k]
            work.c[k] = 0.0
        if body.joint == FIXED:
            continue
        joint_axes(body, w.pose[i], w.pose[body.root].p, w.S)
        first, last = body.v_at, body.v_at + body.nv
        # Translations first: the axes of its turn move with them
        if body.joint == FREE:
            _move(work.v, work.c, w.S, v, first, first + 3)
            first += 3
        _move(work.v, work.c, w.S, v, first, last)


@kernel
def spread_velocities(w: WorkView, v: Floats) -> None:
    """Spatial velocities of the bodies alone, where `w.S` has the joint axes of these poses."""
    for k in range(6):
        w.body[0].v[k] = 0.0
    for i in range(1, w.header[0].nb):
        body, own, up = w.bodies[i], w.body[i].v, w.body[w.bodies[i].parent].v
        for k in range(6):
            own[k] = up[k]
        for j in range(body.v_at, body.v_at + body.nv):
            for k in range(6):
                own[k] += w.S[j, k] * v[j]


@inlined
def _move(
    velocity: Floats, product: Floats, axes: Floats, v: Floats, first: int, last: int
) -> None:
    """Add the motion of simultaneous coordinates first..last-1 to a body's velocity."""
    # Products first: all of these coordinates see the velocity before them
    for j in range(first, last):
        add_cross_motion(velocity, axes[j], v[j], product)
    for j in range(first, last):
        for k in range(6):
            velocity[k] += axes[j, k] * v[j]


@inlined
def center_from_origin(w: WorkView, index: int) -> tuple[float, float, float]:
    """Centre of mass of body `index` from its tree's origin, world axes [m]."""
    body = w.bodies[index]
    p, origin = w.pose[index].p, w.pose[body.root].p
    x, y, z = rotate(w.pose[index].R, body.com)
    return x + p[0] - origin[0], y + p[1] - origin[1], z + p[2] - origin[2]


@kernel
def update_inertias(w: WorkView, mass_scale: Floats) -> None:
    """Rigid inertia (m, h, I) of every body at its tree's origin, world axes."""
    for i in range(1, w.header[0].nb):
        body = w.bodies[i]
        work = w.body[i]
        mass = body.mass * mass_scale[i]
        work.m = mass
        # Massless: no inertia, and nothing to turn
        if mass == 0.0:
            for r in range(3):
                work.h[r] = 0.0
                for c in range(3):
                    work.I[r, c] = 0.0
            continue
        R = w.pose[i].R
        x, y, z = center_from_origin(w, i)
        work.h[0], work.h[1], work.h[2] = mass * x, mass * y, mass * z
        _rotate_inertia(R, body.inertia, mass_scale[i], work.Ic, work.I)
        # Parallel axes: I += m (|c|^2 1 - c c^T)
        I = work.I
        I[0, 0] += mass * (y * y + z * z)
        I[1, 1] += mass * (x * x + z * z)
        I[2, 2] += mass * (x * x + y * y)
        I[0, 1] -= mass * x * y
        I[0, 2] -= mass * x * z
        I[1, 2] -= mass * y * z
        I[1, 0], I[2, 0], I[2, 1] = I[0, 1], I[0, 2], I[1, 2]


@inlined
def _rotate_inertia(
    rotation: Floats, inertia: Floats, scale: float, half: Floats, out: Floats
) -> None:
    """Upper triangle of out = scale * R inertia R^T; `half` is scratch (3, 3)."""
    for i in range(3):
        for j in range(3):
            half[i, j] = (
                rotation[i, 0] * inertia[0, j]
                + rotation[i, 1] * inertia[1, j]
                + rotation[i, 2] * inertia[2, j]
            )
    for i in range(3):
        for j in range(i, 3):
            out[i, j] = scale * (
                half[i, 0] * rotation[j, 0]
                + half[i, 1] * rotation[j, 1]
                + half[i, 2] * rotation[j, 2]
            )


@entry
def update_kinematics(w: WorldView) -> None:
    """Poses, axes, velocities and inertias of all bodies for the state of `w`."""
    update_poses(w, w.q, w.pose)
    update_velocities(w, w.v)
    update_inertias(w, w.mass_scale)


@inlined
def last_dof(w: ModelView, body: int) -> int:
    """The degree of freedom nearest to `body` on its way to the root, or -1."""
    while body > 0:
        record = w.bodies[body]
        if record.nv > 0:
            return record.v_at + record.nv - 1
        body = record.parent
    return -1


@entry
@inlined
def add_point_row(
    w: WorkView, body: int, point: Floats, direction: Floats, scale: float, row: Floats
) -> None:
    """row += scale * direction^T J_point: a material point's velocity along it, shape (nv,)."""
    # Without a coordinate on its way the body stands still
    j = last_dof(w, body)
    if j < 0:
        return
    origin = w.pose[w.bodies[body].root].p
    x, y, z = point[0] - origin[0], point[1] - origin[1], point[2] - origin[2]
    # direction . (S_v + S_w x r) = direction . S_v + S_w . (r x direction)
    mx = y * direction[2] - z * direction[1]
    my = z * direction[0] - x * direction[2]
    mz = x * direction[1] - y * direction[0]
    while j >= 0:
        s = w.S[j]
        row[j] += scale * (
            s[0] * mx
            + s[1] * my
            + s[2] * mz
            + s[3] * direction[0]
            + s[4] * direction[1]
            + s[5] * direction[2]
        )
        j = w.dofs[j].parent


@inlined
def point_velocity(w: WorkView, body: int, point: Floats, out: Floats) -> None:
    """Velocity [m/s] of the material point of `body` now at `point` (world), shape (3,)."""
    origin = w.pose[w.bodies[body].root].p
    v = w.body[body].v
    x, y, z = point[0] - origin[0], point[1] - origin[1], point[2] - origin[2]
    out[0] = v[3] + v[1] * z - v[2] * y
    out[1] = v[4] + v[2] * x - v[0] * z
    out[2] = v[5] + v[0] * y - v[1] * x


@kernel
def point_bias_acceleration(w: WorkView, body: int, point: Floats, out: Floats) -> None:
    """Jdot v: acceleration [m/s^2] of a material point at zero joint acceleration, shape (3,).

    a_O + alpha x r + omega x (velocity of the point), with the products c_i summed to the root.
    """
    out[0] = out[1] = out[2] = 0.0
    origin = w.pose[w.bodies[body].root].p
    x, y, z = point[0] - origin[0], point[1] - origin[1], point[2] - origin[2]
    # Velocity of the point, which the body's turn bends
    v = w.body[body].v
    px = v[3] + v[1] * z - v[2] * y
    py = v[4] + v[2] * x - v[0] * z
    pz = v[5] + v[0] * y - v[1] * x
    out[0] = v[1] * pz - v[2] * py
    out[1] = v[2] * px - v[0] * pz
    out[2] = v[0] * py - v[1] * px
    # Products of all joints on the way, at the point
    i = body
    while i > 0:
        c = w.body[i].c
        out[0] += c[3] + c[1] * z - c[2] * y
        out[1] += c[4] + c[2] * x - c[0] * z
        out[2] += c[5] + c[0] * y - c[1] * x
        i = w.bodies[i].parent
