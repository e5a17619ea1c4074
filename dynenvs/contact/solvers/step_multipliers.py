"""Multipliers in the step: a unit of its own, compiled when first needed."""

from __future__ import annotations

from dynenvs.contact.assembly.problem import open_answer, open_problem, open_scratch
from dynenvs.contact.solvers.multipliers import multiply
from dynenvs.jit.compiled import unit
from dynenvs.lcp.solve import CERTIFIED, CERTIFIED_RESIDUAL, DEGRADED, DEGRADED_RESIDUAL, FAILED
from dynenvs.memory.layout import WorldView, polygon_of

SWEEPS = 40  # of Gauss-Seidel before multipliers: of 10 to 150 the quickest


@unit("seldom", seconds=14)
def solve_by_multipliers(w: WorldView, count: int, rows: int, scale: float, law: int) -> int:
    """Impulses and velocities of the rows of `count` blocks, from those in `w.impulse_row`.

    scale: the certificate's velocity scale [m/s]; law: PYRAMID or CONE
    Returns CERTIFIED, DEGRADED or FAILED; residual to `w.answer`.
    """
    problem = open_problem(w, polygon_of(w), count, rows, scale)
    report = w.answer[0]
    report.residual, used = multiply(problem, open_answer(w), open_scratch(w), law, SWEEPS)
    report.sweeps += used
    if report.residual <= CERTIFIED_RESIDUAL:
        return CERTIFIED
    return DEGRADED if report.residual <= DEGRADED_RESIDUAL else FAILED
