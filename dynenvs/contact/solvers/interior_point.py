"""The contact problem solved from its inside: the central path's modes, made exact by Newton.

For problems whose modes Newton's method does not find: mostly soles that just hold, where only some
ways to share the load between corners fit all cones.  Compiled apart, when first needed.

Where a leg is nearly straight, its foot cannot meet all of its contacts' targets to the last digit:
equations that hold all of them have no answer then, and their least-squares one pulls.  The path's
own end, which meets each within the certificate, stands in that case.
"""

from __future__ import annotations

from dynenvs.contact.assembly.problem import open_answer, open_problem, open_scratch, row_velocities
from dynenvs.contact.solvers.central_path import follow
from dynenvs.contact.solvers.newton import settle
from dynenvs.contact.solvers.pyramid_law import certify_pyramids
from dynenvs.jit.compiled import apart
from dynenvs.lcp.solve import CERTIFIED, CERTIFIED_RESIDUAL, FAILED, WARM_RESIDUAL
from dynenvs.memory.layout import (
    Bytes,
    open_lcp,
    open_model,
    open_polygon,
    open_state,
    open_workspace,
)

CHANGES = 4  # of modes
KEPT = 8  # row of the scratch vectors for the impulses at the path's end


@apart("int64(uint8[::1], uint8[::1], uint8[::1], int64, int64, float64)", "contact", seconds=12)
def solve_from_inside(
    packed: Bytes, row: Bytes, buffer: Bytes, n: int, rows: int, scale: float
) -> int:
    """Impulses and velocities of the rows, and modes of the n blocks; residual to `w.answer`.

    scale: the certificate's velocity scale [m/s]
    Returns CERTIFIED, or FAILED where the path or the modes at its end did not lead to an answer.
    """
    m = open_model(packed)
    s, w = open_state(m, row), open_workspace(m, buffer)
    problem = open_problem(w, open_polygon(m, s), n, rows, scale)
    answer, scratch = open_answer(s, w), open_scratch(m, w, buffer, n)
    follow(problem, answer, scratch)
    end, modes = scratch.vectors[KEPT], open_lcp(m, buffer).integers[0]
    for r in range(rows):
        end[r] = answer.p[r]
    for i in range(n):
        modes[i] = w.blocks[i].mode
    report = w.answer[0]
    report.residual, changes = settle(problem, answer, scratch, CHANGES, True)
    report.sweeps += changes
    if report.residual <= WARM_RESIDUAL:
        return CERTIFIED
    for r in range(rows):
        answer.p[r] = end[r]
    row_velocities(problem, answer.p, answer.u)
    for i in range(n):
        w.blocks[i].mode = modes[i]
    report.residual = certify_pyramids(problem, answer)
    return CERTIFIED if report.residual <= CERTIFIED_RESIDUAL else FAILED
