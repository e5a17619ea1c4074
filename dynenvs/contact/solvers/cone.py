"""The exact friction cone in the step: a semismooth Newton method, and what follows where it fails.

The law and its certificate are in `cone_law.py`.  The pyramid's answer comes first: where nothing
slips it is this one too, for the pyramid lies within the cone.  Elsewhere Newton's method on Alart
and Curnier's function starts from no impulses: of many ways to share a load it comes to the same
one whatever the heading, which the pyramid's answer would not.  Where it does not converge (high
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
from dynenvs.memory.layout import Floats, Records
from dynenvs.memory.records import CONE

COLD, BRIEF, WARM, WARM_MULTIPLIERS, WARM_BOTH = range(5)  # how a search starts
ITERATIONS = 20  # of Newton's method
FEW = 6  # ... before multipliers that gave the last step's impulses
SWEEPS = 0, 20  # of Gauss-Seidel from the pyramid's answer, before multipliers
ROUNDS = 8  # of Gauss-Seidel and Newton after them, each with twice the sweeps of the last ...
MORE_SWEEPS = 25  # ... and the first with these
RELAXATIONS = 1.0, 0.5, 0.1  # part of each change that is made: less where high friction cycles
GIVEN, KEPT = 6, 7  # rows of the scratch vectors for the impulses given, and for the best
PROXIMAL = 1e-9  # relative to the diagonal of G: redundant contacts
EXACT = 1e-13  # residual, in the certificate's units, below which nothing is left to gain
GAIN = 0.5  # a certified answer is refined as long as each iteration gains this much


@entry
def solve_cones(
    problem: ContactProblem, answer: ContactAnswer, scratch: Scratch, start: int
) -> tuple[float, int, int]:
    """Impulses `p` and velocities `u` = G p + bias of all rows on the exact cones.

    The blocks receive their modes and slips.  Impulses that are the answer already stay.

    start: COLD; BRIEF: the same, with no more than Newton's method from no impulses; or the last
        step's impulses are given: WARM, or if multipliers gave them WARM_MULTIPLIERS, or WARM_BOTH:
        after a few iterations of Newton's method
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
    if start == WARM_BOTH:
        best, used = _descend(problem, answer, scratch, FEW)
        if best <= CERTIFIED_RESIDUAL:
            return best, used, WARM_MULTIPLIERS
        _copy(rows, given, p)
    if start >= WARM_MULTIPLIERS:
        best, more = multiply(problem, answer, scratch, CONE, 0)
        used += more
        if best <= CERTIFIED_RESIDUAL:
            return best, used, WARM_MULTIPLIERS
        _copy(rows, given, p)
    if start >= WARM:
        best, more = _descend(problem, answer, scratch, ITERATIONS)
        used += more
        if best <= CERTIFIED_RESIDUAL:
            return best, used, WARM
    _clear(rows, p)
    best, iterations = _descend(problem, answer, scratch, ITERATIONS)
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
        residual, used = _descend(problem, answer, scratch, ITERATIONS)
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
    problem: ContactProblem, answer: ContactAnswer, scratch: Scratch, most: int
) -> tuple[float, int]:
    """Newton's method from p; p and u end as the best that was met.  Answer as of `solve_cones`.

    most: iterations
    """
    rows, p = problem.rows, answer.p
    best = scratch.vectors[0]
    least = math.inf
    used = 0
    for iteration in range(most + 1):
        residual = certify_answer(problem, answer)
        # A certified answer is refined only while each iteration gains its share
        enough = least <= CERTIFIED_RESIDUAL and not residual < GAIN * least
        if residual < least:
            least = residual
            for r in range(rows):
                best[r] = p[r]
        if least <= EXACT or enough or iteration == most:
            break
        # The step is taken in full: no line search, the certificate picks the best iterate
        _linearise(problem, answer, scratch)
        if not factorise(scratch.K, rows, scratch.order) > 0.0:
            break
        substitute(scratch.K, rows, scratch.order, scratch.right, scratch.x)
        for r in range(rows):
            p[r] += scratch.x[r]
        used += 1
    for r in range(rows):
        p[r] = best[r] if least < math.inf else 0.0
    _clip(problem.blocks, problem.n, p)
    return certify_answer(problem, answer), used


