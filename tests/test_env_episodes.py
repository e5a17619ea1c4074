"""Episodes begin as seed and options say, and end for a stated reason."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from rollouts import (
    action_list,
    bits,
    every_env,
    every_planar,
    every_walker,
    hold,
    idle,
    make,
    state_bits,
    trace,
    uniform,
)

from dynenvs.envs.core.codes import END_WORDS

# Seeds


@every_env
def test_equal_seeds_give_equal_bits(name: str) -> None:
    """Two environments, interleaved, several episodes: observations, rewards and info."""
    one, two = make(name), make(name)
    assert bits(one.reset(seed=123)) == bits(two.reset(seed=123))
    policy = action_list(one, 400)
    first = trace(one, policy, 400)
    assert trace(two, policy, 400) == first
    assert bits(one.reset(seed=123)) == bits(make(name).reset(seed=123))
    assert trace(one, policy, 400) == first


@every_env
def test_other_seeds_give_other_episodes(name: str) -> None:
    """Seeds differ; a reset without a seed continues the stream."""
    env = make(name)
    starts = [env.reset(seed=seed)[0].tobytes() for seed in range(20)]
    assert len(set(starts)) == 20
    env.reset(seed=0)
    stream = [env.reset()[0].tobytes() for _ in range(20)]
    assert len({*stream, starts[0]}) == 21
    other = make(name)
    other.reset(seed=0)
    assert [other.reset()[0].tobytes() for _ in range(20)] == stream


@every_env
def test_a_history_before_the_seed_does_not_matter(name: str) -> None:
    """After reset(seed) nothing of earlier episodes is left: no warm start, no clock."""
    env, fresh = make(name), make(name)
    env.reset(seed=9)
    trace(env, uniform(9), 100)
    assert bits(env.reset(seed=4)) == bits(fresh.reset(seed=4))
    assert state_bits(env) == state_bits(fresh)
    policy = action_list(env, 60)
    assert trace(env, policy, 60) == trace(fresh, policy, 60)


@every_env
def test_unseeded_environments_differ(name: str) -> None:
    """Without a seed two environments start apart."""
    assert make(name).reset()[0].tobytes() != make(name).reset()[0].tobytes()


# Options


@every_env
def test_unknown_options_are_named(name: str) -> None:
    """Of reset and of the constructor; the environment goes on as if nothing had happened."""
    env = make(name)
    env.reset(seed=0)
    before = state_bits(env)
    with pytest.raises(ValueError, match="speling"):
        env.reset(seed=1, options={"speling": 1.0})
    assert state_bits(env) == before
    with pytest.raises(TypeError, match="speling"):
        type(env)(speling=1.0)  # type: ignore[call-arg]


@every_env
@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("timestep", 0.0),
        ("timestep", -0.01),
        ("timestep", 1.0),
        ("timestep", float("nan")),
        ("frame_skip", 0),
        ("frame_skip", 1.5),
        ("reset_noise", -0.1),
        ("reset_noise", float("nan")),
        ("reset_noise", 3.0),
        ("max_episode_steps", 0),
        ("render_mode", "ascii"),
    ],
)
def test_bad_constructor_options_are_named(name: str, option: str, value: Any) -> None:
    """A ValueError that names the option."""
    cls = type(make(name))
    with pytest.raises(ValueError, match=option):
        cls(**{option: value})


@every_planar
def test_command(name: str) -> None:
    """Drawn within its range; fixed by the constructor or for one episode; checked."""
    env = make(name)
    low, high = env.task.command_range  # type: ignore[attr-defined]
    drawn = [env.reset(seed=seed)[1]["command"] for seed in range(200)]
    assert low <= min(drawn) < low + 0.1 * (high - low)
    assert high - 0.1 * (high - low) < max(drawn) <= high
    middle = 0.5 * (low + high)
    assert env.reset(options={"command": middle})[1]["command"] == middle
    assert env.reset()[1]["command"] != middle
    fixed = type(env)(command=middle)
    assert fixed.reset(seed=1)[1]["command"] == middle
    assert fixed.reset(options={"command": low})[1]["command"] == low
    assert fixed.reset()[1]["command"] == middle
    before = state_bits(env)
    for wrong in (low - 0.01, high + 0.01, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="command"):
            env.reset(seed=77, options={"command": wrong})
        with pytest.raises(ValueError, match="command"):
            type(env)(command=wrong)
    assert state_bits(env) == before
    for wrong_range in ((1.0, 0.5), (float("nan"), 1.0), (0.0, float("inf"))):
        with pytest.raises(ValueError, match="command_range"):
            type(env)(command_range=wrong_range)


@every_planar
def test_command_in_mid_episode(name: str) -> None:
    """Followed from the next step to the episode's end; checked; nothing before the first reset."""
    env = make(name)
    low, high = env.task.command_range  # type: ignore[attr-defined]
    told: Any = env
    with pytest.raises(gym.error.ResetNeeded, match=r"reset\(\) before set_command"):
        told.set_command(low)
    env.reset(seed=4, options={"command": high})
    told.set_command(low)
    observation, _, _, _, info = env.step(idle(env, 0))
    assert observation[env.observation_slices["command"]] == info["command"] == low
    before = state_bits(env)
    for wrong in (low - 0.01, high + 0.01, float("nan"), "fast", None, [low], np.array([low, low])):
        with pytest.raises(ValueError, match=r"command must be a number in \["):
            told.set_command(wrong)
    assert state_bits(env) == before
    assert env.reset()[1]["command"] not in (low, high)


