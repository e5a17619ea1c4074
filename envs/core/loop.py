"""Many worlds, one call: how every task's kernel `run` steps a batch of worlds.

A task brings its `Kernels` (`records.py`), each inlined here, so that one loop serves all.  `w` is
one world as a `TaskWorld`.  A task's generator is the first field of its record.

What disturbs a world (`disturbance.py`) stands around these kernels: a task has no code for it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dynenvs.envs.core.codes import (
    BEGIN,
    FAILED_STEP,
    OBSERVE,
    RUNNING,
    STEP_AND_BEGIN,
    STEP_OR_BEGIN,
    TIME_LIMIT,
)
from dynenvs.envs.core.disturbance import (
    change_model,
    disturb_action,
    disturb_observation,
    draw_episode,
    hold_targets,
    take_back,
)
from dynenvs.envs.core.disturbance_records import is_disturbed, open_disturbance
from dynenvs.envs.core.records import SOLVED, SOLVED_BYTES
from dynenvs.envs.core.starts import begin_elsewhere, has_starts
from dynenvs.envs.core.table import BatchView, open_batch
from dynenvs.jit.compiled import inlined
from dynenvs.jit.views import copy_words, raw, unowned, vector
from dynenvs.memory.layout import (
    Bytes,
    Floats,
    Ints,
    ModelView,
    Records,
    WorldView,
    open_model,
    open_world,
)
from dynenvs.simulation.batch import hold_torques
from dynenvs.simulation.progress import APART, claim, leave
from dynenvs.simulation.timestep import DONE, STEP_FULL
from dynenvs.simulation.totals import clear_totals
from dynenvs.simulation.undo import keep_state, may_fill, restore_state


class Call(NamedTuple):
    """The arguments of a task's kernel `run`."""

    packed: Bytes  # the model
    options: Records  # the task's, shape (1,)
    constants: Any  # `Task.constants`, a tuple of arrays
    table: Ints  # leads to the worlds' arrays (`BatchView`)
    progress: Ints  # of a round that has begun
    thread: int
    order: int  # see `codes.py`


class TaskWorld(NamedTuple):
    """One world as the kernels of a task see it."""

    world: WorldView  # its model, physical state and workspace
    options: Records  # the task's, shape (1,)
    constants: Any  # `Task.constants`, a tuple of arrays
    task: Records  # what it remembers of this world, shape (1,)
    action: Floats  # shape (nu,)
    last_action: Floats  # torques of the control step before, over their limits, shape (nu,)
    rewards: Floats  # the terms of the last control step's reward, weighted, shape (terms,)
    weights: Floats  # of the terms, shape (terms,)


@inlined
def carry_out(kernels: Any, kind: Any, call: Call) -> None:
    """Carry out an order in those worlds of the mask that no other thread has taken.

    The task brings its kernels and `kind`, the dtype of its records.  Observations and `info`
    are copied for the caller here, because a world's data are still in this core's cache.  A world
    whose contacts do not fit into the workspace stays as it was before its control step, and its
    entry in `ends` is minus the number of contacts for which there must be room.
    """
    call = unowned(call)
    batch = open_batch(call.table)
    n = batch.mask.shape[0]
    buffer, packed = _own_memory(call, batch)
    i = claim(call.progress, call.thread, n)
    while i < n:
        found_room = True
        if batch.mask[i]:
            w = _world(call, batch, packed, kind, i, buffer)
            if is_disturbed(batch):
                change_model(open_disturbance(batch, i), open_model(call.packed), w.world)
            batch.rewards[i] = 0.0
            moved = _moves(call.order, w.task[0].end)
            if moved:
                found_room = _control_step(kernels, w, batch, buffer, i)
            if found_room:
                batch.ends[i] = _end_one(kernels, w, batch, i, call, moved)
                _write_one(kernels, w, batch, i, batch.observations, batch.info_rows)
        if found_room:
            _copy_out(batch, i)
        i = claim(call.progress, call.thread, n)
    leave(call.progress, call.thread)


