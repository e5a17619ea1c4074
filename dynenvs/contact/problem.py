"""The contact problem: constraint rows, their coupling G = J W J^T, and the LCP made of them.

Rows: for each contact its normal and tangents, then one row for each joint limit in reach.
W is M^-1 in the forward problem and Z (Z^T M Z)^-1 Z^T in the inverse one (physics.md, section 1,
002, equation 7 as corrected); either comes as sparse factors L^T D L, and

    Y = D^-1/2 L^-T J^T,   G = Y^T Y,   b = J v_free + gap / dt on normal rows.

LCP (Stewart-Trinkle, Tan; physics.md, section 1, 002, equation 3 in impulses): for each contact
the normal impulse, one impulse for each friction direction and the slip bound sigma:

    w_n = N^T v+ + gap/dt,   w_d = B^T v+ + E sigma,   w_sigma = mu p_n - E^T p_d.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.compiled import inlined, kernel
from dynenvs.contact.detect import add_contact, feature_gap, select_contacts
from dynenvs.dynamics.factor import solve_lower, solve_lower_transposed
from dynenvs.joints import integrate
from dynenvs.kinematics import add_point_row, update_poses
from dynenvs.layout import (
    DIRECTION,
    LIMIT,
    NORMAL,
    SLACK,
    Floats,
    ModelView,
    Records,
    StateView,
    WorkspaceView,
)
from dynenvs.lcp.solve import DEGRADED, FAILED, solve
from dynenvs.lcp.workspace import integer

ROUNDS = 5  # of adding features that the answer reached unforeseen
MISSED = 1e-9  # depth from which such a feature counts [m]
SLIP = 1e-8  # predicted slip that turns the first direction; slower is called sticking [m/s]


# Helpers take the arrays that they need, not whole views: passing those costs more than the work.


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


@inlined
def _add_variable(
    variables: Records, n: int, kind: int, i: int, row: int, bit: int, c: float, s: float
) -> int:
    variable = variables[n]
    variable.kind = kind
    variable.contact = i
    variable.row = row
    variable.bit = bit
    variable.c = c
    variable.s = s
    return n + 1


@kernel
def _list_variables(m: ModelView, w: WorkspaceView, count: int, rows: int) -> int:
    """List the LCP's variables; those that no coordinate moves (A_ii = 0) are dropped."""
    h = m.header[0]
    n = integer(0)
    r = integer(0)
    for i in range(count):
        contact = w.contacts[i]
        r = contact.row + 1 + contact.tangents
        first = n
        if w.G[contact.row, contact.row] > 0.0:
            n = _add_variable(w.variables, n, NORMAL, i, contact.row, 0, 1.0, 0.0)
            slack = False
            for k in range(h.directions if contact.tangents > 0 else 0):
                t = contact.row + 1
                c, s = h.cosines[k], h.sines[k]
                self_coupling = c * c * w.G[t, t]
                if s != 0.0:
                    self_coupling += 2 * c * s * w.G[t, t + 1] + s * s * w.G[t + 1, t + 1]
                if self_coupling > 1e-14 * w.G[contact.row, contact.row]:
                    n = _add_variable(w.variables, n, DIRECTION, i, t, 1 + k, c, s)
                    slack = True
            if slack:
                n = _add_variable(w.variables, n, SLACK, i, 0, 1 + h.directions, 0.0, 0.0)
        for k in range(first, n):
            w.block[k] = i
    for k in range(r, rows):
        if w.G[k, k] > 0.0:
            w.block[n] = count + k - r
            n = _add_variable(w.variables, n, LIMIT, limited_coordinate(m, w, k), k, 0, 1.0, 0.0)
    return n


@inlined
def _entry(a: Any, b: Any, contacts: Records, G: Floats) -> float:
    """A_ij of two variables."""
    if a.kind == SLACK or b.kind == SLACK:
        if a.kind == b.kind or a.contact != b.contact or a.kind == LIMIT or b.kind == LIMIT:
            return 0.0
        if b.kind == SLACK:
            return 1.0 if a.kind == DIRECTION else 0.0
        return contacts[a.contact].friction if b.kind == NORMAL else -1.0
    r, c = a.row, b.row
    value = a.c * b.c * G[r, c]
    if a.s != 0.0:
        value += a.s * b.c * G[r + 1, c]
    if b.s != 0.0:
        value += a.c * b.s * G[r, c + 1]
        if a.s != 0.0:
            value += a.s * b.s * G[r + 1, c + 1]
    return float(value)


@kernel
def _fill(
    variables: Records, contacts: Records, G: Floats, bias: Floats, n: int, A: Floats, b: Floats
) -> None:
    """A and b of the LCP from the rows' G and right-hand sides."""
    for i in range(n):
        row = variables[i]
        b[i] = 0.0
        if row.kind != SLACK:
            b[i] = row.c * bias[row.row]
            if row.s != 0.0:
                b[i] += row.s * bias[row.row + 1]
        for j in range(n):
            A[i, j] = _entry(row, variables[j], contacts, G)


@inlined
def _recall(s: StateView, w: WorkspaceView, n: int) -> None:
    """Previous active set of the present variables, by feature id (limits: by coordinate)."""
    for i in range(n):
        variable = w.variables[i]
        if variable.kind == LIMIT:
            w.active[i] = (s.status[0].limits_active >> variable.contact) & 1
        else:
            bits = s.memory[w.contacts[variable.contact].feature].active
            w.active[i] = (bits >> variable.bit) & 1


