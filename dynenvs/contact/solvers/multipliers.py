"""Proximal multipliers on a dense Delassus matrix, for what Newton's method on modes leaves open.

The method is that of `rounds.py`.  In place of the trees' velocities its unknown, with a root
G = A^T A, is z with the rows' velocities u = bias + A^T z, and its equation

    z = A P(p - rho (u + mu s e_n)).

However many contacts there are, and however redundant, z has no more entries than what they touch
has freedoms, and Newton's matrix 1 + A W A^T is regular.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from dynenvs.contact.assembly.problem import (
    STRIPS,
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
from dynenvs.contact.solvers.newton import converge
from dynenvs.contact.solvers.projection import project_contact
from dynenvs.contact.solvers.pyramid_law import certify_pyramids
from dynenvs.contact.solvers.relax import relax
from dynenvs.contact.solvers.roots import root_of
from dynenvs.contact.solvers.rounds import ENOUGH, Stiffness, Ways, rounds
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.lcp.dense import factorise, substitute
from dynenvs.lcp.solve import CERTIFIED_RESIDUAL
from dynenvs.memory.layout import Floats, Matrix
from dynenvs.memory.records import CONE, PYRAMID

BUDGET = 150  # factorisations
AT_ONCE = 10  # sweeps between two looks at the residual
ROUGH = 1e-4  # residual near which modes are mostly right
CHANGES = 2  # of these modes
CROWD = 2  # rows per freedom above which these, of freedoms, are quicker than those of rows
STIFFNESS = Stiffness(1e4, 1e9, 1.0)  # more recovery: answers of jammed robots end less near

IMPULSE = 36  # word of a block's law at which its impulses stand, after their derivative
# Rows of the scratch vectors: of impulses, of slips, and of entries of z
BEST, HELD, TRIAL, SLIP, START, OFF, AT = 0, 1, 2, 3, 4, 5, 9
HALF = STRIPS // 2  # of the strips, where products begin


class Rows(NamedTuple):
    """A problem in rows with its answer, as `rounds.py` sees it."""

    problem: ContactProblem
    answer: ContactAnswer
    scratch: Scratch
    law: int  # PYRAMID or CONE
    size: int  # entries of z
    scale: float
    p: Floats
    trial: Floats
    best: Floats
    held: Floats


@kernel
def multiply(
    problem: ContactProblem, answer: ContactAnswer, scratch: Scratch, law: int, sweeps: int
) -> tuple[float, int]:
    """Rounds of multipliers from p; p and u end as the best that was met.

    law: PYRAMID or CONE
    sweeps: of Gauss-Seidel before, which come near from anywhere; rounds may not
    Returns (residual, factorisations).
    """
    residual, used = _certify(_rows(problem, answer, scratch, law, 0)), 0
    near = ENOUGH if law == PYRAMID else CERTIFIED_RESIDUAL  # sweeps are of pyramids
    for _ in range(0, sweeps, AT_ONCE):
        if residual <= near:
            break
        relax(problem, answer, AT_ONCE)
        residual = _certify(_rows(problem, answer, scratch, law, 0))
    if residual <= ENOUGH:
        return residual, used
    # G = A^T A: however redundant the rows are, z has no more entries than they move freedoms
    rows = _rows(problem, answer, scratch, law, root_of(problem, scratch))
    if law == PYRAMID and residual > CERTIFIED_RESIDUAL:
        residual, used = _search(rows, residual, ROUGH, 0)
        # Each round comes nearer by a part; Newton's method on the modes ends it in a step or two
        if residual <= ROUGH:
            exact, changes = converge(problem, answer, scratch, CHANGES, True)
            used += changes
            if exact <= ENOUGH:
                return exact, used
            _copy(rows, rows.best, rows.p)
            residual = _certify(rows)
    return _search(rows, residual, ENOUGH, used)


@inlined
def _rows(
    problem: ContactProblem, answer: ContactAnswer, scratch: Scratch, law: int, size: int
) -> Rows:
    """The problem as rounds see it; size: entries of z, 0 while no root of G is known."""
    vectors = scratch.vectors
    return Rows(
        problem, answer, scratch, law, size, problem.scale, answer.p, vectors[TRIAL], vectors[BEST],
        vectors[HELD],
    )  # fmt: skip


@kernel
def _search(rows: Rows, residual: float, enough: float, used: int) -> tuple[float, int]:
    """Rounds from p, whose residual is given, after so many factorisations."""
    return rounds(rows, WAYS, residual, STIFFNESS, enough, used, BUDGET)


@inlined
def _certify(rows: Rows) -> float:
    """The velocities that the impulses give, and the natural residual of both."""
    problem, answer = rows.problem, rows.answer
    row_velocities(problem, answer.p, answer.u)
    if rows.law == CONE:
        blocks, n, G, scale = problem.blocks, problem.n, problem.G, problem.scale
        return float(certify_cones(blocks, n, G, scale, answer.p, answer.u))
    choose_modes(problem, answer)
    return float(certify_pyramids(problem, answer))


@inlined
def _is_good(rows: Rows, residual: float) -> bool:
    return residual <= CERTIFIED_RESIDUAL


@inlined
def _copy(rows: Rows, source: Floats, target: Floats) -> None:
    for r in range(rows.problem.rows):
        target[r] = source[r]


@inlined
def _reach(rows: Rows, times: float) -> None:
    p, held = rows.answer.p, rows.held
    for r in range(rows.problem.rows):
        p[r] = held[r] + times * (p[r] - held[r])


@kernel
def _begin(rows: Rows, far: bool) -> None:
    """Slips that are held, or -1, and z that belongs to the impulses at hand."""
    problem, u, A = rows.problem, rows.answer.u, rows.scratch.roots
    slip, z = rows.scratch.vectors[SLIP], rows.scratch.vectors[AT]
    for i in range(problem.n):
        block = problem.blocks[i]
        slip[i] = block.friction * block.slip if far else -1.0
        if far and block.moments > 0:
            slip[i] += turning(coefficients(block), six(block, u))
    for a in range(rows.size):
        z[a] = 0.0
        for r in range(problem.rows):
            z[a] += A[a, r] * rows.p[r]


@kernel
def _miss(at: Rows, penalty: float) -> float:
    """Impulses `trial` of the law at z with its derivatives, and `OFF`, by which z misses them.

    Returns the largest velocity that this gives a row [m/s].
    """
    problem, scratch, size = at.problem, at.scratch, at.size
    A, rows, u = scratch.roots, problem.rows, at.answer.u
    trial, off, z = at.trial, scratch.vectors[OFF], scratch.vectors[AT]
    # u = bias + A^T z
    _copy(at, problem.bias, u)
    for a in range(size):
        for r in range(rows):
            u[r] += A[a, r] * z[a]
    # The law of each block at these velocities
    for i in range(problem.n):
        _project(at, i, penalty)
        block, first = problem.blocks[i], WORDS * i + IMPULSE
        for k in range(rows_of(block)):
            trial[block.row + k] = scratch.laws[first + _place(block, k)]
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
def _project(rows: Rows, index: int, penalty: float) -> None:
    """The law of block `index` at the velocities u, into its words of `laws`."""
    problem, answer, scratch = rows.problem, rows.answer, rows.scratch
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
        project_contact(rows.law, polygon, block, rho, p[r:], velocity, held, out[IMPULSE:], out)


@inlined
def _place(block: Any, row: int) -> int:
    """Where the k-th of a block's rows stands among the six of `dynenvs.contact.law.moments`."""
    return row if row <= block.tangents else 3 + row - 1 - block.tangents