@inlined
def _own_memory(call: Call, batch: BatchView) -> tuple[Bytes, Bytes]:
    """A thread's workspace with room for a task's record, and the model that it steps worlds of.

    Where worlds have models of their own, that is a copy, which `change_model` makes theirs.
    """
    h = open_model(call.packed).header[0]
    size = h.workspace_bytes + batch.task_states.shape[0] // batch.mask.shape[0]
    stride, packed = size + APART, call.packed
    if is_disturbed(batch):
        stride += h.model_bytes
        packed = vector(batch.workspaces, call.thread * stride + size, h.model_bytes, np.uint8)
    return vector(batch.workspaces, call.thread * stride, stride, np.uint8), packed


@inlined
def _control_step(kernels: Any, w: TaskWorld, batch: BatchView, buffer: Bytes, i: int) -> bool:
    """A control step of world i and its reward; False where its contacts found no room.

    Then it is as if it had never been asked to move.  Contacts beyond the user's limit end the
    episode instead.
    """
    h, o = w.world.header[0], w.options[0]
    if may_fill(w.world):
        keep_state(w.world)
        _keep_task(batch, buffer, h.workspace_bytes, i, True)
    if is_disturbed(batch):
        disturb_action(open_disturbance(batch, i), w.action, w.task[0].steps)
    kernels.start(w, w.world.tau)
    clear_totals(w.world)
    done = _hold(w, batch, i, o.timestep, o.frame_skip)
    if done == STEP_FULL:
        restore_state(w.world)
        wanted = w.world.answer[0].wanted
        if h.limit == 0 or wanted <= h.limit:
            if is_disturbed(batch):
                take_back(open_disturbance(batch, i), w.action, w.task[0].steps)
            _keep_task(batch, buffer, h.workspace_bytes, i, False)
            batch.ends[i] = -max(wanted, 1)
            batch.full[0] = 1
            return False
        w.world.status[0].overflow += 1
    w.task[0].steps += 1
    kernels.advance(w)
    batch.rewards[i] = kernels.reward(w)
    w.task[0].end = _end(kernels, w) if done == DONE else FAILED_STEP
    kernels.change(w)
    for k in range(w.action.shape[0]):
        w.last_action[k] = w.action[k]
    return True


@inlined
def _end(kernels: Any, w: TaskWorld) -> int:
    """Why the episode ends here, the time limit after all other reasons; or RUNNING."""
    end = kernels.end(w)
    if end == RUNNING and w.task[0].steps >= w.options[0].max_steps:
        return TIME_LIMIT
    return int(end)


@inlined
def _hold(w: TaskWorld, batch: BatchView, i: int, timestep: float, steps: int) -> int:
    """The physics of a control step: torques are held, or the targets of PD motors."""
    if is_disturbed(batch):
        d = open_disturbance(batch, i)
        if d.asked[0].positions != 0:
            return hold_targets(d, w.world, w.action, timestep, steps)
    return hold_torques(w.world, timestep, steps)


@inlined
def _world(
    call: Call, batch: BatchView, packed: Bytes, kind: Any, i: int, buffer: Bytes
) -> TaskWorld:
    """World number i, with a workspace."""
    n, size = batch.mask.shape[0], open_model(packed).header[0].state_bytes
    kept, nu = batch.task_states.shape[0] // n, batch.actions.shape[0] // (8 * n)
    task = vector(batch.task_states, i * kept, 1, kind)
    count, after = call.options[0].terms, i * kept + task.itemsize
    options = raw(call.options, call.options.itemsize)
    return TaskWorld(
        open_world(packed, vector(batch.states, i * size, size, np.uint8), buffer),
        call.options,
        call.constants,
        task,
        vector(batch.actions, 8 * i * nu, nu, np.float64),
        vector(batch.task_states, after, nu, np.float64),
        vector(batch.task_states, after - 8 * count, count, np.float64),
        vector(options, call.options.itemsize - 8 * count, count, np.float64),
    )


@inlined
def _write_one(
    kernels: Any, w: TaskWorld, batch: BatchView, i: int, observations: Bytes, info_rows: Bytes
) -> None:
    """Write what is to be reported of world i into its rows of these arrays of all worlds'."""
    observation, info = _observation_row(batch, observations, i), _info_row(batch, info_rows, i)
    kernels.observe(w, observation)
    kernels.describe(w, info)
    _write_rewards(w, info)
    if is_disturbed(batch):
        d = open_disturbance(batch, i)
        if d.asked[0].noisy != 0:
            size = observation.shape[0]
            clean = vector(info, info.shape[0] - 8 * size, size, np.float64)
            disturb_observation(d, observation, clean, w.task[0].steps)


