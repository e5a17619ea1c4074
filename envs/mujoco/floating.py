"""What Humanoid-v5 and HumanoidStandup-v5 share: a robot with all of MuJoCo's quantities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynenvs.envs.checks import flag, interval
from dynenvs.envs.mujoco.task import Floats, MujocoTask
from dynenvs.envs.mujoco.view import View

TENDONS = (("left_hip_y", "left_knee"), ("right_hip_y", "right_knee"))  # length: knee - hip [rad]


@dataclass(kw_only=True, eq=False)
class FloatingHumanoid(MujocoTask):
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

    ctrl_cost_weight: float = 0.1
    reset_noise_scale: float = 1e-2
    exclude_current_positions_from_observation: bool = True
    include_cinert_in_observation: bool = True
    include_cvel_in_observation: bool = True
    include_qfrc_actuator_in_observation: bool = True
    include_cfrc_ext_in_observation: bool = True

    def check(self) -> None:
        """Weights are not negative, flags are flags."""
        self.positive("ctrl_cost_weight", "reset_noise_scale")
        for what in ("cinert", "cvel", "qfrc_actuator", "cfrc_ext"):
            name = f"include_{what}_in_observation"
            flag(getattr(self, name), name)
        name = "exclude_current_positions_from_observation"
        flag(self.exclude_current_positions_from_observation, name)

    def start(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """The file's pose at rest, and uniform noise on both."""
        noise, model = self.reset_noise_scale, self.model
        q = self.home + rng.uniform(-noise, noise, size=model.nq)
        return q, rng.uniform(-noise, noise, size=model.nv)

    def observe(self, view: View) -> Floats:
        """Positions, velocities, and what MuJoCo calls cinert, cvel, qfrc_actuator, cfrc_ext."""
        n = len(view)
        hidden = 2 * int(self.exclude_current_positions_from_observation)
        parts = [view.q[:, hidden:], view.v]
        for shown, values in (
            (self.include_cinert_in_observation, view.inertias),
            (self.include_cvel_in_observation, view.velocities),
            (self.include_qfrc_actuator_in_observation, view.torques[:, 6:]),
            (self.include_cfrc_ext_in_observation, view.forces),
        ):
            if shown:
                parts.append(values.reshape(n, -1))
        return np.hstack(parts)

    def control_cost(self, actions: Floats) -> Floats:
        """What the actions cost, shape (count,)."""
        cost: Floats = self.ctrl_cost_weight * np.sum(np.square(actions), axis=1)
        return cost

    def contact_cost(self, view: View, weight: float, ends: tuple[float, float]) -> Floats:
        """What contact forces cost, within these ends, shape (count,)."""
        squares = np.sum(np.square(view.forces), axis=(1, 2))
        cost: Floats = np.clip(weight * squares, *ends)
        return cost

    def begun(self, view: View) -> dict[str, Floats]:
        """Where it is, and how long its tendons are."""
        model, q, v = self.model, view.q, view.v
        at = [tuple(model.position_index(joint) for joint in pair) for pair in TENDONS]
        of = [tuple(model.velocity_index(joint) for joint in pair) for pair in TENDONS]
        return {
            "x_position": q[:, 0].copy(),
            "y_position": q[:, 1].copy(),
            "tendon_length": np.stack([q[:, knee] - q[:, hip] for hip, knee in at], axis=1),
            "tendon_velocity": np.stack([v[:, knee] - v[:, hip] for hip, knee in of], axis=1),
        }


def cost_range(task: MujocoTask, name: str) -> None:
    """Make sure of an option that is a range of costs."""
    setattr(task, name, interval(getattr(task, name), name, -np.inf, np.inf))
