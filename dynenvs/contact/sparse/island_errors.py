"""Errors of the constraints of all trees, and the smallest motion that takes them back.

As `dynenvs.contact.row_errors`, island by island: the step of least kinetic metric with J dq =
error comes from the sparse matrix M + J^T R J with stiff R, and once more from what that leaves:
the method of multipliers, so that redundant contacts are no matter.
"""

from __future__ import annotations

from typing import Any

from dynenvs.contact.errors import LEFT_OUT, contact_errors, holds_stop, stop_error
from dynenvs.contact.sparse.factor import factorise, order_trees, substitute
from dynenvs.contact.sparse.problem import add_pull, row_velocity
from dynenvs.contact.sparse.proximal import assemble
from dynenvs.jit.compiled import inlined, unit
from dynenvs.jit.views import words
from dynenvs.kinematics.spatial import dot3
from dynenvs.memory.layout import Floats, ModelView, WorkView, WorldView
from dynenvs.memory.records import LIMIT
from dynenvs.memory.sparse_view import SparseView

STIFF = 1e7  # weight of a row, in units of 1 / g
PASSES = 2  # of multipliers
ROUNDOFF = 1e-15  # an island's errors below this are left alone [m]
SOLVED, ROOMLESS = 0, 1  # whether an island's factor has found room and pivots


@inlined
def announce_islands(w: WorldView) -> None:
    """Where the step's velocities led the constraints, into `trial`."""
    scene = w.scene
    for k in range(w.header[0].nv):
        scene.v[k] = w.v_new[scene.coordinates[k]]
    for i in range(w.answer[0].rows):
        for r in range(3):
            scene.trial[i, r] = row_velocity(scene, i, r, scene.v)
        _add_carried(w, scene, i)
    for i in range(w.answer[0].contacts):
        w.contacts[i].row = 3 * i


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


@unit("sparse", seconds=4)
def find_island_errors(w: WorldView, dt: float) -> int:
    """Errors of contacts and stops into `p`, weights of those that take part into `W`; SOLVED."""
    scene, aim, count = w.scene, w.correction[0], w.answer[0].rows
    errors = words(scene.p, 3 * count)
    for r in range(3 * count):
        errors[r] = LEFT_OUT
    contact_errors(w, errors, words(scene.trial, 3 * count), dt)
    for i in range(w.answer[0].contacts, count):
        c = scene.constraints[i]
        # A joint that rubs has no position to keep; one at its stop has
        if c.contact == LIMIT:
            dof = w.dofs[c.coordinate]
            error = stop_error(dof, w.q_new, scene.J[6 * i, dof.place] > 0.0)
            if holds_stop(aim, error, c.pressed != 0):
                errors[3 * i] = error
                aim.beyond = max(aim.beyond, abs(error))
                aim.deep = max(aim.deep, error)
                aim.worst = max(aim.worst, abs(error))
    for i in range(count):
        for k in range(9):
            scene.W[i, k] = 0.0
        for r in range(3):
            if errors[3 * i + r] < LEFT_OUT:
                scene.W[i, 4 * r] = STIFF / scene.constraints[i].g
    return SOLVED


@unit("sparse", seconds=6)
def solve_island_errors(w: WorldView, share: float) -> int:
    """The motion `w.v_next` that takes back a share of the errors, as SOLVED; or ROOMLESS."""
    scene = w.scene
    for i in range(w.answer[0].rows):
        for r in range(3):
            if scene.W[i, 4 * r] > 0.0:
                scene.p[i, r] *= share
    return SOLVED if _correct(w, scene, w.v_next) else ROOMLESS


@inlined
def island_moved(w: WorldView, index: int, least: float) -> float:
    """As `row_moved` of the dense problem."""
    scene, moved = w.scene, 0.0
    c = scene.constraints[index]
    for side in range(2 if c.b >= 0 else 1):
        tree = scene.trees[c.b if side else c.a]
        for k in range(tree.nv):
            if abs(scene.off[tree.first + k]) >= least:
                moved += scene.J[6 * index + 3 * side, k] * scene.off[tree.first + k]
    return moved


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
