"""MujocoHopper-v5: Gymnasium's Hopper-v5 on hard contact."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dynenvs.envs.mujoco.planar import PlanarWalker
from dynenvs.envs.mujoco.single import MujocoEnv
from dynenvs.envs.mujoco.vector import MujocoVectorEnv


@dataclass(kw_only=True, eq=False)
class HopperTask(PlanarWalker):
    """The options of Gymnasium's Hopper-v5, see `PlanarWalker`.

    Args:
        healthy_state_range: of all positions but x and height, and of velocities.
    """

    xml_file: str = "hopper.xml"
    healthy_state_range: tuple[float, float] = (-100.0, 100.0)  # type: ignore[misc]
    healthy_z_range: tuple[float, float] = (0.7, math.inf)
    healthy_angle_range: tuple[float, float] = (-0.2, 0.2)


class HopperEnv(MujocoEnv):
    """Hop forward on one leg in the x-z plane; Gymnasium's Hopper-v5, number for number.

    ## Action space

    `Box(-1, 1, (3,), float32)`: controls of the motors of thigh, leg and foot; times the gear of
    200 they are torques [N m].

    ## Observation space

    `Box(-inf, inf, (11,), float64)`.

    | number | what | unit |
    | --- | --- | --- |
    | 0, 1 | height of the trunk, its pitch | m, rad |
    | 2-4 | angles of thigh, leg and foot | rad |
    | 5-7 | velocity of the trunk along x and z, its rate of pitch, within 10 | m/s, rad/s |
    | 8-10 | rates of thigh, leg and foot, within 10 | rad/s |

    With `exclude_current_positions_from_observation=False` x [m] comes first.

    ## Rewards

    `reward_forward` (`forward_reward_weight` times the velocity along x), `reward_survive`
    (`healthy_reward`) and `reward_ctrl` (`-ctrl_cost_weight` times the sum of squared actions).

    ## Starting state

    The file's pose at rest, both with uniform noise in +-`reset_noise_scale`: the same state as
    Gymnasium's for the same seed.

    ## Episode end

    Terminated when unhealthy: the height out of `healthy_z_range` [m], the pitch out of
    `healthy_angle_range` [rad], or another entry of the state out of `healthy_state_range`.
    Truncated after 1000 steps by `gym.make`.

    ## Arguments

    `xml_file`, `frame_skip`, `forward_reward_weight`, `ctrl_cost_weight`, `healthy_reward`,
    `terminate_when_unhealthy`, `healthy_state_range`, `healthy_z_range`, `healthy_angle_range`,
    `reset_noise_scale`, `exclude_current_positions_from_observation`.

    ## What is different

    Contact and joint stops are hard; velocities are stepped by the semi-implicit Euler rule.
    """

    task_type = HopperTask


class HopperVectorEnv(MujocoVectorEnv):
    """Many hoppers; see `HopperEnv`."""

    env_type = HopperEnv
