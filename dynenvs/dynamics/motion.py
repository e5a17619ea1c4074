"""Mass matrix and bias force in two passes: the step's own fusion of RNEA and CRBA.

The recursive Newton-Euler and composite-rigid-body algorithms (Featherstone 2008, tables 5.1 and
6.2; `rnea.py` and `crba.py` have them as the book does) share their loops here: velocities, bias
accelerations, inertias and body forces go out to the tips in one pass, forces and composite
inertias come back in the other.  Everything is in world axes at the tree's origin, so that nothing
is transformed; massless bodies add nothing; a body's quantities stay in registers between reading
its parent's and writing its own.  Arrays hold the entries of one world or of four abreast
(`dynenvs.simd.lanes`).
"""

from __future__ import annotations

from typing import Any

from dynenvs.dynamics.planar import planar_passes
from dynenvs.dynamics.springs import add_springs
from dynenvs.jit.compiled import inlined, kernel, merged
from dynenvs.kinematics.rotation import turned
from dynenvs.memory.layout import Floats, ModelView, Records, StateView, WorkspaceView
from dynenvs.memory.records import (
    AT_A,
    AT_F,
    AT_FRAME,
    AT_HC,
    AT_IC,
    AT_MC,
    AT_P,
    AT_R,
    AT_V,
    FREE,
    POSE_WORDS,
    PRISMATIC,
    REVOLUTE,
    WORK_WORDS,
)
from dynenvs.memory.views import words
from dynenvs.simd.lanes import get, like, nil, put

Six = tuple[Any, Any, Any, Any, Any, Any]


@inlined
def equations_of_motion(
    m: ModelView, s: StateView, w: WorkspaceView, v: Floats, dt: float, M: Floats
) -> None:
    """M^ into `M` and h + D v + K (q - r) - J^T wrench into `w.bias`, for velocities v.

    M^ = M + armature + dt D + dt^2 K (see `springs.py`).  Needs the poses.
    """
    if m.header[0].planar:
        planar_passes(
            m.header, m.bodies, m.dofs, v, s.wrench, s.mass_scale, w.pose, w.body, w.S, dt, M,
            w.bias,
        )  # fmt: skip
    else:
        nb, nv = m.header[0].nb, m.header[0].nv
        motion_passes(
            m.header, m.bodies, m.dofs, v, words(s.wrench, 6 * nb), s.mass_scale,
            words(w.pose, POSE_WORDS * nb), words(w.body, WORK_WORDS * nb), words(w.S, 6 * nv), dt,
            words(M, nv * nv), w.bias,
        )  # fmt: skip
    if m.header[0].sprung:
        add_springs(m, s, M, w.bias, dt)


