"""Pictures of every environment; drawing changes nothing."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from rollouts import (
    action_list,
    bits,
    every_env,
    hold,
    idle,
    make,
    state_bits,
)

from dynenvs.dynamics.crba import crba
from dynenvs.envs.core.base import DynEnv
from dynenvs.envs.core.view import push


@every_env
def test_rgb_array(name: str) -> None:
    """A picture of the asked size, the same for the same state, another after a step."""
    env = type(make(name))(render_mode="rgb_array", width=320, height=180)
    env.reset(seed=0)
    picture = env.render()
    assert picture is not None
    assert picture.shape == (180, 320, 3)
    assert picture.dtype == np.uint8
    assert np.ptp(picture) > 50
    again = env.render()
    np.testing.assert_array_equal(picture, again)
    for i in range(30):
        env.step(idle(env, i))
    assert not np.array_equal(picture, env.render())
    env.close()
    env.close()


@every_env
@pytest.mark.thorough
def test_rendering_changes_nothing(name: str) -> None:
    """A drawn episode is the undrawn one, bit for bit; drawn environments copy too."""
    plain, drawn = make(name), make(name, render_mode="rgb_array")
    assert bits(plain.reset(seed=8)) == bits(drawn.reset(seed=8))
    policy = action_list(plain, 20)
    for i in range(20):
        assert bits(plain.step(policy(plain, i))) == bits(drawn.step(policy(drawn, i)))
        before = state_bits(drawn)
        drawn.render()
        assert state_bits(drawn) == before
    for twin in (copy.deepcopy(drawn), pickle.loads(pickle.dumps(drawn))):
        np.testing.assert_array_equal(twin.render(), drawn.render())


@every_env
@pytest.mark.thorough
def test_record_video(name: str, tmp_path: Path) -> None:
    """Gymnasium's RecordVideo writes a film."""
    pytest.importorskip("moviepy")
    env: gym.Env[Any, Any] = gym.make(name, render_mode="rgb_array")
    env = gym.wrappers.RecordVideo(env, str(tmp_path), episode_trigger=lambda _: True)
    env.reset(seed=0)
    inner = env.unwrapped
    assert isinstance(inner, DynEnv)
    for i in range(12):
        env.step(hold(inner, i))
    env.close()
    (film,) = tmp_path.glob("*.mp4")
    assert film.stat().st_size > 1000


@every_env
def test_render_without_a_mode_warns(name: str) -> None:
    """It says what to do instead."""
    env = make(name)
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.render() is None


def test_a_push_gives_the_robot_its_impulse() -> None:
    """A blow along x adds its impulse to the momentum along x: J v of the total mass's centre."""
    env = make("dynenvs/PlanarHumanoid-v0")
    env.reset(seed=0)
    before = env.worlds.states["v"][0].copy()
    push(env, 7.0, 0.0)
    change = env.worlds.states["v"][0] - before
    # The first coordinate slides along x: its row of M v is the momentum along x
    assert crba(env.model, env.worlds.states["q"][0])[0] @ change == pytest.approx(7.0, abs=1e-9)
    push(env)
    assert np.isfinite(env.worlds.states["v"]).all()


def test_keys_change_the_command_within_its_range() -> None:
    env = make("dynenvs/PlanarQuadruped-v0")
    env.reset(seed=0, options={"command": 0.3})
    env.change_command(1, 0, 0)
    assert float(env.worlds.task_states[0]["command"]) == pytest.approx(0.35)
    for _ in range(100):
        env.change_command(-1, 0, 0)
    assert float(env.worlds.task_states[0]["command"]) == env.task.command_range[0]
