"""The contact problem solved from its inside: the central path's modes, made exact by Newton.

For problems whose modes Newton's method does not find: mostly soles that just hold, where only some
ways to share the load between corners fit all cones.  Compiled apart, when first needed.

Where a leg is nearly straight, its foot cannot meet all of its contacts' targets to the last digit:
equations that hold all of them have no answer then, and their least-squares one pulls.  The path's
own end, which meets each within the certificate, stands in that case.
"""

from __future__ import annotations

from dynenvs.compiled import apart
from dynenvs.contact.central_path import follow
from dynenvs.contact.impulses import row_velocities
from dynenvs.contact.modes import OPEN, certify_block
from dynenvs.contact.newton import settle, velocity_scale
from dynenvs.contact.problem import least_speed
from dynenvs.layout import (
    Bytes,
    open_eliminated,
    open_lcp,
    open_model,
    open_polygon,
    open_state,
    open_workspace,
)
from dynenvs.lcp.solve import CERTIFIED, CERTIFIED_RESIDUAL, FAILED, WARM_RESIDUAL

SWEEPS = 4  # of mode changes
KEPT = 8  # row of the scratch vectors for the impulses at the path's end


@apart("int64(uint8[::1], uint8[::1], uint8[::1], int64, int64, float64)", "contact", seconds=7)
def solve_from_inside(
    packed: Bytes, row: Bytes, buffer: Bytes, n: int, rows: int, dt: float
) -> int:
    """Impulses and velocities of the rows, and modes of the n blocks; residual to `w.answer`.

    Returns CERTIFIED, or FAILED where the path or the modes at its end did not lead to an answer.
    """
    m = open_model(packed)
    w = open_workspace(m, buffer)
    polygon = open_polygon(m, open_state(m, row))
    scale = velocity_scale(polygon, w.blocks, n, w.G, w.bias_row, least_speed(m.header, dt))
    p, u = w.impulse_row, w.v_row
    follow(
        polygon, w.blocks, n, w.G, w.bias_row, rows, scale, open_lcp(m, buffer).vectors,
        open_eliminated(m, buffer), w.A, w.active, w.b, w.z, p, u,
    )  # fmt: skip
    end, modes = open_lcp(m, buffer).vectors[KEPT], open_lcp(m, buffer).integers[0]
    for r in range(rows):
        end[r] = p[r]
    for i in range(n):
        modes[i] = w.blocks[i].mode
    answer = w.answer[0]
    answer.residual, sweeps = settle(
        polygon, w.blocks, n, w.G, w.bias_row, rows, scale, SWEEPS, True, w.unknowns, w.A,
        w.active, w.b, w.z, p, u,
    )  # fmt: skip
    answer.sweeps += sweeps
    if answer.residual <= WARM_RESIDUAL:
        return CERTIFIED
    for r in range(rows):
        p[r] = end[r]
    row_velocities(w.G, w.bias_row, rows, p, u)
    answer.residual = 0.0
    for i in range(n):
        w.blocks[i].mode = modes[i]
        residual = certify_block(polygon, w.blocks[i], w.G, scale, p, u)
        if not residual <= answer.residual:
            answer.residual = residual
        if w.blocks[i].mode == OPEN:
            w.blocks[i].slip = 0.0
    return CERTIFIED if answer.residual <= CERTIFIED_RESIDUAL else FAILED
