"""The midpoint rule: a step whose forces and contacts act half-way.

    qm = q (+) dt/2 v
    M^ (v+ - v) = dt (tau - h(qm, (v + v+) / 2) - D v) + J(qm)^T p
    M^ = M(qm) + armature + dt/2 D
    0 <= p  perpendicular  J(qm) v+ + gap(qm) / dt >= 0  with Coulomb friction
    q+ = qm (+) dt/2 v+

(Moreau's midpoint rule; Moreau 1988, Jean 1999.)  It is of second order, and symmetric in time, so
that energy is lost or gained neither in rotation nor in swinging.  What a body that floats alone
keeps, it keeps to rounding (`dynamics.loose`).  Damping acts on the mean velocity.

The mean is first that with the free velocity.  Where contacts and stops leave another one, h is
found anew for it (`center_again`), and they answer once more: a motor that presses an arm against
its stop would throw outwards what slides on the arm, as if it turned.

Seen from the middles, a step leads from one middle to the next with one velocity, v+: q+ is half
way between.  So the contact problem is the one of Euler's rule, from `qm` over a whole step: where
parts may not be inside one another are the middles.  During a step the state holds `qm`.
"""

from __future__ import annotations

import math

from dynenvs.contact.assembly.closing import close_loops, measure_start
from dynenvs.contact.assembly.rows import stop_ahead
from dynenvs.contact.assembly.swing import BEYOND, angle_left
from dynenvs.contact.law.viscous import touched_by_film
from dynenvs.dynamics.factor import factor_in_place
from dynenvs.dynamics.floating import END, START, fly_tree, push_tree, sum_tree
from dynenvs.dynamics.loose import fly
from dynenvs.dynamics.motion import equations_of_motion
from dynenvs.dynamics.servos import DRIVEN, drive
from dynenvs.dynamics.spinning import add_spins, spin_through
from dynenvs.jit.compiled import inlined, unit
from dynenvs.kinematics.joints import integrate
from dynenvs.kinematics.poses import copy_poses, update_inertias, update_poses, update_velocities
from dynenvs.lcp.solve import CERTIFIED, DEGRADED
from dynenvs.memory.layout import Floats, WorkView, WorldView, damped_time
from dynenvs.memory.records import ALONE, BASE, STOPS, SWING
from dynenvs.simulation.centered import PRECISE, add_up, center_velocity, push_at

HALFWAY = ARRIVED = CENTERED = 0
SINGULAR = LOST = 1
MOVED = 2
SOON = 0.01  # share of a step that a joint's way to its stop takes at least


@unit("midpoint", seconds=6)
def go_halfway(w: WorldView, tau: Floats, dt: float) -> int:
    """From the start of a step to its middle: `w.q`, poses, factors and `w.v_free` there.

    The positions at the start are kept for `turn_back` and `arrive`.  Returns HALFWAY, or SINGULAR
    where the mass matrix is not positive definite or the mean velocity is not found.
    """
    # The positions in the middle, with the velocity of the start
    start = w.starts[0]
    for i in range(w.header[0].nq):
        start[i] = w.q[i]
    if w.header[0].ne > 0:
        measure_start(w, start)
    pace = w.v
    if w.header[0].nkinematic > 0:
        pace = _first_pace(w)
    integrate(w, start, pace, 0.5 * dt, w.q)
    update_poses(w, w.q, w.pose)
    # Forces and mass matrix there
    w.answer[0].recursive = 0
    damped = damped_time(w, dt)
    equations_of_motion(w, w.v, damped, w.L)
    if w.header[0].nspins > 0:
        add_spins(w, w.v, -1.0, w.bias)
    forces = tau
    if w.header[0].nservos > 0:
        if drive(w, tau, dt) != DRIVEN:
            return SINGULAR
        forces = w.forces
    if not factor_in_place(w.dofs, w.L):
        return SINGULAR
    # The change of velocity over the whole step
    for j in range(w.header[0].nv):
        w.v_free[j] = dt * (forces[j] - w.bias[j])
    for j in range(w.header[0].nv):
        w.free_dof_mask[j] = 1.0
    if not add_up(w):
        return SINGULAR
    if not center_velocity(w, forces, dt, w.v_next):
        return SINGULAR
    if w.header[0].nspins > 0 and not spin_through(w, w.v_next, dt):
        return SINGULAR
    return HALFWAY


