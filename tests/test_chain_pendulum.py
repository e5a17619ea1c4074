"""The chain pendulum: its geometry and contacts, what its reward asks for, what its expert reaches.

What all environments promise is tested elsewhere, with the default number of links.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import pytest
from batches import make_batch, random_actions
from hypothesis import given, settings
from hypothesis import strategies as st
from rollouts import Depth, make

import dynenvs
from dynenvs.agents.evaluation.chain_measure import AT_TARGET, Press, measure_press
from dynenvs.agents.evaluation.episodes import run_episodes
from dynenvs.agents.experts.pendulum.chain_pendulum import BANDWIDTH, bend_arc
from dynenvs.agents.experts.reference import reference_controller
from dynenvs.agents.experts.standing import StandingController
from dynenvs.contact.detection.detect import measure_gaps
from dynenvs.dynamics.jacobians import frames
from dynenvs.envs.core.codes import END_WORDS
from dynenvs.envs.pendulum.chain_kernel import PRESSED
from dynenvs.envs.pendulum.chain_pendulum import FEWEST, MOST, ON_FLOOR, ON_WALL, ChainPendulumEnv
from dynenvs.envs.robots import chain as robot
from dynenvs.jit.compiled import kernel
from dynenvs.kinematics.poses import update_poses
from dynenvs.memory.layout import Floats, Records

NAME = "dynenvs/ChainPendulum-v0"
WEIGHT = robot.MASS * robot.GRAVITY
LEAST = PRESSED * WEIGHT


@cache
def chain(links: int, **options: Any) -> ChainPendulumEnv:
    return ChainPendulumEnv(links=links, **options)


def presses(links: int, seeds: range) -> list[Press]:
    """The expert's episodes, measured."""
    batch = make_batch(NAME, len(seeds), links=links, num_threads=1)
    episodes = run_episodes(batch, reference_controller(batch), seed=seeds[0])
    return [measure_press(chain(links), episode) for episode in episodes]


def misses(press: Press) -> list[str]:
    """What an episode falls short of."""
    bars = {
        "to the time limit": press.end == "time limit" and press.steps == 1000,
        "there and pressing within 3.5 s, to the end": press.after < 3.5,
        "within 1 cm": press.distance <= AT_TARGET,
        "a tenth of the weight": press.pressure >= LEAST,
        "penetration below 1e-6 m": press.penetration < 1e-6,
        "no degraded solve": press.degraded == press.failed == 0,
    }
    return [f"{bar}: {press}" for bar, met in bars.items() if not met]


@pytest.mark.parametrize("links", [FEWEST, 5, pytest.param(MOST, marks=pytest.mark.thorough)])
def test_geometry_and_motors(links: int) -> None:
    """Tip, its velocity and the torques that hold the level chain, each by another way."""
    env = chain(links)
    observation, info = env.reset(seed=links)
    rng = np.random.default_rng(links)
    state = env.get_state()
    state["world"]["q"][0] = rng.uniform(-0.3, 0.3, links)
    state["world"]["q"][0, 0] -= 1.5  # in the air
    state["world"]["v"][0] = rng.uniform(-1.0, 1.0, links)
    env.set_state(state)
    q, v, n = state["world"]["q"][0], state["world"]["v"][0], links
    observation, info = env.worlds.observations[0], env.worlds.info()
    np.testing.assert_array_equal(observation[: 2 * n], np.concatenate([q, v]))
    ball = next(geom for geom in env.model.geoms if geom.name == f"ball{links - 1}")

    def center(at: Floats) -> Floats:
        found = frames(env.model, at)
        place: Floats = found.positions[-1] + found.rotations[-1] @ ball.position
        return place[[0, 2]]

    np.testing.assert_allclose(info["tip"], center(q), atol=1e-12)
    np.testing.assert_allclose(robot.tip(q), center(q), atol=1e-12)
    np.testing.assert_array_equal(observation[2 * n : 2 * n + 2], info["tip"])
    speed = (center(q + 1e-6 * v) - center(q - 1e-6 * v)) / 2e-6
    np.testing.assert_allclose(observation[2 * n + 2 : 2 * n + 4], speed, atol=1e-8)
    np.testing.assert_array_equal(observation[2 * n + 4 : 2 * n + 6], info["target"])
    distance = np.hypot(*(info["tip"] - info["target"]))
    assert info["tip_distance"] == pytest.approx(distance, rel=1e-15)
    level = np.zeros(links)
    level[0] = np.pi / 2
    holding = dynenvs.bias_force(env.model, level, np.zeros(links))
    np.testing.assert_allclose(env.model.effort_limit, robot.STRENGTH * holding, rtol=1e-12)


