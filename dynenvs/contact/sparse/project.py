"""Projection of positions island by island; `dynenvs.contact.project` says what for.

The same errors, the same Newton step in the kinetic metric and the same second thoughts.  The step
of least kinetic metric with J dq = error comes from the sparse matrix M + J^T R J with stiff R, and
once more from what that leaves: the method of multipliers, so that redundant contacts are no
matter.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.contact.assembly.swing import angle_left
from dynenvs.contact.detection.detect import detect_spots
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
from dynenvs.contact.project import (
    ATTEMPTS,
    BURIED,
    FAR_TURN,
    HALVED,
    MUCH,
    ROUNDOFF,
    SMALL,
    bears,
    largest,
    scale,
    share_of,
    sound,
    stay_within_stops,
    take_back,
    tangential_errors,
)
from dynenvs.contact.sparse.factor import factorise, order_trees, substitute
from dynenvs.contact.sparse.momentum import begin_momentum, restore_momentum
from dynenvs.contact.sparse.problem import add_pull, row_velocity
from dynenvs.contact.sparse.proximal import assemble
from dynenvs.jit.compiled import inlined, unit
from dynenvs.jit.views import words
from dynenvs.kinematics.joints import integrate
from dynenvs.kinematics.poses import update_poses
from dynenvs.kinematics.spatial import dot3
from dynenvs.memory.layout import Floats, ModelView, WorkView, WorldView
from dynenvs.memory.records import DRY, HELD, LIMIT, SWING
from dynenvs.memory.sparse_view import SparseView

STIFF = 1e7  # weight of a row, in units of 1 / g
PASSES = 2  # of multipliers


@unit("sparse", seconds=10)
def project_sparse(w: WorldView, dt: float) -> int:
    """Correct `w.q_new`, and `w.pose_new`, after `solve_sparse`; arguments and answer as of
    `dynenvs.contact.project.correct_positions`."""
    begin_corrections(w, w.answer[0].contacts)
    placed = _project(w, w.scene, dt)
    end_corrections(w, w.answer[0].contacts, placed)
    return 1 if placed else 0


@inlined
def _project(w: WorldView, scene: SparseView, dt: float) -> bool:
    """As `dynenvs.contact.project.project`."""
    count, n = w.answer[0].contacts, w.answer[0].rows
    # The velocity along each constraint's rows: where the step was to lead it
    for k in range(w.header[0].nv):
        scene.v[k] = w.v_new[scene.coordinates[k]]
    for i in range(n):
        for r in range(3):
            scene.trial[i, r] = row_velocity(scene, i, r, scene.v)
        _add_carried(w, scene, i)
    # What the correction may not end deeper than
    least = deepest_contact(w.spots, w.contacts, count) - LARGE
    lowest = bare = w.answer[0].lowest
    floating, corrected = begin_momentum(w, scene), False
    before, pulls = math.inf, True
    # Newton's method on the constraints' errors, as long as each round lessens them
    for attempt in range(ATTEMPTS):
        worst, beyond = _mark_errors(w, scene, n, dt, before, pulls)
        within = beyond <= LARGE
        if worst < ROUNDOFF or (attempt > 1 and not worst < before):
            break
        before = worst
        if worst > PUSH_OUT:
            for i in range(n):
                for r in range(3):
                    scene.p[i, r] *= PUSH_OUT / worst
        # The smallest change of positions that takes the errors back; pulls that bury are left out
        dq = w.v_next
        if not _correct(w, scene, dq):
            break
        if pulls and _pulls_in(w, scene, n):
            before, pulls = math.inf, False
            continue
        share = share_of(dq, min(worst, PUSH_OUT) if within else worst)
        if within and share < 1.0 and _hold_unmovable(w, scene, n, worst):
            before = math.inf
            continue
        scale(dq, share)
        corrected = True
        last = share < 1.0 or worst < SMALL or worst > PUSH_OUT or attempt + 1 == ATTEMPTS
        # Take it, and look again where it went far
        stay_within_stops(w.dofs, w.q_new, dq)
        look = worst > LARGE or largest(dq) > FAR_TURN
        integrate(w, w.q_new, dq, 1.0, w.q_new)
        update_poses(w, w.q_new, w.pose_new)
        if w.header[0].ns > 0 and (look or not last):
            detect_spots(w, 1, dt)
        share *= min(worst, PUSH_OUT) / worst
        if look and within and hold_unmoved(w, count, share, attempt):
            take_back(w, dq, dt)
            before = math.inf
            continue
        if look:
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
    # What floats keeps its momentum
    if floating > 0 and corrected:
        restore_momentum(w, scene)
    return lowest >= least


@inlined
def _add_carried(w: WorkView, scene: SparseView, index: int) -> None:
    """Make a constraint's velocities `trial` those from a kinematic body, belts left out."""
    c = scene.constraints[index]
    if c.contact < 0 or c.drifts == 0:
        return
    contact = w.contacts[c.contact]
    for r in range(c.rows):
        # Bodies moved from outside carry what rests on them, belts do not
        direction = contact.normal if r == 0 else (contact.t1 if r == 1 else contact.t2)
        scene.trial[index, r] += dot3(direction, c.drift)
        if contact.drifts:
            scene.trial[index, r] -= dot3(direction, contact.drift)