@every_planar
def test_fixed_command_draws_the_same_start(name: str) -> None:
    """A given command changes the command only, not the rest of the drawn start."""
    env = make(name)
    drawn, _ = env.reset(seed=6)
    given, _ = env.reset(seed=6, options={"command": 0.5})
    drawn[env.observation_slices["command"]] = 0.5
    np.testing.assert_array_equal(drawn, given)


# Ends


@every_env
def test_truncates_by_its_own_count(name: str) -> None:
    """Without a TimeLimit wrapper: at its own limit, which it does not put into words."""
    env = make(name, max_episode_steps=12)
    for seed in range(2):
        env.reset(seed=seed)
        for i in range(12):
            _, _, terminated, truncated, info = env.step(hold(env, i))
            assert not terminated
            assert truncated == (i == 11)
            assert "end" not in info


@every_walker
def test_a_fall_terminates(name: str) -> None:
    """Legs let go: the episode ends by a fall; with termination off it goes on."""
    env = make(name)
    env.reset(seed=0)
    for i in range(200):
        _, _, terminated, truncated, info = env.step(idle(env, i))
        if terminated:
            break
    assert terminated
    assert not truncated
    assert info["end"] == "fall"
    env = make(name, terminate_on_fall=False)
    env.reset(seed=0)
    assert not any(any(env.step(idle(env, i))[2:4]) for i in range(300))


@every_env
def test_stepping_past_the_end_stays_sane(name: str) -> None:
    """Nothing breaks if a user steps on; the end is reported again."""
    env = make(name, max_episode_steps=5)
    env.reset(seed=0)
    for i in range(10):
        observation, _, _, truncated, _ = env.step(hold(env, i))
        assert observation in env.observation_space
        assert truncated == (i >= 4)


@every_env
@pytest.mark.parametrize("speed", [1e60, 1e155, 1e200, 1e300])
def test_a_state_that_is_not_finite_is_never_returned(name: str, speed: float) -> None:
    """The last finite state stays, the episode ends and info says why."""
    env = make(name)
    env.reset(seed=0)
    for i in range(5):
        env.step(hold(env, i))
    state = env.get_state()
    state["world"]["v"][0] = speed * np.where(np.arange(env.model.nv) % 2, -1.0, 1.0)
    env.set_state(state)
    q, v = env.worlds.states["q"].copy(), env.worlds.states["v"].copy()
    observation, reward, terminated, truncated, info = env.step(idle(env, 0))
    assert observation in env.observation_space
    assert np.isfinite(reward)
    assert np.isfinite(env.worlds.states["q"]).all()
    assert np.isfinite(env.worlds.states["v"]).all()
    assert np.isfinite(env.worlds.states["memory"]["total"]).all()
    assert np.isfinite(info["residual"])
    if speed >= 1e200:  # its square is not finite
        assert truncated
        assert not terminated
        assert info["end"] == "no solution of the contact problem"
        assert info["failed"] == 1
        np.testing.assert_array_equal(env.worlds.states["q"], q)
        np.testing.assert_array_equal(env.worlds.states["v"], v)
    else:
        assert terminated or truncated
        assert info["end"] in END_WORDS
    observation, info = env.reset()
    assert info["failed"] == 0
    assert not any(env.step(hold(env, 0))[2:4])


# Life


@every_env
def test_step_before_reset_raises(name: str) -> None:
    """Wrapped and bare."""
    env = make(name)
    with pytest.raises(gym.error.ResetNeeded):
        env.step(idle(env, 0))
    wrapped = gym.make(name)
    with pytest.raises(gym.error.ResetNeeded):
        wrapped.step(idle(env, 0))


@every_env
def test_close(name: str) -> None:
    """Twice is fine, before and after use; steps and pictures are refused until the next reset."""
    env = make(name, render_mode="rgb_array", width=64, height=48)
    env.close()
    env.close()
    for _ in range(2):
        env.reset(seed=0)
        env.step(idle(env, 0))
        env.render()
        env.close()
        env.close()
        with pytest.raises(
            gym.error.ClosedEnvironmentError, match=r"step\(\) was called after close"
        ):
            env.step(idle(env, 0))
        with pytest.raises(
            gym.error.ClosedEnvironmentError, match=r"render\(\) was called after close"
        ):
            env.render()


@every_env
def test_options_change_the_clock(name: str) -> None:
    """dt = timestep * frame_skip is what a control step takes."""
    env = type(make(name))(timestep=0.004, frame_skip=5)
    assert env.dt == pytest.approx(0.02)
    assert env.metadata["render_fps"] == 50
    env.reset(seed=0)
    env.step(idle(env, 0))
    assert float(env.worlds.states["status"]["time"][0]) == pytest.approx(0.02, abs=1e-12)
