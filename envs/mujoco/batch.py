"""Worlds of one of Gymnasium's MuJoCo tasks: states, episodes, random numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynenvs.envs.core.limit import steps_until
from dynenvs.envs.mujoco.task import Flags, Floats, MujocoTask
from dynenvs.envs.mujoco.view import View
from dynenvs.simulation.worlds import Worlds, WorldsError

COUNTS = ("steps", "started", "ended")  # of each world's episode


class Outcome(NamedTuple):
    """What a control step brought, one entry a world; of those that were not stepped, zeros."""

    rewards: Floats
    terminated: Flags
    truncated: Flags
    info: dict[str, NDArray[np.float64]]


class Batch:
    """Some worlds of a task.

    Args:
        task: what they are.
        count: how many.
        threads: that share them out, at most.
    """

    def __init__(self, task: MujocoTask, count: int, threads: int = 1) -> None:
        self.task = task
        self.worlds = Worlds(task.model, count, threads=threads)
        self.generators = [np.random.default_rng() for _ in range(count)]
        self.steps = np.zeros(count, np.int64)  # of each world's episode
        self.started = np.zeros(count, np.bool_)
        self.ended = np.zeros(count, np.bool_)  # whose episode is over
        self.limit = steps_until(task.max_episode_steps)
        self.view = View(self.worlds)  # what they are now

    def observe(self) -> NDArray[Any]:
        """What they show, shape (count, size), the caller's own."""
        return self.task.observe(self.view).astype(self.task.observation_space.dtype, copy=False)

    def seed(self, seeds: Sequence[int | None]) -> None:
        """Begin the random numbers of those worlds anew that are given a seed."""
        for i, seed in enumerate(seeds):
            if seed is not None:
                self.generators[i] = gym.utils.seeding.np_random(seed)[0]

    def begin(self, mask: Flags) -> dict[str, Floats]:
        """Begin an episode in these worlds; what `info` says of them."""
        q, v = self.worlds.q.copy(), self.worlds.v.copy()
        for i in np.flatnonzero(mask):
            q[i], v[i] = self.task.start(self.generators[i])
        self.place(q, v, mask)
        return self.task.begun(self.view)

    def place(self, q: Floats, v: Floats, mask: Flags) -> None:
        """Begin an episode in these worlds in given states, shapes (count, nq) and (count, nv)."""
        self.worlds.reset(q, v, mask=mask)
        self.view.changed(mask)
        self.steps[mask] = 0
        self.started |= mask
        self.ended &= ~mask

    def step(self, actions: Floats, mask: Flags) -> Outcome:
        """One control step of these worlds.

        One whose step has no solution ends its episode in the last state that had one.
        """
        before, failed = self.task.mark(self.view), np.zeros(len(mask), np.bool_)
        try:
            self.task.advance(self.worlds, actions, mask)
        except WorldsError as error:
            failed[error.worlds] = True
        self.view.changed()
        self.steps += mask
        terms, rest = self.task.score(before, self.view, actions)
        rewards = np.full(len(mask), self.task.bonus)
        for term in terms.values():
            rewards = rewards + term
        over = (self.task.ended(self.view) | failed) & mask
        cut = mask & (self.steps >= self.limit)
        self.ended = over | cut | (self.ended & ~mask)
        return Outcome(np.where(mask, rewards, 0.0), over, cut, {**rest, **terms})

    def get_state(self) -> dict[str, NDArray[Any]]:
        """Everything that decides the future, bit for bit: worlds, generators, counts of steps.

        Arrays with one entry a world.
        """
        streams = np.array([one.bit_generator.state for one in self.generators], dtype=object)
        counts = {name: getattr(self, name).copy() for name in COUNTS}
        return {"world": self.worlds.get_state(), "generator": streams, **counts}

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
        self.view.changed()
        for one, stream in zip(self.generators, state["generator"], strict=True):
            one.bit_generator.state = stream
        for name in COUNTS:
            getattr(self, name)[:] = state[name]

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key != "view"}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        vars(self).update(kept)
        self.view = View(self.worlds)


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