@kernel
def motion_passes(
    header: Records,
    bodies: Records,
    dofs: Records,
    v: Floats,
    wrench: Floats,
    mass_scale: Floats,
    poses: Floats,
    works: Floats,
    S: Floats,
    dt: float,
    M: Floats,
    bias: Floats,
) -> None:
    """M^ = M + armature + dt damping (lower triangle) and h + D v - J^T wrench, (nv, nv) and (nv,).

    All arrays flat, of one world or of four.  Needs the poses.  Leaves axes `S`, spatial velocities
    `v` and bias accelerations `a` (gravity included) of the bodies, and composite inertias, in the
    workspace.
    """
    zero, g = like(works, 0.0), header[0].gravity
    _put_six(works, AT_V, zero, zero, zero, zero, zero, zero)
    for k in range(3):
        put(works, AT_A + k, zero)
        put(works, AT_A + 3 + k, like(works, -g[k]))
    # Pass 1: velocities, bias accelerations and body forces, base to tips
    for i in range(1, bodies.shape[0]):
        body, work = bodies[i], WORK_WORDS * i
        move_body(body, i, poses, v, S, works)
        if body.mass > 0.0:
            _weigh(body, i, mass_scale, poses, works)
        else:
            put(works, work + AT_MC, zero)
            _put_six(works, work + AT_F, zero, zero, zero, zero, zero, zero)
            for k in range(AT_HC, AT_IC + 9):
                put(works, work + k, zero)
        e0, e1, e2, e3, e4, e5 = _six(wrench, 6 * i)
        if not (nil(e0) and nil(e1) and nil(e2) and nil(e3) and nil(e4) and nil(e5)):
            _push(body, i, poses, e0, e1, e2, e3, e4, e5, works)
    # Pass 2: forces and composite inertias, tips to base
    for i in range(bodies.shape[0] - 1, 0, -1):
        body, work = bodies[i], WORK_WORDS * i
        for j in range(body.v_at + body.nv - 1, body.v_at - 1, -1):
            _project(dofs, work, S, j, v, dt, works, M, bias)
        if body.parent > 0:
            up = WORK_WORDS * body.parent
            for k in range(AT_F, AT_F + 6):
                put(works, up + k, get(works, up + k) + get(works, work + k))
            for k in range(AT_MC, AT_HC + 3):
                put(works, up + k, get(works, up + k) + get(works, work + k))
            for k in range(3):
                for c in range(AT_IC + 4 * k, AT_IC + 3 * k + 3):
                    put(works, up + c, get(works, up + c) + get(works, work + c))


@inlined
def _six(a: Floats, at: int) -> Six:
    """Six entries from `at` on."""
    return (
        get(a, at), get(a, at + 1), get(a, at + 2),
        get(a, at + 3), get(a, at + 4), get(a, at + 5),
    )  # fmt: skip


@inlined
def _put_six(a: Floats, at: int, x0: Any, x1: Any, x2: Any, x3: Any, x4: Any, x5: Any) -> None:
    put(a, at, x0)
    put(a, at + 1, x1)
    put(a, at + 2, x2)
    put(a, at + 3, x3)
    put(a, at + 4, x4)
    put(a, at + 5, x5)


@inlined
def _from_origin(poses: Floats, i: int, root: int) -> tuple[Any, Any, Any]:
    """Origin of body i from its tree's."""
    at, o = POSE_WORDS * i + AT_P, POSE_WORDS * root + AT_P
    return (
        get(poses, at) - get(poses, o),
        get(poses, at + 1) - get(poses, o + 1),
        get(poses, at + 2) - get(poses, o + 2),
    )


@inlined
def _center(body: Any, i: int, poses: Floats) -> tuple[Any, Any, Any]:
    """Centre of mass of body i from its tree's origin."""
    own, o, c = POSE_WORDS * i, POSE_WORDS * body.root + AT_P, body.com
    x, y, z = turned(poses, own + AT_R, c[0], c[1], c[2])
    return (
        x + get(poses, own + AT_P) - get(poses, o),
        y + get(poses, own + AT_P + 1) - get(poses, o + 1),
        z + get(poses, own + AT_P + 2) - get(poses, o + 2),
    )


