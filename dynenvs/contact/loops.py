"""Closed loops: bilateral constraints J_b v = 0, eliminated before the contact problem.

physics.md, section 1, 001, equation 34.  The multipliers of the loops are free variables.  They are
taken out of the mixed problem by a Cholesky factor of K = J_b M^-1 J_b^T, which leaves the contacts
the LCP that they always have, with

    W = M^-1 - M^-1 J_b^T K^+ J_b M^-1

in the place of M^-1: whatever solves an LCP, and its certificate, stays as it is, and contact
impulses cannot open a loop.  With M = L^T D L, Y_b = L^-T J_b^T and Y = L^-T J^T of the contact
rows, this is Y <- Y - Y_b K^+ Y_b^T D^-1 Y and nothing else.

Redundant rows (a planar pin has five of rank two) show as vanishing pivots and are left out:
K's range is what the remaining ones span.  Entries that no coordinate can make non-zero are left
out too (K's envelope), so that a chain of hinges costs no more than its length.

The loops are closed in positions after each step, by Newton's method in the kinetic metric.  What
they miss by the curvature of their surface also turns the velocity, as in the RATTLE method
(Andersen 1983): without it each step would lose the share (dt omega)^2 of a turning loop's energy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dynenvs.compiled import apart, inlined, kernel
from dynenvs.joints import integrate
from dynenvs.kinematics import update_poses
from dynenvs.layout import (
    FIXED,
    PRISMATIC,
    SPHERICAL,
    Bytes,
    Floats,
    LoopView,
    ModelView,
    Records,
    WorkspaceView,
    open_loops,
    open_model,
    open_state,
    open_workspace,
)
from dynenvs.model import Model

REDUNDANT = 1e-12  # a pivot of K below this share of its diagonal entry is one of a redundant row
CLOSED = 1e-14  # error that is left alone [m, rad]
ROUNDS = 8  # of Newton's method
REACH = 0.05  # largest error that one of them corrects at once [m, rad]


@inlined
def _holds(joint: int, k: int) -> bool:
    """Whether a loop's joint holds component k: 0 to 2 distances, 3 to 5 angles."""
    if joint == SPHERICAL:
        return k < 3
    if joint == PRISMATIC:
        return k != 2
    return k < 5 or joint == FIXED


