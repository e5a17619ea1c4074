"""From free motion to the motion with contact: select, assemble, solve, look again."""

from __future__ import annotations

from typing import Any

from dynenvs.contact.assembly.impulses import apply_impulses
from dynenvs.contact.assembly.loops import HELD, hold_loops, respect_loops
from dynenvs.contact.assembly.more_rows import (
    add_moment_rows,
    dry_rows,
    keep_moments,
    scale_moments,
)
from dynenvs.contact.assembly.problem import least_speed
from dynenvs.contact.assembly.rows import (
    after_contacts,
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
from dynenvs.contact.assembly.working_set import (
    add_sinking,
    choose_contacts,
    has_many,
    swap_contacts,
)
from dynenvs.contact.detection.broad_phase import entry_of
from dynenvs.contact.detection.detect import (
    add_contact,
    deepest_point,
    deepest_slot,
    detect_spots,
    has_sunk,
    is_contact,
    locate,
    measure_group,
    number_contacts,
    read_low,
    select_contacts,
    set_drift,
)
from dynenvs.contact.detection.manifold import FOUND, carry, hold, open_pair, pull_back
from dynenvs.contact.detection.seams import foresee
from dynenvs.contact.law.directional import set_directions
from dynenvs.contact.law.viscous import hold_film, keep_drag, respect_film
from dynenvs.contact.rolled import roll_on
from dynenvs.contact.solve import solve_contacts
from dynenvs.contact.sparse.solve import solve_sparse
from dynenvs.contact.turned import bend_ways, turn_impulses
from dynenvs.dynamics.recursion import PASSED, couple_by_recursion
from dynenvs.dynamics.refine import REFINED, refine_biases, refine_response
from dynenvs.jit.compiled import inlined, unit
from dynenvs.kinematics.joints import integrate
from dynenvs.kinematics.poses import update_poses, update_velocities
from dynenvs.lcp.solve import CERTIFIED, DEGRADED, FAILED
from dynenvs.memory.layout import WorldView, cone_of
from dynenvs.memory.records import PYRAMID, STOPS, SWING

ROUNDS = 5  # of adding candidates that the answer reached unforeseen
ROLLING = 12  # of all, where rims roll on
TURNED = 0
MISSED = 1e-9  # depth from which such a candidate counts [m]


@unit("contact", seconds=19)
def resolve_contacts(w: WorldView, dt: float, unactuated: int, ahead: float) -> int:
    """From `w.v_free` and factors `w.L` to `w.v_new`, `w.q_new` and the impulses.

    Features that were left out and that the answer would carry below ground are added, and so are
    joint stops that it would pass; the problem is solved again.  `w.answer` tells the worst
    residual, all pivots, and the numbers of contacts and rows.  Returns the status.
    """
    count = _list_contacts(w, dt, ahead)
    if count < 0 or not _expect_motion(w, count, dt, unactuated):
        return FAILED
    answer, forward = w.answer[0], unactuated == 0 and ahead == 0.0
    listed = count
    if forward and answer.film == 0 and has_many(w, count):
        count = choose_contacts(w, count, dt)
        if count < 0:
            return FAILED
    # Solve, look where that leads, and once more with what was missed there
    worst, pivots, status = 0.0, 0, CERTIFIED
    for attempt in range(ROLLING):
        status, count = _solve_listed(w, count, listed, dt, unactuated, forward)
        worst = max(worst, answer.residual)
        pivots += answer.pivots
        w.status[0].solves += 1
        if status == DEGRADED:
            w.status[0].degraded += 1
        elif status != CERTIFIED:
            break
        # Contacts that the answer carries into the ground, and stops that it passes
        integrate(w, w.q, w.v_new, dt, w.q_new)
        update_poses(w, w.q_new, w.pose_new)
        if detect_spots(w, 1, dt) != FOUND:
            return FAILED
        # The answer is that of the contacts which were solved, at the last attempt, too
        found, listed = add_missed(w, count, listed)
        stops = add_missed_stops(w, dt)
        rolling = roll_on(w, count, dt, attempt) if attempt + 1 < ROLLING else 0
        turned = _turn(w, count, dt, attempt) if forward else 0
        if found == count and stops == 0 and rolling == 0 and turned == 0:
            break
        if attempt + 1 >= (ROUNDS if rolling == 0 else ROLLING):
            break
        count = found
    answer.residual, answer.pivots = worst, pivots
    answer.contacts, answer.listed = count, listed
    return status


@inlined
def _list_contacts(w: WorldView, dt: float, ahead: float) -> int:
    """Which contacts there are, by the poses at the start of the step; -1 where that fails."""
    w.answer[0].poses_valid = 0  # `pose_new` is about to change
    if detect_spots(w, 0, dt) != FOUND or foresee(w, dt) != FOUND:
        return -1
    count = select_contacts(w, dt)
    if count > w.header[0].nc:  # the step is repeated with more room
        w.answer[0].wanted = count
        return -1
    if ahead > 0.0 and look_ahead(w, count, ahead) != TURNED:
        return -1
    return int(count)


@inlined
def _expect_motion(w: WorldView, count: int, dt: float, unactuated: int) -> bool:
    """What yields to impulses, and what loops, limits of balls and films leave of `w.v_free`."""
    for j in range(w.header[0].nv):
        w.free_dof_mask[j] = 0.0 if unactuated and w.dofs[j].actuated else 1.0
        w.expected[j] = w.v_free[j]
    if w.header[0].ne > 0 and hold_loops(w, w.q) != HELD:
        return False
    if w.header[0].nswings > 0:
        expect_swings(w, dt)
    # So does viscous friction, of all that touches now
    w.answer[0].film = 0
    return w.header[0].nviscous == 0 or hold_film(w, count, dt) >= 0


@inlined
def _solve_listed(
    w: WorldView, count: int, listed: int, dt: float, unactuated: int, forward: bool
) -> tuple[int, int]:
    """The first `count` contacts in one problem, and those of all that sink by its answer.

    Returns (status, contacts that the problem has in the end).
    """
    while True:
        if forward and w.header[0].sparse != 0:
            status = solve_sparse(w, count, dt)
        else:
            status = _solve_densely(w, count, dt, unactuated == 0, forward)
        chosen = count
        if status != FAILED and listed > count:
            chosen = add_sinking(w, count, listed, least_speed(w.header, dt), dt)
        if chosen <= count:
            return int(status), count
        count = chosen


@inlined
def _turn(w: WorldView, count: int, dt: float, attempt: int) -> int:
    """Bodies that spin turn what impulses give them; returns for how many that is news.

    Loops and films have a free motion of their own.
    """
    h = w.header[0]
    if h.nspins == 0 or h.ne > 0 or w.answer[0].film != 0:
        return 0
    turned = turn_impulses(w, count, dt) if attempt + 1 < ROUNDS else 0
    if attempt == 0 and h.nsurfaces == 0:
        turned += bend_ways(w, count, dt)
    return int(turned)


@inlined
def _solve_densely(w: WorldView, count: int, dt: float, forward: bool, rubs: bool) -> int:
    """All contacts and limits in one problem, by its rows and their Delassus matrix `w.G`.

    forward: as of `_respond`; rubs: whether dry joints and moments of contacts are part of it
    """
    closed = w.header[0].ne > 0
    w.answer[0].sparse = 0
    if count > w.header[0].nd:  # prescribed motion among many bodies
        return FAILED
    turns = rubs and w.header[0].moments != 0
    # Rows: contacts, their moments, stops of hinges and slides, of balls, dry joints
    if w.header[0].ngrains > 0 and set_directions(w, count) < 0:
        return FAILED
    tree = moving_tree(w)
    rows = contact_rows(tree, w.contacts, count, w.v_free, dt, rows_to_fill(w), turns)
    if turns and add_moment_rows(w, count, w.v_free) < 0:
        return FAILED
    rows = limit_rows(
        w.dofs, w.q, rows, w.v_free, w.expected, dt, w.active, w.block, w.J, w.bias_row
    )
    if w.header[0].nswings > 0:
        rows = swing_rows(w, rows, dt)
        if rows < 0:
            return FAILED
    w.answer[0].dry = rows
    if rubs and w.header[0].ndry > 0:
        rows = dry_rows(w, rows)
        if rows < 0:
            return FAILED
    w.answer[0].rows = rows
    # How impulses along them move all rows; loops take their part of that
    if w.answer[0].recursive == 0:
        couple(w.dofs, w.J, w.L, rows, w.free_dof_mask, w.active, w.block, w.Y, w.G)
        w.answer[0].rooted = 1
    elif couple_by_recursion(w, rows) != PASSED:
        return FAILED
    if turns and scale_moments(w, count, rows) < 0:
        return FAILED
    if closed and rows > 0 and respect_loops(w, rows) != HELD:
        return FAILED
    if w.answer[0].film > 0 and respect_film(w, rows) < 0:
        return FAILED
    return int(_respond(w, count, rows, dt, forward, rubs))


@inlined
def _respond(w: WorldView, count: int, rows: int, dt: float, forward: bool, rubs: bool) -> int:
    """Impulses of the rows and `w.v_new`, on the world's own cone if forward; returns the status.

    Twice where the model is refined: the second time with what the first one missed.
    """
    # Deep trees: G p has lost digits that the bodies' own equations still have
    refined = w.header[0].refined != 0 and rows > 0 and forward
    if refined and refine_biases(w, count, dt) != REFINED:
        return FAILED
    status = CERTIFIED
    for _ in range(2 if refined else 1):
        # Impulses, and the motion that they give
        for j in range(w.header[0].nv):
            w.v_new[j] = w.v_free[j]
        law = cone_of(w) if forward else PYRAMID
        status = solve_contacts(w, count, rows, law, dt)
        if rows > 0:
            apply_impulses(w.dofs, w.Y, w.L, w.impulse_row, rows, w.rhs, w.v_new)
        if refined and refine_response(w, count, rows, dt) != REFINED:
            return FAILED
    # What the next step starts from
    if w.header[0].nlimited:
        _remember_stops(w, count, w.answer[0].dry)
    if rubs and w.header[0].ndry > 0:
        _remember_dry(w, rows)
    if rubs and w.header[0].moments != 0 and keep_moments(w, count) < 0:
        return FAILED
    if w.answer[0].film > 0 and keep_drag(w, rows) < 0:
        return FAILED
    return int(status)


@inlined
def _remember_dry(w: WorldView, rows: int) -> None:
    """Keep what dry friction gave each coordinate; its rows follow all others."""
    r, last = w.answer[0].dry, w.dry
    for j in range(w.header[0].nv):
        last[j] = 0.0
        if w.dofs[j].friction > 0.0 and r < rows:
            last[j] = w.impulse_row[r]
            r += 1


@inlined
def _remember_stops(w: WorldView, count: int, rows: int) -> None:
    """Keep what joint stops gave each coordinate; their rows follow the contacts', to `rows`."""
    stops = w.stops
    for j in range(w.header[0].nv):
        stops[j] = 0.0
    first = after_contacts(w.contacts, count)
    # Stops that bore nothing have forgotten theirs by now
    for r in range(first, rows):
        j = first_limited(w.dofs, limited_coordinate(w.J, r))
        for k in range(j, j + (3 if w.dofs[j].limited == SWING else 1)):
            stops[k] = w.J[r, k] * w.impulse_row[r]


@unit("inverse", seconds=2)
def look_ahead(w: WorldView, count: int, ahead: float) -> int:
    """Turn bodies and contact points along the velocity; gaps stay those of now.

    A foot at rest between fast joints stays at rest only by the Jacobian of the time at which the
    velocity is wanted.  Returns TURNED.
    """
    # Contacts are carried along in the frames of their bodies
    for i in range(count):
        contact = w.contacts[i]
        if contact.slot >= 0:
            hold(w.pose[contact.body_b], contact)
    integrate(w, w.q, w.v, ahead, w.q_new)
    update_poses(w, w.q_new, w.pose)
    update_velocities(w, w.v)
    for i in range(count):
        contact = w.contacts[i]
        if contact.slot < 0:
            locate(w.features[contact.source], w.pose, contact)
        else:
            carry(w.pose[contact.body_a], w.pose[contact.body_b], contact)
        set_drift(w, w.pose, contact)
    return TURNED


@inlined
def add_missed(w: WorldView, count: int, listed: int) -> tuple[int, int]:
    """Add every candidate that is below ground at the end of the step and not in the problem.

    Of those that were left out as redundant, contacts count, ..., listed - 1, what ends as deep as
    it began is let be.  `w.answer` tells the gap of the deepest one, or FAR where nothing is near.
    Returns both numbers.
    """
    h = w.header[0]
    n, w.answer[0].lowest = read_low(w, MISSED)
    number_contacts(w, listed)
    for i in range(n):
        k, f = w.low[i], w.low[h.nk + i]
        if is_contact(w, count, k):
            continue
        if not is_contact(w, listed, k):
            # No room: the step is repeated with more
            if listed == h.nc:
                w.answer[0].wanted = listed + 1
                break
            _add_at_end(w, f, k, w.contacts[listed])
            w.numbers[k] = listed
            listed += 1
        elif not has_sunk(w, w.contacts[w.numbers[k]], MISSED):
            continue
        # To the others in the problem
        at = w.numbers[k]
        swap_contacts(w.contacts, at, count)
        w.numbers[w.contacts[at].candidate], w.numbers[k] = at, count
        count += 1
    return count, listed


@inlined
def _add_at_end(w: WorldView, f: int, k: int, contact: Any) -> None:
    """Fill a contact with candidate k, of feature f, that is found at the end of the step."""
    h = w.header[0]
    # A feature against the ground: where it is now, before the step
    if k < h.npoints:
        measure_group(w.features, w.pose, w.gaps, f)
        locate(w.features[f], w.pose, contact)
        deepest = deepest_point(w.features, w.gaps, h.npoints, f)
    # A pair of shapes: the contact found at the end, taken back to the start
    else:
        slot, a, b = k - h.npoints, w.features[f].body_a, w.features[f].body_b
        after = w.broad.entry_after
        at = entry_of(w.near, h.nnear, w.answer[0].near_after, after, f - h.npoints)
        open_pair(w, at)
        w.gaps[k] = pull_back(w, w.spots[h.ns + slot], a, b, contact)
        deepest = deepest_slot(w, w.near[h.nnear + at])
    add_contact(w, w.pose, w.gaps[k], deepest, f, k, contact)


@inlined
def add_missed_stops(w: WorldView, dt: float) -> int:
    """Expect the answer's velocities where they lead beyond a stop that had no row, or a ball's.

    The next problem then has a row for that stop; one of a coordinate's two stops is enough, since
    at most one of them can bear.  Returns how many stops there are of these kinds.
    """
    missed = 0
    # One coordinate's stop that is passed, by more than rounding
    for j in range(w.header[0].nv if w.header[0].nlimited > 0 else 0):
        dof = w.dofs[j]
        if dof.limited != STOPS:
            continue
        left, passed = stop_ahead(dof, w.q_new, 0.0, 0.0)
        if left < -MISSED:
            # Not if it had a row and was passed all the same: another one gains nothing
            gap, sign = stop_ahead(dof, w.q, w.expected[j], dt)
            if sign != passed or not is_limit_near(gap, sign * w.expected[j], dt):
                missed += 1
                w.expected[j] = w.v_new[j]
    if w.header[0].nswings > 0:
        missed += max(add_missed_swings(w, dt), 0)
    return missed
