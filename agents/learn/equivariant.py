"""Networks that do in the mirror what they do in front of it.

A policy that was trained or cloned favours a side, whatever it was shown.  One that averages its
answer with the mirror image of its answer to the mirror image, f(x) + M f(M x) over 2, cannot: its
action for a mirrored observation is the mirrored action, for any network f and any weights
(Ravindran & Barto 2001; van der Pol et al., MDP homomorphic networks, NeurIPS 2020).  It costs two
passes through the network.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

from dynenvs.agents.learn.holding import HoldingPolicy
from dynenvs.envs.core.mirror import Image, Mirror, mirror_of
from dynenvs.memory.layout import Floats


class Equivariant(nn.Module):
    """A network of observations whose answers are actions, made equivariant under the mirror.

    `Equivariant(network, env)(mirrored observations)` is the mirror image of
    `Equivariant(network, env)(observations)`, to rounding.  Its parameters are the network's.

    Args:
        network: any module that takes observations, shape (n, observations), and returns actions,
            shape (n, nu).
        env: the environment, single or batched, or its `Mirror`.

    Raises:
        ValueError: a robot that has no left and right.
    """

    def __init__(self, network: nn.Module, env: Any) -> None:
        super().__init__()
        mirror = env if isinstance(env, Mirror) else mirror_of(env.unwrapped.task)
        self.network = network
        self.seen, self.done = Turn(mirror.observation), Turn(mirror.action)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Actions, shape (n, nu)."""
        return mean(self.network(both(observations, self.seen)), self.done)


class Turn(nn.Module):
    """The mirror image of each row.

    Args:
        image: of the rows.
    """

    places: torch.Tensor
    signs: torch.Tensor

    def __init__(self, image: Image) -> None:
        super().__init__()
        # No state: who loads weights makes this of the constructor's arguments
        self.register_buffer("places", torch.as_tensor(image.places), persistent=False)
        self.register_buffer("signs", torch.as_tensor(image.signs), persistent=False)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Mirrored rows, shape (n, size)."""
        turned: torch.Tensor = rows[:, self.places] * self.signs.to(rows.dtype)
        return turned


def both(rows: torch.Tensor, turn: nn.Module) -> torch.Tensor:
    """Rows, and below them their images: shape (2 n, size)."""
    return torch.cat([rows, turn(rows)])


def mean(rows: torch.Tensor, turn: nn.Module) -> torch.Tensor:
    """Of each row of the first half and the image of its partner in the second: shape (n, size)."""
    plain, turned = rows.reshape(2, -1, rows.shape[-1]).unbind()
    half: torch.Tensor = 0.5 * (plain + turn(turned))
    return half


class BothSides(BaseFeaturesExtractor):
    """Features of observations, and below them those of their images.

    Args:
        extractor: of the features.
        turn: of observations.
    """

    def __init__(self, extractor: BaseFeaturesExtractor, turn: Turn) -> None:
        super().__init__(extractor._observation_space, extractor.features_dim)
        self.extractor, self.turn = extractor, turn

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Features, shape (2 n, features)."""
        features: torch.Tensor = self.extractor(both(observations, self.turn))
        return features


class Mean(nn.Sequential):
    """A last layer, and the mean of its answers to both sides.

    Args:
        layer: the last one.
        turn: of its answers.
    """

    def forward(self, latent: torch.Tensor) -> torch.Tensor:
        """Answers, shape (n, size), from hidden rows of both sides, shape (2 n, hidden)."""
        layer, turn = self
        return mean(layer(latent), turn)


class EquivariantPolicy(ActorCriticPolicy):
    """stable-baselines3's policy, equivariant: mean, spread and value agree with the mirror.

    Args:
        seen, done: the images of observations and actions, as `images` gives them.
        options: the policy's own.
    """

    def __init__(self, *args: Any, seen: ArrayLike, done: ArrayLike, **options: Any) -> None:
        self.images = {"seen": np.asarray(seen), "done": np.asarray(done)}
        super().__init__(*args, **options)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return {**super()._get_constructor_parameters(), **self.images}

    def make_features_extractor(self) -> BaseFeaturesExtractor:
        """The policy's own, for both sides."""
        size = self.observation_space.shape
        assert size is not None
        return BothSides(
            super().make_features_extractor(), Turn(image_of(self.images["seen"], *size))
        )

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        if self.use_sde:
            raise ValueError("equivariant works with white noise only: leave out use_sde")
        size = self.action_space.shape
        assert size is not None
        self.turn = Turn(image_of(self.images["done"], *size))
        self.action_net = Mean(self.action_net, self.turn)
        value: Any = Mean(self.value_net, nn.Identity())  # as much in the mirror
        self.value_net = value

    def _get_action_dist_from_latent(self, latent_pi: torch.Tensor) -> Any:
        spread = 0.5 * (self.log_std + self.log_std[self.turn.places])
        dist: Any = self.action_dist
        return dist.proba_distribution(self.action_net(latent_pi), spread)


class EquivariantHoldingPolicy(EquivariantPolicy, HoldingPolicy):
    """The same around a PD law that holds a pose."""


def images(mirror: Mirror) -> dict[str, Floats]:
    """Arguments of `EquivariantPolicy`: each entry's place in the mirror, from 1, with its sign."""
    return {"seen": _signed(mirror.observation), "done": _signed(mirror.action)}


def _signed(image: Image) -> Floats:
    return (image.places + 1) * image.signs


def image_of(signed: Any, size: int) -> Image:
    """The image that `images` wrote down.

    Raises:
        ValueError: no image of so many entries: twice in the mirror must be as before.
    """
    told = ValueError(
        f"a mirror image of {size} entries must hold each place from 1 to {size} once, with the "
        "sign that it changes by"
    )
    entries = np.arange(1.0, size + 1.0)
    if sorted(np.abs(signed).tolist()) != entries.tolist():
        raise told
    image = Image(np.abs(signed).astype(np.intp) - 1, np.sign(signed))
    if (image.of(image.of(entries)) != entries).any():
        raise told
    return image
