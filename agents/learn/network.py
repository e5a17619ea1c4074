"""Networks that carry the observations' mean and scale with them.

Velocities of a hundred and angles of a hundredth do not suit one network as they are.  Kept inside
the policy, the scaling is in every zip: stable-baselines3's `load` gives a policy that takes the
environment's own observations.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor

from dynenvs.memory.layout import Floats

MOST = 10.0  # standard deviations that a network is shown at most
LEAST_SCALE = 1e-4  # of an entry that hardly moves


class Standardize(BaseFeaturesExtractor):
    """Observations less their mean, over their standard deviation.

    Both are buffers, saved with the policy and changed by `set_moments` alone.  Their names begin
    with "running_" so that SAC's target networks take them over.

    Args:
        observation_space: of the environment.
    """

    running_mean: torch.Tensor
    running_scale: torch.Tensor

    def __init__(self, observation_space: gym.spaces.Box) -> None:
        size = observation_space.shape[0]
        super().__init__(observation_space, features_dim=size)
        self.register_buffer("running_mean", torch.zeros(size))
        self.register_buffer("running_scale", torch.ones(size))

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Scaled observations, shape (n, observations)."""
        scaled = (observations - self.running_mean) / self.running_scale
        return torch.clamp(scaled, -MOST, MOST)


def set_moments(policy: torch.nn.Module, mean: Floats, scale: Floats) -> None:
    """Give all of a policy's `Standardize` layers a mean and a standard deviation, shape (obs,)."""
    for layer in _layers(policy):
        layer.running_mean.copy_(torch.as_tensor(mean))
        layer.running_scale.copy_(torch.as_tensor(np.maximum(scale, LEAST_SCALE)))


def _layers(policy: torch.nn.Module) -> Iterator[Standardize]:
    return (module for module in policy.modules() if isinstance(module, Standardize))


class Moments:
    """Mean and variance of all observations seen so far (Chan, Golub & LeVeque 1979)."""

    def __init__(self, size: int) -> None:
        self.count = 0.0
        self.mean: Floats = np.zeros(size)
        self.squares: Floats = np.zeros(size)  # sum of squared deviations

    def add(self, batch: Floats) -> None:
        """Take in a batch, shape (n, size)."""
        n, mean = len(batch), batch.mean(axis=0)
        total = self.count + n
        self.squares += ((batch - mean) ** 2).sum(axis=0)
        self.squares += (mean - self.mean) ** 2 * self.count * n / total
        self.mean += (mean - self.mean) * n / total
        self.count = total

    @property
    def scale(self) -> Floats:
        """Standard deviation of each entry, shape (size,)."""
        return np.sqrt(self.squares / max(self.count, 1.0))


def policy_options(net_arch: Any = (256, 256), activation: str = "Tanh", **more: Any) -> Any:
    """`policy_kwargs` of stable-baselines3 for a policy with `Standardize`.

    Args:
        net_arch: widths of the hidden layers, as stable-baselines3 takes them.
        activation: name of a class of torch.nn.
        more: further policy_kwargs.
    """
    return {
        "features_extractor_class": Standardize,
        "net_arch": list(net_arch) if isinstance(net_arch, tuple) else net_arch,
        "activation_fn": getattr(torch.nn, activation),
        **more,
    }
