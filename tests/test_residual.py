"""Residual learning: nothing added is the expert, and what is added is bounded."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from dynenvs.agents.evaluation.rollout import make_batch, run_all
from dynenvs.agents.experts.reference import reference_controller
from dynenvs.agents.residual import ResidualEnv, ResidualPolicy, ResidualVectorEnv

QUADRUPED = "dynenvs/PlanarQuadruped-v0"  # whose expert estimates: it carries a state
OPTIONS: dict[str, Any] = {"max_episode_steps": 20, "observation_noise": 0.5}
SEED, WORLDS, EPISODES = 5, 3, 2


class Fixed:
    """A policy of one answer."""

    def __init__(self, answer: float) -> None:
        self.answer, self.seen = answer, np.zeros(0)

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, **_: Any
    ) -> tuple[Any, Any]:
        self.seen = np.copy(observation)
        shape = (*np.shape(observation)[:-1], 12)
        return np.full(shape, self.answer, np.float32), state


def rewards_of_the_expert() -> np.ndarray:
    """Of two episodes in each world, one after the other, without any wrapper."""
    rewards = []
    for world in range(WORLDS):
        env = gym.make(QUADRUPED, **OPTIONS)
        expert = reference_controller(env)
        for episode in range(EPISODES):
            observation, _ = env.reset(seed=None if episode else SEED + world)
            state, ended = None, False
            while not ended:
                action, state = expert.predict(observation, state)
                observation, reward, terminated, truncated, _ = env.step(action)
                rewards.append(reward)
                ended = terminated or truncated
    return np.array(rewards).reshape(WORLDS, -1)


def test_nothing_added_is_the_expert_bit_for_bit() -> None:
    """One world by itself, and all together in each way of beginning anew."""
    expected = rewards_of_the_expert()
    assert expected.shape == (WORLDS, 40)
    nothing = np.zeros(12, np.float32)
    single = ResidualEnv(gym.make(QUADRUPED, **OPTIONS))
    found = []
    for episode in range(EPISODES):
        single.reset(seed=None if episode else SEED)
        found += [single.step(nothing)[1] for _ in range(20)]
    np.testing.assert_array_equal(found, expected[0])
    for mode, steps in (("SameStep", 40), ("NextStep", 41)):
        envs = ResidualVectorEnv(
            gym.make_vec(QUADRUPED, num_envs=WORLDS, autoreset_mode=mode, **OPTIONS)
        )
        envs.reset(seed=SEED)
        rows = [envs.step(np.tile(nothing, (WORLDS, 1)))[1].copy() for _ in range(steps)]
        if mode == "NextStep":
            del rows[20]  # of the reset
        np.testing.assert_array_equal(np.array(rows).T, expected)


def test_what_acts_is_the_sum_within_the_limits() -> None:
    """By the torques that the environment is given."""
    env = ResidualEnv(gym.make(QUADRUPED, **OPTIONS), scale=0.5, expert=Fixed(0.4))
    inner, given = env.env, []
    step = inner.step
    inner.step = lambda action: given.append(action) or step(action)  # type: ignore[method-assign,func-returns-value]
    env.reset(seed=0)
    *_, info = env.step(np.linspace(-1.0, 2.0, 12, dtype=np.float32))
    np.testing.assert_array_equal(info["expert_action"], np.full(12, 0.4, np.float32))
    expected = np.minimum(0.4 + 0.5 * np.linspace(-1.0, 2.0, 12), 1.0)
    np.testing.assert_allclose(given[0], expected, atol=1e-6)
    assert given[0].max() == 1.0


def test_the_whole_is_one_policy() -> None:
    """It goes the way that the wrapper goes, and asks the residual for the observations seen."""
    batch = make_batch(QUADRUPED, 1, 1, **OPTIONS)
    residual = Fixed(0.3)
    policy = ResidualPolicy(reference_controller(batch), residual, scale=0.2)
    (run,) = run_all(batch, policy, [SEED])
    env = ResidualEnv(gym.make(QUADRUPED, **OPTIONS), scale=0.2)
    env.reset(seed=SEED)
    rewards = [env.step(np.full(12, 0.3, np.float32))[1] for _ in range(20)]
    np.testing.assert_array_equal(rewards, run.rewards)
    np.testing.assert_array_equal(residual.seen, run.observations[-2:-1])


def test_what_is_refused() -> None:
    env, envs = gym.make(QUADRUPED), gym.make_vec(QUADRUPED, num_envs=2)
    for scale in (0.0, -0.1, 2.5, float("nan")):
        with pytest.raises(ValueError, match="scale must be above 0 and at most 2"):
            ResidualEnv(env, scale)
        with pytest.raises(ValueError, match="scale must be"):
            ResidualVectorEnv(envs, scale)
    with pytest.raises(ValueError, match="call reset"):
        ResidualEnv(env).step(np.zeros(12, np.float32))
    with pytest.raises(ValueError, match="call reset"):
        ResidualVectorEnv(envs).step(np.zeros((2, 12), np.float32))
    with pytest.raises(ValueError, match='control="torque"'):
        ResidualEnv(gym.make(QUADRUPED, control="position"))
