"""The gym.Env shell of Gymnasium's MuJoCo tasks: a batch of one world."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, cast

import gymnasium as gym
import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynenvs.envs.checks import MOST_SEED, real_numbers, whole
from dynenvs.envs.core.shell import Observation, Shell, checked_options
from dynenvs.envs.core.state import Arrays
from dynenvs.envs.mujoco.batch import Batch, checked_actions
from dynenvs.envs.mujoco.task import Floats, MujocoTask
from dynenvs.envs.render import Renderer
from dynenvs.envs.render.snapshot import snapshot
from dynenvs.envs.render.window import Mode

VIEW = 3.0  # height of the picture [m]


class MujocoEnv(Shell):
    """Shared shell of Gymnasium's MuJoCo tasks; a subclass names its `task_type`.

    The arguments are `Shell`'s, options by Gymnasium's names; pictures are dynenvs' own, without
    options for cameras.
    """

    task: MujocoTask
    task_type: ClassVar[type[MujocoTask]]

    def __init__(
        self,
        *,
        render_mode: str | None = None,
        width: int = 480,
        height: int = 480,
        **options: Any,
    ) -> None:
        super().__init__(render_mode=render_mode, width=width, height=height, **options)

    def _take(self, worlds: Batch | None, index: int) -> None:
        self.batch = Batch(self.task, 1) if worlds is None else worlds
        self._alone = worlds is None
        self._kind, self._shape = self.task.observation_space.dtype, self.task.action_space.shape
        self.index = index  # of the world in the batch

    def _arrays(self) -> Arrays:
        return self.batch.arrays(slice(self.index, self.index + 1))

    @property
    def np_random(self) -> np.random.Generator:
        """The world's random numbers."""
        return self.batch.generators[self.index]

    @np_random.setter
    def np_random(self, value: np.random.Generator) -> None:
        self.batch.give(self.index, value)
        self._np_random_seed = -1

    @property
    def window_closed(self) -> bool:
        """Whether there was a window that its user has closed."""
        return self._renderer is not None and self._renderer.closed

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode, in the state in which Gymnasium's begins with that seed.

        Raises:
            ValueError: a seed that is no natural number, or options: there are none.
        """
        checked_options(options, ())
        seed = None if seed is None else whole(seed, "seed", 0, MOST_SEED)
        super().reset(seed=seed)
        self._closed = False
        if seed is not None:
            self.batch.give(self.index, cast(np.random.Generator, self._np_random))
        self.batch.begin(self.batch.only(self.index))
        if self.render_mode == "human":
            self.render()
        info = self.batch.info.of(self.index)
        return self._observe(), {name: info[name] for name in self.batch.told_at_first}

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """One control step with the motors' controls held, clipped to their ranges.

        Raises:
            ValueError: not real numbers, wrong shape, or not finite; the state is untouched.
            gymnasium.error.ResetNeeded: no episode has begun.
            gymnasium.error.ClosedEnvironmentError: after `close`.
        """
        if self._closed:
            self._refuse_closed("step")
        batch, i = self.batch, self.index
        if not batch.started[i]:
            raise gym.error.ResetNeeded("call reset() before the first step()")
        self._act(action)
        if self.render_mode == "human":
            self.render()
        over, cut = batch.over.item(i), batch.cut.item(i)
        return self._observe(), batch.rewards.item(i), over, cut, batch.info.of(i)

    def _act(self, action: NDArray[np.float32]) -> None:
        """A control step of this world alone; numbers are looked at where they are used."""
        batch, shape = self.batch, self._shape
        given: ArrayLike = action
        if type(action) is not np.ndarray or action.shape != shape or action.dtype.char not in "fd":
            given = checked_actions(action, shape, "action")
        try:
            batch.step(given, self.index, None if self._alone else batch.only(self.index))
        except ValueError:
            checked_actions(action, shape, "action")
            raise

    def _observe(self) -> Observation:
        seen: Observation = self.batch.observations[self.index].astype(self._kind)
        return seen

    def set_state(self, qpos: ArrayLike, qvel: ArrayLike) -> None:
        """Begin an episode in this state, shapes (nq,) and (nv,).

        Raises:
            ValueError: wrong shape, or not finite.
        """
        model = self.batch.model
        q, v = real_numbers(qpos, (model.nq,), "qpos"), real_numbers(qvel, (model.nv,), "qvel")
        self.batch.place(self.index, q, v)

    def state_vector(self) -> Floats:
        """Positions, then velocities, shape (nq + nv,)."""
        return np.concatenate([self.batch.worlds.q[self.index], self.batch.worlds.v[self.index]])

    def _draw(self) -> NDArray[np.uint8] | None:
        if self._renderer is None:
            self._renderer = _renderer(self)
        model, q = self.task.model, self.batch.worlds.q[self.index]
        forces = self.batch.worlds.get_state()["memory"]["total"][self.index] / self.dt
        frame = snapshot(model, q, forces)
        masses = model.bodies["mass"]
        middle = masses @ frame.positions / masses.sum()
        focus = np.array([middle[0], middle[1], 0.0])  # the ground beneath it
        picture: NDArray[np.uint8] | None = self._renderer.draw(frame._replace(focus=focus))
        return picture


def _renderer(env: MujocoEnv) -> Renderer:
    """A renderer of the environment's picture size; the camera keeps to the robot's middle."""
    make = partial(Renderer, env.task.model, mode=cast(Mode, env.render_mode))
    return make(
        width=env.width, height=env.height, fps=1 / env.dt, title=env.title, view_height=VIEW
    )
