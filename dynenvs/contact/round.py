"""From the pyramid's answer to the exact cone's, in the step; compiled apart, when first needed."""

from __future__ import annotations

from dynenvs.compiled import apart
from dynenvs.contact.cone import solve_cones
from dynenvs.contact.multipliers import WORDS
from dynenvs.contact.newton import velocity_scale
from dynenvs.contact.problem import least_speed
from dynenvs.contact.row_problem import RowProblem, RowScratch
from dynenvs.contact.solution import remember
from dynenvs.layout import (
    Bytes,
    open_lcp,
    open_model,
    open_polygon,
    open_state,
    open_workspace,
)
from dynenvs.lcp.solve import CERTIFIED, CERTIFIED_RESIDUAL, DEGRADED, DEGRADED_RESIDUAL, FAILED
from dynenvs.views import words


@apart("int64(uint8[::1], uint8[::1], uint8[::1], int64, int64, float64)", "cones", seconds=4)
def solve_on_cones(
    packed: Bytes, row: Bytes, buffer: Bytes, count: int, rows: int, dt: float
) -> int:
    """Impulses of the rows and contacts on the exact cones; residual to `w.answer`.

    The impulses that stand in `w.impulse_row` stay if they hold already.  Returns the status.
    """
    m = open_model(packed)
    s, w = open_state(m, row), open_workspace(m, buffer)
    polygon = open_polygon(m, s)
    n = rows
    for i in range(count):
        n -= w.contacts[i].tangents  # a block for each contact and for each limit
    scale = velocity_scale(polygon, w.blocks, n, w.G, w.bias_row, least_speed(m.header, dt))
    answer = w.answer[0]
    lcp = open_lcp(m, buffer)
    problem = RowProblem(w.blocks, n, w.G, w.bias_row, rows, scale)
    scratch = RowScratch(lcp.vectors, words(lcp.matrices, WORDS * n), w.A, w.active, w.b, w.z)
    answer.residual, iterations = solve_cones(problem, scratch, polygon, w.impulse_row, w.v_row)
    answer.sweeps += iterations
    for i in range(count):
        w.contacts[i].slip = w.blocks[i].slip
    remember(m, s, w, count, rows, False)
    if answer.residual <= CERTIFIED_RESIDUAL:
        return CERTIFIED
    return DEGRADED if answer.residual <= DEGRADED_RESIDUAL else FAILED
