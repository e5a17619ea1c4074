"""The double pendulum: the environment's contract, its physics, and what its expert achieves."""

from __future__ import annotations

import copy
import pickle
import warnings
from functools import cache
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import dynenvs
from dynenvs.agents.experts.pendulum.double_pendulum import CAPTURE, PendulumController
from dynenvs.agents.experts.pendulum.swing_up import Plant, hold
from dynenvs.dynamics.energy import totals
from dynenvs.envs.pendulum.double_pendulum import ACTUATED, VELOCITY_BOUND, DoublePendulumEnv
from dynenvs.envs.robots import pendulum as robot
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.parts import revolute
from dynenvs.simulation.world import World

MODES = tuple(ACTUATED)
TIME_TO_UPRIGHT = {"both": 6.0, "shoulder": 10.0, "elbow": 10.0}  # [s]
UPRIGHT_ANGLE, UPRIGHT_SPEED = 0.1, 0.5  # of each link [rad], of each joint [rad/s]


@cache
def expert(actuated: str) -> PendulumController:
    return PendulumController(DoublePendulumEnv(actuated=actuated))


def place(env: DoublePendulumEnv, q: Any, v: Any = (0.0, 0.0)) -> np.ndarray:
    """Put the pendulum somewhere; returns the observation there."""
    state = env.get_state()
    state["world"]["q"][0], state["world"]["v"][0] = q, v
    env.set_state(state)
    return env.worlds.observations[0].copy()


def is_upright(observation: np.ndarray) -> bool:
    """Both links within UPRIGHT_ANGLE of vertical, both joints slow."""
    shoulder = np.arctan2(observation[1], observation[0])
    elbow = np.arctan2(observation[3], observation[2])
    tilt = np.array([shoulder, shoulder + elbow]) - np.pi
    tilt = np.remainder(tilt + np.pi, 2 * np.pi) - np.pi
    return bool((abs(tilt) < UPRIGHT_ANGLE).all() and (abs(observation[4:]) < UPRIGHT_SPEED).all())


class Episode:
    """An expert's episode: since when it was upright to the end, its work, its return."""

    def __init__(self, env: DoublePendulumEnv, seed: int) -> None:
        observation, _ = env.reset(seed=seed)
        last, self.work, self.total = 0, 0.0, 0.0
        self.clean = True
        ended = False
        steps = 0
        while not ended:
            steps += 1
            before = observation[4:][env.model.actuated]
            action, _ = expert(env.task.actuated).predict(observation)
            observation, reward, terminated, ended, info = env.step(action)
            self.total += reward
            mean_speed = 0.5 * (before + observation[4:][env.model.actuated])
            self.work += float(abs(info["torques"] * mean_speed).sum()) * env.dt
            self.clean &= info["failed"] == 0 and info["degraded"] == 0 and not terminated
            ended = ended or terminated
            if not is_upright(observation):
                last = steps
        self.steps = steps
        self.upright_since = last * env.dt


# The contract


