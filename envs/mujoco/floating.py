"""What Humanoid-v5 and HumanoidStandup-v5 share: a robot with all of MuJoCo's quantities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dynenvs.envs.mujoco.look import Seen, clipped, copy_to, squares
from dynenvs.envs.mujoco.task import Floats, MujocoTask, UniformNoise
from dynenvs.jit.compiled import inlined

TENDONS = (("left_hip_y", "left_knee"), ("right_hip_y", "right_knee"))  # length: knee - hip [rad]
BASE = 6  # velocities of the torso, which no motor moves

OBSERVED = (
    "exclude_current_positions_from_observation",
    "include_cinert_in_observation",
    "include_cvel_in_observation",
    "include_qfrc_actuator_in_observation",
    "include_cfrc_ext_in_observation",
)
PLACED = "x_position", "y_position", ("tendon_length", 2), ("tendon_velocity", 2)


@inlined
def observe(s: Seen, o: Any) -> None:
    """Positions, velocities, and what MuJoCo calls cinert, cvel, qfrc_actuator, cfrc_ext.

    o: the record of the task's options
    """
    seen, b = s.observation, s.bodies
    at = copy_to(seen, 0, s.q, 2 * int(o.exclude_current_positions_from_observation))
    at = copy_to(seen, at, s.v, 0)
    if o.include_cinert_in_observation != 0.0:
        at = copy_to(seen, at, b.inertias[s.i].reshape(-1), 0)
    if o.include_cvel_in_observation != 0.0:
        at = copy_to(seen, at, b.velocities[s.i].reshape(-1), 0)
    if o.include_qfrc_actuator_in_observation != 0.0:
        at = copy_to(seen, at, s.torques, BASE)
    if o.include_cfrc_ext_in_observation != 0.0:
        copy_to(seen, at, b.forces[s.i].reshape(-1), 0)


@inlined
def tell_place(s: Seen, r: Any) -> None:
    """Where it is, and how long its tendons are, into the record of `info`."""
    r.x_position, r.y_position = s.q[0], s.q[1]
    for k in range(2):
        r.tendon_length[k] = s.q[s.places[2 * k + 1]] - s.q[s.places[2 * k]]
        r.tendon_velocity[k] = s.v[s.places[2 * k + 5]] - s.v[s.places[2 * k + 4]]


@inlined
def contact_cost(s: Seen, weight: float, ends: Floats) -> float:
    """What contact forces cost, within these ends."""
    return clipped(weight * squares(s.bodies.forces[s.i].reshape(-1)), ends[0], ends[1])


@dataclass(kw_only=True, eq=False)
class FloatingHumanoid(UniformNoise, MujocoTask):
    """Start, observation and info of the two tasks.

    Args:
        xml_file, frame_skip: see `MujocoTask`.
        ctrl_cost_weight: of the sum of squared actions, which is subtracted.
        reset_noise_scale: bound of the noise on the first state.
        exclude_current_positions_from_observation: whether x and y are not shown.
        include_cinert_in_observation: whether inertias of the bodies are shown.
        include_cvel_in_observation: whether their velocities are.
        include_qfrc_actuator_in_observation: whether the joints' torques are.
        include_cfrc_ext_in_observation: whether contact forces are.
    """

    least = (BASE + 1, BASE)
    sees_poses = sees_bodies = True
    ctrl_cost_weight: float = 0.1
    reset_noise_scale: float = 1e-2
    exclude_current_positions_from_observation: bool = True
    include_cinert_in_observation: bool = True
    include_cvel_in_observation: bool = True
    include_qfrc_actuator_in_observation: bool = True
    include_cfrc_ext_in_observation: bool = True

    @property
    def size(self) -> int:
        """Positions, velocities, and the parts that are included."""
        n, model = len(self.links), self.model
        hidden = 2 * int(self.exclude_current_positions_from_observation)
        parts = (
            (self.include_cinert_in_observation, 10 * n),
            (self.include_cvel_in_observation, 6 * n),
            (self.include_qfrc_actuator_in_observation, model.nv - BASE),
            (self.include_cfrc_ext_in_observation, 6 * n),
        )
        return model.nq - hidden + model.nv + sum(count for shown, count in parts if shown)

    @property
    def places(self) -> list[int]:
        """Of hip and knee of each tendon: positions, then velocities."""
        joints = [joint for pair in TENDONS for joint in pair]
        model = self.model
        return [*map(model.position_index, joints), *map(model.velocity_index, joints)]
