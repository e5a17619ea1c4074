"""Mass matrix and bias force in two passes: the step's own fusion of RNEA and CRBA.

The recursive Newton-Euler and composite-rigid-body algorithms (Featherstone 2008, tables 5.1 and
6.2; `rnea.py` and `crba.py` have them as the book does) share their loops here: velocities, bias
accelerations, inertias and body forces go out to the tips in one pass, forces and composite
inertias come back in the other.  Everything is in world axes at the tree's origin, so that nothing
is transformed.  A body's quantities are tuples of three numbers (`kinematics/triples.py`), which
stay in registers between reading its parent's and writing its own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from dynenvs.dynamics.passive import add_passive
from dynenvs.dynamics.planar import planar_passes
from dynenvs.jit.compiled import inlined, inlined_source, kernel
from dynenvs.kinematics.joints import joint_axes
from dynenvs.kinematics.rotation import rotate
from dynenvs.kinematics.spatial import add_cross_motion
from dynenvs.kinematics.triples import (
    Three,
    add,
    add_cross,
    cross,
    dot,
    entries,
    into_body,
    put_entries,
    scaled,
    subtract,
    subtract_cross,
    symmetric,
)
from dynenvs.memory.layout import Floats, Records, StateView, WorldView
from dynenvs.memory.records import FREE, PRISMATIC, REVOLUTE

Six = tuple[Three, Three]  # a motion (angular, linear) or a force (moment, force)


class Inertia(NamedTuple):
    """A rigid inertia at the tree's origin, world axes."""

    mass: float  # [kg]
    h: Three  # mass times centre of mass [kg m]
    diagonal: Three  # of the rotational inertia: xx, yy, zz [kg m^2]
    off: Three  # beside it: yz, xz, xy


@inlined
def equations_of_motion(w: WorldView, v: Floats, dt: float, M: Floats) -> None:
    """M^ into `M` and h + D v + K (q - r) - J^T wrench into `w.bias`, for velocities v.

    M^ = M + armature + dt D + dt^2 K (see `springs.py`, `passive.py`).  Needs the poses.
    """
    if w.header[0].planar:
        planar_passes(w, w.pose, w.body, w.S, v, dt, M, w.bias)
    else:
        motion_passes(w, w.pose, w.body, w.S, v, dt, M, w.bias)
    add_passive(w, v, M, w.bias, dt)


@kernel
def motion_passes(
    w: StateView,
    poses: Records,
    works: Records,
    axes: Floats,
    v: Floats,
    dt: float,
    M: Floats,
    bias: Floats,
) -> None:
    """M^ = M + armature + dt damping (lower triangle) and h + D v - J^T wrench, (nv, nv) and (nv,).

    Needs the poses.  Leaves `axes`, spatial velocities `v` and bias accelerations `a` (gravity
    included) of the bodies, their kinetic energies, and composite inertias, in the workspace.
    """
    world, g = works[0], w.header[0].gravity
    for k in range(6):
        world.v[k] = world.a[k] = 0.0
    for k in range(3):
        world.a[3 + k] = -g[k]
    # Pass 1: velocities, bias accelerations and body forces, base to tips
    for i in range(1, w.bodies.shape[0]):
        body, work, pose = w.bodies[i], works[i], poses[i]
        origin = poses[body.root].p
        move_body(body, works[body.parent], pose, origin, v, axes, work)
        if body.mass > 0.0:
            _weigh(body, w.mass_scale[i], pose, origin, work)
        else:
            _weigh_nothing(work)
        _push(body, w.wrench[i], pose, origin, work.f)
    # Pass 2: forces and composite inertias, tips to base
    for i in range(w.bodies.shape[0] - 1, 0, -1):
        body, work = w.bodies[i], works[i]
        for j in range(body.v_at + body.nv - 1, body.v_at - 1, -1):
            bias[j] = _joint_force(axes[j], work.f) + w.dofs[j].damping * v[j]
            _mass_row(w.dofs, j, _composite(work), axes, dt, M)
        if body.parent > 0:
            _carry(work, works[body.parent])


