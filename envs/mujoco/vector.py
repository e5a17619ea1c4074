"""The gym.vector.VectorEnv shell of Gymnasium's MuJoCo tasks: many worlds in one compiled call."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from dynenvs.envs.checks import MOST_SEED, choice, known_arguments, whole
from dynenvs.envs.mujoco.batch import Batch, Outcome
from dynenvs.envs.mujoco.single import MujocoEnv
from dynenvs.envs.mujoco.task import Flags, Floats
from dynenvs.simulation.threads import available_threads

MOST_WORLDS, MOST_THREADS = 10**6, 1024
MOST_STEPS = 10**9


class MujocoVectorEnv(VectorEnv[Floats, NDArray[np.float32], NDArray[Any]]):
    """Shared shell of the vector environments; a subclass names its `env_type`.

    World i of `reset(seed=s)` is the single environment with seed s + i, bit for bit.

    Args:
        num_envs: number of worlds.
        num_threads: threads that share them out, at most; as many as this process may run at once
            if None.  No result depends on it.
        autoreset_mode: what follows the end of an episode, an `AutoresetMode` or its value.
        max_episode_steps: control steps until an episode is truncated; None sets no limit.
        options: the single environment's.

    Raises:
        ValueError: an option out of its range.
        TypeError: an option that does not exist.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012
    env_type: ClassVar[type[MujocoEnv]]

    def __init__(
        self,
        num_envs: int = 1,
        *,
        num_threads: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        max_episode_steps: int | None = None,
        **options: Any,
    ) -> None:
        names = inspect.signature(type(self)).parameters
        known_arguments(options, names, f"{type(self).__name__}.__init__")
        self.num_envs = whole(num_envs, "num_envs", 1, MOST_WORLDS)
        threads = available_threads() if num_threads is None else num_threads
        if not isinstance(autoreset_mode, AutoresetMode):
            modes = [mode.value for mode in AutoresetMode]
            autoreset_mode = AutoresetMode(choice(autoreset_mode, "autoreset_mode", modes))
        self.autoreset_mode = autoreset_mode
        self.limit = max_episode_steps
        if self.limit is not None:
            self.limit = whole(self.limit, "max_episode_steps", 1, MOST_STEPS)
        self.task = self.env_type.task_type(**options)
        threads = whole(threads, "num_threads", 1, MOST_THREADS)
        self.batch = Batch(self.task, self.num_envs, threads)
        self.single_observation_space = self.task.observation_space
        self.single_action_space = self.task.action_space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.metadata = {**type(self).metadata, "autoreset_mode": autoreset_mode}
        self._ended = np.zeros(self.num_envs, np.bool_)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Say in the signature which options there are: the task's and the batch's."""
        super().__init_subclass__(**kwargs)
        own = [
            p
            for p in inspect.signature(MujocoVectorEnv.__init__).parameters.values()
            if p.name not in ("self", "options")
        ]
        options = inspect.signature(cls.env_type.task_type).parameters.values()
        cls.__signature__ = inspect.Signature([*own, *options])  # type: ignore[attr-defined]

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Floats, dict[str, Any]]:
        """Begin episodes.

        Args:
            seed: of world i, `seed + i`, or a list with one a world; None goes on.
            options: `{"reset_mask": ...}`: which worlds begin, bool, shape (num_envs,).

        Raises:
            ValueError: an option or seed that does not fit.
        """
        mask = self._mask(options)
        seeds = self._seeds(seed)
        if isinstance(seed, int | np.integer):
            super().reset(seed=int(seed))
        self.batch.seed([s if m else None for s, m in zip(seeds, mask, strict=True)])
        info = self.batch.begin(mask)
        self._ended[mask] = False
        return self.batch.observe(), _told(info, mask)

    def _mask(self, options: Any) -> Flags:
        given = dict(options or {})
        mask = given.pop("reset_mask", np.ones(self.num_envs, np.bool_))
        if given:
            raise ValueError(f"unknown reset options {sorted(given)}; there is reset_mask")
        right = isinstance(mask, np.ndarray) and mask.dtype == np.bool_
        if not (right and mask.shape == (self.num_envs,) and mask.any()):
            raise ValueError(
                f"reset_mask must be a bool array of shape ({self.num_envs},) with a True in it"
            )
        return np.array(mask)

    def _seeds(self, seed: Any) -> list[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, int | np.integer):
            first = whole(seed, "seed", 0, MOST_SEED)
            return [first + i for i in range(self.num_envs)]
        seeds = list(seed)
        if len(seeds) != self.num_envs:
            raise ValueError(f"seed must be {self.num_envs} numbers, one a world, got {len(seeds)}")
        return [
            s if s is None else whole(s, f"seed[{i}]", 0, MOST_SEED) for i, s in enumerate(seeds)
        ]

    def step(
        self, actions: NDArray[np.float32]
    ) -> tuple[Floats, Floats, Flags, Flags, dict[str, Any]]:
        """One control step of every world; what follows an end is `autoreset_mode`'s matter.

        Raises:
            ValueError: not real numbers, wrong shape, or not finite; no world is touched.
            gymnasium.error.ResetNeeded: a world has not begun, or has ended in mode "Disabled".
        """
        batch, mode = self.batch, self.autoreset_mode
        if not batch.started.all():
            raise gym.error.ResetNeeded("call reset() before the first step()")
        if mode == AutoresetMode.DISABLED and self._ended.any():
            over = np.flatnonzero(self._ended)[:8].tolist()
            raise gym.error.ResetNeeded(
                f"the episodes of worlds {over} have ended and autoreset is disabled: "
                'reset(options={"reset_mask": ...}) first'
            )
        given = batch.checked(actions, self.action_space.shape or (), "actions")
        fresh = self._ended.copy()  # in mode "NextStep" these begin, and do not step
        outcome = batch.step(given, ~fresh)
        info = _told(outcome.info, ~fresh)
        if fresh.any():
            _merge(info, batch.begin(fresh), fresh)
        truncated = np.zeros(self.num_envs, np.bool_)
        if self.limit is not None:
            truncated = ~fresh & (batch.steps >= self.limit)
        self._ended = outcome.terminated | truncated
        seen = batch.observe()
        if mode == AutoresetMode.SAME_STEP and self._ended.any():
            seen, info = self._begin_at_once(seen, info, outcome)
        return seen, outcome.rewards, outcome.terminated, truncated, info

    def _begin_at_once(
        self, seen: Floats, info: dict[str, Any], outcome: Outcome
    ) -> tuple[Floats, dict[str, Any]]:
        """The next episodes' first observations; the last ones go into `info`."""
        over = self._ended.copy()
        last = np.full(self.num_envs, None, dtype=object)
        for i in np.flatnonzero(over):
            last[i] = seen[i]
        begun = self.batch.begin(over)
        self._ended[:] = False
        final = _told(outcome.info, over)
        info = _told(outcome.info, ~over)
        _merge(info, begun, over)
        info["final_obs"], info["_final_obs"] = last, over
        info["final_info"], info["_final_info"] = final, over.copy()
        return self.batch.observe(), info


def _told(info: dict[str, Floats], mask: Flags) -> dict[str, Any]:
    """As Gymnasium's vector environments have it: a mask `_key` beside each array."""
    out: dict[str, Any] = {}
    _merge(out, info, mask)
    return out


def _merge(info: dict[str, Any], more: dict[str, Floats], mask: Flags) -> None:
    """Add entries of the worlds in the mask."""
    if not mask.any():
        return
    for key, value in more.items():
        known = f"_{key}" in info
        values = info[key] if known else np.zeros_like(value)
        shape = (-1,) + (1,) * (np.ndim(value) - 1)
        info[key] = np.where(mask.reshape(shape), value, values)
        info[f"_{key}"] = info[f"_{key}"] | mask if known else mask.copy()
