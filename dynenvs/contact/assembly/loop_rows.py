"""Rows of closed loops: by how much they are open, and the Jacobian of that.

Of a loop's frames A and B: distances of A's origin from B's along B's axes, and cosines between
axes that are to be orthogonal, z_A and x_B, z_A and y_B, x_A and y_B; a joint holds some of them.
Coupled joints have one row of their own: the position of A's joint less the polynomial of B's.
"""

from __future__ import annotations

from typing import Any

from dynenvs.jit.compiled import inlined, kernel
from dynenvs.memory.layout import Floats, LoopView, ModelView, Records
from dynenvs.memory.records import COUPLED, FIXED, PRISMATIC, SPHERICAL
from dynenvs.simd.elementary import acos


@inlined
def _holds(joint: int, component: int) -> bool:
    """Whether a loop's joint holds `component`: 0 to 2 distances, 3 to 5 angles."""
    if joint == COUPLED:
        return False
    if joint == SPHERICAL:
        return component < 3
    if joint == PRISMATIC:
        return component != 2
    return component < 5 or joint == FIXED


@inlined
def _column(rotation: Floats, own: Floats, column: int) -> tuple[float, float, float]:
    """Column `column` of R own: an axis of a frame in a body, world axes."""
    x, y, z = own[0, column], own[1, column], own[2, column]
    return (
        rotation[0, 0] * x + rotation[0, 1] * y + rotation[0, 2] * z,
        rotation[1, 0] * x + rotation[1, 1] * y + rotation[1, 2] * z,
        rotation[2, 0] * x + rotation[2, 1] * y + rotation[2, 2] * z,
    )


@inlined
def _place(pose: Any, at: Floats) -> tuple[float, float, float]:
    """A body's point in the world."""
    R, p, x, y, z = pose.R, pose.p, at[0], at[1], at[2]
    return (
        p[0] + R[0, 0] * x + R[0, 1] * y + R[0, 2] * z,
        p[1] + R[1, 0] * x + R[1, 1] * y + R[1, 2] * z,
        p[2] + R[2, 0] * x + R[2, 1] * y + R[2, 2] * z,
    )


@inlined
def _axes(
    loop: Any, first: Any, second: Any, component: int
) -> tuple[tuple[float, float, float], ...]:
    """The axes of A and of B whose product is the component, if it is 3 or more.

    Below that: B's axis alone, twice.
    """
    if component < 3:
        u = _column(second.R, loop.rotation_b, component)
        return u, u
    if component < 5:
        return _column(first.R, loop.rotation_a, 2), _column(
            second.R, loop.rotation_b, component - 3
        )
    return _column(first.R, loop.rotation_a, 0), _column(second.R, loop.rotation_b, 1)


@inlined
def _polynomial(loop: Any, q: Floats) -> tuple[float, float]:
    """Value and slope of what a coupled joint's position is to be."""
    if loop.coordinate_b < 0:
        return loop.coefficients[0], 0.0
    x, value, slope = q[loop.q_b], 0.0, 0.0
    for k in range(4, -1, -1):  # Horner
        slope = slope * x + value
        value = value * x + loop.coefficients[k]
    return value, slope


@kernel
def loop_errors(loops: Records, q: Floats, poses: Records, errors: Floats) -> float:
    """By how much each row is open at q [m, rad]; returns the largest.

    Distances from B's to A's frame along B's axes, and cosines between axes that are to be
    orthogonal: z_A x_B, z_A y_B, x_A y_B.  These vanish, too, where frames that are to be one are
    turned over; then the angle between them counts.
    """
    worst = 0.0
    for i in range(loops.shape[0]):
        loop = loops[i]
        # Coupled joints: a position less what the other's asks for
        if loop.joint == COUPLED:
            value, _ = _polynomial(loop, q)
            errors[loop.row] = q[loop.q_a] - value
            worst = max(worst, abs(errors[loop.row]))
        # Frames: distances along B's axes, then cosines between axes
        a, b = poses[loop.body_a], poses[loop.body_b]
        pa, pb = _place(a, loop.position_a), _place(b, loop.position_b)
        r = loop.row
        for k in range(6):
            if _holds(loop.joint, k):
                u, t = _axes(loop, a, b, k)
                if k < 3:
                    u = (pa[0] - pb[0], pa[1] - pb[1], pa[2] - pb[2])
                errors[r] = u[0] * t[0] + u[1] * t[1] + u[2] * t[2]
                worst = max(worst, abs(errors[r]))
                r += 1
        # Orthogonal axes alone do not tell a frame from one that is turned by half a turn
        if loop.joint == FIXED or loop.joint == PRISMATIC:
            worst = max(worst, _turned_over(loop, a, b))
    return worst


