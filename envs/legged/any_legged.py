"""dynenvs/Legged-v0: any robot with a free base, from its file or model, follows commanded speeds.

The task is the quadruped's (`quadruped.py`); what that knows of its robot is worked out here.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dynenvs.envs.checks import got, number, real_numbers
from dynenvs.envs.core.base import DynEnv
from dynenvs.envs.core.task import Task
from dynenvs.envs.legged.legged import SPEEDS
from dynenvs.envs.legged.motors import HINGES, with_motors
from dynenvs.envs.legged.object_records import add_objects
from dynenvs.envs.legged.quadruped import QuadrupedTask
from dynenvs.envs.legged.records import BODY, ITSELF
from dynenvs.envs.legged.shells import LeggedRobot, LeggedVectorEnv
from dynenvs.envs.legged.stance import FREE_Q, find_feet, leg_reach, standing_pose
from dynenvs.envs.objects import Loose
from dynenvs.envs.robots.quadruped import CALF, FOOT_RADIUS, FRICTION, THIGH
from dynenvs.envs.robots.terrain import add_ground
from dynenvs.memory.layout import Ints
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.description import Description
from dynenvs.model.importing.load import load
from dynenvs.model.importing.losses import callers_level, listed
from dynenvs.model.model import Model
from dynenvs.model.parts import WORLD

# Of the Go1
GAIT, SPEED_RANGES = (1.5, 0.3), ((0.0, 1.0), (-0.4, 0.4), (-0.8, 0.8))
REACH = THIGH + CALF + FOOT_RADIUS  # of its legs [m]


@lru_cache(maxsize=16)
def _loaded(path: str, changed: int) -> Model:
    """The robot of a file; without torsional and rolling friction, which a foot's point has not."""
    is_xml = path.lstrip().startswith("<")
    urdf = not is_xml and path.endswith(".urdf")
    return load(path, floating=urdf, **({} if path.endswith(".json") else {"moments": False}))


def label_of(source: Any) -> str:
    """By which messages call a robot: its file, or "source"."""
    is_file = isinstance(source, str | os.PathLike) and not str(source).lstrip().startswith("<")
    return str(source) if is_file else "source"


def robot_of(source: Any) -> Model:
    """The model that a file or XML text describes, or a model itself.

    Raises:
        ModelError: the file is missing or broken.
        ValueError: neither a path nor a model; or one that has no free base, or joints that this
            task does not know: all but the base's must be hinges or slides with motors.
    """
    if isinstance(source, Model):
        model = source
    elif isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        changed = Path(path).stat().st_mtime_ns if len(path) < 1000 and Path(path).exists() else 0
        model = _loaded(path, changed)
    else:
        raise ValueError("source must be a robot's file, or a model" + got(source))
    model, guessed = _motorised(model)
    bodies = model.description.bodies
    frees = [body.name for body in bodies if body.joint.type == "free"]
    label = label_of(source)
    if not bodies or frees != [bodies[0].name]:
        raise ValueError(
            f"{label}: the robot must have one free joint, its first body's; free bodies: "
            + (", ".join(frees) or "none (a URDF's base is freed by floating=True)")
        )
    for body in bodies[1:]:
        joint = body.joint
        if joint.type != "fixed" and (joint.type not in HINGES or not joint.actuated):
            kind = joint.type if joint.actuated else f"{joint.type} without a motor"
            raise ValueError(
                f"{label}: joints must be hinges or slides with motors; that of {body.name!r} is "
                f"{kind}"
            )
    if guessed:
        most = float(model.effort_limit[model.actuated].max())
        warnings.warn(
            f"{label}: motors of {listed(guessed)} have no limit, by which actions are: they get "
            f"what holds the robot, up to {most:.3g} N m",
            stacklevel=callers_level(),
        )
    return model


_motorised = lru_cache(maxsize=16)(with_motors)


@lru_cache(maxsize=16)
def _model(
    robot: Model, friction: float, terrain: str, seed: int, objects: tuple[Loose, ...]
) -> Model:
    """The robot on its ground, which alone it touches, among its objects."""
    ground = ModelBuilder()
    add_ground(ground, terrain, seed, friction)
    parts = robot.description
    own = [replace(geom, friction=friction) for geom in parts.geoms if geom.body != WORLD]
    builder = ModelBuilder.of(
        Description(
            options={"gravity": parts.options.get("gravity", (0.0, 0.0, -9.81))},
            bodies=parts.bodies,
            geoms=(*ground.description().geoms, *own),
            loops=parts.loops,
            sites=parts.sites,
            keyframes=parts.keyframes,
            actuators=parts.actuators,
            tendons=parts.tendons,
            eyes=tuple(eye for eye in parts.eyes if eye.body != WORLD),
            visuals=tuple(one for one in parts.visuals if one.body != WORLD),
        )
    )
    add_objects(builder, objects, ())
    return builder.build()


