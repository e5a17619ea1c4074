"""Joint models: pose, motion subspace and configuration update of each joint type.

=========  ==  ==  ====================================================================
type       nq  nv  coordinates
=========  ==  ==  ====================================================================
fixed       0   0
revolute    1   1  angle about `axis` [rad]
prismatic   1   1  distance along `axis` [m]
screw       1   1  angle about `axis` [rad], along which it moves by `pitch` times that
spherical   4   3  q: unit quaternion; v: angular velocity in the body's frame [rad/s]
free        7   6  q: position in the joint frame, unit quaternion; v: linear velocity in the
                   joint frame [m/s], angular velocity in the body's frame [rad/s]
=========  ==  ==  ====================================================================
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.jit.compiled import entry, inlined, inlined_source, kernel
from dynenvs.kinematics.rotation import (
    rotate,
    rotate_quaternion,
    rotation_vector,
    times,
    turn_about,
    turn_about_principal,
    turn_by_quaternion,
)
from dynenvs.kinematics.triples import add, entries, plus, put_entries
from dynenvs.memory.layout import Floats, ModelView, Records
from dynenvs.memory.records import FREE, PRISMATIC, REVOLUTE, SCREW, SPHERICAL
from dynenvs.simd.trigonometry import sine_cosine, sines_cosines, within_reach
from dynenvs.simd.vectors import WIDTH

JOINT_NQ = (0, 1, 1, 4, 7, 1)
JOINT_NV = (0, 1, 1, 3, 6, 1)


@inlined
def turn_joints(bodies: Records, poses: Records, q: Floats) -> None:
    """The angle by which each body's R is made, its sine and its cosine, into `poses`, (nb,).

    Where all axes from the root on are parallel, the sum of their angles; q has shape (nq,).
    """
    # Angles first, along chains of parallel axes as sums: fewer sines, and no product of rotations
    last = bodies.shape[0] - 1
    reached = True
    for i in range(1, last + 1):
        body = bodies[i]
        angle = poses[body.parent].angle if body.parallel else 0.0
        if body.joint == REVOLUTE or body.joint == SCREW:
            angle += body.sign * q[body.q_at] if body.parallel else q[body.q_at]
        poses[i].angle = angle
        reached = reached and within_reach(angle)
    # Four at a time; the last ones are repeated where fewer are left
    for i in range(1, last + 1, WIDTH):
        a, b = poses[i], poses[min(i + 1, last)]
        c, d = poses[min(i + 2, last)], poses[min(i + 3, last)]
        (
            a.sine, b.sine, c.sine, d.sine, a.cosine, b.cosine, c.cosine, d.cosine,
        ) = sines_cosines(a.angle, b.angle, c.angle, d.angle)  # fmt: skip
    # Angles of more than 1e5 quarter turns are reduced one by one
    if not reached:
        for i in range(1, last + 1):
            poses[i].sine, poses[i].cosine = sine_cosine(poses[i].angle)


@inlined_source
def place_in_plane(body: Any, parent: Any, pose: Any, q: Floats) -> None:
    """`place_body` where all turns are about the y axis: the zeros are not worked out."""
    at = body.q_at
    x, z = body.position[0], body.position[2]
    # The joint's place in the parent, in world axes
    dx = parent.R[0, 0] * x + parent.R[0, 2] * z
    dz = parent.R[2, 0] * x + parent.R[2, 2] * z
    s, c = pose.sine, pose.cosine
    # R = rest + cos even + sin odd, as in space, of four entries that change
    R, rest, even, odd = pose.R, body.rest, body.even, body.odd
    xx = rest[0, 0] + c * even[0, 0] + s * odd[0, 0]
    xz = rest[0, 2] + c * even[0, 2] + s * odd[0, 2]
    zx = rest[2, 0] + c * even[2, 0] + s * odd[2, 0]
    zz = rest[2, 2] + c * even[2, 2] + s * odd[2, 2]
    R[0, 0], R[0, 1], R[0, 2] = xx, 0.0, xz
    R[1, 0], R[1, 1], R[1, 2] = 0.0, 1.0, 0.0
    R[2, 0], R[2, 1], R[2, 2] = zx, 0.0, zz
    # A slide moves along its own axis; nothing turns its y
    dy = body.position[1]
    if body.joint == PRISMATIC:
        ax, ay, az = body.axis[0], body.axis[1], body.axis[2]
        dx += (xx * ax + xz * az) * q[at]
        dy += ay * q[at]
        dz += (zx * ax + zz * az) * q[at]
    pose.p[0] = parent.p[0] + dx
    pose.p[1] = parent.p[1] + dy
    pose.p[2] = parent.p[2] + dz


@inlined_source
def place_body(body: Any, parent: Any, pose: Any, q: Floats) -> None:
    """Pose of a body from its parent's: R = R_parent R_tree R_joint; needs `turn_joints`."""
    at, R, frame = body.q_at, pose.R, pose.frame
    step = (0.0, 0.0, 0.0)  # from the parent's origin to the body's
    if body.offset:
        step = rotate(parent.R, body.position)
    s, c = pose.sine, pose.cosine
    # All axes so far are parallel: the angles have been added, and R follows from the world
    if body.parallel:
        for k in range(3):
            for j in range(3):
                R[k, j] = body.rest[k, j] + c * body.even[k, j] + s * body.odd[k, j]
    elif body.joint == REVOLUTE or body.joint == SCREW:
        if body.principal:
            turn_about_principal(parent.R, body, s, c, R)
        else:
            turn_about(parent.R, body, s, c, R)
    # A ball turns in the frame that its joint has in the parent; a free joint first moves along it
    elif body.joint == SPHERICAL or body.joint == FREE:
        times(parent.R, body.rest, frame)
        if body.joint == FREE:
            step = add(step, rotate(frame, entries(q, at)))
            at += 3
        turn_by_quaternion(frame, q, at, R)
    else:
        times(parent.R, body.rest, R)
    if body.joint == PRISMATIC:
        step = plus(step, q[at], rotate(R, body.axis))
    elif body.joint == SCREW:
        step = plus(step, body.pitch * q[at], rotate(R, body.axis))
    put_entries(pose.p, 0, add(entries(parent.p, 0), step))


