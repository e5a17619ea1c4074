"""Correction of positions: after integration, contacts stand where their velocities said.

The velocities obey the constraints linearised at the start of the step; the integrated positions
miss them by terms of second order, and a contact that was below ground stays there.  Newton steps
in the kinetic metric remove both: pressing contacts get the gap (zero if it was negative) and
sticking ones the tangential displacement that their velocities announced.  Velocities,
and so kinetic energy, are not touched (docs/theory.md, Projection of positions).

The steps use the Jacobian of the start, so each leaves about as large a share of the errors as the
bodies have turned: they go on until nothing is in the ground.  A step that carries a feature
into the ground, or deeper, is taken back.  Pulls towards what has parted are then left out, and
what nothing parts (`dynenvs.contact.held`); and where the whole fails, what is in the ground is
lifted out by itself.  Where something is then deeper than anything was before, the step was too
long for its motion, and the caller hears of it.
"""

from __future__ import annotations

import math

from dynenvs.contact.detection.detect import (
    detect_spots,
    has_sunk,
    is_contact,
    number_contacts,
    read_low,
)
from dynenvs.contact.errors import AT_STOP, BURIED, LIFT, PULL, PUSH
from dynenvs.contact.gaps import deepest_contact, slot_at_end
from dynenvs.contact.held import (
    LARGE,
    PUSH_OUT,
    begin_corrections,
    end_corrections,
    hold_for_stops,
    hold_unmoved,
    hold_worse,
    let_go,
    overlap_held,
)
from dynenvs.contact.row_errors import (
    announce_rows,
    find_row_errors,
    row_moved,
    solve_row_errors,
)
from dynenvs.contact.sparse.island_errors import (
    SOLVED,
    announce_islands,
    find_island_errors,
    island_moved,
    solve_island_errors,
)
from dynenvs.contact.sparse.momentum import begin_momentum, restore_momentum
from dynenvs.jit.compiled import inlined, kernel, unit
from dynenvs.kinematics.joints import integrate
from dynenvs.kinematics.poses import update_poses
from dynenvs.kinematics.triples import dot, entries, subtract
from dynenvs.memory.layout import Floats, Records, WorldView
from dynenvs.memory.records import FAR, HELD, NEAREST, SWING

ATTEMPTS = 12  # at most to correct positions
HALVED = 0.5  # of the depth without any correction: what buries less is let be, and goes on
MUCH = 0.1  # of a pull: burying less may be an error of what is linear about it
ROUNDOFF = 1e-15  # errors below this are left alone at once [m] ...
DONE = 2e-10  # ... and below this, where something has been corrected or will be [m]
SMALL = 1e-5  # of pulls and ways along the ground: left at last; and just beyond a stop [rad, m]
FAR_TURN = 1e-4  # of a correction, from which it is looked at: at a metre it is LARGE [rad, m]
FARTHEST = 1.0  # of a coordinate in a whole correction: what asks for more stays [rad, m]
MOSTLY, PATIENT = 0.5, 6  # of what parts a contact, up to this attempt; then any part of it
MOST_TURN = 0.02  # of a coordinate in one correction [rad, m] ...
LEVER = 0.05  # ... and what the largest error asks for at this distance from an axis [m]
TINY = 1e-300  # in place of no correction at all, which is divided by
# What comes of an attempt
STANDS, TRY_AGAIN, ENDED = 0, 1, 2
# Which errors one meets: PARTLY where some rows were left out, since they would have pulled
ALL, PARTLY, UNSOLVED = 0, 1, 2


