"""The reference controllers: policies by the protocol, and they do what they should.

What disturbs the planar ones, `test_planar_expert.py` tries; slow tests measure over 100 seeds.
"""

from __future__ import annotations

import copy
import pickle
from functools import cache
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from rollouts import IDS, PLANAR, make, state_bits, walk

from dynenvs.agents.evaluation.measure import Gait
from dynenvs.agents.experts.humanoid.expert import StridingController
from dynenvs.agents.experts.quadruped.expert import TrottingController
from dynenvs.agents.experts.reference import reference_controller
from dynenvs.envs.core.base import DynEnv
from dynenvs.envs.planar.walker import PlanarWalker

every_env = pytest.mark.parametrize("name", IDS)
every_planar = pytest.mark.parametrize("name", PLANAR)
Array = np.ndarray


@cache
def expert(name: str) -> Any:
    """The expert of an environment."""
    return reference_controller(name)


@every_env
def test_it_says_what_it_is(name: str) -> None:
    """Its class, the task, and the shapes that it takes and gives."""
    told, env = repr(expert(name)), make(name)
    assert told.startswith(f"<{type(expert(name)).__name__} of {type(env.task).__name__}: ")
    assert f"observation {env.observation_space.shape}" in told
    assert f"action {env.action_space.shape}" in told


@cache
def observations(name: str) -> Array:
    """What the expert and some disturbed actions of it see, shape (n, obs)."""
    env = make(name)
    rng = np.random.default_rng(0)
    seen = []
    for seed in range(3):
        observation, _ = env.reset(seed=seed)
        for _ in range(60):
            seen.append(observation)
            action = expert(name).predict(observation)[0] + 0.1 * rng.normal(size=env.model.nu)
            observation, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                observation, _ = env.reset()
    return np.array(seen)


# The protocol


@every_env
def test_predict_protocol(name: str) -> None:
    """Shapes, dtype, bounds; a state that an expert does not need is passed through."""
    env, policy = make(name), expert(name)
    seen = observations(name)
    token = None if policy.carried else object()
    action, state = policy.predict(seen[0], state=token, episode_start=None, deterministic=True)
    if policy.carried:
        assert state.shape == (policy.carried,)
    else:
        assert state is token
        assert policy.predict(seen[:7], (token,), np.ones(7, bool), False)[1] == (token,)
        assert policy.predict(seen[0])[1] is None
    assert action.shape == env.action_space.shape
    assert action.dtype == np.float32
    assert action in env.action_space
    batch, state = policy.predict(seen[:7], None, np.ones(7, bool), False)
    assert batch.shape == (7, *env.action_space.shape)
    assert batch.dtype == np.float32
    assert policy.predict(seen[:0])[0].shape == (0, *env.action_space.shape)
    assert policy.predict(seen[:1])[0].shape == (1, *env.action_space.shape)


@every_env
def test_batch_equals_single_bit_for_bit(name: str) -> None:
    """Wherever an observation stands in a batch."""
    policy, seen = expert(name), observations(name)
    single = np.array([policy.predict(o)[0] for o in seen])
    assert policy.predict(seen)[0].tobytes() == single.tobytes()
    order = np.random.default_rng(1).permutation(len(seen))
    assert policy.predict(seen[order])[0].tobytes() == single[order].tobytes()


@every_env
def test_acts_on_the_observation_alone(name: str) -> None:
    """The order of calls, other observations in between, and copies change no bit."""
    policy, seen = expert(name), observations(name)
    forward = [policy.predict(o)[0].tobytes() for o in seen]
    backward = [policy.predict(o)[0].tobytes() for o in seen[::-1]][::-1]
    assert backward == forward
    other = reference_controller(name)
    assert [other.predict(o)[0].tobytes() for o in seen] == forward
    for twin in (copy.deepcopy(policy), pickle.loads(pickle.dumps(policy))):
        assert [twin.predict(o)[0].tobytes() for o in seen] == forward


@every_env
def test_a_state_belongs_to_its_row(name: str) -> None:
    """Carried on in a batch or one by one: the same bits; forgotten where an episode begins."""
    policy, seen = expert(name), observations(name)
    if not policy.carried:
        assert policy.predict(seen[:3], "any")[1] == "any"
        return
    _, states = policy.predict(seen[:7])
    actions, later = policy.predict(seen[1:8], states)
    for i in range(7):
        one, state = policy.predict(seen[1 + i], states[i])
        assert one.tobytes() == actions[i].tobytes()
        assert state.tobytes() == later[i].tobytes()
    begun = np.arange(7) % 2 == 0
    anew = policy.predict(seen[1:8], states, begun)[0]
    fresh = policy.predict(seen[1:8])[0]
    np.testing.assert_array_equal(anew, np.where(begun[:, None], fresh, actions))
    assert not np.array_equal(fresh, actions)
    for wrong in (states[:3], states[:, :-1], np.full_like(states, np.nan)):
        with pytest.raises(ValueError, match="state must"):
            policy.predict(seen[1:8], wrong)


