"""dynenvs/PlanarQuadruped-v0: four legs of three joints follow a commanded speed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from dynenvs.envs.core.base import DynEnv
from dynenvs.envs.core.task import Task
from dynenvs.envs.planar.walker import PlanarVectorEnv, PlanarWalker, WalkerTask
from dynenvs.envs.robots import planar_quadruped as robot
from dynenvs.model.model import Model

COMMAND_RANGE = (0.3, 1.0)  # [m/s]
GAIT = (1.3, 0.25)  # cycles a second at rest [Hz], and their growth with speed [Hz s/m]
# Of a joint [rad/s].  Far off, so that random torques seldom end an episode by it: light legs on
# strong motors; full torque spins an ankle up to 50 rad/s within one control step.
VELOCITY_BOUND = 300.0


@cache
def _model(free_pitch: bool) -> Model:
    return robot.build(free_pitch)


@dataclass(kw_only=True, eq=False)
class PlanarQuadrupedTask(WalkerTask):
    """The quadruped trots at the commanded speed; arguments are `WalkerTask`'s."""

    command_range: tuple[float, float] = COMMAND_RANGE

    pose = robot.STANDING
    feet: ClassVar = {leg: (f"{leg}_foot",) for leg in robot.LEGS}
    trunk = "trunk"
    gait = free_gait = GAIT
    velocity_bound = VELOCITY_BOUND

    def build(self) -> Model:
        """The robot on its ground."""
        return _model(self.free_pitch)


class PlanarQuadrupedEnv(PlanarWalker):
    """A four-legged robot of 12.7 kg trots in the plane at a commanded speed.

    ## Description
    The trunk moves on two unactuated prismatic root joints (x, z) and never pitches, unless
    `free_pitch=True` gives it a third, unactuated revolute one.  Each leg has three actuated
    revolute joints (hip, knee, ankle) and a spherical foot of 23 mm.
    Contact is hard, with Coulomb friction (coefficient 0.6), solved as an LCP and certified at
    every step.  Numbers: the Unitree Go1's (`envs/robots/planar_quadruped.py` says what is the
    robot's and what is derived).

    ## Action Space
    `Box(-1, 1, (12,), float32)`: torque over effort limit, held for the control period of 10 ms.

    | Num  | Joint                          | Unit at 1 | Limit               |
    |------|--------------------------------|-----------|---------------------|
    | 0-2  | front left hip, knee, ankle    | torque    | 23.7, 35.55, 23.7 N m |
    | 3-5  | front right hip, knee, ankle   | torque    | the same            |
    | 6-8  | rear left hip, knee, ankle     | torque    | the same            |
    | 9-11 | rear right hip, knee, ankle    | torque    | the same            |

    ## Observation Space
    `Box((34,), float64)`; every entry stays within its bounds.  A positive angle turns the limb
    backward.

    | Num   | Observation                                    | Min      | Max      | Unit  | Noise |
    |-------|------------------------------------------------|----------|----------|-------|-------|
    | 0     | height of the hips                             | 0        | 3        | m     | 0.01  |
    | 1     | front left hip angle                           | -0.663   | 2.967    | rad   | 0.006 |
    | 2     | front left knee angle                          | -2.818   | -0.888   | rad   | 0.006 |
    | 3     | front left ankle angle                         | -0.40    | 1.80     | rad   | 0.006 |
    | 4-12  | the same of front right, rear left, rear right | as above | as above | rad   | 0.006 |
    | 13-14 | velocity of the trunk, x and z                 | -15      | 15       | m/s   | 0.06  |
    | 15-26 | angular velocities, in the order of the angles | -300     | 300      | rad/s | 0.9   |
    | 27-28 | sine and cosine of 2 pi times the gait phase   | -1       | 1        | -     | -     |
    | 29    | commanded speed                                | 0.3      | 1.0      | m/s   | -     |

    With `free_pitch` two more follow, `Box((36,), float64)`; leg angles are then the trunk's:

    | Num | Observation                   | Min     | Max    | Unit  | Noise |
    |-----|-------------------------------|---------|--------|-------|-------|
    | 30  | pitch of the trunk, nose down | -3.1416 | 3.1416 | rad   | 0.03  |
    | 31  | its rate                      | -300    | 300    | rad/s | 0.12  |

    Last come the contacts at the end of the control step, leg by leg; none after a reset:

    | Num | Observation                         | Min | Max | Unit | Noise |
    |-----|-------------------------------------|-----|-----|------|-------|
    | +4  | 1 where a foot carries load, else 0 | 0   | 1   | -    | -     |

    The gait clock belongs to the environment: it turns 1.3 + 0.25 command times a second.  At phase
    0 the front left and rear right feet are due to touch down, at phase 0.5 the others (a trot).

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
    Standing, uniform noise of `reset_noise` on joint angles [rad] and velocities [rad/s], the
    lowest foot on the ground; the command uniform in `command_range`; the gait phase 0 or 0.5.  The
    noise goes to a free pitch and its rate, too.

    ## Episode End
    Terminated by a fall (trunk below 70 % of its standing height, pitched by more than 1 rad, or
    any contact but the feet's), unless `terminate_on_fall=False`, and by a velocity beyond its
    bound.  Truncated after `max_episode_steps` control steps and where a contact problem has no
    solution (the state then stays the last finite one).  `info["end"]` says which; it is missing
    where the time limit was reached.

    ## Arguments
    - `command`: a fixed speed [m/s]; drawn at each reset if None.
      `reset(options={"command": 0.8})` fixes it for one episode.
    - `command_range` = (0.3, 1.0): range of the command [m/s], within [-2, 5].
    - `free_pitch` = False: whether the trunk pitches, another model of the same task.
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
    - `payload_range` = (0, 0): mass added to the trunk [kg], `com_offset` = 0: bound of the shift
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

    task_type: ClassVar[type[Task]] = PlanarQuadrupedTask


class PlanarQuadrupedVectorEnv(PlanarVectorEnv):
    """Many planar quadrupeds at once; see `PlanarQuadrupedEnv`."""

    env_type: ClassVar[type[DynEnv]] = PlanarQuadrupedEnv
