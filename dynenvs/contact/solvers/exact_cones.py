"""From the pyramid's answer to the exact cone's: a unit of its own, compiled when first needed."""

from __future__ import annotations

import math

from dynenvs.contact.assembly.problem import open_answer, open_problem, open_scratch
from dynenvs.contact.solvers.cone import BRIEF, NEAR, WARM, WARM_BOTH, WARM_MULTIPLIERS, solve_cones
from dynenvs.contact.solvers.multipliers import CROWD
from dynenvs.jit.compiled import unit
from dynenvs.lcp.solve import CERTIFIED, CERTIFIED_RESIDUAL, DEGRADED, DEGRADED_RESIDUAL, FAILED
from dynenvs.memory.layout import WorldView, polygon_of
from dynenvs.memory.records import CONES, MULTIPLIERS


@unit("cones", seconds=11)
def solve_on_cones(w: WorldView, count: int, rows: int, scale: float, start: int) -> int:
    """Impulses and velocities of the rows of `count` blocks on the exact cones; returns the status.

    scale: the certificate's velocity scale [m/s]
    start: as of `solve_cones`; if WARM, `w.status` says which of these it is, for the last step's
        impulses, those in `w.impulse_row`
    The impulses that stand in `w.impulse_row` stay if they hold already; residual to `w.answer`.
    In a crowd Newton's method, whose matrix is of rows, comes after multipliers, whose is of
    freedoms, unless there are impulses to begin with: it mostly takes one or two iterations then.
    """
    problem = open_problem(w, polygon_of(w), count, rows, scale)
    report, warm, crowd = w.answer[0], start >= WARM, rows > CROWD * w.header[0].nv
    if crowd and start == BRIEF:
        report.residual = math.inf
        return FAILED
    # Which method solved the last step's rows tells with which one to begin
    if warm and (crowd or w.status[0].stage == MULTIPLIERS):
        start = WARM_BOTH
    elif crowd and start != NEAR:
        start = WARM_MULTIPLIERS
    answer, scratch = open_answer(w), open_scratch(w)
    report.residual, iterations, best = solve_cones(problem, answer, scratch, start)
    if warm:
        w.status[0].stage = MULTIPLIERS if best == WARM_MULTIPLIERS else CONES
    report.sweeps += iterations
    if report.residual <= CERTIFIED_RESIDUAL:
        return CERTIFIED
    return DEGRADED if report.residual <= DEGRADED_RESIDUAL else FAILED
