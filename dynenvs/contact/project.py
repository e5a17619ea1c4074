"""Projection of positions: after integration, contacts stand where their velocities said.

The velocities obey the constraints linearised at the start of the step; the integrated positions
miss them by terms of second order, and a contact that was below ground stays there.  One Newton
step in the kinetic metric, dq = W J^T lambda with G lambda = error, removes both: pressing contacts
get exactly the gap (zero if it was negative) and sticking ones exactly the tangential displacement
that their velocities announced.  Velocities, and so kinetic energy, are not touched
(docs/theory.md, Projection of positions).  A correction that carries a feature into the ground that
was not in the contact problem, or any feature deeper than it is without, is taken back.  Where
something is then deeper in the ground than anything was before, the step was too long for its
motion, and the caller hears of it.

What nothing parts is left out (`dynenvs.contact.held`).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from dynenvs.contact.assembly.implied import leave_out_implied
from dynenvs.contact.assembly.impulses import apply_impulses
from dynenvs.contact.assembly.rows import after_contacts, first_limited, limited_coordinate
from dynenvs.contact.assembly.swing import angle_left
from dynenvs.contact.detection.detect import (
    detect_spots,
    has_sunk,
    is_contact,
    number_contacts,
    read_low,
)
from dynenvs.contact.gaps import deepest_contact, gap_at_end
from dynenvs.contact.held import (
    LARGE,
    PUSH_OUT,
    begin_corrections,
    end_corrections,
    hold_for_stops,
    hold_if_unmovable,
    hold_unmoved,
    hold_worse,
)
from dynenvs.jit.compiled import inlined, inlined_source, kernel, unit
from dynenvs.kinematics.joints import integrate
from dynenvs.kinematics.poses import update_poses
from dynenvs.kinematics.rotation import rotate
from dynenvs.lcp.dense import factorise_symmetric, multiply, substitute_symmetric
from dynenvs.memory.layout import Floats, Ints, Records, WorkView, WorldView
from dynenvs.memory.records import HELD, SWING
from dynenvs.simd.elementary import asin

ATTEMPTS = 5  # at most to correct positions; those after the second only while they gain
BURIED = 1e-9  # depth from which they count [m]
HALVED = 0.5  # of the depth without any correction: what buries less is let be, and goes on
MUCH = 0.1  # of a pull: burying less may be an error of what is linear about it
SMALL = 1e-5  # after an error below this, one step leaves less than 1e-7 [m]
LOW = 1e-8  # height from which the way of a point above another one is its own [m]
ROUNDOFF = 1e-15  # errors below this are left alone [m]
PROXIMAL = 1e-10  # relative diagonal that makes redundant rows solvable
FAR_TURN = 1e-4  # of a correction, from which it is looked at: at a metre it is LARGE [rad, m]
MOST_TURN = 0.02  # of a coordinate in one correction [rad, m] ...
LEVER = 0.05  # ... and what the largest error asks for at this distance from an axis [m]
AT_STOP = 1e-12  # what a correction onto a stop may be off by [rad, m]
TINY = 1e-300  # in place of no correction at all, which is divided by


@unit("contact", seconds=8)
def correct_positions(w: WorldView, dt: float) -> int:
    """`project` for the contacts and rows that `w.answer` tells; 1 if it returns True, else 0."""
    count = w.answer[0].contacts
    begin_corrections(w, count)
    placed = project(w, count, w.answer[0].rows, dt)
    end_corrections(w, count, placed)
    return 1 if placed else 0


@inlined
def project(w: WorldView, count: int, rows: int, dt: float) -> bool:
    """Correct `w.q_new` in place; again where one Newton step is not enough.

    And `w.pose_new`, unless `w.answer.poses_valid` says that it was left behind.

    Returns whether no feature is deeper in the ground, by more than LARGE, than the deepest one
    was at the start of the step.
    """
    if rows > 0:
        multiply(w.J, rows, w.header[0].nv, w.v_new, w.v_row)
    # Gaps of the deepest feature: that is allowed, uncorrected, and as far as it is corrected
    least = deepest_contact(w.spots, w.contacts, count) - LARGE
    bare = w.answer[0].lowest
    if w.header[0].ne > 0:  # loops have been closed since
        bare, _ = sound(w, count)
    lowest = bare
    ends = w.pose, w.pose_new
    limits = after_contacts(w.contacts, count)
    known = -1  # number of rows, `w.block`, whose factors stand in w.A
    before, pulls = math.inf, True
    for attempt in range(ATTEMPTS if rows > 0 else 0):
        # The LCP is done: its storage is free.
        errors = RowErrors(w.answer[0].dry, w.J, w.G, w.v_row, w.bias_row, w.active)
        worst, marked = _contact_errors(
            w.features, w.spots, w.contacts, count, ends, dt, errors, before, pulls
        )
        pressed = w.status[0].limits_active
        beyond, marked = _limit_errors(w.dofs, w.q_new, pressed, limits, errors, marked)
        worst, within = max(worst, beyond), beyond <= LARGE
        if worst < ROUNDOFF or (attempt > 1 and not worst < before):
            break
        before = worst
        if worst > PUSH_OUT:
            for r in range(rows):
                w.bias_row[r] *= PUSH_OUT / worst
        # Where a body has turned far its points' errors are those of no rigid motion
        if worst < (LARGE if attempt == 0 else SMALL):
            # Rows that others of their body imply would only make the factors larger
            marked = leave_out_implied(w.contacts, count, w.active, marked)
        if not _same(w.active, marked, w.block, known):
            _factor(w.G, w.active, marked, w.A)
            known = marked
        last = worst < SMALL or worst > PUSH_OUT or attempt + 1 == ATTEMPTS
        for r in range(rows):
            # Each Newton step has impulses of its own
            w.impulse_row[r] = 0.0
        refined = last or attempt > 0
        _solve_equalities(w.G, w.A, w.active, marked, w.bias_row, refined, w.b, w.z, w.impulse_row)
        dq = w.v_next
        # dq = W J^T lambda
        for j in range(w.header[0].nv):
            dq[j] = 0.0
        apply_impulses(w.dofs, w.Y, w.L, w.impulse_row, rows, w.rhs, dq)
        if pulls and _pulls_in(w, count, errors, marked, dq):
            # Taken back before it is made: now without pulling anything together
            before, pulls = math.inf, False
            continue
        share = share_of(dq, min(worst, PUSH_OUT) if within else worst)
        # What no turn parts is left out, and the rest is solved again
        if within and share < 1.0 and _hold_unmovable(w, count, errors, worst):
            before = math.inf
            continue
        scale(dq, share)
        last = last or share < 1.0
        stay_within_stops(w.dofs, w.q_new, dq)
        # Near a joint's axis a small error takes a far turn, which may end anywhere
        look = worst > LARGE or largest(dq) > FAR_TURN
        integrate(w, w.q_new, dq, 1.0, w.q_new)
        if last and not look and w.header[0].ne == 0:
            w.answer[0].poses_valid = 0  # nobody asks for `pose_new`
            break
        update_poses(w, w.q_new, w.pose_new)
        # Slots are looked at anew only where their gaps will be read
        if w.header[0].ns > 0 and (look or not last):
            detect_spots(w, 1, dt)
        share *= min(worst, PUSH_OUT) / worst
        if look and within and hold_unmoved(w, count, share, attempt):
            take_back(w, dq, dt)
            before = math.inf
            continue
        if look:
            # Deeper than it was without any correction: all of it is taken back
            lowest, buries = sound(w, count)
            if (buries and lowest < HALVED * bare) or lowest < min(bare, least):
                if within:
                    left_out = hold_worse(w, count, share, attempt)
                else:
                    left_out = hold_for_stops(w.contacts, count)
                if left_out:
                    take_back(w, dq, dt)
                    before, lowest = math.inf, bare
                    continue
                if within:
                    integrate(w, w.q, w.v_new, dt, w.q_new)
                    update_poses(w, w.q_new, w.pose_new)
                    return bare >= least
                lowest = least  # joints come back from beyond their stops, whatever they bury
        if last:
            break
    return lowest >= least


@inlined
def _pulls_in(w: WorkView, count: int, errors: RowErrors, marked: int, dq: Floats) -> bool:
    """Whether a correction would pull parts together that have parted, and others into something.

    A ball that has rolled over a seam stands on the second tile; back on the edge of the first one,
    which bore it when the step began, it would be in the second.
    """
    most = 0.0
    # The farthest pull, of rows that hover
    for k in range(marked):
        most = min(most, errors.errors[errors.marks[k]])
    if most >= -BURIED:
        return False
    for i in range(count):
        # What touches still, and would be pressed in by a part of that
        contact = w.contacts[i]
        holds, gap = gap_at_end(w.features, w.spots, w.pose_new, contact)
        moved = 0.0
        for j in range(w.header[0].nv):
            moved += errors.J[contact.row, j] * dq[j]
        if holds and gap + moved < MUCH * most and moved < MUCH * most:
            return True
    return False


@inlined
def largest(vector: Floats) -> float:
    """Largest magnitude of a vector's entries."""
    largest = 0.0
    for k in range(vector.shape[0]):
        largest = max(largest, abs(vector[k]))
    return largest


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
def _hold_unmovable(w: WorkView, count: int, e: RowErrors, worst: float) -> bool:
    """Leave out contacts that no turn can part; returns whether there are any.

    A row J dq = error needs a coordinate that turns by the error over the sum of |J|, at least.
    """
    found = False
    for i in range(count):
        contact = w.contacts[i]
        reach = 0.0
        for j in range(w.header[0].nv):
            reach += abs(e.J[contact.row, j])
        found = hold_if_unmovable(contact, reach, worst) or found
    return found


