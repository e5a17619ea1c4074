"""What experts carry from call to call, and the estimate that the humanoid's makes of it."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from scipy.linalg import solve_discrete_are

from dynenvs.agents.experts.common.carried import carry_on
from dynenvs.agents.experts.humanoid.filter import _settled
from dynenvs.agents.experts.reference import reference_controller

NAME = "dynenvs/Humanoid-v0"


def test_nothing_is_carried_at_a_start() -> None:
    """Zeros, all of them or where an episode begins; the caller's array is left alone."""
    assert not carry_on(None, None, 3, 2).any()
    state = np.arange(1.0, 7.0).reshape(3, 2)
    kept = carry_on(state, np.array([False, True, False]), 3, 2)
    np.testing.assert_array_equal(kept, [[1, 2], [0, 0], [5, 6]])
    np.testing.assert_array_equal(state, np.arange(1.0, 7.0).reshape(3, 2))
    np.testing.assert_array_equal(carry_on(state[0], False, 1, 2), [[1, 2]])


@pytest.mark.parametrize("state", [np.zeros((2, 2)), np.zeros(6), np.full((3, 2), np.nan)])
def test_foreign_states_are_refused(state: Any) -> None:
    """A ValueError that names the state."""
    with pytest.raises(ValueError, match="state must"):
        carry_on(state, None, 3, 2)


def test_the_filter_settles() -> None:
    """Its covariance solves the Riccati equation as scipy does."""
    rng = np.random.default_rng(0)
    A, B, R = (
        np.eye(4) + 0.1 * rng.normal(size=(4, 4)),
        rng.normal(size=(4, 2)),
        np.diag([1, 2, 3, 4]),
    )
    expected = solve_discrete_are(A.T, np.eye(4), B @ B.T, R)
    np.testing.assert_allclose(_settled(A, B @ B.T, R), expected, rtol=1e-8)


def _walk(seeds: int, steps: int, **options: Any) -> tuple[Any, ...]:
    """What is seen in some steps, noisy, and what is acted and carried."""
    envs = gym.make_vec(NAME, num_envs=seeds, **options)
    expert = reference_controller(envs)
    rng = np.random.default_rng(2)
    spread = np.zeros(59)
    for block, size in (("joint angles", 0.006), ("joint velocities", 0.9), ("velocity", 0.06)):
        spread[envs.unwrapped.observation_slices[block]] = size
    seen, acted, carried = [], [], []
    observation, _ = envs.reset(seed=3)
    state, lost = None, 0
    low, high = envs.single_observation_space.low, envs.single_observation_space.high
    for _ in range(steps):
        noisy = np.clip(observation + spread * rng.normal(size=observation.shape), low, high)
        action, state = expert.predict(noisy, state)
        seen.append(noisy)
        acted.append(action)
        carried.append(state)
        observation, _, terminated, _, _ = envs.step(action)
        lost += int(terminated.sum())
    envs.close()
    return np.array(seen), np.array(acted), carried, lost


@pytest.mark.thorough
def test_a_batch_carries_what_its_rows_carry_alone() -> None:
    """Bit for bit, whatever the threads; and an episode's start forgets."""
    seen, acted, carried, _ = _walk(40, 3)
    expert = reference_controller(NAME)
    for row in (0, 17, 39):
        state = None
        for step in range(3):
            action, state = expert.predict(seen[step, row], state)
            assert action.tobytes() == acted[step, row].tobytes()
            assert state.tobytes() == carried[step][row].tobytes()
    starts = np.zeros(40, bool)
    starts[17] = True
    fresh, _ = expert.predict(seen[2], carried[1], starts)
    assert fresh[17].tobytes() == expert.predict(seen[2, 17])[0].tobytes()
    others = ~starts
    assert fresh[others].tobytes() == acted[2][others].tobytes()


@pytest.mark.thorough
def test_walks_by_noisy_sensors() -> None:
    """As noisy as legged robots are trained with: nobody falls in six seconds."""
    *_, lost = _walk(20, 400)
    assert lost == 0
