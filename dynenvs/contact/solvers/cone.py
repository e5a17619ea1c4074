"""The exact friction cone in the step: a semismooth Newton method, and what follows where it fails.

The law and its certificate are in `cone_law.py`.  The pyramid's answer comes first: where nothing
slips it is this one too, for the pyramid lies within the cone.  Elsewhere Newton's method on Alart
and Curnier's function starts from no impulses: of many ways to share a load it comes to the same
one whatever the heading, which the pyramid's answer would not.  It also comes before multipliers
where these gave the last step's impulses, from there.  Where it does not converge (high
friction, redundant contacts), multipliers take over (`multipliers.py`): from the pyramid's answer,
then from some sweeps of projected Gauss-Seidel after it.  At last comes Newton's method again, from
damped sweeps, which do not cycle where friction is high.

Sources: Alart and Curnier, A mixed formulation for frictional contact problems prone to Newton like
solution methods (1991); Acary, Cadoux, Lemarechal and Malick, A formulation of the linear discrete
Coulomb friction problem via convex optimization (2011).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from dynenvs.contact.assembly.problem import ContactAnswer, ContactProblem, Scratch, row_velocities
from dynenvs.contact.law.dry import within
from dynenvs.contact.solvers.cone_law import certify_answer, rows_of, yielding
from dynenvs.contact.solvers.modes import OPEN, SLIP, STICK, nearest_mode
from dynenvs.contact.solvers.multipliers import multiply
from dynenvs.jit.compiled import entry, inlined, kernel
from dynenvs.lcp.dense import factorise, substitute
from dynenvs.lcp.solve import CERTIFIED_RESIDUAL
from dynenvs.lcp.workspace import integer
from dynenvs.memory.layout import Floats, Records
from dynenvs.memory.records import CONE

COLD, BRIEF, LATE, NEAR, WARM, WARM_MULTIPLIERS, WARM_BOTH = range(7)  # how a search starts
ITERATIONS = 20  # of Newton's method
FEW = 12  # ... before multipliers that gave the last step's impulses
SWEEPS = 0, 20  # of Gauss-Seidel from the pyramid's answer, before multipliers
ROUNDS = 8  # of Gauss-Seidel and Newton after them, each with twice the sweeps of the last ...
MORE_SWEEPS = 25  # ... and the first with these
RELAXATIONS = 1.0, 0.5, 0.1  # part of each change that is made: less where high friction cycles
HALVINGS = 4  # of a step of Newton's method after which the residual is no less ...
LESS = 0.9  # ... than this part of what it was
# Rows of the scratch vectors: the best of Newton's method, where its step starts, where that leads;
# the impulses that are given, and the best of all methods
BEST, START, WAY, GIVEN, KEPT = 0, 1, 2, 6, 7
# Relative to the diagonal of G: of redundant contacts the least change; and from the last step's
# impulses, until the answer is certified, since such a change must not lead far from these
PROXIMAL, CLOSE = 1e-9, 1e-6
UNLISTED = -1  # of a row that is no unknown
EXACT = 1e-13  # residual, in the certificate's units, below which nothing is left to gain
GAIN = 0.5  # a certified answer is refined as long as each iteration gains this much


@entry
def solve_cones(
    problem: ContactProblem, answer: ContactAnswer, scratch: Scratch, start: int
) -> tuple[float, int, int]:
    """Impulses `p` and velocities `u` = G p + bias of all rows on the exact cones.

    The blocks receive their modes and slips.  Impulses that are the answer already stay.

    start: COLD; BRIEF: the same, with no more than Newton's method from no impulses; LATE: without
        that, since it has failed; or the last step's impulses are given: WARM, or if multipliers
        gave them WARM_MULTIPLIERS, or WARM_BOTH: after a few iterations of Newton's method, or
        NEAR: with no more than these
    Returns (natural residual, iterations of Newton's method, the start that would have been best:
        WARM or WARM_MULTIPLIERS).
    """
    rows, p = problem.rows, answer.p
    residual = certify_answer(problem, answer)
    if residual <= EXACT:
        return residual, 0, WARM if start <= WARM else WARM_MULTIPLIERS
    # Newton's method from those given, if they are the last step's; then from no impulses at all
    given, kept = scratch.vectors[GIVEN], scratch.vectors[KEPT]
    _copy(rows, p, given)
    used = 0
    if start in (WARM_BOTH, NEAR):
        best, used = _descend(problem, answer, scratch, FEW, True)
        if best <= CERTIFIED_RESIDUAL or start == NEAR:
            return best, used, WARM_MULTIPLIERS
        _copy(rows, given, p)
    if start >= WARM_MULTIPLIERS:
        best, more = multiply(problem, answer, scratch, CONE, 0)
        used += more
        if best <= CERTIFIED_RESIDUAL:
            return best, used, WARM_MULTIPLIERS
        _copy(rows, given, p)
    if start >= WARM:
        best, more = _descend(problem, answer, scratch, ITERATIONS, True)
        used += more
        if best <= CERTIFIED_RESIDUAL:
            return best, used, WARM
    best, iterations = residual, used
    if start != LATE:
        _clear(rows, p)
        best, used = _descend(problem, answer, scratch, ITERATIONS, False)
        iterations += used
        if best <= CERTIFIED_RESIDUAL or start == BRIEF:
            return best, iterations, WARM
    _copy(rows, p, kept)
    residual = best
    # Multipliers, from the impulses that were given, after more and more sweeps
    for sweeps in SWEEPS:
        if residual <= CERTIFIED_RESIDUAL:
            return residual, iterations, WARM_MULTIPLIERS
        _copy(rows, given, p)
        _relax(problem, answer, sweeps, 1.0)
        residual, used = multiply(problem, answer, scratch, CONE, 0)
        iterations += used
        if residual < best:
            best = residual
            _copy(rows, p, kept)
    # Sweeps and Newton's method in turn, with less and less relaxation
    for attempt in range(ROUNDS * len(RELAXATIONS)):
        if residual <= CERTIFIED_RESIDUAL:
            return residual, iterations, WARM_MULTIPLIERS
        if attempt % ROUNDS == 0:
            _clear(rows, p)
        sweeps, part = MORE_SWEEPS << (attempt % ROUNDS), RELAXATIONS[attempt // ROUNDS]
        _relax(problem, answer, sweeps, part)
        residual, used = _descend(problem, answer, scratch, ITERATIONS, False)
        iterations += used
        if residual < best:
            best = residual
            _copy(rows, p, kept)
    _copy(rows, kept, p)
    return certify_answer(problem, answer), iterations, WARM_MULTIPLIERS


@inlined
def _copy(rows: int, source: Floats, target: Floats) -> None:
    for r in range(rows):
        target[r] = source[r]


@inlined
def _clear(rows: int, impulses: Floats) -> None:
    for r in range(rows):
        impulses[r] = 0.0


@inlined
def _relax(problem: ContactProblem, answer: ContactAnswer, sweeps: int, part: float) -> None:
    row_velocities(problem, answer.p, answer.u)
    for _ in range(sweeps):
        _sweep(problem.blocks, problem.n, problem.G, problem.rows, part, answer.p, answer.u)


@kernel
def _descend(
    problem: ContactProblem, answer: ContactAnswer, scratch: Scratch, most: int, near: bool
) -> tuple[float, int]:
    """Newton's method from p; p and u end as the best that was met.  Answer as of `solve_cones`.

    most: iterations; near: as of `_approach`
    """
    rows, p = problem.rows, answer.p
    best, start = scratch.vectors[BEST], scratch.vectors[START]
    residual, least, used = certify_answer(problem, answer), math.inf, 0
    for iteration in range(most + 1):
        # A certified answer is refined only while each iteration gains its share
        enough = least <= CERTIFIED_RESIDUAL and not residual < GAIN * least
        if residual < least:
            least = residual
            _copy(rows, p, best)
        if least <= EXACT or enough or iteration == most:
            break
        _copy(rows, p, start)
        close = near and residual > CERTIFIED_RESIDUAL
        count = _linearise(problem, answer, scratch, CLOSE if close else PROXIMAL)
        if not factorise(scratch.K, count, scratch.order) > 0.0:
            break
        substitute(scratch.K, count, scratch.order, scratch.right, scratch.x)
        for a in range(count):
            p[scratch.unknowns[a].column] += scratch.x[a]
        residual = _approach(problem, answer, scratch, residual, near)
        used += 1
    for r in range(rows):
        p[r] = best[r] if least < math.inf else 0.0
    _clip(problem.blocks, problem.n, p)
    return certify_answer(problem, answer), used


@kernel
def _approach(
    problem: ContactProblem, answer: ContactAnswer, scratch: Scratch, before: float, near: bool
) -> float:
    """Go from START to p, or a part of that way at whose end the residual is less; returns it.

    Where there is none: all the way, but if START is near to an answer only where it harms least.
    """
    rows, p = problem.rows, answer.p
    start, way = scratch.vectors[START], scratch.vectors[WAY]
    for r in range(rows):
        way[r] = p[r] - start[r]
    first = least = certify_answer(problem, answer)
    part = gentlest = 1.0
    if before <= CERTIFIED_RESIDUAL or first < LESS * before:
        return first
    for _ in range(HALVINGS):
        part *= 0.5
        residual = _go(problem, answer, start, way, part)
        if residual < LESS * before:
            return residual
        if residual < least:
            least, gentlest = residual, part
    return _go(problem, answer, start, way, gentlest if near else 1.0)


@kernel
def _go(
    problem: ContactProblem, answer: ContactAnswer, start: Floats, way: Floats, part: float
) -> float:
    """Go so far from a start; returns the residual there."""
    for r in range(problem.rows):
        answer.p[r] = start[r] + part * way[r]
    return float(certify_answer(problem, answer))


@kernel
def _linearise(
    problem: ContactProblem, answer: ContactAnswer, scratch: Scratch, proximal: float
) -> int:
    """K, transposed, and the right-hand side of Newton's equations for the change of p.

    Only of rows whose impulses are not known: a contact that lifts loses its impulse at once, and
    a dry joint that moves has its bound.  Returns how many; all equations are velocities.
    """
    G, K, right, u = problem.G, scratch.K, scratch.right, answer.u
    unknowns, count = scratch.unknowns, _list_unknowns(problem, answer, scratch)
    # What is known now has changed all velocities
    row_velocities(problem, answer.p, u)
    # Where all stick: G dp = -u, and of redundant contacts the least change
    for a in range(count):
        own, normal = unknowns[a].column, unknowns[a].equation
        for b in range(count):
            K[a, b] = G[own, unknowns[b].column]
        K[a, a] += proximal * (G[own, own] if G[own, own] > 0.0 else G[normal, normal])
        right[a] = -u[own]
    # Sliding, torsional and rolling friction have an equation each, alike in form
    for i in range(problem.n):
        block = problem.blocks[i]
        if block.dry != 0 or (block.mode == OPEN and block.compression == 0.0):
            continue
        t = block.row + 1
        m = t + block.tangents
        if block.tangents > 0:
            friction = Friction(block, t, block.tangents, block.friction)
            if _linearise_friction(friction, problem, answer, scratch, count, proximal):
                block.mode = SLIP
        if block.moments > 0:
            friction = Friction(block, m, 1, block.spin)
            _linearise_friction(friction, problem, answer, scratch, count, proximal)
        if block.moments == 3:
            friction = Friction(block, m + 1, 2, block.roll)
            _linearise_friction(friction, problem, answer, scratch, count, proximal)
    return count


@inlined
def _list_unknowns(problem: ContactProblem, answer: ContactAnswer, scratch: Scratch) -> int:
    """Modes of the blocks, and the rows whose impulses these leave unknown; returns how many.

    `scratch.order` tells each row's place among them, or UNLISTED.
    """
    G, p, u, count = problem.G, answer.p, answer.u, integer(0)
    for i in range(problem.n):
        block = problem.blocks[i]
        r, rows = block.row, rows_of(block)
        g, first = G[r, r], 0
        block.mode = STICK
        if block.dry != 0 and g > 0.0:
            block.mode, _, _ = nearest_mode(problem.polygon, block, G, p, u)
            if block.mode >= SLIP:
                p[r] = block.compression if block.mode == SLIP else -block.compression
                first = rows
        # With a compression impulse friction goes on
        elif not (g > 0.0 and p[r] - u[r] / g > 0.0):
            block.mode, first = OPEN, rows if block.compression == 0.0 else 1
            for k in range(r, r + first):
                p[k] = 0.0
        for k in range(rows):
            scratch.order[r + k] = UNLISTED
            if k >= first:
                scratch.order[r + k] = count
                scratch.unknowns[count].column, scratch.unknowns[count].equation = r + k, r
                count += 1
    return int(count)


class Friction(NamedTuple):
    """One of a contact's frictions: sliding, torsional or rolling."""

    block: Any
    row: int  # its first one
    size: int  # how many it has, 1 or 2
    mu: float


