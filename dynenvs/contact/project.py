"""Projection of positions: after integration, contacts stand where their velocities said.

The velocities obey the constraints linearised at the start of the step; the integrated positions
miss them by terms of second order, and a contact that was below ground stays there.  One Newton
step in the kinetic metric, dq = W J^T lambda with G lambda = error, removes both: pressing contacts
get exactly the gap (zero if it was negative) and sticking ones exactly the tangential displacement
that their velocities announced.  Velocities, and so kinetic energy, are not touched
(physics.md, section 4, gaps).
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.compiled import inlined, kernel
from dynenvs.contact.detect import feature_gap
from dynenvs.contact.rows import limited_coordinate
from dynenvs.contact.solution import apply_impulses
from dynenvs.joints import integrate
from dynenvs.kinematics import update_poses
from dynenvs.layout import Floats, ModelView, WorkspaceView
from dynenvs.rotation import rotate

PUSH_OUT = 0.01  # most that one step lifts out of deep penetration [m]
SMALL = 1e-6  # after an error below this, one step leaves nothing that matters [m]
ROUNDOFF = 1e-15  # errors below this are left alone [m]


@kernel
def project(m: ModelView, w: WorkspaceView, count: int, rows: int, dt: float) -> None:
    """Correct `w.q_new` (and `w.pose_new`) in place; twice where one Newton step is not enough."""
    for _ in range(2):
        worst = _errors(m, w, count, rows, dt)
        if worst < ROUNDOFF:
            return
        if worst > PUSH_OUT:
            for r in range(rows):
                w.bias_row[r] *= PUSH_OUT / worst
        _solve_equalities(w, rows)
        dq = w.v_next
        for j in range(m.header[0].nv):
            dq[j] = 0.0
        apply_impulses(m.dofs, w.J, w.L, w.impulse_row, rows, w.yields, w.rhs, dq)
        integrate(m, w.q_new, dq, 1.0, w.q_new)
        update_poses(m, w.q_new, w.pose_new)
        if worst < SMALL or worst > PUSH_OUT:
            return


@kernel
def _errors(m: ModelView, w: WorkspaceView, count: int, rows: int, dt: float) -> float:
    """Position error of each row into `bias_row`; `impulse_row` marks rows that take part."""
    nv = m.header[0].nv
    for r in range(rows):
        w.impulse_row[r] = 0.0
        w.bias_row[r] = 0.0
    worst = 0.0
    for i in range(count):
        contact = w.contacts[i]
        feature = m.features[contact.feature]
        gap = feature_gap(feature, w.pose_new)
        r = contact.row
        announced = 0.0
        if contact.impulse[0] > 0.0:
            for j in range(nv):
                announced += w.J[r, j] * w.v_new[j]
            announced = max(0.0, contact.gap + dt * announced)
        elif gap >= 0.0:
            continue
        worst = max(worst, _mark(w, r, announced - gap))
        if contact.stick > 0 and feature.body_b == 0:
            worst = max(worst, _tangential_errors(m, w, contact, feature, dt))
    first = w.contacts[count - 1].row + 1 + w.contacts[count - 1].tangents if count > 0 else 0
    for r in range(first, rows):
        j = limited_coordinate(w.J, r)
        dof, q = m.dofs[j], w.q_new[m.dofs[j].q_at]
        gap = q - dof.lower if w.J[r, j] > 0.0 else dof.upper - q
        if gap < 0.0:
            worst = max(worst, _mark(w, r, -gap))
    return worst


@inlined
def _mark(w: WorkspaceView, r: int, error: float) -> float:
    w.impulse_row[r] = 1.0
    w.bias_row[r] = error
    return abs(error)


@inlined
def _tangential_errors(
    m: ModelView, w: WorkspaceView, contact: Any, feature: Any, dt: float
) -> float:
    """Announced minus actual tangential displacement of a sticking contact on the world.

    Measured at the feature's centre: a rolling sphere's centre moves by dt times its velocity.
    """
    pose, start = w.pose_new[feature.body_a], w.pose[feature.body_a]
    ax, ay, az = rotate(pose.R, feature.center)
    bx, by, bz = contact.center[0], contact.center[1], contact.center[2]
    dx, dy, dz = ax + pose.p[0] - bx, ay + pose.p[1] - by, az + pose.p[2] - bz
    worst = 0.0
    for k in range(contact.stick):
        t = contact.t1 if k == 0 else contact.t2
        r = contact.row + 1 + k
        moved = t[0] * dx + t[1] * dy + t[2] * dz
        announced = 0.0
        for j in range(m.header[0].nv):
            announced += w.J[r, j] * w.v_new[j]
        if feature.radius > 0.0:
            announced += _rolling(m, w, start, pose, contact, feature, t, dt)
        worst = max(worst, _mark(w, r, dt * announced - moved))
    return worst


@inlined
def _rolling(
    m: ModelView,
    w: WorkspaceView,
    start: Any,
    pose: Any,
    contact: Any,
    feature: Any,
    t: Floats,
    dt: float,
) -> float:
    """Velocity along t of the sphere's centre relative to its contact point, r (omega x n) . t.

    The mean angular velocity of the step is read from the rotation R_new R^T (under 90 degrees).
    """
    n = contact.normal
    A, B = pose.R, start.R
    # Skew part of R_new R^T: twice the sine of the angle, times the axis
    wx = wy = wz = 0.0
    for k in range(3):
        wx += A[2, k] * B[1, k] - A[1, k] * B[2, k]
        wy += A[0, k] * B[2, k] - A[2, k] * B[0, k]
        wz += A[1, k] * B[0, k] - A[0, k] * B[1, k]
    sine = 0.5 * math.sqrt(wx * wx + wy * wy + wz * wz)
    angle = math.asin(min(sine, 1.0)) / sine if sine > 1e-6 else 1.0
    sx = wy * n[2] - wz * n[1]
    sy = wz * n[0] - wx * n[2]
    sz = wx * n[1] - wy * n[0]
    return 0.5 * angle * feature.radius * (sx * t[0] + sy * t[1] + sz * t[2]) / dt


@kernel
def _solve_equalities(w: WorkspaceView, rows: int) -> None:
    """impulse_row = G^+ bias_row over the marked rows, zero elsewhere.

    Redundant rows make G singular: Cholesky of G plus a proximal diagonal, and one refinement.
    What the shift leaves in the null space of G moves nothing.
    """
    K, x, e = w.A, w.z, w.b  # the LCP is done: its storage is free
    n = 0
    for r in range(rows):
        if w.impulse_row[r] > 0.0 and w.G[r, r] > 0.0:
            w.active[n] = r
            n += 1
    for i in range(n):
        ri = w.active[i]
        for j in range(i + 1):
            K[i, j] = w.G[ri, w.active[j]]
        K[i, i] *= 1.0 + 1e-10
        for j in range(i):
            total = K[i, j]
            for k in range(j):
                total -= K[i, k] * K[j, k] * K[k, k]
            K[i, j] = total / K[j, j] if K[j, j] > 0.0 else 0.0
            K[i, i] -= K[i, j] * K[i, j] * K[j, j]
    for r in range(rows):
        w.impulse_row[r] = 0.0
    for _ in range(2):
        for i in range(n):
            ri = w.active[i]
            e[i] = w.bias_row[ri]
            for j in range(n):
                e[i] -= w.G[ri, w.active[j]] * w.impulse_row[w.active[j]]
        _back_substitute(K, e, x, n)
        for i in range(n):
            w.impulse_row[w.active[i]] += x[i]


@inlined
def _back_substitute(K: Floats, e: Floats, x: Floats, n: int) -> None:
    """x = (L D L^T)^-1 e for L below and D on the diagonal of K; a lost pivot yields nothing."""
    for i in range(n):
        x[i] = e[i]
        for j in range(i):
            x[i] -= K[i, j] * x[j]
    for i in range(n):
        x[i] = x[i] / K[i, i] if K[i, i] > 0.0 else 0.0
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            x[i] -= K[j, i] * x[j]
