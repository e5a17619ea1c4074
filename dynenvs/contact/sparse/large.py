"""Large islands: the method of multipliers, from the central path or from no impulses."""

from __future__ import annotations

from typing import Any

from dynenvs.contact.sparse.factor import order_trees
from dynenvs.contact.sparse.island_problem import (
    IslandProblem,
    copy_impulses,
    update_velocities,
)
from dynenvs.contact.sparse.path import follow_path
from dynenvs.contact.sparse.proximal import multiply
from dynenvs.contact.sparse.rounding import is_good
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.lcp.solve import CERTIFIED_RESIDUAL
from dynenvs.memory.records import MULTIPLIERS, PATH
from dynenvs.memory.sparse_view import SparseView

REST = 1e-6  # residual up to which the last step's impulses are worth going on from ...
FEW = 4  # ... with this many factorisations: the central path takes twenty, from nothing
LOST = 0.1  # residual above which the central path has led nowhere
NEAR = 0.8  # part of the budget after which multipliers end that began at the central path
NO_SWEEPS, SWEEPS = 0, 60  # of Gauss-Seidel before multipliers


@kernel
def solve_large(problem: IslandProblem, status: Any) -> float:
    """Multipliers from the central path, then from no impulses; returns the residual of the best.

    What `p` holds stays where they find nothing better.

    status: the world's STATUS
    """
    scene, island = problem.scene, problem.island[0]
    if not order_trees(scene, island):
        return float(island.residual)
    budget, warm = status.budget, island.residual
    copy_impulses(scene, island, scene.p, scene.kept)
    # From the last step's impulses, if they are near
    if warm <= REST:
        near = multiply(problem, warm, NO_SWEEPS, island.newtons + FEW)
        if near <= CERTIFIED_RESIDUAL:
            return near
    near = warm
    if status.large_stage != MULTIPLIERS:
        near = _from_the_path(problem, status)
        if is_good(scene, island, near):
            return near
        if near < warm:
            copy_impulses(scene, island, scene.p, scene.kept)
    # Contacts that have changed what they do can mislead: their impulses are worth less than none
    status.called[MULTIPLIERS] += 1
    _clear(scene, island)
    cold = update_velocities(problem)
    cold = multiply(problem, cold, SWEEPS, budget)
    # The best of three; what `p` held if none of them was better
    if cold < min(warm, near):
        if cold <= CERTIFIED_RESIDUAL:
            status.solved[MULTIPLIERS] += 1
            status.large_stage = MULTIPLIERS  # in the next step the path is left out
        else:
            status.large_stage = PATH
        return cold
    status.large_stage = PATH
    copy_impulses(scene, island, scene.kept, scene.p)
    return update_velocities(problem)


@kernel
def _from_the_path(problem: IslandProblem, status: Any) -> float:
    """Multipliers from the pyramids' central path, which leads near the exact cones' answer, too.

    Where nothing can part what touches there is no path: what it gives is then no beginning.
    """
    status.called[PATH] += 1
    near = follow_path(problem, status.budget)
    if near <= LOST:
        most = int(NEAR * status.budget)
        near = multiply(problem, near, NO_SWEEPS, most)
    status.solved[PATH] += 1 if near <= CERTIFIED_RESIDUAL else 0
    return near


@inlined
def _clear(scene: SparseView, island: Any) -> None:
    for k in range(island.first, island.first + island.count):
        i = scene.members[k]
        j = scene.constraints[i].moments
        for r in range(3):
            scene.p[i, r] = 0.0
            if j >= 0:
                scene.p[j, r] = 0.0
