"""Constraint rows of the contact problem: their Jacobians, right-hand sides and coupling.

Rows: for each contact its normal and tangents, then one row for each joint limit in reach.
W is M^-1 in the forward problem and Z (Z^T M Z)^-1 Z^T in the inverse one (physics.md, section 1,
002, equation 7 as corrected); either comes as sparse factors L^T D L, and

    Y = D^-1/2 L^-T J^T,   G = Y^T Y,   b = J v_free + gap / dt on normal rows.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.compiled import inlined, kernel
from dynenvs.dynamics.factor import solve_lower_transposed
from dynenvs.kinematics import add_point_row
from dynenvs.layout import Floats, ModelView, WorkspaceView
from dynenvs.lcp.workspace import integer

SLIP = 1e-8  # predicted slip that turns the first direction; slower is called sticking [m/s]


@inlined
def _contact_row(m: ModelView, w: WorkspaceView, contact: Any, d: Floats, row: Floats) -> None:
    """row = d^T (J_A - J_B) at the contact point."""
    feature = m.features[contact.feature]
    for j in range(m.header[0].nv):
        row[j] = 0.0
    add_point_row(m, w, feature.body_a, contact.point, d, 1.0, row)
    if feature.body_b > 0:
        add_point_row(m, w, feature.body_b, contact.point, d, -1.0, row)


@inlined
def _dot(a: Floats, b: Floats, n: int) -> float:
    total = 0.0
    for k in range(n):
        total += a[k] * b[k]
    return total


@inlined
def _reference_tangents(contact: Any, planar: bool) -> None:
    """Tangents by the world's axes: t1 in the x-z plane (or nearest to x), t2 = n x t1."""
    n, t1, t2 = contact.normal, contact.t1, contact.t2
    if planar or abs(n[1]) < 0.9:  # t1 = y x n
        x, y, z = n[2], 0.0, -n[0]
    else:  # t1 = z x n
        x, y, z = -n[1], n[0], 0.0
    length = math.sqrt(x * x + y * y + z * z)
    t1[0], t1[1], t1[2] = x / length, y / length, z / length
    t2[0] = n[1] * t1[2] - n[2] * t1[1]
    t2[1] = n[2] * t1[0] - n[0] * t1[2]
    t2[2] = n[0] * t1[1] - n[1] * t1[0]


@inlined
def _align_tangents(m: ModelView, w: WorkspaceView, contact: Any, count: int) -> None:
    """Turn t1 along the predicted slip: this removes most of a pyramid's bias.

    The slip is the sum over all contacts of the same two bodies.  A direction of its own for each
    foot of a slowly sliding body would turn with the body's spin and feed it.
    """
    r = contact.row
    s1, s2 = 0.0, 0.0
    feature = m.features[contact.feature]
    for i in range(count):
        other = m.features[w.contacts[i].feature]
        if other.body_a == feature.body_a and other.body_b == feature.body_b:
            slip = w.contacts[i].impulse  # holds the predicted slip, world axes, until the solve
            for k in range(3):
                s1 += slip[k] * contact.t1[k]
                s2 += slip[k] * contact.t2[k]
    speed = math.sqrt(s1 * s1 + s2 * s2)
    if speed < SLIP:
        return
    c, s = s1 / speed, s2 / speed
    t1, t2 = contact.t1, contact.t2
    for k in range(3):
        a, b = t1[k], t2[k]
        t1[k] = c * a + s * b
        t2[k] = c * b - s * a
    for j in range(m.header[0].nv):
        a, b = w.J[r + 1, j], w.J[r + 2, j]
        w.J[r + 1, j] = c * a + s * b
        w.J[r + 2, j] = c * b - s * a


@inlined
def _predict_slip(m: ModelView, w: WorkspaceView, contact: Any, v: Floats) -> None:
    """Tangential velocity without contact impulses into `contact.impulse`, world axes [m/s]."""
    r = contact.row
    nv = m.header[0].nv
    s1 = _dot(w.J[r + 1], v, nv) if contact.tangents == 2 else 0.0
    s2 = _dot(w.J[r + 2], v, nv) if contact.tangents == 2 else 0.0
    for k in range(3):
        contact.impulse[k] = s1 * contact.t1[k] + s2 * contact.t2[k]


@kernel
def contact_rows(m: ModelView, w: WorkspaceView, count: int, v: Floats, dt: float) -> int:
    """Rows J and right-hand sides of the contacts; returns the number of rows.

    `v` is the velocity without contact impulses, shape (nv,): it gives the right-hand side and
    the predicted slip.
    """
    planar = m.header[0].directions == 2
    nv = m.header[0].nv
    r = integer(0)
    for i in range(count):
        contact = w.contacts[i]
        contact.row = r
        # Without friction the slip bound sigma would be indeterminate: no tangential rows.
        contact.tangents = 0 if contact.friction == 0.0 else (1 if planar else 2)
        _reference_tangents(contact, planar)
        _contact_row(m, w, contact, contact.normal, w.J[r])
        for k in range(contact.tangents):
            _contact_row(m, w, contact, contact.t1 if k == 0 else contact.t2, w.J[r + 1 + k])
        _predict_slip(m, w, contact, v)
        r += 1 + contact.tangents
    for i in range(count):
        contact = w.contacts[i]
        if contact.tangents == 2:
            _align_tangents(m, w, contact, count)
        row = contact.row
        for k in range(1 + contact.tangents):
            w.bias_row[row + k] = _dot(w.J[row + k], v, nv)
        w.bias_row[row] += contact.target / dt
    return r


@kernel
def limit_rows(m: ModelView, q: Floats, w: WorkspaceView, r: int, v: Floats, dt: float) -> int:
    """Rows +-e_i of the joint limits in reach (frictionless, gap/dt like a contact's normal)."""
    for i in range(m.header[0].nv):
        dof = m.dofs[i]
        if dof.limited == 0:
            continue
        low, high = q[dof.q_at] - dof.lower, dof.upper - q[dof.q_at]
        sign = 1.0 if low < high else -1.0
        gap = min(low, high)
        # A generous reach (0.05 rad or m beyond the predicted one): pushes change v within a step.
        if gap + dt * sign * v[i] < 0.05:
            for j in range(m.header[0].nv):
                w.J[r, j] = 0.0
            w.J[r, i] = sign
            w.bias_row[r] = sign * v[i] + max(gap, 0.0) / dt
            r += 1
    return r


@inlined
def limited_coordinate(m: ModelView, w: WorkspaceView, row: int) -> int:
    """The coordinate that a joint limit's row acts on: its only entry."""
    j = 0
    while w.J[row, j] == 0.0:
        j += 1
    return j


@kernel
def couple(m: ModelView, w: WorkspaceView, rows: int, unactuated: bool) -> None:
    """Y and G of all rows; with `unactuated`, actuated coordinates do not yield."""
    nv = m.header[0].nv
    for r in range(rows):
        y = w.Y[r]
        for j in range(nv):
            y[j] = 0.0 if unactuated and m.dofs[j].actuated else w.J[r, j]
        solve_lower_transposed(m, w.L, y)
        for j in range(nv):
            y[j] /= math.sqrt(w.L[j, j])
        for k in range(r + 1):
            w.G[r, k] = _dot(y, w.Y[k], nv)
            w.G[k, r] = w.G[r, k]
