"""`make_sb3_vec_env`: what DummyVecEnv gives, bit for bit, and algorithms that learn on it."""

from __future__ import annotations

import inspect
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from batches import assert_same
from gymnasium.wrappers import TimeLimit
from rollouts import IDS, every_env, make

pytest.importorskip("stable_baselines3")

from dynenvs.agents import make_sb3_vec_env
from dynenvs.agents.sb3 import WorldsVecEnv

COUNT = 3


def _made(name: str, **options: Any) -> tuple[Any, Any]:
    """The batch and stable-baselines3's own vector of single environments."""
    from stable_baselines3.common.vec_env import DummyVecEnv

    venv: Any = make_sb3_vec_env(name, COUNT, **options)
    assert isinstance(venv.venv, WorldsVecEnv)
    limit = options.pop("max_episode_steps", 1000)
    cls = type(make(name))  # without `gym.make`'s other wrappers, whose attributes are not ours
    return venv.venv, DummyVecEnv([lambda: TimeLimit(cls(**options), limit)] * COUNT)


@every_env
def test_equals_dummy_vec_env(name: str) -> None:
    """Observations, rewards, dones, infos and reset infos, over ends of both kinds."""
    venv, dummy = _made(name, max_episode_steps=40)
    assert venv.seed(9) == dummy.seed(9)
    assert_same(venv.reset(), dummy.reset())
    assert_same(tuple(venv.reset_infos), tuple(dummy.reset_infos))
    rng = np.random.default_rng(0)
    ends: set[bool] = set()
    for _ in range(120):
        actions = rng.uniform(-1, 1, (COUNT, *venv.action_space.shape)).astype(np.float32)
        found, expected = venv.step(actions), dummy.step(actions)
        assert_same(found[:3], expected[:3])
        assert_same(tuple(found[3]), tuple(expected[3]))
        assert_same(tuple(venv.reset_infos), tuple(dummy.reset_infos))
        ends |= {info["TimeLimit.truncated"] for i, info in enumerate(found[3]) if found[2][i]}
    assert ends
    # Seeds are used once
    assert_same(venv.reset(), dummy.reset())


@every_env
def test_attributes_methods_and_wrappers(name: str) -> None:
    """As stable-baselines3's own vectors, all worlds or some."""
    from stable_baselines3.common.monitor import Monitor

    venv, dummy = _made(name)
    venv.reset()
    for attribute in ("render_mode", "dt", "width", "spec"):
        assert venv.get_attr(attribute) == dummy.get_attr(attribute)
        assert venv.get_attr(attribute, 1) == dummy.get_attr(attribute, 1)
        assert venv.get_attr(attribute, [0, 2]) == dummy.get_attr(attribute, [0, 2])
    assert venv.has_attr("model")
    assert not venv.has_attr("nonsense")
    venv.set_attr("nickname", "one", indices=[1])
    assert venv.get_attr("nickname", 1) == ["one"]
    venv.set_attr("nickname", "all")
    assert venv.get_attr("nickname") == ["all"] * COUNT
    assert venv.env_is_wrapped(Monitor) == [False] * COUNT
    assert venv.env_is_wrapped(Monitor, indices=0) == [False]
    (state,) = venv.env_method("get_state", indices=2)
    venv.env_method("set_state", state, indices=[0, 1])
    observations = [env.worlds.observations[0] for env in venv.envs.envs]
    np.testing.assert_array_equal(observations[0], observations[2])
    np.testing.assert_array_equal(observations[1], observations[2])