@unit("contact", seconds=14)
def correct_positions(w: WorldView, dt: float) -> int:
    """Correct `w.q_new` and `w.pose_new` at the end of a part of a step of dt.

    `w.pose_new` is left behind where `w.answer.poses_valid` is 0 then.
    Returns 1 if nothing ends deeper than the deepest contact was at the start, else 0.
    """
    aim, floating = w.correction[0], 0
    begin_corrections(w, w.answer[0].contacts)
    _begin(w, dt)
    if w.answer[0].sparse != 0:
        floating = begin_momentum(w, w.scene)
    corrected = False
    for attempt in range(ATTEMPTS if w.answer[0].rows > 0 else 0):
        aim.attempt = attempt
        if not _find_errors(w, dt):
            break
        solved = _solve(w, dt)
        if solved == UNSOLVED:
            break
        found = _attempt(w, dt, floating > 0 or solved == PARTLY)
        corrected = corrected or found != TRY_AGAIN
        if found == ENDED:
            break
    if aim.seen == 0:
        if aim.known != 0:
            _look(w, dt)
        aim.lowest, _ = sound(w, w.answer[0].contacts)
    # Overlaps that nothing parts may sink in further; else what goes on sinking is better left
    slack = LARGE if overlap_held(w, w.answer[0].contacts) else BURIED
    if aim.lowest < min(aim.bare, aim.least) - slack and aim.beyond <= LARGE:
        _go_back(w, dt)
    if floating > 0 and corrected:
        restore_momentum(w, w.scene)
    placed = bool(aim.lowest >= aim.least - slack)
    end_corrections(w, w.answer[0].contacts, placed)
    return 1 if placed else 0


@inlined
def _begin(w: WorldView, dt: float) -> None:
    """Where velocities lead, and how deep things are there."""
    aim, count = w.correction[0], w.answer[0].contacts
    if w.answer[0].sparse != 0:
        announce_islands(w)
    else:
        announce_rows(w)
    aim.way, aim.before, aim.seen, aim.known = PULL, math.inf, 1, 0
    aim.turned = dt * size(w.v_new)
    aim.least = deepest_contact(w.spots, w.contacts, count)
    aim.bare = w.answer[0].lowest
    if w.header[0].ne > 0:  # loops have been closed since
        aim.bare, _ = sound(w, count)
    aim.lowest = aim.bare


@inlined
def _find_errors(w: WorldView, dt: float) -> bool:
    """Errors of the constraints; False if nothing is left to correct."""
    aim = w.correction[0]
    for _ in range(2):
        aim.worst = aim.deep = aim.beyond = aim.pull = 0.0
        if w.answer[0].sparse != 0:
            find_island_errors(w, dt)
        else:
            find_row_errors(w, dt)
        done = aim.deep < DONE and aim.worst < SMALL
        if aim.worst < ROUNDOFF or (aim.attempt > 0 and done):
            return False
        if aim.attempt < 2 or aim.worst < aim.before:
            return True
        # It gains nothing any more: only what is in the ground, then
        if aim.way == LIFT:
            return False
        aim.way, aim.before = LIFT, math.inf
    return True


@inlined
def _solve(w: WorldView, dt: float) -> int:
    """The motion `w.v_next` that corrects the errors, or a part of large ones; which it meets."""
    aim = w.correction[0]
    # Where the last one has left a larger share than that, so will this one
    aim.turned = max(aim.turned, aim.worst / aim.before)
    aim.before = aim.worst
    aim.share = min(1.0, PUSH_OUT / aim.worst)
    if w.answer[0].sparse != 0:
        return ALL if solve_island_errors(w, aim.share) == SOLVED else UNSOLVED
    return ALL if solve_row_errors(w, aim.share, dt) else PARTLY


@inlined
def _attempt(w: WorldView, dt: float, looks: bool) -> int:
    """Correct positions by `w.v_next`, and look at what comes of it, at once if that `looks`."""
    aim, dq = w.correction[0], w.v_next
    within = aim.beyond <= LARGE
    if aim.way == PULL and _pulls_in(w):
        # Taken back before it is made: now without pulling anything together
        aim.way, aim.before = PUSH, math.inf
        return TRY_AGAIN
    # What only far turns part is left out, and the rest is solved again
    if _hold_unmovable(w):
        aim.before = math.inf
        return TRY_AGAIN
    # Near a joint's axis a small error takes a far turn, which may end anywhere
    share = share_of(dq, aim.share * aim.worst)
    scale(dq, share)
    aim.share *= share
    cut = stay_within_stops(w.dofs, w.q_new, dq)
    far = aim.worst > LARGE or largest(dq) > FAR_TURN
    integrate(w, w.q_new, dq, 1.0, w.q_new)
    if not (far or looks or cut) and _ends_there(w, dq):
        w.answer[0].poses_valid = 0  # nobody asks for `pose_new`
        aim.lowest, aim.seen = max(aim.lowest, -BURIED), 1
        return ENDED
    update_poses(w, w.q_new, w.pose_new)
    _look(w, dt)
    return _judge(w, dt, far, within)


