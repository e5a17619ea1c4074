"""Torques of least norm among those that give the same motion.

On flat ground a robot with a foot or two down can share its load in many ways, and the LCP's
vertex solution loads few points and jumps between them from step to step.  At fixed v+ and fixed
contact modes the impulses are chosen anew (docs/theory.md, Torque distribution):

    min  sum_j (tau_j / effort_j)^2 + sum_f cost_f p_f^2   over impulses in their friction cones,
    tau = tau_0 - P J^T p / h,   unactuated rows of J^T p as before.

With p = Gamma alpha, alpha >= 0 on the cones' edges, this is a strictly convex quadratic program in
as many variables as there are edges.  Its dual has one for each coordinate, y, and no bounds:

    min  sum_j effort_j^2 y_j^2 / 2 - t'y + sum_g max(0, c_g'y)^2 / (2 d_g),
    alpha_g = max(0, c_g'y) / d_g,

c_g an edge in joint space, d_g its cost, t what all forces (actuated rows) or the contacts (the
others, whose effort counts as 0) must do.  It is convex and piecewise quadratic: Newton's method
with exact line search ends after a few steps (Li and Swetits, A new algorithm for solving strictly
convex quadratic programs, 1997).  A small proximal diagonal lets the contacts move fewer
coordinates than are unactuated.
"""

from __future__ import annotations

import math

from dynenvs.contact.assembly.memory import touch
from dynenvs.jit.compiled import inlined, inlined_source
from dynenvs.lcp.dense import factorise_symmetric, multiply, substitute_symmetric
from dynenvs.memory.layout import Floats, ModelView, WorkView, WorldView, polygon_of

CLOSED = 1e-5  # a contact that parts more slowly can carry load [m/s]
SLIDES = 1e-5  # one that slips faster slides [m/s]
SWEEPS = 20  # of the correction that takes roundoff out of the unactuated rows ...
EXACT = 1e-14  # ... unless they miss by less than this, relative to the largest (1 at least) ...
SLOW = 0.9  # ... or a sweep leaves more than this part
STRICT = 1e-6  # least cost of an impulse, relative to the torques' own: makes the form definite
STEPS = 20  # of Newton's method
SEARCHES = 40  # of a step's length
FLAT = 1e-9  # a slope along the step that counts as none, relative to that at its start
PROXIMAL = 1e-13  # relative to the diagonal


@inlined
def redistribute(w: WorldView, count: int, rows: int, dt: float, cost: Floats) -> bool:
    """Torques into `w.tau`; impulses and torques of least norm if they are indeterminate.

    Needs the solved inverse problem.  Returns False where the LCP's own impulses were kept.
    """
    nv = w.header[0].nv
    # The forces that the motion needs, and what of them the LCP's impulses carry
    _wanted(w, dt)
    wanted, load = w.rhs, w.v_next  # M^ (v+ - v) / dt + bias, and J^T p / dt
    _load(w, rows, nv, dt, load)
    n = _edges(w, count, dt)
    shared = n > 0 and _share(w, n, rows, dt, cost)
    if shared:
        _row_impulses(w, n, rows, w.z)
        _load(w, rows, nv, dt, load)
        _world_impulses(w, count, n)
    for j in range(nv):
        # Motors give what contacts do not
        w.tau[j] = wanted[j] - load[j] if w.dofs[j].actuated else 0.0
    return shared


@inlined
def _wanted(w: WorldView, dt: float) -> None:
    """w.rhs = M^ (v+ - v) / dt + bias: all forces that the motion needs, shape (nv,)."""
    nv = w.header[0].nv
    for i in range(nv):
        w.rhs[i] = w.bias[i]
    for i in range(nv):
        # M by its lower triangle: each entry serves two rows
        for j in range(i + 1):
            w.rhs[i] += w.M[i, j] * (w.v_new[j] - w.v[j]) / dt
            if j < i:
                w.rhs[j] += w.M[i, j] * (w.v_new[i] - w.v[i]) / dt


@inlined
def _load(w: WorkView, rows: int, nv: int, dt: float, load: Floats) -> None:
    for j in range(nv):
        load[j] = 0.0
    for r in range(rows):
        p = w.impulse_row[r]
        if p != 0.0:
            for j in range(nv):
                load[j] += w.J[r, j] * p / dt