@inlined
def take_back(w: WorldView, dq: Floats, dt: float) -> None:
    """Take the last correction back."""
    scale(dq, -1.0)
    integrate(w, w.q_new, dq, 1.0, w.q_new)
    update_poses(w, w.q_new, w.pose_new)
    if w.header[0].ns > 0:
        detect_spots(w, 1, dt)


@inlined
def stay_within_stops(dofs: Records, q: Floats, dq: Floats) -> None:
    """End a correction `dq` of hinges and slides at the stops that it would pass.

    Contacts that are deep in each other, or in the ground, may ask for more than a joint can give;
    stops that do not bear have no row there.  What such contacts have left of a joint's way back to
    its stop is made up for.
    """
    for j in range(dofs.shape[0]):
        dof = dofs[j]
        if dof.limited == 0 or dof.limited == SWING:
            continue
        # Also from just beyond it; what is further beyond comes back as its own row asks
        at = q[dof.q_at]
        if at <= dof.upper + SMALL and at + dq[j] - AT_STOP > dof.upper:
            dq[j] = dof.upper - at
        elif at >= dof.lower - SMALL and at + dq[j] + AT_STOP < dof.lower:
            dq[j] = dof.lower - at


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


class RowErrors(NamedTuple):
    """The rows of the contact problem, and by how much their positions miss what they should be."""

    rows: int  # but for those of dry joints, which have no position to keep
    J: Floats
    G: Floats
    speeds: Floats  # velocities of the rows
    errors: Floats  # position error of each row
    marks: Ints  # the rows that take part


