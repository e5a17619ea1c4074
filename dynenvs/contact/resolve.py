"""From free motion to the motion with contact: select, assemble, solve, look again."""

from __future__ import annotations

from dynenvs.contact.assembly.impulses import apply_impulses
from dynenvs.contact.assembly.loops import HELD, hold_loops, respect_loops
from dynenvs.contact.assembly.rows import (
    contact_rows,
    couple,
    first_limited,
    is_limit_near,
    limit_rows,
    limited_coordinate,
    moving_tree,
    rows_to_fill,
    stop_ahead,
)
from dynenvs.contact.assembly.swing_rows import add_missed_swings, expect_swings, swing_rows
from dynenvs.contact.detection.broad_phase import entry_of
from dynenvs.contact.detection.detect import (
    add_contact,
    deepest_point,
    deepest_slot,
    is_contact,
    locate,
    look_for_spots,
    measure_group,
    number_contacts,
    read_low,
    select_contacts,
    set_drift,
)
from dynenvs.contact.detection.manifold import FOUND, carry, hold, open_pair, pull_back
from dynenvs.contact.detection.seams import foresee
from dynenvs.contact.rolled import roll_on
from dynenvs.contact.solve import solve_contacts
from dynenvs.contact.sparse.solve import solve_sparse
from dynenvs.dynamics.recursion import PASSED, couple_by_recursion
from dynenvs.dynamics.refine import REFINED, refine_biases, refine_response
from dynenvs.jit.compiled import apart, inlined
from dynenvs.kinematics.joints import integrate
from dynenvs.kinematics.poses import update_poses, update_velocities
from dynenvs.lcp.solve import CERTIFIED, DEGRADED, FAILED
from dynenvs.lcp.workspace import integer
from dynenvs.memory.layout import (
    Bytes,
    ModelView,
    StateView,
    WorkspaceView,
    buffers_of,
    open_broad,
    open_model,
    open_state,
    open_stops,
    open_workspace,
)
from dynenvs.memory.records import PYRAMID, STOPS, SWING

ROUNDS = 5  # of adding candidates that the answer reached unforeseen
MISSED = 1e-9  # depth from which such a candidate counts [m]


@apart("int64(uint8[::1], uint8[::1], uint8[::1], float64, int64, float64)", "contact", seconds=30)
def resolve_contacts(
    packed: Bytes, row: Bytes, buffer: Bytes, dt: float, unactuated: int, ahead: float
) -> int:
    """From `w.v_free` and factors `w.L` to `w.v_new`, `w.q_new` and the impulses.

    Features that were left out and that the answer would carry below ground are added, and so are
    joint stops that it would pass; the problem is solved again.  `w.answer` tells the worst
    residual, all pivots, and the numbers of contacts and rows.  Returns the status.
    """
    m = open_model(packed)
    s, w = open_state(m, row), open_workspace(m, buffer)
    nv = m.header[0].nv
    w.answer[0].poses_valid = 0  # `pose_new` is about to change
    if look_for_spots(m, s, w, packed, buffer, 0) != FOUND:
        return FAILED
    if foresee(m, w, packed, row, buffer, dt) != FOUND:
        return FAILED
    count = select_contacts(m, s, w, dt)
    if count > m.header[0].nc:  # the step is repeated with more room
        w.answer[0].wanted = count
        return FAILED
    if ahead > 0.0:
        look_ahead(m, s, w, count, ahead)
    for j in range(nv):
        w.free_dof_mask[j] = 0.0 if unactuated and m.dofs[j].actuated else 1.0
        w.expected[j] = w.v_free[j]
    closed = m.header[0].ne > 0
    if closed and hold_loops(packed, buffer, s.q) != HELD:
        return FAILED
    if m.header[0].nswings > 0:
        expect_swings(packed, row, buffer, dt)
    worst, pivots = 0.0, 0
    status = CERTIFIED
    for _ in range(ROUNDS):
        forward = unactuated == 0 and ahead == 0.0
        if forward and m.header[0].sparse != 0:
            status = solve_sparse(packed, row, buffer, count, dt)
        else:
            status = _solve_densely(m, s, w, count, dt, unactuated == 0)
        worst = max(worst, w.answer[0].residual)
        pivots += w.answer[0].pivots
        s.status[0].solves += 1
        if status == DEGRADED:
            s.status[0].degraded += 1
        elif status != CERTIFIED:
            break
        integrate(m, s.q, w.v_new, dt, w.q_new)
        update_poses(m, w.q_new, w.pose_new)
        if look_for_spots(m, s, w, packed, buffer, 1) != FOUND:
            return FAILED
        found = add_missed(m, s, w, packed, buffer, count)
        stops = add_missed_stops(m, s, w, dt) + roll_on(m, s, w, count)
        if found == count and stops == 0:
            break
        count = found
    answer = w.answer[0]
    answer.residual, answer.pivots, answer.contacts = worst, pivots, count
    return status