@pytest.mark.parametrize("actuated", MODES)
def test_checkers_pass_without_a_warning(actuated: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gym.make("dynenvs/DoublePendulum-v0", actuated=actuated)
        check_env(env.unwrapped, skip_render_check=True)


@pytest.mark.parametrize("actuated", MODES)
def test_the_checker_of_stable_baselines3_passes_without_a_warning(actuated: str) -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checker.check_env(gym.make("dynenvs/DoublePendulum-v0", actuated=actuated).unwrapped)


def test_unknown_motor_is_named_with_the_choices() -> None:
    with pytest.raises(ValueError, match=r"unknown actuated 'knee'; choose from: both, shoulder"):
        DoublePendulumEnv(actuated="knee")


@pytest.mark.parametrize(
    "options",
    [
        {"timestep": 0.0},
        {"frame_skip": 0},
        {"reset_noise": -0.1},
        {"max_episode_steps": 0},
        {"render_mode": "ansi"},
    ],
)
def test_impossible_options_raise(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        DoublePendulumEnv(**options)


@pytest.mark.parametrize("actuated", MODES)
def test_reward_is_the_sum_of_its_bounded_terms(actuated: str) -> None:
    env = DoublePendulumEnv(actuated=actuated)
    env.action_space.seed(0)
    env.reset(seed=0)
    for _ in range(300):
        observation, reward, _, _, info = env.step(env.action_space.sample())
        terms = {k: v for k, v in info.items() if k.startswith("reward_")}
        assert reward == pytest.approx(sum(terms.values()), abs=1e-15)
        assert all(0.0 <= value <= 0.7 for value in terms.values())
        assert env.observation_space.contains(observation)
        assert info["torques"].shape == (env.model.nu,)


def test_upright_earns_one_and_hanging_nothing() -> None:
    env = DoublePendulumEnv(reset_noise=0.0)
    env.reset(seed=0)
    assert env.step(np.zeros(2, np.float32))[1] == pytest.approx(0.0, abs=1e-12)
    place(env, (np.pi, 0.0))
    assert env.step(np.zeros(2, np.float32))[1] == pytest.approx(1.0, abs=1e-6)
    place(env, (np.pi, np.pi))  # the lower link hangs from a raised upper one
    assert env.step(np.zeros(2, np.float32))[1] == pytest.approx(0.0, abs=1e-6)


def test_episode_is_truncated_at_its_limit() -> None:
    env = DoublePendulumEnv(max_episode_steps=5)
    env.reset(seed=0)
    ends = [env.step(np.zeros(2, np.float32))[2:4] for _ in range(5)]
    assert ends == [(False, False)] * 4 + [(False, True)]


def test_a_velocity_beyond_its_bound_ends_the_episode_within_bounds() -> None:
    env = DoublePendulumEnv(actuated="elbow")
    env.reset(seed=0)
    place(env, (0.0, 0.0), (0.0, 3.0 * VELOCITY_BOUND))
    observation, reward, terminated, truncated, info = env.step(np.ones(1, np.float32))
    assert terminated
    assert not truncated
    assert info["end"] == "velocity bound"
    assert env.observation_space.contains(observation)
    assert np.isfinite(reward)


def test_actions_are_clipped_and_the_caller_keeps_its_array() -> None:
    env = DoublePendulumEnv()
    env.reset(seed=0)
    action = np.array([5.0, -5.0])
    info = env.step(action)[4]
    np.testing.assert_array_equal(action, [5.0, -5.0])
    np.testing.assert_allclose(info["torques"], [1.2, -0.8])


def test_only_the_motor_turns_its_joint() -> None:
    for actuated in ("shoulder", "elbow"):
        env = DoublePendulumEnv(actuated=actuated)
        assert env.model.actuated.tolist() == [robot.JOINTS.index(actuated)]
        assert env.action_space.shape == (1,)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))])
def test_copies_and_restored_states_go_on_bit_for_bit(duplicate: Any) -> None:
    env = DoublePendulumEnv()
    env.action_space.seed(1)
    env.reset(seed=1)
    for _ in range(20):
        env.step(env.action_space.sample())
    twin, state = duplicate(env), env.get_state()
    actions = [env.action_space.sample() for _ in range(50)]
    first = [env.step(a)[0] for a in actions]
    second = [twin.step(a)[0] for a in actions]
    env.set_state(state)
    third = [env.step(a)[0] for a in actions]
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(first, third)
    np.testing.assert_array_equal(env.reset()[0], twin.reset()[0])


def test_readings_and_focus() -> None:
    env = DoublePendulumEnv()
    env.reset(seed=0)
    assert all(isinstance(word, str) for word in env.readings().values())
    np.testing.assert_array_equal(env.focus, np.zeros(3))


# Physics