@kernel
def _contact_errors(
    features: Records,
    spots: Records,
    contacts: Records,
    count: int,
    ends: tuple[Records, Records],
    dt: float,
    errors: RowErrors,
    most: float,
    pulls: bool,
) -> tuple[float, int]:
    """Errors of the contacts' rows, between the poses at both `ends` of the step.

    What seems to hover by more than `most` [m], the largest error before, has come to touch
    elsewhere; without `pulls`, whatever hovers.  Returns (largest error, number of rows marked).
    """
    worst, n = 0.0, 0
    poses, poses_new = ends
    for i in range(count):
        contact = contacts[i]
        r = contact.row
        holds, gap = gap_at_end(features, spots, poses_new, contact)
        held = contact.correction == HELD
        contact.correction = HELD if held else 0.0
        if held or not holds or not errors.G[r, r] > 0.0:
            continue
        # What the velocities announced: no less than touching
        announced = max(0.0, contact.gap + dt * errors.speeds[r])
        if not bears(contact, errors.G[r, r], announced, dt):
            # It only hovers: it counts where it is below ground, and then as touching
            if gap >= 0.0:
                continue
            announced = 0.0
        if announced - gap < (-most if pulls else -BURIED):
            # A pull from far away: it has come to touch elsewhere
            continue
        errors.errors[r] = contact.correction = announced - gap
        contact.before = gap
        worst = max(worst, abs(errors.errors[r]))
        n = _mark(errors.marks, n, r, errors.G)
        if contact.stick > 0 and contact.grounded and contact.edges >= 0:
            # What sticks to the ground keeps its place along it as well
            tangential_errors(contact, poses, poses_new, errors.speeds, dt, errors.errors)
            for k in range(r + 1, r + 1 + contact.stick):
                worst = max(worst, abs(errors.errors[k]))
                n = _mark(errors.marks, n, k, errors.G)
    return worst, n


