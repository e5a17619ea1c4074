"""Many worlds, one call: what every task's kernel `run` does with the worlds that it is given.

A task brings four kernels, each inlined here, so that one loop serves all:

- `begin(packed, m, s, buffer, task, o, given)`: the start of an episode, in a fresh row;
- `start(m, s, task, o, action, tau)`: the torques of a control step, which are then held;
- `finish(packed, m, s, task, o, given, action, solved)`: the end of the control step, of which
  every physics step was solved or not; the reward;
- `tell(packed, m, s, t, o, given, action, observation, reading)`: what is seen and said.

`task` is a world's record, shape (1,), and t its entry; o the task's options; `given` a tuple of
what else the task knows.  A task's generator is the first field of its record.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dynenvs.envs.core.codes import BEGIN, OBSERVE, RUNNING, STEP_AND_BEGIN, STEP_OR_BEGIN
from dynenvs.envs.core.table import open_batch
from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import (
    Bytes,
    Floats,
    Ints,
    ModelView,
    Records,
    StateView,
    open_answer,
    open_model,
    open_state,
    open_torques,
)
from dynenvs.memory.views import copy_words, raw, vector
from dynenvs.simulation.batch import hold_torques
from dynenvs.simulation.progress import APART, claim, leave
from dynenvs.simulation.timestep import DONE, STEP_FULL, clear_totals
from dynenvs.simulation.undo import keep_state, may_fill, restore_state


@inlined
def carry_out(
    begin: Any,
    start: Any,
    finish: Any,
    tell: Any,
    kind: Any,
    packed: Bytes,
    options: Records,
    given: Any,
    table: Ints,
    progress: Ints,
    thread: int,
    order: int,
) -> None:
    """Carry out `order` (see `codes.py`) in the chosen worlds that no other thread has taken.

    Of the task: its kernels, the dtype of its records, the model, its options and what else it is
    given.  `table` leads to the worlds' arrays (`BatchView`), `progress` is a round that has
    begun.  The caller's copies of observations and readings are made here: what only this thread
    touches stays in its core's cache.  A world whose contacts find no room stays as it was before
    its control step, and its end is minus the number of contacts for which there must be room.
    """
    batch = open_batch(table)
    rows, tasks, chosen, readings = batch.rows, batch.tasks, batch.chosen, batch.readings
    actions, observations, ends = batch.actions, batch.observations, batch.ends
    m = open_model(packed)
    h, o = m.header[0], options[0]
    n = chosen.shape[0]
    kept, told = tasks.shape[0] // n, readings.shape[0] // n  # bytes of a world
    stride = h.workspace_bytes + kept + APART
    buffer = vector(batch.buffers, thread * stride, h.workspace_bytes, np.uint8)
    task_kept = vector(batch.buffers, thread * stride + h.workspace_bytes, kept, np.uint8)
    nu, seen = actions.shape[0] // (8 * n), observations.shape[0] // (8 * n)
    filling = may_fill(m)
    i = claim(progress, thread, n)
    while i < n:
        if chosen[i]:
            row = vector(rows, i * h.state_bytes, h.state_bytes, np.uint8)
            s, task = open_state(m, row), vector(tasks, i * kept, 1, kind)
            action = vector(actions, 8 * i * nu, nu, np.float64)
            batch.rewards[i] = 0.0
            moved = _moves(order, task[0].end)
            if moved:
                if filling:
                    keep_state(m, s, buffer)
                    copy_words(raw(task, kept), task_kept, 0, kept // 8)
                start(m, s, task, o, action, open_torques(m, buffer))
                clear_totals(s)
                done = hold_torques(packed, row, buffer, o.timestep, o.frame_skip)
                if done == STEP_FULL:
                    restore_state(m, s, buffer)
                    wanted = open_answer(m, buffer)[0].wanted
                    if h.limit == 0 or wanted <= h.limit:  # as if it had never been asked to move
                        copy_words(task_kept, raw(task, kept), 0, kept // 8)
                        ends[i] = -max(wanted, 1)
                        batch.full[0] = 1
                        i = claim(progress, thread, n)
                        continue
                    s.status[0].overflow += 1
                batch.rewards[i] = finish(packed, m, s, task, o, given, action, done == DONE)
            observation = vector(batch.last_observations, 8 * i * seen, seen, np.float64)
            reading = vector(batch.last_readings, i * told, told, np.uint8)
            ends[i] = _end_one(
                begin, tell, given, packed, m, s, row, buffer, task, o, batch.fresh, action,
                observation, reading, order, moved,
            )  # fmt: skip
            observation = vector(observations, 8 * i * seen, seen, np.float64)
            reading = vector(readings, i * told, told, np.uint8)
            tell(packed, m, s, task[0], o, given, action, observation, reading)
        copy_words(observations, batch.copied_observations, seen * i, seen)
        copy_words(readings, batch.copied_readings, told // 8 * i, told // 8)
        i = claim(progress, thread, n)
    leave(progress, thread)


@inlined
def _moves(order: int, end: int) -> bool:
    """Whether a world whose last step ended so takes a control step."""
    again = order == STEP_OR_BEGIN and end != RUNNING
    return order not in (OBSERVE, BEGIN) and not again


@inlined
def _end_one(
    begin: Any,
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
    moved: bool,
) -> int:
    """Begin an episode where `order` asks for it; returns why the last one ended, or RUNNING."""
    again = not moved and order != OBSERVE
    end = RUNNING if again else task[0].end
    if not moved:
        rest(action)  # no torque acted before this state
    elif order == STEP_AND_BEGIN and end != RUNNING:
        tell(packed, m, s, task[0], o, given, action, last_observation, last_reading)
        again = True
    if again:
        for k in range(row.shape[0]):
            row[k] = fresh[k]
        rest(action)
        task[0].steps, task[0].end = 0, RUNNING
        begin(packed, m, s, buffer, task, o, given)
    return int(end)


@inlined
def rest(action: Floats) -> None:
    """No torque."""
    for k in range(action.shape[0]):
        action[k] = 0.0
