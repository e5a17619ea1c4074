"""Free rigid bodies in the midpoint rule: energy and momentum kept to rounding.

For a body alone on a free joint in the world, Euler's equations in its own axes, about its centre
of mass,

    I (w+ - w) = -h wm x I wm + h n,    wm = (w + w+) / 2,

keep the energy and the length of I w exactly when no moment n acts, whatever the step h: multiply
by wm, or by I wm.  They also say (1 + h/2 wm x) I w+ = (1 - h/2 wm x) I w, so that I w+ is I w
turned back by Cayley's rotation cay(h wm).  A body that is turned by R+ = R cay(h wm) keeps R I w,
its angular momentum, direction and all (Austin, Krishnaprasad and Wang 1993).  The centre of mass
goes on with the mean of its two velocities, which in a uniform field is exact.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.compiled import inlined, kernel
from dynenvs.layout import Floats, ModelView, StateView, WorkspaceView
from dynenvs.records import ALONE

NEWTON_STEPS = 20  # on Euler's equations, which mostly take three
ROUNDING = 1e-16  # relative change of the velocity, below which it is found

Three = tuple[float, float, float]


@inlined
def _cross(a: Three, b: Three) -> Three:
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@inlined
def _add(a: Three, scale: float, b: Three) -> Three:
    """a + scale b"""
    return (a[0] + scale * b[0], a[1] + scale * b[1], a[2] + scale * b[2])


@inlined
def _turn(q: Floats, at: int, x: Three) -> Three:
    """x in the joint's frame, from the body's, whose unit quaternion begins at q[at]."""
    w, u = q[at], (q[at + 1], q[at + 2], q[at + 3])
    t = _cross(u, x)
    t = (2.0 * t[0], 2.0 * t[1], 2.0 * t[2])
    return _add(_add(x, w, t), 1.0, _cross(u, t))


@inlined
def _entries(v: Floats, at: int) -> Three:
    return (v[at], v[at + 1], v[at + 2])


@inlined
def _put(v: Floats, at: int, x: Three) -> None:
    v[at], v[at + 1], v[at + 2] = x[0], x[1], x[2]


@inlined
def _into_body(R: Floats, x: Three) -> Three:
    """R^T x"""
    return (
        R[0, 0] * x[0] + R[1, 0] * x[1] + R[2, 0] * x[2],
        R[0, 1] * x[0] + R[1, 1] * x[1] + R[2, 1] * x[2],
        R[0, 2] * x[0] + R[1, 2] * x[1] + R[2, 2] * x[2],
    )


@inlined
def center(pose: Any, work: Any) -> Three:
    """Centre of mass of a body and of all that it carries, in its axes, from its origin [m]."""
    h = work.hc
    x, y, z = _into_body(pose.R, (h[0], h[1], h[2]))
    return (x / work.mc, y / work.mc, z / work.mc)


@inlined
def _inertia(pose: Any, work: Any) -> tuple[Three, Three]:
    """Diagonal and (yz, xz, xy) of the inertia about the centre of mass, in the body's axes."""
    C, h, R = work.Ic, work.hc, pose.R
    x, y, z = h[0] / work.mc, h[1] / work.mc, h[2] / work.mc
    xx = C[0, 0] - h[1] * y - h[2] * z
    yy = C[1, 1] - h[0] * x - h[2] * z
    zz = C[2, 2] - h[0] * x - h[1] * y
    xy, xz, yz = C[0, 1] + h[0] * y, C[0, 2] + h[0] * z, C[1, 2] + h[1] * z
    a = (R[0, 0], R[1, 0], R[2, 0])
    b = (R[0, 1], R[1, 1], R[2, 1])
    c = (R[0, 2], R[1, 2], R[2, 2])
    Ia = _symmetric((xx, yy, zz), (yz, xz, xy), a)
    Ib = _symmetric((xx, yy, zz), (yz, xz, xy), b)
    Ic = _symmetric((xx, yy, zz), (yz, xz, xy), c)
    return (_dot(a, Ia), _dot(b, Ib), _dot(c, Ic)), (_dot(b, Ic), _dot(a, Ic), _dot(a, Ib))


@inlined
def _dot(a: Three, b: Three) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined
def _symmetric(diagonal: Three, off: Three, x: Three) -> Three:
    """Symmetric matrix times x; `off` are its entries (yz, xz, xy)."""
    return (
        diagonal[0] * x[0] + off[2] * x[1] + off[1] * x[2],
        off[2] * x[0] + diagonal[1] * x[1] + off[0] * x[2],
        off[1] * x[0] + off[0] * x[1] + diagonal[2] * x[2],
    )


@inlined
def _solve(A: tuple[Three, Three, Three], b: Three) -> Three:
    """A^-1 b, by the columns of A."""
    x, y, z = A
    yz, zx, xy = _cross(y, z), _cross(z, x), _cross(x, y)
    scale = 1.0 / _dot(x, yz)
    return (scale * _dot(b, yz), scale * _dot(b, zx), scale * _dot(b, xy))


