"""The planar walking experts give way: noise, weak motors, late actions; what they remember.

The bars over 200 seeds are measured by the slow test; the others try them on few and short ones.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from batches import make_batch
from gymnasium.vector import AutoresetMode
from rollouts import PLANAR, make

from dynenvs.agents.experts.reference import reference_controller
from dynenvs.envs.core.vector import DynVectorEnv

Array = np.ndarray
ROBOTS = [(name, free) for free in (False, True) for name in PLANAR]
every_robot = pytest.mark.parametrize(("name", "free"), ROBOTS)

# Standard deviations of observations at a scale of 1: those that legged_gym trains with
DEVIATIONS = {
    "height": 0.01,
    "joint angles": 0.006,
    "velocity": 0.06,
    "joint velocities": 0.9,
    "pitch": 0.03,
    "pitch rate": 0.12,
}
# What disturbs, how many live, and what part of the undisturbed return is kept
BARS: dict[str, tuple[dict[str, float], float, float]] = {
    "noise 0.5": ({"noise": 0.5}, 0.99, 0.90),
    "noise 1": ({"noise": 1.0}, 0.95, 0.80),
    "torque 5 %": ({"torque": 0.05}, 0.99, 0.95),
    "torque 10 %": ({"torque": 0.10}, 0.95, 0.85),
    "delay": ({"delay": 1}, 0.98, 0.90),
    "reset": ({"reset_noise": 0.1}, 0.99, 0.95),
    "all": ({"noise": 0.5, "torque": 0.05, "delay": 1}, 0.90, 0.75),
}


def disturbed(
    name: str,
    free: bool,
    count: int,
    steps: int,
    *,
    noise: float = 0.0,
    torque: float = 0.0,
    delay: float = 0,
    reset_noise: float = 0.01,
) -> tuple[float, float]:
    """(part of the worlds that are alive after so many steps, their mean return)."""
    env = make_batch(
        name,
        count,
        free_pitch=free,
        reset_noise=reset_noise,
        num_threads=1,
        autoreset_mode=AutoresetMode.DISABLED,
    )
    policy: Any = reference_controller(env)
    rng = np.random.default_rng(0)
    scale = _scale(env)
    low, high = env.single_observation_space.low, env.single_observation_space.high
    seen, _ = env.reset(seed=1000)
    state, alive, earned = None, np.ones(count, bool), np.zeros(count)
    waiting = [np.zeros((count, env.task.model.nu), np.float32)] * round(delay)
    for _ in range(steps):
        noisy = np.clip(seen + noise * scale * rng.normal(size=seen.shape), low, high)
        action, state = policy.predict(noisy, state)
        waiting.append(action)
        given = waiting.pop(0) + torque * rng.normal(size=action.shape)
        seen, reward, terminated, _, _ = env.step(np.clip(given, -1, 1).astype(np.float32))
        earned += alive * reward
        alive &= ~terminated
        if terminated.any():
            env.reset(options={"reset_mask": terminated})
    return float(alive.mean()), float(earned.mean())


def _scale(env: DynVectorEnv) -> Array:
    """Standard deviation of each entry of the observation."""
    scale = np.zeros(env.single_observation_space.low.shape)
    for block, where in env.observation_slices.items():
        scale[where] = DEVIATIONS.get(block, 0.0)
    return scale


@cache
def undisturbed(name: str, free: bool, count: int, steps: int) -> float:
    """Mean return."""
    return disturbed(name, free, count, steps)[1]


@pytest.mark.thorough
@every_robot
@pytest.mark.parametrize("what", ["noise 1", "torque 10 %", "all"])
def test_it_gives_way(name: str, free: bool, what: str) -> None:
    """8 walks of 4 s, all alive, with the bar's part of the return."""
    options, _, kept = BARS[what]
    alive, earned = disturbed(name, free, 8, 400, **options)
    assert alive == 1.0
    assert earned > kept * undisturbed(name, free, 8, 400)


