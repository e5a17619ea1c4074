"""Policies that begin by holding a pose.

A robot of torques falls at once under a network with small random weights: PPO then learns from
states of falling alone.  Here the mean action begins as a PD law that draws each joint to the
robot's pose; the network adds to it, in units of the exploring noise.  Both the law and the noise
are as strong as the joint's inertia allows within a control period: a foot in the air that is
drawn with the stiffness of a leg would shake.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.torch_layers import MlpExtractor
from torch import nn

from dynenvs.agents.learn.network import Standardize
from dynenvs.envs.checks import number
from dynenvs.memory.layout import Floats
from dynenvs.simulation.world import World

LEAST_SHARE = 0.01  # of the stiffness
KICK = 2.0  # by which noise of one standard deviation changes a free joint's speed [rad/s]
HIGH, MOMENT = 10.0, 1e-4  # where nothing is touched [m]; time in which a joint is tried out [s]


def apparent_inertia(task: Any) -> Floats:
    """Torque over acceleration of each motor's joint, all others free [kg m^2], shape (nu,).

    Of the robot in its pose in the air, with rotors; 1 / (M^-1)_jj.

    Args:
        task: a walker's `Task`.
    """
    model = task.robot
    world = World(model)
    world.timestep = MOMENT
    q = task.standing.copy()
    q[1 if model.header.planar else 2] += HIGH
    found = np.empty(model.nu)
    for motor, joint in enumerate(model.actuated):
        speeds = []
        for sign in (1.0, -1.0):  # what gravity does cancels
            world.reset(q)
            tau = np.zeros(model.nu)
            tau[motor] = sign
            world.step(tau)
            speeds.append(world.v[joint])
        found[motor] = 2.0 * MOMENT / (speeds[0] - speeds[1])
    return found


def holding(task: Any, share: float, most: float) -> dict[str, Any]:
    """Arguments of `HoldingPolicy`: the law's gains over torque limits, and the noise.

    Args:
        task, share: as of `pose_law`.
        most: greatest standard deviation of the noise, over torque limits.

    Raises:
        ValueError: as of `pose_law`.
    """
    law = pose_law(task, share)
    limits = task.robot.effort_limit[task.robot.actuated]
    noise = np.minimum(most, KICK * apparent_inertia(task) / task.dt / limits)
    return {**law, "noise": noise}


def pose_law(task: Any, share: float = 1.0) -> dict[str, Floats]:
    """A PD law that draws joints to the pose: gains @ observation + offset, over torque limits.

    Args:
        task: a walker's `Task`: its pose is `neutral`, its greatest gains are `position_gains`.
        share: of the stiffness that brings a free joint to rest in its place within two control
            periods, in (0, 1]; more would set it swinging.  Of such damping its square root.

    Raises:
        ValueError: a task without a pose to hold, or whose actions are targets already; a share
            out of its range.
    """
    share = number(share, "hold_pose", LEAST_SHARE, 1.0)
    slices, model = task.observation_slices, task.robot
    if task.motors is not None:
        raise ValueError('control="position" holds a pose by itself: leave out hold_pose')
    if not {"joint angles", "joint velocities"} <= slices.keys() or not hasattr(task, "standing"):
        raise ValueError("hold_pose is for walkers, whose joints are observed: leave it out")
    limits, inertia, period = model.effort_limit[model.actuated], apparent_inertia(task), task.dt
    stiffness, damping, _ = task.position_gains
    stiff = np.minimum(stiffness, share * inertia / period**2 / limits)
    damped = np.minimum(damping, np.sqrt(share) * inertia / period / limits)
    return pd_law(task, "joint", stiff, damped)


def pd_law(task: Any, joint: str, stiff: Floats, damped: Floats) -> dict[str, Floats]:
    """Torques that draw joints to a task's pose: gains @ observation + offset.

    Args:
        task: any whose observation tells the angles and velocities of its motors' joints.
        joint: what the observation calls one.
        stiff, damped: of each joint, shape (nu,) [1/rad, s/rad].
    """
    at = task.observation_slices
    gains = np.zeros((len(stiff), *task.observation_space.shape))
    gains[:, at[f"{joint} angles"]] = -np.diag(stiff)
    gains[:, at[f"{joint} velocities"]] = -np.diag(damped)
    return {"gains": gains, "offset": stiff * task.neutral()}


class Both(Standardize):
    """Scaled observations, and behind them the observations as they are."""

    def __init__(self, observation_space: gym.spaces.Box) -> None:
        super().__init__(observation_space)
        self._features_dim = 2 * observation_space.shape[0]

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Features, shape (n, 2 observations)."""
        return torch.cat([super().forward(observations), observations], dim=1)


class Passing(MlpExtractor):
    """Hidden layers on scaled observations; to the actor the observations pass by, too."""

    def __init__(self, features_dim: int, **options: Any) -> None:
        super().__init__(features_dim // 2, **options)
        self.seen = features_dim // 2

    def forward_actor(self, features: torch.Tensor) -> torch.Tensor:
        """The last hidden layer, then the observations."""
        hidden = super().forward_actor(features[:, : self.seen])
        return torch.cat([hidden, features[:, self.seen :]], dim=1)

    def forward_critic(self, features: torch.Tensor) -> torch.Tensor:
        """The value's last hidden layer."""
        return super().forward_critic(features[:, : self.seen])


class Held(nn.Module):
    """Mean actions: the PD law, and what the network adds in units of the noise.

    Args:
        hidden: width of the last hidden layer.
        gains, offset, noise: as `holding` gives them; they stay.
    """

    gains: torch.Tensor
    offset: torch.Tensor
    noise: torch.Tensor

    def __init__(self, hidden: int, gains: Floats, offset: Floats, noise: Floats) -> None:
        super().__init__()
        self.hidden = hidden
        self.added = nn.Linear(hidden, len(offset))
        for name, array in (("gains", gains), ("offset", offset), ("noise", noise)):
            self.register_buffer(name, torch.as_tensor(array, dtype=torch.float32))

    def forward(self, latent: torch.Tensor) -> torch.Tensor:
        """Means, shape (n, nu), from hidden layer and observations side by side."""
        hidden, observations = latent[:, : self.hidden], latent[:, self.hidden :]
        added: torch.Tensor = self.added(hidden)
        return self.noise * added + observations @ self.gains.T + self.offset


class HoldingPolicy(ActorCriticPolicy):
    """stable-baselines3's policy whose mean action begins as a PD law; see the module.

    Args:
        gains, offset, noise: as `holding` gives them.
        options: the policy's own; `features_extractor_class` is `Both`.
    """

    def __init__(
        self, *args: Any, gains: Floats, offset: Floats, noise: Floats, **options: Any
    ) -> None:
        self.law = {"gains": gains, "offset": offset, "noise": noise}
        super().__init__(*args, **{**options, "features_extractor_class": Both})

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return {**super()._get_constructor_parameters(), **self.law}

    def _build_mlp_extractor(self) -> None:
        self.mlp_extractor = Passing(
            self.features_dim,
            net_arch=self.net_arch,
            activation_fn=self.activation_fn,
            device=self.device,
        )

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        if self.use_sde:
            raise ValueError("hold_pose works with white noise only: leave out use_sde")
        self.action_net = Held(self.mlp_extractor.latent_dim_pi, **self.law)
        self.action_net.apply(lambda layer: self.init_weights(layer, gain=0.01))
        with torch.no_grad():
            self.log_std.copy_(self.action_net.noise.log())
        make: Any = self.optimizer_class  # anew, for the new layer's weights
        self.optimizer = make(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)
