"""THE LADDER of an island's contact problem: what is tried, in which order, and when it is enough.

======== ================================================= =======================================
kept     the last step's impulses                          things at rest: nothing is new
dense    stages of `dynenvs.contact.solve` on the island's a few contacts, then wedged ones
         Delassus matrix (`small.py`)
near     few rounds of multipliers from the last step's    many contacts of which little has
         impulses (`proximal.py`)                          changed
path     the central path (`path.py`), then multipliers    bodies thrown together
multi-   sweeps from no impulses (`sweeps.py`), then       where that led nowhere; before it, where
pliers   multipliers                                       they solved the last step's large island
lemke    Lemke's method on the dense problem               it ends on every problem
======== ================================================= =======================================

Steps and impacts use the same one.
"""

from __future__ import annotations

from typing import Any

from dynenvs.contact.solve import ALL, INSIDE, QUICK
from dynenvs.contact.solvers.multipliers import CROWD
from dynenvs.contact.solvers.rounds import ENOUGH
from dynenvs.contact.sparse.factor import order_trees
from dynenvs.contact.sparse.island_problem import (
    IslandProblem,
    copy_impulses,
    open_island,
    update_velocities,
)
from dynenvs.contact.sparse.path import follow_path
from dynenvs.contact.sparse.proximal import multiply
from dynenvs.contact.sparse.rounding import is_good, is_rounding
from dynenvs.contact.sparse.small import DONE, has_compression, solve_small
from dynenvs.jit.compiled import inlined, kernel, unit
from dynenvs.lcp.solve import CERTIFIED, CERTIFIED_RESIDUAL, DEGRADED, FAILED
from dynenvs.memory.layout import WorldView, cone_of
from dynenvs.memory.records import KEPT, MULTIPLIERS, PATH, PYRAMID
from dynenvs.memory.sparse_view import SparseView

SMALL = 16  # constraints of an island up to which the dense method is tried first ...
SMALL_ON_CONES = 8  # ... on exact cones, whose own method is dear among very unequal masses ...
COMPRESSED = 4  # ... the same, where there are compression impulses (Poisson's law of impact) ...
EXACT = 1e-13  # ... where the last step's impulses leave more than this
RELATIVE = 1e-6  # of parts that move together: rounding of their speed is no error of theirs
USELESS = 0.1  # residual above which an answer is none
REST = 1e-6  # up to which a large island goes on from the last step's impulses ...
FEW = 16  # ... with this many factorisations: the central path takes twenty, from nothing
LOST = 0.1  # residual above which the central path has led nowhere
NO_SWEEPS, SWEEPS = 0, 60  # of Gauss-Seidel before multipliers ...
SWEEPS_OF_CROWD = 20  # ... of a crowd, where they cost more than Newton's steps


@unit("sparse", seconds=29)
def solve_island(w: WorldView, index: int) -> int:
    """Solve an island from the impulses `p`, whose residual is known, to a certified answer.

    Stages are tried in order of cost; the next one runs only where the one before has left too
    much.  `p`, `v` and the island's residual end as those of the best answer; returns its status
    (`certify_island`).
    """
    scene, problem = w.scene, open_island(w, index)
    island, status = scene.islands[index], w.status[0]
    # Things at rest: nothing is new
    status.called[KEPT] += 1
    if island.residual <= EXACT:
        status.solved[KEPT] += 1
        return certify_island(island)
    # A few contacts: their modes are quickly found, and exact to rounding; so are Lemke's pivots of
    # very few where compression impulses bound friction, too, of which modes know nothing
    most = COMPRESSED if has_compression(scene, island) else SMALL
    stages = QUICK
    if cone_of(w) != PYRAMID:
        most, stages = min(most, SMALL_ON_CONES), INSIDE
    if island.count <= most and solve_small(w, index, stages) == DONE and island.residual <= ENOUGH:
        return certify_island(island)
    if island.residual <= ENOUGH or is_rounding(problem, island.residual):
        status.solved[KEPT] += 1
        return certify_island(island)
    # A few that are wedged, or touch nearly along a line
    solve_small(w, index, INSIDE)
    if is_good(problem, island.residual):
        return certify_island(island)
    # Many, or modes that do not converge
    island.residual = _solve_large(problem, status)
    if is_good(problem, island.residual):
        return certify_island(island)
    # Lemke's method always ends with an answer, at last, but takes thousands of operations a row
    solve_small(w, index, ALL)
    return certify_island(island)