@inlined
def bears(contact: Any, response: float, announced: float, dt: float) -> bool:
    """Whether a contact's impulse does more to its velocity than what it parts by.

    Interior methods, and those of the exact cone, leave a speck of impulse on each contact.

    response: velocity that a unit of impulse gives it; announced: gap at the end by the velocities
        [m]
    """
    return bool(dt * response * contact.impulse[0] > announced)


@kernel
def _limit_errors(
    dofs: Records, q: Floats, pressed: int, first: int, errors: RowErrors, count: int
) -> tuple[float, int]:
    """The same of the joint limits, whose rows follow the contacts'; goes on from `count` marks.

    pressed: bit j is set if coordinate j presses against its stop
    """
    worst = 0.0
    for r in range(first, errors.rows):
        j = limited_coordinate(errors.J, r)
        dof = dofs[first_limited(dofs, j)]
        if dof.limited == SWING:
            gap = angle_left(dof, q)
        else:
            gap = q[dof.q_at] - dof.lower if errors.J[r, j] > 0.0 else dof.upper - q[dof.q_at]
        # A pressed stop is to be met exactly: else the others' correction would go through it.
        if gap < 0.0 or (pressed >> j) & 1:
            errors.errors[r] = -gap
            worst = max(worst, abs(gap))
            count = _mark(errors.marks, count, r, errors.G)
    return worst, count


@inlined
def _mark(marks: Ints, count: int, row: int, G: Floats) -> int:
    """Row `row` takes part, if anything can move it."""
    if not G[row, row] > 0.0:
        return count
    marks[count] = row
    return count + 1


@inlined
def _same(marks: Ints, count: int, factored: Ints, known: int) -> bool:
    """Whether the marked rows are those that were factored; now they are."""
    same = count == known
    for i in range(count):
        same = same and factored[i] == marks[i]
        factored[i] = marks[i]
    return same


@inlined_source
def tangential_errors(
    contact: Any, poses: Records, poses_new: Records, speeds: Floats, dt: float, errors: Floats
) -> None:
    """Announced minus actual tangential displacement of a sticking contact on what is grounded.

    Measured at the core point: a rolling sphere's centre moves by dt times its velocity.
    """
    start, pose = poses[contact.body_a], poses_new[contact.body_a]
    # Where the body's point is now, less where it was
    height = contact.radius  # of the core point above the one that sticks
    if contact.corner != 0:
        height = contact.gap
    ax, ay, az = rotate(pose.R, contact.local)
    bx, by, bz = contact.center[0], contact.center[1], contact.center[2]
    dx, dy, dz = ax + pose.p[0] - bx, ay + pose.p[1] - by, az + pose.p[2] - bz
    if contact.body_b > 0:
        # Less what the ground has carried it
        cx, cy, cz = _carried(poses[contact.body_b], poses_new[contact.body_b], contact.point)
        dx, dy, dz = dx - cx, dy - cy, dz - cz
    for k in range(contact.stick):
        # Along each tangent; a sphere's centre rolls over the point that sticks
        t = contact.t1 if k == 0 else contact.t2
        r = contact.row + 1 + k
        moved = t[0] * dx + t[1] * dy + t[2] * dz
        announced = speeds[r]
        if abs(height) > LOW:
            announced += _rolling(start.R, pose.R, contact.normal, height, t, dt)
        errors[r] = dt * announced - moved