@every_env
def test_pictures(name: str) -> None:
    """Each world's, and all tiled."""
    venv, dummy = _made(name, render_mode="rgb_array", width=128, height=64)
    for envs in (venv, dummy):
        envs.seed(1)
        envs.reset()
    assert venv.render_mode == "rgb_array"
    for one, other in zip(venv.get_images(), dummy.get_images(), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(venv.render(), dummy.render())
    venv.close()
    venv.close()
    plain, _ = _made(name)
    with pytest.warns(UserWarning, match="render_mode"):
        assert plain.get_images() == [None] * COUNT


def test_options_of_the_next_reset() -> None:
    """One for all, one a world, or for some worlds alone: the others draw theirs."""
    name = "dynenvs/PlanarHumanoid-v0"
    venv, dummy = _made(name)
    for options in (
        {"command": 0.5},
        [{"command": c} for c in (0.4, 0.6, 0.8)],
        [{}, {"command": 0.7}, {}],
    ):
        for envs in (venv, dummy):
            envs.seed(2)
            envs.set_options(options)
        assert_same(venv.reset(), dummy.reset())
        assert_same(tuple(venv.reset_infos), tuple(dummy.reset_infos))


@every_env
def test_maker(name: str) -> None:
    """Seeds, threads, options and mistakes."""
    one, other = (make_sb3_vec_env(name, 40, seed=5, num_threads=t) for t in (1, 2))
    np.testing.assert_array_equal(one.reset(), other.reset())
    np.testing.assert_array_equal(one.reset(), other.reset())
    with pytest.raises(ValueError, match="num_envs"):
        make_sb3_vec_env(name, 0)
    words = (
        r"^make_sb3_vec_env\(\) got an unexpected keyword argument '{}'; choose from: .*timestep"
    )
    for option in ("speling", "num_envs", "vectorization_mode", "autoreset_mode", "wrappers"):
        with pytest.raises(TypeError, match=words.format(option)):
            make_sb3_vec_env(name, 2, **{option: 1})
    with pytest.raises(ValueError, match="'CartPole-v1' has no vector environment of dynenvs"):
        make_sb3_vec_env("CartPole-v1", 2)
    envs: Any = gym.make_vec(name, num_envs=2)
    with pytest.raises(ValueError, match="SameStep"):
        WorldsVecEnv(envs)


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("algorithm", ["SAC", "TD3"])
def test_off_policy_algorithms_run(name: str, algorithm: str) -> None:
    """A few updates, with episodes' ends in the replay buffer."""
    import stable_baselines3

    venv = make_sb3_vec_env(name, 4, seed=0, max_episode_steps=12)
    model = getattr(stable_baselines3, algorithm)(
        "MlpPolicy", venv, learning_starts=100, batch_size=32, seed=0, device="cpu"
    )
    model.learn(240)
    assert len(model.ep_info_buffer) >= 8
    assert all(info["l"] <= 12 for info in model.ep_info_buffer)
    assert model.replay_buffer.timeouts.any()


def test_ppo_learns() -> None:
    """Three times the return of random actions after 16,000 steps, on a batch of 32."""
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.evaluation import evaluate_policy

    name = "dynenvs/PlanarHumanoid-v0"
    venv = make_sb3_vec_env(name, 32, seed=0)
    judge = make_sb3_vec_env(name, 32, seed=1000)
    model = PPO(
        "MlpPolicy",
        venv,
        n_steps=64,
        batch_size=512,
        n_epochs=5,
        learning_rate=1e-3,
        seed=0,
        device="cpu",
    )
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # small matrices: more threads only wait for each other
    try:
        before, _ = evaluate_policy(model, judge, n_eval_episodes=64, deterministic=False)
        model.learn(16_384)
        judge.seed(1000)
        after, _ = evaluate_policy(model, judge, n_eval_episodes=64, deterministic=False)
    finally:
        torch.set_num_threads(threads)
    assert after > 3 * before, (before, after)


def test_first_arguments_have_stable_baselines3s_names() -> None:
    """So that a call of `make_vec_env` becomes one of ours by the function's name alone."""
    from stable_baselines3.common.env_util import make_vec_env

    own, theirs = (list(inspect.signature(f).parameters) for f in (make_sb3_vec_env, make_vec_env))
    assert own[:3] == theirs[:3]


@pytest.mark.parametrize("name", ["wrapper_class", "vec_env_cls"])
def test_wrappers_of_single_environments_are_refused_with_what_works(name: str) -> None:
    """The line names three ways; each of them is an import that exists."""
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import VecEnvWrapper

    from dynenvs.envs import make_task

    with pytest.raises(TypeError, match=f"takes no {name}") as refused:
        make_sb3_vec_env("dynenvs/DoublePendulum-v0", 2, **{name: gym.Wrapper})
    for way in (make_task, VecEnvWrapper, make_vec_env):
        assert way.__name__ in str(refused.value)
    venv = make_vec_env("dynenvs/DoublePendulum-v0", 2, wrapper_class=gym.Wrapper)
    assert venv.env_is_wrapped(gym.Wrapper) == [True, True]
