"""Single environments inside the vector environments of Gymnasium and stable-baselines3."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv
from rollouts import (
    IDS,
    every_env,
)


def _as_vector_would(name: str, seed: int, actions: np.ndarray) -> list[tuple[Any, ...]]:
    """A single environment under the NEXT_STEP autoreset: (observation, reward, ended)."""
    env = gym.make(name)
    found: list[tuple[Any, ...]] = [(env.reset(seed=seed)[0].tobytes(),)]
    ended = False
    for action in actions:
        if ended:
            observation, reward, terminated, truncated = env.reset()[0], 0.0, False, False
        else:
            observation, reward, terminated, truncated, _ = env.step(action)
        ended = terminated or truncated
        found.append((observation.tobytes(), float(reward), terminated, truncated))
    return found


@every_env
@pytest.mark.parametrize("vector", [SyncVectorEnv, AsyncVectorEnv])
def test_vector_env_equals_single_envs(name: str, vector: Any) -> None:
    """Bit for bit, over several episodes, wherever a world sits in the batch."""
    count, steps = 3, 80
    envs = vector([lambda: gym.make(name)] * count)
    rng = np.random.default_rng(0)
    size = envs.single_action_space.shape
    actions = rng.uniform(-1, 1, (steps, count, *size)).astype(np.float32)
    observations, _ = envs.reset(seed=40)
    found: list[list[tuple[Any, ...]]] = [[(o.tobytes(),)] for o in observations]
    for batch in actions:
        observations, rewards, terminated, truncated, _ = envs.step(batch)
        for i in range(count):
            found[i].append(
                (
                    observations[i].tobytes(),
                    float(rewards[i]),
                    bool(terminated[i]),
                    bool(truncated[i]),
                )
            )
    envs.close()
    for i in range(count):
        assert found[i] == _as_vector_would(name, 40 + i, actions[:, i])


@every_env
def test_make_vec(name: str) -> None:
    """`gym.make_vec` gives a vector environment that steps."""
    envs = gym.make_vec(name, num_envs=2)
    envs.reset(seed=0)
    envs.step(envs.action_space.sample())
    envs.close()


@every_env
def test_sb3_dummy_vec_env(name: str) -> None:
    """stable-baselines3's vector gives what single environments give."""
    module = pytest.importorskip("stable_baselines3.common.vec_env")
    _check_sb3(name, module.DummyVecEnv([lambda: gym.make(name)] * 2))


@pytest.mark.parametrize("name", IDS[1:2])
def test_sb3_subproc_vec_env(name: str) -> None:
    """The same in processes of their own."""
    module = pytest.importorskip("stable_baselines3.common.vec_env")
    # The module's name in the id: a fresh process has not imported dynenvs
    _check_sb3(name, module.SubprocVecEnv([lambda: gym.make(f"dynenvs:{name}")] * 2))


@pytest.mark.slow
@pytest.mark.parametrize("name", IDS)
def test_sb3_subproc_vec_env_of_every_env(name: str) -> None:
    """The same for every environment: its processes start slowly."""
    test_sb3_subproc_vec_env(name)


def _check_sb3(name: str, envs: Any) -> None:
    envs.seed(50)
    observations = envs.reset()
    rng = np.random.default_rng(1)
    actions = rng.uniform(-0.3, 0.3, (40, 2, *envs.action_space.shape)).astype(np.float32)
    for i in range(2):
        single = gym.make(name)
        observation, _ = single.reset(seed=50 + i)
        np.testing.assert_array_equal(observations[i], observation)
    singles = [gym.make(name) for _ in range(2)]
    for i, single in enumerate(singles):
        single.reset(seed=50 + i)
    for batch in actions:
        observations, rewards, dones, infos = envs.step(batch)
        for i, single in enumerate(singles):
            observation, reward, terminated, truncated, _ = single.step(batch[i])
            assert bool(dones[i]) == (terminated or truncated)
            if dones[i]:
                np.testing.assert_array_equal(infos[i]["terminal_observation"], observation)
                observation, _ = single.reset()
            np.testing.assert_array_equal(observations[i], observation)
            assert rewards[i] == pytest.approx(reward, rel=1e-6)
    envs.close()
