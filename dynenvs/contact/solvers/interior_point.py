"""The contact problem solved from its inside: the central path's modes, made exact by Newton.

For problems whose modes Newton's method does not find: mostly soles that just hold, where only some
ways to share the load between corners fit all cones.  A unit of its own, compiled when first
needed.

Where a leg is nearly straight, its foot cannot meet all of its contacts' targets to the last digit:
equations that hold all of them have no answer then, and their least-squares one pulls.  The path's
own end, which meets each within the certificate, stands in that case.
"""

from __future__ import annotations

from dynenvs.contact.assembly.problem import (
    ContactAnswer,
    ContactProblem,
    Scratch,
    open_answer,
    open_problem,
    open_scratch,
    row_velocities,
)
from dynenvs.contact.solvers.central_path import follow
from dynenvs.contact.solvers.newton import converge
from dynenvs.contact.solvers.pyramid_law import certify_pyramids
from dynenvs.jit.compiled import entry, unit
from dynenvs.lcp.solve import CERTIFIED, CERTIFIED_RESIDUAL, FAILED, WARM_RESIDUAL
from dynenvs.memory.layout import Ints, WorldView, open_lcp, polygon_of

CHANGES = 4  # of modes
KEPT = 8  # row of the scratch vectors for the impulses at the path's end


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
    follow(problem, answer, scratch)
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
