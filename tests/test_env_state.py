"""Saved and restored, pickled and copied: the future is the same, bit for bit."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from rollouts import (
    IDS,
    action_list,
    bits,
    every_env,
    hold,
    make,
    state_bits,
    trace,
)

from dynenvs.envs.core.base import DynEnv


def _prepared(name: str) -> DynEnv:
    """An environment in the middle of an episode, in contact with the ground."""
    env = make(name)
    env.reset(seed=21)
    for i in range(25):
        env.step(hold(env, i))
    return env


@every_env
def test_state_is_restored_bit_for_bit(name: str) -> None:
    """Warm start, clock, step count and generator: the future is the same, episodes on."""
    env = _prepared(name)
    state = env.get_state()
    kept = bits(state)
    policy = action_list(env, 300)
    future = trace(env, policy, 300)  # crosses ends of episodes where falls end them
    assert bits(state) == kept, "the saved state changed"
    env.set_state(state)
    assert state_bits(env) == kept
    assert trace(env, policy, 300) == future
    assert bits(state) == kept, "the restored state is shared"
    again = make(name)  # never reset
    again.set_state(pickle.loads(pickle.dumps(state)))
    assert trace(again, policy, 300) == future


@every_env
def test_equal_states_have_equal_bytes(name: str) -> None:
    """The padding between fields is defined, also after a state whose padding is not."""
    env, twin = _prepared(name), make(name)
    state = env.get_state()
    dirty = {k: np.full(v.nbytes, 255, np.uint8).view(v.dtype) for k, v in state.items()}
    for key, value in state.items():
        dirty[key][:] = value  # fields only: as `ndarray.copy` into used memory
    assert dirty["world"].tobytes() != state["world"].tobytes()
    twin.set_state(dirty)
    again = twin.get_state()
    assert all(again[key].tobytes() == value.tobytes() for key, value in state.items())


@every_env
def test_state_after_the_end(name: str) -> None:
    """Saved at an episode's last step, it continues with the same next episodes."""
    env = make(name, max_episode_steps=30)
    env.reset(seed=3)
    for i in range(30):
        truncated = env.step(hold(env, i))[3]
    assert truncated
    state = env.get_state()
    future = [bits(env.reset()), *trace(env, hold, 70)]
    other = make(name, max_episode_steps=30)
    other.reset(seed=99)
    other.set_state(state)
    assert [bits(other.reset()), *trace(other, hold, 70)] == future


@every_env
def test_restored_state_is_drawn_and_described(name: str) -> None:
    """An environment that was restored before any reset gives its readings and focus."""
    env = make(name)
    env.set_state(_prepared(name).get_state())
    assert env.readings()
    assert np.isfinite(env.focus).all()
    assert set(env.worlds.info()) >= {"torques", "residual", "degraded", "failed"}


def _lists_are_in_order(row: Any) -> bool:
    """Just the marked features are listed, once each; all that remember something are."""
    memory = row["memory"]
    listed = np.sort(row["touched"][: row["status"]["touched"]])
    used = memory["impulse"].any(axis=1) | memory["total"].any(axis=1) | (memory["mode"] != 0)
    marked = memory["listed"] != 0
    return bool(np.array_equal(listed, np.flatnonzero(marked)) and not (used & ~marked).any())


@every_env
@pytest.mark.parametrize("change", ["forgotten", "unmarked", "longer"])
def test_lists_of_a_changed_state_are_mended(name: str, change: str) -> None:
    """Memory wiped or taken from elsewhere: the list of touched features follows it."""
    env = _prepared(name)
    state = env.get_state()
    row = state["world"][0]
    assert _lists_are_in_order(row)
    if change == "forgotten":
        state["world"]["memory"] = env.model.states(1)["memory"]
    elif change == "unmarked":
        state["world"]["memory"]["listed"] = 0
    else:
        state["world"]["status"]["touched"] = env.model.header.nk
    env.set_state(state)
    for i in range(20):
        assert _lists_are_in_order(env.get_state()["world"][0])
        env.step(hold(env, i))


@every_env
def test_what_is_not_a_state_is_refused(name: str) -> None:
    """A ValueError or TypeError, and the environment is as before."""
    env = _prepared(name)
    before = state_bits(env)
    state = env.get_state()
    other = make(next(other for other in IDS if other != name))
    other.reset(seed=0)
    wrong: list[Any] = [
        {},
        {"world": state["world"]},
        {"task": state["task"]},
        {**state, "world": state["world"].tobytes()},
        {**state, "world": np.zeros(3)},
        {**state, "task": None},
        {**state, "task": [1.0]},
        other.get_state(),
        None,
        3,
        "state",
        state["world"],
    ]
    for value in wrong:
        with pytest.raises((ValueError, TypeError)):
            env.set_state(value)
        assert state_bits(env) == before


@every_env
@pytest.mark.parametrize("copier", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_copies_continue_identically(name: str, copier: Any) -> None:
    """deepcopy and pickle in mid-episode; the copy shares nothing with its origin."""
    env = _prepared(name)
    twin = copier(env)
    policy = action_list(env, 150)
    future = trace(env, policy, 150)
    assert trace(twin, policy, 150) == future
    assert twin.readings() == env.readings()
    wrapped = gym.make(name)
    wrapped.reset(seed=0)
    wrapped_twin = copier(wrapped)
    assert bits(wrapped.step(policy(env, 0))) == bits(wrapped_twin.step(policy(env, 0)))
    assert wrapped_twin.spec == wrapped.spec


@every_env
def test_a_copy_draws_the_same_random_numbers(name: str) -> None:
    """Copied before the first reset, with Gymnasium's generator seeded or not, and after it."""
    env = _prepared(name)
    twin = copy.deepcopy(env)
    assert bits(env.reset()) == bits(twin.reset())
    assert env.np_random.random() == twin.np_random.random()
