"""MujocoHalfCheetah-v5: Gymnasium's HalfCheetah-v5 on hard contact."""

from __future__ import annotations

from dataclasses import dataclass

from dynenvs.envs.mujoco.planar import PlanarRunner
from dynenvs.envs.mujoco.single import MujocoEnv
from dynenvs.envs.mujoco.task import NormalVelocities
from dynenvs.envs.mujoco.vector import MujocoVectorEnv


@dataclass(kw_only=True, eq=False)
class HalfCheetahTask(NormalVelocities, PlanarRunner):
    """The options of Gymnasium's HalfCheetah-v5, see `PlanarRunner`."""

    xml_file: str = "half_cheetah.xml"
    ctrl_cost_weight: float = 0.1
    reset_noise_scale: float = 0.1


class HalfCheetahEnv(MujocoEnv):
    """Run forward on two legs in the x-z plane; Gymnasium's HalfCheetah-v5, number for number.

    ## Action space

    `Box(-1, 1, (6,), float32)`: controls of the motors; times the gear they are torques.

    | number | motor | gear [N m] |
    | --- | --- | --- |
    | 0-2 | thigh, shin, foot of the back leg | 120, 90, 60 |
    | 3-5 | thigh, shin, foot of the front leg | 120, 60, 30 |

    ## Observation space

    `Box(-inf, inf, (17,), float64)`.

    | number | what | unit |
    | --- | --- | --- |
    | 0, 1 | height of the trunk from its first one, its pitch | m, rad |
    | 2-7 | angles of the six joints, as the motors | rad |
    | 8-10 | velocity of the trunk along x and z, its rate of pitch | m/s, rad/s |
    | 11-16 | rates of the six joints | rad/s |

    With `exclude_current_positions_from_observation=False` x [m] comes first.

    ## Rewards

    `reward_forward` (`forward_reward_weight` times the velocity along x) and `reward_ctrl`
    (`-ctrl_cost_weight` times the sum of squared actions).

    ## Starting state

    The file's pose with uniform noise in +-`reset_noise_scale`, velocities normal with that
    deviation: the same state as Gymnasium's for the same seed.

    ## Episode end

    Truncated after 1000 steps by `gym.make`; nothing terminates it.

    ## Arguments

    `xml_file`, `frame_skip`, `forward_reward_weight`, `ctrl_cost_weight`, `reset_noise_scale`,
    `exclude_current_positions_from_observation`.

    ## What is different

    Contact and joint stops are hard; velocities are stepped by the semi-implicit Euler rule.
    """

    task_type = HalfCheetahTask


class HalfCheetahVectorEnv(MujocoVectorEnv):
    """Many half cheetahs; see `HalfCheetahEnv`."""

    env_type = HalfCheetahEnv
