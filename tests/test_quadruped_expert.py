"""The trot's expert gives way: disturbances, and the parts that take them."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from dynenvs.agents.experts.common.fields import dtype_of
from dynenvs.agents.experts.quadruped.forces import PRICE, _distribute
from dynenvs.agents.experts.quadruped.records import LEGS, MEMO, Dual, Leg
from dynenvs.agents.experts.reference import reference_controller
from dynenvs.envs.legged.quadruped import QuadrupedEnv

NAME = "dynenvs/Quadruped-v0"
# Standard deviations of what legged robots see, as legged_gym trains with
NOISE = {
    "height": 0.01,
    "upward direction": 0.03,
    "joint angles": 0.006,
    "velocity": 0.06,
    "angular velocity": 0.12,
    "joint velocities": 0.9,
}


def disturbed(
    steps: int, *, noise: float = 0.0, torque: float = 0.0, delay: int = 0, **options: Any
) -> tuple[float, float, Any]:
    """(share of 16 robots alive, mean reward, the expert's state at the end)."""
    envs = gym.make_vec(
        NAME, num_envs=16, max_episode_steps=-1, autoreset_mode=AutoresetMode.DISABLED, **options
    )
    expert, rng = reference_controller(envs), np.random.default_rng(0)
    scale = np.zeros(envs.single_observation_space.shape)
    for name, deviation in NOISE.items():
        scale[envs.unwrapped.task.observation_slices[name]] = deviation
    observations, _ = envs.reset(seed=500)
    alive, earned, state = np.ones(16, bool), 0.0, None
    queue = [np.zeros(envs.action_space.shape, np.float32)] * delay
    for _ in range(steps):
        seen = observations + noise * scale * rng.standard_normal(observations.shape)
        action, state = expert.predict(seen, state, ~alive)
        queue.append(action)
        action = queue.pop(0) + torque * rng.standard_normal(action.shape).astype(np.float32)
        observations, rewards, fell, _, _ = envs.step(np.clip(action, -1.0, 1.0))
        alive &= ~fell
        earned += np.where(alive, rewards, 0.0).mean()
        if fell.any():
            observations, _ = envs.reset(options={"reset_mask": fell})
    envs.close()
    return float(alive.mean()), earned / steps, state


@pytest.mark.parametrize(
    ("disturbance", "share"),
    [
        ({"noise": 1.0}, 0.7),
        ({"torque": 0.05}, 0.6),
        ({"delay": 1}, 0.8),
        ({"reset_noise": 0.1}, 0.8),
        ({"friction_range": (0.3, 1.2), "mass_range": (0.8, 1.2)}, 0.75),
    ],
    ids=repr,
)
@pytest.mark.thorough
def test_gives_way(disturbance: dict[str, Any], share: float) -> None:
    """Noisy observations and torques, late torques, other robots and grounds: nobody falls."""
    alive, reward, _ = disturbed(300, **disturbance)
    assert alive == 1.0
    assert reward > share


@pytest.mark.parametrize("delay", [0, 1])
@pytest.mark.thorough
def test_finds_out_whether_torques_are_late(delay: int) -> None:
    """From what happens after what was asked for; through noise, too."""
    _, _, state = disturbed(150, noise=0.5, torque=0.02, delay=delay)
    memo = state.view(MEMO)[:, 0]
    assert np.all(np.abs(memo["late"] / memo["sure"] - delay) < 0.3)


@pytest.mark.thorough
def test_finds_out_how_noisy_velocities_are() -> None:
    """The covariance of successive surprises is minus the noise's variance."""
    _, _, state = disturbed(300, noise=1.0)
    memo = state.view(MEMO)[:, 0]
    found = -(memo["product"] / memo["count"]).mean(axis=0)
    np.testing.assert_allclose(np.sqrt(found), [0.06, 0.12, 0.9], rtol=0.2)
    _, _, state = disturbed(300)
    memo = state.view(MEMO)[:, 0]
    found = -(memo["product"] / memo["count"]).mean(axis=0)
    assert np.all(found < np.square([0.03, 0.06, 0.45]))


@pytest.mark.thorough
def test_what_is_asked_for_happens() -> None:
    """Accelerations of swinging legs are those that inverse dynamics promised, to 5 %."""
    env = QuadrupedEnv()
    expert = reference_controller(env)
    observation, _ = env.reset(seed=1, options={"command": (0.8, 0.1, 0.2)})
    asked, happened, state = [], [], None
    for step in range(200):
        action, state = expert.predict(observation, state)
        before = observation
        observation = env.step(action)[0]
        memo = state.view(MEMO)[0]
        flying = np.repeat(observation[39:43] + before[39:43] == 0.0, 3)
        flying &= np.repeat(memo["swung"][0] == 1.0, 3)
        if step > 60:
            asked.append(np.where(flying, env.dt * memo["asked"][0, 6:], 0.0))
            happened.append(np.where(flying, observation[22:34] - before[22:34], 0.0))
    error = np.subtract(asked, happened)
    assert np.abs(asked).max() > 1.0
    assert np.sqrt(np.mean(np.square(error))) < 0.05 * np.sqrt(np.mean(np.square(asked)))


def _problem(rng: np.random.Generator, shares: Any) -> tuple[Any, Any]:
    """Feet about a base, random dynamics."""
    legs = np.zeros(LEGS, dtype_of(Leg)).view(np.recarray)
    dual = np.zeros(1, dtype_of(Dual)).view(np.recarray)
    d = dual[0]
    root = rng.normal(size=(6, 6))
    E = np.diag([12.0, 12.0, 12.0, 0.2, 0.5, 0.5]) + 0.02 * (root + root.T)
    d["soft"] = E @ np.diag(1.0 / np.array([0.5, 0.5, 1.0, 0.08, 0.08, 0.08])) @ E.T
    d["b"] = np.array([0.0, 0.0, 125.0, 0.0, 0.0, 0.0]) + rng.normal(size=6) * (30, 30, 20, 5, 5, 5)
    for i, (x, y) in enumerate([(1, 1), (1, -1), (-1, 1), (-1, -1)]):
        r = np.array([0.19 * x, 0.13 * y, -0.29]) + 0.05 * rng.normal(size=3)
        legs[i]["stands"] = shares[i] > 0.0
        legs[i]["price"] = PRICE / (12.7 * max(shares[i], 1e-3)) ** 2
        legs[i]["normal"] = (0.0, 0.0, 1.0)
        cross = np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])
        legs[i]["effect"] = np.vstack([np.eye(3), cross])
    return legs, d


