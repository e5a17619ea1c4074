"""What rounding leaves of a residual: impulses of doubles cannot do better than that.

Between very unequal masses great impulses cancel: of light things under heavy ones the velocity is
the small difference of their sums.
"""

from __future__ import annotations

from dynenvs.contact.sparse.island_problem import IslandProblem
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.lcp.solve import CERTIFIED_RESIDUAL
from dynenvs.memory.sparse_view import SparseView

SUSPECT = 1e-5  # residual above which it is not rounding
EPSILON = 2.0**-55  # a quarter of the relative rounding error of a double: some of it cancels


@inlined
def is_good(problem: IslandProblem, residual: float) -> bool:
    """Whether the impulses `p` are certified, or as near to that as rounding lets any be."""
    return residual <= CERTIFIED_RESIDUAL or is_rounding(problem, residual)


@kernel
def is_rounding(problem: IslandProblem, residual: float) -> bool:
    """Whether that much of the velocities that the impulses `p` give may be rounding.

    residual: of `p`; writes `off`
    """
    if not residual <= SUSPECT:
        return False
    scene, island = problem.scene, problem.island[0]
    # Sums of magnitudes in place of sums: nothing cancels in them
    for k in range(island.first_tree, island.first_tree + island.trees):
        tree = scene.trees[scene.trees_of[k]]
        for j in range(tree.first, tree.first + tree.nv):
            scene.off[j] = 0.0
    for k in range(island.first, island.first + island.count):
        i = scene.members[k]
        for r in range(scene.constraints[i].rows):
            _add_sizes(scene, i, r, abs(scene.p[i, r]))
    # What a rounding of each impulse could make of a row's velocity
    most = 0.0
    for k in range(island.first, island.first + island.count):
        i = scene.members[k]
        for r in range(scene.constraints[i].rows):
            most = max(most, _size(scene, i, r))
    return bool(residual * problem.scale <= EPSILON * most)


@inlined
def _add_sizes(scene: SparseView, index: int, row: int, impulse: float) -> None:
    """off += |Z^T| of `row` of constraint `index` times an impulse."""
    c = scene.constraints[index]
    for side in range(2 if c.b >= 0 else 1):
        tree = scene.trees[c.b if side else c.a]
        for k in range(tree.nv):
            scene.off[tree.first + k] += impulse * abs(scene.Z[6 * index + 3 * side + row, k])


@inlined
def _size(scene: SparseView, index: int, row: int) -> float:
    """|J| off of `row` of constraint `index` [m/s]."""
    c, size = scene.constraints[index], 0.0
    for side in range(2 if c.b >= 0 else 1):
        tree = scene.trees[c.b if side else c.a]
        for k in range(tree.nv):
            size += abs(scene.J[6 * index + 3 * side + row, k]) * scene.off[tree.first + k]
    return size
