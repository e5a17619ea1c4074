"""The quadruped with a free trunk: commands, observation, options, and what its expert reaches."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from batches import make_batch
from rollouts import bits, hold, idle, state_bits
from solids import read_gaps
from strides import check_follows, missed_bars, velocities_in_float32

from dynenvs.agents.evaluation.episode import Episode, run_episode
from dynenvs.agents.evaluation.episodes import run_episodes
from dynenvs.agents.evaluation.feet import trace_feet
from dynenvs.agents.evaluation.legged_measure import measure_trot
from dynenvs.agents.experts.reference import reference_controller
from dynenvs.envs.legged.quadruped import QuadrupedEnv, QuadrupedVectorEnv
from dynenvs.envs.legged.shells import LeggedRobot, LeggedVectorEnv

NAME = "dynenvs/Quadruped-v0"
BARS = 0.03, 5e-3, 0.15  # clearance and slip [m], change of torques
RANGES = np.array([(0.0, 1.5), (-0.4, 0.4), (-0.8, 0.8)])


def quadruped(**options: Any) -> LeggedRobot:
    """The bare environment."""
    return QuadrupedEnv(**options)


# Commands


def test_command_is_drawn_fixed_or_given() -> None:
    """Within its ranges; by the constructor for ever, by `reset` for one episode."""
    env = quadruped()
    drawn = np.array([env.reset(seed=seed)[1]["command"] for seed in range(200)])
    low, high = RANGES.T
    assert np.all((low <= drawn) & (drawn <= high))
    assert np.all(drawn.min(axis=0) < low + 0.1 * (high - low))
    assert np.all(drawn.max(axis=0) > high - 0.1 * (high - low))
    told = (0.7, -0.1, 0.3)
    observation, info = env.reset(options={"command": told})
    np.testing.assert_array_equal(info["command"], told)
    np.testing.assert_array_equal(observation[36:39], told)
    assert not np.array_equal(env.reset()[1]["command"], told)
    fixed = quadruped(command=told)
    np.testing.assert_array_equal(fixed.reset(seed=1)[1]["command"], told)
    np.testing.assert_array_equal(fixed.reset(options={"command": (0, 0, 0)})[1]["command"], 0)
    np.testing.assert_array_equal(fixed.reset()[1]["command"], told)


def test_a_given_command_draws_the_same_start() -> None:
    """It changes the command only."""
    env = quadruped()
    drawn, _ = env.reset(seed=6)
    given, _ = env.reset(seed=6, options={"command": (0.5, 0.0, 0.0)})
    np.testing.assert_array_equal(np.delete(drawn, [36, 37, 38]), np.delete(given, [36, 37, 38]))


@pytest.mark.parametrize(
    "command",
    ["fast", 0.5, [0.5], (0.1, 0.2), (2.0, 0, 0), (0, 0.5, 0), (0, 0, -1), (math.nan, 0, 0), None],
    ids=repr,
)
def test_bad_commands_change_nothing(command: Any) -> None:
    """Named in `reset`, `set_command` and the constructor."""
    env = quadruped()
    env.reset(seed=0)
    before = state_bits(env)
    attempts = [
        lambda: env.reset(seed=1, options={"command": command}),
        lambda: env.set_command(command),
    ]
    if command is not None:
        attempts.append(lambda: quadruped(command=command))
    for attempt in attempts:
        with pytest.raises(ValueError, match="command"):
            attempt()
        assert state_bits(env) == before


def test_a_command_changes_in_mid_episode() -> None:
    """The next observation shows it; it is part of the state."""
    env = quadruped()
    env.reset(seed=0)
    env.set_command((0.2, 0.1, -0.3))
    observation, *_ = env.step(idle(env, 0))
    np.testing.assert_array_equal(observation[36:39], (0.2, 0.1, -0.3))
    other = quadruped()
    other.set_state(env.get_state())
    np.testing.assert_array_equal(other.step(idle(env, 0))[4]["command"], (0.2, 0.1, -0.3))


def test_commands_of_a_batch() -> None:
    """One for all or one a world, at reset and in between; a bad one is named."""
    batch = make_batch(NAME, 3)
    assert isinstance(batch, LeggedVectorEnv)
    each = np.array([(0.1, 0.0, 0.0), (0.2, 0.1, 0.0), (0.3, 0.0, 0.4)])
    observations, info = batch.reset(seed=0, options={"command": each})
    np.testing.assert_array_equal(info["command"], each)
    np.testing.assert_array_equal(observations[:, 36:39], each)
    batch.set_command(each[::-1])
    *_, info = batch.step(np.zeros((3, 12), np.float32))
    np.testing.assert_array_equal(info["command"], each[::-1])
    batch.set_command((0.5, 0.0, 0.0))
    *_, info = batch.step(np.zeros((3, 12), np.float32))
    np.testing.assert_array_equal(info["command"], np.tile((0.5, 0.0, 0.0), (3, 1)))
    each[1, 1] = 0.7
    with pytest.raises(ValueError, match=r"command .* entries \[1\]"):
        batch.reset(options={"command": each})


def test_commands_are_drawn_anew_on_request() -> None:
    """Every so many seconds, unless the command was given."""
    env = quadruped(command_interval=0.15, terminate_on_fall=False)
    env.reset(seed=0)
    told = [tuple(env.step(idle(env, i))[4]["command"]) for i in range(40)]
    changes = [i + 1 for i in range(1, 40) if told[i] != told[i - 1]]
    assert changes == [10, 20, 30, 40]
    env.set_command((0.5, 0.0, 0.0))
    assert {tuple(env.step(idle(env, i))[4]["command"]) for i in range(40)} == {(0.5, 0.0, 0.0)}
    env.reset(options={"command": (0.4, 0.0, 0.0)})
    assert {tuple(env.step(idle(env, i))[4]["command"]) for i in range(40)} == {(0.4, 0.0, 0.0)}


# Observation and info


def _turned(env: LeggedRobot, angle: float) -> None:
    """Turn the whole robot about the vertical through the origin."""
    state = env.get_state()
    row = state["world"][0]
    c, s = math.cos(angle), math.sin(angle)
    for vector in (row["q"], row["v"]):
        vector[:2] = c * vector[0] - s * vector[1], s * vector[0] + c * vector[1]
    c, s = math.cos(angle / 2), math.sin(angle / 2)
    w, x, y, z = row["q"][3:7].copy()
    row["q"][3:7] = c * w - s * z, c * x - s * y, c * y + s * x, c * z + s * w
    env.set_state(state)


def test_the_heading_is_not_seen() -> None:
    """A robot that is turned about the vertical sees the same."""
    env = quadruped()
    env.reset(seed=0)
    for i in range(10):
        env.step(0.3 * hold(env, i))
    seen = env.worlds.observations[0].copy()
    _turned(env, 2.0)
    np.testing.assert_allclose(env.worlds.observations[0], seen, atol=1e-12)


def test_observation_says_what_the_state_is() -> None:
    """Height, upward direction, velocities in the trunk's axes, contacts."""
    env = quadruped()
    env.reset(seed=3)
    rng = np.random.default_rng(0)
    for _ in range(12):
        o, *_, info = env.step(0.4 * rng.uniform(-1, 1, 12).astype(np.float32))
    row = env.worlds.states[0]
    w, x, y, z = row["q"][3:7]
    R = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    assert o[0] == row["q"][2]
    np.testing.assert_allclose(o[1:4], R[2], atol=1e-14)
    np.testing.assert_array_equal(o[4:16], row["q"][7:])
    np.testing.assert_allclose(o[16:19], R.T @ row["v"][:3], atol=1e-13)
    np.testing.assert_array_equal(o[19:34], row["v"][3:])
    feet = env.task.foot_of_feature >= 0
    np.testing.assert_array_equal(o[39:43], row["memory"]["impulse"][feet, 2] > 0)
    assert info["x_position"] == row["q"][0]
    assert info["y_position"] == row["q"][1]


