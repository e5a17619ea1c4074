"""What all environments for one world share as Gymnasium's: options, pictures, `close`."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from dynenvs.envs.checks import choice, got, known, known_arguments, picture_side
from dynenvs.envs.core.state import Arrays, State
from dynenvs.model.mujoco_words import SHELL, KnowsMujoco

Observation = NDArray[Any]  # float64, or float32 if that was asked for


class Shell(KnowsMujoco, gym.Env[Observation, NDArray[np.float32]]):
    """An environment of one world; a subclass has its physics.

    Args:
        render_mode: "human", "rgb_array" or None.
        width, height: size of the picture [pixels].
        options: the task's, see its class.

    Raises:
        ValueError: an option out of its range.
        TypeError: an option that does not exist.
    """

    _mujoco_words = SHELL
    metadata: dict[str, Any] = {"render_modes": ["human", "rgb_array"], "render_fps": 100}  # noqa: RUF012
    task_type: ClassVar[type[Any]]
    observation_space: gym.spaces.Box
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
        self._set_up(self.task_type(**options), None, 0, render_mode, width, height)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Say in the signature which options there are: the task's and the picture's."""
        super().__init_subclass__(**kwargs)
        if "task_type" in vars(cls):
            own = inspect.signature(cls.__init__).parameters.values()
            picture = [p for p in own if p.name in ("render_mode", "width", "height")]
            options = inspect.signature(cls.task_type).parameters.values()
            cls.__signature__ = inspect.Signature([*options, *picture])  # type: ignore[attr-defined]

    def _set_up(
        self,
        task: Any,
        worlds: Any,
        index: int,
        render_mode: str | None,
        width: int,
        height: int,
    ) -> None:
        if render_mode is not None:
            choice(render_mode, "render_mode", type(self).metadata["render_modes"])
        self.task = task
        self._take(worlds, index)
        self.render_mode = render_mode
        self.width = picture_side(width, "width")
        self.height = picture_side(height, "height")
        self.metadata = {**type(self).metadata, "render_fps": max(1, round(1 / task.dt))}
        self.observation_space, self.action_space = task.observation_space, task.action_space
        self._renderer: Any = None
        self._closed = False

    @abstractmethod
    def _take(self, worlds: Any, index: int) -> None:
        """Be world `index` of `worlds`, or a new world of its own if they are None."""

    @classmethod
    def window(cls, task: Any, worlds: Any, index: int, **picture: Any) -> Any:
        """World `index` of a batch as an environment; it shares the batch's memory.

        Args:
            task: what the worlds are.
            worlds: the batch.
            index: which of them.
            picture: render_mode, width and height.
        """
        env = cls.__new__(cls)
        env._set_up(task, worlds, index, **picture)
        return env

    @abstractmethod
    def _arrays(self) -> Arrays:
        """The arrays of this one world, as `State` reads them."""

    @property
    def world(self) -> State:
        """What the world is at the moment, by names: `world.q`, `world.body("pelvis").position`."""
        return State(self._arrays, single=True)

    def __repr__(self) -> str:
        seen, acts = self.observation_space.shape, self.action_space.shape
        sizes = f"observation {seen}, action {acts}, control step {1e3 * self.dt:g} ms"
        return f"<{type(self).__name__} of {self.spec.id if self.spec else 'no id'}: {sizes}>"

    @property
    def dt(self) -> float:
        """Control period [s]."""
        dt: float = self.task.dt
        return dt

    @property
    def title(self) -> str:
        """What pictures call it."""
        return type(self).__name__.removesuffix("Env")

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
        return self._draw()

    @abstractmethod
    def _draw(self) -> NDArray[np.uint8] | None:
        """The present state as a picture, or on the window (None)."""

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
                f"{name}.{method}() was called after close(); reset() opens it again"
            )

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_renderer": None}


def checked_options(options: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """The argument `options` of a reset as a dictionary of its own.

    Args:
        options: as the user gave them.
        names: of those that there are.

    Raises:
        ValueError: it is neither a mapping nor None, or has other names.
    """
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise ValueError(f"reset options must be a dict or None{got(options)}")
    for name in options:
        known(name, names, "reset option")
    return dict(options)