@merged
def move_body(body: Any, i: int, poses: Floats, v: Floats, S: Floats, works: Floats) -> None:
    """Axes of a body's joint, its velocity v = v_up + S qd and a = a_up + v x S qd."""
    up, work = WORK_WORDS * body.parent, WORK_WORDS * i
    w0, w1, w2, v0, v1, v2 = _six(works, up + AT_V)
    a0, a1, a2, a3, a4, a5 = _six(works, up + AT_A)
    j, axis, R = body.v_at, body.axis, POSE_WORDS * i + AT_R
    if body.joint == REVOLUTE:
        s0, s1, s2 = turned(poses, R, axis[0], axis[1], axis[2])
        x, y, z = _from_origin(poses, i, body.root)
        s3, s4, s5 = y * s2 - z * s1, z * s0 - x * s2, x * s1 - y * s0
        _put_six(S, 6 * j, s0, s1, s2, s3, s4, s5)
        rate = get(v, j)
        s0, s1, s2, s3, s4, s5 = rate * s0, rate * s1, rate * s2, rate * s3, rate * s4, rate * s5
        a0 += w1 * s2 - w2 * s1
        a1 += w2 * s0 - w0 * s2
        a2 += w0 * s1 - w1 * s0
        a3 += w1 * s5 - w2 * s4 + v1 * s2 - v2 * s1
        a4 += w2 * s3 - w0 * s5 + v2 * s0 - v0 * s2
        a5 += w0 * s4 - w1 * s3 + v0 * s1 - v1 * s0
        w0, w1, w2, v0, v1, v2 = w0 + s0, w1 + s1, w2 + s2, v0 + s3, v1 + s4, v2 + s5
    elif body.joint == PRISMATIC:
        s3, s4, s5 = turned(poses, R, axis[0], axis[1], axis[2])
        zero = like(works, 0.0)
        _put_six(S, 6 * j, zero, zero, zero, s3, s4, s5)
        rate = get(v, j)
        s3, s4, s5 = rate * s3, rate * s4, rate * s5
        a3 += w1 * s5 - w2 * s4
        a4 += w2 * s3 - w0 * s5
        a5 += w0 * s4 - w1 * s3
        v0, v1, v2 = v0 + s3, v1 + s4, v2 + s5
    _put_six(works, work + AT_V, w0, w1, w2, v0, v1, v2)
    _put_six(works, work + AT_A, a0, a1, a2, a3, a4, a5)
    if body.nv > 1:
        _move_freely(body, i, poses, v, S, works)


@inlined
def _move_freely(body: Any, i: int, poses: Floats, v: Floats, S: Floats, works: Floats) -> None:
    """The same for a spherical or free joint, whose body has its parent's motion so far.

    A free joint is three translations and then a turn, which sees the velocity after them.
    """
    first, last = body.v_at, body.v_at + body.nv
    x, y, z = _from_origin(poses, i, body.root)
    V = WORK_WORDS * i + AT_V
    if body.joint == FREE:
        zero, F = like(works, 0.0), POSE_WORDS * i + AT_FRAME
        for k in range(3):
            ax, ay, az = get(poses, F + k), get(poses, F + 3 + k), get(poses, F + 6 + k)
            _put_six(S, 6 * (first + k), zero, zero, zero, ax, ay, az)
        for k in range(first, first + 3):
            _add_cross_motion(works, WORK_WORDS * i, S, k, get(v, k))
        for k in range(first, first + 3):
            for r in range(3, 6):
                put(works, V + r, get(works, V + r) + get(S, 6 * k + r) * get(v, k))
        first += 3
    R = POSE_WORDS * i + AT_R
    for k in range(3):
        ax, ay, az = get(poses, R + k), get(poses, R + 3 + k), get(poses, R + 6 + k)
        arm = y * az - z * ay, z * ax - x * az, x * ay - y * ax
        _put_six(S, 6 * (first + k), ax, ay, az, arm[0], arm[1], arm[2])
    for k in range(first, last):
        _add_cross_motion(works, WORK_WORDS * i, S, k, get(v, k))
    for k in range(first, last):
        for r in range(6):
            put(works, V + r, get(works, V + r) + get(S, 6 * k + r) * get(v, k))


@inlined
def _add_cross_motion(works: Floats, work: int, S: Floats, k: int, rate: Any) -> None:
    """a += rate (v x S_k)"""
    v0, v1, v2, v3, v4, v5 = _six(works, work + AT_V)
    m0, m1, m2, m3, m4, m5 = _six(S, 6 * k)
    a0, a1, a2, a3, a4, a5 = _six(works, work + AT_A)
    a0 = a0 + rate * (v1 * m2 - v2 * m1)
    a1 = a1 + rate * (v2 * m0 - v0 * m2)
    a2 = a2 + rate * (v0 * m1 - v1 * m0)
    a3 = a3 + rate * (v1 * m5 - v2 * m4 + v4 * m2 - v5 * m1)
    a4 = a4 + rate * (v2 * m3 - v0 * m5 + v5 * m0 - v3 * m2)
    a5 = a5 + rate * (v0 * m4 - v1 * m3 + v3 * m1 - v4 * m0)
    _put_six(works, work + AT_A, a0, a1, a2, a3, a4, a5)