def _heading(q: Any) -> float:
    w, x, y, z = q[3:7]
    return math.atan2(2 * (x * y + w * z), 1 - 2 * (y * y + z * z))


def test_velocity_is_that_of_the_step_in_the_heading() -> None:
    """Mean over the control step; and info is not stale."""
    env = quadruped()
    env.reset(seed=5)
    row = env.worlds.states[0]
    for i in range(20):
        before = row["q"].copy()
        *_, info = env.step(hold(env, i))
        moved = (row["q"][:2] - before[:2]) / env.dt
        np.testing.assert_allclose([info["x_velocity"], info["y_velocity"]], moved, atol=1e-12)
        assert np.hypot(*info["velocity"][:2]) == pytest.approx(np.hypot(*moved), abs=1e-12)
        turned = _heading(row["q"]) - _heading(before)
        assert info["velocity"][2] == pytest.approx(turned / env.dt, abs=1e-12)


# Ends and options


def test_ends_when_anything_but_a_foot_touches() -> None:
    """Legs let go: a knee or the trunk comes down."""
    env = quadruped()
    env.reset(seed=0)
    for i in range(200):
        *_, terminated, _, info = env.step(idle(env, i))
        if terminated:
            break
    assert info["end"] == "fall"
    assert info["contact_forces"].shape == (4, 3)


