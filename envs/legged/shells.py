"""Shells of the robots with a free base: commands that may change, what their pictures say."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dynenvs.envs.core.base import DynEnv
from dynenvs.envs.core.commands import give_command
from dynenvs.envs.core.task import Task
from dynenvs.envs.core.vector import DynVectorEnv
from dynenvs.envs.legged.legged import SPEEDS, LeggedTask
from dynenvs.envs.robots.terrain import SLOPE
from dynenvs.memory.layout import Floats

COMMAND_STEPS = (0.1, 0.05, 0.1)  # of a key in the window [m/s], [m/s], [rad/s]


class LeggedRobot(DynEnv):
    """Shell of the robots with a free base: a command that may change, what their pictures say."""

    task_type: ClassVar[type[Task]] = LeggedTask  # type: ignore[type-abstract]
    task: LeggedTask

    def set_command(self, command: ArrayLike) -> None:
        """Give another command in mid-episode; the next observation shows it.

        Args:
            command: forward [m/s], sideways [m/s], turning [rad/s], within their ranges.

        Raises:
            ValueError: not three numbers within their ranges.
            gymnasium.error.ResetNeeded: no episode has begun.
        """
        give_command(self.worlds, self.task.held_command_fields(command, None))

    def readings(self) -> dict[str, str]:
        """Time, speeds against command, how the ground rises ahead, residual."""
        task, status = self.worlds.task_states[0], self.worlds.states["status"][0]
        words = {"time": f"{float(status['time']):.2f} s"}
        for name in SPEEDS:
            unit = "rad/s" if name == "turning" else "m/s"
            speed, wanted = float(task[f"{name}_speed"]), float(task[name])
            words[name] = f"{speed:.2f} / {wanted:.2f} {unit}"
        if self.task.terrain == "slope":
            words["slope"] = self._slope_ahead()
        return {**words, "residual": f"{float(status['residual']):.0e}"}

    def _slope_ahead(self) -> str:
        """How steeply the ground rises or falls in the direction that the base faces."""
        e, x, y, z = self.worlds.states["q"][0, 3:7]
        heading = math.atan2(2.0 * (x * y + e * z), 1.0 - 2.0 * (y * y + z * z))
        rise = math.degrees(math.atan(math.tan(SLOPE) * math.cos(heading)))
        return f"{abs(rise):.0f}° {'up' if rise > 0.0 else 'down'}"

    @property
    def pace(self) -> tuple[float, float]:
        """Speed forward and the command for it [m/s]."""
        task = self.worlds.task_states[0]
        return float(task["forward_speed"]), float(task["forward"])

    def change_command(self, forward: int, sideways: int, turn: int) -> None:
        """Step the commanded speeds up (1) or down (-1), within their ranges."""
        task = self.worlds.task_states[0]
        wanted = np.array([float(task[name]) for name in SPEEDS])
        wanted += np.array(COMMAND_STEPS) * (forward, sideways, turn)
        self.set_command(np.clip(wanted, *self.task.ranges.T))

    @property
    def focus(self) -> Floats:
        """The base's place above the ground [m]."""
        x, y = self.worlds.states["q"][0, :2]
        return np.array([x, y, self.worlds.task_states["ground"][0]])


class LeggedVectorEnv(DynVectorEnv):
    """Many robots with a free base at once, whose commands may change."""

    env_type: ClassVar[type[DynEnv]] = LeggedRobot
    task: LeggedTask

    def set_command(self, command: ArrayLike) -> None:
        """Give other commands in mid-episode, one for all, shape (3,), or each its own, (n, 3).

        Raises:
            ValueError: not numbers of such a shape within their ranges.
            gymnasium.error.ResetNeeded: a world has not begun.
        """
        give_command(self.worlds, self.task.held_command_fields(command, self.num_envs))
