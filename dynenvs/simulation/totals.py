"""Sums of the contacts' impulses over all parts of a step."""

from __future__ import annotations

from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import StateView, WorldView


@inlined
def add_totals(w: WorldView) -> None:
    """Add the impulses of a part's contacts to their sums over the step."""
    for i in range(w.answer[0].contacts):  # all others carry nothing
        memory = w.memory[w.contacts[i].candidate]
        for k in range(3):
            memory.total[k] += memory.impulse[k]


@inlined
def clear_totals(w: StateView) -> None:
    """Start a new sum of contact impulses; candidates that carry nothing leave the list."""
    kept = 0
    for i in range(w.status[0].touched):
        f = w.touched[i]
        memory = w.memory[f]
        p = memory.impulse
        for k in range(3):
            memory.total[k] = 0.0
        if memory.mode != 0 or p[0] != 0.0 or p[1] != 0.0 or p[2] != 0.0:
            w.touched[kept] = f
            kept += 1
        else:
            memory.listed = 0
    w.status[0].touched = kept
