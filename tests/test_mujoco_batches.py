"""Batches of Gymnasium's MuJoCo tasks have what all batches of worlds have."""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ClosedEnvironmentError

import dynenvs  # noqa: F401

pytest.importorskip("mujoco")

NAME = "dynenvs/MujocoHopper-v5"
COUNT = 3


def made(count: int = COUNT, **options: Any) -> Any:
    """A batch."""
    return gym.make_vec(NAME, num_envs=count, **options)


def actions(seed: int, steps: int) -> Any:
    """Random ones, shape (steps, COUNT, 3)."""
    return np.random.default_rng(seed).uniform(-1, 1, (steps, COUNT, 3)).astype(np.float32)


def test_pictures() -> None:
    """Each world's is the single environment's; without a mode there are none."""
    envs, one = made(render_mode="rgb_array"), gym.make(NAME, render_mode="rgb_array")
    envs.reset(seed=4)
    one.reset(seed=6)
    pictures = envs.render()
    assert len(pictures) == COUNT
    np.testing.assert_array_equal(pictures[2], one.render())
    assert np.any(pictures[2] != pictures[1])
    assert envs.metadata["render_fps"] == one.metadata["render_fps"] == 125
    small = made(render_mode="rgb_array", width=64, height=32)
    small.reset(seed=0)
    assert small.render()[0].shape == (32, 64, 3)
    with pytest.raises(ValueError, match="render_mode"):
        made(render_mode="human")
    plain = made()
    plain.reset(seed=0)
    with pytest.warns(UserWarning, match="render_mode"):
        assert plain.render() is None


def test_single_worlds() -> None:
    """`call`, `get_attr`, `set_attr`; a world of the batch steps as the batch has it step."""
    envs, other = made(), made()
    envs.reset(seed=1)
    other.reset(seed=1)
    assert envs.get_attr("dt") == (0.008,) * COUNT
    states = envs.call("state_vector")
    assert len({state.tobytes() for state in states}) == COUNT
    envs.set_attr("note", [1, 2, 3])
    assert envs.get_attr("note") == (1, 2, 3)
    for action in actions(0, 8):  # none ends
        expected = other.step(action)
        for i, env in enumerate(envs.envs):
            seen, reward, over, cut, info = env.step(action[i])
            np.testing.assert_array_equal(seen, expected[0][i])
            assert (reward, over, cut) == tuple(part[i] for part in expected[1:4])
            assert info["x_velocity"] == expected[4]["x_velocity"][i]
    # Begun anew it goes on with its own random numbers, as the batch would
    mask = np.array([False, True, False])
    alone = envs.envs[1].reset()[0]
    np.testing.assert_array_equal(alone, other.reset(options={"reset_mask": mask})[0][1])
    np.testing.assert_array_equal(envs.envs[1].reset(seed=8)[0], gym.make(NAME).reset(seed=8)[0])
    np.testing.assert_array_equal(envs.call("state_vector")[0], other.call("state_vector")[0])


def test_limits() -> None:
    """-1 is none; the spec tells what is in force; the environment itself counts, too."""
    assert made(max_episode_steps=-1).spec.max_episode_steps is None
    assert made(max_episode_steps=30).spec.max_episode_steps == 30
    with pytest.raises(ValueError, match="-1 sets no limit"):
        made(max_episode_steps=0)
    for name, steps in (("Hopper", 1000), ("Reacher", 50), ("Pusher", 100)):
        envs = gym.make_vec(f"dynenvs/Mujoco{name}-v5", num_envs=1, max_episode_steps=None)
        assert envs.spec.max_episode_steps == envs.unwrapped.task.max_episode_steps == steps
    reacher = gym.make_vec("dynenvs/MujocoReacher-v5", num_envs=1, max_episode_steps=-1)
    reacher.reset(seed=0)
    assert not any(reacher.step(np.zeros((1, 2)))[3].any() for _ in range(60))
    one = gym.make("dynenvs/MujocoReacher-v5").unwrapped
    own = type(one)(max_episode_steps=2)
    own.reset(seed=0)
    assert [own.step(np.zeros(2))[3] for _ in range(2)] == [False, True]


def test_closed() -> None:
    """Refused, in one line."""
    envs = made()
    envs.reset(seed=0)
    envs.close()
    for call in (envs.reset, envs.render, lambda: envs.step(actions(0, 1)[0])):
        with pytest.raises(ClosedEnvironmentError, match="after close"):
            call()


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_states(mode: str) -> None:
    """Restored, here or elsewhere, worlds go on bit for bit, through ends and new episodes."""
    envs = made(autoreset_mode=mode, max_episode_steps=6)
    envs.reset(seed=3)
    for action in actions(1, 4):
        envs.step(action)
    kept = pickle.loads(pickle.dumps(envs.get_state()))
    for action in actions(2, 1 if mode == "Disabled" else 30):
        envs.step(action)
    other = made(autoreset_mode=mode, max_episode_steps=6)
    other.set_state(kept)
    envs.set_state(kept)
    ends = 0
    for action in actions(4, 2 if mode == "Disabled" else 60):
        found, expected = envs.step(action), other.step(action)
        for one, two in zip(found[:4], expected[:4], strict=True):
            np.testing.assert_array_equal(one, two)
        ends += int(found[3].sum())
    assert ends
    if mode == "Disabled":
        over = envs.get_state()
        fresh = made(autoreset_mode=mode)
        fresh.set_state(over)
        with pytest.raises(gym.error.ResetNeeded, match="have ended"):
            fresh.step(actions(0, 1)[0])
    for wrong in (None, {}, {"world": 1}, made(2).get_state()):
        with pytest.raises(ValueError, match="state must be"):
            envs.set_state(wrong)


def test_stable_baselines() -> None:
    """`make_sb3_vec_env` takes their ids: DummyVecEnv's numbers."""
    pytest.importorskip("stable_baselines3")
    from stable_baselines3.common.vec_env import DummyVecEnv

    from dynenvs.agents import make_sb3_vec_env

    venv = make_sb3_vec_env(NAME, COUNT, seed=7)
    dummy = DummyVecEnv([lambda: gym.make(NAME)] * COUNT)
    dummy.seed(7)
    np.testing.assert_array_equal(venv.reset(), dummy.reset().astype(np.float64))
    for action in actions(5, 40):
        found, expected = venv.step(action), dummy.step(action)
        for one, two in zip(found[:3], expected[:3], strict=True):
            np.testing.assert_array_equal(one, two)
    assert venv.get_attr("dt") == [0.008] * COUNT
    assert venv.env_method("state_vector", indices=[1])[0].shape == (12,)
