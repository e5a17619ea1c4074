"""What a step may change of a world, kept so that it can be taken back.

A step that finds more contacts than there is room for leaves the world as it was; Python makes room
and repeats it.  Of the state only what a step can change is kept: beside positions and velocities
the memory of those few contact candidates that have one.
"""

from __future__ import annotations

import numpy as np

from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import (
    Bytes,
    ModelView,
    StateView,
    WorkspaceView,
    open_dry,
    open_last,
    open_moments,
    open_state,
    open_stops,
)
from dynenvs.memory.servo_view import open_drive, open_saturated
from dynenvs.memory.views import vector


@inlined
def may_fill(m: ModelView) -> bool:
    """Whether a step may need more room than there is."""
    h = m.header[0]
    return bool(h.nc < h.nk or h.nblocks > 0)


@inlined
def is_full(w: WorkspaceView) -> bool:
    """Whether the step at hand has needed more room than there is."""
    return bool(w.answer[0].wanted + w.answer[0].blocks > 0)


@inlined
def _kept(m: ModelView, buffer: Bytes) -> StateView:
    h = m.header[0]
    return open_state(m, vector(buffer, h.kept_at, h.state_bytes, np.uint8))


@inlined
def keep_state(m: ModelView, s: StateView, buffer: Bytes) -> None:
    """Write down, in the workspace, what a step can change."""
    _copy(m, s, _kept(m, buffer))


@inlined
def restore_state(m: ModelView, s: StateView, buffer: Bytes) -> None:
    """The state that `keep_state` wrote down; what is listed since is forgotten."""
    for i in range(s.status[0].touched):
        memory = s.memory[s.touched[i]]
        memory.mode = memory.listed = 0
        for k in range(3):
            memory.impulse[k] = memory.total[k] = 0.0
        for k in range(3 if m.header[0].moments > 0 else 0):
            open_moments(m, s)[s.touched[i], k] = 0.0
    _copy(m, _kept(m, buffer), s)


@inlined
def _copy(m: ModelView, source: StateView, target: StateView) -> None:
    h = m.header[0]
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
        open_last(m, target)[i] = open_last(m, source)[i]
    for i in range(h.nv if h.nlimited > 0 else 0):
        open_stops(m, target)[i] = open_stops(m, source)[i]
    for i in range(h.nv if h.ndry > 0 else 0):
        open_dry(m, target)[i] = open_dry(m, source)[i]
    if h.nservos > 0:
        for i in range(h.nv):
            open_drive(m, target)[i] = open_drive(m, source)[i]
        for i in range(h.nservos + h.nv):
            open_saturated(m, target)[i] = open_saturated(m, source)[i]
    for i in range(source.status[0].touched):
        f = source.touched[i]
        target.touched[i] = f
        target.memory[f] = source.memory[f]
        for k in range(3 if h.moments > 0 else 0):
            open_moments(m, target)[f, k] = open_moments(m, source)[f, k]