@inlined
def _write_rewards(w: TaskWorld, info: Bytes) -> None:
    """The scalars of `info` that all tasks have, behind a task's own: terms, how contact went."""
    o, status = w.options[0], w.world.status[0]
    at = o.info_bytes - SOLVED_BYTES
    terms = vector(info, at - 8 * o.terms, o.terms, np.float64)
    for k in range(o.terms):
        terms[k] = w.rewards[k]
    solved = vector(info, at, 1, SOLVED)[0]
    solved.residual, solved.degraded = status.residual, status.degraded
    solved.failed = status.failed


@inlined
def _observation_row(batch: BatchView, observations: Bytes, i: int) -> Floats:
    """Where the observation of world i stands in an array of all worlds'."""
    size = observations.shape[0] // (8 * batch.mask.shape[0])
    return vector(observations, 8 * i * size, size, np.float64)


@inlined
def _info_row(batch: BatchView, info_rows: Bytes, i: int) -> Bytes:
    """Where the `info` of world i stands in an array of all worlds'."""
    size = info_rows.shape[0] // batch.mask.shape[0]
    return vector(info_rows, i * size, size, np.uint8)


@inlined
def _copy_out(batch: BatchView, i: int) -> None:
    """Copy world i's observation and `info` to the caller's own arrays."""
    n = batch.mask.shape[0]
    size = batch.observations.shape[0] // (8 * n)
    copy_words(batch.observations, batch.observations_out, size * i, size)
    size = batch.info_rows.shape[0] // (8 * n)
    copy_words(batch.info_rows, batch.info_out, size * i, size)


@inlined
def _moves(order: int, end: int) -> bool:
    """Whether a world whose last step ended so takes a control step."""
    again = order == STEP_OR_BEGIN and end != RUNNING
    return order not in (OBSERVE, BEGIN) and not again


@inlined
def _keep_task(batch: BatchView, buffer: Bytes, at: int, i: int, keep: bool) -> None:
    """Copy world i's task record to where its workspace ends, or back."""
    size = batch.task_states.shape[0] // batch.mask.shape[0]
    kept = vector(buffer, at, size, np.uint8)
    own = vector(batch.task_states, i * size, size, np.uint8)
    if keep:
        copy_words(own, kept, 0, size // 8)
    else:
        copy_words(kept, own, 0, size // 8)


@inlined
def _end_one(kernels: Any, w: TaskWorld, batch: BatchView, i: int, call: Call, moved: bool) -> int:
    """Begin an episode where the order asks for it; returns why the last one ended, or RUNNING."""
    order = call.order
    again = not moved and order != OBSERVE
    end = RUNNING if again else w.task[0].end
    if not moved:
        rest(w.action)  # no torque acted before this state
    elif order == STEP_AND_BEGIN and end != RUNNING:
        _write_one(kernels, w, batch, i, batch.last_observations, batch.last_info_rows)
        again = True
    if again:
        size = batch.initial.shape[0]
        row = vector(batch.states, i * size, size, np.uint8)
        for k in range(size):
            row[k] = batch.initial[k]
        rest(w.action)
        rest(w.last_action)
        w.task[0].steps, w.task[0].end = 0, RUNNING
        rest(w.rewards)
        kernels.begin(w)
        if has_starts(batch):
            kept = batch.task_states.shape[0] // batch.mask.shape[0]
            record = vector(batch.task_states, i * kept, kept, np.uint8)
            begin_elsewhere(batch.starts, w.world, row, record, w.task["generator"])
        if is_disturbed(batch):
            _begin_disturbed(w, batch, i, open_model(call.packed))
    return int(end)


@inlined
def _begin_disturbed(w: TaskWorld, batch: BatchView, i: int, shared: ModelView) -> None:
    """Draw what disturbs an episode that has begun; `shared` is the model of all worlds."""
    d = open_disturbance(batch, i)
    draw_episode(d, w.world, w.task["generator"])
    change_model(d, shared, w.world)


@inlined
def rest(values: Floats) -> None:
    """Nothing of it: no torque, no reward."""
    for k in range(values.shape[0]):
        values[k] = 0.0