@inlined
def _row_velocity(w: WorkView, row: int, nv: int) -> float:
    total = 0.0
    for j in range(nv):
        total += w.J[row, j] * w.v_new[j]
    return total


@inlined
def _edges(w: WorldView, count: int, dt: float) -> int:
    """List the edges n + c t1 + s t2 of the cones of closed contacts, those of one together.

    A sliding contact has the one edge that opposes its slip.
    """
    header, polygon = w.header[0], polygon_of(w)[0]
    n = 0
    for i in range(count):
        contact = w.contacts[i]
        r = contact.row
        # It parts: it carries nothing
        if _row_velocity(w, r, header.nv) + contact.target / dt > CLOSED:
            continue
        slip = 0.0
        for k in range(contact.tangents):
            slip += _row_velocity(w, r + 1 + k, header.nv) ** 2
        slip = math.sqrt(slip)
        # One edge without friction, one against the slip where it slides, else those of the pyramid
        if contact.tangents == 0:
            n = _edge(w, n, i, 0.0, 0.0)
        elif slip > SLIDES:
            v1 = _row_velocity(w, r + 1, header.nv)
            v2 = _row_velocity(w, r + 2, header.nv) if contact.tangents == 2 else 0.0
            mu = contact.friction
            n = _edge(w, n, i, -mu * v1 / slip, -mu * v2 / slip)
        else:
            for k in range(polygon.directions):
                mu = contact.friction
                n = _edge(w, n, i, mu * polygon.cosines[k], mu * polygon.sines[k])
    return n


@inlined
def _edge(w: WorkView, count: int, index: int, cosine: float, sine: float) -> int:
    edge = w.variables[count]
    edge.block = index
    edge.row = w.contacts[index].row
    edge.c = cosine
    edge.s = sine
    return count + 1


@inlined
def _share(w: WorkView, count: int, rows: int, dt: float, cost: Floats) -> bool:
    """Edge impulses alpha into `w.z`; False if they do not keep the motion."""
    nv = w.header[0].nv
    y, slope, change = w.tau, w.v_free, w.free_dof_mask
    along, turn, costs = w.b, w.A[0], w.H[0]  # c_g'y, c_g' change, d_g
    if not _costs(w, count, cost, costs):
        return False
    # Newton's method on the dual y, from zero
    for j in range(nv):
        y[j] = 0.0
    for g in range(count):
        along[g] = 1.0  # to start with, as if no edge's bound acted
    kept, length = 0, 0.0
    for step in range(STEPS):
        # Edges whose bound does not act carry
        same = step > 0
        for g in range(count):
            acts = 1 if along[g] > 0.0 else 0
            same = same and acts == w.active[g]
            w.active[g] = acts
            w.z[g] = max(along[g], 0.0) / costs[g] if step > 0 else 0.0
        # The same edges after a whole step: y is the answer, and once more takes out roundoff
        kept = kept + 1 if same and length == 1.0 else 0
        if kept > 1:
            break
        # Newton's step, and how far it goes
        _slope(w, count, rows, dt, y, slope)
        _curvature(w, count, nv, costs)
        factorise_symmetric(w.L, nv)
        for j in range(nv):
            slope[j] = -slope[j]
        substitute_symmetric(w.L, nv, slope, change)
        _along(w, count, rows, nv, change, turn)
        length = 1.0
        if step > 0:
            length = _length(w, count, slope, change, along, turn, costs)
        for j in range(nv):
            y[j] += length * change[j]
        for g in range(count):  # by what it changes: c_g'y itself would cancel
            along[g] = length * turn[g] + (along[g] if step > 0 else 0.0)
    _meet_rows(w, count, rows, dt)
    return _misses(w, count, rows, dt) <= 1e-12


@inlined_source
def _costs(w: WorkView, count: int, cost: Floats, costs: Floats) -> bool:
    """Cost d_g of each edge's impulse; False where no contact acts on an actuator."""
    scale = 0.0
    # What an edge's unit of impulse would cost the motors: the unit of all costs
    for g in range(count):
        total = 0.0
        for j in range(w.header[0].nv):
            if w.dofs[j].actuated:
                entry = _entry(w, g, j)
                total += entry * entry * _weight(w, j)
        scale = max(scale, total)
    for g in range(count):
        source = w.contacts[w.variables[g].block].source
        costs[g] = scale * (STRICT + cost[source])
    return scale > 0.0