def test_legs_part_each_other_on_request() -> None:
    """Driven inward, they meet and stop; without the option they pass through each other."""
    touching = QuadrupedEnv(self_collision=True, terminate_on_fall=False)
    passing = QuadrupedEnv(terminate_on_fall=False)
    legs = slice(int(touching.model.header.nk) - int(touching.model.header.ns), None)
    inward = np.tile([-1.0, 0.0, 0.0, 1.0, 0.0, 0.0], 2).astype(np.float32)
    deepest = []
    for env in (touching, passing):
        env.reset(seed=0)
        deepest.append(0.0)
        for _ in range(100):
            env.step(inward)
            gaps = read_gaps(touching.model, np.array(env.worlds.states["q"][0]))
            deepest[-1] = min(deepest[-1], gaps[legs].min())
    assert deepest[0] > -1e-4
    assert deepest[1] < -5e-3
    status = touching.worlds.states["status"][0]
    assert (status["failed"], status["degraded"], status["overflow"]) == (0, 0, 0)
    assert len(passing.model.pairs) == 0
    with pytest.raises(ValueError, match="self_collision"):
        QuadrupedEnv(self_collision="yes")


def test_pushes() -> None:
    """Each changes the momentum by its impulse; without them not a bit differs."""
    envs = [quadruped(push_impulse=size, push_interval=0.15) for size in (0.0, 6.0)]
    for env in envs:
        env.reset(seed=0)
    mass = envs[0].model.bodies["mass"].sum()
    for i in range(9):
        assert bits(envs[0].step(hold(envs[0], i))) == bits(envs[1].step(hold(envs[1], i)))
    forces = []
    for env in envs:
        *_, info = env.step(hold(env, 9))
        forces.append(info["contact_forces"].sum(axis=0) * env.dt)
        assert not env.worlds.states["wrench"].any()
    trunk = [env.worlds.states["v"][0, :2] for env in envs]
    assert 0.1 * 6.0 / mass < np.linalg.norm(trunk[1] - trunk[0]) < 2.0 * 6.0 / mass


def test_friction_and_masses_are_drawn() -> None:
    """Within their ranges, one a world and one a body; left alone by default."""
    env = quadruped(friction_range=(0.4, 1.2), mass_range=(0.9, 1.1))
    nominal = quadruped()
    frictions = set()
    for seed in range(20):
        env.reset(seed=seed)
        nominal.reset(seed=seed)
        row, plain = env.worlds.states[0], nominal.worlds.states[0]
        factor = row["coefficients"]["friction"] / env.model.features["friction"]
        assert np.ptp(factor) < 1e-12
        assert 0.4 <= factor[0] <= 1.2
        frictions.add(float(factor[0]))
        assert np.all((row["mass_scale"][1:] >= 0.9) & (row["mass_scale"][1:] <= 1.1))
        np.testing.assert_array_equal(plain["mass_scale"], 1.0)
        own = plain["coefficients"]["friction"]
        np.testing.assert_array_equal(own, env.model.features["friction"])
    assert len(frictions) == 20


# Measuring


def _episode(env: LeggedRobot, q: Any, loaded: bool = True) -> Episode:
    """An episode that never was."""
    impulses = np.zeros((len(q), int(env.model.header.nk), 3))
    impulses[:, env.task.foot_of_feature >= 0, 2] = float(loaded)
    none = np.zeros((len(q), 12))
    command = np.array([0.3, 0.0, 0.0])
    return Episode(q[0], q, impulses, none, none[:, 0], command, "stopped", False, 0.0, 0, 0, 1.0)


def test_a_distance_is_along_the_path() -> None:
    """Of a robot that is carried once around a circle of 2 m."""
    env = quadruped()
    env.reset(seed=0)
    q = np.tile(env.worlds.states["q"][0], (401, 1))
    turn = np.linspace(0.0, 2.0 * np.pi, 401)
    q[:, :2] += 2.0 * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    assert measure_trot(env, _episode(env, q)).distance == pytest.approx(4.0 * np.pi, rel=1e-4)


