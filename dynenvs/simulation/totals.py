"""Sums of the contacts' impulses over all parts of a step."""

from __future__ import annotations

from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import StateView, WorkspaceView


@inlined
def add_totals(s: StateView, w: WorkspaceView) -> None:
    """Add the impulses of a part's contacts to their sums over the step."""
    for i in range(w.answer[0].contacts):  # all others carry nothing
        memory = s.memory[w.contacts[i].candidate]
        for k in range(3):
            memory.total[k] += memory.impulse[k]


@inlined
def clear_totals(s: StateView) -> None:
    """Start a new sum of contact impulses; candidates that carry nothing leave the list."""
    kept = 0
    for i in range(s.status[0].touched):
        f = s.touched[i]
        memory = s.memory[f]
        p = memory.impulse
        for k in range(3):
            memory.total[k] = 0.0
        if memory.mode != 0 or p[0] != 0.0 or p[1] != 0.0 or p[2] != 0.0:
            s.touched[kept] = f
            kept += 1
        else:
            memory.listed = 0
    s.status[0].touched = kept