@every_env
def test_observations_are_left_alone(name: str) -> None:
    """The caller's array keeps its values and may be read-only or strided."""
    policy, seen = expert(name), observations(name)[:5].copy()
    before = seen.tobytes()
    expected = policy.predict(seen)[0]
    assert seen.tobytes() == before
    seen.flags.writeable = False
    np.testing.assert_array_equal(policy.predict(seen)[0], expected)
    np.testing.assert_array_equal(policy.predict(np.repeat(seen, 2, axis=1)[:, ::2])[0], expected)
    np.testing.assert_array_equal(policy.predict(seen.tolist())[0], expected)


@every_env
def test_results_are_the_callers_own(name: str) -> None:
    """A later prediction does not write into an earlier one."""
    policy, seen = expert(name), observations(name)
    first = policy.predict(seen[0])[0]
    kept = first.copy()
    policy.predict(seen[50])
    np.testing.assert_array_equal(first, kept)


@every_env
def test_wrong_observations_are_refused(name: str) -> None:
    """A ValueError that names the observation."""
    policy = expert(name)
    size = observations(name).shape[1]
    for wrong in (
        np.zeros(size + 1),
        np.zeros(size - 1),
        np.zeros((2, size + 1)),
        np.zeros((2, 2, size)),
        np.zeros(()),
        np.full(size, np.nan),
        np.full((3, size), np.inf),
    ):
        with pytest.raises(ValueError, match="observation"):
            policy.predict(wrong)


def test_unknown_environments_are_refused() -> None:
    """The message says which environment has no expert."""
    with pytest.raises(ValueError, match="CartPole"):
        reference_controller("CartPole-v1")
    with pytest.raises(ValueError, match="no environment of dynenvs"):
        reference_controller("dynenvs/NoSuchThing-v0")


@every_env
def test_takes_an_environment_too(name: str) -> None:
    """Wrapped or bare, with options; the environment itself is not touched."""
    env = gym.make(name)
    env.reset(seed=0)
    inner = env.unwrapped
    assert isinstance(inner, DynEnv)
    before = state_bits(inner)
    one, two = reference_controller(env), reference_controller(inner)
    seen = observations(name)
    assert one.predict(seen)[0].tobytes() == two.predict(seen)[0].tobytes()
    assert state_bits(inner) == before


@every_env
def test_sb3_evaluate_policy(name: str) -> None:
    """stable-baselines3 evaluates it like any of its own policies."""
    evaluation = pytest.importorskip("stable_baselines3.common.evaluation")
    from stable_baselines3.common.vec_env import DummyVecEnv

    def short() -> gym.Env[Any, Any]:
        return gym.wrappers.TimeLimit(gym.make(name), 150)

    envs = DummyVecEnv([short] * 2)
    with pytest.warns(UserWarning, match="Monitor"):
        rewards, lengths = evaluation.evaluate_policy(
            expert(name), envs, n_eval_episodes=2, return_episode_rewards=True
        )
    assert lengths == [150, 150]
    assert np.isfinite(rewards).all()


# Walking


def _follow(env: DynEnv, policy: Any, seed: int, steps: int, cast: Any = None) -> list[float]:
    """Speed over command in each of `steps` steps [m/s]; the walker must stay alive."""
    observation, info = env.reset(seed=seed)
    errors = []
    for _ in range(steps):
        if cast is not None:
            observation = observation.astype(cast)
        observation, _, terminated, _, info = env.step(policy.predict(observation)[0])
        assert not terminated, (seed, info)
        errors.append(info["x_velocity"] - info["command"])
    assert info["degraded"] == info["failed"] == 0
    return errors


@every_planar
@pytest.mark.parametrize("seed", range(4))
def test_walks_for_three_seconds(name: str, seed: int) -> None:
    """Alive for 300 steps, without a degraded solve, near the command in the last second."""
    errors = _follow(make(name), expert(name), seed, 300)
    assert abs(np.mean(errors[200:])) < 0.1


@every_planar
def test_float32_observations_still_walk(name: str) -> None:
    """What a trainer's cast leaves of an observation is enough."""
    errors = _follow(make(name), expert(name), 7, 300, np.float32)
    assert abs(np.mean(errors[200:])) < 0.1


@every_planar
def test_walks_at_both_ends_of_the_range(name: str) -> None:
    """The slowest and the fastest command."""
    env = make(name)
    assert isinstance(env, PlanarWalker)
    for command in env.task.command_range:
        gait = walk(type(env)(max_episode_steps=400), expert(name), seed=1, command=command)
        assert gait.end == "time limit"
        assert gait.penetration < 1e-6
        assert (gait.degraded, gait.failed) == (0, 0)
        assert gait.swings > 0


