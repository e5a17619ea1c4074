"""Closed loops are closed in positions after each step, by Newton's method.

First with the loops' rows as they were at the step's start and in the kinetic metric: two or three
rounds are the rule.  Where links have turned so far that this ends open, with rows made anew in
each round; and at last in a metric in which every coordinate counts the same.  (Light links that
carry a thousand times their mass would rather turn by half a radian than move their load by a
tenth of a millimetre, and what is linear in that is no guide.)

What the positions miss by the curvature of the loops' surface also turns the velocity, as in the
RATTLE method (Andersen 1983): without it each step would lose the share (dt omega)^2 of a turning
loop's energy.
"""

from __future__ import annotations

import math

import numpy as np

from dynenvs.contact.assembly.loop_rows import fill_rows, loop_errors
from dynenvs.contact.assembly.loops import couple_loops, factor_loops, push, substitute
from dynenvs.jit.compiled import entry, kernel, unit
from dynenvs.kinematics.joints import integrate, joint_axes
from dynenvs.kinematics.poses import update_poses
from dynenvs.lcp.solve import CERTIFIED, DEGRADED, FAILED
from dynenvs.memory.layout import Floats, LoopView, WorkView
from dynenvs.memory.records import FIXED, MIDPOINT

CLOSED = 1e-14  # error that is left alone [m, rad]
OPEN = 1e-9  # error from which a loop counts as open after them [m, rad]
ROUNDING = 1e-14  # ... or from this share of the largest position, as far as rounding leaves it
BLURRED = 1e-6  # ... and at most from here: positions of 1e8 m or rad are nowhere [m, rad]
ON_ITS_WAY = 0.75  # share of what a loop was open by that may be left while it is being closed
ROUNDS = 20  # of Newton's method; two or three are the rule
REACH = 0.05  # largest error that one of them corrects at once [m, rad]
TURN = 0.5  # most that one of them moves a coordinate where its rows are made anew [m, rad]
DAMPING = 1e-9  # of these, as a share of the largest diagonal entry of K
# The curvature's part of the kinetic energy is (dt omega)^2; where it seems more than this, the
# mechanism stands at a dead centre, and its rows do not tell which way it goes on
BEND = 0.1


@unit("loops", seconds=4)
def close_loops(w: WorkView, q: Floats, dt: float) -> int:
    """Close the loops at `w.q_new` and `w.pose_new`, after `hold_loops` of the same step.

    q: at the step's start, shape (nq,)
    dt: length of the step, where the curvature of the loops' surface is to be noted for the
    velocity (into `curve`); zero where only positions are corrected.  `w.answer` tells the largest
    opening that is left, and what is returned: CERTIFIED; DEGRADED where a loop that was open at
    the step's start is on its way; or FAILED where one cannot be closed, or only from elsewhere.
    """
    closure = w.closure
    answer = w.answer[0]
    # How open the loops were at the start, and the velocity that their surface's curvature asks for
    if dt > 0.0:
        opened = loop_errors(closure.loops, q, w.pose, closure.start)
        if w.header[0].integrator != MIDPOINT:  # in the middle of a step they may be open
            answer.opened_before = opened
        _note_curve(w, closure, dt)
    # Large positions carry large roundings: a loop counts as closed as far as they allow
    bound = min(max(OPEN, ROUNDING * _size(w)), BLURRED)
    # From the cheap to the dear: old rows, new rows, and at last without masses
    worst = _approach(w, closure, bound, False, True)
    if not worst < bound:
        for j in range(w.header[0].nv):  # nothing is known of the surface this far away
            closure.curve[j] = 0.0
        worst = _approach(w, closure, bound, True, True)
    if not worst < bound:
        worst = _approach(w, closure, bound, True, False)
    answer.opened, answer.shut = worst, CERTIFIED
    # One that was open before may take several steps; one that opens in this step has failed
    if not worst < bound:
        answer.shut = DEGRADED if worst < ON_ITS_WAY * answer.opened_before else FAILED
    return int(answer.shut)


@kernel
def measure_start(w: WorkView, q: Floats) -> None:
    """How open the loops are at the start q of a midpoint step; takes `w.pose` for it."""
    closure = w.closure
    update_poses(w, q, w.pose)
    w.answer[0].opened_before = loop_errors(closure.loops, q, w.pose, closure.start)


@kernel
def _note_curve(w: WorkView, closure: LoopView, dt: float) -> None:
    """The velocity `curve` that the curvature of the loops' surface asks for; needs `start`."""
    loop_errors(closure.loops, w.q_new, w.pose_new, closure.errors)
    # The positions moved along the old rows: what they miss by now is the curvature's doing
    for r in range(w.header[0].ne):
        closure.x[r] = (closure.start[r] - closure.errors[r]) / dt
    substitute(closure, closure.x)
    _limit_bend(w, closure, dt)
    for j in range(w.header[0].nv):
        closure.curve[j] = 0.0
    push(w, w.L, closure, closure.curve, True)


@kernel
def _size(w: WorkView) -> float:
    """The largest position, whose rounding no loop can be closed beyond [m, rad]."""
    size = 0.0
    for i in range(w.header[0].nq):
        size = max(size, abs(w.q_new[i]))
    for i in range(1, w.header[0].nb):
        for k in range(3):
            size = max(size, abs(w.pose_new[i].p[k]))
    return size


