"""The contact problem as an LCP (Stewart-Trinkle, Tan; physics.md, section 1, 002, equation 3).

For each contact the normal impulse, one impulse for each friction direction and the slip bound
sigma, all made of the rows' G and right-hand sides:

    w_n = N^T v+ + gap/dt,   w_d = B^T v+ + E sigma,   w_sigma = mu p_n - E^T p_d.

This is the reference; most steps are solved by `newton.py` and certified in the same units.  Here
stands what the others need: the LCP written out, for the cascade.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.compiled import apart, inlined, kernel
from dynenvs.contact.modes import NIL
from dynenvs.contact.rows import limited_coordinate
from dynenvs.layout import (
    Bytes,
    Floats,
    Records,
    StateView,
    WorkspaceView,
    open_lcp,
    open_model,
    open_polygon,
    open_state,
    open_workspace,
)
from dynenvs.lcp.solve import solve
from dynenvs.lcp.workspace import integer
from dynenvs.records import DIRECTION, LIMIT, NORMAL, SLACK

# Helpers take the arrays that they need, not whole views: passing those costs more than the work.


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
def _list_variables(polygon: Records, w: WorkspaceView, count: int, rows: int) -> int:
    """List the LCP's variables of `count` contacts and of the limits in the other rows."""
    n = integer(0)
    r = integer(0)
    for i in range(count):
        contact = w.contacts[i]
        r = contact.row + 1 + contact.tangents
        n = _list_contact(polygon, w, i, contact, n)
    for k in range(r, rows):
        if w.G[k, k] > 0.0:
            w.block[n] = count + k - r
            n = _add_variable(w.variables, n, LIMIT, limited_coordinate(w.J, k), k, 0, 1.0, 0.0)
    return n


@inlined
def _list_contact(polygon: Records, w: WorkspaceView, i: int, contact: Any, n: int) -> int:
    """Variables of one contact after n others; those that nothing moves (A_ii = 0) are dropped.

    contact: what has a row, tangents and friction: a CONTACT, or a BLOCK
    """
    h = polygon[0]
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
            if self_coupling > NIL * w.G[contact.row, contact.row]:
                n = _add_variable(w.variables, n, DIRECTION, i, t, 1 + k, c, s)
                slack = True
        if slack:
            n = _add_variable(w.variables, n, SLACK, i, 0, 1 + h.directions, 0.0, 0.0)
    for k in range(first, n):
        w.block[k] = i
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
    """Previous active set of the present variables, by candidate (limits: by coordinate)."""
    for i in range(n):
        variable = w.variables[i]
        if variable.kind == LIMIT:
            w.active[i] = (s.status[0].limits_active >> variable.contact) & 1
        else:
            bits = s.memory[w.contacts[variable.contact].candidate].active
            w.active[i] = (bits >> variable.bit) & 1


@inlined
def _report(s: StateView, w: WorkspaceView, count: int, rows: int, n: int) -> None:
    """Impulses of the rows, slips of the contacts and active sets, from the LCP's variables."""
    for r in range(rows):
        w.impulse_row[r] = 0.0
    for i in range(count):
        w.contacts[i].slip = 0.0
        s.memory[w.contacts[i].candidate].active = 0
    s.status[0].limits_active = 0
    for i in range(n):
        variable = w.variables[i]
        if w.active[i] != 0:
            if variable.kind == LIMIT:
                s.status[0].limits_active |= 1 << variable.contact
            else:
                s.memory[w.contacts[variable.contact].candidate].active |= 1 << variable.bit
        if variable.kind == SLACK:
            w.contacts[variable.contact].slip = w.z[i]
            continue
        impulse = max(w.z[i], 0.0)  # rounding may have left a trace of a pull
        w.impulse_row[variable.row] += variable.c * impulse
        if variable.s != 0.0:
            w.impulse_row[variable.row + 1] += variable.s * impulse


