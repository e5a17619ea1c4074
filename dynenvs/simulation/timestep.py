"""ONE step of a world, as a list of stages.

Semi-implicit Euler (first order; not symplectic where M depends on q) with the velocity-impulse
LCP of Stewart and Trinkle in minimal coordinates; joint damping and rotor inertia are implicit
(docs/theory.md, Semi-implicit Euler):

    M^ (v+ - v) = dt (tau - h - D v) + J^T p,    M^ = M + armature + dt D,
    0 <= p  perpendicular  J v+ + gap / dt >= 0  with Coulomb friction,    q+ = q (+) dt v+.

Single bodies turn freely after forces have pushed them (`dynenvs.dynamics.spinning`).
Where trees of several joints whirl, the step is cut, and its parts keep the energy (`whirl.py`).
Where something bounces, the step is cut at the impacts, whose velocities jump before the next part.
Where fast limbs end deeper in the ground than they were, or joints beyond their limits, linearised
gaps have not foreseen how far they turn: the step is halved, and what they leave out quartered; so
it is where corrections carry joints about as far as their velocities do.
Where something is so fast that it could pass through another thing, the step is cut, too.
What would go absurdly far has no step: it would be cut into more parts than can be waited for.
"""

from __future__ import annotations

import math

from dynenvs.contact.assembly.closing import apply_curvature, close_loops
from dynenvs.contact.assembly.rows import stop_ahead
from dynenvs.contact.assembly.swing import angle_left
from dynenvs.contact.assembly.swing_rows import end_at_limits
from dynenvs.contact.detection.travel import MOST_PARTS, has_moved_far, is_fast, safe_part
from dynenvs.contact.impact import collide, find_impact
from dynenvs.contact.project import SMALL, correct_positions
from dynenvs.contact.resolve import resolve_contacts
from dynenvs.dynamics.servos import CONVERGED, update_limits
from dynenvs.jit.compiled import called, entry, inlined, unit
from dynenvs.jit.views import unowned
from dynenvs.kinematics.joints import integrate
from dynenvs.kinematics.poses import copy_poses, spread_velocities, update_poses
from dynenvs.lcp.solve import CERTIFIED, DEGRADED
from dynenvs.memory.layout import Floats, ModelView, StateView, WorldView
from dynenvs.memory.records import INELASTIC, MIDPOINT, SWING
from dynenvs.simulation.drift import begin_watch, keep_left
from dynenvs.simulation.free_motion import free_motion
from dynenvs.simulation.midpoint import (
    ARRIVED,
    CENTERED,
    HALFWAY,
    MOVED,
    arrive,
    center_again,
    go_halfway,
    turn_back,
    until_stops,
)
from dynenvs.simulation.totals import add_totals
from dynenvs.simulation.undo import is_full, keep_state, may_fill, restore_state
from dynenvs.simulation.whirl import (
    CALM,
    PUSHED,
    RECENTRED,
    WHIRLS,
    is_centered,
    is_settled,
    keep_pace,
    part_of,
    push_centered,
    push_time,
    tell_gain,
    whirl,
)
from dynenvs.simulation.worst import begin_worst, keep_worst, overrun

DONE, STEP_FAILED, STEP_FULL = 0, 1, 2
OVERTURNED = 1e-3  # of a joint, beyond its limit [rad, m]
CARRIED = 1e-3  # of a joint, by corrections [rad, m], and ...
CARRIED_SHARE = 0.25  # ... of the longest way that velocities make in the part
ABSURD = 1e5  # way of a coordinate in a step, beyond which it fails [rad, m]
HALVINGS = 3  # how often a step is cut in half whose LCP has no answer, or which sinks in
# What positions are at the end of a part; ANEW: servos reach or leave their limits within it
# LATE: what was hit moves so far that it could pass through something; a shorter part shows it
PLACED, SUNK, ASTRAY, ANEW, LATE = 0, 1, 2, 3, 4
SHORTENED = 8  # how often in turn a part is shortened for that


