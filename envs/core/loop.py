"""Many worlds, one call: what every task's kernel `run` does with the worlds that it is given.

A task brings four kernels, each inlined here, so that one loop serves all:

- `begin(w)`: the start of an episode, in a fresh row;
- `start(w, tau)`: the torques of a control step, which are then held, shape (nv,);
- `finish(w, solved)`: the end of the control step, of which every physics step was solved or not;
  returns the reward;
- `tell(w, observation, reading)`: what is seen and said.

`w` is one world as a `TaskWorld`.  A task's generator is the first field of its record.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dynenvs.envs.core.codes import BEGIN, OBSERVE, RUNNING, STEP_AND_BEGIN, STEP_OR_BEGIN
from dynenvs.envs.core.table import BatchView, open_batch
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
from dynenvs.memory.views import copy_words, unowned, vector
from dynenvs.simulation.batch import hold_torques
from dynenvs.simulation.progress import APART, claim, leave
from dynenvs.simulation.timestep import DONE, STEP_FULL, clear_totals
from dynenvs.simulation.undo import keep_state, may_fill, restore_state


class Call(NamedTuple):
    """The arguments of a task's kernel `run`."""

    packed: Bytes  # the model
    options: Records  # the task's, shape (1,)
    given: Any  # a tuple of what else the task knows (`Task.constants`)
    table: Ints  # leads to the worlds' arrays (`BatchView`)
    progress: Ints  # of a round that has begun
    thread: int
    order: int  # see `codes.py`


class TaskWorld(NamedTuple):
    """One world as the kernels of a task see it."""

    packed: Bytes  # the model, and the views on it and on the physical state
    m: ModelView
    s: StateView
    options: Records  # the task's, shape (1,)
    given: Any  # what else it knows
    task: Records  # what it remembers of this world, shape (1,)
    action: Floats  # shape (nu,)
    buffer: Bytes  # workspace


@inlined
def carry_out(begin: Any, start: Any, finish: Any, tell: Any, kind: Any, call: Call) -> None:
    """Carry out an order in the chosen worlds that no other thread has taken.

    Of the task: its kernels, and the dtype of its records.  The caller's copies of observations and
    readings are made here: what only this thread touches stays in its core's cache.  A world whose
    contacts find no room stays as it was before its control step, and its end is minus the number
    of contacts for which there must be room.
    """
    call = unowned(call)
    batch = open_batch(call.table)
    m = open_model(call.packed)
    n = batch.chosen.shape[0]
    stride = m.header[0].workspace_bytes + batch.tasks.shape[0] // n + APART
    buffer = vector(batch.buffers, call.thread * stride, stride, np.uint8)
    i = claim(call.progress, call.thread, n)
    while i < n:
        found_room = True
        if batch.chosen[i]:
            w = _world(call, batch, m, kind, i, buffer)
            batch.rewards[i] = 0.0
            moved = _moves(call.order, w.task[0].end)
            if moved:
                found_room = _control_step(start, finish, w, batch, buffer, i)
            if found_room:
                batch.ends[i] = _end_one(begin, tell, w, batch, i, call.order, moved)
                tell(w, _seen(batch, batch.observations, i), _told(batch, batch.readings, i))
        if found_room:
            _copy_out(batch, i)
        i = claim(call.progress, call.thread, n)
    leave(call.progress, call.thread)


@inlined
def _control_step(
    start: Any, finish: Any, w: TaskWorld, batch: BatchView, buffer: Bytes, i: int
) -> bool:
    """A control step of world i and its reward; False where its contacts found no room.

    Then it is as if it had never been asked to move.  Contacts beyond the user's limit end the
    episode instead.
    """
    h, o = w.m.header[0], w.options[0]
    if may_fill(w.m):
        keep_state(w.m, w.s, w.buffer)
        _keep_task(batch, buffer, h.workspace_bytes, i, True)
    start(w, open_torques(w.m, w.buffer))
    clear_totals(w.s)
    row = vector(batch.rows, i * h.state_bytes, h.state_bytes, np.uint8)
    done = hold_torques(w.packed, row, w.buffer, o.timestep, o.frame_skip)
    if done == STEP_FULL:
        restore_state(w.m, w.s, w.buffer)
        wanted = open_answer(w.m, w.buffer)[0].wanted
        if h.limit == 0 or wanted <= h.limit:
            _keep_task(batch, buffer, h.workspace_bytes, i, False)
            batch.ends[i] = -max(wanted, 1)
            batch.full[0] = 1
            return False
        w.s.status[0].overflow += 1
    batch.rewards[i] = finish(w, done == DONE)
    return True


