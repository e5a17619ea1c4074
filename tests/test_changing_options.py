"""Options that change under way: as worlds that were made with the new values, or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from batches import make_batch, random_actions, worlds_bits
from rollouts import make

QUADRUPED, PLANAR, PENDULUM = (
    f"dynenvs/{name}-v0" for name in ("Quadruped", "PlanarQuadruped", "DoublePendulum")
)
HARD: dict[str, Any] = {"push_impulse": 15.0, "push_interval": 0.1, "action_noise": 0.1}
EASY: dict[str, Any] = {"push_impulse": 1.0, "forward_range": (0.2, 0.3), "action_noise": 0.02}


def test_worlds_go_on_as_those_that_were_made_with_the_new_values() -> None:
    changed = make_batch(QUADRUPED, 3, **HARD)
    made = make_batch(QUADRUPED, 3, **(HARD | EASY))
    changed.change_options(**EASY)
    actions = random_actions(made, 30)
    results = []
    for envs in (changed, made):
        rows = [worlds_bits(envs.reset(seed=5), 3)]
        rows += [worlds_bits(envs.step(action), 3) for action in actions]
        results.append(rows)
    assert results[0] == results[1]
    envs = make_batch(QUADRUPED, 3, **HARD)
    assert [worlds_bits(envs.reset(seed=5), 3)] != results[0][:1]  # other commands


def test_a_change_acts_within_an_episode() -> None:
    still, pushed = (make(QUADRUPED, **HARD) for _ in range(2))
    for env in (still, pushed):
        env.reset(seed=1)
        env.change_options(push_impulse=0.0, action_noise=0.0)
    pushed.change_options(push_impulse=50.0)
    action = np.zeros(still.action_space.shape, np.float32)
    for _ in range(11):
        after = [env.step(action)[0] for env in (still, pushed)]
    assert np.abs(after[1] - after[0]).max() > 0.1


def test_noise_may_end_and_come_back() -> None:
    env = make(QUADRUPED, observation_noise=1.0)
    action = np.zeros(env.action_space.shape, np.float32)
    env.reset(seed=2)
    for scale in (0.0, 1.0, 0.0):
        env.change_options(observation_noise=scale)
        observation, *_, info = env.step(action)
        assert (np.abs(observation - info["privileged"]).max() == 0.0) == (scale == 0.0)
        assert info["privileged"].any()


def test_rewards_and_what_the_shell_says_follow() -> None:
    env = make(PLANAR)
    env.reset(seed=0)
    term = next(iter(env.task.reward_weights or {}))
    before = env.get_state()
    action = np.zeros(env.action_space.shape, np.float32)
    _, plain, *_ = env.step(action)
    env.set_state(before)
    env.change_options(reward_weights={term: 100.0})
    _, weighted, *_ = env.step(action)
    assert weighted != plain
    assert env.task.reward_weights is not None
    assert env.task.reward_weights[term] == 100.0


@pytest.mark.parametrize(
    ("name", "own", "options", "words"),
    [
        (QUADRUPED, {}, {"terrain": "rough"}, "another robot or ground"),
        (QUADRUPED, {}, {"timestep": 0.001}, "timestep"),
        (QUADRUPED, {}, {"action_noise": 0.1}, "made without"),
        (PENDULUM, {"action_noise": 0.1}, {"observation_noise": 1.0}, "observed otherwise"),
        (PENDULUM, {}, {"max_episode_steps": 7}, "max_episode_steps"),
        (QUADRUPED, {}, {"gait_frequency": (1.0, 0.3)}, "gait_frequency"),
        (QUADRUPED, {}, {"forward_range": (0.0, 2.9)}, "observed otherwise"),
        (QUADRUPED, {}, {"push_impulse": -1.0}, "push_impulse must be"),
    ],
)
def test_what_shapes_the_worlds_is_refused_and_nothing_changes(
    name: str, own: dict[str, Any], options: dict[str, Any], words: str
) -> None:
    envs = make_batch(name, 2, **own)
    before = {k: v for k, v in vars(envs.task).items() if isinstance(v, float | str | tuple)}
    with pytest.raises(ValueError, match=words):
        envs.change_options(**options)
    assert before == {k: vars(envs.task)[k] for k in before}


def test_an_unknown_option_is_named() -> None:
    with pytest.raises(TypeError, match="push_impuls"):
        make(QUADRUPED).change_options(push_impuls=1.0)
