"""Gait measurement: made-up episodes whose slip, clearance and support are known."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from dynenvs.agents import reference_controller
from dynenvs.agents.evaluation.episode import Episode, make, run_episode
from dynenvs.agents.evaluation.feet import trace_feet
from dynenvs.agents.evaluation.measure import measure_gait, measure_swing_up
from dynenvs.agents.names import environment_id, short_name
from dynenvs.envs.planar.walker import PlanarWalker
from dynenvs.registration import ENVIRONMENTS, MUJOCO

STEPS = 50


def walker(name: str) -> PlanarWalker:
    """A walker, not yet reset."""
    env = make(environment_id(name))
    assert isinstance(env, PlanarWalker)
    return env


def episode(env: Any, q: Any, impulses: Any, actions: Any = None) -> Episode:
    """An episode that never was."""
    return Episode(
        start=q[0],
        q=q,
        impulses=impulses,
        actions=np.zeros((len(q), env.model.nu)) if actions is None else actions,
        rewards=np.full(len(q), 0.5),
        command=1.0,
        end="time limit",
        fell=False,
        residual=0.0,
        degraded=0,
        failed=0,
        simulating=1.0,
    )


def standing(env: PlanarWalker, steps: int = STEPS) -> tuple[Any, Any]:
    """Positions and impulses of a walker that stands still on all feet."""
    env.reset(seed=0)
    q = np.tile(env.task.standing, (steps, 1))
    q[:, 1] = env.task.options["standing_height"][0]
    impulses = np.zeros((steps, int(env.model.header.nk), 3))
    impulses[:, env.task.foot_of_feature >= 0, 2] = 1.0
    return q, impulses


@pytest.mark.parametrize("name", ["planar-humanoid", "planar-quadruped"])
def test_standing_still_neither_slips_nor_penetrates(name: str) -> None:
    env = walker(name)
    gait = measure_gait(env, episode(env, *standing(env)))
    assert gait.slip == 0.0
    assert gait.penetration < 1e-12
    assert gait.single_support == 0.0
    assert (gait.swings, gait.distance, gait.returned) == (0, 0.0, 0.5 * STEPS)
    assert math.isnan(gait.clearance)
    assert math.isnan(gait.speed)


@pytest.mark.parametrize("name", ["planar-humanoid", "planar-quadruped"])
def test_sliding_feet_slip_by_what_they_slide(name: str) -> None:
    env = walker(name)
    q, impulses = standing(env)
    q[:, 0] = np.linspace(0.0, 0.003, STEPS)
    assert measure_gait(env, episode(env, q, impulses)).slip == pytest.approx(0.003)


def test_a_distance_is_along_the_path() -> None:
    """There and half of the way back."""
    env = walker("planar-humanoid")
    q, impulses = standing(env)
    q[:, 0] = np.interp(np.arange(STEPS), (0, 20, STEPS - 1), (0.0, 0.5, 0.25))
    gait = measure_gait(env, episode(env, q, impulses))
    assert gait.distance == pytest.approx(0.75)
    assert gait.mean_speed == pytest.approx(0.25 / (STEPS * env.dt))


def test_sliding_back_and_forth_is_slip_too() -> None:
    env = walker("planar-humanoid")
    q, impulses = standing(env)
    q[:, 0] = 0.002 * np.sin(np.linspace(0.0, np.pi, STEPS))
    assert measure_gait(env, episode(env, q, impulses)).slip == pytest.approx(0.002, rel=1e-2)


def test_creeping_in_tiny_hops_is_one_stance() -> None:
    """A foot that unloads without leaving the ground, and moves on meanwhile, slips."""
    env = walker("planar-humanoid")
    q, impulses = standing(env)
    hop = slice(20, 25)
    impulses[hop] = 0.0
    q[hop, 1] += 5e-4
    q[25:, 0] += 0.004
    assert measure_gait(env, episode(env, q, impulses)).slip == pytest.approx(0.004)


def test_a_rolling_sphere_does_not_slip() -> None:
    """The quadruped's feet roll while the metatarsals turn, their centres move by r times angle."""
    env = walker("planar-quadruped")
    q, impulses = standing(env)
    pitch = np.linspace(0.0, 0.3, STEPS)
    ankles = [env.model.position_index(f"{leg}_ankle") for leg in env.task.legs]
    q[:, ankles] += pitch[:, None]
    still = trace_feet(env.task, episode(env, q, impulses))
    foot = np.flatnonzero(env.task.foot_of_feature == 0)[0]
    radius = env.model.features["radius"][foot]
    # Shift the robot so that the feet's centres move as those of rolling balls.
    q[:, 0] -= still.center[:, foot, 0] - still.center[0, foot, 0] - radius * pitch
    gait = measure_gait(env, episode(env, q, impulses))
    assert gait.slip < 1e-12
    q[:, 0] -= radius * pitch  # now they turn on the spot: all of it is slip
    assert measure_gait(env, episode(env, q, impulses)).slip == pytest.approx(0.3 * radius)


