"""Many worlds, one call: what every task's kernel `run` does with the worlds that it is given.

A task brings three kernels, each inlined here, so that one loop serves all:

- `begin(packed, m, s, buffer, task, o, given)`: the start of an episode, in a fresh row;
- `advance(packed, m, s, row, buffer, task, o, given, action)`: one control step; the reward;
- `tell(packed, m, s, t, o, given, action, observation, reading)`: what is seen and said.

`task` is a world's record, shape (1,), and t its entry; o the task's options; `given` a tuple of
what else the task knows.  A task's generator is the first field of its record.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dynenvs.compiled import inlined
from dynenvs.envs.codes import BEGIN, OBSERVE, RUNNING, STEP_AND_BEGIN, STEP_OR_BEGIN
from dynenvs.layout import (
    Bytes,
    Floats,
    Ints,
    ModelView,
    Records,
    StateView,
    open_model,
    open_state,
)
from dynenvs.progress import APART, claim, leave
from dynenvs.views import copy_words, vector


@inlined
def carry_out(
    begin: Any,
    advance: Any,
    tell: Any,
    kind: Any,
    given: Any,
    packed: Bytes,
    options: Records,
    fresh: Bytes,
    rows: Bytes,
    tasks: Bytes,
    actions: Bytes,
    observations: Bytes,
    rewards: Floats,
    ends: Ints,
    readings: Bytes,
    last_observations: Bytes,
    last_readings: Bytes,
    buffers: Bytes,
    copied_observations: Bytes,
    copied_readings: Bytes,
    progress: Ints,
    chosen: Bytes,
    thread: int,
    order: int,
) -> None:
    """Carry out `order` (see `codes.py`) in the chosen worlds that no other thread has taken.

    Of the task: its kernels, the dtype of its records, what else they are given, the model, its
    options and a `fresh` row.  Of each of n worlds, as bytes: row, task record, action (nu,),
    observation, reading, and the last observation and reading of an episode that STEP_AND_BEGIN
    followed by another; rewards and ends, shape (n,).  `buffers` holds a workspace for each
    thread.  The copies are the caller's: what only this thread touches stays in its core's cache.
    """
    m = open_model(packed)
    h, o = m.header[0], options[0]
    buffer = vector(buffers, thread * (h.workspace_bytes + APART), h.workspace_bytes, np.uint8)
    n = chosen.shape[0]
    kept, told = tasks.shape[0] // n, readings.shape[0] // n  # bytes of a world
    nu, seen = actions.shape[0] // (8 * n), observations.shape[0] // (8 * n)
    i = claim(progress, thread, n)
    while i < n:
        if chosen[i]:
            row = vector(rows, i * h.state_bytes, h.state_bytes, np.uint8)
            s, task = open_state(m, row), vector(tasks, i * kept, 1, kind)
            action = vector(actions, 8 * i * nu, nu, np.float64)
            observation = vector(last_observations, 8 * i * seen, seen, np.float64)
            reading = vector(last_readings, i * told, told, np.uint8)
            rewards[i], ends[i] = _carry_out_one(
                begin, advance, tell, given, packed, m, s, row, buffer, task, o, fresh, action,
                observation, reading, order,
            )  # fmt: skip
            observation = vector(observations, 8 * i * seen, seen, np.float64)
            reading = vector(readings, i * told, told, np.uint8)
            tell(packed, m, s, task[0], o, given, action, observation, reading)
        copy_words(observations, copied_observations, seen * i, seen)
        copy_words(readings, copied_readings, told // 8 * i, told // 8)
        i = claim(progress, thread, n)
    leave(progress, thread)


@inlined
def _carry_out_one(
    begin: Any,
    advance: Any,
    tell: Any,
    given: Any,
    packed: Bytes,
    m: ModelView,
    s: StateView,
    row: Bytes,
    buffer: Bytes,
    task: Records,
    o: Any,
    fresh: Bytes,
    action: Floats,
    last_observation: Floats,
    last_reading: Bytes,
    order: int,
) -> tuple[float, int]:
    """Carry out `order` in one world; returns the reward, and why the episode ended, or RUNNING."""
    again = order == BEGIN or (order == STEP_OR_BEGIN and task[0].end != RUNNING)
    reward = 0.0
    if order == OBSERVE:
        rest(action)  # no torque acted before this state
    elif not again:
        reward = advance(packed, m, s, row, buffer, task, o, given, action)
    end = RUNNING if again else task[0].end
    if order == STEP_AND_BEGIN and end != RUNNING:
        tell(packed, m, s, task[0], o, given, action, last_observation, last_reading)
        again = True
    if again:
        for k in range(row.shape[0]):
            row[k] = fresh[k]
        rest(action)
        task[0].steps, task[0].end = 0, RUNNING
        begin(packed, m, s, buffer, task, o, given)
    return reward, end


@inlined
def rest(action: Floats) -> None:
    """No torque."""
    for k in range(action.shape[0]):
        action[k] = 0.0