@inlined
def _linearise_friction(
    friction: Friction,
    problem: ContactProblem,
    answer: ContactAnswer,
    scratch: Scratch,
    count: int,
    proximal: float,
) -> bool:
    """Equations of a friction that slips: g (p_t - mu p_n y / |y|) = 0 with y = p_t - u_t / g.

    p_n with the compression impulse.  With P the projection across y, d(y / |y|) = P dy / |y|.
    Returns whether it slips.
    """
    block, t, mu = friction.block, friction.row, friction.mu
    G, K, p, u = problem.G, scratch.K, answer.p, answer.u
    r = block.row
    two = friction.size == 2
    g = yielding(G, r, t, friction.size)
    # Where the impulse would go if nothing bounded it: outside the cone, it slips
    yx = p[t] - u[t] / g
    yy = p[t + 1] - u[t + 1] / g if two else 0.0
    size = math.sqrt(yx * yx + yy * yy)
    # Against the normal impulse as it will be, so that a contact about to lift counts as open
    pressed = max(p[r] - u[r] / G[r, r], 0.0) + block.compression
    if size <= mu * pressed:
        return False
    # The equation itself holds the bound at the present impulse
    bound = mu * (max(p[r], 0.0) + block.compression)
    cx, cy = yx / size, yy / size
    turn = bound / size
    normal, first = scratch.order[r], scratch.order[t]
    # The bound times P G / |y|, one column for each row of this friction
    for k in range(friction.size):
        own = first + k
        along = cx if k == 0 else cy
        px = (1.0 if k == 0 else 0.0) - along * cx
        py = (1.0 if k == 1 else 0.0) - along * cy
        for b in range(count):
            column = scratch.unknowns[b].column
            effect = px * G[t, column]
            if two:
                effect += py * G[t + 1, column]
            K[b, own] = turn * effect
        K[own, own] += g * (1.0 + proximal)
        K[first, own] -= g * turn * px
        if two:
            K[first + 1, own] -= g * turn * py
        if normal != UNLISTED:
            K[normal, own] -= g * mu * along
        scratch.right[own] = -g * (p[t + k] - mu * (p[r] + block.compression) * along)
    return True


