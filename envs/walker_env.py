"""The Gymnasium shell that both planar walkers share: names, bounds, options, words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from dynenvs.envs.base import DynEnv, Observation
from dynenvs.envs.walker import OPTIONS, ROOT, TASK, advance, gait_frequency, observe, start
from dynenvs.kinematics import update_poses
from dynenvs.layout import Floats, open_model, open_workspace
from dynenvs.model import Model

HEIGHT_BOUND = 3.0  # [m]
VELOCITY_BOUND = 60.0  # of a joint [rad/s]
ROOT_VELOCITY_BOUND = 15.0  # [m/s]


class PlanarWalker(DynEnv):
    """A walker with root coordinates (x, z) that follows a commanded speed on flat ground.

    Args:
        model: its first two coordinates are the root's x and z.
        standing: joint angles of the standing pose [rad], shape (nu,).
        feet: names of the geoms that may touch the ground, by leg.
        command_range: range of the commanded speed [m/s].
        gait: frequency at speed zero [Hz] and its growth with speed [Hz s/m].
        timestep, frame_skip: physics step [s] and steps in a control step.
        reset_noise: bound of the uniform noise on joint angles [rad] and velocities [rad/s].
        terminate_on_fall: whether a fall ends the episode.
        max_episode_steps: control steps until the episode is truncated.
    """

    def __init__(
        self,
        model: Model,
        *,
        standing: Floats,
        feet: Mapping[str, tuple[str, ...]],
        command_range: tuple[float, float],
        gait: tuple[float, float],
        timestep: float,
        frame_skip: int,
        reset_noise: float,
        terminate_on_fall: bool,
        max_episode_steps: int,
        command: float | None,
        render_mode: str | None,
        width: int,
        height: int,
    ) -> None:
        _check(timestep, frame_skip, reset_noise, max_episode_steps, command_range)
        self.command_range = command_range
        self.legs = tuple(feet)
        self.gait = gait
        self._standing = np.concatenate([np.zeros(ROOT), standing])
        owner = {geom: leg for leg, names in enumerate(feet.values()) for geom in names}
        self.foot_of_feature = np.array(
            [owner.get(model.geoms[f.geom_a].name, -1) for f in model.features], dtype=np.int64
        )
        options = np.zeros(1, OPTIONS)
        options["timestep"], options["frame_skip"] = timestep, frame_skip
        options["max_steps"] = max_episode_steps
        options["terminate_on_fall"] = terminate_on_fall
        options["low_command"], options["high_command"] = command_range
        options["slow_frequency"], options["frequency_slope"] = gait
        options["noise"] = reset_noise
        options["height_bound"] = HEIGHT_BOUND
        options["velocity_bound"] = VELOCITY_BOUND
        options["root_velocity_bound"] = ROOT_VELOCITY_BOUND
        task = np.zeros(1, TASK)
        task["fixed_command"] = math.nan
        super().__init__(
            model,
            task,
            options,
            _bounds(model, command_range),
            frame_skip=frame_skip,
            timestep=timestep,
            render_mode=render_mode,
            width=width,
            height=height,
        )
        options["standing_height"] = self._standing_height()
        if command is not None:
            self._fix_command(command)
        self._constant_command = command

    def _standing_height(self) -> float:
        """Height of the hip above the lowest foot in the standing pose [m]."""
        from dynenvs.contact.detect import feature_gap

        m = open_model(self.model.packed)
        poses = open_workspace(m, self._buffer).pose
        update_poses(m, self._standing, poses)
        features = self.model.features
        return -min(
            feature_gap(features[f], poses)
            for f in range(len(features))
            if self.foot_of_feature[f] >= 0
        )

    def _fix_command(self, command: Any) -> None:
        low, high = self.command_range
        value = float(command)
        if not low <= value <= high:
            raise ValueError(f"command must lie in [{low}, {high}] m/s, got {command}")
        self._task["fixed_command"] = value

    def _apply_reset_options(self, options: dict[str, Any]) -> None:
        command = options.pop("command", self._constant_command)
        if options:
            raise ValueError(f"unknown reset option {next(iter(options))!r}; choose from: command")
        if command is None:
            self._task["fixed_command"] = math.nan
        else:
            self._fix_command(command)

    def _start(self) -> None:
        self._torque = np.zeros(self.model.nu)
        start(
            self.model.packed,
            self._row,
            self._buffer,
            self._task,
            self._options,
            self._standing,
            self.foot_of_feature,
        )

    def _observe(self, observation: Observation) -> None:
        observe(self.model.packed, self._row, self._task, self._options, observation)

    def _advance(self, action: Floats, observation: Observation) -> tuple[float, int]:
        end = advance(
            self.model.packed,
            self._row,
            self._buffer,
            self._task,
            self._options,
            self.foot_of_feature,
            action,
            observation,
        )
        self._torque = action * self.model.effort_limit[ROOT:]
        t = self._task[0]
        reward = t["reward_velocity"] + t["reward_ease"] + t["reward_height"]
        return float(reward), end

    def _info(self) -> dict[str, Any]:
        t = self._task[0]
        status = self._rows["status"][0]
        total = self._rows["memory"]["total"][0] / self.dt
        return {
            "x_position": float(self._rows["q"][0, 0]),
            "x_velocity": float(t["speed"]),
            "command": float(t["command"]),
            "torques": self._torque.copy(),
            "contact_forces": np.array(
                [total[self.foot_of_feature == i].sum(0) for i in range(len(self.legs))]
            ),
            "reward_velocity": float(t["reward_velocity"]),
            "reward_ease": float(t["reward_ease"]),
            "reward_height": float(t["reward_height"]),
            "residual": float(status["residual"]),
            "degraded": int(status["degraded"]),
            "failed": int(status["failed"]),
        }

    def readings(self) -> dict[str, str]:
        """Time, speed against command, residual."""
        t, status = self._task[0], self._rows["status"][0]
        return {
            "time": f"{float(status['time']):.2f} s",
            "speed": f"{float(t['speed']):.2f} / {float(t['command']):.2f} m/s",
            "residual": f"{float(status['residual']):.0e}",
        }

    @property
    def focus(self) -> Floats:
        """The hip's place above the ground [m]."""
        return np.array([self._rows["q"][0, 0], 0.0, 0.0])

    @property
    def gait_period(self) -> float:
        """Length of a gait cycle at the present command [s]."""
        return 1.0 / float(gait_frequency(self._options[0], float(self._task["command"][0])))


