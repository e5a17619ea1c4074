"""Proximal multipliers on a dense Delassus matrix: exact cones that Newton's method leaves open.

The same method as in `dynenvs.contact.sparse.proximal`, which says what it does; the unknown here
is the velocity u of all rows, with its equation

    u = bias + G P(p - rho (u + mu s e_n)).
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
from dynenvs.contact.solvers.cone_law import coefficients, judge, rows_of, six
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
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.lcp.dense import factorise, substitute
from dynenvs.lcp.solve import CERTIFIED_RESIDUAL
from dynenvs.memory.layout import Floats
from dynenvs.memory.records import CONE

BUDGET = 150  # factorisations
HALVINGS = 8  # of one of Newton's steps
STIFF, STIFFEST = 1e4, 1e9  # penalties to begin with and at all

IMPULSE = 36  # word of a block's law at which its impulses stand, after their derivative
# Rows of the scratch vectors
BEST, HELD, TRIAL, START, SLIP, OFF = range(6)


@kernel
def multiply(problem: ContactProblem, answer: ContactAnswer, scratch: Scratch) -> tuple[float, int]:
    """Rounds of multipliers from p; p and u end as the best that was met.

    Returns (residual, factorisations).
    """
    rows, p = problem.rows, answer.p
    kept, held_p = scratch.vectors[BEST], scratch.vectors[HELD]
    residual = judge(problem, answer)
    best = held = residual
    _copy(rows, p, kept)
    _copy(rows, p, held_p)
    penalty, cap = first_penalty(residual, STIFF), STIFFEST
    used, rounds = 0, 0
    while best > ENOUGH and max(used, rounds) < BUDGET:
        # A round: Newton's method with this penalty, then the residual
        rounds += 1
        last = residual
        done, steps = _round(problem, answer, scratch, penalty, residual)
        used += steps
        residual = judge(problem, answer)
        slow = not residual < SLOW * best
        if residual < best:
            best = residual
            _copy(rows, p, kept)
        if best <= CERTIFIED_RESIDUAL and slow:
            break
        if not done and not residual < SLOW * held:  # back to the last round that was solved
            _copy(rows, held_p, p)
            residual = judge(problem, answer)
            cap, penalty = softer(penalty, CAP), softer(penalty, BACK)
            continue
        # It has gained: stiffer; or it is lost: back to the best
        penalty = stiffer(penalty, cap, residual, last)
        cap = min(LOOSEN * cap, STIFFEST)
        if not residual < LOST * best:
            _copy(rows, kept, p)
            residual = judge(problem, answer)
            penalty = softer(penalty, FAR_BACK)
        held = residual
        _copy(rows, p, held_p)
    _copy(rows, kept, p)
    return judge(problem, answer), used


@inlined
def _copy(rows: int, source: Floats, target: Floats) -> None:
    for r in range(rows):
        target[r] = source[r]


@kernel
def _round(
    problem: ContactProblem,
    answer: ContactAnswer,
    scratch: Scratch,
    penalty: float,
    residual: float,
) -> tuple[bool, int]:
    """Solve for u at these multipliers and penalty, and move p.

    Returns whether that was solved, and the factorisations.
    """
    rows, scale, p, u = problem.rows, problem.scale, answer.p, answer.u
    slip, trial, start = scratch.vectors[SLIP], scratch.vectors[TRIAL], scratch.vectors[START]
    for i in range(problem.n):
        block = problem.blocks[i]
        slip[i] = -1.0
        if residual > FAR:
            slip[i] = block.friction * block.slip
            if block.moments > 0:
                slip[i] += turning(coefficients(block), six(block, u))
    target = 0.05 * min(residual, 1.0) * scale
    off = _miss(problem, answer, scratch, penalty)
    used = 0
    while used < INNER and _largest(rows, scratch.vectors[OFF]) > target:
        _linearise(problem, scratch)
        used += 1
        if not factorise(scratch.K, rows, scratch.order) > 0.0:
            break
        substitute(scratch.K, rows, scratch.order, scratch.right, scratch.x)
        _copy(rows, u, start)
        part, before = 1.0, off
        for _ in range(HALVINGS):
            for r in range(rows):
                u[r] = start[r] + part * scratch.x[r]
            off = _miss(problem, answer, scratch, penalty)
            if off < (1.0 - 0.1 * part) * before:
                break
            part *= 0.5
        if _largest(rows, scratch.vectors[OFF]) < 1e-12 * scale:
            break
    _copy(rows, trial, p)
    return bool(_largest(rows, scratch.vectors[OFF]) <= max(target, FINE * scale)), used


@kernel
def _miss(
    problem: ContactProblem, answer: ContactAnswer, scratch: Scratch, penalty: float
) -> float:
    """Impulses `TRIAL` of the law at u with its derivatives, and by how much u misses what they
    give, `OFF`; returns the latter's Euclidean norm [m/s]."""
    polygon, G, rows, p, u = problem.polygon, problem.G, problem.rows, answer.p, answer.u
    trial, off, slip = scratch.vectors[TRIAL], scratch.vectors[OFF], scratch.vectors[SLIP]
    for i in range(problem.n):
        block = problem.blocks[i]
        r, at = block.row, WORDS * i
        law = scratch.laws[at : at + WORDS]
        mass = 0.0
        for k in range(r, r + 1 + block.tangents):
            mass += G[k, k] / (1 + block.tangents)
        if not G[r, r] > 0.0:  # nothing moves it
            for k in range(WORDS):
                law[k] = 0.0
        elif block.dry != 0:
            law[IMPULSE], law[0] = project_dry(block.reserve, penalty / mass, p[r], u[r])
        elif block.moments > 0:
            mu, held = coefficients(block), slip[i]
            y = project_moments(
                mu, block.reserve, penalty / mass, six(block, p), six(block, u), held, law
            )
            for k in range(6):
                law[IMPULSE + k] = y[k]
        else:
            velocity = (
                u[r],
                u[r + 1] if block.tangents > 0 else 0.0,
                u[r + 2] if block.tangents > 1 else 0.0,
            )
            project_contact(
                CONE, polygon, block, penalty / mass, p[r:], velocity, slip[i], law[IMPULSE:], law
            )
        for k in range(rows_of(block)):
            trial[r + k] = law[IMPULSE + _place(block, k)]
    row_velocities(problem, trial, off)
    total = 0.0
    for r in range(rows):
        off[r] = u[r] - off[r]
        total += off[r] * off[r]
    return math.sqrt(total)


@inlined
def _place(block: Any, k: int) -> int:
    """Where the k-th of a block's rows stands among the six of `dynenvs.contact.law.moments`."""
    return k if k <= block.tangents else 3 + k - 1 - block.tangents


@inlined
def _largest(rows: int, x: Floats) -> float:
    worst = 0.0
    for r in range(rows):
        worst = max(worst, abs(x[r]))
    return worst


@kernel
def _linearise(problem: ContactProblem, scratch: Scratch) -> None:
    """I + G W, transposed, and -off: Newton's equations for u."""
    G, rows, K = problem.G, problem.rows, scratch.K
    for i in range(problem.n):
        block = problem.blocks[i]
        at, size = WORDS * i, rows_of(block)
        width = 3 if block.moments == 0 else 6  # of the law's derivative
        for b in range(size):
            for row in range(rows):
                value = 0.0
                for a in range(size):
                    word = at + width * _place(block, a) + _place(block, b)
                    value += G[row, block.row + a] * scratch.laws[word]
                K[block.row + b, row] = value
    for r in range(rows):
        K[r, r] += 1.0
        scratch.right[r] = -scratch.vectors[OFF, r]
