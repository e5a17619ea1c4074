"""What both planar walkers share: options, bounds, words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dynenvs.contact.detection.detect import feature_gap
from dynenvs.envs.checks import flag, interval, number, number_each
from dynenvs.envs.core.base import DynEnv
from dynenvs.envs.core.commands import give_command
from dynenvs.envs.core.disturbance_options import FACTORS, trunk_fields
from dynenvs.envs.core.feet import soles
from dynenvs.envs.core.task import Task
from dynenvs.envs.core.vector import DynVectorEnv
from dynenvs.envs.planar.kernel import INFO, OPTIONS, TASK, TERMS, run
from dynenvs.envs.planar.parts import HEIGHT_BOUND, PARTS, ROOT_VELOCITY_BOUND
from dynenvs.envs.planar.records import ROOT
from dynenvs.kinematics.poses import update_poses
from dynenvs.memory.layout import Floats, Ints, open_model
from dynenvs.memory.records import POSE

COMMAND_STEP = 0.05  # of a key in the window [m/s]
COMMAND_BOUNDS = (-2.0, 5.0)  # backwards any faster, the gait clock would stop [m/s]


@dataclass(kw_only=True, eq=False)
class WalkerTask(Task):
    """A walker with root coordinates (x, z), or (x, z, pitch), follows a commanded speed.

    Args:
        command: a fixed speed [m/s], drawn at each reset if None.
        command_range: range of the commanded speed [m/s].
        terminate_on_fall: whether a fall ends the episode.
        free_pitch: whether the trunk pitches, unactuated: another model, with balance to keep.
        friction_range: factor on all friction coefficients, drawn at each reset.
        mass_range: factor on each body's mass and inertia, drawn at each reset.
        payload_range: mass that is added to the trunk [kg], drawn at each reset; its inertia
            grows with its mass.
        com_offset: bound of the shift of the trunk's centre of mass along x and z [m], or bounds
            (x, 0, z), drawn at each reset.

    The other arguments are `Task`'s.

    Attributes:
        root: number of root coordinates, none of them actuated.
        pose: joint angles of one leg, standing [rad].
        feet: names of the geoms that may touch the ground, by leg.
        trunk: name of the body that the root carries.
        gait: frequency at speed zero [Hz] and its growth with speed [Hz s/m].
        free_gait: the same where the trunk pitches.
        velocity_bound: joint velocity that ends the episode [rad/s].
        standing: the standing pose with its root at the origin [m, rad], shape (nq,).
        legs: names of the legs.
        foot_of_feature: number of the leg whose foot a contact candidate belongs to, or -1.
        soles: SOLE of each contact candidate.
    """

    command: float | None = None
    command_range: tuple[float, float]
    terminate_on_fall: bool = True
    free_pitch: bool = False
    friction_range: tuple[float, float] = (1.0, 1.0)
    mass_range: tuple[float, float] = (1.0, 1.0)
    payload_range: tuple[float, float] = (0.0, 0.0)
    com_offset: float | tuple[float, float, float] = 0.0

    run = staticmethod(run)
    record, option_record, info_record = TASK, OPTIONS, INFO
    reward_terms, parts = TERMS, PARTS
    reset_options = ("command",)
    pose: ClassVar[tuple[float, ...]]
    feet: ClassVar[Mapping[str, tuple[str, ...]]]
    trunk: ClassVar[str]
    gait: ClassVar[tuple[float, float]]
    free_gait: ClassVar[tuple[float, float]]
    velocity_bound: ClassVar[float]

    def __post_init__(self) -> None:
        self.command_range = interval(self.command_range, "command_range", *COMMAND_BOUNDS, "m/s")
        if self.command is not None:
            self.command = number(self.command, "command", *self.command_range, "m/s")
        self.terminate_on_fall = flag(self.terminate_on_fall, "terminate_on_fall")
        self.free_pitch = flag(self.free_pitch, "free_pitch")
        self.root = ROOT + 1 if self.free_pitch else ROOT
        self.legs = tuple(self.feet)
        super().__post_init__()
        self.standing = np.concatenate([np.zeros(self.root), np.tile(self.pose, len(self.legs))])
        self.foot_of_feature = self._feet_of_features()
        self.soles = soles(self.model, self.foot_of_feature)
        options = self.options
        options["root"] = self.root
        options["legs"] = len(self.legs)
        options["terminate_on_fall"] = self.terminate_on_fall
        options["standing_height"] = self._standing_height()
        options["command"] = math.nan if self.command is None else self.command
        options["low_command"], options["high_command"] = self.command_range
        gait = self.free_gait if self.free_pitch else self.gait
        options["slow_frequency"], options["frequency_slope"] = gait
        options["height_bound"] = HEIGHT_BOUND
        options["velocity_bound"] = self.velocity_bound
        options["root_velocity_bound"] = ROOT_VELOCITY_BOUND

    def _feet_of_features(self) -> Ints:
        owner = {geom: leg for leg, names in enumerate(self.feet.values()) for geom in names}
        geoms = self.model.geoms
        return np.array(
            [owner.get(geoms[f.geom_a].name, -1) for f in self.model.candidates], dtype=np.int64
        )

    def _standing_height(self) -> float:
        """Height of the hip above the lowest foot in the standing pose [m]."""
        poses = np.zeros(int(self.model.header.nb), POSE)
        update_poses(open_model(self.model.packed), self.standing, poses)
        features = self.model.candidates
        return -min(
            feature_gap(features[f], poses) for f in np.flatnonzero(self.foot_of_feature >= 0)
        )

    def neutral(self) -> Floats:
        """The standing pose."""
        return np.tile(self.pose, len(self.legs))

    def drawn_bodies(self) -> dict[str, Any]:
        """Friction, masses, and the trunk's payload and centre of mass."""
        self.friction_range = interval(self.friction_range, "friction_range", *FACTORS)
        self.mass_range = interval(self.mass_range, "mass_range", *FACTORS)
        body = self.model.body_id(self.trunk)
        return {
            **trunk_fields(self.model, body, self.payload_range, self.com_offset, self.mass_range),
            "low_friction": self.friction_range[0],
            "high_friction": self.friction_range[1],
            "low_mass": self.mass_range[0],
            "high_mass": self.mass_range[1],
        }

    def constants(self) -> tuple[np.ndarray[Any, Any], ...]:
        """The standing pose, the feet and where they touch."""
        return self.standing, self.foot_of_feature, self.soles

    def info_arrays(self) -> dict[str, tuple[int, ...]]:
        """Torques and the contact forces of each leg's foot."""
        return {**super().info_arrays(), "contact_forces": (len(self.legs), 3)}

    def reset_fields(self, options: dict[str, Any], count: int | None) -> dict[str, Any]:
        """The command for one episode [m/s], one for all or one a world."""
        if "command" not in options:
            return {}
        return {**self.command_fields(options["command"], count), "commanded": 1}

    def command_fields(self, value: Any, count: int | None) -> dict[str, float | Floats]:
        """A command [m/s], or one a world, as a field of the worlds' records.

        Raises:
            ValueError: not a number within the range, nor as many of them as there are worlds.
        """
        return {"command": number_each(value, "command", count, *self.command_range, "m/s")}


