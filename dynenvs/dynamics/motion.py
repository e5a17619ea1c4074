"""Mass matrix and bias force in two passes: the step's own fusion of RNEA and CRBA.

The recursive Newton-Euler and composite-rigid-body algorithms (Featherstone 2008, tables 5.1 and
6.2; `rnea.py` and `crba.py` have them as the book does) share their loops here: velocities, bias
accelerations, inertias and body forces go out to the tips in one pass, forces and composite
inertias come back in the other.  Everything is in world axes at the tree's origin, so that nothing
is transformed; massless bodies add nothing; a body's quantities stay in registers between reading
its parent's and writing its own.
"""

from __future__ import annotations

from typing import Any

from dynenvs.compiled import inlined, kernel, merged
from dynenvs.dynamics.planar import planar_passes
from dynenvs.joints import joint_axes
from dynenvs.layout import Floats, ModelView, Records, StateView, WorkspaceView
from dynenvs.records import FREE, PRISMATIC, REVOLUTE
from dynenvs.rotation import rotate
from dynenvs.spatial import add_cross_motion


@inlined
def equations_of_motion(
    m: ModelView, s: StateView, w: WorkspaceView, v: Floats, dt: float, M: Floats
) -> None:
    """M^ into `M` and h + D v - J^T wrench into `w.bias`, for velocities v.  Needs the poses."""
    if m.header[0].planar:
        planar_passes(
            m.header, m.bodies, m.dofs, v, s.wrench, s.mass_scale, w.pose, w.body, w.S, dt, M,
            w.bias,
        )  # fmt: skip
    else:
        motion_passes(
            m.header, m.bodies, m.dofs, v, s.wrench, s.mass_scale, w.pose, w.body, w.S, dt, M,
            w.bias,
        )  # fmt: skip


@kernel
def motion_passes(
    header: Records,
    bodies: Records,
    dofs: Records,
    v: Floats,
    wrench: Floats,
    mass_scale: Floats,
    poses: Records,
    works: Records,
    S: Floats,
    dt: float,
    M: Floats,
    bias: Floats,
) -> None:
    """M^ = M + armature + dt damping (lower triangle) and h + D v - J^T wrench, (nv, nv) and (nv,).

    Needs the poses.  Leaves axes `S`, spatial velocities `v` and bias accelerations `a` (gravity
    included) of the bodies, and composite inertias, in the workspace.
    """
    world, g = works[0], header[0].gravity
    for k in range(3):
        world.v[k] = world.v[3 + k] = 0.0
        world.a[k], world.a[3 + k] = 0.0, -g[k]
    # Pass 1: velocities, bias accelerations and body forces, base to tips
    for i in range(1, bodies.shape[0]):
        body, work = bodies[i], works[i]
        _move(body, works[body.parent], poses[i], poses[body.root].p, v, S, work)
        mass = body.mass * mass_scale[i]
        work.mc = mass
        for k in range(3):
            work.f[k] = work.f[3 + k] = 0.0
            work.hc[k] = work.Ic[0, k] = work.Ic[1, k] = work.Ic[2, k] = 0.0
        if mass > 0.0:
            _weigh(body, poses[i], poses[body.root].p, mass, mass_scale[i], work)
        e = wrench[i]
        if e[0] != 0 or e[1] != 0 or e[2] != 0 or e[3] != 0 or e[4] != 0 or e[5] != 0:
            _push(body, poses[i], poses[body.root].p, e, work.f)
    # Pass 2: forces and composite inertias, tips to base
    for i in range(bodies.shape[0] - 1, 0, -1):
        body, work = bodies[i], works[i]
        for j in range(body.v_at + body.nv - 1, body.v_at - 1, -1):
            _project(dofs, work, S, j, M, bias)
            dof = dofs[j]
            M[j, j] += dof.armature + dt * dof.damping
            bias[j] += dof.damping * v[j]
        if body.parent > 0:
            up = works[body.parent]
            up.mc += work.mc
            for k in range(6):
                up.f[k] += work.f[k]
            for k in range(3):
                up.hc[k] += work.hc[k]
                for c in range(k, 3):
                    up.Ic[k, c] += work.Ic[k, c]