@apart("int64(uint8[::1], uint8[::1], uint8[::1], int64, int64, float64)", "contact", seconds=12)
def solve_by_cascade(
    packed: Bytes, row: Bytes, buffer: Bytes, count: int, rows: int, dt: float
) -> int:
    """Solve the LCP of the rows by the cascade; returns the status.

    Writes the impulses of the rows, the slips of the contacts, `w.answer`, and what is remembered
    of active sets.
    """
    m = open_model(packed)
    s, w = open_state(m, row), open_workspace(m, buffer)
    n = _list_variables(open_polygon(m, s), w, count, rows)
    _fill(w.variables, w.contacts, w.G, w.bias_row, n, w.A, w.b)
    _recall(s, w, n)
    floor = least_speed(m.header, dt)
    answer = w.answer[0]
    answer.status, answer.residual, answer.pivots, _ = solve(
        w.A,
        w.b,
        n,
        floor,
        w.active,
        m.header[0].directions == 2,
        w.block,
        w.z,
        open_lcp(m, buffer),
    )
    _report(s, w, count, rows, n)
    return int(answer.status)


@apart("int64(uint8[::1], uint8[::1], uint8[::1], int64, int64, float64)", "impacts", seconds=3)
def solve_with_reserves(
    packed: Bytes, row: Bytes, buffer: Bytes, count: int, rows: int, dt: float
) -> int:
    """The same LCP where each contact has a normal impulse in reserve, its `target` [N s].

    Friction is bounded by it too: w_sigma = mu (p_n + target) - E^T p_d.  For impacts, which
    remember nothing.
    """
    m = open_model(packed)
    s, w = open_state(m, row), open_workspace(m, buffer)
    n = _list_variables(open_polygon(m, s), w, count, rows)
    _fill(w.variables, w.contacts, w.G, w.bias_row, n, w.A, w.b)
    for i in range(n):
        variable = w.variables[i]
        w.active[i] = 0
        if variable.kind == SLACK:
            contact = w.contacts[variable.contact]
            w.b[i] = contact.friction * contact.target
    floor = least_speed(m.header, dt)
    answer = w.answer[0]
    answer.status, answer.residual, answer.pivots, _ = solve(
        w.A, w.b, n, floor, w.active, False, w.block, w.z, open_lcp(m, buffer)
    )
    _report(s, w, count, rows, n)
    return int(answer.status)


@apart("int64(uint8[::1], uint8[::1], uint8[::1], int64, int64, float64)", "sparse", seconds=12)
def solve_blocks_by_cascade(
    packed: Bytes, row: Bytes, buffer: Bytes, count: int, rows: int, floor: float
) -> int:
    """The LCP of `count` blocks and their rows, from nothing, to the impulses of the rows.

    floor: the least velocity scale of the certificate [m/s]
    Returns the status; `w.answer` stays as it is, and nothing is remembered.
    """
    m = open_model(packed)
    s, w = open_state(m, row), open_workspace(m, buffer)
    polygon = open_polygon(m, s)
    n = integer(0)
    for i in range(count):
        n = _list_contact(polygon, w, i, w.blocks[i], n)
    _fill(w.variables, w.blocks, w.G, w.bias_row, n, w.A, w.b)
    for i in range(n):
        w.active[i] = 0
    status, _, _, _ = solve(
        w.A, w.b, n, floor, w.active, m.header[0].directions == 2, w.block, w.z, open_lcp(m, buffer)
    )
    for r in range(rows):
        w.impulse_row[r] = 0.0
    for i in range(n):
        variable, impulse = w.variables[i], max(w.z[i], 0.0)
        if variable.kind != SLACK:
            w.impulse_row[variable.row] += variable.c * impulse
            if variable.s != 0.0:
                w.impulse_row[variable.row + 1] += variable.s * impulse
    return int(status)


@inlined
def least_speed(header: Records, dt: float) -> float:
    """The least velocity scale of the certificate, g dt [m/s]."""
    g = header[0].gravity
    return dt * math.sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2])