class PlanarWalker(DynEnv):
    """Shell of the planar walkers: a command that may change, what their pictures say."""

    task_type: ClassVar[type[Task]] = WalkerTask  # type: ignore[type-abstract]
    task: WalkerTask

    def set_command(self, command: float) -> None:
        """Give another command in mid-episode; the next observation shows it.

        Args:
            command: speed forward [m/s], within `command_range`.

        Raises:
            ValueError: not a number within its range.
            gymnasium.error.ResetNeeded: no episode has begun.
        """
        give_command(self.worlds, self.task.command_fields(command, None))

    def readings(self) -> dict[str, str]:
        """Time, speed against command, residual."""
        task, status = self.worlds.task_states[0], self.worlds.states["status"][0]
        return {
            "time": f"{float(status['time']):.2f} s",
            "speed": f"{float(task['speed']):.2f} / {float(task['command']):.2f} m/s",
            "residual": f"{float(status['residual']):.0e}",
        }

    @property
    def pace(self) -> tuple[float, float]:
        """Speed and command [m/s]."""
        task = self.worlds.task_states[0]
        return float(task["speed"]), float(task["command"])

    def change_command(self, forward: int, sideways: int, turn: int) -> None:
        """Step the commanded speed up (forward 1) or down (-1), within its range."""
        low, high = self.task.command_range
        wanted = float(self.worlds.task_states[0]["command"]) + forward * COMMAND_STEP
        self.set_command(min(max(wanted, low), high))

    @property
    def focus(self) -> Floats:
        """The hip's place above the ground [m]."""
        return np.array([self.worlds.states["q"][0, 0], 0.0, 0.0])


class PlanarVectorEnv(DynVectorEnv):
    """Many planar walkers at once, whose commands may change."""

    env_type: ClassVar[type[DynEnv]] = PlanarWalker
    task: WalkerTask

    def set_command(self, command: ArrayLike) -> None:
        """Give other commands in mid-episode [m/s]: one for all, or each its own, shape (n,).

        Raises:
            ValueError: not numbers of such a shape within their range.
            gymnasium.error.ResetNeeded: a world has not begun.
        """
        give_command(self.worlds, self.task.command_fields(command, self.num_envs))
