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

from dynenvs.jit.compiled import inlined, kernel
from dynenvs.kinematics.triples import (
    Three,
    cross,
    entries,
    into_body,
    plus,
    put_entries,
    size,
    solved,
    symmetric,
    turned_by_quaternion,
    within,
)
from dynenvs.memory.layout import Floats, ModelView, StateView, WorkspaceView
from dynenvs.memory.records import ALONE

NEWTON_STEPS = 20  # on Euler's equations, which mostly take three
ROUNDING = 1e-16  # relative change of the velocity, below which it is found


@inlined
def center(pose: Any, work: Any) -> Three:
    """Centre of mass of a body and of all that it carries, in its axes, from its origin [m]."""
    h = work.hc
    x, y, z = into_body(pose.R, (h[0], h[1], h[2]))
    return (x / work.mc, y / work.mc, z / work.mc)


@inlined
def inertia(pose: Any, work: Any) -> tuple[Three, Three]:
    """Inertia about the centre of mass of a body and of all that it carries, in its axes."""
    C, h = work.Ic, work.hc
    x, y, z = h[0] / work.mc, h[1] / work.mc, h[2] / work.mc
    diagonal = (
        C[0, 0] - h[1] * y - h[2] * z,
        C[1, 1] - h[0] * x - h[2] * z,
        C[2, 2] - h[0] * x - h[1] * y,
    )
    return within(pose.R, diagonal, (C[1, 2] + h[1] * z, C[0, 2] + h[0] * z, C[0, 1] + h[0] * y))


@kernel
def spin(diagonal: Three, off: Three, w: Three, guess: Three, push: Three, h: float) -> Three:
    """The angular velocity w+ of I (w+ - w) + h wm x I wm = push, by Newton's method from a guess.

    diagonal, off: of the inertia I, (yz, xz, xy); push: impulse of the moments [N m s]
    """
    d = plus(guess, -1.0, w)
    for _ in range(NEWTON_STEPS):
        mean = plus(w, 0.5, d)
        L = symmetric(diagonal, off, mean)
        miss = plus(symmetric(diagonal, off, d), h, cross(mean, L))
        miss = plus(push, -1.0, miss)
        # Columns of I + h/2 (wm x I - (I wm) x)
        change = solved(
            _column(diagonal, off, mean, L, 0.5 * h, (1.0, 0.0, 0.0)),
            _column(diagonal, off, mean, L, 0.5 * h, (0.0, 1.0, 0.0)),
            _column(diagonal, off, mean, L, 0.5 * h, (0.0, 0.0, 1.0)),
            miss,
        )
        d = plus(d, 1.0, change)
        if not size(change) > ROUNDING * size(mean):
            break
    return plus(w, 1.0, d)


@inlined
def _column(diagonal: Three, off: Three, mean: Three, L: Three, half: float, e: Three) -> Three:
    Ie = symmetric(diagonal, off, e)
    return plus(plus(Ie, half, cross(mean, Ie)), -half, cross(L, e))


@inlined
def spin_freely(m: ModelView, s: StateView, w: WorkspaceView, mean: Floats, h: float) -> None:
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
        diagonal, off = inertia(pose, work)
        w0, w1, wm = entries(s.v, at + 3), entries(w.v_free, at + 3), entries(mean, at + 3)
        push = symmetric(diagonal, off, plus(w1, -1.0, w0))
        push = plus(push, h, cross(wm, symmetric(diagonal, off, wm)))
        found = spin(diagonal, off, w0, w1, push, h)
        # The centre of mass's change of velocity stays what it is
        old = _swing(c, w0, w1, wm, h)
        new = _swing(c, w0, found, plus(w0, 0.5, plus(found, -1.0, w0)), h)
        back = turned_by_quaternion(s.q, body.q_at + 3, plus(old, -1.0, new))
        put_entries(w.v_free, at, plus(entries(w.v_free, at), 1.0, back))
        put_entries(w.v_free, at + 3, found)


@inlined
def _swing(c: Three, w0: Three, w1: Three, wm: Three, h: float) -> Three:
    """By how much the velocity of a point c changes beyond that of the origin, body axes."""
    return plus(cross(plus(w1, -1.0, w0), c), h, cross(wm, cross(wm, c)))


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
    v0, v1 = entries(s.v, v_at), entries(w.v_new, v_at)
    w0, w1 = entries(s.v, v_at + 3), entries(w.v_new, v_at + 3)
    wm = plus(w0, 0.5, plus(w1, -1.0, w0))
    pushed = plus(
        plus(v1, -1.0, v0), 1.0, turned_by_quaternion(s.q, at + 3, _swing(c, w0, w1, wm, h))
    )
    # The unit quaternion of Cayley's rotation is (1, h wm / 2), normalised
    x, y, z = 0.5 * h * wm[0], 0.5 * h * wm[1], 0.5 * h * wm[2]
    a, b, d, e = start[at + 3], start[at + 4], start[at + 5], start[at + 6]
    r, i1 = a - b * x - d * y - e * z, a * x + b + d * z - e * y
    j1, k1 = a * y - b * z + d + e * x, a * z + b * y - d * x + e
    scale = 1.0 / math.sqrt(r * r + i1 * i1 + j1 * j1 + k1 * k1)
    q[at + 3], q[at + 4], q[at + 5], q[at + 6] = r * scale, i1 * scale, j1 * scale, k1 * scale
    # The centre of mass, by its velocities at both ends
    arm = turned_by_quaternion(start, at + 3, c)
    c0 = plus(v0, 1.0, turned_by_quaternion(start, at + 3, cross(w0, c)))
    c1 = plus(c0, 1.0, pushed)
    place = plus(plus(entries(start, at), 1.0, arm), 0.5 * h, plus(c0, 1.0, c1))
    put_entries(q, at, plus(place, -1.0, turned_by_quaternion(q, at + 3, c)))
    put_entries(w.v_new, v_at, plus(c1, -1.0, turned_by_quaternion(q, at + 3, cross(w1, c))))