@kernel
def _direct(rows: Rows) -> bool:
    """Newton's step for z, -(1 + A W A^T)^-1 off, into `right`; False where it has none."""
    scratch, size = rows.scratch, rows.size
    linearise(rows.problem, scratch, size)
    if not factorise(scratch.K, size, scratch.order) > 0.0:
        return False
    for a in range(size):
        scratch.right[a] = -scratch.vectors[OFF, a]
    substitute(scratch.K, size, scratch.order, scratch.right, scratch.x)
    for a in range(size):
        scratch.vectors[START, a], scratch.right[a] = scratch.vectors[AT, a], scratch.x[a]
    return True


@kernel
def linearise(problem: ContactProblem, scratch: Scratch, size: int) -> None:
    """1 + A W A^T, transposed, into K; W as it stands in `laws`."""
    K = scratch.K
    # The unit matrix; the blocks add to it
    for a in range(size):
        for b in range(size):
            K[a, b] = 0.0
        K[a, a] = 1.0
    for i in range(problem.n):
        count = rows_of(problem.blocks[i])
        low, high = _weigh(problem, scratch, i, size)
        for j in range(0, count if low < high else 0, 3):
            _add_products(K, scratch.strips, j, low, high)


@inlined
def _weigh(problem: ContactProblem, scratch: Scratch, index: int, size: int) -> tuple[int, int]:
    """Columns of A of a block, and of A W, into `strips`: as rows, which are filled up with zeros.

    Returns (first, after the last) of their entries that are not zero; the same where W is.
    """
    block, A, laws, strips = problem.blocks[index], scratch.roots, scratch.laws, scratch.strips
    count, at, width = rows_of(block), WORDS * index, 3 if block.moments == 0 else 6
    # An open contact has no derivative
    found = False
    for k in range(width * width):
        found = found or laws[at + k] != 0.0
    # Its columns of A side by side, which in A stand far apart
    low, high = size, 0
    for a in range(size if found else 0):
        moved = False
        for k in range(count):
            entry = A[a, block.row + k]
            strips[k, a] = entry
            moved = moved or entry != 0.0
        for k in range(count, (count + 2) // 3 * 3):
            strips[k, a] = 0.0
        if moved:
            low, high = min(low, a), a + 1
    # Those of A W, each a sum of these
    for j in range((count + 2) // 3 * 3 if low < high else 0):
        for a in range(low, high):
            strips[HALF + j, a] = 0.0
        for k in range(count if j < count else 0):
            weight = laws[at + width * _place(block, k) + _place(block, j)]
            if weight != 0.0:
                for a in range(low, high):
                    strips[HALF + j, a] += weight * strips[k, a]
    return low, max(low, high)


@inlined
def _add_products(K: Matrix, strips: Matrix, j: int, low: int, high: int) -> None:
    """K += (A W)_j A_j^T, transposed, for three columns j of a block at once."""
    x, y, z = strips[HALF + j], strips[HALF + j + 1], strips[HALF + j + 2]
    for b in range(low, high):
        f, g, h, row = strips[j, b], strips[j + 1, b], strips[j + 2, b], K[b]
        if f != 0.0 or g != 0.0 or h != 0.0:
            for a in range(low, high):
                row[a] += f * x[a] + g * y[a] + h * z[a]


@inlined
def _slope(rows: Rows) -> float:
    total = 0.0
    for a in range(rows.size):
        total += rows.scratch.right[a] * rows.scratch.vectors[OFF, a]
    return total


@inlined
def _go(rows: Rows, part: float) -> None:
    z, start = rows.scratch.vectors[AT], rows.scratch.vectors[START]
    for a in range(rows.size):
        z[a] = start[a] + part * rows.scratch.right[a]


WAYS = Ways(_certify, _is_good, _copy, _reach, _begin, _miss, _direct, _slope, _go)