@dataclass(kw_only=True, eq=False)
class AnyLeggedTask(QuadrupedTask):
    """A robot from a file or a model walks as commanded.

    Args:
        source: path of an MJCF, URDF or saved file, XML text, or a model, with one free joint; all
            other joints are hinges or slides with motors, or none of them has one (`with_motors`).
        feet: names of the shapes that it stands on: a list, or by leg; found if None.
        pose: in which it stands: the name of a keyframe, or joint angles; "home" or "stand" if
            there is one, else worked out, if None.
        friction: coefficient between the robot and the ground.

    The other arguments are `QuadrupedTask`'s; ranges of speeds and the gait clock are the Go1's,
    for a robot of another size by Froude's law.

    Attributes:
        scale: how far its legs reach, over the Go1's.
    """

    source: str | os.PathLike[str] | Model | None = None
    feet: Any = None
    pose: Any = None
    friction: float = FRICTION
    sideways_range: tuple[float, float] | None = None  # type: ignore[assignment]
    turning_range: tuple[float, float] | None = None  # type: ignore[assignment]
    gait_frequency: tuple[float, float] | None = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        self._robot = robot_of(self.source)
        self.friction = number(self.friction, "friction", 0.0, 10.0)
        self.feet = self._feet()
        self.pose = self._pose()
        self.scale = leg_reach(self._robot, self.feet) / REACH
        speed = math.sqrt(self.scale)
        if self.gait_frequency is None:
            self.gait_frequency = (GAIT[0] / speed, GAIT[1] / self.scale)
        factors = (speed, speed, 1.0 / speed)
        for name, span, factor in zip(SPEEDS, SPEED_RANGES, factors, strict=True):
            if getattr(self, f"{name}_range") is None and not (
                name == "forward" and self.terrain == "stairs"
            ):
                setattr(self, f"{name}_range", tuple(min(max(factor * x, -3.0), 3.0) for x in span))
        super().__post_init__()
        if self.options["weight_rhythm"][0] != 0.0:  # which feet the clock means, no file says
            raise ValueError(
                "reward_weights: 'rhythm' is for this package's own walkers, whose clock says "
                "which feet carry; leave it out for a robot from a file"
            )

    def _feet(self) -> dict[str, tuple[str, ...]]:
        """Names of the shapes of each foot, by leg; checked."""
        if self.feet is None:
            try:
                return find_feet(self._robot)
            except ValueError as error:
                raise ValueError(f"{label_of(self.source)}: {error}") from None
        if isinstance(self.feet, Mapping):
            found = {
                str(leg): (n,) if isinstance(n, str) else tuple(n) for leg, n in self.feet.items()
            }
        else:
            found = {name: (name,) for name in self.feet}
        known = {geom.name for geom in self._robot.geoms if geom.collide and geom.body != WORLD}
        for name in (name for names in found.values() for name in names):
            if name not in known:
                raise ValueError(
                    f"feet: the robot has no shape {name!r} that can touch; it has: "
                    + ", ".join(sorted(known))
                )
        if not found:
            raise ValueError("feet must name at least one shape" + got(self.feet))
        return found

    def _pose(self) -> tuple[float, ...]:
        """Joint angles, standing; checked."""
        if self.pose is None or isinstance(self.pose, str):
            return tuple(standing_pose(self._robot, self.feet, self.pose).tolist())
        angles = real_numbers(self.pose, (self._robot.nq - FREE_Q,), "pose")
        return tuple(angles.tolist())

    @property
    def level(self) -> Model:
        """The robot on level ground."""
        return _model(self._robot, self.friction, "flat", 0, ())

    def feet_of(self, model: Model) -> Ints:
        """As `LeggedTask.feet_of`; other shapes of a foot's link may touch the ground, too."""
        names = {name for group in self.feet.values() for name in group}
        links = {geom.body for geom in model.geoms if geom.name in names}
        whose = super().feet_of(model)
        beside = [model.geoms[f.geom_a].body in links for f in model.candidates]
        return np.where((whose == BODY) & np.array(beside), ITSELF, whose)

    def build(self) -> Model:
        """The robot on its ground, among its objects."""
        if self.self_collision:
            raise ValueError("self_collision: a robot from a file cannot touch itself here")
        return _model(self._robot, self.friction, self.terrain, self.terrain_seed, self.loose)


