"""The gym.Env shell around one compiled world: validation, seeding, state, rendering.

A task gives its model, its packed options and three kernels' worth of behaviour (`_start`,
`_advance`, `_observe`); everything that Gymnasium asks of an environment is here, once.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from dynenvs.layout import Floats
from dynenvs.model import Model
from dynenvs.rng import seeded

Observation = NDArray[np.float64]

# Why an episode ended, as kernels report it; the words are what `info["end"]` says.
RUNNING, FELL, TOO_FAST, TIME_LIMIT, FAILED_STEP = range(5)
END_WORDS = ("", "fall", "velocity bound", "time limit", "no solution of the contact problem")


class DynEnv(gym.Env[Observation, NDArray[np.float32]]):
    """Shared shell of all environments.

    Args:
        model: the robot and its ground.
        task: the task's own state: one record (its generator, step count, command, ...).
        options: the task's constants: one record.
        observation_space: its bounds are never exceeded.
        frame_skip: physics steps in a control step.
        timestep: length of a physics step [s].
        render_mode: "human", "rgb_array" or None.
        width, height: size of the picture [pixels].
    """

    metadata: dict[str, Any] = {"render_modes": ["human", "rgb_array"], "render_fps": 100}  # noqa: RUF012
    observation_space: gym.spaces.Box  # type: ignore[assignment]
    action_space: gym.spaces.Box  # type: ignore[assignment]

    def __init__(
        self,
        model: Model,
        task: NDArray[Any],
        options: NDArray[Any],
        observation_space: gym.spaces.Box,
        *,
        frame_skip: int,
        timestep: float,
        render_mode: str | None,
        width: int = 960,
        height: int = 540,
    ) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            choices = ", ".join(self.metadata["render_modes"])
            raise ValueError(f"unknown render_mode {render_mode!r}; choose from: {choices}, None")
        self.model = model
        self.render_mode = render_mode
        self.width, self.height = width, height
        self.timestep, self.frame_skip = timestep, frame_skip
        self.metadata = {**type(self).metadata, "render_fps": round(1 / self.dt)}
        self.observation_space = observation_space
        self.action_space = gym.spaces.Box(-1.0, 1.0, (model.nu,), np.float32)
        self._rows = model.states(1)
        self._row = self._rows.view(np.uint8)
        self._buffer = model.workspace()
        self._task = task
        self._options = options
        self._started = False
        self._renderer: Any = None

    # What a task provides

    def _start(self) -> None:
        """Draw a starting state from the task's generator."""
        raise NotImplementedError

    def _advance(self, action: Floats, observation: Observation) -> tuple[float, int]:
        """Run one control step; returns (reward, why the episode ended)."""
        raise NotImplementedError

    def _observe(self, observation: Observation) -> None:
        """Write the observation of the present state."""
        raise NotImplementedError

    def _apply_reset_options(self, options: dict[str, Any]) -> None:
        """Check and take over `reset(options=...)`."""
        if options:
            raise ValueError(f"unknown reset option {next(iter(options))!r}; there are none")

    def _info(self) -> dict[str, Any]:
        """Readings of the present state."""
        status = self._rows["status"][0]
        return {
            "residual": float(status["residual"]),
            "degraded": int(status["degraded"]),
            "failed": int(status["failed"]),
        }

    # Gymnasium

    @property
    def dt(self) -> float:
        """Control period [s]."""
        return self.timestep * self.frame_skip

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode; a seed decides everything that follows.

        Raises:
            ValueError: an option that does not exist, or a value out of its range.
        """
        super().reset(seed=seed)
        if seed is not None:
            self._task["generator"][0] = seeded(seed)
        elif not self._started:
            self._task["generator"][0] = seeded(int(self.np_random.integers(2**63)))
        self._apply_reset_options(dict(options or {}))
        self._rows[:] = self.model.states(1)
        self._start()
        self._started = True
        observation = np.empty(self.observation_space.low.shape)
        self._observe(observation)
        if self.render_mode == "human":
            self.render()
        return observation, self._info()

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """One control step: the action is held for `dt`.

        Args:
            action: torque of each actuated joint over its effort limit, clipped to [-1, 1],
                shape (nu,).

        Raises:
            ValueError: wrong shape, or not finite; the state is untouched.
        """
        if not self._started:
            raise gym.error.ResetNeeded("call reset() before the first step()")
        torque = np.asarray(action, dtype=np.float64)
        if torque.shape != (self.model.nu,):
            raise ValueError(f"action must have shape ({self.model.nu},), got {torque.shape}")
        if not np.isfinite(torque).all():
            raise ValueError(f"action must be finite, got {torque}")
        observation = np.empty(self.observation_space.low.shape)
        reward, end = self._advance(torque, observation)
        info = self._info()
        if end != RUNNING:
            info["end"] = END_WORDS[end]
        if self.render_mode == "human":
            self.render()
        return observation, reward, end in (FELL, TOO_FAST), end in (TIME_LIMIT, FAILED_STEP), info

    # State

    def get_state(self) -> dict[str, NDArray[Any]]:
        """Everything that decides the future, bit for bit: world, warm start, task, generator."""
        return {"world": self._rows.copy(), "task": self._task.copy()}

    def set_state(self, state: dict[str, NDArray[Any]]) -> None:
        """Restore what `get_state` gave.

        Raises:
            ValueError: not a state of this environment.
        """
        world, task = state.get("world"), state.get("task")
        if (
            world is None
            or task is None
            or world.dtype != self._rows.dtype
            or task.dtype != self._task.dtype
        ):
            raise ValueError(f"not a state that get_state() of {type(self).__name__} returned")
        self._rows[:] = world
        self._task[:] = task
        self._started = True

    def __getstate__(self) -> dict[str, Any]:
        # Views and windows are made anew: a pickled view would no longer share memory.
        return {k: v for k, v in vars(self).items() if k not in ("_row", "_renderer")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._row = self._rows.view(np.uint8)
        self._renderer = None

    # Drawing

    def render(self) -> NDArray[np.uint8] | None:
        """The present state as a picture, shape (height, width, 3), or on the window."""
        if self.render_mode is None:
            gym.logger.warn(
                "render() without a render_mode: make the environment with "
                'render_mode="rgb_array" or "human"'
            )
            return None
        from dynenvs.envs.view import draw

        return draw(self)

    def readings(self) -> dict[str, str]:
        """Words for the picture's line of readings."""
        return {"time": f"{float(self._rows['status']['time'][0]):.2f} s"}

    @property
    def focus(self) -> Floats:
        """The point that the camera follows [m], shape (3,)."""
        return np.zeros(3)

    def close(self) -> None:
        """Close the window, if there is one; may be called twice."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None