@kernel
def _approach(w: WorkView, closure: LoopView, bound: float, anew: bool, kinetic: bool) -> float:
    """Rounds of Newton's method; returns the largest error that is left [m, rad].

    bound: what counts as open
    anew: whether each round has its own rows, or all have those of the step's start
    kinetic: as of `couple_loops`
    """
    nv = w.header[0].nv
    worst, last, share = math.inf, math.inf, 1.0
    for attempt in range(ROUNDS + 1):
        # A round that led away is taken back, and the next one goes less far
        worst = loop_errors(closure.loops, w.q_new, w.pose_new, closure.errors)
        if worst >= bound and not worst < last:  # it led astray: back, and less far
            for j in range(nv):
                w.v_next[j] = -w.v_next[j]
            integrate(w, w.q_new, w.v_next, 1.0, w.q_new)
            update_poses(w, w.q_new, w.pose_new)
            worst = loop_errors(closure.loops, w.q_new, w.pose_new, closure.errors)
            share *= 0.25
        elif worst < CLOSED or not worst < last:
            break
        elif anew:
            share = min(1.0, 2.0 * share)
        if attempt == ROUNDS:
            break
        # The smallest change of positions that would close a part of the errors
        last = worst
        if anew:
            _renew_rows(w, closure, kinetic)
        # No more than REACH at once: the rows know nothing further away
        part = min(share, REACH / worst)
        for r in range(w.header[0].ne):
            closure.x[r] = -part * closure.errors[r]
        substitute(closure, closure.x)
        for j in range(nv):
            w.v_next[j] = 0.0
        push(w, w.L, closure, w.v_next, kinetic)
        if anew:
            _shorten(w.v_next)
        integrate(w, w.q_new, w.v_next, 1.0, w.q_new)
        update_poses(w, w.q_new, w.pose_new)
    return worst


@kernel
def _renew_rows(w: WorkView, closure: LoopView, kinetic: bool) -> None:
    """The loops' rows and their factors at `w.q_new`; the mass matrix stays that of the start.

    Damped, so that no row is left out: of rows that all but depend on each other, those that tell
    more count more (Levenberg 1944).
    """
    # Axes and rows at the new positions, the masses of the old ones
    for i in range(1, w.header[0].nb):
        if w.bodies[i].joint != FIXED:
            joint_axes(w.bodies[i], w.pose_new[i], w.pose_new[w.bodies[i].root].p, w.S)
    fill_rows(w, w.q_new, w.pose_new, w.S, closure)
    couple_loops(w, w.L, w.free_dof_mask, closure, kinetic)
    # The damping as a share of what a row yields at most
    largest = 0.0
    for r in range(w.header[0].ne):
        largest = max(largest, closure.K[r, r])
    for r in range(w.header[0].ne):
        closure.K[r, r] += DAMPING * largest
    factor_loops(closure)


@kernel
def _shorten(dq: Floats) -> None:
    """Scale a correction so that it moves no coordinate by more than TURN."""
    largest = 0.0
    for j in range(dq.shape[0]):
        largest = max(largest, abs(dq[j]))
    if largest > TURN:
        for j in range(dq.shape[0]):
            dq[j] *= TURN / largest


@kernel
def _limit_bend(w: WorkView, closure: LoopView, dt: float) -> None:
    """Scale the curvature's multipliers `x` so that they add no more than BEND of the energy.

    Twice the energy that they add is x K x, and `w.v_new` has |L v|^2 in the metric of D.
    """
    # Twice the energy that is added: multipliers times what they correct
    added, energy = 0.0, 0.0
    for r in range(w.header[0].ne):
        added += closure.x[r] * (closure.start[r] - closure.errors[r]) / dt
    # Twice the energy there is, |L v|^2 in the metric of D, coordinate by coordinate
    for j in range(w.header[0].nv):
        total = w.v_new[j]
        k = w.dofs[j].parent
        while k >= 0:
            total += w.L[j, k] * w.v_new[k]
            k = w.dofs[k].parent
        energy += total * total / w.L[j, j]
    if added > BEND * energy:
        scale = math.sqrt(BEND * energy / added)
        for r in range(w.header[0].ne):
            closure.x[r] *= scale


@kernel
def apply_curvature(w: WorkView) -> None:
    """`w.v_new` along the loops' surface at the end of the step, after all else is done."""
    closure = w.closure
    for j in range(w.header[0].nv):
        w.v_new[j] += closure.curve[j]


@entry
def _open_by(w: WorkView, q: Floats, openings: Floats, errors: Floats) -> None:
    """The largest error of each loop, and the errors of all rows, at q."""
    closure = w.closure
    update_poses(w, q, w.pose)
    for i in range(w.header[0].nloops):
        openings[i] = loop_errors(closure.loops[i : i + 1], q, w.pose, errors)


def closure(w: WorkView, q: Floats) -> Floats:
    """By how much each row of the loops is open at positions q [m, rad], shape (ne,)."""
    openings, errors = np.zeros(len(w.loops)), np.zeros(len(w.lasts))
    if len(errors):
        _open_by(w, q, openings, errors)
    return errors


def widest(w: WorkView) -> tuple[int, float]:
    """Which loop the last step could not close, and how far it stays open; (-1, 0) if none."""
    if w.answer[0]["shut"] != FAILED:
        return -1, 0.0
    openings, errors = np.zeros(len(w.loops)), np.zeros(len(w.lasts))
    _open_by(w, w.q_new.copy(), openings, errors)
    i = int(openings.argmax())
    return i, float(openings[i])