@inlined
def _mark_errors(
    w: WorkView, scene: SparseView, count: int, dt: float, most: float, pulls: bool
) -> tuple[float, float]:
    """Position errors of all constraints into `p`, weights of those that take part into `W`.

    most, pulls: as of `dynenvs.contact.project._contact_errors`
    Returns the largest error, and the largest of a joint beyond its stop [m, rad].
    """
    worst = beyond = 0.0
    errors, speeds = words(scene.p, 3 * count), words(scene.trial, 3 * count)
    for i in range(count):
        c = scene.constraints[i]
        for k in range(9):
            scene.W[i, k] = 0.0
        # A joint that rubs has no position to keep; one at its stop has
        if c.contact == DRY:
            continue
        if c.contact == LIMIT:
            dof = w.dofs[c.coordinate]
            if dof.limited == SWING:
                gap = angle_left(dof, w.q_new)
            else:
                at = w.q_new[dof.q_at]
                gap = at - dof.lower if scene.J[6 * i, dof.place] > 0.0 else dof.upper - at
            if gap < 0.0 or c.pressed != 0:
                scene.p[i, 0] = -gap
                beyond = max(beyond, _mark(scene, i, 1))
            continue
        # A contact's gap beside that which the step announced
        contact = w.contacts[c.contact]
        holds, gap = gap_at_end(w.features, w.spots, w.pose_new, contact)
        held = contact.correction == HELD
        contact.correction = HELD if held else 0.0
        if held or not holds or not scene.G[i, 0] > 0.0:
            continue
        announced = max(0.0, contact.gap + dt * scene.trial[i, 0])
        if not bears(contact, scene.G[i, 0], announced, dt):
            if gap >= 0.0:
                continue
            announced = 0.0
        if announced - gap < (-most if pulls else -BURIED):
            continue
        scene.p[i, 0] = contact.correction = announced - gap
        contact.before = gap
        # One that sticks to what stands still keeps its place along the surface, too
        rows = 1
        if contact.stick > 0 and contact.grounded and contact.edges >= 0:
            contact.row = 3 * i
            tangential_errors(contact, w.pose, w.pose_new, speeds, dt, errors)
            rows += contact.stick
        worst = max(worst, _mark(scene, i, rows))
    return max(worst, beyond), beyond


