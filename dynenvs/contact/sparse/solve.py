"""The contact problem of a scene, island by island: the rung above the dense ones.

Same contacts, law and certificate as in `dynenvs.contact.resolve`; what differs is the work, which
grows with the islands and their contacts, not with the square of all.
"""

from __future__ import annotations

from dynenvs.contact.assembly.memory import forget, remember_contact
from dynenvs.contact.assembly.problem import least_speed
from dynenvs.contact.sparse.dry_joints import has_dry, pose_dry, remember_dry
from dynenvs.contact.sparse.islands import find_islands
from dynenvs.contact.sparse.ladder import climb, velocity_scale
from dynenvs.contact.sparse.moment_rows import has_moments, keep_moments, pose_moments
from dynenvs.contact.sparse.problem import list_trees, pose_problem, read_masses
from dynenvs.contact.sparse.proximal import update_velocities
from dynenvs.contact.sparse.weights import weigh
from dynenvs.jit.compiled import apart, inlined
from dynenvs.lcp.solve import CERTIFIED, FAILED
from dynenvs.memory.layout import StateView, WorldView, polygon_of
from dynenvs.memory.records import LIMIT, SWING
from dynenvs.memory.sparse_view import SparseView


@apart("sparse", seconds=15)
def pose_islands(w: WorldView, count: int, dt: float) -> int:
    """The problem of `count` contacts and of the limits in reach, sorted into islands.

    From the velocities `w.v_free` and the factors `w.L`.  `islands` ends with one that has no
    constraints.  Returns the number of constraints.

    dt: length of the step, or 0 in an impact, in which no gap closes
    """
    x = w.islands
    list_trees(w.dofs, x)
    for k in range(w.header[0].nv):
        x.free[k] = w.v_free[x.coordinates[k]]
    read_masses(w.dofs, w.L, x)
    n = pose_problem(w, x, count, dt)
    weigh(w.dofs, w.L, x, n)
    if w.header[0].ndry:
        n = pose_dry(w, x, n, dt)
    if w.header[0].moments:
        pose_moments(w, x, count, n)
    islands = find_islands(x, n)
    x.islands[islands].count = 0
    for k in range(islands):
        x.islands[k].moments = has_moments(x, x.islands[k])
        x.islands[k].dry = has_dry(x, x.islands[k])
    return int(n)


@apart("sparse", seconds=6)
def solve_sparse(w: WorldView, count: int, dt: float) -> int:
    """From `w.v_free` and `w.L` to `w.v_new` and the impulses of `count` contacts.

    `w.answer` tells the worst residual and all factorisations.  Returns the worst status.
    """
    n = pose_islands(w, count, dt)
    x = w.islands
    if n < 0:  # it could not be compiled
        return FAILED
    for k in range(w.header[0].nv):
        w.v_new[k] = w.v_free[k]
    cone, polygon = w.status[0].cone, polygon_of(w)
    floor, answer, status = least_speed(w.header, dt), w.answer[0], CERTIFIED
    worst, newtons = 0.0, 0  # not yet into the answer: the dense solvers write there
    k = 0
    while x.islands[k].count > 0:
        island = x.islands[k]
        island.scale, island.newtons = velocity_scale(x, island, floor), 0
        island.residual = update_velocities(x, island, cone, polygon, w.blocks)
        climbed = climb(w, k)
        status = max(status, climbed) if climbed >= 0 else FAILED
        newtons += island.newtons
        worst = max(worst, island.residual)
        for t in range(island.first_tree, island.first_tree + island.trees):
            tree = x.trees[x.trees_of[t]]
            for j in range(tree.first, tree.first + tree.nv):
                w.v_new[x.coordinates[j]] = x.v[j]
        k += 1
    for i in range(count, n):
        x.constraints[i].pressed = 1 if x.p[i, 0] > 0.0 else 0
    if w.header[0].nlimited:
        _remember_stops(w, x, count, n)
    if w.header[0].ndry:
        remember_dry(w, x, count, n)
    _remember(w, x, count)
    if w.header[0].moments:
        _remember_moments(w, x, count)
    answer.residual, answer.sweeps, answer.pivots = worst, newtons, 0
    answer.rows, answer.sparse, w.status[0].part = n, 1, dt
    return int(status)


@inlined
def _remember_stops(w: StateView, x: SparseView, count: int, n: int) -> None:
    """Keep what joint stops gave each coordinate: those constraints that follow the contacts."""
    stops = w.stops
    for j in range(w.header[0].nv):
        stops[j] = 0.0
    for i in range(count, n):
        c = x.constraints[i]
        if c.contact == LIMIT:
            dof = w.dofs[c.coordinate]
            for k in range(3 if dof.limited == SWING else 1):
                stops[c.coordinate + k] = x.J[6 * i, dof.place + k] * x.p[i, 0]


@inlined
def _remember_moments(w: WorldView, x: SparseView, count: int) -> None:
    """Keep moments by feature, as `_remember` keeps impulses and after it."""
    moments, planar = w.moments, w.header[0].directions == 2
    for k in range(w.status[0].touched):
        for r in range(3):
            moments[w.touched[k], r] = 0.0
    for i in range(count):
        contact = w.contacts[i]
        keep_moments(x, i, contact, planar, moments[contact.candidate])


@inlined
def _remember(w: WorldView, x: SparseView, count: int) -> None:
    """Keep impulses by candidate; those that were not in reach forget theirs."""
    forget(w)
    w.status[0].contacts = 0
    for i in range(count):
        p = x.p[i]
        remember_contact(w, w.contacts[i], p[0], p[1], p[2], x.constraints[i].slip)