@kernel
def _sweep(
    blocks: Records, count: int, G: Floats, rows: int, part: float, p: Floats, u: Floats
) -> None:
    """One contact after the other: normal impulse, then the friction nearest to what stops it.

    The normal impulse answers u_n alone: this is Coulomb's law, not its convex relaxation.

    part: of each change that is made
    """
    for i in range(count):
        block = blocks[i]
        r, t = block.row, block.row + 1
        if not G[r, r] > 0.0:
            continue
        # A dry joint: an interval of its own, no normal impulse
        if block.dry != 0:
            _add(G, rows, r, part * (within(block.compression, p[r] - u[r] / G[r, r]) - p[r]), p, u)
            continue
        _add(G, rows, r, part * (max(p[r] - u[r] / G[r, r], 0.0) - p[r]), p, u)
        # Frictions see the normal impulse that has just changed
        if block.tangents > 0:
            _rub(Friction(block, t, block.tangents, block.friction), G, rows, part, p, u)
        if block.moments > 0:
            m = t + block.tangents
            _rub(Friction(block, m, 1, block.spin), G, rows, part, p, u)
            if block.moments == 3:
                _rub(Friction(block, m + 1, 2, block.roll), G, rows, part, p, u)


@inlined
def _rub(friction: Friction, G: Floats, rows: int, part: float, p: Floats, u: Floats) -> None:
    """The impulse of one friction that is nearest to what stops it, for the normal one as it is."""
    block, t, two = friction.block, friction.row, friction.size == 2
    g = yielding(G, block.row, t, friction.size)
    x, y = p[t] - u[t] / g, p[t + 1] - u[t + 1] / g if two else 0.0
    size = math.sqrt(x * x + y * y)
    bound = friction.mu * (p[block.row] + block.compression)
    share = bound / size if size > bound else 1.0
    _add(G, rows, t, part * (share * x - p[t]), p, u)
    if two:
        _add(G, rows, t + 1, part * (share * y - p[t + 1]), p, u)


