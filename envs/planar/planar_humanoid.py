"""dynenvs/PlanarHumanoid-v0: a man's legs in the sagittal plane follow a commanded speed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from dynenvs.envs.core.base import DynEnv
from dynenvs.envs.core.task import Task
from dynenvs.envs.planar.walker import PlanarVectorEnv, PlanarWalker, WalkerTask
from dynenvs.envs.robots import planar_humanoid as robot
from dynenvs.model.model import Model

COMMAND_RANGE = (0.3, 1.2)  # [m/s]
GAIT = (0.68, 0.20)  # cycles a second at rest [Hz], and their growth with speed [Hz s/m]
FREE_GAIT = (0.68, 0.35)  # quicker steps, where balance is to be kept as well
VELOCITY_BOUND = 150.0  # of a joint [rad/s]: full torques reach 95


@cache
def _model(free_pitch: bool) -> Model:
    return robot.build(free_pitch)


@dataclass(kw_only=True, eq=False)
class PlanarHumanoidTask(WalkerTask):
    """The humanoid walks at the commanded speed; arguments are `WalkerTask`'s."""

    command_range: tuple[float, float] = COMMAND_RANGE

    pose = robot.STANDING
    feet: ClassVar = {side: (f"{side}_heel", f"{side}_toe") for side in robot.SIDES}
    trunk = "torso"
    gait, free_gait = GAIT, FREE_GAIT
    velocity_bound = VELOCITY_BOUND

    def build(self) -> Model:
        """The robot on its ground."""
        return _model(self.free_pitch)