@merged
def _move(
    body: Any,
    up: Any,
    pose: Any,
    origin: Floats,
    v: Floats,
    S: Floats,
    work: Any,
) -> None:
    """Axes of a body's joint, its velocity v = v_up + S qd and a = a_up + v x S qd."""
    w0, w1, w2 = up.v[0], up.v[1], up.v[2]
    v0, v1, v2 = up.v[3], up.v[4], up.v[5]
    a0, a1, a2 = up.a[0], up.a[1], up.a[2]
    a3, a4, a5 = up.a[3], up.a[4], up.a[5]
    j = body.v_at
    if body.joint == REVOLUTE:
        s0, s1, s2 = rotate(pose.R, body.axis)
        x, y, z = pose.p[0] - origin[0], pose.p[1] - origin[1], pose.p[2] - origin[2]
        s3, s4, s5 = y * s2 - z * s1, z * s0 - x * s2, x * s1 - y * s0
        S[j, 0], S[j, 1], S[j, 2] = s0, s1, s2
        S[j, 3], S[j, 4], S[j, 5] = s3, s4, s5
        rate = v[j]
        s0, s1, s2, s3, s4, s5 = rate * s0, rate * s1, rate * s2, rate * s3, rate * s4, rate * s5
        a0 += w1 * s2 - w2 * s1
        a1 += w2 * s0 - w0 * s2
        a2 += w0 * s1 - w1 * s0
        a3 += w1 * s5 - w2 * s4 + v1 * s2 - v2 * s1
        a4 += w2 * s3 - w0 * s5 + v2 * s0 - v0 * s2
        a5 += w0 * s4 - w1 * s3 + v0 * s1 - v1 * s0
        w0, w1, w2, v0, v1, v2 = w0 + s0, w1 + s1, w2 + s2, v0 + s3, v1 + s4, v2 + s5
    elif body.joint == PRISMATIC:
        s3, s4, s5 = rotate(pose.R, body.axis)
        S[j, 0], S[j, 1], S[j, 2] = 0.0, 0.0, 0.0
        S[j, 3], S[j, 4], S[j, 5] = s3, s4, s5
        rate = v[j]
        s3, s4, s5 = rate * s3, rate * s4, rate * s5
        a3 += w1 * s5 - w2 * s4
        a4 += w2 * s3 - w0 * s5
        a5 += w0 * s4 - w1 * s3
        v0, v1, v2 = v0 + s3, v1 + s4, v2 + s5
    work.v[0], work.v[1], work.v[2], work.v[3], work.v[4], work.v[5] = w0, w1, w2, v0, v1, v2
    work.a[0], work.a[1], work.a[2], work.a[3], work.a[4], work.a[5] = a0, a1, a2, a3, a4, a5
    if body.nv > 1:
        joint_axes(body, pose, origin, S)
        first, last = j, j + body.nv
        # A free joint is three translations and then a turn, which sees the velocity after them.
        if body.joint == FREE:
            for k in range(first, first + 3):
                add_cross_motion(work.v, S[k], v[k], work.a)
            for k in range(first, first + 3):
                for r in range(3, 6):
                    work.v[r] += S[k, r] * v[k]
            first += 3
        for k in range(first, last):
            add_cross_motion(work.v, S[k], v[k], work.a)
        for k in range(first, last):
            for r in range(6):
                work.v[r] += S[k, r] * v[k]