def frictionless() -> Any:
    """The robot's two links without damping."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -robot.GRAVITY), directions=2)
    parent = "world"
    for i, name in enumerate(robot.JOINTS):
        place_ = (0.0, 0.0, 0.0 if i == 0 else -robot.LENGTHS[0])
        joint = revolute(name, axis=(0.0, -1.0, 0.0), position=place_, armature=robot.ARMATURE)
        builder.body(
            name,
            parent=parent,
            joint=joint,
            mass=robot.MASSES[i],
            com=(0.0, 0.0, -robot.COMS[i]),
            inertia=(robot.INERTIAS[i], robot.INERTIAS[i], 1e-4),
        )
        parent = name
    return builder.build()


def test_energy_is_kept_without_damping_to_first_order() -> None:
    errors = []
    for timestep in (4e-4, 2e-4):
        world = World(frictionless(), timestep=timestep)
        world.reset(q=(2.0, 0.5))
        start = totals(world.model, world.q, world.v).energy
        drift = 0.0
        for _ in range(round(0.1 / timestep) * 10):
            world.step()
            drift = max(drift, abs(totals(world.model, world.q, world.v).energy - start))
        errors.append(drift)
    upright, hanging = (totals(frictionless(), (angle, 0.0)).energy for angle in (np.pi, 0.0))
    assert errors[1] < 5e-3 * (upright - hanging)
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.2)


def test_damping_takes_energy_and_nothing_gives_it() -> None:
    world = World(robot.build(), timestep=5e-4)
    world.reset(q=(2.0, 0.5))
    energies = []
    for _ in range(40):
        energies.append(totals(world.model, world.q, world.v).energy)
        world.step(steps=100)
    assert np.diff(energies).max() < 0.01 * abs(energies[0])
    assert energies[-1] < energies[0]


def test_torques_are_too_weak_to_lift_the_links() -> None:
    """Statics of both links horizontal, and along every quasi-static path past the horizontal."""
    g, (m1, m2), (c1, c2), l1 = robot.GRAVITY, robot.MASSES, robot.COMS, robot.LENGTHS[0]
    elbow = g * m2 * c2
    shoulder = g * (m1 * c1 + m2 * l1) + elbow
    assert shoulder == pytest.approx(3.82, abs=0.01)
    assert elbow == pytest.approx(1.57, abs=0.01)
    bias = dynenvs.bias_force(robot.build(), [np.pi / 2, 0.0], [0.0, 0.0])
    np.testing.assert_allclose(np.abs(bias), [shoulder, elbow], atol=1e-12)
    # The lower link's own angle b obeys |elbow sin b| <= its limit: it stays on its side.
    limits = robot.EFFORTS
    assert elbow > limits[1]
    # With |sin b| that small, the upper link cannot pass the horizontal either.
    least = g * (m1 * c1 + m2 * l1) - limits[1]
    assert least > limits[0]


# The expert


@pytest.mark.parametrize("actuated", MODES)
@pytest.mark.thorough
def test_expert_swings_up_and_holds(actuated: str) -> None:
    env = DoublePendulumEnv(actuated=actuated, max_episode_steps=None)
    for seed in range(10):
        episode = Episode(env, seed)
        assert episode.steps == 1000
        assert episode.clean
        assert episode.upright_since <= TIME_TO_UPRIGHT[actuated], seed


@pytest.mark.slow
@pytest.mark.parametrize("actuated", MODES)
def test_expert_swings_up_and_holds_with_100_seeds(actuated: str) -> None:
    env = DoublePendulumEnv(actuated=actuated, max_episode_steps=None)
    episodes = [Episode(env, seed) for seed in range(100)]
    assert all(e.clean and e.steps == 1000 for e in episodes)
    assert max(e.upright_since for e in episodes) <= TIME_TO_UPRIGHT[actuated]


@pytest.mark.parametrize("actuated", MODES)
def test_halving_the_physics_step_changes_little(actuated: str) -> None:
    coarse = DoublePendulumEnv(actuated=actuated, max_episode_steps=None)
    fine = DoublePendulumEnv(
        max_episode_steps=None,
        actuated=actuated,
        timestep=coarse.task.timestep / 2,
        frame_skip=2 * coarse.task.frame_skip,
    )
    works = [np.mean([Episode(env, seed).work for seed in range(4)]) for env in (coarse, fine)]
    assert works[1] == pytest.approx(works[0], rel=0.02)


@pytest.mark.parametrize("actuated", MODES)
def test_the_regulator_captures_its_whole_region(actuated: str) -> None:
    """From states on the boundary of its level set of the cost-to-go, by simulation."""
    env = DoublePendulumEnv(actuated=actuated, max_episode_steps=None)
    regulator = hold(Plant(env.model))
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(60, 4))
    radius = np.sqrt(np.einsum("ni,ij,nj->n", directions, regulator.cost, directions))
    limit = env.model.effort_limit[env.model.actuated]
    env.reset(seed=0)
    for x in directions * np.sqrt(CAPTURE[actuated]) / radius[:, None]:
        place(env, (np.pi + x[0], x[1]), x[2:])
        error = x
        for _ in range(120):
            env.step(np.asarray(-regulator.gain @ error / limit, np.float32))
            world = env.worlds.states[0]
            error = np.concatenate([world["q"] - [np.pi, 0.0], world["v"]])
        assert abs(error).max() < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("actuated", MODES)
def test_expert_comes_up_from_anywhere(actuated: str) -> None:
    env = DoublePendulumEnv(actuated=actuated, max_episode_steps=2000)
    rng = np.random.default_rng(0)
    for seed in range(30):
        env.reset(seed=seed)
        observation = place(env, rng.uniform(-np.pi, np.pi, 2), rng.uniform(-5.0, 5.0, 2))
        for _ in range(1500):
            observation = env.step(expert(actuated).predict(observation)[0])[0]
        assert is_upright(observation), seed


@pytest.mark.parametrize("actuated", MODES)
def test_a_batch_gives_what_single_observations_give(actuated: str) -> None:
    rng = np.random.default_rng(0)
    angles = rng.uniform(-np.pi, np.pi, (64, 2))
    batch = np.column_stack(
        [
            np.cos(angles[:, 0]),
            np.sin(angles[:, 0]),
            np.cos(angles[:, 1]),
            np.sin(angles[:, 1]),
            rng.uniform(-10.0, 10.0, (64, 2)),
        ]
    )
    actions, _ = expert(actuated).predict(batch)
    singles = [expert(actuated).predict(observation)[0] for observation in batch]
    np.testing.assert_array_equal(actions, singles)
    assert actions.dtype == np.float32
    assert abs(actions).max() <= 1.0
    # The mirror image is answered by the mirror image
    mirrored, _ = expert(actuated).predict(batch * [1, -1, 1, -1, -1, -1])
    np.testing.assert_allclose(mirrored, -actions, atol=1e-6)


def test_observations_of_another_shape_are_refused() -> None:
    with pytest.raises(ValueError, match=r"shape \(6,\) or \(n, 6\), got \(5,\)"):
        expert("both").predict(np.zeros(5))


@pytest.mark.parametrize("actuated", MODES)
def test_expert_is_a_policy_for_stable_baselines3_even_in_float32(actuated: str) -> None:
    evaluation = pytest.importorskip("stable_baselines3.common.evaluation")
    env = gym.wrappers.TransformObservation(
        gym.make("dynenvs/DoublePendulum-v0", actuated=actuated),
        lambda observation: observation.astype(np.float32),
        gym.spaces.Box(-VELOCITY_BOUND, VELOCITY_BOUND, (6,), np.float32),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # "not wrapped with a Monitor"
        mean, _ = evaluation.evaluate_policy(expert(actuated), env, n_eval_episodes=2)
    assert mean > 700.0
