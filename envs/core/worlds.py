"""N worlds of one task: their arrays, and the one compiled call that starts and steps them all.

The single environment is the batch of one: `base.py` and `vector.py` are shells around this class,
and so are their seeding, options, states and `info`.  Every array has one entry a world, so that
a world's future depends on its own entries alone: not on the batch, its place in it, or threads.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynenvs.envs.checks import check_records, real_numbers
from dynenvs.envs.core.blocks import check_seen
from dynenvs.envs.core.codes import BEGIN, END_WORDS, OBSERVE, RUNNING, TIME_LIMIT
from dynenvs.envs.core.frozen import Frozen, freeze
from dynenvs.envs.core.info import InfoRows, batched
from dynenvs.envs.core.starts import states_of
from dynenvs.envs.core.state import Arrays
from dynenvs.envs.core.table import new_table, point
from dynenvs.envs.core.task import Task
from dynenvs.jit.compiled import bind, entry, expect, prepare
from dynenvs.memory.bounds import check_states
from dynenvs.memory.layout import Floats, Matrix
from dynenvs.memory.origin import marked, unmarked
from dynenvs.model.validation import mend_lists
from dynenvs.simulation.batch import LEAST_SHARE
from dynenvs.simulation.guard import GuardedBatch, alone, in_use
from dynenvs.simulation.progress import APART, begin_round, new_progress
from dynenvs.simulation.rng import seeded
from dynenvs.simulation.room import with_room
from dynenvs.simulation.threads import Repeated, share

Flags = NDArray[np.bool_]
Info = dict[str, Any]

# Ends of which `info["end"]` says the word: all but the time limit.  That may be counted by
# Gymnasium's TimeLimit wrapper around the environment, which says nothing in `info`; so that all
# ways to run the same episode give the same `info`, the environment says nothing of it either.
# A truncation without a word has reached its time limit.
_HAS_WORD = ~np.isin(range(len(END_WORDS)), (RUNNING, TIME_LIMIT))
_WORDS = [word if has_word else None for word, has_word in zip(END_WORDS, _HAS_WORD, strict=True)]
_END_WORDS = np.array(_WORDS, dtype=object)


@entry
def _all_finite(values: Matrix) -> bool:
    """Whether every one of `values`, shape (n, m), is finite; NumPy's way takes 1.4 us for six."""
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            if not math.isfinite(values[i, j]):
                return False
    return True


class Rows(NamedTuple):
    """What there is of each world, one entry each."""

    states: NDArray[Any]
    task_states: NDArray[Any]
    started: Flags
    observations: Floats
    rewards: Floats
    ends: NDArray[np.int64]
    info_rows: NDArray[Any]
    last_observations: Floats
    last_info_rows: NDArray[Any]
    actions: Floats