def test_swing_clearance_and_single_support() -> None:
    """One leg bends and comes down again while the other one stands."""
    env = walker("planar-humanoid")
    q, impulses = standing(env)
    swing = slice(10, 40)
    impulses[swing, env.task.foot_of_feature == 0] = 0.0
    lift = np.zeros(STEPS)
    lift[swing] = 0.6 * np.sin(np.linspace(0.0, np.pi, 30))
    hip, knee, ankle = (env.model.position_index(f"left_{j}") for j in ("hip", "knee", "ankle"))
    q[:, hip] -= lift
    q[:, knee] += 2 * lift
    q[:, ankle] -= lift
    gait = measure_gait(env, episode(env, q, impulses))
    height = trace_feet(env.task, episode(env, q, impulses)).gap[:, env.task.foot_of_feature == 0]
    assert gait.swings == 1
    assert gait.clearance == pytest.approx(height.min(axis=1).max())
    assert gait.clearance > 0.05
    assert gait.single_support == pytest.approx(30 / STEPS)
    assert gait.slip < 1e-12


def test_penetration_speed_and_torque_change() -> None:
    env = walker("planar-humanoid")
    q, impulses = standing(env, 400)
    q[:, 0] = 0.01 * np.arange(400)
    q[7, 1] -= 1e-4
    actions = np.zeros((400, env.model.nu))
    actions[::2, 3] = 0.2
    gait = measure_gait(env, episode(env, q, impulses, actions))
    assert gait.penetration == pytest.approx(1e-4)
    assert gait.speed == pytest.approx(1.0)
    assert gait.speed_error < 1e-9
    assert gait.torque_change == pytest.approx(0.2)
    assert 0.0 < gait.torque_change_pooled <= 0.2


def test_swing_up() -> None:
    env = make(environment_id("double-pendulum"))
    q = np.zeros((100, 2))
    q[40:, 0] = np.pi + 0.05
    swing = measure_swing_up(env, episode(env, q, np.zeros((100, 0, 3))))  # type: ignore[arg-type]
    assert swing.upright_after == pytest.approx(40 * env.dt)
    assert swing.held == pytest.approx(60 * env.dt)
    q[99] = 0.0
    assert math.isnan(
        measure_swing_up(env, episode(env, q, np.zeros((100, 0, 3)))).upright_after  # type: ignore[arg-type]
    )


class Still:
    """A policy that does nothing."""

    def __init__(self, size: int) -> None:
        self.action = np.zeros(size, np.float32)

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[Any, Any]:
        return self.action, state


def test_episode_records_what_gymnasium_says() -> None:
    """The recorded fall of a walker without torques agrees with a plain loop."""
    env = walker("planar-humanoid")
    recorded = run_episode(env, Still(env.model.nu), seed=3, command=0.7)
    assert recorded.fell
    assert (recorded.command, recorded.end) == (0.7, "fall")
    env.reset(seed=3, options={"command": 0.7})
    total, steps, over = 0.0, 0, False
    while not over:
        _, reward, terminated, truncated, info = env.step(np.zeros(env.model.nu, np.float32))
        total, steps, over = total + reward, steps + 1, terminated or truncated
    assert steps == recorded.steps
    assert total == pytest.approx(recorded.rewards.sum())
    assert info["x_position"] == recorded.q[-1, 0]


@pytest.mark.parametrize("pause", [0.0, 144.0])
def test_a_pause_is_not_a_steps_time(pause: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel is compiled in the third step, say; other steps take a second by our own clock."""
    env, clock = walker("planar-humanoid"), itertools.accumulate([1.0] * 5 + [pause] + [1.0] * 14)
    monkeypatch.setattr("dynenvs.agents.evaluation.episode.time.perf_counter", lambda: next(clock))
    policy = reference_controller("dynenvs/PlanarHumanoid-v0")
    assert run_episode(env, policy, seed=0, max_steps=10).simulating == 10.0


def test_names() -> None:
    short = [short_name(env_id) for env_id in ENVIRONMENTS]
    assert short == [
        "double-pendulum",
        "chain-pendulum",
        "planar-humanoid",
        "planar-quadruped",
        "quadruped",
        "humanoid",
    ]
    for name, env_id in zip(short, ENVIRONMENTS, strict=True):
        bare = env_id.removeprefix("dynenvs/")
        for known in (name, env_id, env_id[: -len("-v0")], bare, bare[: -len("-v0")], name.upper()):
            assert environment_id(known) == env_id
    assert short_name("dynenvs/MujocoWalker2d-v5") == "mujoco-walker2d"
    choices = ", ".join([*short, *map(short_name, MUJOCO)])
    for unknown, meant in (
        ("cat", ""),
        ("pendulum", r"; did you mean 'chain-pendulum'\?"),
        ("", ""),
    ):
        words = f"unknown environment {unknown!r}; choose from: {choices}, "
        words += rf"or a robot's \.xml or \.urdf{meant}"
        with pytest.raises(ValueError, match=f"^{words}$"):
            environment_id(unknown)
    with pytest.raises(ValueError, match="no option 'command'"):
        make("dynenvs/DoublePendulum-v0", command=1.0)
