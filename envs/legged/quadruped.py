"""dynenvs/Quadruped-v0: a free trunk on four legs follows commanded speeds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import ClassVar

from dynenvs.envs.checks import flag
from dynenvs.envs.core.base import DynEnv
from dynenvs.envs.core.task import Task
from dynenvs.envs.legged.legged import LeggedTask
from dynenvs.envs.legged.object_records import add_objects
from dynenvs.envs.legged.shells import LeggedRobot, LeggedVectorEnv
from dynenvs.envs.objects import Loose
from dynenvs.envs.robots import quadruped as robot
from dynenvs.model.model import Model

GAIT = (1.5, 0.3)  # cycles a second at rest [Hz], and their growth with speed [Hz s/m]
LEAST_ERRORS = (0.1, 0.1, 0.2)  # [m/s], [m/s], [rad/s]


@cache
def _model(terrain: str, seed: int, self_collision: bool, objects: tuple[Loose, ...]) -> Model:
    builder = robot.describe(terrain, seed, self_collision)
    add_objects(builder, objects, robot.LOOSE_ONLY)
    return builder.build()


@dataclass(kw_only=True, eq=False)
class QuadrupedTask(LeggedTask):
    """The quadruped trots as commanded.

    Args:
        self_collision: whether its legs touch each other.

    The other arguments are `LeggedTask`'s.
    """

    self_collision: bool = False

    forward_range: tuple[float, float] | None = None  # type: ignore[assignment]
    sideways_range: tuple[float, float] = (-0.4, 0.4)
    turning_range: tuple[float, float] = (-0.8, 0.8)
    gait_frequency: tuple[float, float] = GAIT
    timestep: float = 0.0075
    frame_skip: int = 2

    pose = 4 * robot.STANDING
    feet = MappingProxyType({leg: (f"{leg}_foot",) for leg in robot.LEGS})
    least_errors = LEAST_ERRORS
    base, middle = "trunk", "the trunk's centre"

    def __post_init__(self) -> None:
        if self.forward_range is None:
            self.forward_range = (0.0, 0.6) if self.terrain == "stairs" else (0.0, 1.5)
        self.self_collision = flag(self.self_collision, "self_collision")
        super().__post_init__()

    @property
    def level(self) -> Model:
        """The robot on level ground, as its expert has it."""
        return _model("flat", 0, False, ())

    def build(self) -> Model:
        """The robot on its ground, among its objects."""
        return _model(self.terrain, self.terrain_seed, self.self_collision, self.loose)


class QuadrupedEnv(LeggedRobot):
    """A four-legged robot of 12.7 kg with a free trunk trots as commanded.

    ## Description
    The trunk is free to move and turn; each leg has three actuated revolute joints (abduction,
    hip, knee) and a spherical foot of 23 mm.  Trunk, shoulders and knees can touch the ground,
    too.  Contact is hard, with Coulomb friction (coefficient 0.8, eight directions), solved as an
    LCP and certified at every step.  Numbers: the Unitree Go1's (`envs/robots/quadruped.py`).

    ## Action Space
    `Box(-1, 1, (12,), float32)`: torque over effort limit, held for the control period of 15 ms.

    | Num  | Joint                             | Unit at 1 | Limit                 |
    |------|-----------------------------------|-----------|-----------------------|
    | 0-2  | front left abduction, hip, knee   | torque    | 23.7, 23.7, 35.55 N m |
    | 3-5  | front right abduction, hip, knee  | torque    | the same              |
    | 6-8  | rear left abduction, hip, knee    | torque    | the same              |
    | 9-11 | rear right abduction, hip, knee   | torque    | the same              |

    ## Observation Space
    `Box((43,), float64)`; every entry stays within its bounds.  Velocities of the trunk are in its
    own axes (x forward, y to the left, z up); its heading in the world is not seen.

    | Num   | Observation                                    | Min      | Max      | Unit  | Noise |
    |-------|------------------------------------------------|----------|----------|-------|-------|
    | 0     | height of the trunk's centre above the ground  | 0        | 2        | m     | 0.01  |
    | 1-3   | upward direction in the trunk's axes           | -1       | 1        | -     | 0.03  |
    | 4     | front left abduction angle                     | -0.863   | 0.863    | rad   | 0.006 |
    | 5     | front left hip angle, backward                 | -0.686   | 4.501    | rad   | 0.006 |
    | 6     | front left knee angle                          | -2.818   | -0.888   | rad   | 0.006 |
    | 7-15  | the same of front right, rear left, rear right | as above | as above | rad   | 0.006 |
    | 16-18 | velocity of the trunk's centre                 | -15      | 15       | m/s   | 0.06  |
    | 19-21 | angular velocity of the trunk                  | -60      | 60       | rad/s | 0.12  |
    | 22-33 | joint velocities, in the order of the angles   | -300     | 300      | rad/s | 0.9   |
    | 34-35 | sine and cosine of 2 pi times the gait phase   | -1       | 1        | -     | -     |
    | 36    | commanded forward speed                        | 0        | 1.5      | m/s   | -     |
    | 37    | commanded sideways speed, to the left          | -0.4     | 0.4      | m/s   | -     |
    | 38    | commanded turning speed, to the left           | -0.8     | 0.8      | rad/s | -     |
    | 39-42 | whether each foot carries load                 | 0        | 1        | -     | -     |

    On terrain a height scan follows, `Box((230,), float64)`:

    | Num    | Observation                                     | Min | Max | Unit | Noise |
    |--------|-------------------------------------------------|-----|-----|------|-------|
    | 43-229 | height of the ground against the trunk's centre | -2  | 2   | m    | 0.03  |

    at 17 by 11 points, 6 cm apart, about the trunk's centre in its heading: from 48 cm behind to
    48 cm ahead, at each of these from 30 cm on the right to 30 cm on the left.

    With `observe_objects` 15 more follow for each object, in the trunk's axes:

    | Next | Observation                                 | Min | Max | Unit  | Noise |
    |------|---------------------------------------------|-----|-----|-------|-------|
    | +3   | place of its middle from the trunk's centre | -20 | 20  | m     | 0.03  |
    | +6   | directions of its own x axis and y axis     | -1  | 1   | -     | 0.03  |
    | +3   | its velocity                                | -15 | 15  | m/s   | 0.06  |
    | +3   | its angular velocity                        | -60 | 60  | rad/s | 0.12  |

    The gait clock belongs to the environment: it turns 1.5 + 0.3 |command| times a second
    (`gait_frequency`), with the commanded speed over ground in m/s.  At phase 0 the front left and
    rear right feet are due to carry, at phase 0.5 the others (a trot).

    `info` has the mean `velocity` over the control step and the `command`, each (forward,
    sideways, turning) in the trunk's heading, `torques` [N m] and the feet's `contact_forces` [N];
    of loose objects their places and quaternions in the world, `objects`, shape (n, 7).

    ## Rewards
    The sum of the terms in `info`, each bounded; a robot that follows its command earns close to
    1 a step, one that stands still while commanded to walk about nothing.

    - `reward_velocity` = 0.8 f, with f = exp(-(e / s)^2) exp(-(w / r)^2): e is the error of the
      mean velocity over the step in the trunk's heading, s = max(0.1 m/s, 0.4 commanded speed);
      w the error of the turning speed, r = max(0.2 rad/s, 0.4 |commanded turning speed|)
    - `reward_ease` = 0.1 f (1 - mean square of the action)
    - `reward_posture` = 0.1 f exp(-(relative error of the height / 0.15)^2)
      exp(-(sine of the tilt / 0.2)^2)
    - `reward_rhythm` = 0 f (1 - |sin 2 pi phase| times the share of the load on feet that are due
      to swing), and 0 where no foot carries
    - `reward_slip` = 0 f exp(-(v / 0.1 m/s)^2), v the greatest speed over the ground of a foot's
      point that carries load
    - `reward_smoothness` = 0 f exp(-(c / 0.2)^2), c the root mean square of the torques' changes
      from the control step before, over their limits

    The leading factors are weights: the option `reward_weights` has others, and lets the last three
    count.

    ## Starting State
    Standing, uniform noise of `reset_noise` on joint angles [rad] and velocities [rad/s], the
    lowest foot on the ground; the command uniform in its ranges; the gait phase 0 or 0.5.

    ## Episode End
    Terminated by a fall (trunk below 60 % of its standing height or tilted by more than 60 degrees,
    or any contact but the feet's), unless `terminate_on_fall=False`, and by a velocity beyond its
    bound.  Truncated after `max_episode_steps` control steps and where a contact problem has no
    solution (the state then stays the last finite one).  `info["end"]` says which; it is missing
    where the time limit was reached.

    ## Arguments
    - `command`: fixed speeds (forward [m/s], sideways [m/s], turning [rad/s]); drawn at each reset
      if None.  `reset(options={"command": (0.8, 0.0, 0.3)})` fixes it for one episode,
      `set_command` changes it in mid-episode.
    - `forward_range` = (0, 1.5), on stairs (0, 0.6), `sideways_range` = (-0.4, 0.4) [m/s],
      `turning_range` = (-0.8, 0.8) [rad/s]: ranges of the command, within [-3, 3].
    - `gait_frequency` = (1.5, 0.3): of the gait clock, standing [Hz], and what it gains with the
      commanded speed [Hz s/m].
    - `command_interval` = 0: time after which a drawn command is drawn anew [s]; 0 for never.
    - `push_impulse` = 0: size of horizontal impulses on the trunk [N s], at most 200, in drawn
      directions every `push_interval` = 3 s.
    - `friction_range` = (1, 1), `mass_range` = (1, 1): factors on friction and on each body's mass,
      drawn at each reset, within [0.1, 10].
    - `terrain` = "flat" | "slope" (of 10 degrees) | "rough" (heights drawn from 0 to 4 cm every
      20 cm, smoothly joined) | "stairs" (hills and pits of 6 steps, 8 cm high and 30 cm deep).  All
      worlds share one terrain, drawn by `terrain_seed` = 0; each episode begins at a drawn place of
      it with a drawn heading.  Heights, falls and posture are judged against the ground below the
      feet.  The expert, alive to the end of 200 episodes: 200 on flat and rough ground, 185 on
      stairs, 191 on the slope.
    - `cone` = "pyramid" | "exact" (the quadratic cone), `directions` = 8 of the pyramids (4 or 6:
      coarser): of friction.  `reset(options={"cone": ..., "directions": ...})` changes them from
      then on; a batch may give one a world.
    - `self_collision` = False: whether thighs, shanks and feet of different legs touch each other
      or pass through.  A step then takes a fourth more with the expert, two thirds more with
      random actions.
    - `objects` = None: loose boxes, spheres and capsules on flat ground, as
      `dynenvs.envs.objects` describes them.  Sizes are drawn once, by `objects_seed` = 0; masses,
      friction and places in each episode.  Thighs and shanks touch them, too.
      Falls and
      contacts of feet are with the ground alone; `mass_range` is the robot's, `friction_range`
      everything's.
      Among objects `integrator` is "midpoint" unless it is given: then their energy is kept,
      however fast they spin.
    - `observe_objects` = False: whether the observation tells of them (the expert does not look).
    - `reset_noise` = 0.01, `terminate_on_fall` = True.
    - `max_episode_steps`: 1,000 through `gym.make`, whose TimeLimit wrapper keeps it, and
      `gym.make_vec`; -1 for no limit, which is the class's own default.
    - `timestep` = 0.0075: physics step [s], at most 0.02.
    - `frame_skip` = 2: physics steps in a control step.
    - `reward_weights` = None: other weights of some reward terms by their names, such as
      `{"ease": 0.3}`, within [-1000, 1000]; the others keep theirs.
    - `integrator` = "euler" | "midpoint": of first or of second order (docs/contact.md).
    - `observation_noise` = 0: scale of normal noise on observations, with the standard deviations
      under "Noise" above; then `info["privileged"]` has the observation without it.
    - `action_noise` = 0: standard deviation of noise on torques, over their limits, drawn in each
      control step.
    - `action_delay` = 0: control steps by which actions act late, at most 8, or a range (low, high)
      from which each episode draws; until the first one arrives, the action 0 acts.
    - `motor_strength_range` = (1, 1): factor on each motor's torque, drawn at each reset.
    - `payload_range` = (0, 0): mass added to the trunk [kg], `com_offset` = 0: bound of the shift
      of its centre of mass along each axis [m], or three bounds; both drawn at each reset.
    - `control` = "torque" | "position": actions are then targets of PD motors, the standing pose
      plus the action times `action_scale` = 0.5 rad.  `stiffness` and `damping` are 2/rad and
      0.05 s/rad times the torque limits unless given [N m/rad], [N m s/rad], one number or one a
      motor (docs/disturbances.md).
    - `starts` = None: a file of states, as `dynenvs starts` writes it, in which episodes begin;
      `starts_share` = 1: share of those that do.
    - `observation_dtype` = "float64", or "float32": to which observations are rounded.
    - `render_mode` = None | "human" | "rgb_array"; `width` = 960, `height` = 540.

    ## Version History
    - v0: first release.
    """

    task_type: ClassVar[type[Task]] = QuadrupedTask


class QuadrupedVectorEnv(LeggedVectorEnv):
    """Many quadrupeds at once; see `QuadrupedEnv`."""

    env_type: ClassVar[type[DynEnv]] = QuadrupedEnv
