"""The contact problem of a scene, solved island by island.

Same contacts, law and certificate as in `dynenvs.contact.resolve`; what differs is the work, which
grows with the islands and their contacts, not with the square of all.
"""

from __future__ import annotations

from dynenvs.contact.assembly.memory import clear_warm_start, remember_contact
from dynenvs.contact.assembly.problem import least_speed
from dynenvs.contact.law.directional import set_directions
from dynenvs.contact.sparse.dry_joints import pose_dry, remember_dry
from dynenvs.contact.sparse.island_problem import open_island, update_velocities
from dynenvs.contact.sparse.islands import find_islands
from dynenvs.contact.sparse.ladder import solve_island, velocity_scale
from dynenvs.contact.sparse.moment_rows import has_moments, keep_moments, pose_moments
from dynenvs.contact.sparse.problem import list_trees, pose_problem, read_masses
from dynenvs.contact.sparse.weights import weigh
from dynenvs.jit.compiled import inlined, unit
from dynenvs.lcp.solve import CERTIFIED, FAILED
from dynenvs.memory.layout import StateView, WorldView
from dynenvs.memory.records import LIMIT, SWING
from dynenvs.memory.sparse_view import SparseView


@unit("sparse", seconds=15)
def pose_islands(w: WorldView, count: int, dt: float) -> int:
    """The problem of `count` contacts and of the limits in reach, sorted into islands.

    From the velocities `w.v_free` and the factors `w.L`.  `islands` ends with one that has no
    constraints.  Returns the number of constraints.

    dt: length of the step, or 0 in an impact, in which no gap closes
    """
    # Trees and their masses, the constraints, and what impulses along them do
    scene = w.scene
    list_trees(w.dofs, scene)
    for k in range(w.header[0].nv):
        scene.free[k] = w.v_free[scene.coordinates[k]]
    read_masses(w.dofs, w.L, scene)
    if w.header[0].ngrains > 0 and set_directions(w, count) < 0:
        return -1
    n = pose_problem(w, scene, count, dt)
    weigh(w.dofs, w.L, scene, n)
    if w.header[0].ndry:
        n = pose_dry(w, scene, n, dt)
    if w.header[0].moments:
        pose_moments(w, scene, count, n)
    # Islands, and which of them have moments
    islands = find_islands(scene, n)
    scene.islands[islands].count = 0
    for k in range(islands):
        scene.islands[k].moments = has_moments(scene, scene.islands[k])
    return int(n)


@unit("sparse", seconds=6)
def solve_sparse(w: WorldView, count: int, dt: float) -> int:
    """From `w.v_free` and `w.L` to `w.v_new` and the impulses of `count` contacts.

    `w.answer` tells the worst residual and all factorisations.  Returns the worst status.
    """
    # The problem, sorted into islands
    n = pose_islands(w, count, dt)
    scene = w.scene
    if n < 0:  # it could not be compiled
        return FAILED
    for k in range(w.header[0].nv):
        w.v_new[k] = w.v_free[k]
    floor, answer, status = least_speed(w.header, dt), w.answer[0], CERTIFIED
    worst, newtons = 0.0, 0  # not yet into the answer: the dense solvers write there
    # Each island by itself; the velocities of its trees
    k = 0
    while scene.islands[k].count > 0:
        island = scene.islands[k]
        island.scale, island.newtons = velocity_scale(scene, island, floor), 0
        island.residual = update_velocities(open_island(w, k))
        solved = solve_island(w, k)
        status = max(status, solved) if solved >= 0 else FAILED
        newtons += island.newtons
        worst = max(worst, island.residual)
        for t in range(island.first_tree, island.first_tree + island.trees):
            tree = scene.trees[scene.trees_of[t]]
            for j in range(tree.first, tree.first + tree.nv):
                w.v_new[scene.coordinates[j]] = scene.v[j]
        k += 1
    # What is remembered for the next step
    for i in range(count, n):
        scene.constraints[i].pressed = 1 if scene.p[i, 0] > 0.0 else 0
    if w.header[0].nlimited:
        _remember_stops(w, scene, count, n)
    if w.header[0].ndry:
        remember_dry(w, scene, count, n)
    _remember(w, scene, count)
    if w.header[0].moments:
        _remember_moments(w, scene, count)
    answer.residual, answer.sweeps, answer.pivots = worst, newtons, 0
    answer.rows, answer.sparse, w.status[0].part = n, 1, dt
    return int(status)


@inlined
def _remember_stops(w: StateView, scene: SparseView, count: int, total: int) -> None:
    """Keep what joint stops gave each coordinate: those constraints that follow the contacts."""
    stops = w.stops
    for j in range(w.header[0].nv):
        stops[j] = 0.0
    for i in range(count, total):
        c = scene.constraints[i]
        if c.contact == LIMIT:
            dof = w.dofs[c.coordinate]
            for k in range(3 if dof.limited == SWING else 1):
                stops[c.coordinate + k] = scene.J[6 * i, dof.place + k] * scene.p[i, 0]


@inlined
def _remember_moments(w: WorldView, scene: SparseView, count: int) -> None:
    """Keep moments by feature, as `_remember` keeps impulses and after it."""
    moments, planar = w.moments, w.header[0].directions == 2
    for k in range(w.status[0].touched):
        for r in range(3):
            moments[w.touched[k], r] = 0.0
    for i in range(count):
        contact = w.contacts[i]
        keep_moments(scene, i, contact, planar, moments[contact.candidate])


@inlined
def _remember(w: WorldView, scene: SparseView, count: int) -> None:
    """Keep impulses by candidate; those that were not in reach keep none."""
    clear_warm_start(w)
    w.status[0].contacts = 0
    for i in range(count):
        p = scene.p[i]
        remember_contact(w, w.contacts[i], p[0], p[1], p[2], scene.constraints[i].slip)
