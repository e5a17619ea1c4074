"""THE LADDER of an island's contact problem: what is tried, in which order, and when it is enough.

Steps and impacts use the same one.
"""

from __future__ import annotations

from typing import Any

from dynenvs.contact.solve import ALL, INSIDE, QUICK
from dynenvs.contact.solvers.rounds import ENOUGH
from dynenvs.contact.sparse.island_problem import open_island
from dynenvs.contact.sparse.large import solve_large
from dynenvs.contact.sparse.rounding import is_good, is_rounding
from dynenvs.contact.sparse.small import DONE, has_compression, solve_small
from dynenvs.jit.compiled import inlined, unit
from dynenvs.lcp.solve import CERTIFIED, CERTIFIED_RESIDUAL, DEGRADED, FAILED
from dynenvs.memory.layout import WorldView, cone_of
from dynenvs.memory.records import KEPT, PYRAMID
from dynenvs.memory.sparse_view import SparseView

SMALL = 16  # constraints of an island up to which the dense method is tried first ...
SMALL_ON_CONES = 8  # ... on exact cones, whose own method is dear among very unequal masses ...
COMPRESSED = 4  # ... the same, where there are compression impulses (Poisson's law of impact) ...
EXACT = 1e-13  # ... where the last step's impulses leave more than this
RELATIVE = 1e-6  # of parts that move together: rounding of their speed is no error of theirs
USELESS = 0.1  # residual above which an answer is none


@unit("sparse", seconds=29)
def solve_island(w: WorldView, index: int) -> int:
    """Solve an island from the impulses `p`, whose residual is known, to a certified answer.

    Stages are tried in order of cost; the next one runs only where the one before has left too
    much.  `p`, `v` and the island's residual end as those of the best answer; returns its status
    (`certify_island`).
    """
    scene = w.scene
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
    if island.residual <= ENOUGH or is_rounding(scene, island, island.residual):
        status.solved[KEPT] += 1
        return certify_island(island)
    # A few that are wedged, or touch nearly along a line
    solve_small(w, index, INSIDE)
    if is_good(scene, island, island.residual):
        return certify_island(island)
    # Many, or modes that do not converge
    island.residual = solve_large(open_island(w, index), status)
    if is_good(scene, island, island.residual):
        return certify_island(island)
    # Lemke's method always ends with an answer, at last, but takes thousands of operations a row
    solve_small(w, index, ALL)
    return certify_island(island)


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
