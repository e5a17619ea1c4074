"""What impulses of the rows do to the coordinates."""

from __future__ import annotations

from dynenvs.jit.compiled import kernel
from dynenvs.lcp.dense import multiply
from dynenvs.memory.layout import Floats, Records


@kernel
def apply_impulses(
    dofs: Records, Y: Floats, factors: Floats, p: Floats, rows: int, change: Floats, v: Floats
) -> None:
    """v += W J^T p = L^-1 D^-1 Y p, shape (nv,), for the rows' impulses p; `change` is scratch."""
    multiply(Y, dofs.shape[0], rows, p, change)
    for j in range(dofs.shape[0]):
        total = change[j] * factors[j, j]
        i = dofs[j].parent
        while i >= 0:
            total -= factors[j, i] * change[i]
            i = dofs[i].parent
        change[j] = total
        v[j] += total
