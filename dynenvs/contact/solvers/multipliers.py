"""Proximal multipliers on a dense Delassus matrix, for what Newton's method on modes leaves open.

The same method as in `dynenvs.contact.sparse.proximal`, which says what it does.  Its unknown there
is the velocity of the trees; here, with a root G = A^T A, it is z with the rows' velocities
u = bias + A^T z, and its equation

    z = A P(p - rho (u + mu s e_n)).

However many contacts there are, and however redundant, z has no more entries than what they touch
has freedoms, and Newton's matrix 1 + A W A^T is regular.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.contact.assembly.problem import (
    WORDS,
    ContactAnswer,
    ContactProblem,
    Scratch,
    row_velocities,
)
from dynenvs.contact.law.dry import project_dry
from dynenvs.contact.law.moments import project_moments, turning
from dynenvs.contact.solvers.cone_law import certify_cones, coefficients, rows_of, six
from dynenvs.contact.solvers.friction_lcp import choose_modes
from dynenvs.contact.solvers.penalty import (
    BACK,
    CAP,
    ENOUGH,
    FAR,
    FAR_BACK,
    FINE,
    INNER,
    LOOSEN,
    LOST,
    SLOW,
    first_penalty,
    softer,
    stiffer,
)
from dynenvs.contact.solvers.projection import project_contact
from dynenvs.contact.solvers.pyramid_law import certify_pyramids
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.lcp.dense import factorise, substitute
from dynenvs.lcp.roots import find_root
from dynenvs.lcp.solve import CERTIFIED_RESIDUAL
from dynenvs.memory.layout import Floats
from dynenvs.memory.records import CONE

BUDGET = 150  # factorisations
CROWD = 2  # rows per freedom above which these, of freedoms, are quicker than those of rows
PATIENCE = 4  # Newton's steps of a round in a row that may gain less than half
LINE = 8  # trials along one of them
STIFF, STIFFEST = 1e4, 1e9  # penalties to begin with and at all

IMPULSE = 36  # word of a block's law at which its impulses stand, after their derivative
# Rows of the scratch vectors: of impulses, of slips, and of entries of z
BEST, HELD, TRIAL, SLIP, START, OFF, AT = 0, 1, 2, 3, 4, 5, 9


@kernel
def multiply(
    problem: ContactProblem, answer: ContactAnswer, scratch: Scratch, law: int
) -> tuple[float, int]:
    """Rounds of multipliers from p; p and u end as the best that was met.

    law: PYRAMID or CONE
    Returns (residual, factorisations).
    """
    rows, p = problem.rows, answer.p
    kept, held_p = scratch.vectors[BEST], scratch.vectors[HELD]
    # G = A^T A: however redundant the rows are, z has only as many entries as its rank
    size = find_root(problem.G, rows, scratch.roots, scratch.right)
    residual = _certify(problem, answer, law)
    best = held = residual
    _copy(rows, p, kept)
    _copy(rows, p, held_p)
    penalty, cap = first_penalty(residual, STIFF), STIFFEST
    used, rounds = 0, 0
    while best > ENOUGH and max(used, rounds) < BUDGET:
        # A round: Newton's method with this penalty, then the residual
        rounds += 1
        last = residual
        done, steps = _round(problem, answer, scratch, law, size, penalty, residual)
        used += steps
        residual = _certify(problem, answer, law)
        slow = not residual < SLOW * best
        if residual < best:
            best = residual
            _copy(rows, p, kept)
        # Certified, and no longer quickly better
        if best <= CERTIFIED_RESIDUAL and slow:
            break
        if not done and not residual < SLOW * held:  # back to the last round that was solved
            _copy(rows, held_p, p)
            residual = _certify(problem, answer, law)
            cap, penalty = softer(penalty, CAP), softer(penalty, BACK)
            continue
        # It has gained: stiffer; or it is lost: back to the best
        penalty = stiffer(penalty, cap, residual, last)
        cap = min(LOOSEN * cap, STIFFEST)
        if not residual < LOST * best:
            _copy(rows, kept, p)
            residual = _certify(problem, answer, law)
            penalty = softer(penalty, FAR_BACK)
        held = residual
        _copy(rows, p, held_p)
    _copy(rows, kept, p)
    return _certify(problem, answer, law), used


@inlined
def _certify(problem: ContactProblem, answer: ContactAnswer, law: int) -> float:
    """The velocities that the impulses give, and the natural residual of both."""
    row_velocities(problem, answer.p, answer.u)
    if law == CONE:
        blocks, n, G, scale = problem.blocks, problem.n, problem.G, problem.scale
        return float(certify_cones(blocks, n, G, scale, answer.p, answer.u))
    choose_modes(problem, answer)
    return float(certify_pyramids(problem, answer))


@inlined
def _copy(rows: int, source: Floats, target: Floats) -> None:
    for r in range(rows):
        target[r] = source[r]


@kernel
def _round(
    problem: ContactProblem, answer: ContactAnswer, scratch: Scratch, law: int, size: int,
    penalty: float, residual: float,
) -> tuple[bool, int]:  # fmt: skip
    """Solve for z at these multipliers and penalty, and move p.

    size: entries of z
    Returns whether that was solved, and the factorisations.
    """
    # Far from an answer the slip is held: then the round minimises a convex function
    p, slip, z, A = answer.p, scratch.vectors[SLIP], scratch.vectors[AT], scratch.roots
    for i in range(problem.n):
        block = problem.blocks[i]
        slip[i] = -1.0
        if residual > FAR:
            slip[i] = block.friction * block.slip
            if block.moments > 0:
                slip[i] += turning(coefficients(block), six(block, answer.u))
    # z that belongs to the impulses at hand
    for a in range(size):
        z[a] = 0.0
        for r in range(problem.rows):
            z[a] += A[a, r] * p[r]
    # A round need not be solved better than the problem is so far
    target = 0.05 * min(residual, 1.0) * problem.scale
    off = _miss(problem, answer, scratch, law, size, penalty)
    used, least, idle = 0, off, 0
    while used < INNER and off > target and idle < PATIENCE:
        _linearise(problem, scratch, size)
        used += 1
        if not factorise(scratch.K, size, scratch.order) > 0.0:
            break
        substitute(scratch.K, size, scratch.order, scratch.right, scratch.x)
        off = _search(problem, answer, scratch, law, size, penalty)
        # Rounding may leave nothing to gain: a few idle steps end the round
        idle += 1
        if off < 0.5 * least:
            least, idle = off, 0
        elif off < FINE * problem.scale:
            break
    _copy(problem.rows, scratch.vectors[TRIAL], p)
    return bool(off <= max(target, FINE * problem.scale)), used


@kernel
def _miss(
    problem: ContactProblem, answer: ContactAnswer, scratch: Scratch, law: int, size: int,
    penalty: float,
) -> float:  # fmt: skip
    """Impulses `TRIAL` of the law at z with its derivatives, and `OFF`, by which z misses them.

    Returns the largest velocity that this gives a row [m/s].
    """
    A, rows, u = scratch.roots, problem.rows, answer.u
    trial, off, z = scratch.vectors[TRIAL], scratch.vectors[OFF], scratch.vectors[AT]
    # u = bias + A^T z
    _copy(rows, problem.bias, u)
    for a in range(size):
        for r in range(rows):
            u[r] += A[a, r] * z[a]
    # The law of each block at these velocities
    for i in range(problem.n):
        _project(problem, answer, scratch, law, i, penalty)
        block, at = problem.blocks[i], WORDS * i + IMPULSE
        for k in range(rows_of(block)):
            trial[block.row + k] = scratch.laws[at + _place(block, k)]
    # What z misses is measured as a velocity of the rows, A^T off
    misses = scratch.x
    for r in range(rows):
        misses[r] = 0.0
    for a in range(size):
        given = 0.0
        for r in range(rows):
            given += A[a, r] * trial[r]
        off[a] = z[a] - given
        for r in range(rows):
            misses[r] += A[a, r] * off[a]
    worst = 0.0
    for r in range(rows):
        worst = max(worst, abs(misses[r]))
    return worst if worst < math.inf else math.inf


@inlined
def _project(
    problem: ContactProblem, answer: ContactAnswer, scratch: Scratch, law: int, index: int,
    penalty: float,
) -> None:  # fmt: skip
    """The law of block `index` at the velocities u, into its words of `laws`."""
    # The words of this block in `laws`: the derivative first, then the impulses
    block, G, p, u = problem.blocks[index], problem.G, answer.p, answer.u
    r, held = block.row, scratch.vectors[SLIP, index]
    out = scratch.laws[WORDS * index : WORDS * (index + 1)]
    # The mean of its diagonal in G: rho is a penalty in units of the mass that it feels
    mass = 0.0
    for k in range(r, r + 1 + block.tangents):
        mass += G[k, k] / (1 + block.tangents)
    for k in range(WORDS):
        out[k] = 0.0
    if not G[r, r] > 0.0:  # nothing moves it
        return
    rho = penalty / mass
    if block.dry != 0:
        out[IMPULSE], out[0] = project_dry(block.compression, rho, p[r], u[r])
    elif block.moments > 0:
        mu = coefficients(block)
        y = project_moments(mu, block.compression, rho, six(block, p), six(block, u), held, out)
        for k in range(6):
            out[IMPULSE + k] = y[k]
    else:
        velocity = (
            u[r],
            u[r + 1] if block.tangents > 0 else 0.0,
            u[r + 2] if block.tangents > 1 else 0.0,
        )
        polygon = problem.polygon
        project_contact(law, polygon, block, rho, p[r:], velocity, held, out[IMPULSE:], out)


@inlined
def _place(block: Any, row: int) -> int:
    """Where the k-th of a block's rows stands among the six of `dynenvs.contact.law.moments`."""
    return row if row <= block.tangents else 3 + row - 1 - block.tangents


