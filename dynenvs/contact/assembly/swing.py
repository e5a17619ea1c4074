"""How far a ball may turn in all: the limit of its angle, linearised where a step ends.

The angle after a time dt at the velocity v is that of q exp(dt v / 2).  Its gradient with respect
to dt v is Jr(dt v)^T a, with the axis a about which the ball is turned then, body axes, and the
right Jacobian of the exponential map (Chirikjian 2011, Stochastic Models, Information Theory, and
Lie Groups, vol. 2, section 10.6),

    Jr(x)^T = 1 + (1 - cos |x|) / |x|^2 [x] + (|x| - sin |x|) / |x|^3 [x]^2.

A ball that spins about two axes ends elsewhere than without the limit, and a light twist makes way
for a heavy swing.  So the row is linearised where the ball would end if its limit alone held it:
with m its inverse mass, the nearest velocity in the kinetic metric within the limit,

    m^-1 (v - v_free) = lambda n(v),    angle(q exp(dt v / 2)) = limit,

by Newton's method, the curvature of the limit included (angles are convex: there is one answer).
Where contacts or other balls have led the answer elsewhere, the row is made anew, from the velocity
without the limit's own impulse.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.dynamics.factor import solve
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.kinematics.rotation import turned, turned_on
from dynenvs.kinematics.triples import (
    Three,
    cross,
    dot,
    entries,
    plus,
    put_entries,
    scaled,
    size,
    solved,
)
from dynenvs.memory.layout import Floats, WorkView, WorldView
from dynenvs.simd.elementary import cos, sin, tan

LEAST_TURN = 1e-9  # of a ball, from which there is an axis [rad]
BEYOND = 1e-9  # its limit, where an answer is looked for again [rad]
Matrix = tuple[Three, Three, Three]  # by columns
NEWTON_STEPS = 30  # towards the velocity within a limit, mostly five to ten
FOUND = 1e-13  # last of them, by which the ball turns [rad]


@inlined
def swing(dof: Any, q: Floats, v: Floats, coordinate: int, dt: float) -> tuple[float, Three]:
    """How much further a ball may turn [rad], and minus the gradient of its angle.

    dof: of its first coordinate, `coordinate`.  v, dt: velocities, shape (nv,), and a time [s].
    Linearised about the end of that time, the angle is what it may be where gap + dt n v = 0: that
    of the limit, or, of a ball that is beyond it, the angle at the beginning.  n is zero where it
    is not turned.
    """
    # Where the turn ends that free motion leads to, by its rotation vector
    x = (v[coordinate], v[coordinate + 1], v[coordinate + 2])
    t = turned_on(q, dof.q_at, dt * x[0], dt * x[1], dt * x[2])
    angle = math.sqrt(dot(t, t))
    # Minus the axis, so that gap + dt n v falls as the angle grows
    n = scaled(-1.0 / angle if angle > LEAST_TURN else 0.0, t)
    # Beyond its limit a ball must not go further, but need not come back at once
    allowed = dof.upper - min(angle_left(dof, q), 0.0)
    return allowed - angle - dt * dot(n, x), _pulled_back(scaled(dt, x), n)


@inlined
def _pulled_back(x: Three, n: Three) -> Three:
    """Jr(x)^T n"""
    square = dot(x, x)
    # (1 - cos(a)) / a^2 and (a - sin(a)) / a^3, by their series where the quotients lose digits
    b, c = 0.5 - square / 24.0, (1.0 - square / 20.0) / 6.0
    if square > 1e-4:
        a = math.sqrt(square)
        b, c = (1.0 - cos(a)) / square, (a - sin(a)) / (a * square)
    # Two cross products in place of the matrix
    once = cross(x, n)
    return plus(plus(n, b, once), c, cross(x, once))


@kernel
def expect_at_limit(w: WorldView, coordinate: int, dt: float) -> None:
    """Expect that the ball of `coordinate` ends where its limit alone would hold it.

    From `w.expected`, its velocity without the limit's impulse; needs the factors `w.L`.
    """
    # m^-1 by columns, and its inverse: the mass that the ball has for an impulse of its own
    x = _inverse_mass_column(w, coordinate, 0)
    y = _inverse_mass_column(w, coordinate, 1)
    z = _inverse_mass_column(w, coordinate, 2)
    mass = (
        solved(x, y, z, (1.0, 0.0, 0.0)),
        solved(x, y, z, (0.0, 1.0, 0.0)),
        solved(x, y, z, (0.0, 0.0, 1.0)),
    )
    free, push = entries(w.expected, coordinate), 0.0
    for _ in range(NEWTON_STEPS):
        v = entries(w.expected, coordinate)
        # The limit linearised where the ball ends now
        gap, n = swing(w.dofs[coordinate], w.q, w.expected, coordinate, dt)
        if not has_axis(n):
            break
        # The kinetic metric, stiffened by the limit's curvature as far as it pushes
        x, y, z = _stiffened(w.dofs[coordinate], w.q, mass, n, scaled(dt, v), push * dt)
        # The least change that is stationary and meets the limit
        missed = plus(v, -1.0, free)
        missed = solved(x, y, z, _times(mass, missed))
        way = solved(x, y, z, n)
        push = max(0.0, (dot(n, missed) - dot(n, v) - gap / dt) / dot(n, way))
        change = plus(scaled(push, way), -1.0, missed)
        put_entries(w.expected, coordinate, plus(v, 1.0, change))
        if not dt * size(change) > FOUND:
            break


@inlined
def _inverse_mass_column(w: WorkView, coordinate: int, column: int) -> Three:
    """How an impulse on `coordinate` + column moves the three of the ball of `coordinate`."""
    for i in range(w.header[0].nv):
        w.v_next[i] = 0.0
    w.v_next[coordinate + column] = 1.0
    solve(w, w.L, w.v_next)
    return entries(w.v_next, coordinate)


@kernel
def take_back(w: WorldView, coordinate: int) -> None:
    """Take from `w.expected` what the impulse of a ball's limit in the last answer gave it."""
    stops = w.stops
    for i in range(w.header[0].nv):
        w.v_next[i] = 0.0
    for k in range(coordinate, coordinate + 3):
        w.v_next[k] = stops[k]
    solve(w, w.L, w.v_next)
    for k in range(coordinate, coordinate + 3):
        w.expected[k] -= w.v_next[k]