@inlined
def _world(
    call: Call, batch: BatchView, m: ModelView, kind: Any, i: int, buffer: Bytes
) -> TaskWorld:
    """World number i, with a workspace."""
    h, n = m.header[0], batch.chosen.shape[0]
    kept, nu = batch.tasks.shape[0] // n, batch.actions.shape[0] // (8 * n)
    return TaskWorld(
        call.packed,
        m,
        open_state(m, vector(batch.rows, i * h.state_bytes, h.state_bytes, np.uint8)),
        call.options,
        call.given,
        vector(batch.tasks, i * kept, 1, kind),
        vector(batch.actions, 8 * i * nu, nu, np.float64),
        vector(buffer, 0, h.workspace_bytes, np.uint8),
    )


@inlined
def _seen(batch: BatchView, observations: Bytes, i: int) -> Floats:
    """The observation of world i among all."""
    size = observations.shape[0] // (8 * batch.chosen.shape[0])
    return vector(observations, 8 * i * size, size, np.float64)


@inlined
def _told(batch: BatchView, readings: Bytes, i: int) -> Bytes:
    """The reading of world i among all."""
    size = readings.shape[0] // batch.chosen.shape[0]
    return vector(readings, i * size, size, np.uint8)


@inlined
def _copy_out(batch: BatchView, i: int) -> None:
    """World i's observation and reading into the caller's own arrays."""
    n = batch.chosen.shape[0]
    seen, told = batch.observations.shape[0] // (8 * n), batch.readings.shape[0] // (8 * n)
    copy_words(batch.observations, batch.copied_observations, seen * i, seen)
    copy_words(batch.readings, batch.copied_readings, told * i, told)


@inlined
def _moves(order: int, end: int) -> bool:
    """Whether a world whose last step ended so takes a control step."""
    again = order == STEP_OR_BEGIN and end != RUNNING
    return order not in (OBSERVE, BEGIN) and not again


@inlined
def _keep_task(batch: BatchView, buffer: Bytes, at: int, i: int, keep: bool) -> None:
    """Copy world i's task record to where its workspace ends, or back."""
    size = batch.tasks.shape[0] // batch.chosen.shape[0]
    kept = vector(buffer, at, size, np.uint8)
    own = vector(batch.tasks, i * size, size, np.uint8)
    if keep:
        copy_words(own, kept, 0, size // 8)
    else:
        copy_words(kept, own, 0, size // 8)


@inlined
def _end_one(
    begin: Any, tell: Any, w: TaskWorld, batch: BatchView, i: int, order: int, moved: bool
) -> int:
    """Begin an episode where `order` asks for it; returns why the last one ended, or RUNNING."""
    again = not moved and order != OBSERVE
    end = RUNNING if again else w.task[0].end
    if not moved:
        rest(w.action)  # no torque acted before this state
    elif order == STEP_AND_BEGIN and end != RUNNING:
        last = batch.last_observations, batch.last_readings
        tell(w, _seen(batch, last[0], i), _told(batch, last[1], i))
        again = True
    if again:
        size = batch.fresh.shape[0]
        row = vector(batch.rows, i * size, size, np.uint8)
        for k in range(size):
            row[k] = batch.fresh[k]
        rest(w.action)
        w.task[0].steps, w.task[0].end = 0, RUNNING
        begin(w)
    return int(end)


@inlined
def rest(action: Floats) -> None:
    """No torque."""
    for k in range(action.shape[0]):
        action[k] = 0.0
