"""The gym.Env shell around one compiled world: validation, seeding, state, rendering.

A task gives its model, its packed options and three kernels' worth of behaviour (`_start`,
`_advance`, `_observe`); everything that Gymnasium asks of an environment is here, once.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from dynenvs.edge import finite_vector
from dynenvs.envs.checks import choice, number, whole
from dynenvs.layout import Floats
from dynenvs.model import Model
from dynenvs.rng import seeded

Observation = NDArray[np.float64]

# Why an episode ended, as kernels report it; the words are what `info["end"]` says.
RUNNING, FELL, TOO_FAST, TIME_LIMIT, FAILED_STEP = range(5)
END_WORDS = ("", "fall", "velocity bound", "time limit", "no solution of the contact problem")

LEAST_TIMESTEP, MOST_TIMESTEP = 1e-6, 0.02  # coarser steps let fast feet sink in [s]
MOST_FRAMES = 1000  # physics steps in a control step
MOST_NOISE = 0.2  # at reset [rad] and [rad/s]
MOST_STEPS = 10**9  # control steps in an episode
LEAST_SIDE, MOST_SIDE = 16, 8192  # of a picture [pixels]


class DynEnv(gym.Env[Observation, NDArray[np.float32]]):
    """Shared shell of all environments.

    Args:
        model: the robot and its ground.
        task: the task's own state: one record (its generator, step count, command, ...).
        options: the task's constants: one record; those that all tasks share are filled in here.
        observation_space: its bounds are never exceeded.
        frame_skip: physics steps in a control step.
        timestep: length of a physics step [s].
        reset_noise: bound of the uniform noise on joint angles [rad] and velocities [rad/s].
        max_episode_steps: control steps until the episode is truncated.
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
        reset_noise: float,
        max_episode_steps: int,
        render_mode: str | None,
        width: int,
        height: int,
    ) -> None:
        if render_mode is not None:
            choice(render_mode, "render_mode", self.metadata["render_modes"])
        self.model = model
        self.render_mode = render_mode
        self.width = whole(width, "width", LEAST_SIDE, MOST_SIDE)
        self.height = whole(height, "height", LEAST_SIDE, MOST_SIDE)
        self.timestep = number(timestep, "timestep", LEAST_TIMESTEP, MOST_TIMESTEP, "s")
        self.frame_skip = whole(frame_skip, "frame_skip", 1, MOST_FRAMES)
        options["timestep"], options["frame_skip"] = self.timestep, self.frame_skip
        options["noise"] = number(reset_noise, "reset_noise", 0.0, MOST_NOISE, "rad")
        options["max_steps"] = whole(max_episode_steps, "max_episode_steps", 1, MOST_STEPS)
        self.metadata = {**type(self).metadata, "render_fps": max(1, round(1 / self.dt))}
        self.observation_space = observation_space
        self.action_space = gym.spaces.Box(-1.0, 1.0, (model.nu,), np.float32)
        self._rows = model.states(1)
        self._row = self._rows.view(np.uint8)
        self._buffer = model.workspace()
        self._task = task
        self._options = options
        self._torque = np.zeros(model.nu)  # of the last step, for info [N m]
        self._started = False
        self._renderer: Any = None

    # What a task provides

    def _start(self, options: dict[str, Any]) -> None:
        """Draw a starting state from the task's generator, with checked reset options."""
        raise NotImplementedError

    def _advance(self, action: Floats, observation: Observation) -> tuple[float, int]:
        """Run one control step; returns (reward, why the episode ended)."""
        raise NotImplementedError

    def _observe(self, observation: Observation) -> None:
        """Write the observation of the present state."""
        raise NotImplementedError

    def _check_reset_options(self, options: dict[str, Any]) -> None:
        """Refuse bad `reset(options=...)`, changing nothing."""
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
            ValueError: an option that does not exist, or a value out of its range; nothing is
                changed then, the generator included.
        """
        if options is None:
            options = {}
        if not isinstance(options, dict):
            raise ValueError(f"reset options must be a dict or None, got {options!r}")
        self._check_reset_options(options)
        super().reset(seed=seed)
        if seed is not None:
            self._task["generator"][0] = seeded(seed)
        elif not self._started:
            self._task["generator"][0] = seeded(int(self.np_random.integers(2**63)))
        self._rows[:] = self.model.states(1)
        self._torque = np.zeros(self.model.nu)
        self._start(options)
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
                shape (nu,); the array itself is left alone.

        Raises:
            ValueError: not real numbers, wrong shape, or not finite; the state is untouched.
        """
        if not self._started:
            raise gym.error.ResetNeeded("call reset() before the first step()")
        # A copy: kernels clip it in place
        torque = finite_vector(action, self.model.nu, "action")
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
        return {"world": _copy(self._rows), "task": _copy(self._task)}

    def set_state(self, state: dict[str, NDArray[Any]]) -> None:
        """Restore what `get_state` gave.

        Raises:
            ValueError: not a state of this environment.
        """
        mine = {"world": self._rows, "task": self._task}
        if not (
            isinstance(state, dict)
            and all(_alike(state.get(name), records) for name, records in mine.items())
        ):
            raise ValueError(f"not a state that get_state() of {type(self).__name__} returned")
        for name, records in mine.items():
            records[:] = state[name]
        self._torque = np.zeros(self.model.nu)  # no part of the state
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


def _copy(records: NDArray[Any]) -> NDArray[Any]:
    """A copy byte by byte: `ndarray.copy` leaves the padding between fields undefined."""
    return records.view(np.uint8).copy().view(records.dtype)


def _alike(value: Any, records: NDArray[Any]) -> bool:
    return (
        isinstance(value, np.ndarray)
        and value.dtype == records.dtype
        and value.shape == records.shape
    )
