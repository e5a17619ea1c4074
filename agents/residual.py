"""Residual learning: a policy adds to what the expert does, instead of doing all by itself.

    action = clip(expert(observation) + scale * residual, -1, 1)

(Silver et al., Residual policy learning, 2018; Johannink et al., Residual reinforcement learning
for robot control, ICRA 2019.)  A policy that says nothing is the expert, bit for bit, so learning
begins at its score.  The wrappers are for training; `ResidualPolicy` is the whole as one policy,
which `evaluate` takes.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from dynenvs.agents.experts.common.controller import Action, Policy
from dynenvs.agents.experts.reference import reference_controller
from dynenvs.memory.layout import Floats

SCALE = 0.1  # of the limits, with the whole residual


def total(answer: Action, residual: NDArray[Any], scale: float) -> Action:
    """What acts, shape of the answer."""
    added = answer + np.float32(scale) * np.asarray(residual, np.float32)
    return np.clip(added, -1.0, 1.0).astype(np.float32)


def _checked(scale: float) -> float:
    """The scale, if it is one.

    Raises:
        ValueError: it is not in (0, 2].
    """
    if not 0.0 < scale <= 2.0:
        raise ValueError(f"scale must be above 0 and at most 2 (limit to limit), got {scale}")
    return scale


class ResidualEnv(gym.Wrapper[Floats, Action, Floats, Action]):
    """An environment whose actions are added to its expert's.

    The expert's memory begins anew with each episode.

    Args:
        env: with an expert, as `gym.make` gives it.
        scale: what an action of 1 adds, as a share of the limit.
        expert: another policy in its place.

    Raises:
        ValueError: there is no expert for it; a scale out of its range.
    """

    def __init__(
        self, env: gym.Env[Floats, Action], scale: float = SCALE, expert: Policy | None = None
    ) -> None:
        super().__init__(env)
        self.scale = _checked(scale)
        self.expert = reference_controller(env) if expert is None else expert
        self._seen: Floats | None = None
        self._state: Any = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, dict[str, Any]]:
        """Begin an episode, as the environment does."""
        self._seen, info = self.env.reset(seed=seed, options=options)
        self._state = None
        return self._seen, info

    def step(self, action: Action) -> tuple[Floats, Any, bool, bool, dict[str, Any]]:
        """Add the action, shape (nu,), to the expert's; `info["expert_action"]` is the latter.

        Raises:
            ValueError: no episode has begun.
        """
        if self._seen is None:
            raise ValueError("call reset before step")
        answer, self._state = self.expert.predict(self._seen, self._state)
        acts = total(answer, action, self.scale)
        self._seen, reward, terminated, truncated, info = self.env.step(acts)
        return self._seen, reward, terminated, truncated, {**info, "expert_action": answer}


class ResidualVectorEnv(gym.vector.VectorWrapper):
    """The same for a vector environment, in any of Gymnasium's ways of beginning anew.

    With `autoreset_mode="SameStep"`, `as_sb3` takes it for stable-baselines3.

    Args:
        env: with an expert, as `gym.make_vec` gives it.
        scale: what an action of 1 adds, as a share of the limit.
        expert: another policy in its place.

    Raises:
        ValueError: there is no expert for it; a scale out of its range.
    """

    def __init__(
        self, env: gym.vector.VectorEnv, scale: float = SCALE, expert: Policy | None = None
    ) -> None:
        super().__init__(env)
        self.scale = _checked(scale)
        self.expert = reference_controller(env) if expert is None else expert
        self._mode = env.metadata["autoreset_mode"]
        self._seen: Floats | None = None
        self._state: Any = None
        self._begun = np.ones(env.num_envs, np.bool_)  # whose observation is an episode's first
        self._over = np.zeros(env.num_envs, np.bool_)

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, dict[str, Any]]:
        """Begin episodes, as the environment does: all, or those of `options["reset_mask"]`."""
        mask = None if options is None else options.get("reset_mask")
        chosen = np.ones(self.num_envs, np.bool_) if mask is None else np.asarray(mask)
        seen, info = self.env.reset(seed=seed, options=options)
        self._begun[chosen], self._over[chosen] = True, False
        self._seen = seen.copy()
        return seen, info

    def step(
        self, actions: Action
    ) -> tuple[Floats, Floats, NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Add the actions, shape (n, nu), to the experts'.

        Raises:
            ValueError: no episodes have begun.
        """
        if self._seen is None:
            raise ValueError("call reset before step")
        answers, self._state = self.expert.predict(
            self._seen, self._state, episode_start=self._begun
        )
        acts = total(answers, actions, self.scale)
        seen, rewards, terminated, truncated, info = self.env.step(acts)
        ended = terminated | truncated
        # In mode "NextStep" an ended episode's successor is seen a step later
        self._begun = ended.copy() if self._mode == AutoresetMode.SAME_STEP else self._over
        self._over, self._seen = ended, seen.copy()
        return seen, rewards, terminated, truncated, info


class ResidualPolicy:
    """Expert and residual as one policy, for `evaluate` and the like.

    Args:
        expert: whose answers are added to.
        residual: the policy that was trained in a wrapper.
        scale: the wrapper's.
    """

    def __init__(self, expert: Policy, residual: Policy, scale: float = SCALE) -> None:
        self.expert, self.residual, self.scale = expert, residual, _checked(scale)

    def predict(
        self,
        observation: Floats,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[Action, Any]:
        """Actions, shape (nu,) or (n, nu), and the expert's state to hand on."""
        answer, state = self.expert.predict(observation, state, episode_start)
        added, _ = self.residual.predict(observation, deterministic=deterministic)
        return total(answer, added, self.scale), state