@kernel
def _linearise(problem: ContactProblem, scratch: Scratch, size: int) -> None:
    """1 + A W A^T, transposed, and -off: Newton's equations for z."""
    A, K, laws, step = scratch.roots, scratch.K, scratch.laws, scratch.x
    # The unit matrix; the blocks add to it
    for a in range(size):
        for b in range(size):
            K[a, b] = 0.0
        K[a, a] = 1.0
        scratch.right[a] = -scratch.vectors[OFF, a]
    for i in range(problem.n):
        block, at = problem.blocks[i], WORDS * i
        width = 3 if block.moments == 0 else 6  # of the law's derivative
        for j in range(rows_of(block)):
            # Column j of A W, then its product with row j of A^T
            found = False
            for a in range(size):
                step[a] = 0.0
            for k in range(rows_of(block)):
                weight = laws[at + width * _place(block, k) + _place(block, j)]
                if weight != 0.0:
                    found = True
                    for a in range(size):
                        step[a] += A[a, block.row + k] * weight
            for b in range(size if found else 0):
                own = A[b, block.row + j]
                for a in range(size if own != 0.0 else 0):
                    K[b, a] += own * step[a]


@kernel
def _search(
    problem: ContactProblem, answer: ContactAnswer, scratch: Scratch, law: int, size: int,
    penalty: float,
) -> float:  # fmt: skip
    """Go along Newton's step until the slope has fallen enough; returns the miss there [m/s]."""
    z, start, step = scratch.vectors[AT], scratch.vectors[START], scratch.right
    for a in range(size):
        start[a], step[a] = z[a], scratch.x[a]
    # The slope falls along the way, but not evenly: the law has kinks
    first = _slope(scratch, size)
    low, low_slope = 0.0, first
    high, high_slope = 0.0, 0.0
    part = 1.0
    off = math.inf
    for _ in range(LINE):
        for a in range(size):
            z[a] = start[a] + part * step[a]
        off = _miss(problem, answer, scratch, law, size, penalty)
        slope = _slope(scratch, size)
        # Far enough: half of the slope is gone, or the full step does not overshoot
        if abs(slope) <= 0.5 * abs(first) or (part == 1.0 and slope <= 0.0):
            break
        # The root lies between `low` and `high`: false position, kept off both ends
        if slope > 0.0:
            high, high_slope = part, slope
        else:
            low, low_slope = part, slope
        if high == 0.0:
            break
        share = low_slope / (low_slope - high_slope) if low_slope < high_slope else 0.5
        part = low + min(max(share, 0.1), 0.9) * (high - low)
    return off


@inlined
def _slope(scratch: Scratch, size: int) -> float:
    """Of what is minimised, where the slip is held."""
    total = 0.0
    for a in range(size):
        total += scratch.right[a] * scratch.vectors[OFF, a]
    return total
