"""The gym.Env shell: a batch of one world, with Gymnasium's manners.

Physics, options, states and `info` are the task's (`task.py`) and its worlds' (`worlds.py`); the
vector environment of `vector.py` stands on the same two.
"""

from __future__ import annotations

import inspect
from typing import Any, ClassVar, Self

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from dynenvs.envs.checks import (
    MOST_SEED,
    choice,
    known,
    known_arguments,
    picture_side,
    whole,
)
from dynenvs.envs.core.blocks import Block
from dynenvs.envs.core.changing import change_options
from dynenvs.envs.core.codes import STEP, TERMINATIONS, TRUNCATIONS
from dynenvs.envs.core.task import Task
from dynenvs.envs.core.worlds import Worlds
from dynenvs.memory.layout import Floats
from dynenvs.model.model import Model

Observation = NDArray[np.float64]


class DynEnv(gym.Env[Observation, NDArray[np.float32]]):
    """Shared shell of all environments; a subclass names its `task_type`.

    Args:
        render_mode: "human", "rgb_array" or None.
        width, height: size of the picture [pixels].
        options: the task's, see its class.

    Raises:
        ValueError: an option out of its range.
        TypeError: an option that does not exist.
    """

    metadata: dict[str, Any] = {"render_modes": ["human", "rgb_array"], "render_fps": 100}  # noqa: RUF012
    task_type: ClassVar[type[Task]]
    observation_space: gym.spaces.Box  # type: ignore[assignment]
    action_space: gym.spaces.Box  # type: ignore[assignment]

    def __init__(
        self,
        *,
        render_mode: str | None = None,
        width: int = 960,
        height: int = 540,
        **options: Any,
    ) -> None:
        names = inspect.signature(type(self)).parameters
        known_arguments(options, names, f"{type(self).__name__}.__init__")
        task = self.task_type(**options)
        self._set_up(task, Worlds(task, 1), render_mode, width, height)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Say in the signature which options there are: the task's and the picture's."""
        super().__init_subclass__(**kwargs)
        if "task_type" in vars(cls):
            own = inspect.signature(DynEnv.__init__).parameters.values()
            picture = [p for p in own if p.name in ("render_mode", "width", "height")]
            options = inspect.signature(cls.task_type).parameters.values()
            cls.__signature__ = inspect.Signature([*options, *picture])  # type: ignore[attr-defined]

    def _set_up(
        self, task: Task, worlds: Worlds, render_mode: str | None, width: int, height: int
    ) -> None:
        if render_mode is not None:
            choice(render_mode, "render_mode", type(self).metadata["render_modes"])
        self.task, self.worlds = task, worlds
        self.render_mode = render_mode
        self.width = picture_side(width, "width")
        self.height = picture_side(height, "height")
        self.metadata = {**type(self).metadata, "render_fps": max(1, round(1 / task.dt))}
        self.observation_space, self.action_space = task.observation_space, task.action_space
        self._renderer: Any = None
        self._closed = False

    @classmethod
    def window(cls, task: Task, worlds: Worlds, index: int, **picture: Any) -> Self:
        """World `index` of a batch as an environment; it shares the batch's memory.

        Args:
            task: what the worlds are.
            worlds: the batch.
            index: which of them.
            picture: render_mode, width and height.
        """
        env = cls.__new__(cls)
        env._set_up(task, worlds.one(index), **picture)
        return env

    @property
    def model(self) -> Model:
        """The robot and its ground."""
        return self.task.model

    @property
    def dt(self) -> float:
        """Control period [s]."""
        return self.task.dt

    @property
    def observation_blocks(self) -> tuple[Block, ...]:
        """The parts of an observation in their order: names, bounds, units, meanings."""
        return self.task.observation_blocks

    @property
    def observation_slices(self) -> dict[str, slice]:
        """Where they are: `observation[env.unwrapped.observation_slices["joint angles"]]`."""
        return dict(self.task.observation_slices)

    @property
    def title(self) -> str:
        """What pictures call it."""
        return type(self).__name__.removesuffix("Env")

    # Gymnasium

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode; a seed decides everything that follows.

        After `close` it opens the environment again: stable-baselines3's `check_env` asks for it.

        Raises:
            ValueError: an option that does not exist, a value out of its range, or a seed that is
                no natural number; nothing is changed then, the generator included.
        """
        wanted = checked_options(options, self.task.reset_options)
        self.task.refuse_with_starts(wanted)
        fields = self.task.reset_fields(wanted, None)
        seed = None if seed is None else whole(seed, "seed", 0, MOST_SEED)
        super().reset(seed=seed)
        self._closed = False
        self.worlds.begin([seed], fields, self.np_random)
        if self.render_mode == "human":
            self.render()
        return self.worlds.observations[0].copy(), self.worlds.info()

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """One control step: the action is held for `dt`.

        A step that reaches the environment's own limit `max_episode_steps` is truncated, also if
        it ends the episode for another reason, as Gymnasium's TimeLimit wrapper would have it.

        Args:
            action: torque of each actuated joint over its effort limit, clipped to [-1, 1],
                shape (nu,); the array itself is left alone.

        Raises:
            ValueError: not real numbers, wrong shape, or not finite; the state is untouched.
            gymnasium.error.ResetNeeded: no episode has begun.
            gymnasium.error.ClosedEnvironmentError: after `close`.
        """
        self._refuse_closed("step")
        worlds = self.worlds
        if not worlds.started[0]:
            raise gym.error.ResetNeeded("call reset() before the first step()")
        worlds.step(action, STEP, self.action_space.low.shape, "action")
        end = int(worlds.ends[0])
        if self.render_mode == "human":
            self.render()
        return (
            worlds.observations[0].copy(),
            worlds.rewards.item(),
            end in TERMINATIONS,
            end in TRUNCATIONS or (end in TERMINATIONS and worlds.is_at_limit()),
            worlds.info(),
        )

    def change_options(self, **options: Any) -> None:
        """Give options other values from now on; what an episode has drawn already it keeps.

        So a curriculum makes a task harder: `change_options(push_impulse=10.0)`.  Make it with
        the hardest values that it shall have: they decide what there is room for.  Worlds of a
        batch share their options: one changes them for all.

        Raises:
            TypeError: an option that does not exist.
            ValueError: a value out of its range, or an option that shapes the worlds (robot,
                ground, observation, clock); nothing is changed then.
        """
        change_options(self.task, options)

    # State

    def get_state(self) -> dict[str, NDArray[Any]]:
        """Everything that decides the future, bit for bit: world, warm start, task, generator.

        The count of control steps is a part of it; that of Gymnasium's TimeLimit wrapper, which
        `gym.make` puts around the environment, is not: it counts from the wrapper's last reset.
        """
        return self.worlds.get_state()

    def set_state(self, state: dict[str, NDArray[Any]]) -> None:
        """Restore what `get_state` gave, here or of one world of a batch.

        Raises:
            ValueError: not a state of this environment.
        """
        self.worlds.set_state(state)

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k != "_renderer"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._renderer = None

    # Drawing

    def render(self) -> NDArray[np.uint8] | None:
        """The present state as a picture, shape (height, width, 3), or on the window.

        Raises:
            gymnasium.error.ClosedEnvironmentError: after `close`.
        """
        self._refuse_closed("render")
        if self.render_mode is None:
            gym.logger.warn(
                "render() without a render_mode: make the environment with "
                'render_mode="rgb_array" or "human"'
            )
            return None
        from dynenvs.envs.core.view import draw

        return draw(self)

    def readings(self) -> dict[str, str]:
        """What the line at the top of the picture says: labels and texts, in order."""
        return {"time": f"{float(self.worlds.states['status']['time'][0]):.2f} s"}

    @property
    def pace(self) -> tuple[float, float] | None:
        """Speed forward and the command for it [m/s], of a robot that walks."""
        return None

    @property
    def focus(self) -> Floats:
        """The point that the camera follows [m], shape (3,)."""
        return np.zeros(3)

    @property
    def targets(self) -> Floats:
        """Places that the robot is to reach [m], shape (k, 3)."""
        return np.zeros((0, 3))

    def close(self) -> None:
        """Close the window, if there is one; may be called twice.

        Steps and pictures are refused from then on, until the next reset.
        """
        self._closed = True
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

    def _refuse_closed(self, method: str) -> None:
        """Make sure that the environment has not been closed.

        Raises:
            gymnasium.error.ClosedEnvironmentError: it has.
        """
        if self._closed:
            name = type(self).__name__
            raise gym.error.ClosedEnvironmentError(
                f"{name}.{method}() after close(); reset() opens it again"
            )


def checked_options(options: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """The argument `options` of a reset as a dictionary of its own.

    Args:
        options: as the user gave them.
        names: of those that there are.

    Raises:
        ValueError: it is neither a dictionary nor None, or has other names.
    """
    if options is None:
        return {}
    if not isinstance(options, dict):
        raise ValueError(f"reset options must be a dict or None, got {options!r}")
    for name in options:
        known(name, names, "reset option")
    return dict(options)
