"""How far a ball may turn in all: the limit of its angle, linearised where a step ends.

The angle after a time dt at the velocity v is that of q exp(dt v / 2).  Its gradient with respect
to dt v is Jr(dt v)^T a, with the axis a about which the ball is turned then, body axes, and the
right Jacobian of the exponential map (Chirikjian 2011, Stochastic Models, Information Theory, and
Lie Groups, vol. 2, section 10.6),

    Jr(x)^T = 1 + (1 - cos |x|) / |x|^2 [x] + (|x| - sin |x|) / |x|^3 [x]^2.

A ball that spins about two axes ends elsewhere than without the limit.  So the row is made anew
where the answer has led beyond it, and the problem solved again: Newton's method.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.jit.compiled import inlined, kernel
from dynenvs.kinematics.rotation import turned, turned_on
from dynenvs.kinematics.triples import Three, cross, dot, plus, scaled
from dynenvs.memory.layout import Floats, ModelView, StateView, WorkspaceView
from dynenvs.memory.records import SWING

LEAST_TURN = 1e-9  # of a ball, from which there is an axis [rad]
BEYOND = 1e-9  # its limit, where an answer is looked for again [rad]


@inlined
def swing(dof: Any, q: Floats, v: Floats, j: int, dt: float) -> tuple[float, Three]:
    """How much further a ball may turn [rad], and minus the gradient of its angle.

    dof: its first coordinate, j.  v, dt: velocities, shape (nv,), and a time [s].  Linearised about
    the end of that time, the angle is what it may be where gap + dt n v = 0: that of the limit, or,
    of a ball that is beyond it, the angle at the beginning.  n is zero where it is not turned.
    """
    x = (v[j], v[j + 1], v[j + 2])
    t = turned_on(q, dof.q_at, dt * x[0], dt * x[1], dt * x[2])
    angle = math.sqrt(dot(t, t))
    n = scaled(-1.0 / angle if angle > LEAST_TURN else 0.0, t)
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
        b, c = (1.0 - math.cos(a)) / square, (a - math.sin(a)) / (a * square)
    once = cross(x, n)
    return plus(plus(n, b, once), c, cross(x, once))


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
def has_axis(n: Three) -> bool:
    """Whether the direction that `swing` gives is none of zero."""
    return bool(n[0] != 0.0 or n[1] != 0.0 or n[2] != 0.0)


@kernel
def end_at_limits(m: ModelView, s: StateView, w: WorkspaceView) -> bool:
    """Turn balls back to the limit that they kept before and have passed in `w.q_new`.

    What is left for it is what corrections of contacts turn a ball by, which see its limit from
    afar.  Returns whether there was such a ball.
    """
    found, q = False, w.q_new
    for j in range(m.header[0].nv):
        dof = m.dofs[j]
        if dof.limited != SWING or angle_left(dof, s.q) < -BEYOND or angle_left(dof, q) >= 0.0:
            continue
        found, at = True, dof.q_at
        sine = math.sqrt(q[at + 1] ** 2 + q[at + 2] ** 2 + q[at + 3] ** 2)
        scale = math.sin(0.5 * dof.upper) / sine
        for k in range(at + 1, at + 4):
            q[k] *= scale
        q[at] = math.copysign(math.cos(0.5 * dof.upper), q[at])
    return found