@inlined
def _pulls_in(w: WorkView, scene: SparseView, count: int) -> bool:
    """As of `dynenvs.contact.project`, for the correction in `off`."""
    most = 0.0
    for i in range(count):
        if scene.W[i, 0] > 0.0:
            most = min(most, scene.p[i, 0])
    if most >= -BURIED:
        return False
    for i in range(count):
        c = scene.constraints[i]
        if c.contact < 0:  # a stop or a dry joint
            continue
        contact = w.contacts[c.contact]
        holds, gap = gap_at_end(w.features, w.spots, w.pose_new, contact)
        moved = row_velocity(scene, i, 0, scene.off)
        if holds and gap + moved < MUCH * most and moved < MUCH * most:
            return True
    return False


@inlined
def _hold_unmovable(w: WorkView, scene: SparseView, count: int, worst: float) -> bool:
    """As of `dynenvs.contact.project`."""
    found = False
    for i in range(count):
        c = scene.constraints[i]
        if c.contact < 0:  # a stop or a dry joint
            continue
        reach = 0.0
        for side in range(2 if c.b >= 0 else 1):
            for j in range(scene.trees[c.b if side else c.a].nv):
                reach += abs(scene.J[6 * i + 3 * side, j])
        found = hold_if_unmovable(w.contacts[c.contact], reach, worst) or found
    return found


@inlined
def _mark(scene: SparseView, index: int, rows: int) -> float:
    """Have the first rows of a constraint take part; returns their largest error."""
    worst = 0.0
    for r in range(rows):
        scene.W[index, 4 * r] = STIFF / scene.constraints[index].g
        worst = max(worst, abs(scene.p[index, r]))
    return worst


@inlined
def _correct(w: ModelView, scene: SparseView, dq: Floats) -> bool:
    """The step dq in the model's order; False if an island's factor finds no room or pivot."""
    # Nothing moves but the islands that have errors
    for j in range(w.header[0].nv):
        dq[j] = scene.off[j] = 0.0
    k = 0
    while k < scene.trees.shape[0] and scene.islands[k].count > 0:
        island = scene.islands[k]
        k += 1
        if _largest_error(scene, island) < ROUNDOFF:
            continue
        if not order_trees(scene, island):
            return False
        assemble(scene, island)
        if not factorise(scene, island):
            return False
        # The second pass takes what stiff rows have left over
        for _ in range(PASSES):
            _add_step(scene, island)
        # Back into the model's order
        for a in range(island.first_tree, island.first_tree + island.trees):
            tree = scene.trees[scene.trees_of[a]]
            for j in range(tree.first, tree.first + tree.nv):
                dq[scene.coordinates[j]] = scene.off[j]
    return True


@inlined
def _largest_error(scene: SparseView, island: Any) -> float:
    worst = 0.0
    for k in range(island.first, island.first + island.count):
        i = scene.members[k]
        for r in range(3):
            if scene.W[i, 4 * r] > 0.0:
                worst = max(worst, abs(scene.p[i, r]))
    return worst


@inlined
def _add_step(scene: SparseView, island: Any) -> None:
    """off += (M + J^T R J)^-1 J^T R (error - J off), over the rows that take part."""
    # Pulls in proportion to what is left of each error
    for a in range(island.first_tree, island.first_tree + island.trees):
        tree = scene.trees[scene.trees_of[a]]
        for j in range(tree.first, tree.first + tree.nv):
            scene.step[j] = 0.0
    for k in range(island.first, island.first + island.count):
        i = scene.members[k]
        for r in range(scene.constraints[i].rows):
            weight = scene.W[i, 4 * r]
            if weight != 0.0:
                pull = weight * (scene.p[i, r] - row_velocity(scene, i, r, scene.off))
                add_pull(scene, i, r, pull, scene.step)
    substitute(scene, island, scene.step)
    for a in range(island.first_tree, island.first_tree + island.trees):
        tree = scene.trees[scene.trees_of[a]]
        for j in range(tree.first, tree.first + tree.nv):
            scene.off[j] += scene.step[j]
