"""Torques of least norm among those that give the same motion.

On flat ground a robot with a foot or two down can share its load in many ways, and the LCP's
vertex solution loads few points and jumps between them from step to step.  At fixed v+ and fixed
contact modes the impulses are chosen anew (physics.md, section 4, redistribution):

    min  sum_j (tau_j / effort_j)^2 + sum_f cost_f p_f^2   over impulses in their friction cones,
    tau = tau_0 - P J^T p / h,   unactuated rows of J^T p as before.

With p = Gamma alpha, alpha >= 0 on the cones' edges, and H the quadratic form, the multipliers s
of alpha >= 0 solve an LCP: alpha = K s + alpha_0 >= 0, s >= 0, s' alpha = 0, where K is H^-1
restricted to the null space of the unactuated rows.
"""

from __future__ import annotations

import math

from dynenvs.compiled import apart, inlined
from dynenvs.layout import (
    Bytes,
    Floats,
    ModelView,
    StateView,
    WorkspaceView,
    open_lcp,
    open_model,
    open_workspace,
)
from dynenvs.lcp.solve import CERTIFIED, solve
from dynenvs.views import raw

CLOSED = 1e-5  # a contact that parts more slowly can carry load [m/s]
SLIDES = 1e-5  # one that slips faster slides [m/s]
SWEEPS = 20  # of the correction that takes roundoff out of the unactuated rows
STRICT = 1e-6  # least cost of an impulse, relative to the torques' own: makes the form definite


@inlined
def redistribute(
    m: ModelView, s: StateView, w: WorkspaceView, count: int, rows: int, h: float, cost: Floats
) -> bool:
    """Torques into `w.tau`; impulses and torques of least norm if they are indeterminate.

    Needs the solved inverse problem.  Returns False where the LCP's own impulses were kept.
    """
    nv = m.header[0].nv
    _wanted(m, s, w, h)
    wanted, load = w.rhs, w.v_next  # M^ (v+ - v) / h + bias, and J^T p / h
    _load(w, rows, nv, h, load)
    n = _edges(m, s, w, count, h)
    shared = n > 0 and _share(m, w, n, h, cost)
    if shared:
        for j in range(nv):
            load[j] = 0.0
            for g in range(n):
                load[j] += w.cone[g, j] * w.z[g] / h
        _world_impulses(m, s, w, count, n)
    for j in range(nv):
        w.tau[j] = wanted[j] - load[j] if m.dofs[j].actuated else 0.0
    return shared


@inlined
def _wanted(m: ModelView, s: StateView, w: WorkspaceView, h: float) -> None:
    """w.rhs = M^ (v+ - v) / h + bias: all forces that the motion needs, shape (nv,)."""
    nv = m.header[0].nv
    for i in range(nv):
        w.rhs[i] = w.bias[i]
    for i in range(nv):
        for j in range(i + 1):
            w.rhs[i] += w.M[i, j] * (w.v_new[j] - s.v[j]) / h
            if j < i:
                w.rhs[j] += w.M[i, j] * (w.v_new[i] - s.v[i]) / h


@inlined
def _load(w: WorkspaceView, rows: int, nv: int, h: float, load: Floats) -> None:
    for j in range(nv):
        load[j] = 0.0
    for r in range(rows):
        p = w.impulse_row[r]
        if p != 0.0:
            for j in range(nv):
                load[j] += w.J[r, j] * p / h


@inlined
def _row_velocity(w: WorkspaceView, r: int, nv: int) -> float:
    total = 0.0
    for j in range(nv):
        total += w.J[r, j] * w.v_new[j]
    return total


@inlined
def _edges(m: ModelView, s: StateView, w: WorkspaceView, count: int, h: float) -> int:
    """Edges n + mu d of the cones of closed contacts into `w.cone` (rows: J^T of the edge).

    A sliding contact has the one edge that opposes its slip.  `w.variables[g]` keeps the edge:
    contact, and normal (c = 1) and tangential (s, row) parts.
    """
    header = m.header[0]
    n = 0
    for i in range(count):
        contact = w.contacts[i]
        r = contact.row
        if _row_velocity(w, r, header.nv) + contact.target / h > CLOSED:
            continue
        slip = 0.0
        for k in range(contact.tangents):
            slip += _row_velocity(w, r + 1 + k, header.nv) ** 2
        slip = math.sqrt(slip)
        if contact.tangents == 0:
            n = _edge(w, n, header.nv, i, 0.0, 0.0)
        elif slip > SLIDES:
            v1 = _row_velocity(w, r + 1, header.nv)
            v2 = _row_velocity(w, r + 2, header.nv) if contact.tangents == 2 else 0.0
            mu = contact.friction
            n = _edge(w, n, header.nv, i, -mu * v1 / slip, -mu * v2 / slip)
        else:
            for k in range(header.directions):
                mu = contact.friction
                n = _edge(w, n, header.nv, i, mu * header.cosines[k], mu * header.sines[k])
    return n