@inlined
def _ends_there(w: WorldView, dq: Floats) -> bool:
    """Whether a small correction is the last, and needs no look at what comes of it."""
    aim = w.correction[0]
    # What is linear about it holds to the share that things have turned; of round things nearly ...
    if w.header[0].ne > 0 or (w.header[0].nsmooth > 0 and aim.pull <= -DONE):
        return False
    # ... which are corrected as if they touched where they did at the start
    if aim.worst * aim.turned >= DONE or largest(dq) * _rolled(w) >= DONE or _carries_in(w):
        return False
    if aim.attempt == 0:
        return True
    # Others may have met on the way here, which are no contacts, or are left out
    if aim.known != 0:  # the slots are of a correction that was taken back
        return False
    lowest, buries = sound(w, w.answer[0].contacts)
    return bool(not buries and lowest >= min(aim.least, -aim.worst) - BURIED)


@inlined
def _carries_in(w: WorldView) -> bool:
    """Whether a correction carries what takes no part in it below ground, if it is linear."""
    for i in range(w.answer[0].contacts):
        contact = w.contacts[i]
        if contact.correction == 0.0:
            gap = contact.before
            if gap == FAR and contact.slot >= 0:  # beside what is nearest
                gap = w.spots[w.header[0].ns + contact.slot].gap
            if gap >= -BURIED and gap + _moved(w, i, 0.0) < -BURIED:
                return True
    return False


@inlined
def _rolled(w: WorldView) -> float:
    """How far from where it touched at the start of the step anything has rolled [m]."""
    farthest = 0.0
    for i in range(w.answer[0].contacts):
        contact = w.contacts[i]
        if contact.edges <= NEAREST and contact.correction not in (0.0, HELD):
            here = w.spots[w.header[0].ns + slot_at_end(w, contact)].center
            way = subtract(entries(here, 0), entries(contact.center, 0))
            farthest = max(farthest, math.sqrt(dot(way, way)))
    return farthest


@inlined
def _judge(w: WorldView, dt: float, far: bool, within: bool) -> int:
    """Whether a correction stands, is taken back for another one, or is the last."""
    aim, count = w.correction[0], w.answer[0].contacts
    if far and within and hold_unmoved(w, count, aim.share, aim.attempt):
        _take_back(w)
        return TRY_AGAIN
    if not far:
        aim.seen = 0
        return STANDS
    aim.seen = 1
    lowest, buries = sound(w, count)
    sinks = (buries and lowest < HALVED * aim.bare) or lowest < min(aim.bare, aim.least - LARGE)
    if not sinks:
        aim.lowest = lowest
        return ENDED if aim.share < 1.0 else STANDS
    # Without pulls first, then without what may have carried others deeper
    again = aim.way == PULL and aim.pull < -BURIED
    if again:
        aim.way = PUSH
    elif within:
        again = hold_worse(w, count, aim.share, aim.attempt)
    else:
        again = hold_for_stops(w.contacts, count)
        if not again:
            aim.lowest = aim.least  # joints come back from beyond their stops, whatever they bury
            return ENDED if aim.share < 1.0 else STANDS
    # Deeper than it was without any correction: all of it is taken back
    if again:
        _take_back(w)
        return TRY_AGAIN
    _go_back(w, dt)
    if aim.way == LIFT:
        return ENDED
    aim.way, aim.before = LIFT, math.inf
    let_go(w, count)
    return TRY_AGAIN


@inlined
def _go_back(w: WorldView, dt: float) -> None:
    """To where the velocities lead, without any correction."""
    integrate(w, w.q, w.v_new, dt, w.q_new)
    update_poses(w, w.q_new, w.pose_new)
    _look(w, dt)
    aim = w.correction[0]
    aim.lowest, aim.seen = aim.bare, 1


@inlined
def _pulls_in(w: WorldView) -> bool:
    """Whether a correction would pull parts together that have parted, and others into something.

    A ball that has rolled over a seam stands on the second tile; back on the edge of the first one,
    which bore it when the step began, it would be in the second.
    """
    most = MUCH * w.correction[0].pull
    if w.correction[0].pull >= -BURIED:
        return False
    for i in range(w.answer[0].contacts):
        # What touches still, and would be pressed in by a part of that
        gap = w.contacts[i].before
        moved = _moved(w, i, 0.0)
        if gap + moved < most and moved < most:
            return True
    return False


