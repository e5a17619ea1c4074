"""The contact problem solved from its inside: the central path's modes, made exact by Newton.

For problems whose modes Newton's method does not find: mostly soles that just hold, where only some
ways to share the load between corners fit all cones.  A unit of its own, compiled when first
needed.

Where a leg is nearly straight, its foot cannot meet all of its contacts' targets to the last digit:
equations that hold all of them have no answer then, and their least-squares one pulls.  The path's
own end, which meets each within the certificate, stands in that case.
"""

from __future__ import annotations

from typing import NamedTuple

from dynenvs.contact.assembly.problem import (
    WORDS,
    ContactAnswer,
    ContactProblem,
    Scratch,
    open_answer,
    open_problem,
    open_scratch,
    row_velocities,
)
from dynenvs.contact.solvers.central_path import ITERATIONS, Path, PathWays, follow
from dynenvs.contact.solvers.interior_block import W, Z, variables_of
from dynenvs.contact.solvers.modes import OPEN, SLIP, STICK, nearest_mode
from dynenvs.contact.solvers.multipliers import linearise
from dynenvs.contact.solvers.newton import converge
from dynenvs.contact.solvers.pyramid_law import certify_pyramids
from dynenvs.contact.solvers.roots import root_of
from dynenvs.jit.compiled import entry, inlined, kernel, unit
from dynenvs.lcp.dense import factorise, substitute
from dynenvs.lcp.solve import CERTIFIED, CERTIFIED_RESIDUAL, FAILED, WARM_RESIDUAL
from dynenvs.memory.layout import Floats, Ints, WorldView, open_lcp, polygon_of

NEAR = 1e-8  # the smaller of each z and w, in the certificate's units, at which modes are clear
CHANGES = 4  # of modes
KEPT = 8  # row of the scratch vectors for the impulses at the path's end
DP, DU = 8, 9  # ... and before, for changes of impulses and velocities


@unit(seconds=12)
def solve_from_inside(w: WorldView, count: int, rows: int, scale: float) -> int:
    """Impulses and velocities of the rows, and modes of the `count` blocks; residual to `w.answer`.

    scale: the certificate's velocity scale [m/s]
    Returns CERTIFIED, or FAILED where the path or the modes at its end did not lead to an answer.
    """
    problem = open_problem(w, polygon_of(w), count, rows, scale)
    scratch, modes = open_scratch(w), open_lcp(w).integers[0]
    report = w.answer[0]
    report.residual, changes = from_inside(problem, open_answer(w), scratch, modes)
    report.sweeps += changes
    return CERTIFIED if report.residual <= CERTIFIED_RESIDUAL else FAILED


@entry
def from_inside(
    problem: ContactProblem, answer: ContactAnswer, scratch: Scratch, modes: Ints
) -> tuple[float, int]:
    """The path, and Newton's method from the modes at its end.

    modes: scratch, shape (>= n,)
    Returns (natural residual on the pyramids, systems that Newton's method solved).
    """
    n, rows = problem.n, problem.rows
    follow_rows(problem, answer, scratch)
    # What the path ends with is kept: Newton's equations on its modes may have no answer
    end = scratch.vectors[KEPT]
    for r in range(rows):
        end[r] = answer.p[r]
    for i in range(n):
        modes[i] = problem.blocks[i].mode
    residual, changes = converge(problem, answer, scratch, CHANGES, True)
    if residual <= WARM_RESIDUAL:
        return residual, changes
    # Back to the path's end
    for r in range(rows):
        answer.p[r] = end[r]
    row_velocities(problem, answer.p, answer.u)
    for i in range(n):
        problem.blocks[i].mode = modes[i]
    return certify_pyramids(problem, answer), changes


class Inside(NamedTuple):
    """A problem in rows, as the path sees it: with a root G = A^T A the system is 1 + A W A^T."""

    problem: ContactProblem
    answer: ContactAnswer
    scratch: Scratch
    size: int  # of the root


@kernel
def follow_rows(problem: ContactProblem, answer: ContactAnswer, scratch: Scratch) -> int:
    """Modes of the blocks and impulses that suit them, near to an answer.

    Returns the number of factorisations.
    """
    vectors = scratch.vectors
    inside = Inside(problem, answer, scratch, root_of(problem, scratch))
    path = Path(
        inside, problem.polygon, problem.blocks, problem.n, problem.scale, NEAR, 0.0, answer.p,
        answer.u, vectors[DP], vectors[DU], vectors, scratch.eliminated, scratch.laws, WORDS,
    )  # fmt: skip
    used = follow(path, WAYS, ITERATIONS)
    _choose_modes(problem, answer, vectors)
    return int(used)


@inlined
def _place(inside: Inside, k: int) -> int:
    return k


@inlined
def _g(inside: Inside, index: int) -> float:
    r = inside.problem.blocks[index].row
    return float(inside.problem.G[r, r])


@inlined
def _certify(inside: Inside) -> None:
    row_velocities(inside.problem, inside.answer.p, inside.answer.u)


@inlined
def _factor(inside: Inside) -> bool:
    scratch, size = inside.scratch, inside.size
    linearise(inside.problem, scratch, size)
    return bool(factorise(scratch.K, size, scratch.order) > 0.0)


@kernel
def _respond(inside: Inside, dp: Floats, du: Floats) -> None:
    """du = A^T (1 + A W A^T)^-1 A dp."""
    scratch, rows = inside.scratch, inside.problem.rows
    A, right, x = scratch.roots, scratch.right, scratch.x
    for a in range(inside.size):
        right[a] = 0.0
        for r in range(rows):
            right[a] += A[a, r] * dp[r]
    substitute(scratch.K, inside.size, scratch.order, right, x)
    for r in range(rows):
        du[r] = 0.0
    for a in range(inside.size):
        for r in range(rows):
            du[r] += A[a, r] * x[a]


WAYS = PathWays(_place, _g, _certify, _factor, _respond)


@kernel
def _choose_modes(problem: ContactProblem, answer: ContactAnswer, vectors: Floats) -> None:
    """The mode that each block tends to, and its impulses brought into it."""
    polygon, blocks, n, G = problem.polygon, problem.blocks, problem.n, problem.G
    p, u = answer.p, answer.u
    v = 0
    for i in range(n):
        block = blocks[i]
        r, t = block.row, block.row + 1
        if not G[r, r] > 0.0:  # nothing moves it: it took no part
            block.mode = OPEN
            continue
        if block.dry != 0:
            block.mode = STICK
            # The bound that it is at has the smaller z, in the same units as w
            for k in range(2):
                if vectors[Z, v + k] * G[r, r] < vectors[W, v + k]:
                    block.mode = SLIP + 1 - k
        # Open where the impulse, as a velocity, is the smaller one of its pair
        elif not p[r] * G[r, r] > vectors[W, v]:
            block.mode = OPEN
            for k in range(r, r + 1 + block.tangents):
                p[k] = 0.0
        else:
            block.mode, x, y = nearest_mode(polygon, block, G, p, u)
            if block.mode != STICK:
                p[t] = x
                if block.tangents == 2:
                    p[t + 1] = y
        v += variables_of(polygon, block)