@inlined
def _along(w: WorkView, count: int, rows: int, nv: int, dual: Floats, out: Floats) -> None:
    """out_g = c_g'y of each edge."""
    multiply(w.J, rows, nv, dual, w.v_row)
    for g in range(count):
        edge = w.variables[g]
        r, tangents = edge.row, w.contacts[edge.block].tangents
        out[g] = w.v_row[r]
        if tangents > 0:
            out[g] += edge.c * w.v_row[r + 1]
        if tangents > 1:
            out[g] += edge.s * w.v_row[r + 2]


@inlined
def _row_impulses(w: WorkView, count: int, rows: int, alpha: Floats) -> None:
    """Impulses of the rows, into `w.impulse_row`, from those of the edges."""
    p = w.impulse_row
    for r in range(rows):
        p[r] = 0.0
    for g in range(count):
        edge = w.variables[g]
        r, tangents = edge.row, w.contacts[edge.block].tangents
        p[r] += alpha[g]
        if tangents > 0:
            p[r + 1] += edge.c * alpha[g]
        if tangents > 1:
            p[r + 2] += edge.s * alpha[g]


@inlined_source
def _slope(w: WorkView, count: int, rows: int, dt: float, dual: Floats, slope: Floats) -> None:
    """Gradient of the dual at `dual`, for the edges' impulses in `w.z`."""
    wanted, load = w.rhs, w.v_next
    _row_impulses(w, count, rows, w.z)
    # Motors' rows have a quadratic cost, the others must keep their load
    _load(w, rows, w.header[0].nv, 1.0, slope)
    for j in range(w.header[0].nv):
        if w.dofs[j].actuated:
            slope[j] += dual[j] / _weight(w, j) - dt * wanted[j]
        else:
            slope[j] -= dt * load[j]


@inlined_source
def _curvature(w: WorkView, count: int, nv: int, costs: Floats) -> None:
    """Second derivatives of the dual, upper triangle in `w.L`, contact by contact."""
    K, J = w.L, w.J
    for i in range(nv):
        for j in range(nv):
            K[i, j] = 0.0
    # Each contact's edges that act add up to a matrix of three rows and columns
    g = 0
    while g < count:
        contact = w.variables[g].block
        r, tangents = w.variables[g].row, w.contacts[contact].tangents
        nn = nc = ns = cc = cs = ss = 0.0
        while g < count and w.variables[g].block == contact:
            if w.active[g]:
                rate, c, s = 1.0 / costs[g], w.variables[g].c, w.variables[g].s
                nn, nc, ns = nn + rate, nc + rate * c, ns + rate * s
                cc, cs, ss = cc + rate * c * c, cs + rate * c * s, ss + rate * s * s
            g += 1
        if nn == 0.0:
            continue
        # Its part of the second derivatives, J^T of it times J
        t1, t2 = r + min(tangents, 1), r + tangents  # rows that are there, if not needed
        for i in range(nv):
            a, b, c = J[r, i], J[t1, i], J[t2, i]
            if tangents < 2:
                c = 0.0
            if tangents < 1:
                b = 0.0
            if a != 0.0 or b != 0.0 or c != 0.0:
                x, y, z = (
                    nn * a + nc * b + ns * c,
                    nc * a + cc * b + cs * c,
                    ns * a + cs * b + ss * c,
                )
                if tangents < 2:
                    z = 0.0
                if tangents < 1:
                    y = 0.0
                for j in range(i, nv):
                    K[i, j] += x * J[r, j] + y * J[t1, j] + z * J[t2, j]
    # What motors cost, and enough on the diagonal to factor it
    for j in range(nv):
        if w.dofs[j].actuated:
            K[j, j] += 1.0 / _weight(w, j)
        K[j, j] *= 1.0 + PROXIMAL


