"""A primal-dual interior-point method: near to an answer whose modes cannot be guessed.

Of the LCP of `friction_lcp.py` it keeps every variable z and its w positive and brings all products
z w down together, to zero in the limit.  Among many answers (a sole at rest shares its load between
its corners in many ways) it ends in the midst of them, where a contact that need not slip clearly
sticks.  Ten or twenty iterations suffice whatever the modes.  With dp = e - W du for each contact,
its directions and sigma eliminated (`interior_block.py`), the equations of one are

    (M + J^T W J) dv = J^T e,

as of multipliers (`rounds.py`), as regular, and again M and J are the problem's matter: of dense
rows (`interior_point.py`), or of an island's trees (`dynenvs/contact/sparse/path.py`).

Source: Mehrotra, On the implementation of a primal-dual interior point method (1992).
"""

from __future__ import annotations

from typing import Any, NamedTuple

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
from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Floats, Matrix, Records

ITERATIONS = 40
REACH = 0.99  # of the step that would bring the first variable to zero


class Path(NamedTuple):
    """What the path goes through.  Rows of arrays are those of the blocks' `row`."""

    problem: Any
    polygon: Records
    blocks: Records  # BLOCK or CONSTRAINT
    n: int  # how many there are
    scale: float  # the certificate's velocity scale [m/s]
    near: float  # the smaller of each z and w, in the certificate's units, that is near enough
    flat: float  # length of a step that leads nowhere
    p: Floats  # impulses and velocities, and their changes
    u: Floats
    dp: Floats
    du: Floats
    vectors: Matrix  # of the LCP's variables (`interior_block.py`)
    eliminated: Records
    weights: Floats  # W of each block, row by row ...
    stride: int  # ... from one block to the next


class PathWays(NamedTuple):
    """What the path does with a problem, which each of these functions gets first.

    What takes these functions is inlined, as in `rounds.py`.
    """

    place: Any  # (k): which of `blocks` the k-th one is
    g: Any  # (i): velocity along block i's normal that a unit of its impulse gives [1/kg]
    certify: Any  # velocities `u` that the impulses `p` give
    factor: Any  # M + J^T W J; whether it has factors
    respond: Any  # (dp, du): du = J (M + J^T W J)^-1 J^T dp


@inlined
def follow(path: Path, ways: PathWays, budget: int) -> int:
    """Impulses and velocities near to an answer; returns the number of factorisations.

    Blocks that nothing moves take no part.
    """
    vectors, variables = path.vectors, _start(path, ways)
    for iteration in range(min(ITERATIONS, budget) if variables > 0 else 0):
        # Done where all products are small; else factors of the system
        mean, worst = _measure(path, ways, variables)
        if not worst > path.near * path.scale:
            return iteration
        _weigh(path, ways)
        if not ways.factor(path.problem):
            return iteration + 1
        # Predict where products would vanish, then aim at small equal ones
        for k in range(variables):
            vectors[SECOND, k] = 0.0
        _direction(path, ways, 0.0)
        target = aim(vectors, variables, mean, longest(vectors, variables))
        _direction(path, ways, target)
        length = REACH * longest(vectors, variables)
        if not length > path.flat:
            return iteration + 1
        # The step, within the positive
        for k in range(path.n):
            block = path.blocks[ways.place(path.problem, k)]
            for a in range(block.row, block.row + 1 + block.tangents):
                path.p[a] += length * path.dp[a]
                path.u[a] += length * path.du[a]
        for k in range(variables):
            vectors[Z, k] += length * vectors[DZ, k]
            vectors[W, k] += length * vectors[DW, k]
    return min(ITERATIONS, budget) if variables > 0 else 0


@inlined
def _start(path: Path, ways: PathWays) -> int:
    """Each contact presses as if it were alone; returns the number of variables."""
    for k in range(path.n):
        block = path.blocks[ways.place(path.problem, k)]
        for a in range(block.row, block.row + 1 + block.tangents):
            path.p[a] = 0.0
    ways.certify(path.problem)
    # Normal impulses that stop each approach by itself
    for k in range(path.n):
        i = ways.place(path.problem, k)
        block, g = path.blocks[i], ways.g(path.problem, i)
        if g > 0.0 and block.dry == 0:
            path.p[block.row] = max(path.scale, -path.u[block.row]) / g
    ways.certify(path.problem)
    # The LCP's own variables, as they suit these impulses and velocities
    v = 0
    for k in range(path.n):
        i = ways.place(path.problem, k)
        if ways.g(path.problem, i) > 0.0:
            block = path.blocks[i]
            start_block(path.polygon, block, path.scale, path.vectors, v, path.p, path.u)
            v += variables_of(path.polygon, block)
    return v


