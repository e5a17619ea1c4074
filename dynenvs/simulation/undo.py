"""What a step may change of a world, kept so that it can be taken back.

A step that finds more contacts than there is room for leaves the world as it was; Python makes room
and repeats it.  Of the state only what a step can change is kept: beside positions and velocities
the memory of those few contact candidates that have one.
"""

from __future__ import annotations

from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import ModelView, StateView, WorkView, WorldView, open_state


@inlined
def may_fill(w: ModelView) -> bool:
    """Whether a step may need more room than there is."""
    h = w.header[0]
    return bool(h.nc < h.nk or h.nblocks > 0)


@inlined
def is_full(w: WorkView) -> bool:
    """Whether the step at hand has needed more room than there is."""
    return bool(w.answer[0].wanted + w.answer[0].blocks > 0)


@inlined
def _kept(w: WorkView) -> StateView:
    return open_state(w, w.kept)


@inlined
def keep_state(w: WorldView) -> None:
    """Write down, in the workspace, what a step can change."""
    _copy(w, _kept(w))


@inlined
def restore_state(w: WorldView) -> None:
    """The state that `keep_state` wrote down; what is listed since is forgotten."""
    # Candidates that are listed now and were not then would keep what the step gave them
    for i in range(w.status[0].touched):
        memory = w.memory[w.touched[i]]
        memory.mode = memory.listed = 0
        for k in range(3):
            memory.impulse[k] = memory.total[k] = 0.0
        for k in range(3 if w.header[0].moments > 0 else 0):
            w.moments[w.touched[i], k] = 0.0
        for k in range(3 if w.header[0].nviscous > 0 else 0):
            w.drag[w.touched[i], k] = 0.0
    _copy(_kept(w), w)


@inlined
def _copy(source: StateView, target: StateView) -> None:
    h = source.header[0]
    # What every world has, then what only some models have
    target.status[0] = source.status[0]
    for i in range(h.nq):
        target.q[i] = source.q[i]
    for i in range(h.nv):
        target.v[i] = source.v[i]
    for i in range(h.nb):
        for k in range(6):
            target.wrench[i, k] = source.wrench[i, k]
    for k in range(h.nblocks):
        target.owners[k] = source.owners[k]
    for i in range(h.nv if h.nkinematic > 0 else 0):
        target.last[i] = source.last[i]
    for i in range(h.nv if h.nlimited > 0 else 0):
        target.stops[i] = source.stops[i]
    for i in range(h.nv if h.ndry > 0 else 0):
        target.dry[i] = source.dry[i]
    if h.nservos > 0:
        for i in range(h.nv):
            target.drive[i] = source.drive[i]
        for i in range(h.nservos + h.nv):
            target.saturated[i] = source.saturated[i]
    # The memory of those that have one
    for i in range(source.status[0].touched):
        f = source.touched[i]
        target.touched[i] = f
        target.memory[f] = source.memory[f]
        for k in range(3 if h.moments > 0 else 0):
            target.moments[f, k] = source.moments[f, k]
        for k in range(3 if h.nviscous > 0 else 0):
            target.drag[f, k] = source.drag[f, k]