@inlined
def _times(A: Matrix, x: Three) -> Three:
    """A x, A by its columns."""
    return plus(plus(scaled(x[0], A[0]), x[1], A[1]), x[2], A[2])


@inlined
def _stiffened(
    dof: Any, q: Floats, mass: Matrix, axis: Three, turn: Three, weight: float
) -> Matrix:
    """mass + weight H, by columns, with the Hessian H of the angle at the end of the `turn`.

    As seen from there it is cot(angle / 2) / 2 across the axis, and none along it.
    """
    t = turned_on(q, dof.q_at, turn[0], turn[1], turn[2])
    # cot(angle / 2) / 2: how sharply the limit's surface is bent; a ball beyond half a turn has
    # none
    bend = weight * max(0.0, 0.5 / tan(0.5 * math.sqrt(dot(t, t))))
    a = _pulled_back(turn, (1.0, 0.0, 0.0))
    b = _pulled_back(turn, (0.0, 1.0, 0.0))
    c = _pulled_back(turn, (0.0, 0.0, 1.0))
    return (
        plus(mass[0], bend, _bent(a, b, c, axis, 0)),
        plus(mass[1], bend, _bent(a, b, c, axis, 1)),
        plus(mass[2], bend, _bent(a, b, c, axis, 2)),
    )


@inlined
def _bent(a: Three, b: Three, c: Three, n: Three, column: int) -> Three:
    """Column `column` of a a^T + b b^T + c c^T - n n^T."""
    return plus(plus(plus(scaled(a[column], a), b[column], b), c[column], c), -n[column], n)


@inlined
def angle_left(dof: Any, q: Floats) -> float:
    """How much further a ball may turn than it is turned [rad]; `dof` as of `swing`."""
    x, y, z = turned(q, dof.q_at, 0.0, 0.0, 0.0)
    return float(dof.upper - math.sqrt(x * x + y * y + z * z))


@inlined
def is_beyond(dof: Any, q: Floats, end: Floats) -> bool:
    """Whether a ball ends beyond its limit, and further than it was; q, end: positions, (nq,)."""
    return bool(angle_left(dof, end) < min(angle_left(dof, q), 0.0) - BEYOND)


@inlined
def has_axis(axis: Three) -> bool:
    """Whether the direction that `swing` gives is none of zero."""
    return bool(axis[0] != 0.0 or axis[1] != 0.0 or axis[2] != 0.0)