@inlined
def _carried(start: Any, end: Any, at: Floats) -> tuple[float, float, float]:
    """By how much a body carries what is at a place, from one pose to another."""
    R, S = end.R, start.R
    x, y, z = at[0] - start.p[0], at[1] - start.p[1], at[2] - start.p[2]
    u = S[0, 0] * x + S[1, 0] * y + S[2, 0] * z  # in the body's frame
    v = S[0, 1] * x + S[1, 1] * y + S[2, 1] * z
    w = S[0, 2] * x + S[1, 2] * y + S[2, 2] * z
    return (
        R[0, 0] * u + R[0, 1] * v + R[0, 2] * w + end.p[0] - at[0],
        R[1, 0] * u + R[1, 1] * v + R[1, 2] * w + end.p[1] - at[1],
        R[2, 0] * u + R[2, 1] * v + R[2, 2] * w + end.p[2] - at[2],
    )


@inlined
def _rolling(
    before: Floats, after: Floats, normal: Floats, radius: float, tangent: Floats, dt: float
) -> float:
    """Velocity along `tangent` of a sphere's centre relative to its contact point.

    That is radius (omega x normal) . tangent.

    The mean angular velocity of the step is read from the rotation after before^T (under 90
    degrees).
    """
    # Skew part of after before^T: twice the sine of the angle, times the axis
    wx = wy = wz = 0.0
    for k in range(3):
        wx += after[2, k] * before[1, k] - after[1, k] * before[2, k]
        wy += after[0, k] * before[2, k] - after[2, k] * before[0, k]
        wz += after[1, k] * before[0, k] - after[0, k] * before[1, k]
    sine = 0.5 * math.sqrt(wx * wx + wy * wy + wz * wz)
    angle = asin(min(sine, 1.0)) / sine if sine > 1e-6 else 1.0
    sx = wy * normal[2] - wz * normal[1]
    # The surface's speed at the contact point
    sy = wz * normal[0] - wx * normal[2]
    sz = wx * normal[1] - wy * normal[0]
    return 0.5 * angle * radius * (sx * tangent[0] + sy * tangent[1] + sz * tangent[2]) / dt


@inlined_source
def _factor(G: Floats, marks: Ints, count: int, factors: Floats) -> None:
    """Factors of G over the marked rows; redundant ones need a proximal diagonal."""
    for i in range(count):
        own = marks[i]
        # The upper triangle alone: G is symmetric
        for j in range(i, count):
            factors[i, j] = G[own, marks[j]]
        factors[i, i] *= 1.0 + PROXIMAL
    factorise_symmetric(factors, count)


@inlined_source
def _solve_equalities(
    G: Floats,
    factors: Floats,
    marks: Ints,
    count: int,
    errors: Floats,
    refined: bool,
    right: Floats,
    solution: Floats,
    impulses: Floats,
) -> None:
    """impulses = G^+ errors over the marked rows; refined once if nothing follows.

    What the proximal shift leaves in the null space of G moves nothing.
    """
    for i in range(count):
        right[i] = errors[marks[i]]
    # Right-hand side and solution over the marked rows
    substitute_symmetric(factors, count, right, solution)
    for i in range(count):
        impulses[marks[i]] = solution[i]
    if refined:
        for i in range(count):
            # One refinement takes out what the proximal diagonal has changed
            own = marks[i]
            for j in range(count):
                right[i] -= G[own, marks[j]] * solution[j]
        substitute_symmetric(factors, count, right, solution)
        for i in range(count):
            impulses[marks[i]] += solution[i]
