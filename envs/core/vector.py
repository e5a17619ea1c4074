"""The gym.vector.VectorEnv shell: many worlds of one task, stepped by one compiled call.

`gym.make_vec` makes it.  The single environment of `base.py` stands on the same `worlds.py`; each
world of a batch can be had as one (`envs`), and states go to and fro.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from dynenvs.envs.checks import MOST_SEED, choice, known_arguments, picture_side, whole
from dynenvs.envs.core.base import DynEnv, checked_options
from dynenvs.envs.core.blocks import Block
from dynenvs.envs.core.changing import change_options
from dynenvs.envs.core.codes import (
    RUNNING,
    STEP,
    STEP_AND_BEGIN,
    STEP_OR_BEGIN,
    TERMINATIONS,
    TRUNCATIONS,
)
from dynenvs.envs.core.starts import write_starts
from dynenvs.envs.core.task import NO_LIMIT
from dynenvs.envs.core.worlds import Flags, Worlds
from dynenvs.simulation.threads import available_threads

Floats = NDArray[np.float64]

MOST_WORLDS, MOST_THREADS = 10**6, 1024
ORDERS = {
    AutoresetMode.NEXT_STEP: STEP_OR_BEGIN,
    AutoresetMode.SAME_STEP: STEP_AND_BEGIN,
    AutoresetMode.DISABLED: STEP,
}
_TERMINATED = np.isin(range(5), TERMINATIONS)
_TRUNCATED = np.isin(range(5), TRUNCATIONS)


class DynVectorEnv(VectorEnv[Floats, NDArray[np.float32], NDArray[Any]]):
    """Shared shell of all vector environments; a subclass names its `env_type`.

    Observations, rewards and flags come as arrays of shape (num_envs, ...), float64 as those of
    the single environment, bit for bit; `info` as Gymnasium's vector environments give it: an
    array and a mask `_key` for each key.  All that is returned is the caller's own.

    Args:
        num_envs: number of worlds.
        num_threads: threads that share them out, at most; as many as this process may run at once
            if None.  No result depends on it.
        autoreset_mode: what follows the end of an episode, an `AutoresetMode` or its value:
            "NextStep" (the next step ignores the action and begins an episode, reward 0),
            "SameStep" (the observation is the next episode's first one; `info["final_obs"]` and
            `info["final_info"]` hold the last one) or "Disabled" (`reset` with
            `options={"reset_mask": ...}`).
        render_mode: "rgb_array" or None.
        width, height: size of each picture [pixels].
        options: the single environment's.

    Raises:
        ValueError: an option out of its range.
        TypeError: an option that does not exist.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 100}  # noqa: RUF012
    env_type: ClassVar[type[DynEnv]]
    single_observation_space: gym.spaces.Box
    single_action_space: gym.spaces.Box

    def __init__(
        self,
        num_envs: int = 1,
        *,
        num_threads: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        width: int = 960,
        height: int = 540,
        **options: Any,
    ) -> None:
        names = inspect.signature(type(self)).parameters
        known_arguments(options, names, f"{type(self).__name__}.__init__")
        self.num_envs = whole(num_envs, "num_envs", 1, MOST_WORLDS)
        if num_threads is None:
            num_threads = available_threads()
        self.num_threads = whole(num_threads, "num_threads", 1, MOST_THREADS)
        if not isinstance(autoreset_mode, AutoresetMode):
            modes = [mode.value for mode in AutoresetMode]
            autoreset_mode = AutoresetMode(choice(autoreset_mode, "autoreset_mode", modes))
        if render_mode is not None:
            choice(render_mode, "render_mode", self.metadata["render_modes"])
        self.autoreset_mode = autoreset_mode
        self.task = self.env_type.task_type(**options)
        self.worlds = Worlds(self.task, self.num_envs, self.num_threads)
        self.render_mode = render_mode
        self.width = picture_side(width, "width")
        self.height = picture_side(height, "height")
        self.single_observation_space = self.task.observation_space
        self.single_action_space = self.task.action_space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.metadata = {
            **type(self).metadata,
            "render_fps": max(1, round(1 / self.task.dt)),
            "autoreset_mode": autoreset_mode,
        }
        self._order = ORDERS[autoreset_mode]
        self._spec: EnvSpec | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Say in the signature which options there are: the task's and the batch's."""
        super().__init_subclass__(**kwargs)
        own = [
            p
            for p in inspect.signature(DynVectorEnv.__init__).parameters.values()
            if p.name not in ("self", "options")
        ]
        options = inspect.signature(cls.env_type.task_type).parameters.values()
        cls.__signature__ = inspect.Signature([*own, *options])  # type: ignore[attr-defined]

    @property
    def spec(self) -> EnvSpec | None:
        """What `gym.make_vec` made it from, with the limit of its episodes that it really has."""
        return self._spec

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:
        limit = self.task.max_episode_steps
        self._spec = spec and replace(spec, max_episode_steps=None if limit == NO_LIMIT else limit)

    @property
    def observation_blocks(self) -> tuple[Block, ...]:
        """The parts of one world's observation in their order: names, bounds, units, meanings."""
        return self.task.observation_blocks

    @property
    def observation_slices(self) -> dict[str, slice]:
        """Where they are: `observations[:, envs.unwrapped.observation_slices["command"]]`."""
        return dict(self.task.observation_slices)

    # Gymnasium

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Floats, dict[str, Any]]:
        """Start episodes.

        Args:
            seed: of world i, `seed + i`, or a list with one a world; None continues its stream.
            options: those of the single environment's reset, each one value for all worlds or
                an array with one a world, shape (num_envs,), and
                `"reset_mask"`: which worlds begin, bool, shape (num_envs,), at least one.

        Returns:
            Observations of all worlds, shape (num_envs, observations), and the info of those
            that began.

        Raises:
            ValueError: an option or seed that does not fit; nothing is changed then.
            gymnasium.error.ClosedEnvironmentError: after `close`.
        """
        self._refuse_closed("reset")
        wanted = checked_options(options, (*self.task.reset_options, "reset_mask"))
        mask = self._mask(wanted.pop("reset_mask")) if "reset_mask" in wanted else None
        self.task.refuse_with_starts(wanted)
        fields = self.task.reset_fields(wanted, self.num_envs)
        seeds = self._seeds(seed)
        if isinstance(seed, int | np.integer):
            super().reset(seed=int(seed))
        self.worlds.begin(seeds, fields, self.np_random, mask)
        return self.worlds.take_observations(), self.worlds.infos(mask)

    def _seeds(self, seed: Any) -> list[int | None]:
        """A seed for each world."""
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, int | np.integer):
            first = whole(seed, "seed", 0, MOST_SEED)
            return [first + i for i in range(self.num_envs)]
        if not isinstance(seed, list | tuple | np.ndarray):
            raise ValueError(f"seed must be an int, a list of ints or None, got {seed!r}")
        seeds = list(seed)
        if len(seeds) != self.num_envs:
            raise ValueError(f"seed must be {self.num_envs} numbers, one a world, got {len(seeds)}")
        return [
            s if s is None else whole(s, f"seed[{i}]", 0, MOST_SEED) for i, s in enumerate(seeds)
        ]

    def _mask(self, mask: Any) -> Flags:
        """The option `reset_mask`, checked."""
        rule = f"reset_mask must be a bool array of shape ({self.num_envs},)"
        if not isinstance(mask, np.ndarray):
            raise ValueError(f"{rule}, got a {type(mask).__name__}")
        if mask.dtype != np.bool_ or mask.shape != (self.num_envs,):
            raise ValueError(f"{rule}, got {mask.dtype} of shape {mask.shape}")
        if not mask.any():
            raise ValueError(f"{rule} with at least one True: no world would begin")
        return mask.copy()

    def step(
        self, actions: NDArray[np.float32]
    ) -> tuple[Floats, Floats, Flags, Flags, dict[str, Any]]:
        """One control step of every world; what follows an end is `autoreset_mode`'s matter.

        Args:
            actions: torque of each actuated joint over its effort limit, clipped to [-1, 1],
                shape (num_envs, nu); the array itself is left alone.

        Returns:
            Observations (num_envs, observations), rewards, terminated, truncated (num_envs,) and
            info.

        Raises:
            ValueError: not real numbers, wrong shape, or not finite; no world is touched.
            gymnasium.error.ResetNeeded: a world has not begun, or has ended in mode "Disabled".
            gymnasium.error.ClosedEnvironmentError: after `close`.
        """
        self._refuse_closed("step")
        worlds = self.worlds
        if not worlds.started.all():
            raise gym.error.ResetNeeded("call reset() before the first step()")
        if self._order == STEP and worlds.task_states["end"].any():
            over = np.flatnonzero(worlds.task_states["end"])[:8].tolist()
            raise gym.error.ResetNeeded(
                f"the episodes of worlds {over} have ended and autoreset is disabled: "
                'reset(options={"reset_mask": ...}) first'
            )
        due = worlds.at_limit(ahead=1)  # afterwards another episode may have begun
        worlds.step(actions, self._order, self.action_space.shape or (), "actions")
        info = worlds.infos()
        ended = worlds.ends != RUNNING
        if ended.any():
            if self._order == STEP_AND_BEGIN:
                self._add_finals(info, ended)
            else:
                worlds.add_ends(info)
        return (
            worlds.take_observations(),
            worlds.rewards.copy(),
            _TERMINATED[worlds.ends],
            _TRUNCATED[worlds.ends] | (due & ended),
            info,
        )

    def _add_finals(self, info: dict[str, Any], ended: Flags) -> None:
        """Last observations and infos of the episodes after which others have begun."""
        last = np.full(self.num_envs, None, dtype=object)
        for i in np.flatnonzero(ended):
            last[i] = self.worlds.last_observations[i].copy()
        info["final_obs"], info["_final_obs"] = last, ended
        info["final_info"], info["_final_info"] = self.worlds.last_infos(ended), ended.copy()

    # Single worlds

    @cached_property
    def envs(self) -> tuple[DynEnv, ...]:
        """Each world as a single environment that shares the batch's memory."""
        picture = {"render_mode": self.render_mode, "width": self.width, "height": self.height}
        return tuple(
            self.env_type.window(self.task, self.worlds, i, **picture) for i in range(self.num_envs)
        )

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """What each single environment's method gives, or its attribute if it is no method."""
        found = [getattr(env, name) for env in self.envs]
        return tuple(value(*args, **kwargs) if callable(value) else value for value in found)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """An attribute of each single environment."""
        return tuple(getattr(env, name) for env in self.envs)

    def set_attr(self, name: str, values: Any) -> None:
        """Set an attribute of the single environments: to one value, or a list with one a world."""
        if not isinstance(values, list | tuple):
            values = [values] * self.num_envs
        if len(values) != self.num_envs:
            raise ValueError(f"{name} needs {self.num_envs} values, one a world, got {len(values)}")
        for env, value in zip(self.envs, values, strict=True):
            setattr(env, name, value)

    def change_options(self, **options: Any) -> None:
        """As the single environment's `change_options`, in all worlds."""
        change_options(self.task, options)

    # State

    def get_state(self) -> dict[str, NDArray[Any]]:
        """Everything that decides the future of all worlds, bit for bit.

        Arrays with one entry a world; `envs[i].get_state()` gives one world's.
        """
        return self.worlds.get_state()

    def set_state(self, state: dict[str, NDArray[Any]]) -> None:
        """Restore what `get_state` gave; `envs[i].set_state` restores one world.

        Raises:
            ValueError: not a state of as many worlds of this environment.
        """
        self.worlds.set_state(state)

    def save_starts(self, path: str | Path) -> None:
        """Write the worlds' states as starts, in which others' episodes can begin.

        So states of your own making (`set_state`) serve as a demonstration's do, by
        `gym.make_vec(..., starts=path)`.

        Raises:
            gymnasium.error.ResetNeeded: a world has not begun.
            OSError: the file cannot be written.
        """
        if not self.worlds.started.all():
            raise gym.error.ResetNeeded("call reset() or set_state() before save_starts()")
        rows = {
            name: records.view(np.uint8).reshape(self.num_envs, -1)
            for name, records in self.get_state().items()
        }
        write_starts(Path(path), self.task, rows["world"], rows["task"])

    def __getstate__(self) -> dict[str, Any]:
        # The single environments are windows: made anew where they are asked for
        return {name: value for name, value in vars(self).items() if name != "envs"}

    # Drawing

    def render(self) -> tuple[NDArray[np.uint8] | None, ...] | None:  # type: ignore[override]
        """A picture of every world, each of shape (height, width, 3).

        Raises:
            gymnasium.error.ClosedEnvironmentError: after `close`.
        """
        self._refuse_closed("render")
        if self.render_mode is None:
            gym.logger.warn('render() without a render_mode: make it with render_mode="rgb_array"')
            return None
        return tuple(env.render() for env in self.envs)

    def close_extras(self, **kwargs: Any) -> None:
        """Close the single environments' pictures."""
        for env in vars(self).get("envs", ()):
            env.close()

    def _refuse_closed(self, method: str) -> None:
        """Make sure that the environment has not been closed.

        Raises:
            gymnasium.error.ClosedEnvironmentError: it has.
        """
        if self.closed:
            name = type(self).__name__
            raise gym.error.ClosedEnvironmentError(f"{name}.{method}() after close()")