class AnyLeggedEnv(LeggedRobot):
    """Any robot with a free base, from its own file, walks as commanded.

    ## Description
    `make_legged("go2.xml")` registers a robot from MJCF, URDF or a `Model` as an environment;
    `gym.make("dynenvs/Legged-v0", source="go2.xml")` makes one without a name of its own.  The base
    is free; all other joints are hinges or slides with motors of limited force.  The robot touches
    the ground alone, with hard contact and Coulomb friction (`friction`, eight directions); where
    its file has torsional or rolling friction, stiffness of contact or dry friction of joints, a
    `NotCarriedOver` warning says what is left out.  Task, observation and reward are those of
    `dynenvs/Quadruped-v0`, in the order of the file's joints.

    Robots with four legs of three hinges each and a ball for each foot have an expert, the Go1's
    trot grown to their size; docs/robots.md says how well it does on thirteen of them.

    ## Action Space
    `Box(-1, 1, (nu,), float32)`: force over the motor's limit, in the order of the file's joints,
    held for the control period of 15 ms.  For a robot of twelve joints:

    | Num  | Joint                        | Unit at 1 | Limit      |
    |------|------------------------------|-----------|------------|
    | 0-11 | in the order of the file     | torque    | the file's |

    ## Observation Space
    `Box((2 nu + 15 + feet,), float64)`, for a robot of twelve joints and four feet:

    | Num   | Observation                              | Min         | Max         | Unit  | Noise |
    |-------|------------------------------------------|-------------|-------------|-------|-------|
    | 0     | height of the base's origin above ground | 0           | 2           | m     | 0.01  |
    | 1-3   | upward direction in the base's axes      | -1          | 1           | -     | 0.03  |
    | 4-15  | joint positions                          | the file's  | the file's  | rad   | 0.006 |
    | 16-18 | velocity of the base's origin, own axes  | -15         | 15          | m/s   | 0.06  |
    | 19-21 | angular velocity of the base             | -60         | 60          | rad/s | 0.12  |
    | 22-33 | joint velocities                         | -300        | 300         | rad/s | 0.9   |
    | 34-35 | sine and cosine of 2 pi gait phase       | -1          | 1           | -     | -     |
    | 36    | commanded forward speed                  | its range's | its range's | m/s   | -     |
    | 37    | commanded sideways speed, to the left    | its range's | its range's | m/s   | -     |
    | 38    | commanded turning speed, to the left     | its range's | its range's | rad/s | -     |
    | 39-42 | whether each foot carries load           | 0           | 1           | -     | -     |

    On terrain a height scan of 187 points follows, with `observe_objects` 15 numbers for each
    object, as in `QuadrupedEnv`.

    ## Rewards
    As in `QuadrupedEnv`: close to 1 a step for a robot that follows its command.

    ## Starting State
    Standing, uniform noise of `reset_noise` on joint positions and velocities, the lowest foot on
    the ground; the command uniform in its ranges; the gait phase 0 or 0.5.

    ## Episode End
    As in `QuadrupedEnv`; shapes of a foot's own link may touch the ground, too.

    ## Arguments
    - `source`: path of an MJCF, URDF or saved file, XML text, or a model.
    - `feet` = None: names of the shapes that it stands on, as a list or by leg; found if None: the
      ends of those limbs that reach about as far down as any.
    - `pose` = None: in which it stands, the name of a keyframe, or joint positions; if None, a
      keyframe that is called "home" or "stand" and stands on the feet, or else one that is worked
      out: crouched so far that half of the legs hold the robot with ease.
    - `friction` = 0.8: between robot and ground.
    - `forward_range` = (0, 1), `sideways_range` = (-0.4, 0.4) [m/s], `turning_range` = (-0.8, 0.8)
      [rad/s], for legs as long as the Go1's; for others these speeds grow with the square root of
      their length, as the gait's period does (Froude's law).
    - `gait_frequency` = (1.5, 0.3): the same for the Go1's legs [Hz, Hz s/m].
    - the others as in `QuadrupedEnv`, without `self_collision`; `payload_range` and `com_offset`
      are of the heaviest body.

    ## Version History
    - v0: first release.
    """

    task_type: ClassVar[type[Task]] = AnyLeggedTask
    task: AnyLeggedTask

    @property
    def title(self) -> str:
        """The name of the robot's file, or of its base."""
        source = self.task.source
        if isinstance(source, Model) or os.fspath(source or "").lstrip().startswith("<"):
            return self.model.body_names[1]
        return Path(os.fspath(source or "")).stem


class AnyLeggedVectorEnv(LeggedVectorEnv):
    """Many of them at once; see `AnyLeggedEnv`."""

    env_type: ClassVar[type[DynEnv]] = AnyLeggedEnv
