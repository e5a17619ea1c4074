"""One limit of episodes, however the environment is made: when they end, and what is said of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from batches import make_batch
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import RecordEpisodeStatistics, TimeAwareObservation
from rollouts import every_env, every_walker, hold, idle, make

from dynenvs.agents.evaluation.episode import make as make_counting
from dynenvs.agents.evaluation.episode import run_episode
from dynenvs.agents.evaluation.rollout import run_all
from dynenvs.agents.experts.reference import reference_controller
from dynenvs.envs.core.base import DynEnv

PENDULUM = "dynenvs/DoublePendulum-v0"
LONG = 2100  # more steps than any limit below


def _json_spec(**options: Any) -> EnvSpec:
    """What a spec with these options is after a journey through JSON."""
    spec = gym.make(PENDULUM, **options).spec
    assert spec is not None
    return EnvSpec.from_json(spec.to_json())


def _sb3(**options: Any) -> Any:
    pytest.importorskip("stable_baselines3")
    from dynenvs.agents import make_sb3_vec_env

    return make_sb3_vec_env(PENDULUM, 2, **options)


MAKERS: dict[str, Callable[..., Any]] = {
    "make": lambda **o: gym.make(PENDULUM, **o),
    "make_vec": lambda **o: gym.make_vec(PENDULUM, num_envs=2, **o),
    "sync": lambda **o: gym.make_vec(PENDULUM, num_envs=2, vectorization_mode="sync", **o),
    "spec": lambda **o: gym.make(_json_spec(**o)),
    "spec, make_vec": lambda **o: gym.make_vec(_json_spec(**o), num_envs=2),
    "spec, sync": lambda **o: gym.make_vec(_json_spec(**o), num_envs=2, vectorization_mode="sync"),
    "sb3": _sb3,
    "command line": lambda **o: make_counting(PENDULUM, **o),
}


def _lengths(envs: Any) -> list[int]:
    """Lengths of two episodes in a row, of the first world; those that end within LONG steps."""
    envs.reset(**({} if hasattr(envs, "env_is_wrapped") else {"seed": 0}))
    single = not hasattr(envs, "num_envs")
    action = np.zeros(envs.action_space.shape, np.float32)
    if hasattr(envs, "env_is_wrapped"):
        action = np.zeros((envs.num_envs, *action.shape), np.float32)
    lengths, steps, begins = [], 0, False
    for _ in range(LONG):
        result = envs.step(action)
        steps += not begins  # in mode "NextStep" the step after an end only begins an episode
        over = bool(np.any(result[2]) or (len(result) == 5 and np.any(result[3])))
        begins = over and not single and len(result) == 5
        if over:
            lengths.append(steps)
            steps = 0
            if single:
                envs.reset()
        if len(lengths) == 2:
            break
    envs.close()
    return lengths


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize(
    ("options", "lengths"),
    [
        ({}, [1000, 1000]),
        ({"max_episode_steps": None}, [1000, 1000]),
        ({"max_episode_steps": 2000}, [2000]),
        ({"max_episode_steps": 50}, [50, 50]),
        ({"max_episode_steps": 7, "frame_skip": 3, "timestep": 0.004}, [7, 7]),
        ({"max_episode_steps": -1}, []),
    ],
    ids=str,
)
def test_every_maker_lets_every_limit_through(
    maker: str, options: dict[str, Any], lengths: list[int]
) -> None:
    """Larger, smaller, none, and the registered one; control steps, whatever they are long."""
    assert _lengths(MAKERS[maker](**options)) == lengths


def test_processes_of_gymnasium() -> None:
    """The same in mode "async"."""
    options: Any = {"vectorization_mode": "async", "max_episode_steps": 5}
    assert _lengths(gym.make_vec(PENDULUM, num_envs=2, **options)) == [5, 5]


@every_env
def test_classes_have_no_limit_of_their_own(name: str) -> None:
    """As Gymnasium's own classes, so that a TimeLimit wrapper may set any; None is 1,000."""
    kind: Any = type(make(name))
    assert kind().task.max_episode_steps == -1
    assert kind(max_episode_steps=None).task.max_episode_steps == 1000
    assert kind(max_episode_steps=3).task.max_episode_steps == 3


@every_env
def test_registered_limit(name: str) -> None:
    """1,000 in every spec; the environment's own is that which it really has."""
    assert gym.spec(name).max_episode_steps == 1000
    assert gym.make(name).spec.max_episode_steps == 1000  # type: ignore[union-attr]
    for steps in (2000, 50):
        for made in (
            gym.make(name, max_episode_steps=steps),
            gym.make_vec(name, num_envs=2, max_episode_steps=steps),
        ):
            assert made.spec is not None
            assert json.loads(made.spec.to_json())["max_episode_steps"] == steps
    for made in (gym.make(name, max_episode_steps=-1), gym.make_vec(name, max_episode_steps=-1)):
        assert made.spec is not None
        assert made.spec.max_episode_steps is None


