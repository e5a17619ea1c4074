"""Batches of worlds, actions for them, and comparison of what they return."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray
from rollouts import bits

import dynenvs
from dynenvs.envs.core.vector import DynVectorEnv

gym.register_envs(dynenvs)


def make_batch(name: str, count: int, **options: Any) -> DynVectorEnv:
    """What `gym.make_vec` makes."""
    envs = gym.make_vec(name, num_envs=count, **options).unwrapped
    assert isinstance(envs, DynVectorEnv)
    return envs


def random_actions(envs: DynVectorEnv, steps: int, seed: int = 0) -> NDArray[np.float32]:
    """Uniform random actions, shape (steps, worlds, nu)."""
    rng = np.random.default_rng(seed)
    shape = (steps, *(envs.action_space.shape or ()))
    return rng.uniform(-1, 1, shape).astype(np.float32)


def worlds_bits(result: tuple[Any, ...], count: int) -> list[bytes]:
    """What a step or reset returned, world by world, bit by bit."""
    *arrays, info = result
    return [bits([_entry(a, i) for a in arrays] + [_entry(info, i)]) for i in range(count)]


def _entry(value: Any, i: int) -> Any:
    """World `i`'s part of an array, or of an info."""
    if isinstance(value, dict):
        return {
            key: _entry(item, i)
            for key, item in value.items()
            if not key.startswith("_") and value[f"_{key}"][i]
        }
    return np.asarray(value[i]) if value.dtype == object else value[i]


def trace_batch(envs: DynVectorEnv, actions: NDArray[np.float32]) -> list[list[bytes]]:
    """What each step returns, world by world."""
    return [worlds_bits(envs.step(action), envs.num_envs) for action in actions]


def assert_same(found: Any, expected: Any, where: str = "result") -> None:
    """Equal in keys, types, shapes and every bit."""
    if isinstance(expected, dict):
        assert sorted(found) == sorted(expected), where
        for key in expected:
            assert_same(found[key], expected[key], f"{where}[{key!r}]")
    elif isinstance(expected, tuple):
        assert len(found) == len(expected)
        for i, (one, other) in enumerate(zip(found, expected, strict=True)):
            assert_same(one, other, f"{where}[{i}]")
    elif isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype, where
        assert found.shape == expected.shape, where
        if expected.dtype == object:
            for i, (one, other) in enumerate(zip(found, expected, strict=True)):
                assert_same(one, other, f"{where}[{i}]")
        else:
            assert found.tobytes() == expected.tobytes(), (where, found, expected)
    else:
        assert type(found) is type(expected), where
        assert found == expected, where
