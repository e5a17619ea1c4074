"""A policy drives environments beside the time that is measured."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from studies.bench import driven, race
from studies.bench.driven import FILE, Driven, policy
from studies.bench.identical import NAMES
from studies.bench.race import Settings, System


class Counter:
    """Two worlds whose observations are the number of steps; it keeps the actions."""

    def __init__(self) -> None:
        self.given: list[Any] = []

    def reset(self) -> tuple[Any, dict[str, Any]]:
        return np.zeros((2, 1)), {}

    def step(self, actions: Any) -> tuple[Any, Any]:
        self.given.append(actions)
        return np.full((2, 1), float(len(self.given))), np.ones(2)


def test_controls_are_linear_within_the_motors_range(monkeypatch: pytest.MonkeyPatch) -> None:
    """By hand: 2 (0.5 (t - 1)), within -2 and 2."""
    monkeypatch.setattr(driven, "policy", lambda name: (np.array([[0.5]]), np.array([1.0])))
    envs = Counter()
    one = Driven(envs, gym.spaces.Box(-2.0, 2.0, (1,)), "any")
    one.run(6)
    np.testing.assert_array_equal([a[0, 0] for a in envs.given], [-1.0, 0.0, 1.0, 2.0, 2.0, 2.0])
    assert (one.rewards, one.steps) == (12.0, 12)
    assert one.spent()[0] > 0.0


def test_time_spent_aside_is_taken_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of ten calls' 1 s (0.8 of a processor), 0.6 s (0.6) are the policy's: 10 calls in 0.4 s."""
    spent = np.zeros(2)

    def run(count: int) -> None:
        spent[:] += 0.06 * count

    def timed(call: Any, count: int) -> tuple[float, float]:
        call(count)
        return 0.1 * count, 0.08 * count

    monkeypatch.setattr(race, "timed", timed)
    monkeypatch.setattr(race, "calibrate", lambda call, seconds: 10)
    system = System(run, aside=lambda: (float(spent[0]), float(spent[1])))
    (row,) = race.take_turns({"one": system}, Settings(2, 0.1, True), lambda what: None, {})
    assert row.samples == pytest.approx([25.0, 25.0])
    assert row.cores == pytest.approx([0.5, 0.5])


def test_policies_are_small_and_fit_their_tasks() -> None:
    """All of them in less than 100 kB, of the sizes of Gymnasium's spaces."""
    pytest.importorskip("mujoco")
    assert FILE.stat().st_size < 100_000
    for name in NAMES:
        env: Any = gym.make(name)
        gain, mean = policy(name)
        assert gain.shape == env.action_space.shape + env.observation_space.shape
        assert mean.shape == env.observation_space.shape
        assert np.isfinite(gain).all()
        assert np.isfinite(mean).all()
        env.close()


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
def test_policies_earn_more_than_random_actions(name: str) -> None:
    """In dynenvs' environments, by a wide margin: in one episode's first steps."""
    pytest.importorskip("mujoco")
    earned = []
    for trained in (True, False):
        envs: Any = gym.make_vec(f"dynenvs/Mujoco{name}", 16)
        envs.reset(seed=0)
        space = envs.unwrapped.single_action_space
        driver = Driven(envs, space, name)
        if not trained:
            rng = np.random.default_rng(0)
            shape = (16, *space.shape)
            driver.act = lambda: np.float32(rng.uniform(space.low, space.high, shape))  # type: ignore[method-assign] # noqa: B023
        driver.run(150)
        earned.append(driver.rewards / driver.steps)
    assert earned[0] > earned[1] + 0.3
