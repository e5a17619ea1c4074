"""Euler's equations of a rigid body, and free bodies in the midpoint rule.

Energy and momentum are kept to rounding.

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
from dynenvs.memory.layout import Floats, WorldView

NEWTON_STEPS = 20  # on Euler's equations, which mostly take three
ROUNDING = 1e-15  # relative change of the velocity, below which it is found
MISSED = 1e-12  # what Euler's equations may be off by, of their terms


@inlined
def center(pose: Any, work: Any, root: Any) -> Three:
    """Centre of mass of a body and of all that it carries, in its axes, from its origin [m].

    root: the pose of the tree's first body, which composite inertias are about
    """
    h, at, origin = work.hc, pose.p, root.p
    return into_body(
        pose.R,
        (
            h[0] / work.mc + origin[0] - at[0],
            h[1] / work.mc + origin[1] - at[1],
            h[2] / work.mc + origin[2] - at[2],
        ),
    )


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
def spin(
    diagonal: Three, off: Three, rotor: Three, w: Three, guess: Three, push: Three, dt: float
) -> tuple[Three, bool]:
    """The angular velocity w+ of (I + A) (w+ - w) + dt wm x I wm = push, by Newton's method.

    diagonal, off: of the inertia I, (yz, xz, xy); rotor: diagonal of A, inertia that takes no part
    in the gyroscopic term; push: impulse of the moments [N m s]
    Returns whether the equations hold, too: to rounding, or w+ is no answer.
    """
    d = plus(guess, -1.0, w)
    miss = _missed(diagonal, off, rotor, w, d, push, dt)
    for _ in range(NEWTON_STEPS):
        mean = plus(w, 0.5, d)
        L = symmetric(diagonal, off, mean)
        # Columns of I + A + dt/2 (wm x I - (I wm) x)
        x = _column(diagonal, off, mean, L, 0.5 * dt, (1.0, 0.0, 0.0))
        y = _column(diagonal, off, mean, L, 0.5 * dt, (0.0, 1.0, 0.0))
        z = _column(diagonal, off, mean, L, 0.5 * dt, (0.0, 0.0, 1.0))
        change = solved(
            (x[0] + rotor[0], x[1], x[2]),
            (y[0], y[1] + rotor[1], y[2]),
            (z[0], z[1], z[2] + rotor[2]),
            miss,
        )
        d = plus(d, 1.0, change)
        miss = _missed(diagonal, off, rotor, w, d, push, dt)
        if not size(change) > ROUNDING * size(mean):
            break
    # What is still missing against the size of the terms: rounding grows with these
    mean = plus(w, 0.5, d)
    L = symmetric(diagonal, off, mean)
    terms = size(push) + size(_moved(diagonal, off, rotor, d))
    terms += size(L) + abs(dt) * size(mean) * size(L)
    return plus(w, 1.0, d), bool(size(miss) <= MISSED * terms)


@inlined
def _moved(diagonal: Three, off: Three, rotor: Three, change: Three) -> Three:
    """(I + A) change"""
    x, y, z = symmetric(diagonal, off, change)
    return (x + rotor[0] * change[0], y + rotor[1] * change[1], z + rotor[2] * change[2])


@inlined
def _missed(
    diagonal: Three, off: Three, rotor: Three, w: Three, change: Three, push: Three, dt: float
) -> Three:
    """What Euler's equations miss for w+ = w + change: push - (I + A) change - dt wm x I wm."""
    mean = plus(w, 0.5, change)
    turned = plus(
        _moved(diagonal, off, rotor, change), dt, cross(mean, symmetric(diagonal, off, mean))
    )
    return plus(push, -1.0, turned)


@inlined
def _column(
    diagonal: Three, off: Three, mean: Three, momentum: Three, half: float, axis: Three
) -> Three:
    Ie = symmetric(diagonal, off, axis)
    return plus(plus(Ie, half, cross(mean, Ie)), -half, cross(momentum, axis))


@inlined
def swing(point: Three, w0: Three, w1: Three, wm: Three, dt: float) -> Three:
    """By how much the velocity of a `point` changes beyond that of the origin, body axes."""
    return plus(cross(plus(w1, -1.0, w0), point), dt, cross(wm, cross(wm, point)))


@kernel
def fly(w: WorldView, index: int, start: Floats, dt: float, q: Floats) -> None:
    """State at the end of the step of body `index`, which floats alone and was touched by nothing.

    start: positions at the start of the step, shape (nq,); those at its middle are `w.q`, and `w.v`
    are the velocities at the start.  Writes the body's part of `q`, shape (nq,), and of `w.v_new`.
    """
    body = w.bodies[index]
    at, v_at = body.q_at, body.v_at
    # Change of the centre's velocity, not of the origin's, which the turn moves besides
    c = center(w.pose[index], w.body[index], w.pose[index])
    v0, v1 = entries(w.v, v_at), entries(w.v_new, v_at)
    w0, w1 = entries(w.v, v_at + 3), entries(w.v_new, v_at + 3)
    wm = plus(w0, 0.5, plus(w1, -1.0, w0))
    pushed = plus(
        plus(v1, -1.0, v0), 1.0, turned_by_quaternion(w.q, at + 3, swing(c, w0, w1, wm, dt))
    )
    # The unit quaternion of Cayley's rotation is (1, dt wm / 2), normalised
    x, y, z = 0.5 * dt * wm[0], 0.5 * dt * wm[1], 0.5 * dt * wm[2]
    a, b, d, e = start[at + 3], start[at + 4], start[at + 5], start[at + 6]
    r, i1 = a - b * x - d * y - e * z, a * x + b + d * z - e * y
    j1, k1 = a * y - b * z + d + e * x, a * z + b * y - d * x + e
    scale = 1.0 / math.sqrt(r * r + i1 * i1 + j1 * j1 + k1 * k1)
    q[at + 3], q[at + 4], q[at + 5], q[at + 6] = r * scale, i1 * scale, j1 * scale, k1 * scale
    # The centre of mass, by its velocities at both ends
    arm = turned_by_quaternion(start, at + 3, c)
    c0 = plus(v0, 1.0, turned_by_quaternion(start, at + 3, cross(w0, c)))
    c1 = plus(c0, 1.0, pushed)
    place = plus(plus(entries(start, at), 1.0, arm), 0.5 * dt, plus(c0, 1.0, c1))
    put_entries(q, at, plus(place, -1.0, turned_by_quaternion(q, at + 3, c)))
    put_entries(w.v_new, v_at, plus(c1, -1.0, turned_by_quaternion(q, at + 3, cross(w1, c))))