@inlined_source
def _length(
    w: WorkView,
    count: int,
    fall: Floats,
    change: Floats,
    along: Floats,
    turn: Floats,
    costs: Floats,
) -> float:
    """Part of the step, at most 1, that minimises the dual; `fall` is its negated gradient at y."""
    start, bend = 0.0, 0.0  # slope along the step, and its rate without the edges' part
    # The dual is piecewise quadratic along the step: its slope is piecewise linear
    for j in range(w.header[0].nv):
        start -= fall[j] * change[j]
        if w.dofs[j].actuated:
            bend += change[j] * change[j] / _weight(w, j)
    free = start
    for g in range(count):
        free -= max(along[g], 0.0) / costs[g] * turn[g]
    # Newton's method on that slope, kept between two ends by bisection
    low, high, t = 0.0, 1.0, 1.0
    for _ in range(SEARCHES):
        value, rate = free + t * bend, bend
        for g in range(count):
            reached = along[g] + t * turn[g]
            if reached > 0.0:
                value += reached / costs[g] * turn[g]
                rate += turn[g] * turn[g] / costs[g]
        if abs(value) <= FLAT * abs(start) or (value < 0.0 and t == 1.0):
            break
        low, high = (t, high) if value < 0.0 else (low, t)
        t -= value / rate
        if not low < t < high:
            t = 0.5 * (low + high)
    return t


@inlined
def _entry(w: WorkView, number: int, coordinate: int) -> float:
    """What edge `number` does to `coordinate`."""
    edge = w.variables[number]
    r, tangents = edge.row, w.contacts[edge.block].tangents
    total = w.J[r, coordinate]
    if tangents > 0:
        total += edge.c * w.J[r + 1, coordinate]
    if tangents > 1:
        total += edge.s * w.J[r + 2, coordinate]
    return float(total)


@inlined
def _meet_rows(w: WorkView, count: int, rows: int, dt: float) -> None:
    """Take roundoff out of the unactuated rows (Kaczmarz sweeps over loaded edges)."""
    load = w.v_next
    # Until nothing is missed, or sweeps gain too little to go on
    before = math.inf
    for _ in range(SWEEPS):
        misses = _misses(w, count, rows, dt)
        if misses <= EXACT or misses > SLOW * before:
            break
        before = misses
        for j in range(w.header[0].nv):
            if w.dofs[j].actuated:
                continue
            # What the row misses, and how its loaded edges can make up for it
            miss, size = load[j] * dt, 0.0
            for g in range(count):
                if w.z[g] > 0.0:
                    entry = _entry(w, g, j)
                    miss -= entry * w.z[g]
                    size += entry * entry
            if size > 0.0:
                for g in range(count):
                    if w.z[g] > 0.0:
                        w.z[g] = max(w.z[g] + _entry(w, g, j) * miss / size, 0.0)


@inlined
def _misses(w: WorkView, count: int, rows: int, dt: float) -> float:
    """By how much the new impulses load the unactuated coordinates unlike the old ones did."""
    load, total = w.v_next, w.v_free
    _row_impulses(w, count, rows, w.z)
    _load(w, rows, w.header[0].nv, 1.0, total)
    worst, size = 0.0, 1.0
    for j in range(w.header[0].nv):
        if w.dofs[j].actuated == 0:
            worst = max(worst, abs(total[j] - load[j] * dt))
            size = max(size, abs(load[j] * dt))
    return worst / size


@inlined
def _weight(w: ModelView, coordinate: int) -> float:
    effort = w.dofs[coordinate].effort
    return 1.0 / (effort * effort) if math.isfinite(effort) else 1.0


@inlined
def _world_impulses(w: WorldView, count: int, total: int) -> None:
    """Remember the shared impulses of the contacts, world axes."""
    # What was remembered was the LCP's own: it is replaced
    for i in range(count):
        touch(w, w.contacts[i].candidate)
        memory = w.memory[w.contacts[i].candidate]
        for k in range(3):
            memory.impulse[k] = 0.0
    for g in range(total):
        edge = w.variables[g]
        contact = w.contacts[edge.block]
        memory = w.memory[contact.candidate]
        for k in range(3):
            memory.impulse[k] += w.z[g] * (
                contact.normal[k] + edge.c * contact.t1[k] + edge.s * contact.t2[k]
            )
