"""MujocoWalker2d-v5: Gymnasium's Walker2d-v5 on hard contact."""

from __future__ import annotations

from dataclasses import dataclass

from dynenvs.envs.mujoco.planar import PlanarWalker
from dynenvs.envs.mujoco.single import MujocoEnv
from dynenvs.envs.mujoco.vector import MujocoVectorEnv


@dataclass(kw_only=True, eq=False)
class Walker2dTask(PlanarWalker):
    """The options of Gymnasium's Walker2d-v5, see `PlanarWalker`."""

    xml_file: str = "walker2d_v5.xml"


class Walker2dEnv(MujocoEnv):
    """Walk forward on two legs in the x-z plane; Gymnasium's Walker2d-v5, number for number.

    ## Action space

    `Box(-1, 1, (6,), float32)`: controls of the motors of thigh, leg and foot, right and left;
    times the gear of 100 they are torques [N m].

    ## Observation space

    `Box(-inf, inf, (17,), float64)`.

    | number | what | unit |
    | --- | --- | --- |
    | 0, 1 | height of the trunk, its pitch | m, rad |
    | 2-7 | angles of thigh, leg and foot, right, then left | rad |
    | 8-10 | velocity of the trunk along x and z, its rate of pitch, within 10 | m/s, rad/s |
    | 11-16 | rates of the six joints, within 10 | rad/s |

    With `exclude_current_positions_from_observation=False` x [m] comes first.

    ## Rewards

    `reward_forward` (`forward_reward_weight` times the velocity along x), `reward_survive`
    (`healthy_reward`) and `reward_ctrl` (`-ctrl_cost_weight` times the sum of squared actions).

    ## Starting state

    The file's pose at rest, both with uniform noise in +-`reset_noise_scale`: the same state as
    Gymnasium's for the same seed.

    ## Episode end

    Terminated when unhealthy: the height out of `healthy_z_range` [m], or the pitch out of
    `healthy_angle_range` [rad].  Truncated after 1000 steps by `gym.make`.

    ## Arguments

    `xml_file`, `frame_skip`, `forward_reward_weight`, `ctrl_cost_weight`, `healthy_reward`,
    `terminate_when_unhealthy`, `healthy_z_range`, `healthy_angle_range`, `reset_noise_scale`,
    `exclude_current_positions_from_observation`.

    ## What is different

    Contact and joint stops are hard; velocities are stepped by the semi-implicit Euler rule.
    """

    task_type = Walker2dTask


class Walker2dVectorEnv(MujocoVectorEnv):
    """Many walkers; see `Walker2dEnv`."""

    env_type = Walker2dEnv
