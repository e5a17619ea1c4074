"""The contact problem as an LCP (Stewart-Trinkle, Tan; physics.md, section 1, 002, equation 3).

For each contact the normal impulse, one impulse for each friction direction and the slip bound
sigma, all made of the rows' G and right-hand sides:

    w_n = N^T v+ + gap/dt,   w_d = B^T v+ + E sigma,   w_sigma = mu p_n - E^T p_d.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.compiled import inlined, kernel
from dynenvs.contact.rows import SLIP, limited_coordinate
from dynenvs.dynamics.factor import solve_lower
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
from dynenvs.lcp.solve import solve
from dynenvs.lcp.workspace import integer

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
