"""dynenvs/Humanoid-v0: a free pelvis, two legs, a torso and two arms follow commanded speeds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import ClassVar

from dynenvs.envs.core.base import DynEnv
from dynenvs.envs.core.task import Task
from dynenvs.envs.legged.legged import LeggedTask
from dynenvs.envs.legged.object_records import add_objects
from dynenvs.envs.legged.shells import LeggedRobot, LeggedVectorEnv
from dynenvs.envs.objects import Loose
from dynenvs.envs.robots import humanoid as robot
from dynenvs.model.model import Model

# Cycles a second at rest [Hz], and their growth with speed [Hz s/m]: quick steps on the spot
# soon catch a push, and fast walks have time for longer ones (docs/lab/experts.md)
GAIT = (1.1, -0.27)
# No less than the pelvis sways within a stride [m/s], [m/s], [rad/s]
LEAST_ERRORS = (0.15, 0.3, 0.2)


@cache
def _model(terrain: str, seed: int, objects: tuple[Loose, ...]) -> Model:
    builder = robot.describe(terrain, seed)
    add_objects(builder, objects, robot.LOOSE_ONLY)
    return builder.build()


@dataclass(kw_only=True, eq=False)
class HumanoidTask(LeggedTask):
    """The humanoid walks as commanded; arguments are `LeggedTask`'s."""

    forward_range: tuple[float, float] | None = None  # type: ignore[assignment]
    sideways_range: tuple[float, float] = (-0.2, 0.2)
    turning_range: tuple[float, float] = (-0.4, 0.4)
    gait_frequency: tuple[float, float] = GAIT
    timestep: float = 0.0075
    frame_skip: int = 2

    pose = robot.STANDING
    feet = MappingProxyType({side: (f"{side}_foot",) for side in robot.SIDES})
    least_errors = LEAST_ERRORS
    base, middle = "pelvis", "the point between the hips"

    def __post_init__(self) -> None:
        if self.forward_range is None:
            self.forward_range = (0.0, 0.4) if self.terrain == "stairs" else (0.0, 0.8)
        super().__post_init__()

    @property
    def level(self) -> Model:
        """The robot on level ground."""
        return _model("flat", 0, ())

    def build(self) -> Model:
        """The robot on its ground, among its objects."""
        return _model(self.terrain, self.terrain_seed, self.loose)