@merged
def _weigh(body: Any, pose: Any, origin: Floats, mass: float, scale: float, work: Any) -> None:
    """Rigid inertia (m, h, I) at the tree's origin and the force f = I a + v x* I v."""
    R, B = pose.R, body.inertia
    x, y, z = rotate(R, body.com)
    x, y, z = x + pose.p[0] - origin[0], y + pose.p[1] - origin[1], z + pose.p[2] - origin[2]
    # I = R B R^T about the centre of mass, then parallel axes: I += m (|c|^2 1 - c c^T)
    r0, r1, r2 = R[0, 0], R[0, 1], R[0, 2]
    r3, r4, r5 = R[1, 0], R[1, 1], R[1, 2]
    r6, r7, r8 = R[2, 0], R[2, 1], R[2, 2]
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
    work.hc[0], work.hc[1], work.hc[2] = hx, hy, hz
    work.Ic[0, 0], work.Ic[0, 1], work.Ic[0, 2] = xx, xy, xz
    work.Ic[1, 1], work.Ic[1, 2], work.Ic[2, 2] = yy, yz, zz
    w0, w1, w2 = work.v[0], work.v[1], work.v[2]
    v0, v1, v2 = work.v[3], work.v[4], work.v[5]
    a0, a1, a2 = work.a[0], work.a[1], work.a[2]
    a3, a4, a5 = work.a[3], work.a[4], work.a[5]
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
    work.f[0] = f0 + (w1 * n2 - w2 * n1) + (v1 * p2 - v2 * p1)
    work.f[1] = f1 + (w2 * n0 - w0 * n2) + (v2 * p0 - v0 * p2)
    work.f[2] = f2 + (w0 * n1 - w1 * n0) + (v0 * p1 - v1 * p0)
    work.f[3] = mass * a3 - hy * a2 + hz * a1 + (w1 * p2 - w2 * p1)
    work.f[4] = mass * a4 - hz * a0 + hx * a2 + (w2 * p0 - w0 * p2)
    work.f[5] = mass * a5 - hx * a1 + hy * a0 + (w0 * p1 - w1 * p0)


@merged
def _push(body: Any, pose: Any, origin: Floats, e: Floats, f: Floats) -> None:
    """f -= an external wrench, moved from the body's centre of mass to the tree's origin."""
    x, y, z = rotate(pose.R, body.com)
    x, y, z = x + pose.p[0] - origin[0], y + pose.p[1] - origin[1], z + pose.p[2] - origin[2]
    f[0] -= e[0] + y * e[5] - z * e[4]
    f[1] -= e[1] + z * e[3] - x * e[5]
    f[2] -= e[2] + x * e[4] - y * e[3]
    f[3] -= e[3]
    f[4] -= e[4]
    f[5] -= e[5]


@merged
def _project(dofs: Records, work: Any, S: Floats, j: int, M: Floats, bias: Floats) -> None:
    """bias_j = S_j . f, and row j of M: S_k . (Ic S_j) for k on the way from j to the root."""
    s0, s1, s2, s3, s4, s5 = S[j, 0], S[j, 1], S[j, 2], S[j, 3], S[j, 4], S[j, 5]
    f, h, I, mass = work.f, work.hc, work.Ic, work.mc
    bias[j] = s0 * f[0] + s1 * f[1] + s2 * f[2] + s3 * f[3] + s4 * f[4] + s5 * f[5]
    f0 = I[0, 0] * s0 + I[0, 1] * s1 + I[0, 2] * s2 + h[1] * s5 - h[2] * s4
    f1 = I[0, 1] * s0 + I[1, 1] * s1 + I[1, 2] * s2 + h[2] * s3 - h[0] * s5
    f2 = I[0, 2] * s0 + I[1, 2] * s1 + I[2, 2] * s2 + h[0] * s4 - h[1] * s3
    f3 = mass * s3 - h[1] * s2 + h[2] * s1
    f4 = mass * s4 - h[2] * s0 + h[0] * s2
    f5 = mass * s5 - h[0] * s1 + h[1] * s0
    for k in range(j):
        M[j, k] = 0.0
    M[j, j] = s0 * f0 + s1 * f1 + s2 * f2 + s3 * f3 + s4 * f4 + s5 * f5
    k = dofs[j].parent
    while k >= 0:
        M[j, k] = (
            S[k, 0] * f0 + S[k, 1] * f1 + S[k, 2] * f2 + S[k, 3] * f3 + S[k, 4] * f4 + S[k, 5] * f5
        )
        k = dofs[k].parent
