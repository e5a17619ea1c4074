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

from dynenvs.contact.solvers.interior_block import (
    DW,
    DZ,
    SECOND,
    W,
    Z,
    aim,
    change_alone,
    longest,
    spread,
    start_block,
    sum_directions,
    variables_of,
)
from dynenvs.contact.solvers.modes import nearest
from dynenvs.contact.sparse.factor import factorise, substitute
from dynenvs.contact.sparse.problem import add_pull, predicted_velocity, row_velocity
from dynenvs.contact.sparse.proximal import assemble, update_velocities
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.memory.layout import Floats, Records
from dynenvs.memory.sparse_view import SparseView
from dynenvs.memory.views import words

ITERATIONS = 40
NEAR = 1e-11  # the smaller of each z and w, in the certificate's units, that is near enough
REACH = 0.99  # of the step that would bring the first variable to zero
FLAT = 1e-9  # length of a step that leads nowhere


@kernel
def follow_path(
    x: SparseView, island: Any, cone: int, polygon: Records, blocks: Records, budget: int
) -> float:
    """Impulses `p` and velocities `v` near to an answer; returns their residual.

    Uses `held` and `best` for the changes of impulses and velocities, and `trial`.

    budget: factorisations of the island, those that it has had included
    """
    variables = _start(x, island, cone, polygon, blocks)
    if variables == 0:
        return update_velocities(x, island, cone, polygon, blocks)
    rows = 3 * x.constraints.shape[0]
    dp, du = words(x.held, rows), words(x.best, rows)
    p, u = words(x.p, rows), words(x.trial, rows)
    vectors = x.path
    for _ in range(min(ITERATIONS, budget - island.newtons)):
        mean, worst = _measure(x, island, polygon, variables)
        if not worst > NEAR * island.scale:
            break
        _weigh(x, island, polygon)
        assemble(x, island)
        island.newtons += 1
        if not factorise(x, island):
            break
        for k in range(variables):
            vectors[SECOND, k] = 0.0
        _direction(x, island, polygon, 0.0, u, dp, du)
        target = aim(vectors, variables, mean, longest(vectors, variables))
        _direction(x, island, polygon, target, u, dp, du)
        length = REACH * longest(vectors, variables)
        if not length > FLAT:
            break
        for k in range(island.first, island.first + island.count):
            r = 3 * x.members[k]
            for a in range(r, r + x.constraints[x.members[k]].rows):
                p[a] += length * dp[a]
                u[a] += length * du[a]
        for k in range(variables):
            vectors[Z, k] += length * vectors[DZ, k]
            vectors[W, k] += length * vectors[DW, k]
    _bring_in(x, island, polygon)
    return update_velocities(x, island, cone, polygon, blocks)


@inlined
def _start(x: SparseView, island: Any, cone: int, polygon: Records, blocks: Records) -> int:
    """Each contact presses as if it were alone; returns the number of the island's variables."""
    for k in range(island.first, island.first + island.count):
        i = x.members[k]
        x.p[i, 0] = x.p[i, 1] = x.p[i, 2] = 0.0
        if x.G[i, 0] > 0.0:
            x.p[i, 0] = max(island.scale, -predicted_velocity(x, i, 0)) / x.G[i, 0]
    update_velocities(x, island, cone, polygon, blocks)  # those of the rows come into `trial`
    rows = 3 * x.constraints.shape[0]
    variables = 0
    for k in range(island.first, island.first + island.count):
        i = x.members[k]
        if x.G[i, 0] > 0.0:
            c = x.constraints[i]
            start_block(
                polygon, c, island.scale, x.path, variables, words(x.p, rows), words(x.trial, rows)
            )
            variables += variables_of(polygon, c)
    return variables


@inlined
def _measure(x: SparseView, island: Any, polygon: Records, variables: int) -> tuple[float, float]:
    """Mean product z w, and the worst of the smaller of z and w as velocities."""
    total, worst = 0.0, 0.0
    v = 0
    for k in range(island.first, island.first + island.count):
        i = x.members[k]
        g = x.G[i, 0]
        if not g > 0.0:
            continue
        own = variables_of(polygon, x.constraints[i])
        for a in range(v, v + own):
            z, w = x.path[Z, a], x.path[W, a]
            total += z * w
            # sigma is a velocity, and its w an impulse
            if a > v and a == v + own - 1:
                worst = max(worst, min(z, w * g))
            else:
                worst = max(worst, min(z * g, w))
        v += own
    return total / variables, worst