@inlined
def _solve_densely(
    m: ModelView,
    s: StateView,
    w: WorkspaceView,
    count: int,
    dt: float,
    forward: bool,
) -> int:
    """All contacts and limits in one problem, by its rows and their Delassus matrix `w.G`."""
    packed, row, buffer = buffers_of(m, s, w)
    closed = m.header[0].ne > 0
    w.answer[0].sparse = 0
    if count > m.header[0].nd:  # prescribed motion among many bodies
        return FAILED
    rows = contact_rows(moving_tree(m, w), w.contacts, count, w.v_free, dt, rows_to_fill(w))
    rows = limit_rows(
        m.dofs, s.q, rows, w.v_free, w.expected, dt, w.active, w.block, w.J, w.bias_row
    )
    if m.header[0].nswings > 0:
        rows = swing_rows(packed, row, buffer, rows, dt)
        if rows < 0:
            return FAILED
    w.answer[0].rows = rows
    if w.answer[0].recursive == 0:
        couple(m.dofs, w.J, w.L, rows, w.free_dof_mask, w.active, w.block, w.Y, w.G)
    elif couple_by_recursion(packed, buffer, rows) != PASSED:
        return FAILED
    if closed and rows > 0 and respect_loops(packed, buffer, rows) != HELD:
        return FAILED
    return int(_respond(m, s, w, count, rows, dt, forward))


@inlined
def _respond(
    m: ModelView,
    s: StateView,
    w: WorkspaceView,
    count: int,
    rows: int,
    dt: float,
    forward: bool,
) -> int:
    """Impulses of the rows and `w.v_new`, on the world's own cone if forward; returns the status.

    Twice where the model is refined: the second time with what the first one missed.
    """
    packed, row, buffer = buffers_of(m, s, w)
    refined = m.header[0].refined != 0 and rows > 0 and forward
    if refined and refine_biases(packed, row, buffer, count, dt) != REFINED:
        return FAILED
    status = CERTIFIED
    for _ in range(2 if refined else 1):
        for j in range(m.header[0].nv):
            w.v_new[j] = w.v_free[j]
        law = s.status[0].cone if forward else PYRAMID
        status = solve_contacts(m, s, w, count, rows, law, dt)
        if rows > 0:
            apply_impulses(m.dofs, w.Y, w.L, w.impulse_row, rows, w.rhs, w.v_new)
        if refined and refine_response(packed, row, buffer, count, rows, dt) != REFINED:
            return FAILED
    if m.header[0].nlimited:
        _remember_stops(m, s, w, count, rows)
    return int(status)


