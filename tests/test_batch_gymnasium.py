"""The native vector environments do what Gymnasium's SyncVectorEnv does with single ones."""

from __future__ import annotations

import json
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from batches import assert_same, make_batch, random_actions
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import DictInfoToList, RecordEpisodeStatistics
from rollouts import every_env, every_planar, make

from dynenvs.envs.core.base import DynEnv

every_mode = pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.value)


@every_env
@every_mode
def test_equals_gymnasiums_vector_environment(name: str, mode: AutoresetMode) -> None:
    """Observations, rewards, flags and infos with masks, in every bit, over many episodes."""
    count, steps = 5, 150
    # Short episodes: both kinds of end, at different times
    batch = make_batch(name, count, autoreset_mode=mode, max_episode_steps=40)
    counted_by_gymnasium = [lambda: gym.make(name, max_episode_steps=40)] * count
    singles = SyncVectorEnv(counted_by_gymnasium, autoreset_mode=mode)
    assert batch.metadata == {**singles.metadata, "render_modes": ["rgb_array"]}
    assert batch.observation_space == singles.observation_space
    assert batch.single_observation_space == singles.single_observation_space
    assert batch.action_space == singles.action_space
    assert_same(batch.reset(seed=7), singles.reset(seed=7))
    # Worlds out of step, so that some end while others go on
    late = {"reset_mask": np.arange(count) % 2 == 1}
    ends = 0
    for i, actions in enumerate(random_actions(batch, steps)):
        if i == 13:
            assert_same(batch.reset(options=dict(late)), singles.reset(options=dict(late)))
        found = batch.step(actions)
        assert_same(found, singles.step(actions), f"step {i}")
        over = found[2] | found[3]
        ends += int(over.sum())
        if mode is AutoresetMode.DISABLED and over.any():
            options = {"reset_mask": over}
            assert_same(batch.reset(options=options), singles.reset(options=dict(options)))
    assert ends >= 10
    seeds = [3, None, 5, 3, 2**70]
    assert_same(batch.reset(seed=seeds), singles.reset(seed=list(seeds)))
    assert_same(batch.step(actions), singles.step(actions))


@every_planar
def test_commands_for_every_world(name: str) -> None:
    """One for all, or an array with one a world; the next episode draws again."""
    batch = make_batch(name, 4, autoreset_mode="SameStep", max_episode_steps=3)
    low, high = batch.task.command_range  # type: ignore[attr-defined]
    commands = np.linspace(low, high, 4)
    observations, info = batch.reset(seed=1, options={"command": commands})
    np.testing.assert_array_equal(info["command"], commands)
    place = batch.task.observation_slices["command"]
    np.testing.assert_array_equal(observations[:, place][:, 0], commands)
    mask = np.array([True, False, False, True])
    info = batch.reset(options={"command": low, "reset_mask": mask})[1]
    np.testing.assert_array_equal(info["_command"], mask)
    np.testing.assert_array_equal(info["command"], [low, 0, 0, low])
    for _ in range(3):
        *_, info = batch.step(np.zeros(batch.action_space.shape, np.float32))
    np.testing.assert_array_equal(info["final_info"]["command"][mask], low)
    assert np.all(info["command"][mask] != low)


@every_planar
def test_commands_in_mid_episode(name: str) -> None:
    """One for all or each its own, as single environments would follow them, bit for bit."""
    batch: Any = make_batch(name, 3)
    low, high = batch.task.command_range
    batch.reset(seed=1)
    singles: list[Any] = [make(name) for _ in range(3)]
    for i, single in enumerate(singles):
        single.reset(seed=1 + i)
    action = random_actions(batch, 1)[0]
    for commands in (np.linspace(low, high, 3), 0.5 * (low + high)):
        batch.set_command(commands)
        observations, *_, infos = batch.step(action)
        np.testing.assert_array_equal(infos["command"], np.broadcast_to(commands, 3))
        for i, single in enumerate(singles):
            single.set_command(float(np.broadcast_to(commands, 3)[i]))
            np.testing.assert_array_equal(single.step(action[i])[0], observations[i])
    assert np.ptp(batch.reset()[1]["command"]) > 0.0


