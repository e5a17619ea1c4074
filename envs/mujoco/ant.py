"""MujocoAnt-v5: Gymnasium's Ant-v5 on hard contact."""

from __future__ import annotations

from dataclasses import dataclass

from dynenvs.envs.checks import choice, whole
from dynenvs.envs.mujoco.look import (
    Look,
    Seen,
    clipped,
    copy_to,
    look_at_worlds,
    numbers,
    squares,
    squares_within,
    told,
)
from dynenvs.envs.mujoco.single import MujocoEnv
from dynenvs.envs.mujoco.task import MujocoTask, NormalVelocities
from dynenvs.envs.mujoco.vector import MujocoVectorEnv
from dynenvs.jit.compiled import entry, inlined
from dynenvs.jit.views import vector
from dynenvs.memory.layout import Bytes, Ints
from dynenvs.simd.elementary import hypot

OPTIONS = numbers(
    "forward_reward_weight",
    "ctrl_cost_weight",
    "contact_cost_weight",
    "healthy_reward",
    "terminate_when_unhealthy",
    "exclude_current_positions_from_observation",
    "include_cfrc_ext_in_observation",
    pairs=("healthy_z_range", "contact_force_range"),
)
INFO = told(
    "x_position",
    "y_position",
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
    """Positions without x and y, velocities, contact forces.

    Speed forward and health, less the costs of control and contact.
    """
    o, r = vector(s.options, 0, 1, OPTIONS)[0], vector(s.info, 0, 1, INFO)[0]
    at = copy_to(s.observation, 0, s.q, 2 * int(o.exclude_current_positions_from_observation))
    at = copy_to(s.observation, at, s.v, 0)
    forces, ends, z = s.bodies.forces[s.i].reshape(-1), o.contact_force_range, o.healthy_z_range
    if o.include_cfrc_ext_in_observation != 0.0:
        for k in range(forces.shape[0]):
            s.observation[at + k] = clipped(forces[k], ends[0], ends[1])
    place = s.bodies.origins[s.i, s.places[0]]
    r.x_velocity, r.y_velocity = (place[0] - s.mark[0]) / s.dt, (place[1] - s.mark[1]) / s.dt
    s.mark[0], s.mark[1] = place[0], place[1]
    r.x_position, r.y_position = s.q[0], s.q[1]
    r.distance_from_origin = hypot(s.q[0], s.q[1])
    healthy = z[0] <= s.q[2] <= z[1]
    r.reward_forward = o.forward_reward_weight * r.x_velocity
    r.reward_survive = o.healthy_reward if healthy else 0.0
    r.reward_ctrl = -o.ctrl_cost_weight * squares(s.action)
    r.reward_contact = -o.contact_cost_weight * squares_within(forces, ends[0], ends[1])
    s.reward[0] = r.reward_forward + r.reward_survive + r.reward_ctrl + r.reward_contact
    return not healthy and o.terminate_when_unhealthy != 0.0


@dataclass(kw_only=True, eq=False)
class AntTask(NormalVelocities, MujocoTask):
    """The options of Gymnasium's Ant-v5.

    Args:
        xml_file, frame_skip: see `MujocoTask`.
        forward_reward_weight: weight of the velocity along x [s/m].
        ctrl_cost_weight: of the sum of squared actions, which is subtracted.
        contact_cost_weight: of the sum of squared contact forces, clipped, which is subtracted.
        healthy_reward: of each step that ends healthy.
        main_body: name or number of the body whose velocity counts.
        terminate_when_unhealthy: whether the episode ends otherwise.
        healthy_z_range: heights of the torso [m].
        contact_force_range: to which contact forces and moments are clipped [N, N m].
        reset_noise_scale: of the noise on the first state.
        exclude_current_positions_from_observation: whether x and y are not shown.
        include_cfrc_ext_in_observation: whether contact forces are shown.
    """

    run = staticmethod(run)
    least = (3, 1)
    option_record, info_record, told_at_first = OPTIONS, INFO, 3
    sees_poses = sees_bodies = True
    xml_file: str = "ant.xml"
    forward_reward_weight: float = 1.0
    ctrl_cost_weight: float = 0.5
    contact_cost_weight: float = 5e-4
    healthy_reward: float = 1.0
    main_body: int | str = 1
    terminate_when_unhealthy: bool = True
    healthy_z_range: tuple[float, float] = (0.2, 1.0)
    contact_force_range: tuple[float, float] = (-1.0, 1.0)
    reset_noise_scale: float = 0.1
    exclude_current_positions_from_observation: bool = True
    include_cfrc_ext_in_observation: bool = True

    @property
    def size(self) -> int:
        """Positions without x and y, velocities, and six numbers of each body."""
        hidden = 2 * int(self.exclude_current_positions_from_observation)
        forces = 6 * len(self.links) * int(self.include_cfrc_ext_in_observation)
        return self.model.nq - hidden + self.model.nv + forces

    @property
    def places(self) -> list[int]:
        """The main body."""
        main = self.main_body
        if isinstance(main, str):
            return [self.model.body_id(choice(main, "main_body", self.model.body_names))]
        return [int(self.links[whole(main, "main_body", 1, len(self.links)) - 1])]


class AntEnv(MujocoEnv):
    """Run forward on four legs; Gymnasium's Ant-v5, number for number.

    ## Action space

    `Box(-1, 1, (8,), float32)`: controls of the motors of hip and ankle; times the gear of 150 they
    are torques [N m].

    | number | motors |
    | --- | --- |
    | 0, 1 | hip and ankle of the right hind leg |
    | 2, 3 | of the left front leg |
    | 4, 5 | of the right front leg |
    | 6, 7 | of the left hind leg |

    ## Observation space

    `Box(-inf, inf, (105,), float64)`.

    | number | what | unit |
    | --- | --- | --- |
    | 0 | height of the torso | m |
    | 1-4 | its orientation, a quaternion (w, x, y, z) | |
    | 5-12 | angles of hips and ankles in the order of the file's joints | rad |
    | 13-15 | velocity of the torso, world axes | m/s |
    | 16-18 | its angular velocity, its own axes | rad/s |
    | 19-26 | rates of hips and ankles | rad/s |
    | 27-104 | moment and force of contacts on each of 13 bodies, clipped to +-1 | N m, N |

    Moments are about the centre of mass of the whole robot, world axes (MuJoCo's `cfrc_ext`).
    With `exclude_current_positions_from_observation=False` x and y [m] come first; with
    `include_cfrc_ext_in_observation=False` the last 78 are left out.

    ## Rewards

    `reward_forward` (`forward_reward_weight` times the velocity along x), `reward_survive`
    (`healthy_reward`), `reward_ctrl` (`-ctrl_cost_weight` times the sum of squared actions) and
    `reward_contact` (`-contact_cost_weight` times the sum of squared contact forces, clipped).

    ## Starting state

    The file's pose with uniform noise in +-`reset_noise_scale`, velocities normal with that
    deviation: the same state as Gymnasium's for the same seed.

    ## Episode end

    Terminated when the torso's height is out of `healthy_z_range` [m].  Truncated after 1000 steps
    by `gym.make`.

    ## Arguments

    `xml_file`, `frame_skip`, `forward_reward_weight`, `ctrl_cost_weight`, `contact_cost_weight`,
    `healthy_reward`, `main_body`, `terminate_when_unhealthy`, `healthy_z_range`,
    `contact_force_range`, `reset_noise_scale`, `exclude_current_positions_from_observation`,
    `include_cfrc_ext_in_observation`.

    ## What is different

    Contact and joint stops are hard, so that contact forces are those of rigid bodies; contact
    begins at touch (the file's margin of 1 cm is left out); velocities are stepped by the
    semi-implicit Euler rule.
    """

    task_type = AntTask


class AntVectorEnv(MujocoVectorEnv):
    """Many ants; see `AntEnv`."""

    env_type = AntEnv