@pytest.mark.slow
@every_robot
@pytest.mark.parametrize("what", BARS)
def test_200_seeds_meet_the_bars(name: str, free: bool, what: str) -> None:
    """Whole episodes."""
    options, living, kept = BARS[what]
    alive, earned = disturbed(name, free, 200, 1000, **options)
    assert alive >= living
    assert earned > kept * undisturbed(name, free, 200, 1000)


# What it makes of an observation


def walked(name: str, free: bool, steps: int = 150) -> tuple[Any, Array, list[Any]]:
    """(expert, what it saw, shape (steps, obs), what it remembered before each step)."""
    env = make(name, free_pitch=free)
    policy: Any = reference_controller(env)
    observation, _ = env.reset(seed=4, options={"command": 0.6})
    seen, known, state = [], [], None
    for _ in range(steps):
        seen.append(observation)
        known.append(state)
        action, state = policy.predict(observation, state)
        observation, *_ = env.step(action)
    return policy, np.array(seen), known


@every_robot
def test_a_millimetre_changes_little(name: str, free: bool) -> None:
    """No decision hangs on less than a centimetre or five milliradians."""
    policy, seen, _ = walked(name, free)
    env = make(name, free_pitch=free)
    rng = np.random.default_rng(0)
    action = policy.predict(seen)[0]
    for block in ("height", "joint angles"):
        where = env.observation_slices[block]
        off = seen.copy()
        off[:, where] += 1e-3 * rng.choice([-1.0, 1.0], off[:, where].shape)
        off[:, where] = np.clip(
            off[:, where], env.observation_space.low[where], env.observation_space.high[where]
        )
        assert np.abs(policy.predict(off)[0] - action).max() < 0.1


@every_robot
def test_what_it_foresees_comes_true(name: str, free: bool) -> None:
    """Undisturbed: the memory is the next state, but for touchdowns."""
    _, seen, known = walked(name, free)
    env = make(name, free_pitch=free)
    nu, nq = env.model.nu, env.model.nq
    angles = np.array([k[1 + nq - nu : 1 + nq] for k in known[1:]])
    rates = np.array([k[1 + nq + nq - nu : 1 + nq + nq] for k in known[1:]])
    where = env.observation_slices
    assert np.median(np.abs(angles - seen[1:, where["joint angles"]])) < 1e-3
    assert np.median(np.abs(rates - seen[1:, where["joint velocities"]])) < 0.1


# What it remembers


@every_robot
def test_memory_goes_through_the_state(name: str, free: bool) -> None:
    """Of a batch as of each alone, whatever the threads; an episode's start forgets it."""
    policy, seen, known = walked(name, free, 40)
    rng = np.random.default_rng(0)
    noisy = seen[1:] + 0.01 * rng.normal(size=seen[1:].shape)
    memory = np.array(known[1:])
    action, kept = policy.predict(noisy, memory)
    for k in (0, 20, 38):
        alone, own = policy.predict(noisy[k], memory[k])
        assert alone.tobytes() == action[k].tobytes()
        assert own.tobytes() == kept[k].tobytes()
    bare = policy.predict(noisy)[0]
    assert not np.array_equal(bare, action)
    start = np.arange(len(noisy)) % 2 == 0
    mixed = policy.predict(noisy, memory, start)[0]
    assert np.array_equal(mixed[start], bare[start])
    assert np.array_equal(mixed[~start], action[~start])
    again = policy.predict(noisy, memory)[0]  # the caller's memory is left alone
    assert np.array_equal(again, action)


@every_robot
def test_wrong_memories_are_refused(name: str, free: bool) -> None:
    """The message says what shape is right."""
    policy, seen, known = walked(name, free, 3)
    memory = known[2]
    wrong = (object(), (), memory[1:], np.repeat(memory[None], 2, axis=0), memory * np.nan)
    for state in wrong:
        with pytest.raises(ValueError, match="state must"):
            policy.predict(seen[0], state)
