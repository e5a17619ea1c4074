"""How SAC learns torques: a policy that holds a pose, and samples that are mirrored.

A walker falls at once under a policy that knows nothing, and a replay buffer of falls teaches
nothing else; white noise on torques hardly moves a chain.  Here an actor's answer in [-1, 1] says
where a joint's PD law draws it to, as far to either side of the pose as `reach` says.  The policy
acts by the torques that come of it; the replay buffer turns them back, so that stable-baselines3's
SAC, which is left as it is, learns from answers alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.type_aliases import ReplayBufferSamples
from stable_baselines3.sac.policies import SACPolicy
from torch import nn

from dynenvs.agents.learn.equivariant import Turn
from dynenvs.agents.learn.holding import LEAST_SHARE, pd_law, pose_law
from dynenvs.envs.checks import number
from dynenvs.envs.core.mirror import Image, Mirror
from dynenvs.memory.layout import Floats


def reaching(task: Any, share: float = 1.0) -> dict[str, Floats]:
    """Arguments of `Law`: the answers reach as far as targets of control="position" do.

    Args:
        task: a walker's `Task`, or the chain pendulum's.
        share: of the greatest stiffness, as of `pose_law`.

    Raises:
        ValueError: as of `pose_law`.
    """
    slices = task.observation_slices
    joint = "hinge" if "hinge angles" in slices and task.motors is None else "joint"
    stiffness, damping, reach = task.position_gains
    if joint == "hinge":  # none so light that these were too stiff
        share = number(share, "hold_pose", LEAST_SHARE, 1.0)
        ones = np.ones(task.model.nu)
        law = pd_law(task, joint, share * stiffness * ones, np.sqrt(share) * damping * ones)
    else:
        law = pose_law(task, share)
    return {**law, "reach": -reach * np.diag(law["gains"][:, slices[f"{joint} angles"]])}


class Law(nn.Module):
    """Torques over limits: gains @ observation + offset + reach * answer.

    Args:
        gains, offset, reach: shapes (nu, observations), (nu,) and (nu,); they stay.
    """

    gains: torch.Tensor
    offset: torch.Tensor
    reach: torch.Tensor

    def __init__(self, gains: Floats, offset: Floats, reach: Floats) -> None:
        super().__init__()
        for name, array in (("gains", gains), ("offset", offset), ("reach", reach)):
            self.register_buffer(name, torch.as_tensor(array, dtype=torch.float32))

    def forward(self, observations: torch.Tensor, answers: torch.Tensor) -> torch.Tensor:
        """Torques, shape (n, nu); they may pass the limits."""
        seen = observations.to(self.gains.dtype)
        return seen @ self.gains.T + self.offset + self.reach * answers


class ReachingPolicy(SACPolicy):
    """SAC's policy, which acts by the torques of `Law`.

    Args:
        gains, offset, reach: of `Law`.
        options: the policy's own; `log_std_init` is the first answers' spread, as a logarithm.
    """

    def __init__(
        self, *args: Any, gains: Floats, offset: Floats, reach: Floats, **options: Any
    ) -> None:
        self.constants = {"gains": gains, "offset": offset, "reach": reach}
        super().__init__(*args, **options)
        self.pd_law = Law(**self.constants)
        spread: Any = self.actor.log_std
        if not self.actor.use_sde:
            nn.init.constant_(spread.bias, self.actor.log_std_init)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return {**super()._get_constructor_parameters(), **self.constants}

    def _predict(self, observation: Any, deterministic: bool = False) -> torch.Tensor:
        """Torques; those to explore with are not cut at the limits, for the buffer's sake."""
        torques: torch.Tensor = self.pd_law(observation, self.actor(observation, deterministic))
        return torques.clamp(-1.0, 1.0) if deterministic else torques


class Buffer(ReplayBuffer):
    """A replay buffer that turns torques into answers, and samples into their mirror images.

    Args:
        law: arguments of `Law`; None if the policy has none.
        mirror: a sample counts as itself or as its image, by the toss of a coin; None for none.
    """

    def __init__(
        self,
        *args: Any,
        law: dict[str, Floats] | None = None,
        mirror: Mirror | None = None,
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        self.law, self.mirror = law, mirror

    def add(self, obs: Any, next_obs: Any, action: NDArray[Any], *rest: Any) -> None:
        """Take in a step of every world."""
        if self.law is not None:
            held = obs @ self.law["gains"].T + self.law["offset"]
            action = (action - held) / self.law["reach"]
        super().add(obs, next_obs, action, *rest)

    def _get_samples(self, batch_inds: NDArray[Any], env: Any = None) -> ReplayBufferSamples:
        found = super()._get_samples(batch_inds, env)
        if self.mirror is None:
            return found
        tossed = np.random.randint(0, 2, (len(batch_inds), 1))  # noqa: NPY002 (as the rest draws)
        turned = torch.as_tensor(tossed, dtype=torch.bool)

        def some(rows: torch.Tensor, image: Image) -> torch.Tensor:
            return torch.where(turned, Turn(image)(rows), rows)

        return found._replace(
            observations=some(found.observations, self.mirror.observation),
            actions=some(found.actions, self.mirror.action),
            next_observations=some(found.next_observations, self.mirror.observation),
        )