@every_env
def test_results_are_the_callers_own(name: str) -> None:
    """Old results never change, and changing them changes nothing."""
    batch, twin = make_batch(name, 3), make_batch(name, 3)
    for envs in (batch, twin):
        envs.reset(seed=0)
    actions = random_actions(batch, 30)
    kept = []
    for action in actions:
        result = batch.step(action)
        kept.append((result, [np.copy(part) for part in result[:4]], dict(result[4])))
        spoiled = twin.step(action)
        assert_same(spoiled, result)
        for part in (*spoiled[:4], *spoiled[4].values()):
            part[...] = 1
    for result, parts, _ in kept:
        assert_same(result[:4], tuple(parts))


@every_env
def test_make_vec(name: str) -> None:
    """`gym.make_vec` takes it without a warning; its spec is JSON and makes the same again."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        envs = gym.make_vec(name, num_envs=3, num_threads=2, reset_noise=0.02)
    spec = envs.spec
    assert spec is not None
    assert json.loads(spec.to_json())["kwargs"]["reset_noise"] == 0.02
    again = gym.make_vec(gym.envs.registration.EnvSpec.from_json(spec.to_json()))
    assert again.num_envs == 3
    assert_same(again.reset(seed=1), envs.reset(seed=1))
    assert repr(envs) == f"{type(envs).__name__}({name}, num_envs=3)"
    if hasattr(envs, "worlds"):
        task = type(envs.task).__name__
        assert repr(envs.worlds) == f"<TaskWorlds: 3 of {task}, threads=1>"  # of so few
    envs.close()
    envs.close()
    assert envs.closed
    for use in (envs.reset, envs.render, lambda: envs.step(envs.action_space.sample())):
        with pytest.raises(gym.error.ClosedEnvironmentError, match="after close"):
            use()


@every_env
def test_gymnasiums_vector_wrappers(name: str) -> None:
    """Episode statistics and infos as lists."""
    envs: Any = RecordEpisodeStatistics(make_batch(name, 4, max_episode_steps=20))
    wrapped = DictInfoToList(envs)
    wrapped.reset(seed=0)
    lengths = []
    for actions in random_actions(envs.unwrapped, 60):
        *_, infos = wrapped.step(actions)
        assert all({"torques", "residual"} <= set(info) for info in infos)
        lengths += [info["episode"]["l"] for info in infos if "episode" in info]
    assert len(lengths) >= 8
    assert max(lengths) <= 20


@every_env
def test_worlds_as_single_environments(name: str) -> None:
    """`envs`, `call`, `get_attr` and `set_attr`, as Gymnasium's vector environments have them."""
    batch = make_batch(name, 3)
    batch.reset(seed=4)
    assert all(isinstance(env, batch.env_type) for env in batch.envs)
    assert batch.get_attr("dt") == (batch.task.dt,) * 3
    batch.set_attr("nickname", ["a", "b", "c"])
    assert batch.get_attr("nickname") == ("a", "b", "c")
    batch.set_attr("nickname", "d")
    assert batch.call("nickname") == ("d",) * 3
    assert [len(state) for state in batch.call("get_state")] == [2] * 3
    with pytest.raises(ValueError, match="nickname"):
        batch.set_attr("nickname", ["a"])
    with pytest.raises(AttributeError):
        batch.get_attr("nonsense")
    # Stepping one of them is stepping that world
    twin = make(name)
    twin.reset(seed=5)
    action = random_actions(batch, 1)[0][1]
    assert isinstance(batch.envs[1], DynEnv)
    assert_same(batch.envs[1].step(action), twin.step(action))
    np.testing.assert_array_equal(batch.worlds.observations[1], twin.worlds.observations[0])


@pytest.mark.thorough
@every_env
def test_pictures(name: str) -> None:
    """A tuple with the picture that each world's single environment gives."""
    options = {"render_mode": "rgb_array", "width": 160, "height": 96}
    batch = make_batch(name, 3, **options)
    batch.reset(seed=2)
    pictures = batch.render()
    assert isinstance(pictures, tuple)
    for i, picture in enumerate(pictures):
        single = type(make(name))(**options)
        single.reset(seed=2 + i)
        np.testing.assert_array_equal(picture, single.render())
        single.close()
    batch.close()
    plain = make_batch(name, 2)
    plain.reset(seed=0)
    with pytest.warns(UserWarning, match="render_mode"):
        assert plain.render() is None