@inlined
def _add(G: Floats, rows: int, row: int, change: float, p: Floats, u: Floats) -> None:
    """Change one impulse, and all velocities with it."""
    p[row] += change
    for c in range(rows):
        u[c] += change * G[row, c]


@kernel
def _clip(blocks: Records, count: int, impulses: Floats) -> None:
    """Into the cones, from which roundoff may have led."""
    for i in range(count):
        block = blocks[i]
        r, t = block.row, block.row + 1
        if block.dry != 0:
            impulses[r] = within(block.compression, impulses[r])
            continue
        impulses[r] = max(impulses[r], 0.0)
        pressed = impulses[r] + block.compression
        if block.tangents > 0:
            _shorten(impulses, t, block.tangents, block.friction * pressed)
        if block.moments > 0:
            _shorten(impulses, t + block.tangents, 1, block.spin * pressed)
        if block.moments == 3:
            _shorten(impulses, t + block.tangents + 1, 2, block.roll * pressed)


@inlined
def _shorten(impulses: Floats, row: int, count: int, bound: float) -> None:
    """Bring one or two entries within a bound."""
    x, y = impulses[row], impulses[row + 1] if count == 2 else 0.0
    size = math.sqrt(x * x + y * y)
    if size > bound:
        for k in range(row, row + count):
            impulses[k] *= bound / size
