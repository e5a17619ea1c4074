"""From the pyramid's answer to the exact cone's, in the step; compiled apart, when first needed."""

from __future__ import annotations

from dynenvs.contact.assembly.problem import open_answer, open_problem, open_scratch
from dynenvs.contact.solvers.cone import solve_cones
from dynenvs.jit.compiled import apart
from dynenvs.lcp.solve import CERTIFIED, CERTIFIED_RESIDUAL, DEGRADED, DEGRADED_RESIDUAL, FAILED
from dynenvs.memory.layout import Bytes, open_model, open_polygon, open_state, open_workspace


@apart("int64(uint8[::1], uint8[::1], uint8[::1], int64, int64, float64)", "cones", seconds=11)
def solve_on_cones(
    packed: Bytes, row: Bytes, buffer: Bytes, n: int, rows: int, scale: float
) -> int:
    """Impulses and velocities of the rows of n blocks on the exact cones; returns the status.

    scale: the certificate's velocity scale [m/s]
    The impulses that stand in `w.impulse_row` stay if they hold already; residual to `w.answer`.
    """
    m = open_model(packed)
    s, w = open_state(m, row), open_workspace(m, buffer)
    problem = open_problem(w, open_polygon(m, s), n, rows, scale)
    report = w.answer[0]
    report.residual, iterations = solve_cones(
        problem, open_answer(s, w), open_scratch(m, w, buffer, n)
    )
    report.sweeps += iterations
    if report.residual <= CERTIFIED_RESIDUAL:
        return CERTIFIED
    return DEGRADED if report.residual <= DEGRADED_RESIDUAL else FAILED
