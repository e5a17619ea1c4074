"""How experts give the torques that they have found."""

from __future__ import annotations

from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Floats, WorkView


@inlined
def put_actions(w: WorkView, root: int, out: Floats) -> None:
    """The torques in `w.tau` behind the root's over their limits, within [-1, 1]; shape (nu,)."""
    for j in range(out.shape[0]):
        a = w.tau[root + j] / w.dofs[root + j].effort
        out[j] = min(max(a, -1.0), 1.0)