@settings(max_examples=40)
@given(links=st.integers(FEWEST, MOST), seed=st.integers(0, 2**32), noise=st.floats(0.0, 0.2))
def test_begins_in_the_air_with_a_target_that_only_touching_reaches(
    links: int, seed: int, noise: float
) -> None:
    env = ChainPendulumEnv(links=links, reset_noise=noise)
    _, info = env.reset(seed=seed)
    assert Depth(env)() < 0.0
    (x, z), radius = info["target"], robot.radius(links)
    if x == robot.WALL - radius:
        assert ON_WALL[0] <= z <= ON_WALL[1]
    else:
        assert z == radius
        assert ON_FLOOR[0] <= x <= ON_FLOOR[1]


def test_surfaces() -> None:
    """Targets lie where they are asked for, about as often on the floor as on the wall."""
    heights = {}
    for surface in ("floor", "wall", "both"):
        batch = make_batch(NAME, 400, surface=surface)
        on_floor = batch.reset(seed=0)[1]["target"][:, 1] == robot.radius(5)
        heights[surface] = on_floor.mean()
    assert heights["floor"] == 1.0
    assert heights["wall"] == 0.0
    assert 0.4 < heights["both"] < 0.6


def test_reward_asks_for_the_spot_and_for_pressure() -> None:
    """Held by the expert: close to 1. The same pose without contact: no pay for pressing."""
    env = chain(5, surface="floor")
    policy = reference_controller(env)
    observation, _ = env.reset(seed=1)
    for _ in range(500):
        observation, reward, _, _, info = env.step(policy.predict(observation)[0])
    assert reward > 0.93
    assert info["pressure"] == info["tip_force"][1] >= LEAST
    assert observation[-1] == info["pressure"] / WEIGHT
    assert info["reward_press"] == pytest.approx(0.3, abs=1e-3)
    state = env.get_state()
    state["world"]["memory"]["total"][0] = 0.0  # as if the floor had not been there
    env.set_state(state)
    assert env.worlds.info()["pressure"] == 0.0
    state["world"]["q"][0, 0] -= 0.3  # 20 cm away
    env.set_state(state)
    away = env.step(policy.predict(env.worlds.observations[0])[0])
    assert away[4]["reward_reach"] < 1e-3
    assert away[1] < 0.11


def test_balls_keep_off_each_other() -> None:
    """Curled up by all motors: balls press on balls, none reaches into another."""
    env = chain(9)
    env.reset(seed=0)
    depth, deepest, pressed = Depth(env), 0.0, False
    names = [geom.name for geom in env.model.geoms]
    floor, wall = names.index("floor"), names.index("wall")
    between = ~np.isin(env.model.candidates["geom_b"], (floor, wall))
    action = np.ones(9, np.float32)
    action[0] = -0.2
    for _ in range(300):
        info = env.step(action)[4]
        deepest = max(deepest, depth())
        pressed |= bool((env.worlds.states["memory"]["total"][0][between] != 0.0).any())
    assert pressed
    assert deepest < 1e-6
    assert info["degraded"] == info["failed"] == 0


def test_any_number_of_links_steps_alike_alone_and_in_a_batch() -> None:
    for links in (2, 8):
        batch = make_batch(NAME, 3, links=links)
        actions = random_actions(batch, 40)
        observations, _ = batch.reset(seed=5)
        singles = [make(NAME, links=links) for _ in range(3)]
        for i, single in enumerate(singles):
            assert single.reset(seed=5 + i)[0].tobytes() == observations[i].tobytes()
        for action in actions:
            observations, rewards, *_ = batch.step(action)
            for i, single in enumerate(singles):
                seen, reward, *_ = single.step(action[i])
                assert (seen.tobytes(), reward) == (observations[i].tobytes(), rewards[i])


def test_standing_holds_the_level_chain_for_next_to_nothing() -> None:
    env = chain(5)
    policy = StandingController(env)
    observation, info = env.reset(seed=2)
    start, total = info["tip"], 0.0
    for _ in range(300):
        observation, reward, _, _, info = env.step(policy.predict(observation)[0])
        total += reward
    assert np.hypot(*(info["tip"] - start)) < 0.02
    assert total < 1.0


@pytest.mark.parametrize("links", [FEWEST, 5, MOST])
def test_expert_damps_critically_in_the_air(links: int) -> None:
    """Its pose to reach follows from where the hinges are, so other speeds change damping alone."""
    env = chain(links)
    policy = reference_controller(env)
    env.reset(seed=7)
    state = env.get_state()
    means = []
    for speed in np.random.default_rng(1).normal(0.0, 0.01, (2, links)):
        state["world"]["v"][0] = speed
        env.set_state(state)
        action, _ = policy.predict(env.worlds.observations[0])
        assert np.abs(action).max() < 1.0
        env.step(action)
        means.append((env.get_state()["world"]["v"][0] - speed) / env.dt + 2.0 * BANDWIDTH * speed)
    assert np.abs(means[0]).max() > 1.0  # there is something to be tracked
    np.testing.assert_allclose(means[0], means[1], atol=0.01)


