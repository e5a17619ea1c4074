"""Many worlds of one model in one call: they are stepped, and what they are is read."""

from __future__ import annotations

import numpy as np

from dynenvs.jit.compiled import inlined, kernel
from dynenvs.memory.layout import (
    Bytes,
    Floats,
    Ints,
    ModelView,
    open_answer,
    open_model,
    open_state,
    open_torques,
)
from dynenvs.memory.records import EULER
from dynenvs.memory.views import vector
from dynenvs.simulation.batch_lanes import free_abreast
from dynenvs.simulation.progress import APART, claim, leave
from dynenvs.simulation.timestep import DONE, STEP_FAILED, STEP_FULL, clear_totals, step_apart
from dynenvs.simulation.undo import keep_state, may_fill, restore_state

LEAST_SHARE = 16  # worlds that are worth waking up another thread
WAITING = -1  # outcome of a world that is to be stepped; others are left alone


@inlined
def hold_torques(
    packed: Bytes,
    m: ModelView,
    rows: Bytes,
    buffers: Bytes,
    stride: int,
    count: int,
    moving: int,
    timestep: float,
    steps: int,
) -> tuple[int, int]:
    """Let the moving ones of `count` worlds pass some steps under the torques in their workspaces.

    Returns which were solved, and which need more room for their contacts.
    buffers: a workspace for each, `stride` bytes apart
    moving, and the answers: bit k for world k
    """
    h = m.header[0]
    # Two worlds or more; the midpoint rule takes them one by one
    abreast = h.abreast != 0 and h.integrator == EULER and moving & (moving - 1) != 0
    solved, full = moving, 0
    for _ in range(steps):
        free = 0
        if abreast:
            free = max(free_abreast(packed, rows, buffers, stride, count, timestep), 0)
        for k in range(count):
            if (solved >> k) & 1:
                row = vector(rows, k * h.state_bytes, h.state_bytes, np.uint8)
                buffer = vector(buffers, k * stride, h.workspace_bytes, np.uint8)
                tau = open_torques(m, buffer)
                done = step_apart(packed, row, buffer, tau, timestep, (free >> k) & 1)
                if done != DONE:
                    solved &= ~(1 << k)
                if done == STEP_FULL:
                    full |= 1 << k
    return solved, full


@kernel(seconds=2.0)
def step_worlds(
    packed: Bytes,
    rows: Bytes,
    buffers: Bytes,
    tau: Floats,
    outcomes: Ints,
    timestep: float,
    steps: int,
    progress: Ints,
    thread: int,
) -> None:
    """Step the worlds whose outcome is WAITING and that no other thread has taken.

    rows: of all worlds, one after the other; tau: generalized forces, shape (count, nv)
    buffers: some workspaces for each thread; a world whose contacts find no room stays as it was
    outcomes: DONE, STEP_FAILED or STEP_FULL, then contacts and blocks wanted, shape (count, 3)
    """
    m = open_model(packed)
    h, n = m.header[0], outcomes.shape[0]
    stride = h.workspace_bytes + APART
    size = buffers.shape[0] // (progress[0] * stride)  # worlds taken at once
    buffers = vector(buffers, thread * size * stride, size * stride, np.uint8)
    groups = (n + size - 1) // size
    group = claim(progress, thread, groups)
    while group < groups:
        first = group * size
        count = min(size, n - first)
        theirs = vector(rows, first * h.state_bytes, count * h.state_bytes, np.uint8)
        moving = 0
        for k in range(count):
            if outcomes[first + k, 0] == WAITING:
                buffer = vector(buffers, k * stride, h.workspace_bytes, np.uint8)
                s = open_state(m, vector(theirs, k * h.state_bytes, h.state_bytes, np.uint8))
                if may_fill(m):
                    keep_state(m, s, buffer)
                clear_totals(s)
                torques = open_torques(m, buffer)
                for j in range(h.nv):
                    torques[j] = tau[first + k, j]
                moving |= 1 << k
        solved, full = hold_torques(
            packed, m, theirs, buffers, stride, count, moving, timestep, steps
        )
        for k in range(count):
            if (moving >> k) & 1:
                outcome = outcomes[first + k]
                outcome[0] = DONE if (solved >> k) & 1 else STEP_FAILED
                if (full >> k) & 1:
                    buffer = vector(buffers, k * stride, h.workspace_bytes, np.uint8)
                    s = open_state(m, vector(theirs, k * h.state_bytes, h.state_bytes, np.uint8))
                    restore_state(m, s, buffer)
                    answer = open_answer(m, buffer)[0]
                    outcome[0], outcome[1], outcome[2] = STEP_FULL, answer.wanted, answer.blocks
        group = claim(progress, thread, groups)
    leave(progress, thread)


@kernel
def read_impulses(packed: Bytes, rows: Bytes, sources: Ints, impulses: Floats) -> None:
    """Contact impulses of the last call on each body, shape (count, nb, 3), world axes [N s].

    sources: the contact feature of each point and of each slot of pairs that have their own; those
        of the pool are told by the world's own list of owners
    """
    m = open_model(packed)
    h = m.header[0]
    for k in range(impulses.shape[0]):
        s = open_state(m, vector(rows, k * h.state_bytes, h.state_bytes, np.uint8))
        for i in range(h.nb):
            for r in range(3):
                impulses[k, i, r] = 0.0
        for t in range(s.status[0].touched):
            at = s.touched[t]
            if at < sources.shape[0]:
                f = sources[at]
            else:
                f = h.npoints + s.owners[(at - sources.shape[0]) // h.block_slots]
            if f < h.npoints and at >= sources.shape[0]:
                continue  # the block has been given back
            total, feature = s.memory[at].total, m.features[f]
            for r in range(3):
                impulses[k, feature.body_a, r] += total[r]
                impulses[k, feature.body_b, r] -= total[r]