class HumanoidEnv(LeggedRobot):
    """A humanoid of 1.70 m and 70 kg with a free pelvis walks as commanded.

    ## Description
    The pelvis is free to move and turn; each leg has six actuated revolute joints and a box for a
    foot, the torso three, each arm three.  Everything else can touch the ground, too, and the legs
    each other.  Contact is hard, with Coulomb friction (coefficient 0.8, eight directions), solved
    as an LCP and certified at every step.  Numbers: de Leva's and others' (cited in
    `envs/robots/humanoid.py`).

    ## Action Space
    `Box(-1, 1, (21,), float32)`: torque over effort limit, held for the control period of 15 ms.

    | Num   | Joint                                                            | Limit [N m]     |
    |-------|------------------------------------------------------------------|-----------------|
    | 0-2   | left hip: yaw, roll, pitch                                       | 70, 120, 190    |
    | 3     | left knee                                                        | 190             |
    | 4-5   | left ankle: pitch, roll                                          | 120, 40         |
    | 6-11  | right hip, knee and ankle                                        | the same        |
    | 12-14 | torso: yaw, roll, pitch                                          | 90, 150, 210    |
    | 15-17 | left shoulder: pitch, roll; left elbow                           | 90, 90, 70      |
    | 18-20 | right shoulder and elbow                                         | the same        |

    ## Observation Space
    `Box((59,), float64)`; every entry stays within its bounds.  Velocities of the pelvis are in its
    own axes (x forward, y to the left, z up); its heading in the world is not seen.  Positive
    angles turn to the left (yaw), a left limb outward (roll), a hanging limb backward (pitch).

    | Num   | Observation                            | Min            | Max        | Unit  | Noise |
    |-------|----------------------------------------|----------------|------------|-------|-------|
    | 0     | height of the point between the hips   | 0              | 2          | m     | 0.01  |
    | 1-3   | upward direction in the pelvis' axes   | -1             | 1          | -     | 0.03  |
    | 4-6   | left hip yaw, roll, pitch              | -.7 -.45 -2    | .7 .75 .7  | rad   | 0.006 |
    | 7-9   | left knee, ankle pitch, ankle roll     | 0 -.87 -.5     | 2.4 .87 .5 | rad   | 0.006 |
    | 10-15 | the same of the right leg              | mirrored       | mirrored   | rad   | 0.006 |
    | 16-18 | torso yaw, roll, pitch                 | -.8 -.5 -.45   | .8 .5 1    | rad   | 0.006 |
    | 19-21 | left shoulder pitch, roll, left elbow  | -2.8 -.15 -2.5 | 1 1.6 0    | rad   | 0.006 |
    | 22-24 | the same of the right arm              | mirrored       | mirrored   | rad   | 0.006 |
    | 25-27 | velocity of the point between the hips | -15            | 15         | m/s   | 0.06  |
    | 28-30 | angular velocity of the pelvis         | -60            | 60         | rad/s | 0.12  |
    | 31-51 | joint velocities, as the angles        | -300           | 300        | rad/s | 0.9   |
    | 52-53 | sine and cosine of 2 pi gait phase     | -1             | 1          | -     | -     |
    | 54    | commanded forward speed                | 0              | 0.8        | m/s   | -     |
    | 55    | commanded sideways speed, to the left  | -0.2           | 0.2        | m/s   | -     |
    | 56    | commanded turning speed, to the left   | -0.4           | 0.4        | rad/s | -     |
    | 57-58 | whether each foot carries load         | 0              | 1          | -     | -     |

    On terrain a height scan follows, `Box((246,), float64)`, of points as the quadruped's:

    | Num    | Observation                                     | Min | Max | Unit | Noise |
    |--------|-------------------------------------------------|-----|-----|------|-------|
    | 59-245 | height of the ground against the pelvis' origin | -2  | 2   | m    | 0.03  |

    With `observe_objects` 15 more follow for each object, in the pelvis' axes:

    | Next | Observation                                 | Min | Max | Unit  | Noise |
    |------|---------------------------------------------|-----|-----|-------|-------|
    | +3   | place of its middle from the pelvis' origin | -20 | 20  | m     | 0.03  |
    | +6   | directions of its own x axis and y axis     | -1  | 1   | -     | 0.03  |
    | +3   | its velocity                                | -15 | 15  | m/s   | 0.06  |
    | +3   | its angular velocity                        | -60 | 60  | rad/s | 0.12  |

    The gait clock belongs to the environment: about once a second
    (`gait_frequency`).  At phase 0 the left foot is due to carry, at
    phase 0.5 the right one.

    `info` has the mean `velocity` over the control step and the `command`, each (forward,
    sideways, turning) in the pelvis' heading, `torques` [N m] and the feet's `contact_forces` [N];
    of loose objects their places and quaternions in the world, `objects`, shape (n, 7).

    ## Rewards
    The sum of the terms in `info`, each bounded, at most 1; the expert earns 0.5 to 0.8 a step,
    since a walker's pelvis sways, and standing still under a fast command about nothing.

    - `reward_velocity` = 0.8 f, with f = exp(-(e / s)^2) exp(-(d / u)^2) exp(-(w / r)^2): e and d
      are the errors of the mean velocity over the step, forward and sideways in the pelvis'
      heading, s = max(0.15 m/s, 0.4 commanded speed) and u = max(0.3 m/s, 0.4 commanded speed),
      as much as a walker sways; w the error of the turning speed, r = max(0.2 rad/s,
      0.4 |commanded turning speed|)
    - `reward_ease` = 0.1 f (1 - mean square of the action)
    - `reward_posture` = 0.1 f exp(-(relative error of the height / 0.15)^2)
      exp(-(sine of the pelvis' tilt / 0.2)^2)
    - `reward_rhythm` = 0 f (1 - |sin 2 pi phase| times the share of the load on feet that are due
      to swing), and 0 where no foot carries
    - `reward_slip` = 0 f exp(-(v / 0.1 m/s)^2), v the greatest speed over the ground of a foot's
      point that carries load
    - `reward_smoothness` = 0 f exp(-(c / 0.2)^2), c the root mean square of the torques' changes
      from the control step before, over their limits

    The leading factors are weights: the option `reward_weights` has others, and lets the last three
    count.

    ## Starting State
    Standing with knees and elbows a little bent, uniform noise of `reset_noise` on joint angles
    [rad] and velocities [rad/s], the lowest corner of the feet on the ground; the command uniform
    in its ranges; the gait phase 0 or 0.5.

    ## Episode End
    Terminated by a fall (pelvis below 60 % of its standing height or tilted by more than 60
    degrees, or any contact with the ground but the feet's), unless `terminate_on_fall=False`, and
    by a velocity beyond its bound.  Truncated after `max_episode_steps` control steps and where a
    contact problem has no solution (the state then stays the last finite one).  `info["end"]` says
    which; it is missing where the time limit was reached.

    ## Arguments
    - `command`: fixed speeds (forward [m/s], sideways [m/s], turning [rad/s]); drawn at each reset
      if None.  `reset(options={"command": (0.5, 0.0, 0.3)})` fixes it for one episode,
      `set_command` changes it in mid-episode.
    - `forward_range` = (0, 0.8), on stairs (0, 0.4), `sideways_range` = (-0.2, 0.2) [m/s],
      `turning_range` = (-0.4, 0.4) [rad/s]: ranges of the command, within [-3, 3].
    - `terrain` = "flat" | "slope" | "rough" | "stairs", `terrain_seed` = 0: ground as the
      quadruped's, with its height scan behind the other observations; episodes begin with the
      pelvis upright.
    - `gait_frequency` = (1.1, -0.27): of the gait clock, standing [Hz], and what it gains with the
      commanded speed [Hz s/m].  Slower clocks make longer steps: (0.6, 0.3) of 0.49 m at 0.8 m/s
      instead of 0.47.  Of the shipped policies `dagger` knows the default, `ppo` (1, 0).
    - `command_interval` = 0: time after which a drawn command is drawn anew [s]; 0 for never.
    - `push_impulse` = 0: size of horizontal impulses on the pelvis [N s], at most 200, in drawn
      directions every `push_interval` = 3 s.
    - `friction_range` = (1, 1), `mass_range` = (1, 1): factors on friction and on each body's mass,
      drawn at each reset, within [0.1, 10].
    - `cone` = "pyramid" | "exact" (the quadratic cone), `directions` = 8 of the pyramids (4 or 6:
      coarser): of friction.  `reset(options={"cone": ..., "directions": ...})` changes them from
      then on; a batch may give one a world.
    - `objects` = None: loose boxes, spheres and capsules on flat ground, as
      `dynenvs.envs.objects` describes them.  Sizes are drawn once, by `objects_seed` = 0; masses,
      friction and places in each episode.  Falls and
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
    - `payload_range` = (0, 0): mass added to the torso [kg], `com_offset` = 0: bound of the shift
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

    task_type: ClassVar[type[Task]] = HumanoidTask


class HumanoidVectorEnv(LeggedVectorEnv):
    """Many humanoids at once; see `HumanoidEnv`."""

    env_type: ClassVar[type[DynEnv]] = HumanoidEnv
