"""Equations of motion of four worlds: `dynamics.motion`, operation by operation.

Velocities, bias accelerations and forces go out to the tips, forces and composite inertias come
back; every formula is that of the single world, on lanes.
"""

from __future__ import annotations

from typing import Any

from dynenvs.abreast.lanes import Lanes, every, get, put
from dynenvs.abreast.poses import turned
from dynenvs.abreast.views import AbreastView
from dynenvs.compiled import inlined, merged
from dynenvs.layout import Floats, Records
from dynenvs.records import FREE, PRISMATIC, REVOLUTE

Six = tuple[Lanes, Lanes, Lanes, Lanes, Lanes, Lanes]


@inlined
def six(array: Floats, i: int) -> Six:
    """Six entries of body or coordinate i."""
    at = 6 * i
    return (
        get(array, at), get(array, at + 1), get(array, at + 2),
        get(array, at + 3), get(array, at + 4), get(array, at + 5),
    )  # fmt: skip


@inlined
def put_six(
    array: Floats, i: int, a: Lanes, b: Lanes, c: Lanes, d: Lanes, e: Lanes, f: Lanes
) -> None:
    """Their counterpart."""
    at = 6 * i
    put(array, at, a)
    put(array, at + 1, b)
    put(array, at + 2, c)
    put(array, at + 3, d)
    put(array, at + 4, e)
    put(array, at + 5, f)


@inlined
def from_origin(p: Floats, i: int, root: int) -> tuple[Lanes, Lanes, Lanes]:
    """Origin of body i from its tree's."""
    return (
        get(p, 3 * i) - get(p, 3 * root),
        get(p, 3 * i + 1) - get(p, 3 * root + 1),
        get(p, 3 * i + 2) - get(p, 3 * root + 2),
    )


@inlined
def go_out(header: Records, bodies: Records, w: AbreastView) -> None:
    """Axes, velocities, bias accelerations, inertias and forces, base to tips.  Needs the poses."""
    zero, g = every(0.0), header[0].gravity
    put_six(w.V, 0, zero, zero, zero, zero, zero, zero)
    put_six(w.a, 0, zero, zero, zero, every(-g[0]), every(-g[1]), every(-g[2]))
    for i in range(1, bodies.shape[0]):
        body = bodies[i]
        _move(body, i, w.R, w.p, w.frame, w.v, w.S, w.V, w.a)
        if body.mass > 0.0:
            _weigh(body, i, w.scale, w.R, w.p, w.V, w.a, w.f, w.mass, w.h, w.I)
        else:
            put(w.mass, i, zero)
            put_six(w.f, i, zero, zero, zero, zero, zero, zero)
            put_six(w.I, i, zero, zero, zero, zero, zero, zero)
            for k in range(3):
                put(w.h, 3 * i + k, zero)


@merged
def _move(
    body: Any,
    i: int,
    R: Floats,
    p: Floats,
    frame: Floats,
    v: Floats,
    S: Floats,
    V: Floats,
    a: Floats,
) -> None:
    """Axes of a body's joint, its velocity v = v_up + S qd and a = a_up + v x S qd."""
    w0, w1, w2, v0, v1, v2 = six(V, body.parent)
    a0, a1, a2, a3, a4, a5 = six(a, body.parent)
    j = body.v_at
    if body.joint == REVOLUTE:
        s0, s1, s2 = turned(R, i, body.axis)
        x, y, z = from_origin(p, i, body.root)
        s3, s4, s5 = y * s2 - z * s1, z * s0 - x * s2, x * s1 - y * s0
        put_six(S, j, s0, s1, s2, s3, s4, s5)
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
        s3, s4, s5 = turned(R, i, body.axis)
        zero = every(0.0)
        put_six(S, j, zero, zero, zero, s3, s4, s5)
        rate = get(v, j)
        s3, s4, s5 = rate * s3, rate * s4, rate * s5
        a3 += w1 * s5 - w2 * s4
        a4 += w2 * s3 - w0 * s5
        a5 += w0 * s4 - w1 * s3
        v0, v1, v2 = v0 + s3, v1 + s4, v2 + s5
    put_six(V, i, w0, w1, w2, v0, v1, v2)
    put_six(a, i, a0, a1, a2, a3, a4, a5)
    if body.nv > 1:
        _move_freely(body, i, R, p, frame, v, S, V, a)