@inlined
def _edge(w: WorkspaceView, n: int, nv: int, i: int, c: float, s: float) -> int:
    contact = w.contacts[i]
    r = contact.row
    variable = w.variables[n]
    variable.contact = i
    variable.c = c
    variable.s = s
    for j in range(nv):
        w.cone[n, j] = w.J[r, j]
        if c != 0.0:
            w.cone[n, j] += c * w.J[r + 1, j]
        if s != 0.0:
            w.cone[n, j] += s * w.J[r + 2, j]
    return n + 1


@inlined
def _share(m: ModelView, w: WorkspaceView, n: int, h: float, cost: Floats) -> bool:
    """Edge impulses alpha into `w.z` (as the LCP's w); False if they cannot be certified."""
    nv = m.header[0].nv
    wanted, load = w.rhs, w.v_next
    # H = cone Omega cone^T / h^2 + costs, with Omega = 1 / effort^2 on actuated rows
    scale = 0.0
    for a in range(n):
        for b in range(a + 1):
            total = 0.0
            for j in range(nv):
                if m.dofs[j].actuated:
                    total += w.cone[a, j] * w.cone[b, j] * _weight(m, j)
            w.H[a, b] = total
        scale = max(scale, w.H[a, a])
    if not scale > 0.0:
        return False
    for a in range(n):
        feature = w.contacts[w.variables[a].contact].feature
        w.H[a, a] += scale * (STRICT + cost[feature])
    for a in range(n):
        w.b[a] = 0.0  # gradient of the torque cost at alpha = 0, negated
        for j in range(nv):
            if m.dofs[j].actuated:
                w.b[a] += w.cone[a, j] * _weight(m, j) * wanted[j] * h
    if not _invert(w.H, n, w.A):
        return False
    _restrict(m, w, n, h, load)
    inside = True
    for a in range(n):
        inside = inside and w.b[a] >= 0.0
        w.z[a] = 0.0
    if not inside:  # otherwise no edge's bound acts: s = 0 solves the LCP
        h_ = m.header[0]
        packed, buffer = raw(m.header, h_.model_bytes), raw(w.pose, h_.workspace_bytes)
        if _multipliers(packed, buffer, n) != CERTIFIED:
            return False
    # alpha = K s + alpha_0: what the LCP calls w
    for a in range(n):
        total = w.b[a]
        for b in range(n):
            total += w.H[a, b] * w.z[b]
        w.A[0, a] = max(total, 0.0)
    for a in range(n):
        w.z[a] = w.A[0, a]
    _meet_rows(m, w, n, h, load)
    return _keeps_motion(m, w, n, h, load)


@apart("int64(uint8[::1], uint8[::1], int64)")
def _multipliers(packed: Bytes, buffer: Bytes, n: int) -> int:
    """Solve the LCP of the multipliers, K in `w.H` and alpha_0 in `w.b`, into `w.z`.

    The first guess: just those bounds act that the edges would break without any.
    """
    m = open_model(packed)
    w, work = open_workspace(m, buffer), open_lcp(m, buffer)
    for a in range(n):
        w.block[a] = a
        w.active[a] = 1 if w.b[a] < 0.0 else 0
    status, _, _, _ = solve(w.H, w.b, n, 0.0, w.active, True, w.block, w.z, work)
    return int(status)


