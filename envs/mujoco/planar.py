"""What Hopper-v5, Walker2d-v5 and HalfCheetah-v5 share: a robot that runs in the x-z plane."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynenvs.envs.checks import flag, interval
from dynenvs.envs.mujoco.task import Flags, Floats, MujocoTask
from dynenvs.envs.mujoco.view import View


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

    forward_reward_weight: float = 1.0
    ctrl_cost_weight: float = 1e-3
    reset_noise_scale: float = 5e-3
    exclude_current_positions_from_observation: bool = True

    def check(self) -> None:
        """The weights and the noise are not negative."""
        self.positive("forward_reward_weight", "ctrl_cost_weight", "reset_noise_scale")
        name = "exclude_current_positions_from_observation"
        flag(self.exclude_current_positions_from_observation, name)

    def observe(self, view: View) -> Floats:
        """Positions without x, and velocities."""
        hidden = int(self.exclude_current_positions_from_observation)
        return np.hstack([view.q[:, hidden:], self.shown(view.v)])

    def shown(self, v: Floats) -> Floats:
        """Velocities as they are observed."""
        return v

    def score(
        self, before: Floats, view: View, actions: Floats
    ) -> tuple[dict[str, Floats], dict[str, Floats]]:
        """Speed forward, less the cost of control."""
        x = view.q[:, 0].copy()
        velocity = (x - before[:, 0]) / self.dt
        terms = {
            "reward_forward": self.forward_reward_weight * velocity,
            "reward_ctrl": self._cost(actions),
        }
        return terms, {"x_position": x, "x_velocity": velocity}

    def _cost(self, actions: Floats) -> Floats:
        cost: Floats = -self.ctrl_cost_weight * np.sum(np.square(actions), axis=1)
        return cost

    def begun(self, view: View) -> dict[str, Floats]:
        """Where it is."""
        return {"x_position": view.q[:, 0].copy()}


@dataclass(kw_only=True, eq=False)
class PlanarWalker(PlanarRunner):
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

    frame_skip: int = 4
    healthy_reward: float = 1.0
    terminate_when_unhealthy: bool = True
    healthy_z_range: tuple[float, float] = (0.8, 2.0)
    healthy_angle_range: tuple[float, float] = (-1.0, 1.0)

    def check(self) -> None:
        """Ranges have two ends."""
        super().check()
        self.positive("healthy_reward")
        flag(self.terminate_when_unhealthy, "terminate_when_unhealthy")
        for name in ("healthy_z_range", "healthy_angle_range"):
            setattr(self, name, interval(getattr(self, name), name, -np.inf, np.inf))

    def start(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """The file's pose at rest, and uniform noise on both."""
        noise, model = self.reset_noise_scale, self.model
        q = self.home + rng.uniform(-noise, noise, size=model.nq)
        return q, rng.uniform(-noise, noise, size=model.nv)

    def shown(self, v: Floats) -> Floats:
        """Velocities within 10 m/s and 10 rad/s."""
        return np.clip(v, -10.0, 10.0)

    def score(
        self, before: Floats, view: View, actions: Floats
    ) -> tuple[dict[str, Floats], dict[str, Floats]]:
        """Speed forward and health, less the cost of control."""
        terms, rest = super().score(before, view, actions)
        alive = np.where(self.is_healthy(view), self.healthy_reward, 0.0)
        forward, cost = terms["reward_forward"], terms["reward_ctrl"]
        rest["z_distance_from_origin"] = view.q[:, 1] - self.home[1]
        return {"reward_forward": forward, "reward_survive": alive, "reward_ctrl": cost}, rest

    def is_healthy(self, view: View) -> Flags:
        """Whether height and pitch are within their ranges."""
        (low, high), (back, front) = self.healthy_z_range, self.healthy_angle_range
        z, angle = view.q[:, 1], view.q[:, 2]
        healthy: Flags = (low < z) & (z < high) & (back < angle) & (angle < front)
        return healthy

    def ended(self, view: View) -> Flags:
        """Who is not healthy, if that ends an episode."""
        return ~self.is_healthy(view) & self.terminate_when_unhealthy

    def begun(self, view: View) -> dict[str, Floats]:
        """Where it is."""
        return {
            **super().begun(view),
            "z_distance_from_origin": view.q[:, 1] - self.home[1],
        }