@inlined
def _remember(m: ModelView, s: StateView, w: WorkspaceView, count: int, n: int) -> None:
    """Keep active set and impulses by feature id; features that were not in reach forget theirs."""
    for f in range(m.header[0].nf):
        s.memory[f].active = 0
        for k in range(3):
            s.memory[f].impulse[k] = 0.0
    s.status[0].limits_active = 0
    for i in range(n):
        variable = w.variables[i]
        if w.active[i] == 0:
            continue
        if variable.kind == LIMIT:
            s.status[0].limits_active |= 1 << variable.contact
        else:
            s.memory[w.contacts[variable.contact].feature].active |= 1 << variable.bit
    s.status[0].contacts = 0
    for i in range(count):
        contact = w.contacts[i]
        memory = s.memory[contact.feature]
        p = contact.impulse
        for k in range(3):
            memory.impulse[k] = (
                p[0] * contact.normal[k] + p[1] * contact.t1[k] + p[2] * contact.t2[k]
            )
        if contact.impulse[0] > 0.0:
            s.status[0].contacts += 1


@kernel
def solve_problem(
    m: ModelView,
    s: StateView,
    w: WorkspaceView,
    count: int,
    rows: int,
    dt: float,
    v: Floats,
) -> tuple[int, float, int]:
    """Solve the LCP of the rows; returns (status, residual, pivots).

    Writes the impulses of rows and contacts, and v += W J^T p.
    """
    n = _list_variables(m, w, count, rows)
    _fill(w.variables, w.contacts, w.G, w.bias_row, n, w.A, w.b)
    _recall(s, w, n)
    g = m.header[0].gravity
    floor = dt * math.sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2])
    status, residual, pivots, _ = solve(w.A, w.b, n, floor, w.active, True, w.block, w.z, w.lcp)
    _impulses(w, count, rows, n)
    _remember(m, s, w, count, n)
    apply_impulses(m, w, rows, v)
    return status, residual, pivots


@inlined
def _impulses(w: WorkspaceView, count: int, rows: int, n: int) -> None:
    """Row impulses from the LCP's variables; a contact sticks if it presses and its slip is nil."""
    for r in range(rows):
        w.impulse_row[r] = 0.0
    for i in range(count):
        w.contacts[i].stick = w.contacts[i].tangents
    for i in range(n):
        variable = w.variables[i]
        if variable.kind == SLACK:
            if w.z[i] > SLIP:
                w.contacts[variable.contact].stick = 0
            continue
        w.impulse_row[variable.row] += variable.c * w.z[i]
        if variable.s != 0.0:
            w.impulse_row[variable.row + 1] += variable.s * w.z[i]
    for i in range(count):
        contact = w.contacts[i]
        for k in range(3):
            contact.impulse[k] = w.impulse_row[contact.row + k] if k <= contact.tangents else 0.0
        if contact.impulse[0] <= 0.0:
            contact.stick = 0


@kernel
def apply_impulses(m: ModelView, w: WorkspaceView, rows: int, v: Floats) -> None:
    """v += W J^T p = L^-1 D^-1/2 Y p, shape (nv,), for the rows' impulses p."""
    nv = m.header[0].nv
    change = w.rhs
    for j in range(nv):
        change[j] = 0.0
    for r in range(rows):
        p = w.impulse_row[r]
        if p != 0.0:
            for j in range(nv):
                change[j] += p * w.Y[r, j]
    for j in range(nv):
        change[j] /= math.sqrt(w.L[j, j])
    solve_lower(m, w.L, change)
    for j in range(nv):
        v[j] += change[j]


@kernel
def resolve_contacts(
    m: ModelView, s: StateView, w: WorkspaceView, dt: float, unactuated: bool
) -> tuple[int, float, int, int, int]:
    """From `w.v_free` and factors `w.L` to `w.v_new`, `w.q_new` and the impulses.

    Features that were left out and that the answer would carry below ground are added, and the
    problem is solved again.  Returns (status, worst residual, pivots, contacts, rows).
    """
    h = m.header[0]
    count = select_contacts(m, s, w, dt)
    if count > h.nc:
        s.status[0].overflow += 1
        count = h.nc
    worst = 0.0
    total = 0
    status, rows = integer(0), integer(0)
    for _ in range(ROUNDS):
        rows = contact_rows(m, w, count, w.v_free, dt)
        rows = limit_rows(m, s.q, w, rows, w.v_free, dt)
        couple(m, w, rows, unactuated)
        for j in range(h.nv):
            w.v_new[j] = w.v_free[j]
        status, residual, pivots = solve_problem(m, s, w, count, rows, dt, w.v_new)
        worst = max(worst, residual)
        total += pivots
        s.status[0].solves += 1
        if status == FAILED:
            break
        if status == DEGRADED:
            s.status[0].degraded += 1
        integrate(m, s.q, w.v_new, dt, w.q_new)
        update_poses(m, w.q_new, w.pose_new)
        found = add_missed(m, s, w, count)
        if found == count:
            break
        count = found
    return status, worst, total, count, rows


@kernel
def add_missed(m: ModelView, s: StateView, w: WorkspaceView, count: int) -> int:
    """Add every feature that is below ground at the end of the step and not in the problem."""
    listed = count
    for f in range(m.header[0].nf):
        if count == m.header[0].nc:
            break
        known = s.memory[f].ignored != 0
        for i in range(listed):
            known = known or w.contacts[i].feature == f
        if not known and feature_gap(m.features[f], w.pose_new) < -MISSED:
            add_contact(m, s, w, f, count)
            count += 1
    return count