def test_measures_slip_and_velocity() -> None:
    """A robot that is dragged along slips as far as it goes, and has that velocity."""
    env = quadruped()
    env.reset(seed=0)
    q = np.tile(env.worlds.states["q"][0], (400, 1))
    trot = measure_trot(env, _episode(env, q))
    assert trot.slip == 0.0
    assert trot.speed_error == pytest.approx(0.3)
    q[:, 0] += 0.3 * env.dt * np.arange(400)
    trot = measure_trot(env, _episode(env, q))
    assert trot.slip == pytest.approx(0.3 * env.dt * 399)
    assert trot.speed_error == pytest.approx(0.0, abs=1e-12)
    assert trot.swings == 0


def test_rolling_is_no_slip() -> None:
    """A foot whose calf tilts on the spot rolls: its centre moves by radius times angle."""
    env = quadruped()
    env.reset(seed=0)
    pitch = np.linspace(0.0, 0.3, 100)
    foot = int(np.flatnonzero(env.task.foot_of_feature == 0)[0])
    radius = float(env.model.candidates["radius"][foot])
    q = np.tile(env.worlds.states["q"][0], (100, 1))
    q[:, 3], q[:, 5] = np.cos(pitch / 2), np.sin(pitch / 2)
    center = trace_feet(env.task, _episode(env, q)).center[:, foot, :2]
    q[:, 0] += radius * pitch - (center[:, 0] - center[0, 0])
    impulses = np.zeros((100, int(env.model.header.nk), 3))
    impulses[:, foot, 2] = 1.0
    episode = _episode(env, q)._replace(impulses=impulses)
    assert measure_trot(env, episode).slip < 1e-6


# The expert


@pytest.mark.parametrize(
    "command", [(0, 0, 0), (0.5, 0, 0), (1.0, 0.3, -0.6), (1.5, 0, 0)], ids=repr
)
@pytest.mark.thorough
def test_trots_as_commanded(command: tuple[float, float, float]) -> None:
    """Slow, fast, sideways, turning: every bar, in six seconds."""
    env = quadruped(max_episode_steps=400)
    episode = run_episode(env, reference_controller(env), seed=12, command=command)
    assert missed_bars(measure_trot(env, episode), 12, *BARS) == []
    assert episode.rewards[200:].mean() > 0.8


@pytest.mark.parametrize(
    "options",
    [
        {"timestep": 0.0025, "frame_skip": 6},
        {"timestep": 0.005, "frame_skip": 3},
        {"friction_range": (0.6, 0.6), "mass_range": (0.9, 1.1)},
        {"push_impulse": 4.0},
    ],
    ids=repr,
)
@pytest.mark.thorough
def test_trots_with_other_options(options: dict[str, Any]) -> None:
    """Other physics steps, slippery ground, other masses, pushes."""
    env = quadruped(command=(0.6, 0.1, 0.3), max_episode_steps=400, **options)
    check_follows(env)


@pytest.mark.thorough
def test_float32_observations_still_trot() -> None:
    """What a trainer's cast leaves of an observation is enough."""
    env = quadruped(command=(0.8, 0.0, 0.2))
    speeds = velocities_in_float32(env, 300)
    np.testing.assert_allclose(speeds[150:].mean(axis=0), (0.8, 0.0, 0.2), atol=0.05)


@pytest.mark.slow
def test_200_seeds_meet_the_bars() -> None:
    """Whole episodes, commands drawn from the whole range."""
    missed = []
    for first in range(0, 200, 50):
        batch = QuadrupedVectorEnv(num_envs=50)
        episodes = run_episodes(batch, reference_controller(batch), seed=first)
        for seed, episode in enumerate(episodes, first):
            missed += missed_bars(measure_trot(batch, episode), seed, *BARS)
    assert missed == []


@pytest.mark.slow
def test_takes_pushes() -> None:
    """95 % of 200 episodes with 5 N s every three seconds."""
    alive = 0
    for first in range(0, 200, 50):
        batch = QuadrupedVectorEnv(num_envs=50, push_impulse=5.0)
        episodes = run_episodes(batch, reference_controller(batch), seed=first)
        alive += sum(episode.end == "time limit" for episode in episodes)
    assert alive >= 190