@merged
def _weigh(body: Any, i: int, scales: Floats, poses: Floats, works: Floats) -> None:
    """Rigid inertia (m, h, I) at the tree's origin and the force f = I a + v x* I v."""
    work, scale, B = WORK_WORDS * i, get(scales, i), body.inertia
    mass = body.mass * scale
    put(works, work + AT_MC, mass)
    x, y, z = _center(body, i, poses)
    # I = R B R^T about the centre of mass, then parallel axes: I += m (|c|^2 1 - c c^T)
    at = POSE_WORDS * i + AT_R
    r0, r1, r2 = get(poses, at), get(poses, at + 1), get(poses, at + 2)
    r3, r4, r5 = get(poses, at + 3), get(poses, at + 4), get(poses, at + 5)
    r6, r7, r8 = get(poses, at + 6), get(poses, at + 7), get(poses, at + 8)
    t0 = r0 * B[0, 0] + r1 * B[1, 0] + r2 * B[2, 0]
    t1 = r0 * B[0, 1] + r1 * B[1, 1] + r2 * B[2, 1]
    t2 = r0 * B[0, 2] + r1 * B[1, 2] + r2 * B[2, 2]
    t3 = r3 * B[0, 0] + r4 * B[1, 0] + r5 * B[2, 0]
    t4 = r3 * B[0, 1] + r4 * B[1, 1] + r5 * B[2, 1]
    t5 = r3 * B[0, 2] + r4 * B[1, 2] + r5 * B[2, 2]
    t6 = r6 * B[0, 0] + r7 * B[1, 0] + r8 * B[2, 0]
    t7 = r6 * B[0, 1] + r7 * B[1, 1] + r8 * B[2, 1]
    t8 = r6 * B[0, 2] + r7 * B[1, 2] + r8 * B[2, 2]
    hx, hy, hz = mass * x, mass * y, mass * z
    xx = scale * (t0 * r0 + t1 * r1 + t2 * r2) + hy * y + hz * z
    xy = scale * (t0 * r3 + t1 * r4 + t2 * r5) - hx * y
    xz = scale * (t0 * r6 + t1 * r7 + t2 * r8) - hx * z
    yy = scale * (t3 * r3 + t4 * r4 + t5 * r5) + hx * x + hz * z
    yz = scale * (t3 * r6 + t4 * r7 + t5 * r8) - hy * z
    zz = scale * (t6 * r6 + t7 * r7 + t8 * r8) + hx * x + hy * y
    put(works, work + AT_HC, hx)
    put(works, work + AT_HC + 1, hy)
    put(works, work + AT_HC + 2, hz)
    put(works, work + AT_IC, xx)
    put(works, work + AT_IC + 1, xy)
    put(works, work + AT_IC + 2, xz)
    put(works, work + AT_IC + 4, yy)
    put(works, work + AT_IC + 5, yz)
    put(works, work + AT_IC + 8, zz)
    w0, w1, w2, v0, v1, v2 = _six(works, work + AT_V)
    a0, a1, a2, a3, a4, a5 = _six(works, work + AT_A)
    # Momentum (n; p) = I v, then the force
    n0 = xx * w0 + xy * w1 + xz * w2 + hy * v2 - hz * v1
    n1 = xy * w0 + yy * w1 + yz * w2 + hz * v0 - hx * v2
    n2 = xz * w0 + yz * w1 + zz * w2 + hx * v1 - hy * v0
    p0 = mass * v0 - hy * w2 + hz * w1
    p1 = mass * v1 - hz * w0 + hx * w2
    p2 = mass * v2 - hx * w1 + hy * w0
    f0 = xx * a0 + xy * a1 + xz * a2 + hy * a5 - hz * a4
    f1 = xy * a0 + yy * a1 + yz * a2 + hz * a3 - hx * a5
    f2 = xz * a0 + yz * a1 + zz * a2 + hx * a4 - hy * a3
    _put_six(
        works, work + AT_F,
        f0 + (w1 * n2 - w2 * n1) + (v1 * p2 - v2 * p1),
        f1 + (w2 * n0 - w0 * n2) + (v2 * p0 - v0 * p2),
        f2 + (w0 * n1 - w1 * n0) + (v0 * p1 - v1 * p0),
        mass * a3 - hy * a2 + hz * a1 + (w1 * p2 - w2 * p1),
        mass * a4 - hz * a0 + hx * a2 + (w2 * p0 - w0 * p2),
        mass * a5 - hx * a1 + hy * a0 + (w0 * p1 - w1 * p0),
    )  # fmt: skip