@inlined
def _remember_stops(m: ModelView, s: StateView, w: WorkspaceView, count: int, rows: int) -> None:
    """Keep what joint stops gave each coordinate; their rows follow the contacts'."""
    stops = open_stops(m, s)
    for j in range(m.header[0].nv):
        stops[j] = 0.0
    first = integer(0)
    if count > 0:
        first = w.contacts[count - 1].row + 1 + w.contacts[count - 1].tangents
    for r in range(first, rows):
        j = first_limited(m.dofs, limited_coordinate(w.J, r))
        for k in range(j, j + (3 if m.dofs[j].limited == SWING else 1)):
            stops[k] = w.J[r, k] * w.impulse_row[r]


@inlined
def look_ahead(m: ModelView, s: StateView, w: WorkspaceView, count: int, ahead: float) -> None:
    """Turn bodies and contact points along the velocity; gaps stay those of now.

    A foot at rest between fast joints stays at rest only by the Jacobian of the time at which the
    velocity is wanted.
    """
    for i in range(count):
        contact = w.contacts[i]
        if contact.slot >= 0:
            hold(w.pose[contact.body_b], contact)
    integrate(m, s.q, s.v, ahead, w.q_new)
    update_poses(m, w.q_new, w.pose)
    update_velocities(m, s.v, w)
    for i in range(count):
        contact = w.contacts[i]
        if contact.slot < 0:
            locate(m.features[contact.source], w.pose, contact)
        else:
            carry(w.pose[contact.body_a], w.pose[contact.body_b], contact)
        set_drift(m, s, w.pose, contact)


@inlined
def add_missed(
    m: ModelView, s: StateView, w: WorkspaceView, packed: Bytes, buffer: Bytes, count: int
) -> int:
    """Add every candidate that is below ground at the end of the step and not in the problem.

    `w.answer` tells the gap of the deepest one, or FAR where nothing is near.
    """
    h = m.header[0]
    n, w.answer[0].lowest = read_low(m, s, w, MISSED)
    number_contacts(w, count)
    listed = count
    for i in range(n):
        k, f = w.low[i], w.low[h.nk + i]
        if is_contact(w, listed, k):
            continue
        if count == h.nc:
            w.answer[0].wanted = count + 1
            break
        contact = w.contacts[count]
        if k < h.npoints:
            measure_group(m.features, w.pose, w.gaps, f)
            locate(m.features[f], w.pose, contact)
            deepest = deepest_point(m.features, w.gaps, h.npoints, f)
        else:
            slot, a, b = k - h.npoints, m.features[f].body_a, m.features[f].body_b
            after = open_broad(m, packed, buffer).entry_after
            at = entry_of(w.near, h.nnear, w.answer[0].near_after, after, f - h.npoints)
            open_pair(packed, buffer, w, m, at)
            w.gaps[k] = pull_back(m, w, w.spots[h.ns + slot], a, b, contact)
            deepest = deepest_slot(m, w, w.near[h.nnear + at])
        add_contact(m, s, w.pose, w.gaps[k], deepest, f, k, contact)
        count += 1
    return count


@inlined
def add_missed_stops(m: ModelView, s: StateView, w: WorkspaceView, dt: float) -> int:
    """Expect the answer's velocities where they lead beyond a stop that had no row, or a ball's.

    The next problem then has a row for that stop; one of a coordinate's two stops is enough, since
    at most one of them can bear.  Returns how many stops there are of these kinds.
    """
    missed = 0
    for j in range(m.header[0].nv if m.header[0].nlimited > 0 else 0):
        dof = m.dofs[j]
        if dof.limited != STOPS:
            continue
        left, passed = stop_ahead(dof, w.q_new, 0.0, 0.0)
        if left < -MISSED:
            gap, sign = stop_ahead(dof, s.q, w.expected[j], dt)
            if sign != passed or not is_limit_near(gap, sign * w.expected[j], dt):
                missed += 1
                w.expected[j] = w.v_new[j]
    if m.header[0].nswings > 0:
        packed, row, buffer = buffers_of(m, s, w)
        missed += max(add_missed_swings(packed, row, buffer, dt), 0)
    return missed