@unit("step", seconds=23)
def step_unit(w: WorldView, tau: Floats, dt: float) -> int:
    """Advance one world by dt: whole if possible, in halves, quarters, ... if not.

    A part that cannot be solved leaves the state untouched.  STEP_FULL comes back where there is
    too little room: `w.answer` tells how much is wanted; the caller has kept the state (`undo`).
    """
    # A part of the step is tried, then taken over or tried shorter, until nothing remains
    w.answer[0].wanted = w.answer[0].blocks = w.answer[0].cuts = 0
    w.answer[0].pace = w.answer[0].lead = 0.0
    begin_watch(w, tau)
    remaining, whole, safe, halvings, trials, shortened = dt, dt, dt, 0, 0, 0
    while remaining > 1e-9 * dt:
        # Velocities jump at impacts; then bodies move as if nothing touched
        part = min(whole, min(safe, remaining))
        if w.answer[0].pace > 0.0:
            part = min(part, part_of(w, remaining, dt))
        _apply_impacts(w, dt, part)
        begin_worst(w)
        piece = _free_part(w, tau, part, remaining, dt)
        if _is_absurd(w.v, dt) or (piece > 0.0 and _is_absurd(w.v_free, dt)):
            w.status[0].failed += 1
            return STEP_FAILED
        pushed = push_time(w, piece, remaining)
        placed = ASTRAY
        safe = dt
        # Contacts and limits; is the answer one that a shorter part must replace?
        if piece > 0.0 and _solve_centered(w, tau, piece, pushed):
            if shortened < SHORTENED and has_moved_far(w):
                spread_velocities(w, w.v_new)
                safe = _at_least(w, safe_part(w, piece), piece, dt / MOST_PARTS)
            if safe < piece:
                placed = LATE
            elif w.header[0].nservos > 0 and pushed > 0.0 and update_limits(w, trials) != CONVERGED:
                placed = ANEW
            else:
                placed = _correct(w, piece, halvings == HALVINGS)
        # Take it over, or go back to the start of the part
        if placed == PLACED and not _commit(w, piece):
            placed = ASTRAY
        if placed != PLACED:
            w.answer[0].poses_valid = 0
            if w.header[0].integrator == MIDPOINT:
                turn_back(w)
        if is_full(w):
            return STEP_FULL
        # Go on behind this part, or try another one
        if placed == PLACED:
            keep_worst(w)
            add_totals(w)
            w.status[0].time += piece
            remaining -= piece
            w.answer[0].lead += piece - pushed
            trials = shortened = 0
            safe = dt
        elif placed == ANEW:
            trials += 1
        elif placed == LATE:
            shortened += 1
        elif halvings < HALVINGS:
            halvings += 1
            whole = 0.5 * part
            w.status[0].degraded += 0 if placed == SUNK else 1
        else:
            w.status[0].failed += 1
            return STEP_FAILED
    if w.answer[0].pace > 0.0:
        tell_gain(w, tau)
    keep_left(w)
    return DONE


@inlined
def _apply_impacts(w: WorldView, dt: float, part: float) -> None:
    """Poses at the start of a part, and the impacts of what bounces and touches there."""
    # By the midpoint rule poses belong to the middle, and are made on the way there
    if w.header[0].integrator != MIDPOINT:
        _start_poses(w)
    if w.header[0].restitution != INELASTIC:
        status = collide(w, dt, part)
        if status not in (CERTIFIED, DEGRADED):
            w.status[0].degraded += 1  # the step stops what should have bounced


@inlined
def _free_part(w: WorldView, tau: Floats, part: float, left: float, dt: float) -> float:
    """Motion without contacts, for as much of the part as nothing cuts short.

    left, dt: what is left of the step, and all of it [s]
    Returns that length; 0.0 where there is no such motion.
    """
    # Trees that whirl cut the part first; what is left of it may be cut further
    middle = w.header[0].integrator == MIDPOINT
    part = _calm_part(w, tau, part, left, dt)
    if part == 0.0:
        return 0.0
    done = True
    # Stops, fast bodies and impacts each cut it shorter
    piece = until_stops(w, part) if middle else part
    fast = is_fast(w, part)
    if fast:  # fast bodies pass through nothing
        ahead = 1.0
        if middle:
            turn_back(w)
            update_poses(w, w.q, w.pose)
            ahead = 1.5  # contacts are looked for up to the middle of the next part
        safe = safe_part(w, ahead * part) / ahead
        piece = min(piece, _at_least(w, safe, part, dt / MOST_PARTS))
    # A shorter part has another middle, and other forces
    if (fast and middle) or piece < part:
        done = _free_motion_again(w, tau, piece, left)
    # The first impact ends it, too
    if done and w.header[0].restitution != INELASTIC:
        done = find_impact(w, piece) == CERTIFIED
        if done and w.answer[0].until < piece:
            piece = w.answer[0].until
            w.answer[0].cuts += 1
            done = _free_motion_again(w, tau, piece, left)
    return piece if done else 0.0


