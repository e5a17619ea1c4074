"""From the pyramid's answer to the exact cone's, in the step; compiled apart, when first needed."""

from __future__ import annotations

from dynenvs.contact.assembly.problem import open_answer, open_problem, open_scratch
from dynenvs.contact.solvers.cone import solve_cones
from dynenvs.jit.compiled import apart
from dynenvs.lcp.solve import CERTIFIED, CERTIFIED_RESIDUAL, DEGRADED, DEGRADED_RESIDUAL, FAILED
from dynenvs.memory.layout import WorldView, polygon_of


@apart("cones", seconds=11)
def solve_on_cones(w: WorldView, count: int, rows: int, scale: float) -> int:
    """Impulses and velocities of the rows of `count` blocks on the exact cones; returns the status.

    scale: the certificate's velocity scale [m/s]
    The impulses that stand in `w.impulse_row` stay if they hold already; residual to `w.answer`.
    """
    problem = open_problem(w, polygon_of(w), count, rows, scale)
    report = w.answer[0]
    report.residual, iterations = solve_cones(problem, open_answer(w), open_scratch(w, count))
    report.sweeps += iterations
    if report.residual <= CERTIFIED_RESIDUAL:
        return CERTIFIED
    return DEGRADED if report.residual <= DEGRADED_RESIDUAL else FAILED
