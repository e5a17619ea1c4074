"""What Hopper-v5, Walker2d-v5 and HalfCheetah-v5 share: a robot that runs in the x-z plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dynenvs.envs.mujoco.look import (
    Look,
    Seen,
    clipped,
    copy_to,
    look_at_worlds,
    numbers,
    squares,
    told,
)
from dynenvs.envs.mujoco.task import MujocoTask, UniformNoise
from dynenvs.jit.compiled import entry, inlined
from dynenvs.jit.views import vector
from dynenvs.memory.layout import Bytes, Ints

MOST = 10.0  # of observed rates of a robot that must keep upright [m/s, rad/s]
RUNNER = (
    "forward_reward_weight",
    "ctrl_cost_weight",
    "exclude_current_positions_from_observation",
)
OPTIONS = numbers(*RUNNER)
WALKER_OPTIONS = numbers(
    *RUNNER,
    "healthy_reward",
    "terminate_when_unhealthy",
    "first_height",
    pairs=("healthy_z_range", "healthy_angle_range", "healthy_state_range"),
)
INFO = told("x_position", "x_velocity", "reward_forward", "reward_ctrl")
WALKER_INFO = told(
    "x_position",
    "z_distance_from_origin",
    "x_velocity",
    "reward_forward",
    "reward_survive",
    "reward_ctrl",
)


@entry
def run(packed: Bytes, rows: Bytes, buffers: Bytes, a: Look, progress: Ints, thread: int) -> None:
    """Look at the worlds that no other thread has taken (`look.py`)."""
    look_at_worlds(_look, packed, rows, a, progress, thread)


@entry
def run_walker(
    packed: Bytes, rows: Bytes, buffers: Bytes, a: Look, progress: Ints, thread: int
) -> None:
    """The same of robots that must keep upright."""
    look_at_worlds(_look_at_walker, packed, rows, a, progress, thread)


@inlined
def _look(s: Seen) -> bool:
    """Positions without x, and velocities; speed forward, less the cost of control."""
    o, r = vector(s.options, 0, 1, OPTIONS)[0], vector(s.info, 0, 1, INFO)[0]
    at = copy_to(s.observation, 0, s.q, int(o.exclude_current_positions_from_observation))
    copy_to(s.observation, at, s.v, 0)
    r.x_position, r.x_velocity = s.q[0], (s.q[0] - s.mark[0]) / s.dt
    s.mark[0] = s.q[0]
    r.reward_forward = o.forward_reward_weight * r.x_velocity
    r.reward_ctrl = -o.ctrl_cost_weight * squares(s.action)
    s.reward[0] = r.reward_forward + r.reward_ctrl
    return False


@inlined
def _look_at_walker(s: Seen) -> bool:
    """The same with velocities within bounds, and health, whose loss ends the episode."""
    o, r = vector(s.options, 0, 1, WALKER_OPTIONS)[0], vector(s.info, 0, 1, WALKER_INFO)[0]
    at = copy_to(s.observation, 0, s.q, int(o.exclude_current_positions_from_observation))
    z, angle, state = o.healthy_z_range, o.healthy_angle_range, o.healthy_state_range
    healthy = z[0] < s.q[1] < z[1] and angle[0] < s.q[2] < angle[1]
    for k in range(2, s.q.shape[0]):
        healthy = healthy and state[0] < s.q[k] < state[1]
    for k in range(s.v.shape[0]):
        healthy = healthy and state[0] < s.v[k] < state[1]
        s.observation[at + k] = clipped(s.v[k], -MOST, MOST)
    r.x_position, r.x_velocity = s.q[0], (s.q[0] - s.mark[0]) / s.dt
    r.z_distance_from_origin = s.q[1] - o.first_height
    s.mark[0] = s.q[0]
    r.reward_forward = o.forward_reward_weight * r.x_velocity
    r.reward_survive = o.healthy_reward if healthy else 0.0
    r.reward_ctrl = -o.ctrl_cost_weight * squares(s.action)
    s.reward[0] = r.reward_forward + r.reward_survive + r.reward_ctrl
    return not healthy and o.terminate_when_unhealthy != 0.0


@dataclass(kw_only=True, eq=False)
class PlanarRunner(MujocoTask):
    """Run forward; the first coordinates are x, height and pitch of the trunk.

    Args:
        xml_file, frame_skip: see `MujocoTask`.
        forward_reward_weight: weight of the velocity along x [s/m].
        ctrl_cost_weight: weight of the sum of squared actions, which is subtracted.
        reset_noise_scale: of the noise on the first state.
        exclude_current_positions_from_observation: whether x is not shown.
    """

    run = staticmethod(run)
    least = (3, 1)
    option_record, info_record, told_at_first = OPTIONS, INFO, 1
    forward_reward_weight: float = 1.0
    ctrl_cost_weight: float = 1e-3
    reset_noise_scale: float = 5e-3
    exclude_current_positions_from_observation: bool = True

    @property
    def size(self) -> int:
        """Positions without x, and velocities."""
        hidden = int(self.exclude_current_positions_from_observation)
        return self.model.nq + self.model.nv - hidden


@dataclass(kw_only=True, eq=False)
class PlanarWalker(UniformNoise, PlanarRunner):
    """A runner that must keep upright.

    Args:
        xml_file, frame_skip: see `MujocoTask`.
        forward_reward_weight, ctrl_cost_weight, reset_noise_scale: see `PlanarRunner`.
        exclude_current_positions_from_observation: whether x is not shown.
        healthy_reward: of each step that ends healthy.
        terminate_when_unhealthy: whether the episode ends otherwise.
        healthy_z_range: heights of the trunk [m].
        healthy_angle_range: its pitch [rad].
    """

    run = staticmethod(run_walker)
    option_record, info_record, told_at_first = WALKER_OPTIONS, WALKER_INFO, 2
    healthy_state_range: ClassVar[Any] = (-np.inf, np.inf)  # of all positions but x and height
    frame_skip: int = 4
    healthy_reward: float = 1.0
    terminate_when_unhealthy: bool = True
    healthy_z_range: tuple[float, float] = (0.8, 2.0)
    healthy_angle_range: tuple[float, float] = (-1.0, 1.0)

    @property
    def first_height(self) -> float:
        """The trunk's in the file's pose [m]."""
        return float(self.home[1])