@inlined
def _move_freely(
    body: Any,
    i: int,
    R: Floats,
    p: Floats,
    frame: Floats,
    v: Floats,
    S: Floats,
    V: Floats,
    a: Floats,
) -> None:
    """The same for a spherical or free joint, whose body has its parent's motion so far.

    A free joint is three translations and then a turn, which sees the velocity after them.
    """
    first, last = body.v_at, body.v_at + body.nv
    x, y, z = from_origin(p, i, body.root)
    if body.joint == FREE:
        zero = every(0.0)
        for k in range(3):
            axis = get(frame, 9 * i + k), get(frame, 9 * i + 3 + k), get(frame, 9 * i + 6 + k)
            put_six(S, first + k, zero, zero, zero, axis[0], axis[1], axis[2])
        for k in range(first, first + 3):
            _add_cross_motion(V, a, i, S, k, get(v, k))
        for k in range(first, first + 3):
            for r in range(3, 6):
                put(V, 6 * i + r, get(V, 6 * i + r) + get(S, 6 * k + r) * get(v, k))
        first += 3
    for k in range(3):
        ax, ay, az = get(R, 9 * i + k), get(R, 9 * i + 3 + k), get(R, 9 * i + 6 + k)
        put_six(S, first + k, ax, ay, az, y * az - z * ay, z * ax - x * az, x * ay - y * ax)
    for k in range(first, last):
        _add_cross_motion(V, a, i, S, k, get(v, k))
    for k in range(first, last):
        for r in range(6):
            put(V, 6 * i + r, get(V, 6 * i + r) + get(S, 6 * k + r) * get(v, k))


@inlined
def _add_cross_motion(V: Floats, a: Floats, i: int, S: Floats, k: int, rate: Lanes) -> None:
    """a_i += rate (V_i x S_k)"""
    v0, v1, v2, v3, v4, v5 = six(V, i)
    m0, m1, m2, m3, m4, m5 = six(S, k)
    a0, a1, a2, a3, a4, a5 = six(a, i)
    put_six(
        a, i,
        a0 + rate * (v1 * m2 - v2 * m1),
        a1 + rate * (v2 * m0 - v0 * m2),
        a2 + rate * (v0 * m1 - v1 * m0),
        a3 + rate * (v1 * m5 - v2 * m4 + v4 * m2 - v5 * m1),
        a4 + rate * (v2 * m3 - v0 * m5 + v5 * m0 - v3 * m2),
        a5 + rate * (v0 * m4 - v1 * m3 + v3 * m1 - v4 * m0),
    )  # fmt: skip


@merged
def _weigh(
    body: Any,
    i: int,
    scales: Floats,
    R: Floats,
    p: Floats,
    V: Floats,
    a: Floats,
    f: Floats,
    masses: Floats,
    h: Floats,
    I: Floats,
) -> None:
    """Rigid inertia (m, h, I) at the tree's origin and the force f = I a + v x* I v."""
    scale, B = get(scales, i), body.inertia
    mass = body.mass * scale
    put(masses, i, mass)
    x, y, z = turned(R, i, body.com)
    ox, oy, oz = get(p, 3 * body.root), get(p, 3 * body.root + 1), get(p, 3 * body.root + 2)
    x, y, z = x + get(p, 3 * i) - ox, y + get(p, 3 * i + 1) - oy, z + get(p, 3 * i + 2) - oz
    # I = R B R^T about the centre of mass, then parallel axes: I += m (|c|^2 1 - c c^T)
    at = 9 * i
    r0, r1, r2 = get(R, at), get(R, at + 1), get(R, at + 2)
    r3, r4, r5 = get(R, at + 3), get(R, at + 4), get(R, at + 5)
    r6, r7, r8 = get(R, at + 6), get(R, at + 7), get(R, at + 8)
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
    put(h, 3 * i, hx)
    put(h, 3 * i + 1, hy)
    put(h, 3 * i + 2, hz)
    put_six(I, i, xx, xy, xz, yy, yz, zz)
    w0, w1, w2, v0, v1, v2 = six(V, i)
    a0, a1, a2, a3, a4, a5 = six(a, i)
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
    put_six(
        f, i,
        f0 + (w1 * n2 - w2 * n1) + (v1 * p2 - v2 * p1),
        f1 + (w2 * n0 - w0 * n2) + (v2 * p0 - v0 * p2),
        f2 + (w0 * n1 - w1 * n0) + (v0 * p1 - v1 * p0),
        mass * a3 - hy * a2 + hz * a1 + (w1 * p2 - w2 * p1),
        mass * a4 - hz * a0 + hx * a2 + (w2 * p0 - w0 * p2),
        mass * a5 - hx * a1 + hy * a0 + (w0 * p1 - w1 * p0),
    )  # fmt: skip


