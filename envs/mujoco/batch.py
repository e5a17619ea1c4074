"""Worlds of one of Gymnasium's MuJoCo tasks: states, episodes, random numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynenvs.envs.core.frozen import freeze
from dynenvs.envs.core.info import InfoRows
from dynenvs.envs.core.limit import steps_until
from dynenvs.envs.core.state import Arrays
from dynenvs.envs.mujoco.bodies import new_bodies, read_bodies
from dynenvs.envs.mujoco.look import MARK, Look
from dynenvs.envs.mujoco.streams import draw_uniforms, places_of
from dynenvs.envs.mujoco.task import Flags, Floats, MujocoTask
from dynenvs.jit.compiled import bind
from dynenvs.model.model import Model
from dynenvs.simulation.guard import Guarded, alone, in_use
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
        bodies: of those that were looked at last, where the task reads them.
        rows: what `info` says, dtype `task.info_record`; `info` reads them.
    """

    def __init__(self, task: MujocoTask, count: int, threads: int = 1) -> None:
        self.task = task
        self.worlds = Worlds(task.model, count, threads=threads)
        self.generators = [np.random.default_rng() for _ in range(count)]  # `give` changes them
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
        freeze(self.task)
        self.info = InfoRows(self.rows)
        names = self.rows.dtype.names or ()
        self.told_at_first = names[: self.task.told_at_first]
        self._mask = np.ones(len(self.steps), np.bool_)  # who moves, or begins at
        self._q, self._v = np.zeros_like(self.worlds.q), np.zeros_like(self.worlds.v)
        self._drawn = np.zeros((len(self._q), self.model.nq + self.model.nv))
        self._draw: Callable[[], None] | None = None  # of the generators that there are now
        nb, links = len(self.model.body_names), len(self.task.links)
        count = len(self.steps) if self.task.sees_poses else 0
        self.bodies = new_bodies(count, nb, links)
        self._begins = np.zeros(1, np.int64)
        self._memory: Any = None  # of the worlds, for which calls are bound
        self._visits: list[Callable[[], None]]
        self._restart: Callable[[], bool]

    @property
    def model(self) -> Model:
        """The robot and its ground."""
        return self.worlds.model

    def arrays(self, which: slice = slice(None)) -> Arrays:
        """The arrays of some worlds that a `State` reads."""
        states, seen = self.worlds._rows[which], self.rows[which]
        actions, rewards = self._actions[which], self.rewards[which]
        return Arrays(self.model, states, seen, actions, rewards, self.task.dt, ())

    def observe(self) -> NDArray[Any]:
        """What they show, shape (count, size), the caller's own."""
        return self.observations.astype(self.task.observation_space.dtype)

    def seed(self, seeds: Sequence[int | None]) -> None:
        """Begin the random numbers of those worlds anew that are given a seed."""
        for i, seed in enumerate(seeds):
            if seed is not None:
                self.give(i, gym.utils.seeding.np_random(seed)[0])

    def give(self, i: int, generator: np.random.Generator) -> None:
        """Let world i draw from this generator."""
        self.generators[i] = generator
        self._draw = None

    @alone
    def begin(self, mask: Flags) -> None:
        """Begin an episode in these worlds."""
        self._mask[:] = mask
        if self._draw is None:
            places = places_of(self.generators) if self.task.draws_uniforms else None
            who, self._draw = self._mask.view(np.uint8), self._draw_each
            if places is not None:
                self._draw = bind(draw_uniforms, places, who, self._drawn)
        self._draw()
        self._q[:], self._v[:] = self.task.start(self._drawn)  # others do not begin there
        self._place()

    def _draw_each(self) -> None:
        """The random numbers of worlds that begin, as the task draws them."""
        for i in np.flatnonzero(self._mask).tolist():
            self.task.draw(self.generators[i], self._drawn[i])

    @alone
    def place(self, i: int, q: Floats, v: Floats) -> None:
        """Begin an episode in world i in a given state, shapes (nq,) and (nv,).

        Raises:
            ValueError: it is not finite; nothing has changed.
        """
        self._q[i], self._v[i] = q, v
        self._mask[:] = self.only(i)
        self._place()

    def only(self, i: int) -> Flags:
        """World i among all, shape (count,)."""
        flags: Flags = np.arange(len(self.rewards)) == i
        return flags

    def _place(self) -> None:
        if self._memory is not self.worlds.memory:
            self._bind()
        if not self._restart():
            raise ValueError("positions and velocities must be finite")
        self._see(True)

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
        if not self._turn.acquire(False):
            raise in_use(self)
        try:
            self._actions[slice(None) if who is None else who] = actions
            self._advance(mask)
        finally:
            self._turn.release()

    def _advance(self, mask: Flags | None) -> None:
        failed = None
        try:
            self.task.advance(self.worlds, self._actions, mask)
        except WorldsError as error:
            failed = error.worlds
            self._failed[failed] = True
        self._mask.fill(True) if mask is None else np.copyto(self._mask, mask)
        self._see(False)
        if failed is not None:
            self._failed[failed] = False

    def _see(self, begins: bool) -> None:
        """Look at the worlds of the mask, which have moved or begun."""
        if self._memory is not self.worlds.memory:
            self._bind()
        self._begins[0] = begins
        for visit in self._visits:
            visit()

    def _bind(self) -> None:
        """The calls of kernels, for the memory that the worlds have now."""
        task, worlds, mask = self.task, self.worlds, self._mask.view(np.uint8)
        self._memory = worlds.memory
        self._restart = worlds.beginning(self._q, self._v, self._mask)
        flags = self._failed, self.over, self.cut, self.started, self.ended
        failed, over, cut, started, ended = (flag.view(np.uint8) for flag in flags)
        kind = task.info_record
        rest = [kind.fields[name][1] for name in kind.names[task.told_at_first :]]
        look = Look(
            begins=self._begins,
            mask=mask,
            options=task.options.view(np.uint8),
            places=np.array(task.places, np.int64),
            bodies=self.bodies,
            torques=worlds.forces,
            actions=self._actions,
            failed=failed,
            marks=self._marks,
            observations=self.observations,
            info=self.rows.view(np.uint8),
            rewards=self.rewards,
            over=over,
            cut=cut,
            steps=self.steps,
            started=started,
            ended=ended,
            limit=steps_until(task.max_episode_steps),
            told=min(rest, default=kind.itemsize),
            timestep=worlds.timestep,
            dt=task.dt,
        )
        name = type(task).__name__.removesuffix("Task")
        self._visits = [worlds.visit(f"what is seen of {name}", task.run, look)]
        if task.sees_poses:
            inputs = task.links, mask, self.bodies, worlds.timestep, task.sees_bodies
            read = worlds.visit("what is seen of bodies", read_bodies, *inputs)
            self._visits.insert(0, read)

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
        self._mask[:] = True
        self._see(True)
        for one, stream in zip(self.generators, state["generator"], strict=True):
            one.bit_generator.state = stream
        for name in COUNTS:
            getattr(self, name)[:] = state[name]

    def __getstate__(self) -> dict[str, Any]:
        made = {"info", "bodies", "_q", "_v", "_drawn", "_mask", "_begins", "_turn"}
        made |= {"_memory", "_visits", "_restart", "_draw"}
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