@inlined
def _push(
    body: Any,
    i: int,
    poses: Floats,
    e0: Any,
    e1: Any,
    e2: Any,
    e3: Any,
    e4: Any,
    e5: Any,
    works: Floats,
) -> None:
    """f -= an external wrench, moved from the body's centre of mass to the tree's origin."""
    at = WORK_WORDS * i + AT_F
    x, y, z = _center(body, i, poses)
    f0, f1, f2, f3, f4, f5 = _six(works, at)
    _put_six(
        works, at,
        f0 - (e0 + y * e5 - z * e4),
        f1 - (e1 + z * e3 - x * e5),
        f2 - (e2 + x * e4 - y * e3),
        f3 - e3,
        f4 - e4,
        f5 - e5,
    )  # fmt: skip


@merged
def _project(
    dofs: Records,
    work: int,
    S: Floats,
    j: int,
    v: Floats,
    dt: float,
    works: Floats,
    M: Floats,
    bias: Floats,
) -> None:
    """bias_j = S_j . f, and row j of M: S_k . (Ic S_j) for k on the way from j to the root."""
    dof, nv = dofs[j], dofs.shape[0]
    s0, s1, s2, s3, s4, s5 = _six(S, 6 * j)
    f0, f1, f2, f3, f4, f5 = _six(works, work + AT_F)
    force = s0 * f0 + s1 * f1 + s2 * f2 + s3 * f3 + s4 * f4 + s5 * f5
    put(bias, j, force + dof.damping * get(v, j))
    mass = get(works, work + AT_MC)
    at = work + AT_HC
    hx, hy, hz = get(works, at), get(works, at + 1), get(works, at + 2)
    at = work + AT_IC
    xx, xy, xz = get(works, at), get(works, at + 1), get(works, at + 2)
    yy, yz, zz = get(works, at + 4), get(works, at + 5), get(works, at + 8)
    f0 = xx * s0 + xy * s1 + xz * s2 + hy * s5 - hz * s4
    f1 = xy * s0 + yy * s1 + yz * s2 + hz * s3 - hx * s5
    f2 = xz * s0 + yz * s1 + zz * s2 + hx * s4 - hy * s3
    f3 = mass * s3 - hy * s2 + hz * s1
    f4 = mass * s4 - hz * s0 + hx * s2
    f5 = mass * s5 - hx * s1 + hy * s0
    for k in range(nv * j, nv * j + j):
        put(M, k, like(M, 0.0))
    own = s0 * f0 + s1 * f1 + s2 * f2 + s3 * f3 + s4 * f4 + s5 * f5
    put(M, nv * j + j, own + (dof.armature + dt * dof.damping))
    k = dof.parent
    while k >= 0:
        s0, s1, s2, s3, s4, s5 = _six(S, 6 * k)
        put(M, nv * j + k, s0 * f0 + s1 * f1 + s2 * f2 + s3 * f3 + s4 * f4 + s5 * f5)
        k = dofs[k].parent