@inlined
def _is_absurd(v: Floats, dt: float) -> bool:
    """Whether a coordinate would go further than ABSURD in the step.  NaN fails elsewhere."""
    fastest = 0.0
    for j in range(v.shape[0]):
        fastest = max(fastest, abs(v[j]))
    return dt * fastest > ABSURD


@called
def _free_motion(w: WorldView, tau: Floats, part: float, left: float) -> bool:
    """Motion without contacts for a part of the step."""
    if w.header[0].integrator == MIDPOINT:
        return bool(go_halfway(w, tau, part) == HALFWAY)
    if w.answer[0].pace > 0.0:
        pushed = push_centered(w, tau, push_time(w, part, left), 0)
        keep_pace(w)
        return bool(pushed == PUSHED)
    if is_centered(w, part):
        return bool(push_centered(w, tau, part, 0) == PUSHED)
    return free_motion(w, tau, part)


@inlined
def _free_motion_again(w: WorldView, tau: Floats, part: float, left: float) -> bool:
    """The same for a shorter part."""
    if w.header[0].integrator == MIDPOINT:
        turn_back(w)
    return _free_motion(w, tau, part, left)


@inlined
def _calm_part(w: WorldView, tau: Floats, part: float, left: float, dt: float) -> float:
    """Motion without contacts for as much of a part as trees do not turn too far; its length."""
    answer = w.answer[0]
    # Whether trees whirl is found out once a step: then its parts are known
    moved = _free_motion(w, tau, part, left)
    if answer.pace > 0.0:
        keep_pace(w)
        return part if moved else 0.0
    found = whirl(w, tau, part, moved)
    if found == CALM:
        return part
    shorter = min(part, part_of(w, left, dt))
    if found != WHIRLS or ((shorter < part) and not _free_motion_again(w, tau, shorter, left)):
        return 0.0
    return shorter


@inlined
def _at_least(w: StateView, safe: float, part: float, least: float) -> float:
    """A safe part, or a longer one, which is counted: steps come to an end at any speed."""
    if safe >= min(least, part):  # not NaN
        return safe
    w.status[0].degraded += 1
    return min(least, part)


@inlined
def _solve_centered(w: WorldView, tau: Floats, piece: float, pushed: float) -> bool:
    """Contacts and limits over a part, with velocity products of the mean that they leave.

    So by the midpoint rule, and of trees that whirl.  pushed: how far velocities go in the part [s]
    """
    middle = w.header[0].integrator == MIDPOINT
    for rounds in range(RECENTRED + 1):
        if not _solve_contact(w, piece):
            return False
        if rounds == RECENTRED or w.header[0].nwhirls == 0:
            break
        if middle:
            found = center_again(w, tau, piece)
            if found != MOVED:
                return bool(found == CENTERED)
        elif is_settled(w, pushed):
            break
        elif push_centered(w, tau, pushed, 1) != PUSHED:
            return False
    return True


@inlined
def _solve_contact(w: WorldView, piece: float) -> bool:
    """Contacts and limits over a part: velocities and where they lead; False without an answer."""
    status = resolve_contacts(w, piece, 0, 0.0) if is_constrained(w) else move_freely(w, piece)
    answer = w.answer[0]
    w.status[0].pivots += answer.pivots
    if status not in (CERTIFIED, DEGRADED):
        return False
    w.status[0].residual = max(w.status[0].residual, answer.residual)
    answer.poses_valid = 1  # `project` sets it to 0 where it leaves out poses that nobody needs
    return True


@inlined
def is_constrained(w: ModelView) -> bool:
    """Whether anything can touch something else, or a joint its limits, rubs, or closes a loop."""
    h = w.header[0]
    return bool(h.nf + h.nlimited + h.ndry + h.ne > 0)


@inlined
def move_freely(w: WorldView, dt: float) -> int:
    """From `w.v_free` to `w.v_new`, `w.q_new` and `w.pose_new` where nothing can be in the way."""
    # Nothing is in the way: the answer is the free motion
    for j in range(w.header[0].nv):
        w.v_new[j] = w.v_free[j]
    integrate(w, w.q, w.v_new, dt, w.q_new)
    update_poses(w, w.q_new, w.pose_new)
    answer = w.answer[0]
    answer.residual, answer.pivots, answer.contacts, answer.rows = 0.0, 0, 0, 0
    return CERTIFIED


