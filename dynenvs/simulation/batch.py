"""Many worlds of one model in one call: they are stepped, and what they are is read."""

from __future__ import annotations

import numpy as np

from dynenvs.jit.compiled import inlined, kernel
from dynenvs.memory.layout import (
    Bytes,
    Floats,
    Ints,
    open_answer,
    open_model,
    open_state,
    open_torques,
)
from dynenvs.memory.views import unowned, vector
from dynenvs.simulation.progress import APART, claim, leave
from dynenvs.simulation.timestep import DONE, STEP_FAILED, STEP_FULL, clear_totals, step_apart
from dynenvs.simulation.undo import keep_state, may_fill, restore_state

LEAST_SHARE = 16  # worlds that are worth waking up another thread
WAITING = -1  # outcome of a world that is to be stepped; others are left alone


@inlined
def hold_torques(packed: Bytes, row: Bytes, buffer: Bytes, timestep: float, steps: int) -> int:
    """Let one world pass some steps under the torques in its workspace.

    Returns DONE, STEP_FAILED, or STEP_FULL where its contacts need more room: who asks has kept
    the state (`undo`).
    """
    tau = open_torques(open_model(packed), buffer)
    for _ in range(steps):
        done = step_apart(packed, row, buffer, tau, timestep)
        if done != DONE:
            return STEP_FULL if done == STEP_FULL else STEP_FAILED
    return DONE


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
    buffers: a workspace for each thread; a world whose contacts find no room stays as it was
    outcomes: DONE, STEP_FAILED or STEP_FULL, then contacts and blocks wanted, shape (count, 3)
    """
    packed, rows, buffers = unowned(packed), unowned(rows), unowned(buffers)
    m = open_model(packed)
    h, n = m.header[0], outcomes.shape[0]
    buffer = vector(buffers, thread * (h.workspace_bytes + APART), h.workspace_bytes, np.uint8)
    torques, filling = open_torques(m, buffer), may_fill(m)
    i = claim(progress, thread, n)
    while i < n:
        outcome = outcomes[i]
        if outcome[0] == WAITING:
            row = vector(rows, i * h.state_bytes, h.state_bytes, np.uint8)
            s = open_state(m, row)
            if filling:
                keep_state(m, s, buffer)
            clear_totals(s)
            for j in range(h.nv):
                torques[j] = tau[i, j]
            outcome[0] = hold_torques(packed, row, buffer, timestep, steps)
            if outcome[0] == STEP_FULL:
                restore_state(m, s, buffer)
                answer = open_answer(m, buffer)[0]
                outcome[1], outcome[2] = answer.wanted, answer.blocks
        i = claim(progress, thread, n)
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
