"""What all vector environments share as Gymnasium's: options, seeds, single worlds, pictures."""

from __future__ import annotations

import inspect
import numbers
from abc import abstractmethod
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from dynenvs.envs.checks import (
    MOST_SEED,
    choice,
    got,
    is_list,
    known_arguments,
    picture_side,
    whole,
)
from dynenvs.envs.core.limit import NO_LIMIT
from dynenvs.envs.core.shell import Shell
from dynenvs.envs.core.state import Arrays, State
from dynenvs.model.mujoco_words import SHELL, KnowsMujoco
from dynenvs.simulation.threads import available_threads

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

MOST_WORLDS, MOST_THREADS = 10**6, 1024


class VectorShell(KnowsMujoco, VectorEnv[NDArray[Any], NDArray[np.float32], NDArray[Any]]):
    """Many worlds of a task; a subclass has their physics and names its `env_type`.

    Observations, rewards and flags come as arrays of shape (num_envs, ...), bit for bit those of
    the single environment; `info` as Gymnasium's vector environments give it: an array and a mask
    `_key` for each key.  All that is returned is the caller's own.

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
        width, height: size of each picture [pixels]; the single environment's if None.
        options: the single environment's.

    Raises:
        ValueError: an option out of its range.
        TypeError: an option that does not exist.
    """

    _mujoco_words = SHELL
    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 100}  # noqa: RUF012
    env_type: ClassVar[type[Shell]]
    task: Any
    single_observation_space: gym.spaces.Box
    single_action_space: gym.spaces.Box

    def __init__(
        self,
        num_envs: int = 1,
        *,
        num_threads: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        width: int | None = None,
        height: int | None = None,
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
        self.render_mode = render_mode
        sides = inspect.signature(self.env_type).parameters
        self.width = picture_side(sides["width"].default if width is None else width, "width")
        self.height = picture_side(sides["height"].default if height is None else height, "height")
        self.single_observation_space = self.task.observation_space
        self.single_action_space = self.task.action_space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.metadata = {
            **type(self).metadata,
            "render_fps": max(1, round(1 / self.task.dt)),
            "autoreset_mode": autoreset_mode,
        }
        self._spec: EnvSpec | None = None
        self._worlds = self._make_worlds()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Say in the signature which options there are: the task's and the batch's."""
        super().__init_subclass__(**kwargs)
        if hasattr(cls, "env_type"):
            own = [
                p
                for p in inspect.signature(VectorShell.__init__).parameters.values()
                if p.name not in ("self", "options")
            ]
            options = inspect.signature(cls.env_type.task_type).parameters.values()
            cls.__signature__ = inspect.Signature([*own, *options])  # type: ignore[attr-defined]

    @abstractmethod
    def _make_worlds(self) -> Any:
        """The worlds of `task`, as the single environment's `window` takes them."""

    @abstractmethod
    def _arrays(self) -> Arrays:
        """The arrays of all worlds, as `State` reads them."""

    @abstractmethod
    def _over(self) -> NDArray[Any]:
        """Whose episode is over (not zero), shape (num_envs,), a view that may be written into."""

    @property
    def world(self) -> State:
        """What the worlds are at the moment, by names, a row each: `world.q`, `world.body(...)`."""
        return State(self._arrays, single=False)

    @property
    def spec(self) -> EnvSpec | None:
        """What `gym.make_vec` made it from, with the limit of its episodes that it really has."""
        return self._spec

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:
        limit = self.task.max_episode_steps
        self._spec = spec and replace(spec, max_episode_steps=None if limit == NO_LIMIT else limit)

    # What a reset is given

    def _seeds(self, seed: Any) -> list[int | None]:
        """A seed for each world; a single one begins the batch's own random numbers anew, too.

        Raises:
            ValueError: no natural number, and no list of them with one a world.
        """
        given = seed.tolist() if isinstance(seed, np.ndarray) else seed
        if given is None:
            return [None] * self.num_envs
        if not is_list(given):
            if not isinstance(given, numbers.Real):
                raise ValueError(f"seed must be a whole number, a list of them or None{got(seed)}")
            first = whole(given, "seed", 0, MOST_SEED)
            VectorEnv.reset(self, seed=first)
            return [first + i for i in range(self.num_envs)]
        if len(given) != self.num_envs:
            raise ValueError(f"seed must be {self.num_envs} numbers, one a world, got {len(given)}")
        return [
            s if s is None else whole(s, f"seed[{i}]", 0, MOST_SEED) for i, s in enumerate(given)
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

    # Single worlds

    @cached_property
    def envs(self) -> tuple[Any, ...]:
        """Each world as a single environment that shares the batch's memory."""
        picture = {"render_mode": self.render_mode, "width": self.width, "height": self.height}
        return tuple(
            self.env_type.window(self.task, self._worlds, i, **picture)
            for i in range(self.num_envs)
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
            raise gym.error.ClosedEnvironmentError(f"{name}.{method}() was called after close()")