def _check(
    timestep: float,
    frame_skip: int,
    reset_noise: float,
    max_episode_steps: int,
    command_range: tuple[float, float],
) -> None:
    if not 0.0 < timestep <= 0.05:
        raise ValueError(f"timestep must lie in (0, 0.05] s, got {timestep}")
    if frame_skip < 1 or int(frame_skip) != frame_skip:
        raise ValueError(f"frame_skip must be a whole number from 1, got {frame_skip}")
    if not 0.0 <= reset_noise <= 0.2:
        raise ValueError(f"reset_noise must lie in [0, 0.2] rad, got {reset_noise}")
    if max_episode_steps < 1 or int(max_episode_steps) != max_episode_steps:
        raise ValueError(
            f"max_episode_steps must be a whole number from 1, got {max_episode_steps}"
        )
    low, high = command_range
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise ValueError(f"command_range must be two finite speeds, low <= high: {command_range}")


def _bounds(model: Model, command_range: tuple[float, float]) -> gym.spaces.Box:
    """Observation space: height, joint ranges, velocities, the phase's sine and cosine, command."""
    speed = np.full(model.nv, VELOCITY_BOUND)
    speed[:ROOT] = ROOT_VELOCITY_BOUND
    low_command, high_command = command_range
    low = np.concatenate([[0.0], model.lower[ROOT:], -speed, [-1.0, -1.0, low_command]])
    high = np.concatenate([[HEIGHT_BOUND], model.upper[ROOT:], speed, [1.0, 1.0, high_command]])
    return gym.spaces.Box(low, high, dtype=np.float64)