@inlined
def _measure(path: Path, ways: PathWays, variables: int) -> tuple[float, float]:
    """Mean product z w, and the worst of the smaller of z and w as velocities."""
    total, worst, v = 0.0, 0.0, 0
    for k in range(path.n):
        i = ways.place(path.problem, k)
        g, dry = ways.g(path.problem, i), path.blocks[i].dry != 0
        if not g > 0.0:
            continue
        own = variables_of(path.polygon, path.blocks[i])
        for a in range(v, v + own):
            z, w = path.vectors[Z, a], path.vectors[W, a]
            total += z * w
            # sigma is a velocity, and its w an impulse
            if a > v and a == v + own - 1 and not dry:
                worst = max(worst, min(z, w * g))
            else:
                worst = max(worst, min(z * g, w))
        v += own
    return total / variables, worst


@inlined
def _weigh(path: Path, ways: PathWays) -> None:
    """W of each block: what its impulse loses for each velocity that it gains."""
    vectors, v = path.vectors, 0
    for k in range(path.n):
        i = ways.place(path.problem, k)
        # Nothing moves it: it weighs nothing
        weights = path.weights[path.stride * i : path.stride * i + 9]
        for a in range(9):
            weights[a] = 0.0
        if not ways.g(path.problem, i) > 0.0:
            continue
        # The normal impulse, or a dry joint between its bounds
        block, e = path.blocks[i], path.eliminated[i]
        if block.dry != 0:
            weights[0] = 1.0 / push_from_bounds(vectors, v, 0.0, 0.0)[1]
        else:
            weights[0] = vectors[Z, v] / vectors[W, v]
        # Friction sees the normal impulse through the bound: that part makes W unsymmetric
        if block.tangents > 0:
            xx, xy, yy = sum_directions(path.polygon, vectors, v, e)
            pressed = e.slope * block.friction * weights[0]
            weights[3], weights[4] = pressed * e.x, xx
            if block.tangents == 2:
                weights[5] = weights[7] = xy
                weights[6], weights[8] = pressed * e.y, yy
        v += variables_of(path.polygon, block)


@inlined
def _direction(path: Path, ways: PathWays, target: float) -> None:
    """Changes of all variables that would bring the products to the target."""
    polygon, vectors, u, dp, du = path.polygon, path.vectors, path.u, path.dp, path.du
    # The part e of each impulse's change, which no velocity changes
    v = 0
    for k in range(path.n):
        i = ways.place(path.problem, k)
        block, e = path.blocks[i], path.eliminated[i]
        r, weight = block.row, path.weights[path.stride * i]
        for a in range(r, r + 1 + block.tangents):
            dp[a] = 0.0
        if not ways.g(path.problem, i) > 0.0:
            continue
        if block.dry != 0:
            dp[r] = weight * push_from_bounds(vectors, v, target, u[r])[0]
        else:
            # The normal part, then the directions', once sigma is eliminated
            z, w = vectors[Z, v], vectors[W, v]
            dp[r] = weight * ((target - z * w - vectors[SECOND, v]) / z - (u[r] - w))
            if block.tangents > 0:
                x, y = change_alone(polygon, block, e, vectors, v, target, u)
                pressed = e.slope * block.friction * dp[r]
                dp[r + 1] = pressed * e.x + x
                if block.tangents == 2:
                    dp[r + 2] = pressed * e.y + y
        v += variables_of(polygon, block)
    # Changes of velocities; those of impulses, e - W du, and of the eliminated variables follow
    ways.respond(path.problem, dp, du)
    v = 0
    for k in range(path.n):
        i = ways.place(path.problem, k)
        block, at = path.blocks[i], path.stride * i
        r = block.row
        for a in range(1 + block.tangents):
            for b in range(1 + block.tangents):
                dp[r + a] -= path.weights[at + 3 * a + b] * du[r + b]
        if not ways.g(path.problem, i) > 0.0:
            continue
        if block.dry != 0:
            spread_dry(vectors, v, target, dp[r])
        else:
            vectors[DZ, v], vectors[DW, v] = dp[r], du[r] + u[r] - vectors[W, v]
            if block.tangents > 0:
                spread(polygon, block, path.eliminated[i], vectors, v, dp, du)
        v += variables_of(polygon, block)