@every_planar
def test_walks_with_other_time_steps(name: str) -> None:
    """An expert made for an environment with its own options walks in it."""
    env = type(make(name))(timestep=0.0025, frame_skip=4)
    errors = _follow(env, reference_controller(env), 2, 300)
    assert abs(np.mean(errors[200:])) < 0.1


@every_planar
def test_earns_close_to_one_a_step(name: str) -> None:
    """The reward of a walker that follows its command."""
    env = make(name)
    observation, _ = env.reset(seed=3)
    earned = []
    for _ in range(400):
        observation, reward, _, _, _ = env.step(expert(name).predict(observation)[0])
        earned.append(reward)
    assert np.mean(earned[200:]) > 0.9


def _bars(gait: Gait, seed: int) -> list[str]:
    """Which bars a whole episode misses."""
    off = abs(gait.speed - gait.command)
    found = {
        "alive for 1,000 steps": (gait.steps == 1000 and gait.end == "time limit", gait.end),
        "speed within 0.05 m/s": (off < 0.05, off),
        "slip < 5 mm": (gait.slip < 5e-3, gait.slip),
        "clearance >= 3 cm": (gait.clearance >= 0.03, gait.clearance),
        "single support": (gait.single_support > 0.1, gait.single_support),
        "p99 torque change < 15 %": (gait.torque_change_pooled < 0.15, gait.torque_change_pooled),
        "penetration < 1e-6 m": (gait.penetration < 1e-6, gait.penetration),
        "no degraded solve": (gait.degraded == 0, gait.degraded),
        "no failed solve": (gait.failed == 0, gait.failed),
    }
    return [f"seed {seed}: {bar}: {value}" for bar, (met, value) in found.items() if not met]


def _walk_whole(name: str, seed: int) -> list[str]:
    env = make(name)
    assert isinstance(env, PlanarWalker)
    return _bars(walk(env, expert(name), seed=seed), seed)


@every_planar
@pytest.mark.parametrize("command", [0.35, 0.6, 0.8])
def test_one_whole_episode(name: str, command: float) -> None:
    """1,000 steps at a moderate command: every bar."""
    env = make(name)
    assert isinstance(env, PlanarWalker)
    gait = walk(env, expert(name), seed=12, command=command)
    assert _bars(gait, 12) == []
    assert env.model.features["friction"].max() <= 0.8


@pytest.mark.slow
@every_planar
def test_100_seeds_meet_the_bars(name: str) -> None:
    """The same 100 times."""
    assert [miss for seed in range(100) for miss in _walk_whole(name, seed)] == []


# The pendulum


def _swing_up(seed: int, **options: Any) -> tuple[float, list[float]]:
    """(time from which it is upright to the end [s], rewards)."""
    name = "dynenvs/DoublePendulum-v0"
    env = make(name, **options)
    policy = reference_controller(env)
    observation, info = env.reset(seed=seed)
    upright, rewards = [], []
    truncated = False
    while not truncated:
        observation, reward, terminated, truncated, info = env.step(policy.predict(observation)[0])
        assert not terminated, (seed, info)
        elbow = np.arctan2(observation[3], observation[2])
        shoulder = np.arctan2(observation[1], observation[0])
        # Both links within 10 degrees of the vertical
        upright.append(np.cos(shoulder) < -0.985 and np.cos(shoulder + elbow) < -0.985)
        rewards.append(reward)
    assert info["degraded"] == info["failed"] == 0
    down = np.flatnonzero(~np.array(upright))
    return float((down[-1] + 1 if len(down) else 0) * env.dt), rewards


def test_pendulum_swings_up() -> None:
    """Upright within 6 s and held to the end."""
    for seed in range(3):
        since, rewards = _swing_up(seed)
        assert since <= 6.0
        assert np.mean(rewards[-200:]) > 0.95


@pytest.mark.slow
def test_pendulum_swings_up_from_100_seeds() -> None:
    """100 of 100."""
    assert [seed for seed in range(100) if _swing_up(seed)[0] > 6.0] == []


@pytest.mark.parametrize("actuated", ["shoulder", "elbow"])
def test_pendulum_with_one_motor_swings_up(actuated: str) -> None:
    """Pendubot and acrobot end upright too."""
    since, rewards = _swing_up(0, actuated=actuated)
    assert since <= 15.0
    assert np.mean(rewards[-200:]) > 0.9


# What it knows


def test_an_expert_refuses_what_it_does_not_know() -> None:
    """Another robot's task, and motors that it was not made for: the reason is said."""
    quadruped = make("dynenvs/Quadruped-v0")
    with pytest.raises(ValueError, match="acts in HumanoidTask, not in QuadrupedTask"):
        StridingController(quadruped)
    with pytest.raises(ValueError, match="experts give torques"):
        reference_controller(make("dynenvs/Humanoid-v0", control="position"))
    TrottingController.check(quadruped.task)