@inlined_source
def move_body(
    body: Any, up: Any, pose: Any, origin: Floats, v: Floats, axes: Floats, work: Any
) -> None:
    """Axes S of a body's joint, its velocity v = v_up + S qd and acceleration a = a_up + v x S qd.

    up, work: BODY_WORK of its parent and its own; origin: the tree's
    """
    # The parent's motion; the joint adds its own, and the product of both
    turn, slide = entries(up.v, 0), entries(up.v, 3)
    spin, rise = entries(up.a, 0), entries(up.a, 3)
    j = body.v_at
    if body.joint == REVOLUTE:
        axis = rotate(pose.R, body.axis)
        arm = cross(subtract(entries(pose.p, 0), entries(origin, 0)), axis)
        put_entries(axes[j], 0, axis)
        put_entries(axes[j], 3, arm)
        axis, arm = scaled(v[j], axis), scaled(v[j], arm)
        spin = add(spin, cross(turn, axis))
        rise = add(rise, add_cross(cross(turn, arm), slide, axis))
        turn, slide = add(turn, axis), add(slide, arm)
    elif body.joint == PRISMATIC:
        axis = rotate(pose.R, body.axis)
        put_entries(axes[j], 0, (0.0, 0.0, 0.0))
        put_entries(axes[j], 3, axis)
        axis = scaled(v[j], axis)
        rise = add(rise, cross(turn, axis))
        slide = add(slide, axis)
    put_entries(work.v, 0, turn)
    put_entries(work.v, 3, slide)
    put_entries(work.a, 0, spin)
    put_entries(work.a, 3, rise)
    # All other kinds: columns of their own, which go one by one
    if body.joint > PRISMATIC:
        joint_axes(body, pose, origin, axes)
        _move_freely(body, v, axes, work)


@inlined
def _move_freely(body: Any, v: Floats, axes: Floats, work: Any) -> None:
    """The same for any other joint, whose body has its parent's motion so far.

    A free joint is three translations and then a turn, which sees the velocity after them.
    """
    first, last = body.v_at, body.v_at + body.nv
    if body.joint == FREE:
        for j in range(first, first + 3):
            add_cross_motion(work.v, axes[j], v[j], work.a)
        for j in range(first, first + 3):
            for k in range(3, 6):
                work.v[k] += axes[j, k] * v[j]
        first += 3
    for j in range(first, last):
        add_cross_motion(work.v, axes[j], v[j], work.a)
    for j in range(first, last):
        for k in range(6):
            work.v[k] += axes[j, k] * v[j]


@inlined
def _center(body: Any, pose: Any, origin: Floats) -> Three:
    """A body's centre of mass from its tree's origin."""
    return subtract(add(rotate(pose.R, body.com), entries(pose.p, 0)), entries(origin, 0))


@inlined
def _inertia_times(inertia: Inertia, turn: Three, slide: Three) -> Six:
    """(I w + h x v; m v - h x w) of a motion (w; v)."""
    moment = add_cross(symmetric(inertia.diagonal, inertia.off, turn), inertia.h, slide)
    return moment, subtract_cross(scaled(inertia.mass, slide), inertia.h, turn)