class TaskWorlds(Frozen, GuardedBatch):
    """The state of `count` worlds, and what their last step gave.

    Its arrays follow the worlds, and cannot be written into: kernels index with what stands in
    them.  Other states go through `set_state`, which checks them.

    Args:
        task: what they all are.
        count: how many.
        threads: how many threads share out the worlds of a call.

    Attributes:
        states: physical states, dtype `task.model.state_dtype`, shape (count,).
        task_states: what the task remembers of each world, dtype `task.state_record`, (count,).
        started: which have begun an episode.
        observations: shape (count, observations).
        rewards: of the last step, shape (count,).
        ends: why it ended the episode, or RUNNING, shape (count,).
        info_rows: what `info` says, dtype `task.info_dtype`, shape (count,).
        last_observations, last_info_rows: of an episode's last step, where STEP_AND_BEGIN began
            another one after it.
    """

    # What is shown of `_rows`; plain attributes are the quickest
    states: NDArray[Any]
    task_states: NDArray[Any]
    started: Flags
    observations: Floats
    rewards: Floats
    ends: NDArray[np.int64]
    info_rows: NDArray[Any]
    last_observations: Floats
    last_info_rows: NDArray[Any]
    actions: Floats

    def __init__(self, task: Task, count: int, threads: int = 1) -> None:
        self._guard()
        model = task.model
        self.task, self._count = task, count
        self._model = model  # with more room for contacts, once that is needed
        self._threads = max(1, min(threads, count // LEAST_SHARE))
        seen = (count, *task.observation_space.low.shape)
        self._rows = Rows(
            states=model.states(count),
            task_states=np.zeros(count, task.state_record),
            started=np.zeros(count, np.bool_),
            observations=np.zeros(seen),
            rewards=np.zeros(count),
            ends=np.full(count, RUNNING, np.int64),
            info_rows=np.zeros(count, task.info_dtype),
            last_observations=np.zeros(seen),
            last_info_rows=np.zeros(count, task.info_dtype),
            actions=np.zeros((count, model.nu)),
        )
        self._buffers = self._workspaces()
        self._connect()
        if len(task.start_rows):
            self._check_starts()

    def __repr__(self) -> str:
        task = type(self.task).__name__
        return f"<{type(self).__name__}: {self._count} of {task}, threads={self._threads}>"

    def _workspaces(self) -> NDArray[np.uint8]:
        """Scratch memory: a workspace for each thread, and room for a world's task record.

        Where worlds are disturbed, a copy of the model besides (`loop.py`).
        """
        at = self._model.header.workspace_bytes + self._rows.task_states.dtype.itemsize
        size = self._model.header.model_bytes if len(self.task.disturbance) else 0
        buffers = np.zeros((self._threads, at + size + APART), np.uint8)
        buffers[:, at : at + size] = self._model.packed[:size]
        return buffers

    def _connect(self) -> None:
        """Gather the kernel's arguments: views of the arrays, made once."""
        own = self._rows
        shown = {name: _read_only(array) for name, array in own._asdict().items()}
        vars(self).update(shown)
        freeze(self.task, *self.task.constants())
        self._initial = self.task.model.states(1)
        self._everyone = np.ones(self._count, np.uint8)
        self._progress = new_progress(1)
        self._steps = own.task_states["steps"]
        self._step_limit = int(self.task.options["max_steps"][0])
        self._run, self._kind = self.task.run, self.task.observation_space.dtype
        self._prepared = False
        self._calls: dict[int, Repeated] = {}  # of the kernel, by order
        expect([self._run], self.task.kernel_groups)  # while small ones are compiled here
        self._is_finite = bind(_all_finite, own.actions)
        task = self.task
        self._constants = (task.options, task.constants())
        self._places = (task.disturbance, task.start_rows)  # which the table leads to
        # What the last call gave, for the caller: new arrays each time, written by the threads.
        # A single world is quicker copied afterwards.
        self._observations_out, self._info_out = own.observations, own.info_rows
        self._mask, self._full = self._everyone, np.zeros(1, np.int64)
        self._table = new_table(
            **{name: array for name, array in own._asdict().items() if name != "started"},
            observations_out=self._observations_out,
            info_out=self._info_out,
            mask=self._everyone,
            full=self._full,
            workspaces=self._buffers,
            initial=self._initial,
            disturbance=task.disturbance,
            starts=task.start_rows,
        )
        self._reader = InfoRows(own.info_rows)

    def _order(self, order: int, mask: Flags | None = None) -> None:
        """Let the kernel carry out `order` in the worlds of `mask` (all if None), on all threads.

        Where the contacts of some worlds do not fit into their workspace, it is made larger, and
        the kernel is called again for those: they are still as they were.
        """
        self._prepare()
        who = self._everyone if mask is None else mask.view(np.uint8)
        self._run_all(order, who)
        while self._full[0]:
            waiting = (self.ends < 0) & (who != 0)
            self._make_room(int(-self.ends[waiting].min()))
            who = waiting.view(np.uint8)
            self._run_all(order, who)

    def _make_room(self, contacts: int) -> None:
        """Go on with workspaces for so many contacts at once."""
        model = with_room(self._model, contacts, 0)
        if model.header.nc == self._model.header.nc:
            raise RuntimeError("an environment's scene has so many pairs that they share slots")
        self._model = model
        self._buffers = self._workspaces()
        point(self._table, workspaces=self._buffers)
        self._calls.clear()

    def _run_all(self, order: int, who: NDArray[np.uint8]) -> None:
        table, arguments = self._table, (self._model.packed, *self._constants, self._table)
        if self._count > 1:
            self._observations_out = np.empty(self.observations.shape)
            # As bytes: where a record lies, NumPy tells with a list of its fields, in 15 us
            info = np.empty(self.info_rows.nbytes, np.uint8)
            point(table, observations_out=self._observations_out, info_out=info)
            self._info_out = info.view(self.info_rows.dtype)
        if who is not self._mask:
            self._mask = who
            point(table, mask=who)
        self._full[0] = 0
        if order not in self._calls:
            self._calls[order] = Repeated(self._run, arguments, (order,))
        if self._threads == 1:
            begin_round(self._progress, 1)
            self._calls[order](0, self._progress)
        else:
            share(self._calls[order], self._threads)

    def _prepare(self) -> None:
        """Have all compiled that the first call needs."""
        if self._prepared:
            return
        name = type(self.task).__name__.removesuffix("Task")
        groups = self.task.kernel_groups
        prepare(f"the dynamics of {name}", [self._run], groups)
        self._prepared = True

    # Episodes

    @alone
    def begin(
        self,
        seeds: Sequence[int | None],
        fields: dict[str, Any],
        random: np.random.Generator,
        mask: Flags | None = None,
    ) -> None:
        """Start an episode in the worlds of `mask` (all if None).

        Args:
            seeds: one a world; None continues its stream of random numbers.
            fields: of the worlds' records, as `Task.reset_fields` gives them.
            random: gives seeds to worlds that have never had one.
            mask: which worlds, shape (count,).

        Raises:
            ValueError: a value that no record can have.
        """
        self._prepare()  # Ctrl-C may stop it: before anything has changed
        mask = self._everyone.view(np.bool_) if mask is None else mask
        rows = self._rows
        generators = rows.task_states["generator"]
        for i in np.flatnonzero(mask).tolist():
            seed = seeds[i]
            if seed is not None:
                generators[i] = seeded(seed)
            elif not rows.started[i]:
                generators[i] = seeded(int(random.integers(2**63)))
        self._write(fields, mask)
        rows.started[mask] = True
        self._order(BEGIN, mask)

    def step(self, actions: ArrayLike, order: int, shape: tuple[int, ...], name: str) -> None:
        """One control step of every world, in the sense of `order`.

        Args:
            actions: torques over effort limits, clipped to [-1, 1]; the array is left alone.
            order: STEP, STEP_OR_BEGIN or STEP_AND_BEGIN.
            shape: what `actions` must have.
            name: what an error calls it.

        Raises:
            ValueError: not real numbers, wrong shape, or not finite; the worlds are untouched.
            RuntimeError: another thread is using them.
        """
        if not self._turn.acquire(False):
            raise in_use(self)
        try:
            self._take(actions, shape, name)
            self._order(order)
        finally:
            self._turn.release()

    def _take(self, actions: ArrayLike, shape: tuple[int, ...], name: str) -> None:
        if type(actions) is np.ndarray and actions.shape == shape and actions.dtype.kind == "f":
            self._rows.actions[...] = actions
        else:
            self._rows.actions[...] = real_numbers(actions, shape, name)
        if not self._is_finite():
            bad = np.argwhere(~np.isfinite(self._rows.actions.reshape(shape)))
            places = bad.ravel().tolist() if len(shape) == 1 else bad.tolist()
            raise ValueError(f"{name} must be finite; entries {places[:8]} are not")

    # State

    @alone
    def remember(self, fields: dict[str, Any]) -> None:
        """Write into the tasks' records.

        Args:
            fields: of the records; one value for all worlds or one each.

        Raises:
            ValueError: a value that no record can have; nothing has changed.
        """
        self._write(fields, self._everyone.view(np.bool_))

    def _write(self, fields: dict[str, Any], mask: Flags) -> None:
        """The same in the worlds of `mask`."""
        if not fields:
            return
        new = self._rows.task_states[list(fields)].copy()
        for name, value in fields.items():
            new[name][mask] = np.broadcast_to(value, self._count)[mask]
        check_states(self.task.model.header, new, "what the tasks are to remember")
        for name in fields:
            self._rows.task_states[name] = new[name]

    @alone
    def push(self, change: NDArray[Any]) -> None:
        """Add to the velocities, shape (count, nv).

        Raises:
            ValueError: what is to be added is not finite.
        """
        if not np.isfinite(change).all():
            raise ValueError(f"a push must change velocities by finite numbers, got {change}")
        self._rows.states["v"] += change

    def get_state(self) -> dict[str, NDArray[Any]]:
        """Everything that decides the future, bit for bit: worlds, warm starts, generators."""
        return {"world": _copy(self.states), "task": _copy(self.task_states)}

    @alone
    def set_state(self, state: Any) -> None:
        """Restore what `get_state` gave.

        Raises:
            ValueError: not a state of so many worlds of this task, not finite, or one of which
                something beyond the observations' bounds would be seen; the worlds are untouched.
        """
        mine = {"world": self._rows.states, "task": self._rows.task_states}
        whose = f"of {self._count} world(s) of this environment, as its get_state() gives one"
        if not (isinstance(state, dict) and state.keys() == mine.keys()):
            found = list(state) if isinstance(state, dict) else type(state).__name__
            raise ValueError(f"state must be a dict with {list(mine)} {whose}, got {found}")
        for name, records in mine.items():
            check_records(state[name], records, f"state[{name!r}]", whose)
        check_states(self.task.model.header, state["world"], "state['world']")
        check_states(self.task.model.header, state["task"], "state['task']")
        before, had_started = self.get_state(), self._rows.started.copy()
        self._restore(state, True)
        try:
            check_seen(self.task.observation_blocks, self.take_observations())
        except ValueError:
            self._restore(before, had_started)
            raise

    def _restore(self, state: dict[str, NDArray[Any]], started: Flags | bool) -> None:
        """Write states that have been checked, and observe them."""
        self._rows.states[:], self._rows.task_states[:] = state["world"], state["task"]
        mend_lists(self._rows.states)
        self._rows.started[:] = started
        self._order(OBSERVE)

    def _check_starts(self) -> None:
        """Refuse a file of starts with a state that `set_state` would refuse.

        Raises:
            ValueError: there is one.
        """
        task = dataclasses.replace(self.task, starts=None)
        starts = states_of(self.task.start_rows, task.model, task.own_record)
        worlds = TaskWorlds(task, len(starts["world"]))
        state = worlds.get_state()
        state["world"][:] = starts["world"]
        for name in task.own_record.names or ():
            state["task"][name] = starts["task"][name]
        try:
            worlds.set_state(state)
        except ValueError as error:
            raise ValueError(f"starts: {str(self.task.starts)!r}: {error}") from None

    def one(self, index: int) -> TaskWorlds:
        """World number `index` alone; it shares the memory."""
        single = object.__new__(TaskWorlds)
        single.__dict__.update(self.__dict__)
        single._count, single._threads = 1, 1
        single._rows = Rows._make(array[index : index + 1] for array in self._rows)
        single._connect()
        return single

    def __getstate__(self) -> dict[str, Any]:
        # The kernel's arguments are views: a pickled one would no longer share memory
        views = {"_constants", "_places", "_table", "_reader", "_run"}
        views |= {
            *Rows._fields,
            "_buffers",
            "_calls",
            "_is_finite",
            "_observations_out",
            "_info_out",
            "_mask",
            "_full",
            "_turn",
        }
        return marked({name: value for name, value in vars(self).items() if name not in views})

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(unmarked(state, "pickled environment"))
        check_states(self.task.model.header, self._rows.states, "pickled environment")
        check_states(self.task.model.header, self._rows.task_states, "pickled environment")
        self._guard()
        self._buffers = self._workspaces()
        self._connect()

    # What is reported

    def arrays(self) -> Arrays:
        """The arrays that a `State` reads."""
        task, legs = self.task, getattr(self.task, "legs", ())
        rows = self._rows
        arrays = rows.states, rows.info_rows, rows.actions, rows.rewards
        return Arrays(task.model, *arrays, task.dt, legs)

    def at_limit(self, ahead: int = 0) -> Flags:
        """Which episodes reach the time limit within `ahead` more control steps, shape (count,)."""
        flags: Flags = self._steps >= self._step_limit - ahead
        return flags

    def is_at_limit(self) -> bool:
        """The same of a single world; NumPy's way takes 0.9 us."""
        return bool(self._steps.item() >= self._step_limit)

    def take_observations(self) -> NDArray[Any]:
        """Observations after the last call, shape (count, observations), the caller's own."""
        found: NDArray[Any] = self._observations_out.astype(self._kind, copy=self._count == 1)
        return found

    def last_observation(self, i: int) -> NDArray[Any]:
        """World i's before STEP_AND_BEGIN began another episode, the caller's own."""
        found: NDArray[Any] = self.last_observations[i].astype(self._kind)
        return found

    def info(self) -> dict[str, Any]:
        """What `info` says of the first world."""
        info = self._reader.of(0)
        word = _WORDS[self.ends.item(0)]
        if word is not None:
            info["end"] = word
        return info

    def infos(self, present: Flags | None = None) -> Info:
        """What `info` says of all worlds, in Gymnasium's form: arrays, and masks `_key`.

        Args:
            present: whose entries are wanted, shape (count,); the others' are zero.  All if None.
        """
        rows = self._info_out if self._count > 1 else _copy(self._info_out)
        return batched(rows, (self._reader.names, present))

    def last_infos(self, ended: Flags) -> Info:
        """The same of the last step of the episodes after which STEP_AND_BEGIN began others."""
        info = batched(_copy(self.last_info_rows), (self._reader.names, ended))
        self.add_ends(info)
        return info

    def add_ends(self, info: Info) -> None:
        """Add to `info` why episodes ended, where that was not by their time limit."""
        has_word = _HAS_WORD[self.ends]
        if has_word.any():
            info["end"], info["_end"] = _END_WORDS[self.ends], has_word


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = array[...]
    view.flags.writeable = False
    return view


def _copy(records: NDArray[Any]) -> NDArray[Any]:
    """A copy byte by byte: quick, and the padding between fields stays defined."""
    return records.view(np.uint8).copy().view(records.dtype)
