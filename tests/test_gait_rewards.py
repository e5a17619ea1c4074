"""The reward terms for steps in rhythm, feet that do not slide and torques that change little."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import dynenvs  # noqa: F401
from dynenvs.agents import reference_controller
from dynenvs.agents.evaluation.feet import crept, radius, trace
from dynenvs.kinematics.joints import integrate
from dynenvs.memory.layout import open_model
from dynenvs.model.model import Model

WALKERS = [
    "dynenvs/PlanarHumanoid-v0",
    "dynenvs/PlanarQuadruped-v0",
    "dynenvs/Quadruped-v0",
    "dynenvs/Humanoid-v0",
]
WEIGHTS = {"rhythm": 1.5, "slip": 2.0, "smoothness": 0.5}
FIRST = ("left", "front_left", "rear_right")  # due to carry from phase 0 on
INSTANT = 1e-6  # [s]


def made(name: str, **options: Any) -> Any:
    return gym.make(name, reward_weights=WEIGHTS, **options).unwrapped


def follows(info: dict[str, Any]) -> float:
    """How well the command was followed: the velocity's term has the weight 0.8."""
    return float(info["reward_velocity"]) / 0.8


def moved(model: Model, q: Any, v: Any, time: float) -> Any:
    """Positions after a short time at these velocities."""
    after = np.zeros(model.nq)
    integrate(open_model(model.packed), q, v, time, after)
    return after


def slip_by_differences(env: Any) -> float:
    """The same speed from places of the feet's points an instant before and after."""
    model, state = env.task.model, env.worlds.states[0]
    around = [moved(model, state["q"], state["v"], side * INSTANT) for side in (-1, 1)]
    feet = trace(model, np.array(around))
    speeds = [0.0]
    for f in np.flatnonzero(env.task.foot_of_feature >= 0):
        if state["memory"]["impulse"][f, 2] > 0.0:
            way = crept(feet, f, radius(model, f))[-1] - crept(feet, f, radius(model, f))[0]
            speeds.append(float(np.hypot(*way[:2])) / (2.0 * INSTANT))
    return max(speeds)


@pytest.mark.parametrize("name", WALKERS)
def test_slip_is_the_speed_of_loaded_points_over_the_ground(name: str) -> None:
    env = made(name, friction_range=(0.1, 0.1), terminate_on_fall=False)
    expert = reference_controller(env)
    observation, _ = env.reset(seed=4)
    action, memory = expert.predict(observation)
    slid = 0
    for _ in range(60):
        observation, *_, info = env.step(action)
        action, memory = expert.predict(observation, memory)
        speed = slip_by_differences(env)
        expected = 2.0 * follows(info) * np.exp(-((speed / 0.1) ** 2))
        np.testing.assert_allclose(info["reward_slip"], expected, rtol=1e-5, atol=1e-9)
        slid += speed > 0.03
    assert slid > 5


@pytest.mark.parametrize("name", WALKERS)
def test_smoothness_goes_by_what_acted_in_the_step_before(name: str) -> None:
    env = made(name, terminate_on_fall=False)
    env.reset(seed=1)
    rng = np.random.default_rng(2)
    before = np.zeros(env.action_space.shape)
    counted = 0
    for _ in range(12):
        action = rng.uniform(-0.3, 0.3, before.shape).astype(np.float32)
        *_, info = env.step(action)
        change = np.sqrt(np.mean((action.astype(np.float64) - before) ** 2))
        expected = 0.5 * follows(info) * np.exp(-((change / 0.2) ** 2))
        np.testing.assert_allclose(info["reward_smoothness"], expected, rtol=1e-12, atol=1e-300)
        counted += expected > 1e-6
        before = action.astype(np.float64)
    assert counted


@pytest.mark.parametrize("name", WALKERS)
def test_rhythm_goes_by_the_load_on_feet_that_are_due_to_swing(name: str) -> None:
    env = made(name)
    expert, task = reference_controller(env), env.task
    observation, _ = env.reset(seed=4)
    action, memory = expert.predict(observation)
    kept = []
    for _ in range(200):
        observation, *_, info = env.step(action)
        action, memory = expert.predict(observation, memory)
        sine = np.sin(2.0 * np.pi * env.worlds.task_states["phase"][0])
        touching = env.worlds.states[0]["memory"]
        load = np.where(touching["listed"], touching["impulse"][:, 2], 0.0)
        legs = [load[task.foot_of_feature == leg].sum() for leg in range(len(task.legs))]
        swings = [(leg in FIRST) == (sine < 0.0) for leg in task.legs]
        kept.append(1.0 - abs(sine) * np.dot(legs, swings) / max(sum(legs), 1e-9))
        expected = 1.5 * follows(info) * kept[-1]
        np.testing.assert_allclose(info["reward_rhythm"], expected, rtol=1e-9, atol=1e-12)
    assert np.mean(kept[50:]) > 0.96  # experts walk by the clock ...
    assert min(kept) < 0.95  # ... and nobody to the instant


@pytest.mark.parametrize("name", WALKERS)
def test_a_robot_in_the_air_keeps_no_rhythm(name: str) -> None:
    env = made(name)
    env.reset(seed=0)
    state = env.get_state()
    state["world"]["q"][0, 1 if "Planar" in name else 2] += 0.1
    env.set_state(state)
    *_, info = env.step(np.zeros(env.action_space.shape, np.float32))
    assert info["reward_rhythm"] == 0.0


@pytest.mark.parametrize("name", WALKERS)
def test_they_are_worth_nothing_unless_asked_for(name: str) -> None:
    env = gym.make(name).unwrapped
    env.reset(seed=0)
    *_, info = env.step(env.action_space.sample())
    assert info["reward_rhythm"] == info["reward_slip"] == info["reward_smoothness"] == 0.0


def test_a_restored_state_remembers_the_last_torques() -> None:
    env = made("dynenvs/PlanarQuadruped-v0")
    env.reset(seed=0)
    actions = np.random.default_rng(0).uniform(-0.1, 0.1, (3, *env.action_space.shape))
    env.step(actions[0])
    env.step(actions[1])
    kept = env.get_state()
    _, first, *_, info = env.step(actions[2])
    assert info["reward_smoothness"] != 0.0
    env.reset(seed=9)
    env.set_state(kept)
    _, again, *_ = env.step(actions[2])
    assert again == first


def test_the_terms_act_on_terrain() -> None:
    """Feet on solids have the middle of their underside: of balls the lowest point."""
    env = made("dynenvs/Quadruped-v0", terrain="rough")
    feet = env.task.soles[env.task.foot_of_feature >= 0]
    assert {round(float(r), 6) for r in feet["radius"]} == {0.023}
    envs: Any = gym.make_vec(
        "dynenvs/Quadruped-v0", num_envs=4, terrain="rough", reward_weights=WEIGHTS
    )
    expert = reference_controller(envs)
    observation, _ = envs.reset(seed=0)
    memory, worth = None, []
    for _ in range(40):
        action, memory = expert.predict(observation, memory)
        observation, _, _, _, infos = envs.step(action)
        worth.append(infos["reward_slip"] / (2.0 * infos["reward_velocity"] / 0.8))
    assert 0.5 < np.mean(worth) <= 1.0