@inlined_source
def _weigh(body: Any, scale: float, pose: Any, origin: Floats, work: Any) -> None:
    """Rigid inertia at the tree's origin and the force f = I a + v x* I v."""
    c, mass = _center(body, pose, origin), body.mass * scale
    h = scaled(mass, c)
    # R B R^T about the centre of mass, then parallel axes: I += m (|c|^2 1 - c c^T)
    R, B = pose.R, body.inertia
    x, y, z = entries(R[0], 0), entries(R[1], 0), entries(R[2], 0)
    Bx, By, Bz = into_body(B, x), into_body(B, y), into_body(B, z)
    diagonal = (
        scale * dot(Bx, x) + h[1] * c[1] + h[2] * c[2],
        scale * dot(By, y) + h[0] * c[0] + h[2] * c[2],
        scale * dot(Bz, z) + h[0] * c[0] + h[1] * c[1],
    )
    off = (
        scale * dot(By, z) - h[1] * c[2],
        scale * dot(Bx, z) - h[0] * c[2],
        scale * dot(Bx, y) - h[0] * c[1],
    )
    # In place: the upper triangle is all that is ever read
    work.mc = mass
    put_entries(work.hc, 0, h)
    work.Ic[0, 0], work.Ic[1, 1], work.Ic[2, 2] = diagonal
    work.Ic[1, 2], work.Ic[0, 2], work.Ic[0, 1] = off
    # f = I a + v x* I v
    turn, slide = entries(work.v, 0), entries(work.v, 3)
    spin, rise = entries(work.a, 0), entries(work.a, 3)
    I = Inertia(mass, h, diagonal, off)
    n, p = _inertia_times(I, turn, slide)  # momentum
    moment, force = _inertia_times(I, spin, rise)
    work.kinetic = 0.5 * _power((turn, slide), (n, p))
    put_entries(work.f, 0, add(add(moment, cross(turn, n)), cross(slide, p)))
    put_entries(work.f, 3, add(force, cross(turn, p)))


@inlined
def _weigh_nothing(work: Any) -> None:
    """Inertia, energy and force of a massless body."""
    work.mc = work.kinetic = 0.0
    for k in range(6):
        work.f[k] = 0.0
    for i in range(3):
        work.hc[i] = 0.0
        for j in range(i, 3):
            work.Ic[i, j] = 0.0


@inlined
def _push(body: Any, wrench: Floats, pose: Any, origin: Floats, out: Floats) -> None:
    """out -= an external wrench, moved from the body's centre of mass to the tree's origin."""
    pushed = False
    for k in range(6):
        pushed = pushed or wrench[k] != 0.0
    if pushed:
        moment, force = entries(wrench, 0), entries(wrench, 3)
        moment = add_cross(moment, _center(body, pose, origin), force)
        put_entries(out, 0, subtract(entries(out, 0), moment))
        put_entries(out, 3, subtract(entries(out, 3), force))


@inlined
def _joint_force(axis: Floats, force: Floats) -> float:
    """S_j . force"""
    return _power((entries(axis, 0), entries(axis, 3)), (entries(force, 0), entries(force, 3)))


@inlined
def _power(motion: Six, force: Six) -> float:
    """Scalar product of a motion and a force, its terms added from left to right."""
    v, f = motion[1], force[1]
    return dot(motion[0], force[0]) + v[0] * f[0] + v[1] * f[1] + v[2] * f[2]


@inlined
def _composite(work: Any) -> Inertia:
    """Of a body and all that it carries."""
    I = work.Ic
    return Inertia(
        work.mc, entries(work.hc, 0), (I[0, 0], I[1, 1], I[2, 2]), (I[1, 2], I[0, 2], I[0, 1])
    )


@inlined
def _mass_row(
    dofs: Records, coordinate: int, inertia: Inertia, axes: Floats, dt: float, M: Floats
) -> None:
    """Row `coordinate` of M^: S_k . (Ic S_j) for k on the way from `coordinate` to the root."""
    # Ic S_j is the force that moves all that the joint carries; each ancestor's axis takes its part
    axis = entries(axes[coordinate], 0), entries(axes[coordinate], 3)
    force = _inertia_times(inertia, axis[0], axis[1])
    for k in range(coordinate):
        M[coordinate, k] = 0.0
    dof = dofs[coordinate]
    M[coordinate, coordinate] = _power(axis, force) + (dof.armature + dt * dof.damping)
    k = dof.parent
    while k >= 0:
        M[coordinate, k] = _power((entries(axes[k], 0), entries(axes[k], 3)), force)
        k = dofs[k].parent


@inlined
def _carry(work: Any, up: Any) -> None:
    """Add a body's force and composite inertia to its parent's."""
    for k in range(6):
        up.f[k] += work.f[k]
    up.mc += work.mc
    for i in range(3):
        up.hc[i] += work.hc[i]
        for j in range(i, 3):
            up.Ic[i, j] += work.Ic[i, j]