def _onto_cone(f: Any, friction: float) -> Any:
    """The nearest force within the friction cone."""
    slip = np.hypot(f[0], f[1])
    if slip <= friction * f[2]:
        return f
    if friction * slip <= -f[2]:
        return np.zeros(3)
    normal = (f[2] + friction * slip) / (1.0 + friction**2)
    return normal * np.array([friction * f[0] / slip, friction * f[1] / slip, 1.0])


@pytest.mark.parametrize("shares", [(1, 0, 0, 1), (1, 1, 1, 1), (0.3, 0.7, 0.7, 0.3), (0, 1, 0, 0)])
def test_ground_forces_are_the_best_in_their_cones(shares: tuple[float, ...]) -> None:
    """A step down the gradient of the primal problem and back onto the cones changes nothing."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        legs, d = _problem(rng, shares)
        assert _distribute(legs, 0.4, d)
        lack = sum(leg["effect"] @ leg["force"] for leg in legs) - d["b"]
        pull = np.linalg.solve(d["soft"], lack)
        for leg in legs:
            if not leg["stands"]:
                assert not leg["force"].any()
                continue
            slope = leg["effect"].T @ pull + leg["price"] * leg["force"]
            step = 0.01 / leg["price"]
            back = _onto_cone(leg["force"] - step * slope, 0.4)
            np.testing.assert_allclose(back, leg["force"], atol=1e-3)


def test_forces_pass_smoothly_from_pair_to_pair() -> None:
    """As shares do: a thousandth of the way changes no force by more than a newton."""
    last = None
    for part in np.linspace(0.02, 0.98, 400):
        legs, d = _problem(np.random.default_rng(5), (part, 1.0 - part, 1.0 - part, part))
        assert _distribute(legs, 0.4, d)
        forces = legs["force"].copy()
        assert last is None or np.abs(forces - last).max() < 2.5
        last = forces
