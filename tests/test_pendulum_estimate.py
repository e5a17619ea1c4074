"""The pendulums' experts under noise: what they feel of it, and what it leaves of the return."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from batches import make_batch

from dynenvs.agents.evaluation.evaluate import evaluate
from dynenvs.agents.experts.pendulum.estimate import HEAD
from dynenvs.agents.experts.reference import reference_controller
from dynenvs.envs.core.vector import DynVectorEnv

DOUBLE, CHAIN = "dynenvs/DoublePendulum-v0", "dynenvs/ChainPendulum-v0"


def walk(envs: DynVectorEnv, steps: int) -> tuple[Any, Any]:
    """The state that the expert has carried at last, and the last true observations."""
    expert, state = reference_controller(envs), None
    seen, infos = envs.reset(seed=0)
    for _ in range(steps):
        action, state = expert.predict(seen, state)
        seen, _, _, _, infos = envs.step(action)
    return state, infos.get("privileged", seen)


@pytest.mark.parametrize("name", [DOUBLE, CHAIN])
@pytest.mark.parametrize("scale", [0.25, 1.0])
def test_the_noise_is_felt_as_large_as_it_is(name: str, scale: float) -> None:
    state, _ = walk(make_batch(name, 8, observation_noise=scale), 60)
    assert np.sqrt(state[:, 1].mean()) == pytest.approx(scale, rel=0.15)


@pytest.mark.parametrize("name", [DOUBLE, CHAIN])
def test_clean_sensors_are_taken_at_their_word(name: str) -> None:
    """Torque noise, a delay and weak motors are no noise of sensors."""
    options: dict[str, Any] = {
        "action_noise": 0.1,
        "action_delay": 1,
        "motor_strength_range": (0.8, 1.0),
    }
    state, _ = walk(make_batch(name, 8, **options), 60)
    assert np.sqrt(state[:, 1]).max() < 0.05


@pytest.mark.parametrize(
    ("name", "options"),
    [
        (DOUBLE, {"timestep": 0.02, "frame_skip": 50}),
        (CHAIN, {"timestep": 0.02, "frame_skip": 50}),
        (CHAIN, {"observation_noise": 100.0}),
    ],
)
def test_what_runs_away_is_forgotten(name: str, options: dict[str, Any]) -> None:
    """Of long steps, or from wild readings; the expert then acts as one that has just begun."""
    envs = make_batch(name, 8, **options)
    expert, state, forgot = reference_controller(envs), None, 0
    seen, _ = envs.reset(seed=0)
    for _ in range(30):
        fresh, _ = expert.predict(seen)
        action, after = expert.predict(seen, state)
        assert np.isfinite(after).all()
        if state is not None:
            begun = state[:, 0] == 0.0
            np.testing.assert_array_equal(action[begun], fresh[begun])
            forgot += int(begun.sum())
        state = after
        seen, _, _, _, _ = envs.step(action)
    assert forgot > 0


def test_a_level_chain_in_the_wall_is_foreseen_too() -> None:
    """All hinges lie right behind the tip: no force on the tip turns any (0 / 0 before)."""
    envs = make_batch(CHAIN, 1, links=2, surface="wall", num_threads=1)
    expert = reference_controller(envs)
    for seed in range(8):
        seen, _ = envs.reset(seed=seed)
        seen[0, :2] = np.pi / 2, 0.0
        seen[0, 2:4] = -np.random.default_rng(seed).uniform(0.1, 1.0, 2)
        _, state = expert.predict(seen)
        assert np.isfinite(state).all()
        assert state[0, 0] == 1.0


@pytest.mark.parametrize("name", [DOUBLE, CHAIN])
def test_it_foresees_velocities_better_than_sensors_see_them(name: str) -> None:
    """Predicted for the next observation, from noise of 0.9 rad/s: to a fifth of that."""
    envs = make_batch(name, 32, observation_noise=1.0)
    state, clean = walk(envs, 80)
    nv = envs.task.model.nv
    angles, rates = state[:, HEAD : HEAD + nv], state[:, HEAD + nv : HEAD + 2 * nv]
    at = envs.observation_slices["hinge velocities" if name == CHAIN else "joint velocities"]
    assert np.sqrt(((rates - clean[:, at]) ** 2).mean()) < 0.18
    if name == CHAIN:
        assert np.sqrt(((angles - clean[:, :nv]) ** 2).mean()) < 0.006


@pytest.mark.thorough
@pytest.mark.parametrize("name", [DOUBLE, CHAIN])
@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({"observation_noise": 0.5}, 0.9),
        ({"observation_noise": 1.0}, 0.8),
        ({"action_noise": 0.05}, 0.95),
        ({"action_noise": 0.1}, 0.85),
        ({"action_delay": 1}, 0.9),
        ({"reset_noise": 0.1}, 0.95),
        ({"observation_noise": 0.5, "action_noise": 0.05, "action_delay": 1}, 0.75),
    ],
)
def test_what_disturbances_leave(name: str, options: dict[str, Any], kept: float) -> None:
    """Share of the same seeds' return without; nobody falls."""
    whole = evaluate(name, "expert", 24).mean_return
    left = evaluate(name, "expert", 24, **options)
    assert left.mean_return > kept * whole
    assert min(left.lengths) == max(left.lengths)