class PlanarHumanoidEnv(PlanarWalker):
    """A humanoid of 1.70 m and 70 kg walks in the plane at a commanded speed.

    ## Description
    The torso moves on two unactuated prismatic root joints (x, z) and never pitches, unless
    `free_pitch=True` gives it a third, unactuated revolute one: then it must be balanced, with
    nothing but the feet to push against the ground.  Hips, knees and ankles are six actuated
    revolute joints; each foot touches the ground at heel and toe, with hard Coulomb friction
    (coefficient 0.8) solved as an LCP and certified at every step.  Shins, pelvis and, if it may
    pitch, chest and head can touch the ground, too.  Masses, lengths and limits are published
    human data (`envs/robots/planar_humanoid.py`).

    ## Action Space
    `Box(-1, 1, (6,), float32)`: torque over effort limit, held for the control period of 10 ms.

    | Num | Joint       | Unit at 1 | Limit   |
    |-----|-------------|-----------|---------|
    | 0   | left hip    | torque    | 190 N m |
    | 1   | left knee   | torque    | 190 N m |
    | 2   | left ankle  | torque    | 120 N m |
    | 3   | right hip   | torque    | 190 N m |
    | 4   | right knee  | torque    | 190 N m |
    | 5   | right ankle | torque    | 120 N m |

    ## Observation Space
    `Box((20,), float64)`; every entry stays within its bounds.  A positive hip or knee angle turns
    the limb backward, a positive ankle angle turns the toe down.

    | Num   | Observation                                    | Min     | Max     | Unit  | Noise |
    |-------|------------------------------------------------|---------|---------|-------|-------|
    | 0     | height of the hip                              | 0       | 3       | m     | 0.01  |
    | 1     | left hip angle                                 | -1.81   | 0.70    | rad   | 0.006 |
    | 2     | left knee angle                                | 0       | 2.40    | rad   | 0.006 |
    | 3     | left ankle angle                               | -0.87   | 0.74    | rad   | 0.006 |
    | 4-6   | right hip, knee, ankle angle                   | as left | as left | rad   | 0.006 |
    | 7-8   | velocity of the hip, x and z                   | -15     | 15      | m/s   | 0.06  |
    | 9-14  | angular velocities, in the order of the angles | -150    | 150     | rad/s | 0.9   |
    | 15-16 | sine and cosine of 2 pi times the gait phase   | -1      | 1       | -     | -     |
    | 17    | commanded speed                                | 0.3     | 1.2     | m/s   | -     |

    With `free_pitch` two more follow, `Box((22,), float64)`; leg angles are then the torso's:

    | Num | Observation                 | Min     | Max    | Unit  | Noise |
    |-----|-----------------------------|---------|--------|-------|-------|
    | 18  | pitch of the torso, forward | -3.1416 | 3.1416 | rad   | 0.03  |
    | 19  | its rate                    | -150    | 150    | rad/s | 0.12  |

    Last come the contacts at the end of the control step, left and right; none after a reset:

    | Num | Observation                         | Min | Max | Unit | Noise |
    |-----|-------------------------------------|-----|-----|------|-------|
    | +2  | 1 where a foot carries load, else 0 | 0   | 1   | -    | -     |

    The gait clock belongs to the environment: it turns 0.68 + 0.20 command times a second, with
    `free_pitch` 0.68 + 0.35 command times.  At phase 0 the left foot is due to touch down, at phase
    0.5 the right one.

    ## Rewards
    The sum of the terms in `info`, each bounded; a walker that follows its command earns close to
    1 a step, one that stands still while commanded to walk about nothing.

    - `reward_velocity` = 0.8 f, with f = exp(-(error / scale)^2), the error of the mean speed over
      the step and scale = max(0.1 m/s, 0.5 command)
    - `reward_ease` = 0.1 f (1 - mean square of the action)
    - `reward_height` = 0.1 f exp(-(relative error of the hip height / 0.15)^2)

    - `reward_rhythm` = 0 f (1 - |sin 2 pi phase| times the share of the load on feet that are due
      to swing), and 0 where no foot carries
    - `reward_slip` = 0 f exp(-(v / 0.1 m/s)^2), v the greatest speed over the ground of a foot's
      point that carries load
    - `reward_smoothness` = 0 f exp(-(c / 0.2)^2), c the root mean square of the torques' changes
      from the control step before, over their limits

    The leading factors are weights: the option `reward_weights` has others, and lets the last three
    count.

    ## Starting State
    Standing with slightly bent knees, uniform noise of `reset_noise` on joint angles [rad] and
    velocities [rad/s], the lowest foot point on the ground; the command uniform in
    `command_range`; the gait phase 0 or 0.5.  The noise goes to a free pitch and its rate, too.

    ## Episode End
    Terminated by a fall (hip below 70 % of its standing height, a torso pitched by more than 1 rad,
    or any contact but the feet's), unless `terminate_on_fall=False`, and by a velocity beyond its
    bound.  Truncated after `max_episode_steps` control steps and where a contact problem has no
    solution (the state then stays the last finite one).  `info["end"]` says which; it is missing
    where the time limit was reached.

    ## Arguments
    - `command`: a fixed speed [m/s]; drawn at each reset if None.
      `reset(options={"command": 0.8})` fixes it for one episode.
    - `command_range` = (0.3, 1.2): range of the command [m/s], within [-2, 5].
    - `free_pitch` = False: whether the torso pitches, another model of the same task.
    - `reset_noise` = 0.01, `terminate_on_fall` = True.
    - `max_episode_steps`: 1,000 through `gym.make`, whose TimeLimit wrapper keeps it, and
      `gym.make_vec`; -1 for no limit, which is the class's own default.
    - `timestep` = 0.005: physics step [s], at most 0.02.
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
    - `friction_range` = (1, 1), `mass_range` = (1, 1): factors on friction and on each body's mass,
      drawn at each reset, within [0.1, 10].
    - `payload_range` = (0, 0): mass added to the torso [kg], `com_offset` = 0: bound of the shift
      of its centre of mass along x and z [m], or bounds (x, 0, z); both drawn at each reset.
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

    task_type: ClassVar[type[Task]] = PlanarHumanoidTask


class PlanarHumanoidVectorEnv(PlanarVectorEnv):
    """Many planar humanoids at once; see `PlanarHumanoidEnv`."""

    env_type: ClassVar[type[DynEnv]] = PlanarHumanoidEnv