@kernel
def _solve_large(problem: IslandProblem, status: Any) -> float:
    """Multipliers from the central path or from no impulses; returns the residual of the best.

    What `p` holds stays where they find nothing better.

    status: the world's STATUS
    """
    scene, island = problem.scene, problem.island[0]
    if not order_trees(scene, island):
        return float(island.residual)
    warm = island.residual
    copy_impulses(scene, island, scene.p, scene.kept)
    # From the last step's impulses, if they are near
    if warm <= REST:
        near = multiply(problem, warm, NO_SWEEPS, island.newtons + FEW)
        if near <= CERTIFIED_RESIDUAL:
            return near
    # The method that answered last, then the other one; what `p` held if none is better
    best = warm
    stage = MULTIPLIERS if status.large_stage == MULTIPLIERS else PATH
    for _ in range(2):
        budget = island.newtons + status.budget
        status.called[stage] += 1
        found = _from_the_path(problem, budget) if stage == PATH else _from_nothing(problem, budget)
        status.solved[stage] += 1 if found <= CERTIFIED_RESIDUAL else 0
        if is_good(problem, found):
            status.large_stage = stage
            return found
        if found < best:
            best = found
            copy_impulses(scene, island, scene.p, scene.kept)
        stage = MULTIPLIERS if stage == PATH else PATH
    status.large_stage = PATH
    copy_impulses(scene, island, scene.kept, scene.p)
    return update_velocities(problem)


@kernel
def _from_the_path(problem: IslandProblem, budget: int) -> float:
    """Multipliers from the pyramids' central path, which leads near the exact cones' answer, too.

    Where nothing can part what touches there is no path: what it gives is then no beginning.
    """
    near = follow_path(problem, budget)
    return multiply(problem, near, NO_SWEEPS, budget) if near <= LOST else near


@kernel
def _from_nothing(problem: IslandProblem, budget: int) -> float:
    """Multipliers from sweeps: impulses of contacts that have changed what they do can mislead."""
    scene, island, freedoms = problem.scene, problem.island[0], 0
    for k in range(island.first_tree, island.first_tree + island.trees):
        freedoms += scene.trees[scene.trees_of[k]].nv
    sweeps = SWEEPS_OF_CROWD if 3 * island.count > CROWD * freedoms else SWEEPS
    _clear(scene, island)
    return multiply(problem, update_velocities(problem), sweeps, budget)


@inlined
def _clear(scene: SparseView, island: Any) -> None:
    for k in range(island.first, island.first + island.count):
        i = scene.members[k]
        j = scene.constraints[i].moments
        for r in range(3):
            scene.p[i, r] = 0.0
            if j >= 0:
                scene.p[j, r] = 0.0


@inlined
def certify_island(island: Any) -> int:
    """CERTIFIED, DEGRADED or FAILED, by the island's residual."""
    if not island.residual <= USELESS:
        return FAILED
    return DEGRADED if island.residual > CERTIFIED_RESIDUAL else CERTIFIED


@inlined
def velocity_scale(scene: SparseView, island: Any, floor: float) -> float:
    """The certificate's velocity scale, as `dynenvs.contact.assembly.problem.velocity_scale`.

    And no less than what rounding leaves of the difference of speeds.
    """
    # The largest predicted velocity, or the rounding of what moves together
    scale = floor
    for k in range(island.first, island.first + island.count):
        scale = max(scale, scene.constraints[scene.members[k]].speed)
    for k in range(island.first_tree, island.first_tree + island.trees):
        tree = scene.trees[scene.trees_of[k]]
        for j in range(tree.first, tree.first + tree.nv):
            scale = max(scale, RELATIVE * abs(scene.free[j]))
    return scale if scale > 0.0 else 1.0