@inlined
def _overturned(w: WorldView) -> bool:
    """Whether a joint ends further beyond its limit than before: the rounds were too few."""
    overturned = False
    for j in range(w.header[0].nv if w.header[0].nlimited > 0 else 0):
        dof = w.dofs[j]
        if dof.limited == SWING:
            before = min(angle_left(dof, w.q), 0.0)
            overturned = overturned or angle_left(dof, w.q_new) < before - OVERTURNED
        elif dof.limited != 0:
            before = min(stop_ahead(dof, w.q, 0.0, 0.0)[0], 0.0)
            left = stop_ahead(dof, w.q_new, 0.0, 0.0)[0]
            overturned = overturned or left < before - OVERTURNED
    return overturned


@inlined
def _is_carried(w: WorldView, dt: float) -> bool:
    """Whether corrections have turned a joint about as far as the velocities, of what was well.

    Where a link is touched a millimetre from its axis they do, for some micrometres: against its
    motor that gains as much as it works.  Half a part misses by a quarter of that.
    """
    if w.header[0].ne > 0 or w.correction[0].least < -SMALL:
        return False
    way, carried = 0.0, 0.0
    for j in range(w.header[0].nv):
        dof = w.dofs[j]
        if w.bodies[dof.body].nv == 1:
            step = dt * w.v_new[j]
            way = max(way, abs(step))
            carried = max(carried, abs(w.q_new[dof.q_at] - w.q[dof.q_at] - step))
    return carried > max(CARRIED, CARRIED_SHARE * way) and not overrun(w, w.q) > SMALL


@inlined
def _correct(w: WorldView, dt: float, anyway: bool) -> int:
    """Correct the positions at the end of a part.

    Returns PLACED; SUNK where something sank in, turned too far or was carried away, unless that is
    to be taken anyway; or ASTRAY where loops cannot be closed.
    """
    if not is_constrained(w):
        return PLACED
    # Loops first: what is corrected after them must not open them again
    closed = w.header[0].ne > 0
    if closed:
        close_loops(w, w.q, dt)
    corrected = correct_positions(w, dt)
    # Beyond a stop, or deeper than it was: a shorter part may foresee that
    beyond = overrun(w, w.q_new)
    strays = (beyond > OVERTURNED and _overturned(w)) or _is_carried(w, dt)
    if (corrected == 0 or strays) and not anyway:
        return SUNK
    if corrected == 0:
        w.status[0].sunk += 1
    # What corrections of contacts have turned, and have opened by that
    back = beyond > 0.0 and w.header[0].nswings > 0 and end_at_limits(w) > 0
    if closed:
        if close_loops(w, w.q, 0.0) not in (CERTIFIED, DEGRADED):
            return ASTRAY
        apply_curvature(w)
    w.answer[0].overrun = overrun(w, w.q_new) if closed or back else beyond
    return PLACED


@entry(seconds=0.2)
def step(w: WorldView, tau: Floats, dt: float) -> int:
    """Advance one world by dt under the generalized forces tau, shape (nv,).

    Returns DONE; STEP_FAILED with the state left at its last finite, solved one; or STEP_FULL with
    the state as it was, and `w.answer.wanted` and `blocks` telling how much room there must be.
    """
    tau = unowned(tau)
    filling = may_fill(w)
    if filling:
        keep_state(w)
    done = step_unit(w, tau, dt)
    if filling and done == STEP_FULL:
        restore_state(w)
    return int(done)


@inlined
def _start_poses(w: WorldView) -> None:
    """Poses at the start of the step: mostly those at the end of the one before, bit for bit."""
    known = w.answer[0].poses_valid != 0
    for i in range(w.header[0].nq):
        known = known and w.q_posed[i] == w.q[i]
    if known:
        copy_poses(w, w.pose_new, w.pose)
    else:
        update_poses(w, w.q, w.pose)


@inlined
def _commit(w: WorldView, piece: float) -> bool:
    """Take over what a part has led to; False if it is nowhere."""
    if w.header[0].integrator == MIDPOINT:
        return bool(arrive(w, piece) == ARRIVED)
    return commit(w)


@inlined
def commit(w: WorldView) -> bool:
    """Take over positions and velocities if every one of them is finite."""
    # Not a number anywhere: nothing is taken over
    finite = True
    for j in range(w.header[0].nv):
        finite = finite and math.isfinite(w.v_new[j])
    for i in range(w.header[0].nq):
        finite = finite and math.isfinite(w.q_new[i])
    if not finite:
        return False
    for j in range(w.header[0].nv):
        w.v[j] = w.v_new[j]
        if w.header[0].nkinematic > 0:
            w.last[j] = w.v_new[j]
    for i in range(w.header[0].nq):
        w.q[i] = w.q_posed[i] = w.q_new[i]
    return True
