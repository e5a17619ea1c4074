"""What the tasks of robots with a free base share: options, bounds, and what is seen around."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from dynenvs.envs.checks import choice, flag, got, interval, is_list, number, real_numbers, whole
from dynenvs.envs.core.disturbance_options import FACTORS, trunk_fields
from dynenvs.envs.core.feet import soles
from dynenvs.envs.core.task import Task
from dynenvs.envs.legged.kernel import INFO, OPTIONS, QUICKEST, SLOWEST, TASK, run
from dynenvs.envs.legged.object_records import (
    FREE_Q,
    check_places,
    check_room,
    object_table,
)
from dynenvs.envs.legged.parts import HEIGHT_BOUND, OBJECT_BOUND, PARTS, SPEED_BOUND, TURN_BOUND
from dynenvs.envs.legged.records import BODY, ITSELF, OBJECT, ROOT
from dynenvs.envs.legged.rewards import TERMS
from dynenvs.envs.legged.standing import reach_of, standing_on
from dynenvs.envs.objects import Loose, read_objects
from dynenvs.envs.robots.terrain import NUMBERS, SLOPE, TERRAINS
from dynenvs.memory.layout import Floats, Ints
from dynenvs.model.contact_options import cone_code, polygon_number
from dynenvs.model.model import Model

# Of a joint [rad/s].  Far off, so that random torques seldom end an episode by it.
JOINT_BOUND = 300.0
COMMAND_BOUNDS = (-3.0, 3.0)  # [m/s] and [rad/s]
MOST_PUSH = 200.0  # [N s]
SPEEDS = ("forward", "sideways", "turning")
COMMAND = f"command ({', '.join(SPEEDS)})"
SCAN_SPACING = 0.06  # [m]
LONGEST = 1e6  # between drawn commands or pushes [s]


@dataclass(kw_only=True, eq=False)
class LeggedTask(Task):
    """A robot with a free base follows commanded speeds on flat ground or terrain.

    Args:
        command: fixed speeds (forward [m/s], sideways to the left [m/s], turning to the left
            [rad/s]) in the base's heading; drawn at each reset if None.
        forward_range, sideways_range, turning_range: ranges of the command.
        command_interval: time after which a drawn command is drawn anew [s]; 0: never.
        push_impulse: size of horizontal impulses on the base, each in a drawn direction [N s].
        push_interval: time between them [s].
        friction_range: factor on all friction coefficients, drawn at each reset.
        mass_range: factor on each body's mass and inertia, drawn at each reset.
        payload_range: mass that is added to the heaviest body, the trunk or the torso [kg], drawn
            at each reset; its inertia grows with its mass.
        com_offset: bound of the shift of that body's centre of mass along each of its axes [m], or
            one bound an axis, drawn at each reset.
        gait_frequency: of the gait clock: at speed zero [Hz] and its growth with commanded speed
            [Hz s/m]; never slower than 0.3 Hz.
        cone: of friction, "pyramid" or "exact"; a reset's option of that name lets worlds have
            their own from then on.
        directions: of the friction pyramids: 4, 6 or 8; the same.
        terminate_on_fall: whether a fall ends the episode.
        terrain: "flat", "slope" (of 10 degrees), "rough" (heights drawn from 0 to 4 cm every
            20 cm) or "stairs" (hills and pits of 6 steps, 8 cm high and 30 cm deep).  Each episode
            begins at a drawn place of it with a drawn heading, a robot with two legs upright, with
            more its base tilted as the ground; all worlds share one terrain.
        terrain_seed: what the terrain itself is drawn by.
        objects: loose boxes, spheres and capsules on flat ground, as `dynenvs.envs.objects` tells;
            None for none.
        objects_seed: what their sizes are drawn by, where these are drawn.
        observe_objects: whether the observation tells of them.
        integrator: "euler" or "midpoint"; None is "midpoint" among loose objects, which may spin
            fast, and "euler" for the robot alone.

    The other arguments are `Task`'s.

    Attributes:
        pose: joint angles, standing [rad], shape (nu,).
        feet: names of the geoms that may touch the ground, by leg.
        joint_bound: joint velocity that ends the episode [rad/s].
        least_errors: of the commanded speeds: those that leave exp(-1) of the reward, however slow
            the command [m/s, m/s, rad/s].
        base, middle: words for the base, and for the point of it that is observed.
        standing: the standing pose with its base at the origin [m, rad], shape (nq,).
        legs: names of the legs.
        scan: points of the height scan forward and sideways, SCAN_SPACING apart.
        foot_of_feature: number of the leg whose foot a contact candidate belongs to; BODY for what
            else of the robot touches the ground, ITSELF for what touches the robot, OBJECT for what
            a loose object touches.
        soles: SOLE of each contact candidate.
        loose: the loose objects, the model's last bodies.
        object_table: OBJECT of each of them.
    """

    command: tuple[float, float, float] | None = None
    forward_range: tuple[float, float]
    sideways_range: tuple[float, float]
    turning_range: tuple[float, float]
    command_interval: float = 0.0
    push_impulse: float = 0.0
    push_interval: float = 3.0
    friction_range: tuple[float, float] = (1.0, 1.0)
    mass_range: tuple[float, float] = (1.0, 1.0)
    payload_range: tuple[float, float] = (0.0, 0.0)
    com_offset: float | tuple[float, float, float] = 0.0
    gait_frequency: tuple[float, float]
    cone: str = "pyramid"
    directions: int = 8
    terminate_on_fall: bool = True
    terrain: str = "flat"
    terrain_seed: int = 0
    objects: Any = None
    objects_seed: int = 0
    observe_objects: bool = False
    integrator: str | None = None  # type: ignore[assignment]

    run = staticmethod(run)
    record, option_record, info_record = TASK, OPTIONS, INFO
    reward_terms, parts = TERMS, PARTS
    reset_options = ("command", "cone", "directions")
    pose: Sequence[float] = field(init=False)
    feet: Mapping[str, tuple[str, ...]] = field(init=False)
    joint_bound: ClassVar[float] = JOINT_BOUND
    least_errors: ClassVar[tuple[float, float, float]]
    base: ClassVar[str]
    middle: ClassVar[str]
    scan: ClassVar[tuple[int, int]] = (17, 11)

    def __post_init__(self) -> None:
        self._check()
        self.legs = tuple(self.feet)
        super().__post_init__()
        base = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
        self.standing = np.array([*base, *self.pose])
        check_room(self.model, self.loose)
        self.foot_of_feature = self.feet_of(self.model)
        self.soles = soles(self.model, self.foot_of_feature)
        self._fill()
        self._place_objects()

    def _check(self) -> None:
        """Options that only these tasks have."""
        for name in SPEEDS:
            unit = "rad/s" if name == "turning" else "m/s"
            span = interval(getattr(self, f"{name}_range"), f"{name}_range", *COMMAND_BOUNDS, unit)
            setattr(self, f"{name}_range", span)
        self.ranges: Floats = np.array([getattr(self, f"{name}_range") for name in SPEEDS])
        if self.command is not None:
            self.command = tuple(self._command(self.command, None)[0].tolist())
        self.command_interval = number(self.command_interval, "command_interval", 0.0, LONGEST, "s")
        self.push_impulse = number(self.push_impulse, "push_impulse", 0.0, MOST_PUSH, "N s")
        self.push_interval = number(self.push_interval, "push_interval", 1e-3, LONGEST, "s")
        self.friction_range = interval(self.friction_range, "friction_range", *FACTORS)
        self.mass_range = interval(self.mass_range, "mass_range", *FACTORS)
        frequency, slope = real_numbers(self.gait_frequency, (2,), "gait_frequency")
        self.gait_frequency = (
            number(frequency, "gait_frequency[0]", SLOWEST, QUICKEST, "Hz"),
            number(slope, "gait_frequency[1]", -QUICKEST, QUICKEST, "Hz s/m"),
        )
        self.terrain = choice(self.terrain, "terrain", TERRAINS)
        self.terrain_seed = whole(self.terrain_seed, "terrain_seed", 0, 2**63 - 1)
        self.terminate_on_fall = flag(self.terminate_on_fall, "terminate_on_fall")
        self._check_objects()

    def _check_objects(self) -> None:
        """The option `objects`, and what belongs to it."""
        self.objects_seed = whole(self.objects_seed, "objects_seed", 0, 2**63 - 1)
        self.observe_objects = flag(self.observe_objects, "observe_objects")
        self.loose: tuple[Loose, ...] = read_objects(self.objects, self.objects_seed)
        if self.loose and self.terrain != "flat":
            raise ValueError(f"objects need flat ground, not terrain {self.terrain!r}")
        if self.integrator is None:
            self.integrator = "midpoint" if self.loose else "euler"
        if self.observe_objects and not self.loose:
            raise ValueError("observe_objects=True, but there are no objects")

    def _fill(self) -> None:
        """The options that the kernel reads."""
        options = self.options
        options["legs"] = len(self.legs)
        options["terminate_on_fall"] = self.terminate_on_fall
        options["terrain"], options["slope"] = NUMBERS[self.terrain], math.tan(SLOPE)
        if self.terrain != "flat":
            options["scan_x"], options["scan_y"] = self.scan
            options["scan_spacing"] = SCAN_SPACING
        feet = [name for names in self.feet.values() for name in names]
        options["standing_height"], options["footprint"] = standing_on(
            self.robot, self.standing, feet
        )
        options["command"] = math.nan if self.command is None else self.command
        options["low_command"], options["high_command"] = self.ranges.T
        if self.command_interval > 0.0:
            options["command_steps"] = max(1, round(self.command_interval / self.dt))
        options["slow_frequency"], options["frequency_slope"] = self.gait_frequency
        options["least_errors"] = self.least_errors
        options["push_impulse"] = self.push_impulse
        if self.push_impulse > 0.0:
            options["push_steps"] = max(1, round(self.push_interval / self.dt))
        options["low_friction"], options["high_friction"] = self.friction_range
        options["cone"], options["polygon"] = self._cone(self.cone), self._polygon(self.directions)
        options["low_mass"], options["high_mass"] = self.mass_range
        options["height_bound"], options["joint_bound"] = HEIGHT_BOUND, self.joint_bound
        options["speed_bound"], options["turn_bound"] = SPEED_BOUND, TURN_BOUND
        options["object_bound"], options["sees_objects"] = OBJECT_BOUND, self.observe_objects

    @property
    def kernel_groups(self) -> tuple[str, ...]:
        """Groups of units that a control step needs: the model's, uneven ground's, objects'."""
        own = {"terrain": self.terrain != "flat", "objects": len(self.loose) > 0}
        return (*super().kernel_groups, *(name for name, needed in own.items() if needed))

    @property
    @abstractmethod
    def level(self) -> Model:
        """The robot on level ground."""

    @property
    def robot(self) -> Model:
        """The robot on its ground, without loose objects."""
        return self.level if self.loose else self.model

    def _place_objects(self) -> None:
        """What the kernel draws loose objects by; those with places of their own are looked at."""
        height = float(self.options["standing_height"][0])
        reach, top = reach_of(self.robot, self.standing)
        self.object_table = object_table(self.loose, reach + self.reset_noise, height + top)
        raised = self.standing.copy()
        raised[2] += height
        check_places(self.model, raised, self.loose)

    def feet_of(self, model: Model) -> Ints:
        """What `foot_of_feature` says of this robot's model on some ground."""
        owner = {geom: leg for leg, names in enumerate(self.feet.values()) for geom in names}
        geoms = model.geoms
        whose = [
            owner.get(geoms[f.geom_a].name, BODY) if f.body_b == 0 else ITSELF
            for f in model.candidates
        ]
        touched = np.maximum(model.candidates["body_a"], model.candidates["body_b"])
        loose = touched >= len(self.level.body_names)
        return np.where(loose, OBJECT, np.array(whose, dtype=np.int64))

    @property
    def joints(self) -> slice:
        """The robot's joints among the model's velocities."""
        return slice(ROOT, ROOT + self.model.nu)

    def command_bounds(self) -> tuple[Floats, Floats]:
        """Of the observed command, shape (3,) each.

        A range of one speed alone gets room: a space's bounds must differ.
        """
        low, high = self.ranges.T.copy()
        same = low == high
        low[same] -= 1.0
        high[same] += 1.0
        return low, high

    def constants(self) -> tuple[np.ndarray[Any, Any], ...]:
        """The standing pose, the feet, where they touch, and the loose objects."""
        return self.standing, self.foot_of_feature, self.soles, self.object_table

    def neutral(self) -> Floats:
        """The standing pose."""
        return np.array(self.pose, np.float64)

    def drawn_bodies(self) -> dict[str, Any]:
        """Payload and centre of mass of the heaviest body; friction and masses are the kernel's."""
        body = int(np.argmax(self.robot.bodies["mass"]))
        return trunk_fields(self.model, body, self.payload_range, self.com_offset, self.mass_range)

    def info_arrays(self) -> dict[str, tuple[int, ...]]:
        """Torques, contact forces of the feet, mean speeds over the control step, and command.

        Of loose objects places and quaternions.
        """
        forces = {"contact_forces": (len(self.legs), 3)}
        poses = {"objects": (len(self.loose), FREE_Q)} if self.loose else {}
        return {**super().info_arrays(), **forces, "velocity": (3,), "command": (3,), **poses}

    def reset_fields(self, options: dict[str, Any], count: int | None) -> dict[str, Any]:
        """The command for one episode; cone and directions until others are chosen.

        Each one for all or one a world.
        """
        fields: dict[str, Any] = {}
        if "command" in options:
            fields = {**self.command_fields(options["command"], count), "commanded": 1}
        if "cone" in options:
            fields["cone"] = self._each(self._cone, options["cone"], "cone", count)
        if "directions" in options:
            chosen = options["directions"]
            fields["polygon"] = self._each(self._polygon, chosen, "directions", count)
        return fields

    def _cone(self, name: Any) -> int:
        return cone_code(name, int(self.model.header.directions))

    def _polygon(self, directions: Any) -> int:
        return polygon_number(directions, int(self.model.header.directions))

    @staticmethod
    def _each(code: Callable[[Any], int], value: Any, name: str, count: int | None) -> Any:
        """1 + code of a value, or of one a world, shape (count,)."""
        if count is None or not is_list(value):
            return 1 + code(value)
        if np.shape(value) != (count,):
            raise ValueError(f"{name} must be one value, or {count}, one a world" + got(value))
        return np.array([1 + code(one) for one in np.asarray(value).tolist()])

    def command_fields(self, value: Any, count: int | None) -> dict[str, Floats]:
        """A command, or one a world, as fields of the worlds' records.

        Raises:
            ValueError: not three numbers within their ranges.
        """
        return dict(zip(SPEEDS, self._command(value, count).T, strict=True))

    def held_command_fields(self, value: Any, count: int | None) -> dict[str, Any]:
        """The same in mid-episode: what `command_interval` would draw no longer replaces it."""
        return {**self.command_fields(value, count), "held": 1}

    def _command(self, value: Any, count: int | None) -> Floats:
        """The command as an array of shape (1, 3) or (count, 3), checked."""
        shape = np.shape(_array(value))
        each = count is not None and shape == (count, 3)
        if count is not None and not each and shape != (3,):
            raise ValueError(f"{COMMAND} must have shape (3,) or ({count}, 3), got {shape}")
        commands = real_numbers(value, shape if each else (3,), COMMAND).reshape(-1, 3)
        low, high = self.ranges.T
        inside = ((low <= commands) & (commands <= high)).all(axis=1)
        if not inside.all():
            where = f"; entries {np.flatnonzero(~inside)[:8].tolist()} are not" if each else ""
            spans = ", ".join(
                f"{name} in [{a}, {b}]" for name, (a, b) in zip(SPEEDS, self.ranges, strict=True)
            )
            raise ValueError(f"command must be {spans}{where}" + got(value))
        return commands


def _array(value: Any) -> Any:
    """`value` as an array if it can be one."""
    try:
        return np.asarray(value)
    except ValueError:
        return np.empty(0)
