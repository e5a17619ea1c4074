"""The trainers' settings, and what a learner sees of rewards: bells widened at first."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from learning import PENDULUM
from rollouts import IDS

pytest.importorskip("stable_baselines3")

from dynenvs.agents.learn.rewards import NARROW, Rewards, power_at
from dynenvs.agents.learn.settings import load_settings, parse_change
from dynenvs.agents.sb3 import make_sb3_vec_env


def test_rewards_are_shaped() -> None:
    """Scale times reward to the power; the rewards beneath are the environment's."""
    plain, shaped = make_sb3_vec_env(PENDULUM, 3), Rewards(make_sb3_vec_env(PENDULUM, 3), 0.1)
    shaped.power = 0.25
    for envs in (plain, shaped):
        envs.seed(5)
        envs.reset()
    generator = np.random.default_rng(0)
    for _ in range(20):
        action = generator.uniform(-1.0, 1.0, (3, 2)).astype(np.float32)
        raw, seen = plain.step(action)[1], shaped.step(action)[1]
        np.testing.assert_allclose(seen, 0.1 * raw**0.25, rtol=1e-6)
    assert shaped.seconds > 0.0


def test_rewards_below_zero_stay_below_zero() -> None:
    """An environment of one's own may punish: nothing is cut off, and a power of 1 is none."""
    shaped = Rewards(make_sb3_vec_env(PENDULUM, 2), 0.5)
    raw = np.array([-4.0, 9.0], np.float32)
    shaped.venv.step_wait = lambda: (None, raw, None, None)  # type: ignore[method-assign]
    np.testing.assert_array_equal(shaped.step_wait()[1], 0.5 * raw)
    shaped.power = 0.5
    np.testing.assert_allclose(shaped.step_wait()[1], [-1.0, 1.5])


def test_the_power_rises_to_one() -> None:
    """Linearly, from the setting to 1 at half the run, then no further."""
    assert power_at(0.0, 0.2) == 0.2
    assert power_at(0.5 * NARROW, 0.2) == pytest.approx(0.6)
    assert power_at(NARROW, 0.2) == power_at(1.0, 0.2) == 1.0
    assert power_at(0.1, 1.0) == 1.0


def test_who_goes_on_from_a_policy_sees_rewards_as_they_are() -> None:
    """`refine` stands over the environment's entry, and what the user says over that."""
    fresh = load_settings("ppo", "dynenvs/Humanoid-v0")
    refined = load_settings("ppo", "dynenvs/Humanoid-v0", refine=True)
    assert fresh["reward_power"] < 1.0 == refined["reward_power"]
    assert refined["n_timesteps"] < fresh["n_timesteps"]
    changes = {"n_timesteps": 7}
    assert load_settings("ppo", PENDULUM, changes, refine=True)["n_timesteps"] == 7
    own = load_settings("ppo", "dynenvs/PlanarQuadruped-v0", refine=True)
    assert own["least_spread"] > refined["least_spread"] > 0.0
    assert load_settings("sac", PENDULUM, refine=True) == load_settings("sac", PENDULUM)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"learning_speed": 1.0}, "ppo has no setting 'learning_speed'; choose from: .*n_epochs"),
        ({"policy_kwargs.net_arc": [8]}, "the policy of ppo has no setting 'net_arc'; .*net_arch"),
        ({"policy_kwargs.optimizer_kwargs.eps": 1e-5}, "no setting 'optimizer_kwargs.eps'"),
        ({"policy_kwargs": 3}, "settings must be names with values, got 3"),
        ({"n_envs": 0}, "n_envs"),
        ({"n_steps": "foo"}, "n_steps must be a whole number, got 'foo'"),
        ({"n_steps": 1.5}, "n_steps must be a whole number, got 1.5"),
        ({"batch_size": True}, "batch_size must be a whole number, got True"),
        ({"gae_lambda": float("inf")}, "gae_lambda must be a number, got inf"),
        ({"reward_power": "x"}, "reward_power must be a number, got 'x'"),
    ],
)
def test_unknown_and_impossible_settings(changes: dict[str, Any], message: str) -> None:
    """What is wrong, and what would be right."""
    with pytest.raises(ValueError, match=message):
        load_settings("ppo", PENDULUM, changes)


# Files of settings that are none, or absurd; "{}" stands for an entry that could be trained with
LAUGHS = "\n".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]" for a, b in pairwise("abcdefghij"))
BROKEN = {
    "a number": "ppo: 3",
    "a list": "ppo: [1]",
    "nothing": "ppo:",
    "an entry that is a number": "ppo: {default: 3}",
    "an entry that is nothing": "ppo: {default: }",
    "refined by a number": "ppo: {refine: {default: 3}, default: {}}",
    "nested": "ppo: {default: {n_envs: 1, n_timesteps: 1, gamma: " + "[" * 3000 + "]" * 3000 + "}}",
    "a policy of words": "ppo: {default: {n_envs: 1, n_timesteps: 1, policy_kwargs: abc}}",
    "without end": "ppo: {default: {n_envs: .inf, n_timesteps: 1}}",
    "no number": "ppo: {default: {n_envs: .nan, n_timesteps: 1}}",
    "laughs": f"a: &a [x]\n{LAUGHS}\nppo: {{default: {{n_envs: *j, n_timesteps: 1}}}}",
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_file_of_no_settings_is_refused_in_a_line(case: str, tmp_path: Path) -> None:
    file = tmp_path / "settings.yml"
    file.write_text(BROKEN[case], encoding="utf-8")
    with pytest.raises(ValueError, match=r"has no settings of ppo|must be") as caught:
        load_settings("ppo", PENDULUM, file=file)
    assert len(str(caught.value)) < 300
    assert len(str(caught.value).splitlines()) == 1


def test_bytes_are_no_settings(tmp_path: Path) -> None:
    file = tmp_path / "settings.yml"
    file.write_bytes(b"\xff\xfe\0")
    with pytest.raises(ValueError, match=r"settings\.yml' has no settings of ppo"):
        load_settings("ppo", PENDULUM, file=file)


def test_a_change_that_is_nested_without_end_is_refused() -> None:
    with pytest.raises(ValueError, match="a setting is name=value"):
        parse_change("gamma=" + "[" * 3000)


@pytest.mark.parametrize("algorithm", ["ppo", "sac"])
def test_settings_of_every_environment_are_known(algorithm: str) -> None:
    for name in IDS:
        assert load_settings(algorithm, name)["policy_kwargs"]["net_arch"]
