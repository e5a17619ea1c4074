"""The central path of a large island's pyramids: near to an answer, whatever the contacts do.

Where bodies are thrown together, no impulses are known to start from, and many contacts are
redundant to the last digit: multipliers (`proximal.py`) then creep.  A primal-dual interior-point
method takes some twenty iterations whatever the modes (`dynenvs.contact.solvers.central_path`, the
same method on a dense matrix).  With dp = e - W du for each contact
(`dynenvs.contact.solvers.interior_block`) its equations are

    (M + J^T W J) dv = J^T e:

the sparse matrix that multipliers have, too, and as regular.
"""

from __future__ import annotations

from typing import Any

from dynenvs.contact.law.dry import within
from dynenvs.contact.solvers.interior_block import (
    DW,
    DZ,
    SECOND,
    W,
    Z,
    aim,
    change_alone,
    longest,
    push_from_bounds,
    spread,
    spread_dry,
    start_block,
    sum_directions,
    variables_of,
)
from dynenvs.contact.solvers.modes import nearest
from dynenvs.contact.sparse.factor import factorise, substitute
from dynenvs.contact.sparse.island_problem import IslandProblem, update_velocities
from dynenvs.contact.sparse.problem import add_pull, predicted_velocity, row_velocity
from dynenvs.contact.sparse.proximal import assemble
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.jit.views import words
from dynenvs.memory.layout import Floats, Records
from dynenvs.memory.sparse_view import SparseView

ITERATIONS = 40
NEAR = 1e-11  # the smaller of each z and w, in the certificate's units, that is near enough
REACH = 0.99  # of the step that would bring the first variable to zero
FLAT = 1e-9  # length of a step that leads nowhere


@kernel
def follow_path(problem: IslandProblem, budget: int) -> float:
    """Impulses `p` and velocities `v` near to an answer; returns their residual.

    Uses `held` and `best` for the changes of impulses and velocities, and `trial`.

    budget: factorisations of the island, those that it has had included
    """
    scene, island, polygon = problem.scene, problem.island[0], problem.polygon
    variables = _start(problem)
    # Nothing in the island can be moved
    if variables == 0:
        return update_velocities(problem)
    rows = 3 * scene.constraints.shape[0]
    dp, du = words(scene.held, rows), words(scene.best, rows)
    p, u = words(scene.p, rows), words(scene.trial, rows)
    vectors = scene.path
    for _ in range(min(ITERATIONS, budget - island.newtons)):
        # Done where all products are small; else factors of the system
        mean, worst = _measure(scene, island, polygon, variables)
        if not worst > NEAR * island.scale:
            break
        _weigh(scene, island, polygon)
        assemble(scene, island)
        island.newtons += 1
        if not factorise(scene, island):
            break
        # Predict where products would vanish, then aim at small equal ones
        for k in range(variables):
            vectors[SECOND, k] = 0.0
        _direction(scene, island, polygon, 0.0, u, dp, du)
        target = aim(vectors, variables, mean, longest(vectors, variables))
        _direction(scene, island, polygon, target, u, dp, du)
        length = REACH * longest(vectors, variables)
        if not length > FLAT:
            break
        # The step, within the positive
        for k in range(island.first, island.first + island.count):
            r = 3 * scene.members[k]
            for a in range(r, r + scene.constraints[scene.members[k]].rows):
                p[a] += length * dp[a]
                u[a] += length * du[a]
        for k in range(variables):
            vectors[Z, k] += length * vectors[DZ, k]
            vectors[W, k] += length * vectors[DW, k]
    _bring_in(scene, island, polygon)
    return update_velocities(problem)


@inlined
def _start(problem: IslandProblem) -> int:
    """Each contact presses as if it were alone; returns the number of the island's variables."""
    scene, island, polygon = problem.scene, problem.island[0], problem.polygon
    # Normal impulses that stop each approach by itself
    for k in range(island.first, island.first + island.count):
        i = scene.members[k]
        scene.p[i, 0] = scene.p[i, 1] = scene.p[i, 2] = 0.0
        if scene.G[i, 0] > 0.0 and scene.constraints[i].dry == 0:
            scene.p[i, 0] = max(island.scale, -predicted_velocity(scene, i, 0)) / scene.G[i, 0]
    update_velocities(problem)  # those of the rows come into `trial`
    # The LCP's own variables, in the order of the members
    rows = 3 * scene.constraints.shape[0]
    variables = 0
    for k in range(island.first, island.first + island.count):
        i = scene.members[k]
        if scene.G[i, 0] > 0.0:
            c = scene.constraints[i]
            start_block(
                polygon,
                c,
                island.scale,
                scene.path,
                variables,
                words(scene.p, rows),
                words(scene.trial, rows),
            )
            variables += variables_of(polygon, c)
    return variables


