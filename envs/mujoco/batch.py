"""Worlds of one of Gymnasium's MuJoCo tasks: states, episodes, random numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynenvs.envs.core.limit import steps_until
from dynenvs.envs.core.records import InfoRows
from dynenvs.envs.mujoco.look import MARK, Look
from dynenvs.envs.mujoco.task import Flags, Floats, MujocoTask
from dynenvs.envs.mujoco.view import View
from dynenvs.model.model import Model
from dynenvs.simulation.guard import Guarded, alone
from dynenvs.simulation.worlds import Worlds, WorldsError

COUNTS = ("steps", "started", "ended")  # of each world's episode


class Batch(Guarded):
    """Some worlds of a task, and what their last step brought, one entry a world.

    Args:
        task: what they are.
        count: how many.
        threads: that share them out, at most.

    Attributes:
        observations: shape (count, size).
        rewards, over, cut: of the last step; zero of those that were not stepped.
        rows: what `info` says, dtype `task.info_record`; `info` reads them.
    """

    def __init__(self, task: MujocoTask, count: int, threads: int = 1) -> None:
        self.task = task
        self.worlds = Worlds(task.model, count, threads=threads)
        self.generators = [np.random.default_rng() for _ in range(count)]
        self.steps = np.zeros(count, np.int64)  # of each world's episode
        self.started = np.zeros(count, np.bool_)
        self.ended = np.zeros(count, np.bool_)  # whose episode is over
        self._actions = np.zeros((count, *task.action_space.low.shape))
        self.observations = np.zeros((count, task.size))
        self.rewards = np.zeros(count)
        self.over, self.cut = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
        self.rows: NDArray[Any] = np.zeros(count, task.info_record)
        self._failed = np.zeros(count, np.bool_)
        self._marks = np.zeros((count, MARK))
        self._connect()

    def _connect(self) -> None:
        """What cannot be pickled, as it leads into the arrays."""
        self._guard(self.worlds)
        self.view = View(self.worlds)  # what they are now
        self.info = InfoRows(self.rows)
        names = self.rows.dtype.names or ()
        self.told_at_first = names[: self.task.told_at_first]
        self._mask = np.ones(len(self.steps), np.uint8)
        self._begins = np.zeros(1, np.int64)
        self._look: Callable[[], None] | None = None
        self._memory: Any = None  # of the worlds, for which that is made

    @property
    def model(self) -> Model:
        """The robot and its ground."""
        return self.worlds.model

    def observe(self) -> NDArray[Any]:
        """What they show, shape (count, size), the caller's own."""
        return self.observations.astype(self.task.observation_space.dtype)

    def seed(self, seeds: Sequence[int | None]) -> None:
        """Begin the random numbers of those worlds anew that are given a seed."""
        for i, seed in enumerate(seeds):
            if seed is not None:
                self.generators[i] = gym.utils.seeding.np_random(seed)[0]

    def begin(self, mask: Flags) -> None:
        """Begin an episode in these worlds."""
        q, v = self.worlds.q.copy(), self.worlds.v.copy()
        for i in np.flatnonzero(mask):
            q[i], v[i] = self.task.start(self.generators[i])
        self.place(q, v, mask)

    @alone
    def place(self, q: Floats, v: Floats, mask: Flags) -> None:
        """Begin an episode in these worlds in given states, shapes (count, nq) and (count, nv)."""
        self.worlds.reset(q, v, mask=mask)
        self._see(mask, True)

    @alone
    def step(self, actions: ArrayLike, who: int | None, mask: Flags | None) -> None:
        """One control step of these worlds, of all if None.

        One whose step has no solution ends its episode in the last state that had one.

        Args:
            actions: of all worlds, shape (count, nu), or of one, shape (nu,).
            who: the number of that one.
            mask: which worlds, shape (count,); all if None.

        Raises:
            ValueError: actions of these worlds that are not finite; nothing has changed.
        """
        self._actions[slice(None) if who is None else who] = actions
        try:
            self.task.advance(self.worlds, self._actions, mask)
        except WorldsError as error:
            self._failed[error.worlds] = True
            self._see(mask, False)
            self._failed[:] = False
            return
        self._see(mask, False)

    def _see(self, mask: Flags | None, begins: bool) -> None:
        """Look at these worlds, which have moved or begun."""
        self.view.changed(mask)
        if self.task.sees_bodies:
            self.view.read()
        self._mask[:] = True if mask is None else mask
        self._begins[0] = begins
        if self._look is None or self._memory is not self.worlds.memory:
            self._look, self._memory = self._looking(), self.worlds.memory
        self._look()

    def _looking(self) -> Callable[[], None]:
        task, flags = self.task, (self.started, self.ended, self.over, self.cut, self._failed)
        started, ended, over, cut, failed = (flag.view(np.uint8) for flag in flags)
        kind = task.info_record
        rest = [kind.fields[name][1] for name in (kind.names or ())[task.told_at_first :]]
        look = Look(
            self._begins,
            self._mask,
            task.options.view(np.uint8),
            np.array(task.places, np.int64),
            self.view.room,
            self.worlds.forces,
            self._actions,
            failed,
            self._marks,
            self.observations,
            self.rows.view(np.uint8),
            self.rewards,
            over,
            cut,
            self.steps,
            started,
            ended,
            steps_until(task.max_episode_steps),
            min(rest, default=kind.itemsize),
            self.worlds.timestep,
            task.dt,
        )
        name = type(task).__name__.removesuffix("Task")
        return self.worlds.visit(f"what is seen of {name}", task.run, look)

    def get_state(self) -> dict[str, NDArray[Any]]:
        """Everything that decides the future, bit for bit: worlds, generators, counts of steps.

        Arrays with one entry a world.
        """
        streams = np.array([one.bit_generator.state for one in self.generators], dtype=object)
        counts = {name: getattr(self, name).copy() for name in COUNTS}
        return {"world": self.worlds.get_state(), "generator": streams, **counts}

    @alone
    def set_state(self, state: dict[str, NDArray[Any]]) -> None:
        """Restore what `get_state` gave.

        Raises:
            ValueError: not a state of as many worlds of this task; the worlds are untouched.
        """
        names = ("world", "generator", *COUNTS)
        if not (isinstance(state, dict) and state.keys() == set(names)):
            found = list(state) if isinstance(state, dict) else type(state).__name__
            raise ValueError(f"state must be a dict with {list(names)}, got {found}")
        if any(np.shape(state[name]) != (len(self.worlds),) for name in names):
            raise ValueError(f"state must be of {len(self.worlds)} worlds")
        self.worlds.set_state(state["world"])
        self._see(None, True)
        for one, stream in zip(self.generators, state["generator"], strict=True):
            one.bit_generator.state = stream
        for name in COUNTS:
            getattr(self, name)[:] = state[name]

    def __getstate__(self) -> dict[str, Any]:
        made = ("view", "info", "_look", "_memory", "_mask", "_begins", "_turn")
        return {key: value for key, value in vars(self).items() if key not in made}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        vars(self).update(kept)
        self._connect()


def checked_actions(actions: ArrayLike, shape: tuple[int, ...], name: str) -> Floats:
    """Actions as numbers, of the given shape.

    Raises:
        ValueError: not real numbers, wrong shape, or not finite.
    """
    given = np.asarray(actions)
    if given.dtype.kind not in "fiu" or given.shape != shape:
        raise ValueError(
            f"{name} must be real numbers of shape {shape}, got {given.dtype} of shape "
            f"{given.shape}"
        )
    if not np.isfinite(given).all():
        where = np.argwhere(~np.isfinite(given))[:8].tolist()
        raise ValueError(f"{name} must be finite; entries {where} are not")
    return given.astype(np.float64)