@inlined
def _turning_axis(
    ax: float, ay: float, az: float, rx: float, ry: float, rz: float, out: Floats
) -> None:
    """S = (a; r x a) for a turn about the axis a through the point at r from the origin."""
    out[0] = ax
    out[1] = ay
    out[2] = az
    out[3] = ry * az - rz * ay
    out[4] = rz * ax - rx * az
    out[5] = rx * ay - ry * ax


@inlined
def _sliding_axis(ax: float, ay: float, az: float, out: Floats) -> None:
    """S = (0; a)."""
    out[0] = out[1] = out[2] = 0.0
    out[3] = ax
    out[4] = ay
    out[5] = az


@inlined
def joint_axes(body: Any, pose: Any, origin: Floats, axes: Floats) -> None:
    """Columns of the joint's motion subspace, rows `v_at` onwards of `axes`, shape (nv, 6)."""
    at = body.v_at
    rx, ry, rz = pose.p[0] - origin[0], pose.p[1] - origin[1], pose.p[2] - origin[2]
    if body.joint == REVOLUTE:
        # The joint's own turn leaves its axis in place.
        ax, ay, az = rotate(pose.R, body.axis)
        _turning_axis(ax, ay, az, rx, ry, rz, axes[at])
    elif body.joint == PRISMATIC:
        ax, ay, az = rotate(pose.R, body.axis)
        _sliding_axis(ax, ay, az, axes[at])
    elif body.joint == SCREW:
        # S = (a; r x a + pitch a)
        ax, ay, az = rotate(pose.R, body.axis)
        _turning_axis(ax, ay, az, rx, ry, rz, axes[at])
        axes[at, 3] += body.pitch * ax
        axes[at, 4] += body.pitch * ay
        axes[at, 5] += body.pitch * az
    elif body.joint == SPHERICAL or body.joint == FREE:
        # Translations along the joint's frame, turns about the body's own axes
        if body.joint == FREE:
            frame = pose.frame
            for k in range(3):
                _sliding_axis(frame[0, k], frame[1, k], frame[2, k], axes[at + k])
            at += 3
        for k in range(3):
            _turning_axis(pose.R[0, k], pose.R[1, k], pose.R[2, k], rx, ry, rz, axes[at + k])


@entry
def integrate(w: ModelView, q: Floats, v: Floats, dt: float, out: Floats) -> None:
    """out = q (+) v dt, joint by joint; quaternions by the exponential map."""
    for i in range(1, w.header[0].nb):
        body = w.bodies[i]
        at, vat = body.q_at, body.v_at
        if body.nv == 1:
            out[at] = q[at] + v[vat] * dt
        # The position is a sum; the orientation turns about the body's own axes
        elif body.joint == SPHERICAL or body.joint == FREE:
            if body.joint == FREE:
                for k in range(3):
                    out[at + k] = q[at + k] + v[vat + k] * dt
                at += 3
                vat += 3
            # What does not turn stays as it is, bit for bit: to bring it to length one would not
            if v[vat] == 0.0 and v[vat + 1] == 0.0 and v[vat + 2] == 0.0:
                for k in range(4):
                    out[at + k] = q[at + k]
                continue
            rotate_quaternion(
                q[at : at + 4], v[vat] * dt, v[vat + 1] * dt, v[vat + 2] * dt, out[at : at + 4]
            )


@kernel
def difference(w: ModelView, q0: Floats, q1: Floats, out: Floats) -> None:
    """out = q1 (-) q0 in the tangent space: q1 = q0 (+) out, shape (nv,)."""
    for i in range(1, w.header[0].nb):
        body = w.bodies[i]
        at, vat = body.q_at, body.v_at
        if body.nv == 1:
            out[vat] = q1[at] - q0[at]
        # As `integrate`, the other way round
        elif body.joint == SPHERICAL or body.joint == FREE:
            if body.joint == FREE:
                for k in range(3):
                    out[vat + k] = q1[at + k] - q0[at + k]
                at += 3
                vat += 3
            rotation_vector(q0[at : at + 4], q1[at : at + 4], out[vat : vat + 3])


@entry
def normalise(w: ModelView, q: Floats) -> None:
    """Bring the quaternions of `q` to unit length in place."""
    for i in range(1, w.header[0].nb):
        body = w.bodies[i]
        if body.joint == SPHERICAL or body.joint == FREE:
            at = body.q_at + (3 if body.joint == FREE else 0)
            norm = math.sqrt(q[at] ** 2 + q[at + 1] ** 2 + q[at + 2] ** 2 + q[at + 3] ** 2)
            for k in range(4):
                q[at + k] /= norm
