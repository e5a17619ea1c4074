"""Rewards are sums of named terms whose weights are options."""

from __future__ import annotations

import re
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from dynenvs.registration import ENVIRONMENTS

NAMES = list(ENVIRONMENTS)
STEPS = 12


def made(name: str, **options: Any) -> Any:
    return gym.make(name, **options).unwrapped


def earned(env: Any) -> tuple[np.ndarray[Any, Any], dict[str, np.ndarray[Any, Any]]]:
    """Rewards and terms of the same random steps."""
    env.reset(seed=3)
    env.action_space.seed(3)
    rewards, terms = [], []
    for _ in range(STEPS):
        _, reward, terminated, truncated, info = env.step(env.action_space.sample())
        rewards.append(reward)
        terms.append([info[f"reward_{term.name}"] for term in env.task.reward_terms])
        if terminated or truncated:
            env.reset()
    columns = np.array(terms).T
    return np.array(rewards), {
        term.name: column for term, column in zip(env.task.reward_terms, columns, strict=True)
    }


@pytest.mark.parametrize("name", NAMES)
def test_the_reward_is_the_sum_of_its_weighted_terms(name: str) -> None:
    """Doubled, a term doubles and the others stay; at zero it is gone.  Exactly so: powers of 2."""
    env = made(name)
    rewards, terms = earned(env)
    assert (rewards > 0.0).any()
    assert env.task.reward_weights == {term.name: term.weight for term in env.task.reward_terms}
    assert sum(env.task.reward_weights.values()) == pytest.approx(1.0)
    in_order = list(terms.values())
    total = in_order[0]
    for column in in_order[1:]:
        total = total + column
    np.testing.assert_array_equal(rewards, total)
    for chosen, weight in env.task.reward_weights.items():
        for factor in (0.0, 2.0, -1.0):
            weights = {chosen: factor * weight}
            others, changed = earned(made(name, reward_weights=weights))
            for term, column in changed.items():
                expected = terms[term] * factor if term == chosen else terms[term]
                np.testing.assert_array_equal(column, expected)
            np.testing.assert_allclose(others, sum(changed.values()), atol=1e-15)


@pytest.mark.parametrize("name", NAMES)
def test_all_default_weights_given_are_the_same_bits(name: str) -> None:
    env = made(name)
    rewards, _ = earned(env)
    given = {term.name: term.weight for term in env.task.reward_terms}
    same, _ = earned(made(name, reward_weights=given))
    np.testing.assert_array_equal(rewards, same)


@pytest.mark.parametrize("name", NAMES)
def test_batches_take_weights_too(name: str) -> None:
    weights = {made(name).task.reward_terms[0].name: 3.0, "ease": 0.0}
    single = made(name, reward_weights=weights)
    envs: Any = gym.make_vec(name, num_envs=3, reward_weights=weights)
    envs.reset(seed=5)
    single.reset(seed=5)
    assert envs.unwrapped.task.reward_weights == single.task.reward_weights
    for k in range(4):
        actions = np.random.default_rng(k).uniform(-1, 1, envs.action_space.shape)
        _, rewards, ended, _, infos = envs.step(actions)
        _, reward, *_ = single.step(actions[0])
        assert rewards[0] == reward
        assert not infos["reward_ease"].any()
        if ended[0]:
            break


@pytest.mark.parametrize("name", NAMES)
def test_docstrings_say_the_weights(name: str) -> None:
    env = made(name)
    told = re.findall(r"- `reward_(\w+)` = ([\d.]+) ", type(env).__doc__ or "")
    terms = env.task.reward_terms
    assert told == [(term.name, f"{term.weight:g}") for term in terms]
    assert "`reward_weights` = None" in (type(env).__doc__ or "")


def test_wrong_weights_are_refused() -> None:
    name = "dynenvs/PlanarHumanoid-v0"
    choices = "unknown reward term 'speed'; choose from: velocity, ease, height"
    with pytest.raises(ValueError, match=choices):
        made(name, reward_weights={"speed": 1.0})
    with pytest.raises(ValueError, match=choices):
        gym.make_vec(name, num_envs=2, reward_weights={"speed": 1.0})
    for wrong in (np.nan, np.inf, 1e4, "1", None, True):
        with pytest.raises(ValueError, match=r"reward_weights\['ease'\] must be a number in \["):
            made(name, reward_weights={"ease": wrong})
    with pytest.raises(ValueError, match=r"reward_weights must be a dict, such as \{.velocity"):
        made(name, reward_weights=[1.0, 0.0, 0.0])


def test_weights_survive_copies_of_the_environment() -> None:
    """`spec` makes the same environment again; the user's dict is left alone."""
    weights = {"ease": 0.4}
    env = gym.make("dynenvs/PlanarHumanoid-v0", reward_weights=weights)
    assert weights == {"ease": 0.4}
    assert env.spec is not None
    again: Any = gym.make(env.spec).unwrapped
    weights = {
        "velocity": 0.8,
        "ease": 0.4,
        "height": 0.1,
        "rhythm": 0.0,
        "slip": 0.0,
        "smoothness": 0.0,
    }
    assert again.task.reward_weights == weights
    assert '"reward_weights": {"ease": 0.4}' in env.spec.to_json()