@kernel
def bend(constants: Records, turn: float, reach: float, side: float, q: Floats) -> None:
    bend_arc(constants[0], q.shape[0], turn, reach, side, q)


def arc(links: int, turn: float, reach: float, side: float) -> Floats:
    """Hinge angles for a tip so far out, in lengths of the chain; and they are the same but one."""
    constants = reference_controller(chain(links)).constants
    q = np.full(links, np.nan)
    bend(constants, turn, reach * links * constants["spacing"][0], side, q)
    assert len(set(q[1:])) == 1
    assert 0.0 <= side * q[1] <= 2.0 * np.pi / links + 1e-15
    return q


def end(q: Floats) -> Floats:
    """Where an arc ends, as seen from the pivot [lengths of the chain]."""
    angle = np.cumsum(q)
    return np.array([np.sin(angle).mean(), np.cos(angle).mean()])


@given(links=st.integers(FEWEST, MOST), reach=st.floats(0.0, 1.0), turn=st.floats(-3.0, 3.0))
def test_an_arc_ends_where_it_shall(links: int, reach: float, turn: float) -> None:
    wanted = reach * np.array([np.sin(turn), np.cos(turn)])
    np.testing.assert_allclose(end(arc(links, turn, reach, -1.0)), wanted, atol=1e-12)


@pytest.mark.parametrize("side", [-1.0, 1.0])
@pytest.mark.parametrize("links", range(FEWEST, MOST + 1))
def test_an_arc_around_full_stretch(links: int, side: float) -> None:
    """From a full circle to beyond the chain's length.

    Oracle: with so little lacking of n links, sin(n x) / sin(x) = n - n (n^2 - 1) x^2 / 6.
    """
    for reach in (0.0, 1e-300, 1e-9, 0.5, 0.9, 0.999):
        q = arc(links, 0.3, reach, side)
        wanted = reach * np.array([np.sin(0.3), np.cos(0.3)])
        np.testing.assert_allclose(end(q), wanted, atol=1e-14)
    for little in (1e-7, 1e-10, 1e-13):
        q = arc(links, 0.3, 1.0 - little, side)
        lacking = links - (1.0 - little) * links
        bent = 2.0 * np.sqrt(6.0 * lacking / (links * (links**2 - 1)))
        np.testing.assert_allclose(side * q[1], bent, rtol=max(1e-6, 1e-15 / little))
    for beyond in (1.0, np.nextafter(1.0, 2.0), 1.5, 1e6):
        straight = np.zeros(links)
        straight[0] = 0.3
        np.testing.assert_array_equal(arc(links, 0.3, beyond, side), straight)


@pytest.mark.parametrize("links", [2, 3, 5, 8, 12, 15])
def test_expert_presses_its_spot(links: int) -> None:
    assert [miss for press in presses(links, range(3)) for miss in misses(press)] == []


@pytest.mark.slow
@pytest.mark.parametrize("links", [2, 3, 5, 8, 12, 15])
def test_expert_presses_its_spot_with_100_seeds(links: int) -> None:
    assert [miss for press in presses(links, range(100)) for miss in misses(press)] == []


@pytest.mark.slow
@pytest.mark.parametrize(("links", "steps"), [(5, 1_000_000), (2, 200_000), (12, 200_000)])
def test_endures_random_steps(links: int, steps: int) -> None:
    """No failed and no degraded solve, nothing sinks in, every observation within its bounds."""
    count = 50
    batch = make_batch(NAME, count, links=links, autoreset_mode="SameStep")
    batch.reset(seed=0)
    low, high = batch.single_observation_space.low, batch.single_observation_space.high
    rng = np.random.default_rng(0)
    depth, deepest = Depth(chain(links)), 0.0
    ends: Counter[str] = Counter()
    for k in range(steps // count):
        actions = rng.uniform(-1, 1, (count, links)).astype(np.float32)
        observations, rewards, _, _, info = batch.step(actions)
        assert np.all((observations >= low) & (observations <= high))
        assert np.all((rewards >= 0.0) & (rewards <= 1.0 + 1e-12))
        if "final_info" in info:
            ended, final = info["_final_info"], info["final_info"]
            ends.update(END_WORDS[end] for end in batch.worlds.ends[ended])
            assert not final["degraded"][ended].any()
            assert not final["failed"][ended].any()
        update_poses(depth.m, batch.worlds.states["q"][k % count], depth.w.pose)
        measure_gaps(depth.w)
        deepest = max(deepest, -float(depth.w.gaps.min()))
    print(ends, deepest)
    assert set(ends) <= {"time limit", "velocity bound"}
    assert deepest < 1e-6