@inlined
def _moved(w: WorldView, index: int, least: float) -> float:
    """By how much a correction parts a contact, as of `row_moved`."""
    if w.answer[0].sparse != 0:
        return island_moved(w, index, least)
    return row_moved(w, index, least)


@inlined
def _hold_unmovable(w: WorldView) -> bool:
    """Leave out contacts that a correction parts by far turns; returns whether there are any.

    Mostly by these; from attempt PATIENT on, by these at all: there must be time for the others.
    """
    share, found = w.correction[0].share, False
    part = MOSTLY if w.correction[0].attempt < PATIENT else 0.0
    for i in range(w.answer[0].contacts if largest(w.v_next) > FARTHEST * share else 0):
        error = w.contacts[i].correction
        if error > 0.0:
            # By turns of coordinates that would be far for all of its error, or what a step lifts
            parted = _moved(w, i, FARTHEST * share * max(1.0, error / PUSH_OUT))
            if parted > part * share * error:
                w.contacts[i].correction = HELD
                found = True
    return found


@inlined
def largest(vector: Floats) -> float:
    """Largest magnitude of a vector's entries."""
    largest = 0.0
    for k in range(vector.shape[0]):
        largest = max(largest, abs(vector[k]))
    return largest


@inlined
def size(vector: Floats) -> float:
    """Length of a vector: the same in any frame."""
    total = 0.0
    for k in range(vector.shape[0]):
        total += vector[k] * vector[k]
    return math.sqrt(total)


@inlined
def share_of(dq: Floats, worst: float) -> float:
    """The share of a far correction that is made now; the next steps make the rest.

    Near a joint's axis, or where errors of nearly the same rows differ, a fraction of a millimetre
    asks for a turn of half a radian; what is linear about it is right for a small part of that.

    worst: the largest error that is corrected [m, rad]
    """
    return float(min(1.0, (MOST_TURN + worst / LEVER) / max(largest(dq), TINY)))


@inlined
def scale(x: Floats, factor: float) -> None:
    """Multiply a vector in place."""
    for k in range(x.shape[0] if factor != 1.0 else 0):
        x[k] *= factor


@inlined
def _take_back(w: WorldView) -> None:
    """Take the last correction back.

    The gaps of contacts are as they were before it; to look for all slots again would take longest.
    """
    aim = w.correction[0]
    scale(w.v_next, -1.0)
    integrate(w, w.q_new, w.v_next, 1.0, w.q_new)
    update_poses(w, w.q_new, w.pose_new)
    aim.before, aim.seen, aim.known = math.inf, 0, 1


@inlined
def _look(w: WorldView, dt: float) -> None:
    """What touches at `w.pose_new`."""
    if w.header[0].ns > 0:
        detect_spots(w, 1, dt)
    w.correction[0].known = 0


@inlined
def stay_within_stops(dofs: Records, q: Floats, dq: Floats) -> bool:
    """End a correction `dq` of hinges and slides at the stops that it would pass, if there are any.

    Contacts that are deep in each other, or in the ground, may ask for more than a joint can give;
    stops that do not bear have no row there.  What such contacts have left of a joint's way back to
    its stop is made up for.
    """
    cut = False
    for j in range(dofs.shape[0]):
        dof = dofs[j]
        if dof.limited == 0 or dof.limited == SWING:
            continue
        # Also from just beyond it; what is further beyond comes back as its own row asks
        at = q[dof.q_at]
        if at <= dof.upper + SMALL and at + dq[j] - AT_STOP > dof.upper:
            dq[j], cut = dof.upper - at, True
        elif at >= dof.lower - SMALL and at + dq[j] + AT_STOP < dof.lower:
            dq[j], cut = dof.lower - at, True
    return cut


@kernel
def sound(w: WorldView, count: int) -> tuple[float, bool]:
    """Least gap [m] at the end of the step, and whether what is no contact lies below ground."""
    n, lowest = read_low(w, BURIED)
    listed = w.answer[0].listed
    number_contacts(w, listed)
    buries = False
    for i in range(n):
        k = w.low[i]
        if not is_contact(w, listed, k):
            buries = True
        elif w.numbers[k] >= count:  # redundant for the problem: no deeper than it was
            buries = buries or has_sunk(w, w.contacts[w.numbers[k]], BURIED)
    return lowest, buries