@inlined
def push(body: Any, i: int, e: Six, w: AbreastView) -> None:
    """f -= external wrenches, moved from the body's centre of mass to the tree's origin."""
    x, y, z = turned(w.R, i, body.com)
    root = 3 * body.root
    x = x + get(w.p, 3 * i) - get(w.p, root)
    y = y + get(w.p, 3 * i + 1) - get(w.p, root + 1)
    z = z + get(w.p, 3 * i + 2) - get(w.p, root + 2)
    f0, f1, f2, f3, f4, f5 = six(w.f, i)
    put_six(
        w.f, i,
        f0 - (e[0] + y * e[5] - z * e[4]),
        f1 - (e[1] + z * e[3] - x * e[5]),
        f2 - (e[2] + x * e[4] - y * e[3]),
        f3 - e[3],
        f4 - e[4],
        f5 - e[5],
    )  # fmt: skip


@inlined
def come_back(bodies: Records, dofs: Records, dt: float, w: AbreastView) -> None:
    """M^ and bias force from forces and composite inertias, tips to base."""
    for i in range(bodies.shape[0] - 1, 0, -1):
        body = bodies[i]
        for j in range(body.v_at + body.nv - 1, body.v_at - 1, -1):
            _project(dofs, i, j, w.v, dt, w.S, w.f, w.mass, w.h, w.I, w.M, w.bias)
        if body.parent > 0:
            _add(w.mass, body.parent, i, 1)
            _add(w.f, body.parent, i, 6)
            _add(w.h, body.parent, i, 3)
            _add(w.I, body.parent, i, 6)


@inlined
def _add(array: Floats, up: int, i: int, n: int) -> None:
    """n entries of body i to those of its parent"""
    for k in range(n):
        put(array, n * up + k, get(array, n * up + k) + get(array, n * i + k))


@merged
def _project(
    dofs: Records,
    i: int,
    j: int,
    v: Floats,
    dt: float,
    S: Floats,
    f: Floats,
    masses: Floats,
    h: Floats,
    I: Floats,
    M: Floats,
    bias: Floats,
) -> None:
    """bias_j = S_j . f, and row j of M: S_k . (Ic S_j) for k on the way from j to the root."""
    dof, nv = dofs[j], dofs.shape[0]
    s0, s1, s2, s3, s4, s5 = six(S, j)
    f0, f1, f2, f3, f4, f5 = six(f, i)
    force = s0 * f0 + s1 * f1 + s2 * f2 + s3 * f3 + s4 * f4 + s5 * f5
    put(bias, j, force + dof.damping * get(v, j))
    mass, hx, hy, hz = get(masses, i), get(h, 3 * i), get(h, 3 * i + 1), get(h, 3 * i + 2)
    xx, xy, xz, yy, yz, zz = six(I, i)
    f0 = xx * s0 + xy * s1 + xz * s2 + hy * s5 - hz * s4
    f1 = xy * s0 + yy * s1 + yz * s2 + hz * s3 - hx * s5
    f2 = xz * s0 + yz * s1 + zz * s2 + hx * s4 - hy * s3
    f3 = mass * s3 - hy * s2 + hz * s1
    f4 = mass * s4 - hz * s0 + hx * s2
    f5 = mass * s5 - hx * s1 + hy * s0
    own = s0 * f0 + s1 * f1 + s2 * f2 + s3 * f3 + s4 * f4 + s5 * f5
    put(M, nv * j + j, own + (dof.armature + dt * dof.damping))
    k = dof.parent
    while k >= 0:
        s0, s1, s2, s3, s4, s5 = six(S, k)
        put(M, nv * j + k, s0 * f0 + s1 * f1 + s2 * f2 + s3 * f3 + s4 * f4 + s5 * f5)
        k = dofs[k].parent
