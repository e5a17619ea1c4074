"""PPO whose step size follows the distance that the policy goes, with mirrored samples.

stable-baselines3's PPO (Schulman et al. 2017), whose rollouts, networks and zips stay, with an
update of its own.  A fixed rate is too large for some part of a run and too small for another, and
an update that ends early (`target_kl`) leaves samples unused.  Here the rate goes up or down from
one update to the next, as the KL distance between the policy before and after it says (as in
Rudin, Hoeller, Reist & Hutter, CoRL 2021).  And where left and right are alike, a sample counts as
itself or as its mirror image, by the toss of a coin (Mittal, Rudin, Klemm, Allshire & Hutter, ICRA
2024); the image has the probability that the original had.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import stable_baselines3
import torch
from stable_baselines3.common.type_aliases import Schedule
from stable_baselines3.common.utils import explained_variance

from dynenvs.agents.learn.equivariant import Turn
from dynenvs.envs.core.mirror import Mirror

# The rate changes by FACTOR after an update that went TOLERANCE times too far or not far enough
FACTOR, TOLERANCE = 1.2, 1.3
SLOWEST, FASTEST = 1e-6, 1e-2

Samples = dict[str, torch.Tensor]


class PPO(stable_baselines3.PPO):
    """PPO; arguments are stable-baselines3's but `target_kl`, and two of its own.

    Args:
        desired_kl: KL distance that an update is to go [nat], a number or a schedule as
            `learning_rate`; then `learning_rate` is the first rate alone.  With None the rate is
            `learning_rate`, whatever it does.
        mirror: mirror images of the environment's observations and actions; None for none.
    """

    rate: float | None = None  # of the optimizer, after the first update

    def __init__(
        self,
        *args: Any,
        desired_kl: float | Schedule | None = None,
        mirror: Mirror | None = None,
        **options: Any,
    ) -> None:
        self.desired_kl, self.mirror = desired_kl, mirror
        super().__init__(*args, **options)

    def train(self) -> None:
        """Update policy and value function by the rollout that was gathered."""
        self.policy.set_training_mode(True)
        if self.desired_kl is None or self.rate is None:
            self.rate = float(self.lr_schedule(self._current_progress_remaining))
        for group in self.policy.optimizer.param_groups:
            group["lr"] = self.rate
        samples = self._samples()
        images = None if self.mirror is None else _images(samples, self.mirror)
        told: list[dict[str, float]] = []
        for _ in range(self.n_epochs):
            told = self._pass(samples, images)
            self._n_updates += 1
        means = {name: float(np.mean([one[name] for one in told])) for name in told[0]}
        self._pace(means["approx_kl"])
        self._log(means)

    def _samples(self) -> Samples:
        """The rollout, one row a sample."""
        names = ("observations", "actions", "log_probs", "advantages", "returns")
        arrays = {name: getattr(self.rollout_buffer, name) for name in names}
        return {
            name: torch.as_tensor(array, dtype=torch.float32).flatten(0, 1)
            for name, array in arrays.items()
        }

    def _pass(self, samples: Samples, images: Samples | None) -> list[dict[str, float]]:
        """Gradient steps over all samples; what each of them measured."""
        told = []
        count = len(samples["returns"])
        order = torch.randperm(count)
        turned = torch.zeros(count, dtype=torch.bool)
        if images is not None:
            turned = torch.rand(count) < 0.5
        for rows in torch.split(order, self.batch_size):
            batch = {name: values[rows] for name, values in samples.items()}
            flips = turned[rows]
            for name, image in (images or {}).items():
                batch[name] = torch.where(flips[:, None], image[rows], batch[name])
            told.append(self._step(batch, ~flips))
        return told

    def _step(self, batch: Samples, own: torch.Tensor) -> dict[str, float]:
        """A gradient step; what it measured, distances over samples that are no images, `own`."""
        policy = self.policy
        values, log_probs, entropy = policy.evaluate_actions(
            batch["observations"], batch["actions"]
        )
        gain = batch["advantages"]
        if self.normalize_advantage and len(gain) > 1:
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
        clip = self.clip_range(self._current_progress_remaining)  # type: ignore[operator]
        log_ratio = log_probs - batch["log_probs"]
        ratio = log_ratio.exp()
        earned = torch.min(gain * ratio, gain * ratio.clamp(1.0 - clip, 1.0 + clip)).mean()
        error = torch.nn.functional.mse_loss(values.flatten(), batch["returns"])
        spread = -log_probs.mean() if entropy is None else entropy.mean()
        with torch.no_grad():
            far = ratio[own] - 1.0 - log_ratio[own]  # Schulman, "Approximating KL divergence"
        policy.optimizer.zero_grad()
        loss = self.vf_coef * error - earned - self.ent_coef * spread
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(policy.parameters(), self.max_grad_norm)
        policy.optimizer.step()
        return {
            "approx_kl": far.mean().item() if len(far) else 0.0,
            "clip_fraction": ((ratio - 1.0).abs() > clip).float().mean().item(),
            "policy_gradient_loss": -earned.item(),
            "value_loss": error.item(),
        }

    def _pace(self, distance: float) -> None:
        """The next update's rate, by how far this one went in its last pass."""
        if self.desired_kl is None or self.rate is None:
            return
        desired = self.desired_kl
        if callable(desired):
            desired = desired(self._current_progress_remaining)
        if distance > TOLERANCE * desired:
            self.rate = max(self.rate / FACTOR, SLOWEST)
        elif distance < desired / TOLERANCE:
            self.rate = min(self.rate * FACTOR, FASTEST)

    def _log(self, means: dict[str, float]) -> None:
        for name, value in means.items():
            self.logger.record(f"train/{name}", value)
        buffer = self.rollout_buffer
        explained = explained_variance(buffer.values.flatten(), buffer.returns.flatten())
        self.logger.record("train/explained_variance", explained)
        self.logger.record("train/learning_rate", self.rate)
        if hasattr(self.policy, "log_std"):
            self.logger.record("train/std", self.policy.log_std.exp().mean().item())


def _images(samples: Samples, mirror: Mirror) -> Samples:
    """Mirror images of observations and actions."""
    turns = {"observations": Turn(mirror.observation), "actions": Turn(mirror.action)}
    return {name: turn(samples[name]) for name, turn in turns.items()}