@inlined
def _measure(
    scene: SparseView, island: Any, polygon: Records, variables: int
) -> tuple[float, float]:
    """Mean product z w, and the worst of the smaller of z and w as velocities."""
    total, worst = 0.0, 0.0
    v = 0
    for k in range(island.first, island.first + island.count):
        i = scene.members[k]
        g = scene.G[i, 0]
        if not g > 0.0:
            continue
        own, dry = variables_of(polygon, scene.constraints[i]), scene.constraints[i].dry != 0
        for a in range(v, v + own):
            z, w = scene.path[Z, a], scene.path[W, a]
            total += z * w
            # sigma is a velocity, and its w an impulse
            if a > v and a == v + own - 1 and not dry:
                worst = max(worst, min(z, w * g))
            else:
                worst = max(worst, min(z * g, w))
        v += own
    return total / variables, worst


@inlined
def _weigh(scene: SparseView, island: Any, polygon: Records) -> None:
    """W of each contact: what its impulse loses for each velocity that it gains."""
    v = 0
    for k in range(island.first, island.first + island.count):
        i = scene.members[k]
        # Open, or nothing moves it: it weighs nothing
        weights = scene.W[i]
        for a in range(9):
            weights[a] = 0.0
        if not scene.G[i, 0] > 0.0:
            continue
        # The normal impulse, or a dry joint between its bounds
        c, e = scene.constraints[i], scene.eliminated[i]
        if c.dry != 0:
            weights[0] = 1.0 / push_from_bounds(scene.path, v, 0.0, 0.0)[1]
        else:
            weights[0] = scene.path[Z, v] / scene.path[W, v]
        # Friction sees the normal impulse through the bound: that part makes W unsymmetric
        if c.tangents > 0:
            xx, xy, yy = sum_directions(polygon, scene.path, v, e)
            pressed = e.slope * c.friction * weights[0]
            weights[3], weights[4] = pressed * e.x, xx
            if c.tangents == 2:
                weights[5] = weights[7] = xy
                weights[6], weights[8] = pressed * e.y, yy
        v += variables_of(polygon, c)


@inlined
def _direction(
    scene: SparseView,
    island: Any,
    polygon: Records,
    target: float,
    velocities: Floats,
    dp: Floats,
    du: Floats,
) -> None:
    """Changes of all variables that would bring the products to the target."""
    path = scene.path
    v = 0
    for k in range(island.first, island.first + island.count):  # e into dp
        i = scene.members[k]
        r = 3 * i
        dp[r] = dp[r + 1] = dp[r + 2] = 0.0
        if not scene.G[i, 0] > 0.0:
            continue
        c, e, weights = scene.constraints[i], scene.eliminated[i], scene.W[i]
        if c.dry != 0:
            dp[r] = weights[0] * push_from_bounds(path, v, target, velocities[r])[0]
            v += variables_of(polygon, c)
            continue
        # The normal part, then the directions', once sigma is eliminated
        z, w = path[Z, v], path[W, v]
        dp[r] = weights[0] * ((target - z * w - path[SECOND, v]) / z - (velocities[r] - w))
        if c.tangents > 0:
            a, b = change_alone(polygon, c, e, path, v, target, velocities)
            pressed = e.slope * c.friction * dp[r]
            dp[r + 1] = pressed * e.x + a
            if c.tangents == 2:
                dp[r + 2] = pressed * e.y + b
        v += variables_of(polygon, c)
    # Changes of velocities, of all trees of the island
    _respond(scene, island, dp)
    # Changes of impulses and of the eliminated variables follow
    v = 0
    for k in range(island.first, island.first + island.count):
        i = scene.members[k]
        c, r = scene.constraints[i], 3 * i
        # Velocities along its rows, then dp = e - W du
        for a in range(c.rows):
            du[r + a] = row_velocity(scene, i, a, scene.step)
        for a in range(c.rows):
            for b in range(c.rows):
                dp[r + a] -= scene.W[i, 3 * a + b] * du[r + b]
        if c.dry != 0 and scene.G[i, 0] > 0.0:
            spread_dry(path, v, target, dp[r])
            v += variables_of(polygon, c)
        elif scene.G[i, 0] > 0.0:
            path[DZ, v], path[DW, v] = dp[r], du[r] + velocities[r] - path[W, v]
            if c.tangents > 0:
                spread(polygon, c, scene.eliminated[i], path, v, dp, du)
            v += variables_of(polygon, c)


@inlined
def _respond(scene: SparseView, island: Any, push: Floats) -> None:
    """step = (M + J^T W J)^-1 J^T push."""
    for k in range(island.first_tree, island.first_tree + island.trees):
        tree = scene.trees[scene.trees_of[k]]
        for j in range(tree.first, tree.first + tree.nv):
            scene.step[j] = 0.0
    # Pulls of all rows on the trees, then the factors
    for k in range(island.first, island.first + island.count):
        i = scene.members[k]
        for r in range(scene.constraints[i].rows):
            add_pull(scene, i, r, push[3 * i + r], scene.step)
    substitute(scene, island, scene.step)


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