@inlined
def _meet_rows(m: ModelView, w: WorkspaceView, n: int, h: float, load: Floats) -> None:
    """Take the LCP's roundoff out of the unactuated rows (Kaczmarz sweeps over loaded edges)."""
    for _ in range(SWEEPS):
        for j in range(m.header[0].nv):
            if m.dofs[j].actuated:
                continue
            miss, size = load[j] * h, 0.0
            for a in range(n):
                if w.z[a] > 0.0:
                    miss -= w.cone[a, j] * w.z[a]
                    size += w.cone[a, j] * w.cone[a, j]
            if size > 0.0:
                for a in range(n):
                    if w.z[a] > 0.0:
                        w.z[a] = max(w.z[a] + w.cone[a, j] * miss / size, 0.0)


@inlined
def _weight(m: ModelView, j: int) -> float:
    effort = m.dofs[j].effort
    return 1.0 / (effort * effort) if math.isfinite(effort) else 1.0


@inlined
def _keeps_motion(m: ModelView, w: WorkspaceView, n: int, h: float, load: Floats) -> bool:
    """Whether the new impulses load the unactuated coordinates as the old ones did."""
    worst, size = 0.0, 1.0
    for j in range(m.header[0].nv):
        if m.dofs[j].actuated == 0:
            total = -load[j] * h
            for a in range(n):
                total += w.cone[a, j] * w.z[a]
            worst = max(worst, abs(total))
            size = max(size, abs(load[j] * h))
    return worst <= 1e-12 * size


@inlined
def _invert(H: Floats, n: int, out: Floats) -> bool:
    """out = H^-1 of a positive definite H (its lower triangle; destroyed), by Cholesky."""
    for i in range(n):
        for j in range(i + 1):
            total = H[i, j]
            for k in range(j):
                total -= H[i, k] * H[j, k]
            if i == j:
                if not total > 0.0:
                    return False
                H[i, i] = math.sqrt(total)
            else:
                H[i, j] = total / H[j, j]
    for c in range(n):
        for i in range(n):
            total = 1.0 if i == c else 0.0
            for k in range(i):
                total -= H[i, k] * out[k, c]
            out[i, c] = total / H[i, i]
        for i in range(n - 1, -1, -1):
            total = out[i, c]
            for k in range(i + 1, n):
                total -= H[k, i] * out[k, c]
            out[i, c] = total / H[i, i]
    return True


@inlined
def _restrict(m: ModelView, w: WorkspaceView, n: int, h: float, load: Floats) -> None:
    """From H^-1 in `w.A` and the gradient in `w.b` to K in `w.H` and alpha_0 in `w.b`.

    One unactuated row e' alpha = e at a time: K loses the direction K e (a rank-one downdate), and
    alpha_0 moves along it to meet the row.
    """
    K, alpha = w.H, w.z
    for a in range(n):
        alpha[a] = 0.0
        for b in range(n):
            K[a, b] = w.A[a, b]
            alpha[a] += w.A[a, b] * w.b[b]
    scale = 0.0
    for a in range(n):
        scale = max(scale, K[a, a])
    for j in range(m.header[0].nv):
        if m.dofs[j].actuated:
            continue
        curvature, miss, size = 0.0, load[j] * h, 0.0
        for a in range(n):
            total = 0.0
            for b in range(n):
                total += K[a, b] * w.cone[b, j]
            w.A[0, a] = total  # H^-1 has been copied: its first row serves as the direction
            curvature += total * w.cone[a, j]
            miss -= w.cone[a, j] * alpha[a]
            size += w.cone[a, j] ** 2
        if curvature <= 1e-12 * scale * size:
            continue  # this row is met already by the others, or no contact loads it
        for a in range(n):
            alpha[a] += w.A[0, a] * miss / curvature
        for a in range(n):
            for b in range(n):
                K[a, b] -= w.A[0, a] * w.A[0, b] / curvature
    for a in range(n):
        w.b[a] = alpha[a]


@inlined
def _world_impulses(m: ModelView, s: StateView, w: WorkspaceView, count: int, n: int) -> None:
    """Remember the shared impulses of the contacts, world axes."""
    for i in range(count):
        memory = s.memory[w.contacts[i].feature]
        for k in range(3):
            memory.impulse[k] = 0.0
    for g in range(n):
        edge = w.variables[g]
        contact = w.contacts[edge.contact]
        memory = s.memory[contact.feature]
        for k in range(3):
            memory.impulse[k] += w.z[g] * (
                contact.normal[k] + edge.c * contact.t1[k] + edge.s * contact.t2[k]
            )