@inlined
def _column(R: Floats, own: Floats, k: int) -> tuple[float, float, float]:
    """Column k of R own: an axis of a frame in a body, world axes."""
    x, y, z = own[0, k], own[1, k], own[2, k]
    return (
        R[0, 0] * x + R[0, 1] * y + R[0, 2] * z,
        R[1, 0] * x + R[1, 1] * y + R[1, 2] * z,
        R[2, 0] * x + R[2, 1] * y + R[2, 2] * z,
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
def _axes(loop: Any, a: Any, b: Any, k: int) -> tuple[tuple[float, float, float], ...]:
    """The axes of A and of B whose product is component k >= 3; k < 3: B's axis alone, twice."""
    if k < 3:
        u = _column(b.R, loop.rotation_b, k)
        return u, u
    if k < 5:
        return _column(a.R, loop.rotation_a, 2), _column(b.R, loop.rotation_b, k - 3)
    return _column(a.R, loop.rotation_a, 0), _column(b.R, loop.rotation_b, 1)


@kernel
def loop_errors(loops: Records, poses: Records, errors: Floats) -> float:
    """By how much each row is open [m, rad]; returns the largest.

    Distances from B's to A's frame along B's axes, and cosines between axes that are to be
    orthogonal: z_A x_B, z_A y_B, x_A y_B.
    """
    worst = 0.0
    for i in range(loops.shape[0]):
        loop = loops[i]
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
    return worst


@kernel
def _fill_rows(m: ModelView, poses: Records, S: Floats, c: LoopView) -> None:
    """J of every row: the derivative of `loop_errors`."""
    for i in range(c.loops.shape[0]):
        loop = c.loops[i]
        a, b = poses[loop.body_a], poses[loop.body_b]
        at = _place(a, loop.position_a)
        r = loop.row
        for k in range(6):
            if not _holds(loop.joint, k):
                continue
            u, t = _axes(loop, a, b, k)
            for s in range(loop.support_at, loop.support_at + loop.support):
                c.J[r, c.support[s]] = 0.0
            cross = (
                u[1] * t[2] - u[2] * t[1],
                u[2] * t[0] - u[0] * t[2],
                u[0] * t[1] - u[1] * t[0],
            )
            for side in range(2):
                body = loop.body_a if side == 0 else loop.body_b
                sign = 1.0 if side == 0 else -1.0
                o = poses[m.bodies[body].root].p
                x, y, z = at[0] - o[0], at[1] - o[1], at[2] - o[2]
                j = m.bodies[body].last
                while j >= 0:
                    w0, w1, w2 = S[j, 0], S[j, 1], S[j, 2]
                    if k < 3:
                        entry = (
                            t[0] * (S[j, 3] + w1 * z - w2 * y)
                            + t[1] * (S[j, 4] + w2 * x - w0 * z)
                            + t[2] * (S[j, 5] + w0 * y - w1 * x)
                        )
                    else:
                        entry = cross[0] * w0 + cross[1] * w1 + cross[2] * w2
                    c.J[r, j] += sign * entry
                    j = m.dofs[j].parent
            r += 1


@kernel
def _couple_rows(m: ModelView, L: Floats, yields: Floats, c: LoopView) -> None:
    """Y = J L^-1 of every row, and K = Y D^-1 Y^T within its envelope."""
    for i in range(c.loops.shape[0]):
        loop = c.loops[i]
        begin, end = loop.support_at, loop.support_at + loop.support
        for r in range(loop.row, loop.row + loop.rows):
            y = c.Y[r]
            for s in range(begin, end):
                j = c.support[s]
                y[j] = c.J[r, j] * yields[j]
            for s in range(end - 1, begin - 1, -1):
                j = c.support[s]
                k = m.dofs[j].parent
                while k >= 0:
                    y[k] -= L[j, k] * y[j]
                    k = m.dofs[k].parent
            for q in range(loop.first, r + 1):
                total = 0.0
                for s in range(begin, end):
                    j = c.support[s]
                    total += y[j] * L[j, j] * c.Y[q, j]
                c.K[r, q] = total


@kernel
def _factor_rows(c: LoopView) -> None:
    """Cholesky's factor of K in its place, row by row; redundant rows are left out."""
    for i in range(c.loops.shape[0]):
        loop = c.loops[i]
        for r in range(loop.row, loop.row + loop.rows):
            own = c.K[r, r]
            pivot = own
            for q in range(loop.first, r):
                total = c.K[r, q]
                for k in range(loop.first, q):
                    total -= c.K[r, k] * c.K[q, k]
                total *= c.inverse[q]
                c.K[r, q] = total
                pivot -= total * total
            c.inverse[r] = 1.0 / np.sqrt(pivot) if pivot > REDUNDANT * own else 0.0


@kernel
def _substitute(c: LoopView, x: Floats) -> None:
    """x <- K^+ x."""
    n = c.loops.shape[0]
    for i in range(n):
        loop = c.loops[i]
        for r in range(loop.row, loop.row + loop.rows):
            total = x[r]
            for q in range(loop.first, r):
                total -= c.K[r, q] * x[q]
            x[r] = total * c.inverse[r]
    for i in range(n - 1, -1, -1):
        loop = c.loops[i]
        for r in range(loop.row + loop.rows - 1, loop.row - 1, -1):
            x[r] *= c.inverse[r]
            for q in range(loop.first, r):
                x[q] -= c.K[r, q] * x[r]


@kernel
def _push(m: ModelView, L: Floats, c: LoopView, v: Floats) -> None:
    """v += M^-1 J^T x = L^-1 D^-1 Y^T x."""
    change = c.change
    for j in range(m.header[0].nv):
        change[j] = 0.0
    for i in range(c.loops.shape[0]):
        loop = c.loops[i]
        for r in range(loop.row, loop.row + loop.rows):
            if c.x[r] != 0.0:
                for s in range(loop.support_at, loop.support_at + loop.support):
                    j = c.support[s]
                    change[j] += c.Y[r, j] * c.x[r]
    for j in range(m.header[0].nv):
        total = change[j] * L[j, j]
        k = m.dofs[j].parent
        while k >= 0:
            total -= L[j, k] * change[k]
            k = m.dofs[k].parent
        change[j] = total
        v[j] += total


@apart("int64(uint8[::1], uint8[::1])")
def hold_loops(packed: Bytes, buffer: Bytes) -> int:
    """Take from `w.v_free` what would open a loop.  Needs poses, axes and factors `w.L`.

    Twice, for what rounding left of the first time.  Leaves the loops' rows and their factors.
    """
    m = open_model(packed)
    w, c = open_workspace(m, buffer), open_loops(m, packed, buffer)
    _fill_rows(m, w.pose, w.S, c)
    _couple_rows(m, w.L, w.yields, c)
    _factor_rows(c)
    for _ in range(2):
        for i in range(c.loops.shape[0]):
            loop = c.loops[i]
            for r in range(loop.row, loop.row + loop.rows):
                c.x[r] = 0.0
                for s in range(loop.support_at, loop.support_at + loop.support):
                    j = c.support[s]
                    c.x[r] -= c.J[r, j] * w.v_free[j]
        _substitute(c, c.x)
        _push(m, w.L, c, w.v_free)
    return 0


@apart("int64(uint8[::1], uint8[::1], int64)")
def respect_loops(packed: Bytes, buffer: Bytes, rows: int) -> int:
    """Contact rows whose impulses open no loop: `w.Y` and `w.G` anew, after `hold_loops`.

    All contact rows at once: the inner loops run along them.
    """
    m = open_model(packed)
    w, c = open_workspace(m, buffer), open_loops(m, packed, buffer)
    _gather(w, c, rows)
    n = c.loops.shape[0]
    T, K, Y = c.T, c.K, w.Y
    for i in range(n):
        loop = c.loops[i]
        for r in range(loop.row, loop.row + loop.rows):
            for q in range(loop.first, r):
                for k in range(rows):
                    T[r, k] -= K[r, q] * T[q, k]
            for k in range(rows):
                T[r, k] *= c.inverse[r]
    # Half of the solve suffices: G -= T^T T, and Y needs the other half.
    for i in range(n - 1, -1, -1):
        loop = c.loops[i]
        for r in range(loop.row + loop.rows - 1, loop.row - 1, -1):
            for k in range(rows):
                T[r, k] *= c.inverse[r]
            for q in range(loop.first, r):
                for k in range(rows):
                    T[q, k] -= K[r, q] * T[r, k]
            for s in range(loop.support_at, loop.support_at + loop.support):
                j = c.support[s]
                for k in range(rows):
                    Y[j, k] -= c.Y[r, j] * T[r, k]
    for r in range(rows):
        for k in range(rows):
            w.G[r, k] = 0.0
        for j in range(m.header[0].nv):
            factor = Y[j, r] * w.L[j, j]
            if factor != 0.0:
                for k in range(rows):
                    w.G[r, k] += factor * Y[j, k]
    return 0


@kernel
def _gather(w: WorkspaceView, c: LoopView, rows: int) -> None:
    """T = Y_b D^-1 Y: how the contact rows are coupled with the loops."""
    for i in range(c.loops.shape[0]):
        loop = c.loops[i]
        for r in range(loop.row, loop.row + loop.rows):
            for k in range(rows):
                c.T[r, k] = 0.0
            for s in range(loop.support_at, loop.support_at + loop.support):
                j = c.support[s]
                factor = c.Y[r, j] * w.L[j, j]
                if factor != 0.0:
                    for k in range(rows):
                        c.T[r, k] += factor * w.Y[j, k]


@apart("int64(uint8[::1], uint8[::1], float64)")
def close_loops(packed: Bytes, buffer: Bytes, dt: float) -> int:
    """Close the loops at `w.q_new` and `w.pose_new`, after `hold_loops` of the same step.

    dt: length of the step, where the curvature of the loops' surface is to be noted for the
    velocity (into `curve`); zero where only positions are corrected.  Returns the rounds.
    """
    m = open_model(packed)
    w, c = open_workspace(m, buffer), open_loops(m, packed, buffer)
    nv, ne = m.header[0].nv, m.header[0].ne
    if dt > 0.0:
        loop_errors(c.loops, w.pose, c.start)
        loop_errors(c.loops, w.pose_new, c.errors)
        for r in range(ne):
            c.x[r] = (c.start[r] - c.errors[r]) / dt
        _substitute(c, c.x)
        for j in range(nv):
            c.curve[j] = 0.0
        _push(m, w.L, c, c.curve)
    last = np.inf
    for attempt in range(ROUNDS):
        worst = loop_errors(c.loops, w.pose_new, c.errors)
        if worst < CLOSED or not worst < last:
            return attempt
        last = worst
        part = min(1.0, REACH / worst)
        for r in range(ne):
            c.x[r] = -part * c.errors[r]
        _substitute(c, c.x)
        for j in range(nv):
            w.v_next[j] = 0.0
        _push(m, w.L, c, w.v_next)
        integrate(m, w.q_new, w.v_next, 1.0, w.q_new)
        update_poses(m, w.q_new, w.pose_new)
    return ROUNDS


@kernel
def bend_velocity(packed: Bytes, buffer: Bytes) -> None:
    """`w.v_new` along the loops' surface at the end of the step, after all else is done."""
    m = open_model(packed)
    w, c = open_workspace(m, buffer), open_loops(m, packed, buffer)
    for j in range(m.header[0].nv):
        w.v_new[j] += c.curve[j]


@kernel
def _open_by(packed: Bytes, row: Bytes, buffer: Bytes, errors: Floats) -> None:
    m = open_model(packed)
    s, w = open_state(m, row), open_workspace(m, buffer)
    update_poses(m, s.q, w.pose)
    loop_errors(open_loops(m, packed, buffer).loops, w.pose, errors)


def closure(model: Model, row: Bytes, buffer: Bytes) -> Floats:
    """By how much each row of the loops is open at a world's positions [m, rad], shape (ne,)."""
    errors = np.zeros(int(model.header.ne))
    if len(errors):
        _open_by(model.packed, row, buffer, errors)
    return errors
