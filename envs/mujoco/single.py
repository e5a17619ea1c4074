"""The gym.Env shell of Gymnasium's MuJoCo tasks: a batch of one world."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any, ClassVar, cast

import gymnasium as gym
import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynenvs.envs.checks import MOST_SEED, choice, known_arguments, picture_side, whole
from dynenvs.envs.mujoco.batch import Batch
from dynenvs.envs.mujoco.task import Floats, MujocoTask
from dynenvs.envs.render import Renderer
from dynenvs.envs.render.snapshot import snapshot
from dynenvs.envs.render.window import Mode

VIEW = 3.0  # height of the picture [m]
ALL = np.ones(1, np.bool_)


class MujocoEnv(gym.Env[Floats, NDArray[np.float32]]):
    """Shared shell of Gymnasium's MuJoCo tasks; a subclass names its `task_type`.

    Args:
        render_mode: "human", "rgb_array" or None.
        width, height: size of the picture [pixels].
        options: the task's, by Gymnasium's names; pictures are dynenvs' own, without options for
            cameras.

    Raises:
        ValueError: an option out of its range.
        TypeError: an option that does not exist.
    """

    metadata: dict[str, Any] = {"render_modes": ["human", "rgb_array"], "render_fps": 20}  # noqa: RUF012
    task_type: ClassVar[type[MujocoTask]]
    observation_space: gym.spaces.Box  # type: ignore[assignment]
    action_space: gym.spaces.Box  # type: ignore[assignment]

    def __init__(
        self,
        *,
        render_mode: str | None = None,
        width: int = 480,
        height: int = 480,
        **options: Any,
    ) -> None:
        names = inspect.signature(type(self)).parameters
        known_arguments(options, names, f"{type(self).__name__}.__init__")
        if render_mode is not None:
            choice(render_mode, "render_mode", type(self).metadata["render_modes"])
        self.task = self.task_type(**options)
        self.batch = Batch(self.task, 1)
        self.render_mode = render_mode
        self.width, self.height = picture_side(width, "width"), picture_side(height, "height")
        self.metadata = {**type(self).metadata, "render_fps": max(1, round(1 / self.task.dt))}
        self.observation_space = self.task.observation_space
        self.action_space = self.task.action_space
        self._renderer: Any = None
        self._closed = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Say in the signature which options there are: the task's and the picture's."""
        super().__init_subclass__(**kwargs)
        own = inspect.signature(MujocoEnv.__init__).parameters.values()
        picture = [p for p in own if p.name in ("render_mode", "width", "height")]
        options = inspect.signature(cls.task_type).parameters.values()
        cls.__signature__ = inspect.Signature([*options, *picture])  # type: ignore[attr-defined]

    @property
    def dt(self) -> float:
        """Control period [s]."""
        return self.task.dt

    @property
    def window_closed(self) -> bool:
        """Whether there was a window that its user has closed."""
        return self._renderer is not None and self._renderer.closed

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, dict[str, Any]]:
        """Begin an episode, in the state in which Gymnasium's begins with that seed.

        Raises:
            ValueError: a seed that is no natural number, or options: there are none.
        """
        if options:
            raise ValueError(f"there are no reset options, got {options!r}")
        seed = None if seed is None else whole(seed, "seed", 0, MOST_SEED)
        super().reset(seed=seed)
        self._closed = False
        self.batch.generators[0] = self.np_random
        info = self.batch.begin(ALL)
        if self.render_mode == "human":
            self.render()
        return self._observe(), _of_one(info)

    def step(self, action: NDArray[np.float32]) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        """One control step with the motors' controls held, clipped to their ranges.

        Raises:
            ValueError: not real numbers, wrong shape, or not finite; the state is untouched.
            gymnasium.error.ResetNeeded: no episode has begun.
            gymnasium.error.ClosedEnvironmentError: after `close`.
        """
        self._refuse_closed("step")
        if not self.batch.started[0]:
            raise gym.error.ResetNeeded("call reset() before the first step()")
        actions = self.batch.checked(action, self.action_space.low.shape, "action")
        outcome = self.batch.step(actions, ALL)
        if self.render_mode == "human":
            self.render()
        reward, over = outcome.rewards.item(), outcome.terminated.item()
        return self._observe(), reward, over, False, _of_one(outcome.info)

    def _observe(self) -> Floats:
        seen: Floats = self.batch.observe()[0]
        return seen

    def set_state(self, qpos: ArrayLike, qvel: ArrayLike) -> None:
        """Begin an episode in this state, shapes (nq,) and (nv,).

        Raises:
            ValueError: wrong shape, or not finite.
        """
        self.batch.place(np.array(qpos, ndmin=2), np.array(qvel, ndmin=2), ALL)

    def state_vector(self) -> Floats:
        """Positions, then velocities, shape (nq + nv,)."""
        return np.concatenate([self.batch.worlds.q[0], self.batch.worlds.v[0]])

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_renderer": None}

    def render(self) -> NDArray[np.uint8] | None:
        """The present state as a picture, shape (height, width, 3), or on the window.

        Raises:
            gymnasium.error.ClosedEnvironmentError: after `close`.
        """
        self._refuse_closed("render")
        if self.render_mode is None:
            gym.logger.warn('render() without a render_mode: make it with render_mode="rgb_array"')
            return None
        if self._renderer is None:
            self._renderer = _renderer(self)
        model, q = self.task.model, self.batch.worlds.q[0]
        forces = self.batch.worlds.get_state()["memory"]["total"][0] / self.dt
        frame = snapshot(model, q, forces)
        masses = model.bodies["mass"]
        middle = masses @ frame.positions / masses.sum()
        focus = np.array([middle[0], middle[1], 0.0])  # the ground beneath it
        picture: NDArray[np.uint8] | None = self._renderer.draw(frame._replace(focus=focus))
        return picture

    def close(self) -> None:
        """Close the window, if there is one; may be called twice."""
        self._closed = True
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

    def _refuse_closed(self, method: str) -> None:
        if self._closed:
            name = type(self).__name__
            raise gym.error.ClosedEnvironmentError(
                f"{name}.{method}() after close(); reset() opens it again"
            )


def _renderer(env: MujocoEnv) -> Renderer:
    """A renderer of the environment's picture size; the camera keeps to the robot's middle."""
    make = partial(Renderer, env.task.model, mode=cast(Mode, env.render_mode))
    title = type(env).__name__.removesuffix("Env")
    return make(width=env.width, height=env.height, fps=1 / env.dt, title=title, view_height=VIEW)


def _of_one(info: dict[str, Floats]) -> dict[str, Any]:
    """Entries of a batch of one as numbers, or arrays where they are such."""
    return {key: value[0] for key, value in info.items()}
