"""MujocoHumanoid-v5: Gymnasium's Humanoid-v5 on hard contact."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynenvs.envs.mujoco.floating import (
    OBSERVED,
    PLACED,
    FloatingHumanoid,
    contact_cost,
    observe,
    tell_place,
)
from dynenvs.envs.mujoco.look import Look, Seen, look_at_worlds, numbers, squares, told
from dynenvs.envs.mujoco.single import MujocoEnv
from dynenvs.envs.mujoco.vector import MujocoVectorEnv
from dynenvs.jit.compiled import entry, inlined
from dynenvs.jit.views import vector
from dynenvs.memory.layout import Bytes, Ints
from dynenvs.simd.elementary import hypot

OPTIONS = numbers(
    *OBSERVED,
    "forward_reward_weight",
    "ctrl_cost_weight",
    "contact_cost_weight",
    "healthy_reward",
    "terminate_when_unhealthy",
    pairs=("contact_cost_range", "healthy_z_range"),
)
INFO = told(
    *PLACED,
    "distance_from_origin",
    "x_velocity",
    "y_velocity",
    "reward_forward",
    "reward_survive",
    "reward_ctrl",
    "reward_contact",
)


@entry
def run(packed: Bytes, rows: Bytes, buffers: Bytes, a: Look, progress: Ints, thread: int) -> None:
    """Look at the worlds that no other thread has taken (`look.py`)."""
    look_at_worlds(_look, packed, rows, a, progress, thread)


@inlined
def _look(s: Seen) -> bool:
    """Speed of the centre of mass forward and health, less the costs of control and contact."""
    o, r = vector(s.options, 0, 1, OPTIONS)[0], vector(s.info, 0, 1, INFO)[0]
    observe(s, o)
    tell_place(s, r)
    r.distance_from_origin = hypot(s.q[0], s.q[1])
    center = s.bodies.centers[s.i]
    r.x_velocity, r.y_velocity = (center[0] - s.mark[0]) / s.dt, (center[1] - s.mark[1]) / s.dt
    s.mark[0], s.mark[1] = center[0], center[1]
    healthy = o.healthy_z_range[0] < s.q[2] < o.healthy_z_range[1]
    r.reward_forward = o.forward_reward_weight * r.x_velocity
    r.reward_survive = o.healthy_reward if healthy else 0.0
    r.reward_ctrl = -(o.ctrl_cost_weight * squares(s.action))
    r.reward_contact = -contact_cost(s, o.contact_cost_weight, o.contact_cost_range)
    s.reward[0] = r.reward_forward + r.reward_survive + r.reward_ctrl + r.reward_contact
    return not healthy and o.terminate_when_unhealthy != 0.0


@dataclass(kw_only=True, eq=False)
class HumanoidTask(FloatingHumanoid):
    """The options of Gymnasium's Humanoid-v5; those not named here, see `FloatingHumanoid`.

    Args:
        forward_reward_weight: weight of the velocity along x [s/m].
        contact_cost_weight: of the sum of squared contact forces, which is subtracted.
        contact_cost_range: within which that cost is kept.
        healthy_reward: of each step that ends healthy.
        terminate_when_unhealthy: whether the episode ends otherwise.
        healthy_z_range: heights of the torso [m].
    """

    run = staticmethod(run)
    option_record, info_record, told_at_first = OPTIONS, INFO, 5
    xml_file: str = "humanoid.xml"
    forward_reward_weight: float = 1.25
    contact_cost_weight: float = 5e-7
    contact_cost_range: tuple[float, float] = (-np.inf, 10.0)
    healthy_reward: float = 5.0
    terminate_when_unhealthy: bool = True
    healthy_z_range: tuple[float, float] = (1.0, 2.0)


class HumanoidEnv(MujocoEnv):
    """Walk forward on two legs; Gymnasium's Humanoid-v5, number for number.

    ## Action space

    `Box(-0.4, 0.4, (17,), float32)`: controls of the motors in the order of the file: abdomen (y,
    z, x), right hip (x, z, y) and knee, left hip (x, z, y) and knee, right shoulder (1, 2) and
    elbow, left shoulder (1, 2) and elbow; times their gears they are torques [N m].

    ## Observation space

    `Box(-inf, inf, (348,), float64)`.

    | number | what | unit |
    | --- | --- | --- |
    | 0 | height of the torso | m |
    | 1-4 | its orientation, a quaternion (w, x, y, z) | |
    | 5-21 | angles of the 17 joints in the order of the file | rad |
    | 22-24 | velocity of the torso, world axes | m/s |
    | 25-27 | its angular velocity, its own axes | rad/s |
    | 28-44 | rates of the joints | rad/s |
    | 45-174 | `cinert`: inertia (6), mass times place (3), mass of 13 bodies | kg m^2, kg m, kg |
    | 175-252 | `cvel`: angular and linear velocity of 13 bodies | rad/s, m/s |
    | 253-269 | `qfrc_actuator`: torques of the joints | N m |
    | 270-347 | `cfrc_ext`: moment and force of contacts on 13 bodies | N m, N |

    All of the bodies is about the centre of mass of the whole robot, world axes.  Four options
    `include_..._in_observation` leave parts out; with
    `exclude_current_positions_from_observation=False` x and y [m] come first.

    ## Rewards

    `reward_forward` (`forward_reward_weight` times the velocity of the centre of mass along x),
    `reward_survive` (`healthy_reward`), `reward_ctrl` (`-ctrl_cost_weight` times the sum of squared
    actions) and `reward_contact` (`-contact_cost_weight` times the sum of squared `cfrc_ext`,
    within `contact_cost_range`).

    ## Starting state

    The file's pose at rest, both with uniform noise in +-`reset_noise_scale`: the same state as
    Gymnasium's for the same seed.

    ## Episode end

    Terminated when the torso's height is out of `healthy_z_range` [m].  Truncated after 1000 steps
    by `gym.make`.

    ## Arguments

    `xml_file`, `frame_skip`, `forward_reward_weight`, `ctrl_cost_weight`, `contact_cost_weight`,
    `contact_cost_range`, `healthy_reward`, `terminate_when_unhealthy`, `healthy_z_range`,
    `reset_noise_scale` and five that say what is observed.

    ## What is different

    Contact and joint stops are hard, so that contact forces are those of rigid bodies; contact
    begins at touch (the file's margin of 1 mm is left out); velocities are stepped by the
    semi-implicit Euler rule; quantities of bodies are those of the state that is observed, where
    MuJoCo's are those of the physics step before.
    """

    task_type = HumanoidTask


class HumanoidVectorEnv(MujocoVectorEnv):
    """Many humanoids; see `HumanoidEnv`."""

    env_type = HumanoidEnv