@every_env
def test_default_episode_has_1000_steps(name: str) -> None:
    """Through `gym.make`; a time limit leaves `info` without a word, reset begins anew."""
    env = gym.make(name)
    inner = env.unwrapped
    assert isinstance(inner, DynEnv)
    env.reset(seed=0)
    for i in range(1000):
        _, _, terminated, truncated, info = env.step(hold(inner, i))
        assert not terminated, (i, info)
        assert truncated == (i == 999)
    assert "end" not in info
    env.reset()
    assert not any(env.step(idle(inner, 0))[2:4])


@every_walker
def test_a_fall_at_the_very_limit_is_both(name: str) -> None:
    """Terminated and truncated, whoever counts the steps, and `info` says that it is a fall."""
    env = make(name)
    env.reset(seed=0)
    steps, fell = 0, False
    while not fell:
        fell = env.step(idle(env, 0))[2]
        steps += 1
    singles = (make(name, max_episode_steps=steps), gym.make(name, max_episode_steps=steps))
    for single in singles:
        single.reset(seed=0)
        for _ in range(steps):
            *_, terminated, truncated, info = single.step(idle(env, 0))
        assert (terminated, truncated, info["end"]) == (True, True, "fall")
    for mode in AutoresetMode:
        batch = make_batch(name, 2, autoreset_mode=mode, max_episode_steps=steps)
        batch.reset(seed=[0, 0])
        for _ in range(steps):
            *_, ended, cut, infos = batch.step(np.zeros(batch.action_space.shape, np.float32))
        assert ended.all()
        assert cut.all()
        told = infos["final_info"] if mode is AutoresetMode.SAME_STEP else infos
        assert told["end"].tolist() == ["fall"] * 2
    # A step earlier it is the limit alone
    batch = make_batch(name, 2, max_episode_steps=steps - 1)
    batch.reset(seed=[0, 0])
    for _ in range(steps - 1):
        *_, ended, cut, infos = batch.step(np.zeros(batch.action_space.shape, np.float32))
    assert not ended.any()
    assert cut.all()
    assert "end" not in infos


@every_env
def test_wrappers_that_ask_for_the_limit(name: str) -> None:
    """TimeAwareObservation and RecordEpisodeStatistics, over a TimeLimit of any length."""
    for steps in (20, 1500):
        env = gym.make(name, max_episode_steps=steps)
        aware = TimeAwareObservation(RecordEpisodeStatistics(env), normalize_time=False)
        aware.reset(seed=0)
        assert aware.observation_space.high[-1] == steps  # type: ignore[attr-defined]
    env = TimeAwareObservation(RecordEpisodeStatistics(gym.make(name, max_episode_steps=6)))
    env.reset(seed=0)
    for i in range(6):
        observation, _, _, truncated, info = env.step(np.zeros(env.action_space.shape, np.float32))
        assert observation[-1] == i + 1
    assert truncated
    assert info["episode"]["l"] == 6


@pytest.mark.parametrize("value", [0, -5, 2.5, "many", True, float("nan"), [3, 4]], ids=str)
def test_wrong_limits_are_refused_by_name(value: Any) -> None:
    """A ValueError; `gym.make`'s TimeLimit has its own words, and TypeErrors."""
    rule = r"max_episode_steps must be a whole number in \[1, 1000000000\], got .*-1 sets no limit"
    for maker in (type(make(PENDULUM)), MAKERS["make_vec"], MAKERS["sb3"]):
        with pytest.raises(ValueError, match=rule):
            maker(max_episode_steps=value)
    if value is not True:  # an int to Gymnasium
        with pytest.raises((ValueError, TypeError), match="max_episode_steps"):
            gym.make(PENDULUM, max_episode_steps=value)


def test_no_episode_is_recorded_that_might_never_end() -> None:
    """Recording needs a limit: the environment's or the caller's."""
    env = make_counting(PENDULUM, max_episode_steps=-1)
    expert = reference_controller(env)
    with pytest.raises(ValueError, match="without a limit"):
        run_episode(env, expert, seed=0)
    assert run_episode(env, expert, seed=0, max_steps=9).steps == 9
    batch = make_batch(PENDULUM, 2, max_episode_steps=-1)
    with pytest.raises(ValueError, match="without a limit"):
        run_all(batch, expert, [0, 1])
    short = make_counting(PENDULUM, max_episode_steps=8)
    assert run_episode(short, expert, seed=0, max_steps=9).end == "time limit"