@unit("midpoint", seconds=4)
def center_again(w: WorldView, tau: Floats, dt: float) -> int:
    """The free velocity with products of the mean that contacts and stops have left.

    Returns CENTERED where that is about the one they had answered, and it stays; MOVED where they
    have to answer anew; or SINGULAR.
    """
    nv, mean, answered = w.header[0].nv, w.trial[0], w.trial[1]
    # What they have stopped is too little for products to change
    stopped, fastest = 0.0, 0.0
    for j in range(nv):
        answered[j] = w.v_free[j]
        mean[j] = 0.5 * (w.v[j] + w.v_new[j])
        stopped = max(stopped, abs(w.v_new[j] - w.v_free[j]))
        fastest = max(fastest, abs(w.v_free[j]))
    if stopped <= PRECISE * fastest:
        return CENTERED
    if not push_at(w, w.forces if w.header[0].nservos > 0 else tau, dt, mean):
        return SINGULAR
    if w.header[0].nspins > 0 and not spin_through(w, mean, dt):
        return SINGULAR
    # As near as the free velocity's own mean is found
    change = 0.0
    for j in range(nv):
        change = max(change, abs(w.v_free[j] - answered[j]))
    if change > PRECISE * fastest:
        return MOVED
    for j in range(nv):
        w.v_free[j] = answered[j]
    return CENTERED


@inlined
def _first_pace(w: WorldView) -> Floats:
    """Velocities of the first half of the step: of kinematic bodies those of the last step.

    As of all others, the velocity that is set for them is that of the second half: what rides on a
    lift then goes where the lift goes.
    """
    # NaN before the first step: then the velocity that is set is all there is
    last, pace = w.last, w.v_next
    for j in range(w.header[0].nv):
        pace[j] = w.v[j]
        if w.dofs[j].kinematic and last[j] == last[j]:  # not NaN
            pace[j] = last[j]
    return pace


@unit("midpoint", seconds=3)
def arrive(w: WorldView, dt: float) -> int:
    """From the middle of a step to its end: the state from `w.q_new`, the middle of the next one.

    Returns ARRIVED; or LOST, with velocities unchanged, where a number is not finite or a loop
    cannot be closed: `turn_back` then.
    """
    kept = w.starts
    h = w.header[0]
    # Nothing is taken over that is no number
    finite = True
    for j in range(h.nv):
        finite = finite and math.isfinite(w.v_new[j])
    for i in range(h.nq):
        finite = finite and math.isfinite(w.q_new[i])
    if not finite:
        return LOST
    # Bodies that nothing touches fly their own exact way
    start, flown = kept[0], kept[1]
    integrate(w, w.q, w.v_new, dt, flown)
    flies = w.rhs  # 1 at the first coordinate of each floating body that flies, else 0
    for i in range(1, h.nb):
        body = w.bodies[i]
        if body.floats == ALONE:
            untouched = h.ne == 0 and _is_untouched(w, body.q_at, body.v_at, flown)
            untouched = untouched and not touched_by_film(w, i)
            flies[body.v_at] = 1.0 if untouched else 0.0
            if untouched:
                fly(w, i, start, dt, flown)
    trees = h.nbases > 0 and h.ne == 0 and _find_flying_trees(w)
    # All else moves on by half a step, to the middle of the next one
    integrate(w, w.q_new, w.v_new, -0.5 * dt, w.q)
    for i in range(1, h.nb):
        body = w.bodies[i]
        if body.floats == ALONE and flies[body.v_at] != 0.0:
            for k in range(body.q_at, body.q_at + 7):
                w.q[k] = flown[k]
    for i in range(h.nq):
        w.q_posed[i] = w.q_new[i]
    if trees:
        _fly_trees(w, start, flown, dt)
    # Loops are closed there; then the velocities are the new ones
    if h.ne > 0 and not _close(w):
        return LOST
    for j in range(h.nv):
        w.v[j] = w.v_new[j]
        if h.nkinematic > 0:
            w.last[j] = w.v_new[j]
    return ARRIVED