@kernel
def _linearise(problem: ContactProblem, answer: ContactAnswer, scratch: Scratch) -> None:
    """K, transposed, and the right-hand side of Newton's equations for the change of p.

    A contact that lifts loses its impulse at once.  All equations are velocities.
    """
    blocks, n, G, rows = problem.blocks, problem.n, problem.G, problem.rows
    K, right, p, u = scratch.K, scratch.right, answer.p, answer.u
    # Contacts that lift let go
    for i in range(n):
        block = blocks[i]
        r = block.row
        g = G[r, r]
        block.mode = STICK
        if block.dry != 0 and g > 0.0:
            block.mode, _, _ = nearest_mode(problem.polygon, block, G, p, u)
        elif not (g > 0.0 and p[r] - u[r] / g > 0.0):
            block.mode = OPEN
            for k in range(r, r + (rows_of(block) if block.compression == 0.0 else 1)):
                p[k] = 0.0
    # Letting go has changed all velocities
    row_velocities(problem, p, u)
    # Where all stick: G dp = -u
    for a in range(rows):
        for b in range(rows):
            K[b, a] = G[a, b]
        right[a] = -u[a]
    # Open ones keep no impulse; friction couples slip and impulse
    for i in range(n):
        block = blocks[i]
        r = block.row
        loose = block.mode == OPEN and block.compression == 0.0
        if block.dry != 0 and block.mode >= SLIP:  # its impulse is a bound
            for b in range(rows):
                K[b, r] = 0.0
            bound = block.compression if block.mode == SLIP else -block.compression
            K[r, r], right[r] = 1.0, bound - p[r]
            continue
        for k in range(r, r + rows_of(block)):
            if loose or (block.mode == OPEN and k == r):
                for b in range(rows):
                    K[b, k] = 0.0
                K[k, k], right[k] = 1.0, 0.0
            elif G[k, k] > 0.0:
                K[k, k] += PROXIMAL * G[k, k]
            else:
                K[k, k] += PROXIMAL * G[r, r]
        if loose:
            continue
        if block.tangents > 0:
            # Sliding, torsional and rolling friction have an equation each, alike in form
            friction = Friction(block, r + 1, block.tangents, block.friction)
            if _linearise_friction(friction, G, rows, K, right, p, u):
                block.mode = SLIP
        if block.moments > 0:
            friction = Friction(block, r + 1 + block.tangents, 1, block.spin)
            _linearise_friction(friction, G, rows, K, right, p, u)
        if block.moments == 3:
            friction = Friction(block, r + 2 + block.tangents, 2, block.roll)
            _linearise_friction(friction, G, rows, K, right, p, u)


class Friction(NamedTuple):
    """One of a contact's frictions: sliding, torsional or rolling."""

    block: Any
    row: int  # its first one
    size: int  # how many it has, 1 or 2
    mu: float


@inlined
def _linearise_friction(
    friction: Friction, G: Floats, rows: int, K: Floats, right: Floats, p: Floats, u: Floats
) -> bool:
    """Equations of a friction that slips: g (p_t - mu p_n y / |y|) = 0 with y = p_t - u_t / g.

    p_n with the compression impulse.  With P the projection across y, d(y / |y|) = P dy / |y|.
    Returns whether it slips.
    """
    block, t, mu = friction.block, friction.row, friction.mu
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
    # The bound times P G / |y|, one column for each row of this friction
    for k in range(friction.size):
        own = t + k
        along = cx if k == 0 else cy
        px = (1.0 if k == 0 else 0.0) - along * cx
        py = (1.0 if k == 1 else 0.0) - along * cy
        for b in range(rows):
            effect = px * G[t, b]
            if two:
                effect += py * G[t + 1, b]
            K[b, own] = turn * effect
        K[own, own] += g * (1.0 + PROXIMAL)
        K[t, own] -= g * turn * px
        if two:
            K[t + 1, own] -= g * turn * py
        K[r, own] -= g * mu * along
        right[own] = -g * (p[own] - mu * (p[r] + block.compression) * along)
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
