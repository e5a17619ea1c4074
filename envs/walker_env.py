"""The Gymnasium shell that both planar walkers share: names, bounds, options, words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from dynenvs.envs.base import DynEnv, Observation
from dynenvs.envs.checks import flag, interval, number
from dynenvs.envs.walker import OPTIONS, ROOT, TASK, advance, gait_frequency, observe, start
from dynenvs.kinematics import update_poses
from dynenvs.layout import Floats, open_model, open_workspace
from dynenvs.model import Model

HEIGHT_BOUND = 3.0  # [m]
ROOT_VELOCITY_BOUND = 15.0  # [m/s]
COMMAND_BOUNDS = (-2.0, 5.0)  # backwards any faster, the gait clock would stop [m/s]


class PlanarWalker(DynEnv):
    """A walker with root coordinates (x, z) that follows a commanded speed on flat ground.

    Args:
        model: its first two coordinates are the root's x and z.
        standing: joint angles of the standing pose [rad], shape (nu,).
        feet: names of the geoms that may touch the ground, by leg.
        command_range: range of the commanded speed [m/s].
        gait: frequency at speed zero [Hz] and its growth with speed [Hz s/m].
        velocity_bound: joint velocity that ends the episode [rad/s].
        terminate_on_fall: whether a fall ends the episode.
        command: a fixed speed [m/s], drawn at each reset if None.

    The other arguments are `DynEnv`'s.
    """

    def __init__(
        self,
        model: Model,
        *,
        standing: Floats,
        feet: Mapping[str, tuple[str, ...]],
        command_range: tuple[float, float],
        gait: tuple[float, float],
        velocity_bound: float,
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
        self.command_range = interval(command_range, "command_range", *COMMAND_BOUNDS, "m/s")
        self.legs = tuple(feet)
        self.gait = gait
        self._standing = np.concatenate([np.zeros(ROOT), standing])
        owner = {geom: leg for leg, names in enumerate(feet.values()) for geom in names}
        self.foot_of_feature = np.array(
            [owner.get(model.geoms[f.geom_a].name, -1) for f in model.features], dtype=np.int64
        )
        # Row by row, which features belong to a leg
        legs = np.arange(len(self.legs))
        self._foot_sums = (self.foot_of_feature == legs[:, None]).astype(np.float64)
        options = np.zeros(1, OPTIONS)
        options["terminate_on_fall"] = flag(terminate_on_fall, "terminate_on_fall")
        options["low_command"], options["high_command"] = self.command_range
        options["slow_frequency"], options["frequency_slope"] = gait
        options["height_bound"] = HEIGHT_BOUND
        options["velocity_bound"] = velocity_bound
        options["root_velocity_bound"] = ROOT_VELOCITY_BOUND
        super().__init__(
            model,
            np.zeros(1, TASK),
            options,
            _bounds(model, velocity_bound, self.command_range),
            frame_skip=frame_skip,
            timestep=timestep,
            reset_noise=reset_noise,
            max_episode_steps=max_episode_steps,
            render_mode=render_mode,
            width=width,
            height=height,
        )
        options["standing_height"] = self._standing_height()
        self._constant_command = self._fixed(command)

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

    def _fixed(self, command: Any) -> float:
        """A given command [m/s], checked; NaN if it is to be drawn."""
        if command is None:
            return math.nan
        return number(command, "command", *self.command_range, "m/s")

    def _check_reset_options(self, options: dict[str, Any]) -> None:
        for name, value in options.items():
            if name != "command":
                raise ValueError(f"unknown reset option {name!r}; choose from: command")
            self._fixed(value)

    def _start(self, options: dict[str, Any]) -> None:
        given = "command" in options
        command = self._fixed(options["command"]) if given else self._constant_command
        self._task["fixed_command"] = command
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
            "contact_forces": self._foot_sums @ total,
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


def _bounds(
    model: Model, velocity_bound: float, command_range: tuple[float, float]
) -> gym.spaces.Box:
    """Observation space: height, joint ranges, velocities, the phase's sine and cosine, command."""
    speed = np.full(model.nv, velocity_bound)
    speed[:ROOT] = ROOT_VELOCITY_BOUND
    low_command, high_command = command_range
    low = np.concatenate([[0.0], model.lower[ROOT:], -speed, [-1.0, -1.0, low_command]])
    high = np.concatenate([[HEIGHT_BOUND], model.upper[ROOT:], speed, [1.0, 1.0, high_command]])
    return gym.spaces.Box(low, high, dtype=np.float64)
