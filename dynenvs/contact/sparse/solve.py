"""The contact problem of a scene, island by island: the rung above the dense ones.

Same contacts, law and certificate as in `dynenvs.contact.resolve`; what differs is the work, which
grows with the islands and their contacts, not with the square of all.
"""

from __future__ import annotations

from typing import Any

from dynenvs.compiled import apart, inlined
from dynenvs.contact.memory import forget, remember_contact
from dynenvs.contact.penalty import ENOUGH
from dynenvs.contact.problem import least_speed
from dynenvs.contact.solve import ALL, QUICK
from dynenvs.contact.sparse.islands import find_islands
from dynenvs.contact.sparse.large import solve_island
from dynenvs.contact.sparse.problem import list_trees, pose_problem, read_masses, weigh
from dynenvs.contact.sparse.proximal import update_velocities
from dynenvs.contact.sparse.small import DONE, solve_small
from dynenvs.layout import (
    Bytes,
    Records,
    StateView,
    WorkspaceView,
    open_model,
    open_polygon,
    open_state,
    open_workspace,
)
from dynenvs.lcp.solve import CERTIFIED, CERTIFIED_RESIDUAL, DEGRADED, FAILED
from dynenvs.records import KEPT, PYRAMID
from dynenvs.sparse_view import SparseView, open_sparse

SMALL = 16  # constraints of an island up to which the dense method is tried first ...
EXACT = 1e-13  # ... where the last step's impulses leave more than this
RELATIVE = 1e-6  # of parts that move together: rounding of their speed is no error of theirs
USELESS = 0.1  # residual above which an answer is none


@apart("int64(uint8[::1], uint8[::1], uint8[::1], int64, float64)", "sparse", seconds=20)
def solve_sparse(packed: Bytes, row: Bytes, buffer: Bytes, count: int, dt: float) -> int:
    """From `w.v_free` and `w.L` to `w.v_new` and the impulses of `count` contacts.

    `w.answer` tells the worst residual and all factorisations.  Returns the worst status.
    """
    m = open_model(packed)
    s, w = open_state(m, row), open_workspace(m, buffer)
    x = open_sparse(m.header, buffer)
    polygon = open_polygon(m, s)
    list_trees(m.dofs, x)
    for k in range(m.header[0].nv):
        x.free[k] = w.v_free[x.coordinates[k]]
        w.v_new[k] = w.v_free[k]
    read_masses(m.dofs, w.L, x)
    n = pose_problem(m, s, w, x, count, dt)
    weigh(m.dofs, w.L, x, n)
    islands = find_islands(x, n)
    floor = least_speed(m.header, dt)
    cone, answer, status = s.status[0].cone, w.answer[0], CERTIFIED
    worst, newtons = 0.0, 0  # not yet into the answer: the dense solvers write there
    for k in range(islands):
        island = x.islands[k]
        island.scale, island.newtons = _velocity_scale(x, island, floor), 0
        island.residual = update_velocities(x, island, cone, polygon, w.blocks)
        _climb(packed, row, buffer, s, w, x, k, polygon)
        newtons += island.newtons
        worst = max(worst, island.residual)
        if not island.residual <= USELESS:
            status = FAILED
        elif island.residual > CERTIFIED_RESIDUAL and status == CERTIFIED:
            status = DEGRADED
        for t in range(island.first_tree, island.first_tree + island.trees):
            tree = x.trees[x.trees_of[t]]
            for j in range(tree.first, tree.first + tree.nv):
                w.v_new[x.coordinates[j]] = x.v[j]
    if islands < x.islands.shape[0]:
        x.islands[islands].count = 0  # the end of the list
    for i in range(count, n):
        x.constraints[i].pressed = 1 if x.p[i, 0] > 0.0 else 0
    _remember(s, w, x, count)
    answer.residual, answer.sweeps, answer.pivots = worst, newtons, 0
    answer.rows, answer.sparse = n, 1
    return status


@inlined
def _climb(
    packed: Bytes,
    row: Bytes,
    buffer: Bytes,
    s: StateView,
    w: WorkspaceView,
    x: SparseView,
    k: int,
    polygon: Records,
) -> None:
    """THE LADDER: island k from what the last step knows to an answer with the certificate.

    Each rung is dearer than the one before, and is taken where that has left too much.
    """
    island, status = x.islands[k], s.status[0]
    # Things at rest: nothing is new
    status.asked[KEPT] += 1
    if island.residual <= EXACT:
        status.answered[KEPT] += 1
        return
    # A few contacts: their modes are quickly found, and exact to rounding
    few = island.count <= SMALL and status.cone == PYRAMID
    if few and solve_small(packed, row, buffer, k, QUICK) == DONE and island.residual <= ENOUGH:
        return
    if island.residual <= ENOUGH:
        status.answered[KEPT] += 1
        return
    # Many, or modes that do not settle
    island.residual = solve_island(x, island, status, polygon, w.blocks)
    if island.residual <= CERTIFIED_RESIDUAL:
        return
    # A few that are wedged, or touch nearly along a line
    solve_small(packed, row, buffer, k, ALL)


@inlined
def _velocity_scale(x: SparseView, island: Any, floor: float) -> float:
    """The certificate's velocity scale, as `dynenvs.contact.problem.velocity_scale`.

    And no less than what rounding leaves of the difference of speeds.
    """
    scale = floor
    for k in range(island.first, island.first + island.count):
        scale = max(scale, x.constraints[x.members[k]].speed)
    for k in range(island.first_tree, island.first_tree + island.trees):
        tree = x.trees[x.trees_of[k]]
        for j in range(tree.first, tree.first + tree.nv):
            scale = max(scale, RELATIVE * abs(x.free[j]))
    return scale if scale > 0.0 else 1.0


@inlined
def _remember(s: StateView, w: WorkspaceView, x: SparseView, count: int) -> None:
    """Keep impulses by candidate; those that were not in reach forget theirs."""
    forget(s)
    s.status[0].contacts = 0
    for i in range(count):
        p = x.p[i]
        remember_contact(s, w.contacts[i], p[0], p[1], p[2], x.constraints[i].slip)