@inlined
def _turned_over(loop: Any, first: Any, second: Any) -> float:
    """The angle between two frames if it is more than a right one, else 0 [rad]."""
    trace = 0.0
    for k in range(3):
        u, t = _column(first.R, loop.rotation_a, k), _column(second.R, loop.rotation_b, k)
        trace += u[0] * t[0] + u[1] * t[1] + u[2] * t[2]
    cosine = 0.5 * (trace - 1.0)
    return acos(max(cosine, -1.0)) if cosine < 0.0 else 0.0


@kernel
def fill_rows(w: ModelView, q: Floats, poses: Records, axes: Floats, closure: LoopView) -> None:
    """J of every row: the derivative of `loop_errors` at q."""
    # Each coordinate has a span of rows; the others are zero for good
    for j in range(w.header[0].nv):
        for r in range(closure.spans[j, 0], closure.spans[j, 1]):
            closure.J[j, r] = 0.0
    for i in range(closure.loops.shape[0]):
        loop = closure.loops[i]
        # Of a coupling: 1, and the polynomial's slope with the other sign
        if loop.joint == COUPLED:
            _, slope = _polynomial(loop, q)
            closure.J[loop.coordinate_a, loop.row] = 1.0
            if loop.coordinate_b >= 0:
                closure.J[loop.coordinate_b, loop.row] = -slope
        a, b = poses[loop.body_a], poses[loop.body_b]
        at = _place(a, loop.position_a)
        # Both bodies push at the same place, in opposite directions
        for side in range(2):
            body = loop.body_a if side == 0 else loop.body_b
            sign = 1.0 if side == 0 else -1.0
            o = poses[w.bodies[body].root].p
            arm = (at[0] - o[0], at[1] - o[1], at[2] - o[2])
            r = loop.row
            for k in range(6):
                if _holds(loop.joint, k):
                    u, t = _axes(loop, a, b, k)
                    _add_row(
                        w.bodies[body].last, w.dofs, axes, sign, k < 3, arm, u, t, closure.J[:, r]
                    )
                    r += 1


@inlined
def _add_row(
    coordinate: int,
    dofs: Records,
    axes: Floats,
    sign: float,
    distance: bool,
    arm: tuple[float, float, float],
    u: tuple[float, float, float],
    t: tuple[float, float, float],
    row: Floats,
) -> None:
    """Add a body's part to a row: t . v at the point `arm`, or (u x t) . omega of an angle."""
    if distance:  # t . (v + omega x r) = t . v + (r x t) . omega
        u = arm
    # u x t: what the joint's angular velocity is multiplied by
    g = (
        u[1] * t[2] - u[2] * t[1],
        u[2] * t[0] - u[0] * t[2],
        u[0] * t[1] - u[1] * t[0],
    )
    # All coordinates on the way to the root move it
    while coordinate >= 0:
        entry = g[0] * axes[coordinate, 0] + g[1] * axes[coordinate, 1] + g[2] * axes[coordinate, 2]
        if distance:
            entry += (
                t[0] * axes[coordinate, 3] + t[1] * axes[coordinate, 4] + t[2] * axes[coordinate, 5]
            )
        row[coordinate] += sign * entry
        coordinate = dofs[coordinate].parent
