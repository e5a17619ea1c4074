"""The central path of a large island's pyramids: near to an answer, whatever the contacts do.

Where bodies are thrown together, no impulses are known to start from, and many contacts are
redundant to the last digit: multipliers (`proximal.py`) then creep.  The method is that of
`dynenvs.contact.solvers.central_path`, with the trees' sparse matrix that multipliers have, too.
"""

from __future__ import annotations

from typing import Any

from dynenvs.contact.law.dry import within
from dynenvs.contact.solvers.central_path import Path, PathWays, follow
from dynenvs.contact.solvers.modes import nearest
from dynenvs.contact.sparse.factor import factorise, substitute
from dynenvs.contact.sparse.island_problem import IslandProblem, update_velocities
from dynenvs.contact.sparse.problem import add_pull, row_velocity
from dynenvs.contact.sparse.proximal import assemble
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.jit.views import words
from dynenvs.memory.layout import Floats, Records
from dynenvs.memory.sparse_view import SparseView

NEAR = 1e-11  # the smaller of each z and w, in the certificate's units, that is near enough
FLAT = 1e-9  # length of a step that leads nowhere


@kernel
def follow_path(problem: IslandProblem, budget: int) -> float:
    """Impulses `p` and velocities `v` near to an answer; returns their residual.

    Uses `held` and `best` for the changes of impulses and velocities, and `trial`.

    budget: factorisations of the island, those that it has had included
    """
    scene, island = problem.scene, problem.island[0]
    rows = 3 * scene.constraints.shape[0]
    path = Path(
        problem, problem.polygon, scene.constraints, island.count, problem.scale, NEAR, FLAT,
        words(scene.p, rows), words(scene.trial, rows), words(scene.held, rows),
        words(scene.best, rows), scene.path, scene.eliminated, words(scene.W, 3 * rows), 9,
    )  # fmt: skip
    island.newtons += follow(path, WAYS, budget - island.newtons)
    _bring_in(scene, island, problem.polygon)
    return update_velocities(problem)


@inlined
def _place(problem: IslandProblem, k: int) -> int:
    return int(problem.scene.members[problem.island[0].first + k])


@inlined
def _g(problem: IslandProblem, index: int) -> float:
    return problem.scene.G[index, 0]


@inlined
def _factor(problem: IslandProblem) -> bool:
    assemble(problem.scene, problem.island[0])
    return factorise(problem.scene, problem.island[0])


@inlined
def _respond(problem: IslandProblem, dp: Floats, du: Floats) -> None:
    """du = J (M + J^T W J)^-1 J^T dp."""
    scene, island = problem.scene, problem.island[0]
    for k in range(island.first_tree, island.first_tree + island.trees):
        tree = scene.trees[scene.trees_of[k]]
        for j in range(tree.first, tree.first + tree.nv):
            scene.step[j] = 0.0
    # Pulls of all rows on the trees, then the factors
    for k in range(island.first, island.first + island.count):
        i = scene.members[k]
        for r in range(scene.constraints[i].rows):
            add_pull(scene, i, r, dp[3 * i + r], scene.step)
    substitute(scene, island, scene.step)
    for k in range(island.first, island.first + island.count):
        i = scene.members[k]
        for r in range(scene.constraints[i].rows):
            du[3 * i + r] = row_velocity(scene, i, r, scene.step)


WAYS = PathWays(_place, _g, update_velocities, _factor, _respond)


@inlined
def _bring_in(scene: SparseView, island: Any, polygon: Records) -> None:
    """Impulses into their pyramids, which rounding may have left."""
    for k in range(island.first, island.first + island.count):
        i = scene.members[k]
        c, p = scene.constraints[i], scene.p[i]
        if c.dry != 0:
            p[0] = within(c.compression, p[0])
            continue
        p[0] = max(p[0], 0.0)
        if c.tangents == 1:
            bound = c.friction * (p[0] + c.compression)
            p[1] = min(max(p[1], -bound), bound)
        elif c.tangents == 2:
            bound = c.friction * (p[0] + c.compression)
            _, p[1], p[2] = nearest(polygon, bound, p[1], p[2])