@inlined
def _close(w: WorldView) -> bool:
    """Close the loops at the end of the step; whether they can be.

    In the middle of the next one they are closed anyway.
    """
    for i in range(w.header[0].nq):
        w.q_new[i] = w.q[i]
    update_poses(w, w.q_new, w.pose_new)
    w.answer[0].poses_valid = 0
    closed = close_loops(w, w.q, 0.0) in (CERTIFIED, DEGRADED)
    for i in range(w.header[0].nq):
        w.q[i] = w.q_new[i]
    return closed


@inlined
def _find_flying_trees(w: WorldView) -> bool:
    """Mark the floating trees that nothing outside of them has touched; whether there are any.

    Needs poses and composite inertias of the middle, which are no longer needed after it.
    """
    h, flies = w.header[0], w.rhs
    # All floating trees fly ...
    for i in range(1, h.nb):
        if w.bodies[i].floats == BASE:
            flies[w.bodies[i].v_at] = 1.0
    # ... unless something outside of them pressed, or was touched
    for k in range(w.answer[0].contacts):
        contact = w.contacts[k]
        a, b = w.bodies[contact.body_a].root, w.bodies[contact.body_b].root
        if contact.body_a == 0:
            a = 0
        if contact.body_b == 0:
            b = 0
        p = w.memory[contact.candidate].impulse
        pressed = p[0] != 0.0 or p[1] != 0.0 or p[2] != 0.0 or contact.gap <= 0.0
        if pressed and a != b:
            if a > 0 and w.bodies[a].floats == BASE:
                flies[w.bodies[a].v_at] = 0.0
            if b > 0 and w.bodies[b].floats == BASE:
                flies[w.bodies[b].v_at] = 0.0
    found = False
    # Notes are taken here, at the middle: what pushed, and the composite inertias
    for i in range(1, h.nb):
        if w.bodies[i].floats == BASE and flies[w.bodies[i].v_at] != 0.0:
            push_tree(w, i)
            found = True
    return found


@inlined
def _fly_trees(w: WorldView, start: Floats, flown: Floats, dt: float) -> None:
    """Bring the bases of the marked trees to where their momentum is kept."""
    h, flies = w.header[0], w.rhs
    # Momentum, centre and inertia at the start of the step
    update_poses(w, start, w.pose)
    copy_poses(w, w.pose, w.pose_new)
    w.answer[0].poses_valid = 0
    update_velocities(w, w.v)
    update_inertias(w, w.mass_scale)
    for i in range(1, h.nb):
        if w.bodies[i].floats == BASE and flies[w.bodies[i].v_at] != 0.0:
            sum_tree(w, i, START)
    # The same at its end, and the base's motion that makes both agree
    update_poses(w, w.q, w.pose)
    update_velocities(w, w.v_new)
    update_inertias(w, w.mass_scale)
    for i in range(1, h.nb):
        if w.bodies[i].floats == BASE and flies[w.bodies[i].v_at] != 0.0:
            sum_tree(w, i, END)
            fly_tree(w, i, start, flown, dt)


@inlined
def _is_untouched(w: WorkView, q_at: int, v_at: int, expected: Floats) -> bool:
    """Whether neither impulses nor corrections have moved a body: bit for bit as without them."""
    same = True
    for j in range(v_at, v_at + 6):
        same = same and w.v_new[j] == w.v_free[j]
    for k in range(q_at, q_at + 7):
        same = same and w.q_new[k] == expected[k]
    return same


@inlined
def turn_back(w: WorldView) -> None:
    """Back from the middle of a step to its start."""
    start = w.starts[0]
    for i in range(w.header[0].nq):
        w.q[i] = start[i]


@inlined
def until_stops(w: WorldView, dt: float) -> float:
    """How long a step may be whose middle no joint has beyond its stop, from a middle at dt/2.

    Where all steps are as long, the last one has seen to that: it leads from middle to middle.
    """
    start, until = w.starts[0], dt
    # From both ends of the half step: where on the way the stop is passed
    for j in range(w.header[0].nv if w.header[0].nlimited > 0 else 0):
        dof = w.dofs[j]
        if dof.limited == SWING:
            before, left = angle_left(dof, start), angle_left(dof, w.q)
        elif dof.limited == STOPS:
            left, sign = stop_ahead(dof, w.q, 0.0, 0.0)
            before = sign * (start[dof.q_at] - (dof.lower if sign > 0.0 else dof.upper))
        else:
            continue
        if left < min(before, 0.0) - BEYOND:
            until = min(until, dt * max(before / (before - left), SOON))
    return until