@inlined
def _weigh(x: SparseView, island: Any, polygon: Records) -> None:
    """W of each contact: what its impulse loses for each velocity that it gains."""
    v = 0
    for k in range(island.first, island.first + island.count):
        i = x.members[k]
        weights = x.W[i]
        for a in range(9):
            weights[a] = 0.0
        if not x.G[i, 0] > 0.0:
            continue
        c, e = x.constraints[i], x.eliminated[i]
        weights[0] = x.path[Z, v] / x.path[W, v]
        if c.tangents > 0:
            xx, xy, yy = sum_directions(polygon, x.path, v, e)
            pressed = e.slope * c.friction * weights[0]
            weights[3], weights[4] = pressed * e.x, xx
            if c.tangents == 2:
                weights[5] = weights[7] = xy
                weights[6], weights[8] = pressed * e.y, yy
        v += variables_of(polygon, c)


@inlined
def _direction(
    x: SparseView, island: Any, polygon: Records, target: float, u: Floats, dp: Floats, du: Floats
) -> None:
    """Changes of all variables that would bring the products to the target."""
    path = x.path
    v = 0
    for k in range(island.first, island.first + island.count):  # e into dp
        i = x.members[k]
        r = 3 * i
        dp[r] = dp[r + 1] = dp[r + 2] = 0.0
        if not x.G[i, 0] > 0.0:
            continue
        c, e, weights = x.constraints[i], x.eliminated[i], x.W[i]
        z, w = path[Z, v], path[W, v]
        dp[r] = weights[0] * ((target - z * w - path[SECOND, v]) / z - (u[r] - w))
        if c.tangents > 0:
            a, b = change_alone(polygon, c, e, path, v, target, u)
            pressed = e.slope * c.friction * dp[r]
            dp[r + 1] = pressed * e.x + a
            if c.tangents == 2:
                dp[r + 2] = pressed * e.y + b
        v += variables_of(polygon, c)
    _respond(x, island, dp)
    v = 0
    for k in range(island.first, island.first + island.count):
        i = x.members[k]
        c, r = x.constraints[i], 3 * i
        for a in range(c.rows):
            du[r + a] = row_velocity(x, i, a, x.step)
        for a in range(c.rows):
            for b in range(c.rows):
                dp[r + a] -= x.W[i, 3 * a + b] * du[r + b]
        if x.G[i, 0] > 0.0:
            path[DZ, v], path[DW, v] = dp[r], du[r] + u[r] - path[W, v]
            if c.tangents > 0:
                spread(polygon, c, x.eliminated[i], path, v, dp, du)
            v += variables_of(polygon, c)


@inlined
def _respond(x: SparseView, island: Any, e: Floats) -> None:
    """step = (M + J^T W J)^-1 J^T e."""
    for k in range(island.first_tree, island.first_tree + island.trees):
        tree = x.trees[x.trees_of[k]]
        for j in range(tree.first, tree.first + tree.nv):
            x.step[j] = 0.0
    for k in range(island.first, island.first + island.count):
        i = x.members[k]
        for r in range(x.constraints[i].rows):
            add_pull(x, i, r, e[3 * i + r], x.step)
    substitute(x, island, x.step)


@inlined
def _bring_in(x: SparseView, island: Any, polygon: Records) -> None:
    """Impulses into their pyramids, which rounding may have left."""
    for k in range(island.first, island.first + island.count):
        i = x.members[k]
        c, p = x.constraints[i], x.p[i]
        p[0] = max(p[0], 0.0)
        if c.tangents == 1:
            bound = c.friction * (p[0] + c.reserve)
            p[1] = min(max(p[1], -bound), bound)
        elif c.tangents == 2:
            bound = c.friction * (p[0] + c.reserve)
            _, p[1], p[2] = nearest(polygon, bound, p[1], p[2])