@kernel
def spin(diagonal: Three, off: Three, w: Three, guess: Three, push: Three, h: float) -> Three:
    """The angular velocity w+ of I (w+ - w) + h wm x I wm = push, by Newton's method from a guess.

    diagonal, off: of the inertia I, (yz, xz, xy); push: impulse of the moments [N m s]
    """
    d = _add(guess, -1.0, w)
    for _ in range(NEWTON_STEPS):
        mean = _add(w, 0.5, d)
        L = _symmetric(diagonal, off, mean)
        miss = _add(_symmetric(diagonal, off, d), h, _cross(mean, L))
        miss = _add(push, -1.0, miss)
        # Columns of I + h/2 (wm x I - (I wm) x)
        ex, ey, ez = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
        change = _solve(
            (
                _column(diagonal, off, mean, L, 0.5 * h, ex),
                _column(diagonal, off, mean, L, 0.5 * h, ey),
                _column(diagonal, off, mean, L, 0.5 * h, ez),
            ),
            miss,
        )
        d = _add(d, 1.0, change)
        size = abs(change[0]) + abs(change[1]) + abs(change[2])
        if not size > ROUNDING * (abs(mean[0]) + abs(mean[1]) + abs(mean[2])):
            break
    return _add(w, 1.0, d)


@inlined
def _column(diagonal: Three, off: Three, mean: Three, L: Three, half: float, e: Three) -> Three:
    Ie = _symmetric(diagonal, off, e)
    return _add(_add(Ie, half, _cross(mean, Ie)), -half, _cross(L, e))


@inlined
def spin_freely(
    m: ModelView, s: StateView, w: WorkspaceView, mean: Floats, h: float
) -> None:
    """Euler's equations of all bodies that float alone, exactly: their part of `w.v_free`.

    mean: the velocities for which the gyroscopic terms in `w.v_free` were worked out, shape (nv,)
    Needs the poses and composite inertias at the middle.
    """
    for i in range(1, m.header[0].nb):
        body = m.bodies[i]
        if body.floats != ALONE:
            continue
        pose, work, at = w.pose[i], w.body[i], body.v_at
        c = center(pose, work)
        diagonal, off = _inertia(pose, work)
        w0, w1, wm = _entries(s.v, at + 3), _entries(w.v_free, at + 3), _entries(mean, at + 3)
        push = _symmetric(diagonal, off, _add(w1, -1.0, w0))
        push = _add(push, h, _cross(wm, _symmetric(diagonal, off, wm)))
        found = spin(diagonal, off, w0, w1, push, h)
        # The centre of mass's change of velocity stays what it is
        old = _swing(c, w0, w1, wm, h)
        new = _swing(c, w0, found, _add(w0, 0.5, _add(found, -1.0, w0)), h)
        back = _turn(s.q, body.q_at + 3, _add(old, -1.0, new))
        _put(w.v_free, at, _add(_entries(w.v_free, at), 1.0, back))
        _put(w.v_free, at + 3, found)


@inlined
def _swing(c: Three, w0: Three, w1: Three, wm: Three, h: float) -> Three:
    """By how much the velocity of a point c changes beyond that of the origin, body axes."""
    return _add(_cross(_add(w1, -1.0, w0), c), h, _cross(wm, _cross(wm, c)))


@kernel
def fly(
    m: ModelView, s: StateView, w: WorkspaceView, i: int, start: Floats, h: float, q: Floats
) -> None:
    """State at the end of the step of body i, which floats alone and was touched by nothing.

    start: positions at the start of the step, shape (nq,); those at its middle are `s.q`, and `s.v`
    are the velocities at the start.  Writes the body's part of `q`, shape (nq,), and of `w.v_new`.
    """
    body = m.bodies[i]
    at, v_at = body.q_at, body.v_at
    c = center(w.pose[i], w.body[i])
    v0, v1 = _entries(s.v, v_at), _entries(w.v_new, v_at)
    w0, w1 = _entries(s.v, v_at + 3), _entries(w.v_new, v_at + 3)
    wm = _add(w0, 0.5, _add(w1, -1.0, w0))
    pushed = _add(_add(v1, -1.0, v0), 1.0, _turn(s.q, at + 3, _swing(c, w0, w1, wm, h)))
    # The unit quaternion of Cayley's rotation is (1, h wm / 2), normalised
    x, y, z = 0.5 * h * wm[0], 0.5 * h * wm[1], 0.5 * h * wm[2]
    a, b, d, e = start[at + 3], start[at + 4], start[at + 5], start[at + 6]
    r, i1 = a - b * x - d * y - e * z, a * x + b + d * z - e * y
    j1, k1 = a * y - b * z + d + e * x, a * z + b * y - d * x + e
    scale = 1.0 / math.sqrt(r * r + i1 * i1 + j1 * j1 + k1 * k1)
    q[at + 3], q[at + 4], q[at + 5], q[at + 6] = r * scale, i1 * scale, j1 * scale, k1 * scale
    # The centre of mass, by its velocities at both ends
    arm = _turn(start, at + 3, c)
    c0 = _add(v0, 1.0, _turn(start, at + 3, _cross(w0, c)))
    c1 = _add(c0, 1.0, pushed)
    place = _add(_add(_entries(start, at), 1.0, arm), 0.5 * h, _add(c0, 1.0, c1))
    _put(q, at, _add(place, -1.0, _turn(q, at + 3, c)))
    _put(w.v_new, v_at, _add(c1, -1.0, _turn(q, at + 3, _cross(w1, c))))
