"""Spaces, rewards and info of every environment: within bounds, fresh, the caller's own."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from rollouts import (
    Policy,
    action_list,
    bits,
    every_env,
    every_planar,
    every_walker,
    hold,
    idle,
    make,
    uniform,
)

from dynenvs.dynamics.energy import totals
from dynenvs.envs.core.base import DynEnv
from dynenvs.envs.core.codes import END_WORDS
from dynenvs.envs.legged.shells import LeggedRobot


@every_env
def test_spaces(name: str) -> None:
    """Actions Box(-1, 1) float32, observations a Box with finite bounds and room between them."""
    env = make(name)
    space = env.action_space
    assert isinstance(space, gym.spaces.Box)
    assert space.dtype == np.float32
    assert np.all(space.low == -1)
    assert np.all(space.high == 1)
    seen = env.observation_space
    assert isinstance(seen, gym.spaces.Box)
    assert np.isfinite(seen.low).all()
    assert np.isfinite(seen.high).all()
    assert np.all(seen.low < seen.high)
    assert env.metadata["render_fps"] == pytest.approx(1 / env.dt, abs=0.5)
    assert {"human", "rgb_array"} <= set(env.metadata["render_modes"])


def _watch(env: DynEnv, policy: Policy, steps: int) -> np.ndarray:
    """Step, asserting what holds at every step; returns the observations."""
    seen = []
    keys: set[str] | None = None
    observation, info = env.reset(seed=11)
    assert observation in env.observation_space
    for i in range(steps):
        observation, reward, terminated, truncated, info = env.step(policy(env, i))
        assert observation in env.observation_space, env.observation_space
        assert observation.dtype == env.observation_space.dtype
        assert type(reward) is float
        assert type(terminated) is bool
        assert type(truncated) is bool
        ended = terminated or truncated
        why = END_WORDS[env.worlds.ends[0]]
        assert info.get("end", "time limit" if ended else "") == why
        terms = {k: v for k, v in info.items() if k.startswith("reward_")}
        assert terms
        assert all(type(v) is float and 0.0 <= v <= 1.0 for v in terms.values())
        assert reward == pytest.approx(sum(terms.values()), abs=1e-15)
        assert 0.0 <= reward <= 1.0 + 1e-12
        assert info["torques"].shape == (env.model.nu,)
        assert type(info["degraded"]) is int
        assert type(info["failed"]) is int
        assert 0.0 <= info["residual"] <= 1e-9 or info["degraded"] > 0
        for value in info.values():
            assert isinstance(value, str) or np.isfinite(value).all()
        keys = keys or set(info) - {"end"}
        assert set(info) - {"end"} == keys
        seen.append(observation)
        if ended:
            assert info["failed"] == 0
            observation, info = env.reset()
            assert observation in env.observation_space
            assert set(info) == keys
    return np.array(seen)


@every_env
def test_random_actions_keep_every_promise(name: str) -> None:
    """Bounds, types and reward terms, at every one of 3,000 steps; no entry is constant."""
    seen = _watch(make(name), uniform(1), 3000)
    constant = np.flatnonzero(np.ptp(seen, axis=0) == 0)
    assert constant.tolist() == []


@every_walker
def test_lying_on_the_ground_keeps_every_promise(name: str) -> None:
    """The same with termination on falls off, at 2,000 steps."""
    _watch(make(name, terminate_on_fall=False), uniform(2), 2000)


@every_env
def test_torques_are_newton_metres(name: str) -> None:
    """info["torques"] is the action times the effort limit, clipped."""
    env = make(name)
    env.reset(seed=0)
    effort = env.model.effort_limit[env.model.actuated]
    action = np.linspace(-0.9, 0.4, env.model.nu).astype(np.float32)
    info = env.step(action)[4]
    np.testing.assert_array_equal(info["torques"], action.astype(np.float64) * effort)
    info = env.step(np.full(env.model.nu, 3.0, np.float32))[4]
    np.testing.assert_array_equal(info["torques"], effort)


@every_env
def test_standing_still_earns_little(name: str) -> None:
    """Neither holding the starting pose nor letting go pays where it is told to go."""
    for policy, most in ((hold, 0.05), (idle, 0.2)):
        env = make(name)
        for seed in range(3):
            told = {"command": (0.5, 0.0, 0.0)} if isinstance(env, LeggedRobot) else {}
            env.reset(seed=seed, options=told)
            earned = []
            for i in range(300):
                _, reward, terminated, _, _ = env.step(policy(env, i))
                earned.append(reward)
                if terminated:
                    break
            # What is not earned in the rest of the episode counts too
            assert sum(earned) / 300 < most


@every_walker
def test_contact_forces_change_the_momentum(name: str) -> None:
    """Forces of the feet and weight add up to the change of momentum, step by step (1st order)."""
    env = make(name, reset_noise=0.0)
    env.reset(seed=0)
    weight = env.model.bodies["mass"].sum() * 9.81
    mu = env.model.features["friction"].max()
    before = totals(env.model, env.worlds.states["q"][0], env.worlds.states["v"][0]).momentum[3:]
    balance = np.zeros(3)
    for i in range(200):
        _, _, terminated, _, info = env.step(hold(env, i))
        assert not terminated, info
        forces = info["contact_forces"]
        assert forces.shape[1] == 3
        assert np.all(forces[:, 2] >= 0)
        assert np.all(np.hypot(forces[:, 0], forces[:, 1]) <= mu * forces[:, 2] + 1e-9)
        now = totals(env.model, env.worlds.states["q"][0], env.worlds.states["v"][0]).momentum[3:]
        balance += forces.sum(0) - [0, 0, weight] - (now - before) / env.dt
        before = now
    np.testing.assert_allclose(balance / 200, 0.0, atol=0.01 * weight)


@every_planar
def test_info_is_not_stale(name: str) -> None:
    """Place and speed in info are those of the state that the observation shows."""
    env = make(name)
    observation, info = env.reset(seed=5)
    at = info["x_position"]
    for i in range(20):
        observation, _, _, _, info = env.step(hold(env, i))
        assert info["x_position"] == env.worlds.states["q"][0, 0]
        assert info["x_velocity"] == pytest.approx((info["x_position"] - at) / env.dt, abs=1e-12)
        assert observation[0] == env.worlds.states["q"][0, 1]
        assert observation[env.observation_slices["command"]] == info["command"]
        at = info["x_position"]


@every_env
def test_results_are_the_callers_own(name: str) -> None:
    """Old observations and infos never change, and changing them changes nothing."""
    env, twin = make(name), make(name)
    env.reset(seed=2)
    twin.reset(seed=2)
    policy = action_list(env, 40)
    old = []
    for i in range(40):
        result = env.step(policy(env, i))
        old.append((result, bits(result)))
        spoiled = twin.step(policy(twin, i))
        assert bits(spoiled) == old[-1][1]
        spoiled[0][:] = 7.0
        for value in spoiled[4].values():
            if isinstance(value, np.ndarray):
                value[:] = -7.0
    assert all(bits(result) == then for result, then in old)


@every_env
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_callers_action_is_left_alone(name: str, dtype: Any) -> None:
    """Actions beyond the bounds are clipped, but not in the caller's array."""
    env = make(name)
    env.reset(seed=0)
    action = np.full(env.model.nu, 2.0, dtype)
    env.step(action)
    assert np.all(action == 2.0)


@every_env
def test_actions_are_clipped(name: str) -> None:
    """5 does what 1 does, bit for bit."""
    env, twin = make(name), make(name)
    env.reset(seed=0)
    twin.reset(seed=0)
    sign = np.where(np.arange(env.model.nu) % 2, -1, 1).astype(np.float32)
    for _ in range(5):
        assert bits(env.step(5 * sign)) == bits(twin.step(sign))
