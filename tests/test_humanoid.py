"""The humanoid with a free pelvis: its body, its falls, and what its expert reaches."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from PIL import Image
from rollouts import idle
from strides import check_follows, missed_bars, velocities_in_float32

from dynenvs.agents.evaluation.episode import run_episode
from dynenvs.agents.evaluation.episodes import run_episodes
from dynenvs.agents.evaluation.legged_measure import measure_trot
from dynenvs.agents.experts.reference import reference_controller
from dynenvs.envs.legged.humanoid import HumanoidEnv, HumanoidVectorEnv
from dynenvs.envs.legged.records import BODY, ITSELF
from dynenvs.envs.legged.shells import LeggedRobot
from dynenvs.envs.robots import humanoid as robot
from dynenvs.kinematics.poses import update_poses
from dynenvs.memory.layout import open_model
from dynenvs.memory.records import LEMKE, POSE
from dynenvs.simulation.inverse import InverseStatus, inverse_dynamics
from studies import survival
from studies.survival import plot, survivors


def humanoid(**options: Any) -> LeggedRobot:
    """The bare environment."""
    return HumanoidEnv(**options)


def _poses(q: Any) -> Any:
    """Poses of all bodies at positions q, by name."""
    model = robot.build()
    poses = np.zeros(int(model.header.nb), POSE)
    update_poses(open_model(model.packed), np.asarray(q, float), poses)
    return dict(zip(model.body_names, poses, strict=True))


# Of an expert that gives way; torques change by 10 % in the mean, most at the fastest
BARS = {"slip": 5e-3, "change": 0.15}


# The body


def test_a_man_of_170_cm_and_70_kg() -> None:
    """Mass, stature, and the legs' and arms' share of the mass (de Leva 1996, table 4)."""
    model = robot.build()
    assert (model.nv, model.nu) == (27, 21)
    mass = model.bodies["mass"]
    assert mass.sum() == pytest.approx(70.0, abs=1e-9)
    legs = [
        i for i, name in enumerate(model.body_names) if name.endswith(("thigh", "shank", "foot"))
    ]
    assert mass[legs].sum() / 70.0 == pytest.approx(2 * (0.1416 + 0.0433 + 0.0137))
    neutral = np.zeros(model.nq)
    neutral[3] = 1.0
    poses = _poses(neutral)
    head = poses["torso"]["p"][2] + robot.MIDDLE_TRUNK + robot.UPPER_TRUNK + robot.HEAD
    assert head - (poses["left_foot"]["p"][2] - robot.ANKLE) == pytest.approx(1.70, abs=0.03)


def test_left_and_right_are_mirror_images() -> None:
    """Masses, inertias, limits and efforts; and a mirrored pose is the mirrored pose."""
    model = robot.build()
    flip = np.diag([1.0, -1.0, 1.0])
    names = list(model.body_names)
    for i, name in enumerate(names):
        if name.startswith("left_"):
            left, right = model.bodies[i], model.bodies[names.index("right" + name[4:])]
            assert left.mass == right.mass
            np.testing.assert_allclose(flip @ left.com, right.com, atol=1e-15)
            np.testing.assert_allclose(flip @ left.inertia @ flip, right.inertia, atol=1e-15)
    signs = {"x": -1.0, "y": 1.0, "z": -1.0}
    rng = np.random.default_rng(0)
    q, mirrored = np.zeros(model.nq), np.zeros(model.nq)
    q[3] = mirrored[3] = 1.0
    for joint, drive in robot.DRIVES.items():
        for side, other in (("left_", "right_"), ("right_", "left_"), ("", "")):
            if (joint in robot.TORSO) == (side == ""):
                at, there = model.position_index(side + joint), model.position_index(other + joint)
                q[at] = rng.uniform(-0.5, 0.5)
                mirrored[there] = signs[drive.axis] * q[at]
                span = np.array([model.lower[at - 1], model.upper[at - 1]])
                opposite = np.array([model.lower[there - 1], model.upper[there - 1]])
                if side:
                    expected = span if drive.axis == "y" else -span[::-1]
                    np.testing.assert_array_equal(opposite, expected)
    here, there = _poses(q), _poses(mirrored)
    for name in names:
        twin = {"left": "right" + name[4:], "right": "left" + name[5:]}.get(
            name.split("_")[0], name
        )
        np.testing.assert_allclose(flip @ here[name]["p"], there[twin]["p"], atol=1e-12)
        np.testing.assert_allclose(flip @ here[name]["R"] @ flip, there[twin]["R"], atol=1e-12)


def test_limits_are_those_of_the_table() -> None:
    """Every joint has its drive's effort, speed, damping and range, and the stance is within."""
    model = robot.build()
    for i, name in enumerate(model.joint_names[1:]):
        drive = robot.DRIVES[name.removeprefix("left_").removeprefix("right_")]
        dof = model.dofs[6 + i]
        assert (dof.effort, dof.velocity, dof.damping) == (drive.effort, drive.speed, drive.damping)
        assert dof.upper - dof.lower == pytest.approx(drive.limits[1] - drive.limits[0])
        assert dof.lower <= robot.STANDING[i] <= dof.upper


# Contacts and ends


def test_whose_contact_a_feature_is() -> None:
    """Eight corners a foot, of which four lie below; legs touch each other, the rest the ground."""
    task = humanoid().task
    feet = task.foot_of_feature
    assert [int((feet == leg).sum()) for leg in (0, 1)] == [8, 8]
    assert (feet == BODY).sum() > 10
    selves = [f for f, whose in zip(task.model.candidates, feet, strict=True) if whose == ITSELF]
    assert len(selves) > 0
    assert all(f.body_a > 0 and f.body_b > 0 for f in selves)


def test_ends_when_anything_but_a_foot_touches() -> None:
    """Let go, it folds and falls."""
    env = humanoid()
    env.reset(seed=0)
    for i in range(200):
        *_, terminated, _, info = env.step(idle(env, i))
        if terminated:
            break
    assert info["end"] == "fall"
    assert info["contact_forces"].shape == (2, 3)


def test_legs_that_meet_stop_each_other_and_are_no_fall() -> None:
    """Hips pressed inward in the air: the legs touch, do not pass, and the episode goes on."""
    env = humanoid(reset_noise=0.0)
    env.reset(seed=0)
    state = env.get_state()
    state["world"]["q"][0, 2] += 0.5
    env.set_state(state)
    row = env.worlds.states[0]
    action = np.zeros(21, np.float32)
    action[1], action[7] = -0.5, 0.5
    touched = False
    for _ in range(16):
        *_, terminated, _, info = env.step(action)
        assert not terminated
        selves = env.task.foot_of_feature == ITSELF
        touched = touched or bool(row["memory"]["total"][selves].any())
    assert touched
    assert info["degraded"] == 0
    poses = _poses(row["q"])
    apart = poses["left_foot"]["p"][1] - poses["right_foot"]["p"][1]
    assert apart > 0.04  # shanks or shoes hold the ankles apart


def test_stands_on_its_soles() -> None:
    """Torques that keep the joints still exist: all eight corners carry, nothing sinks or slips."""
    env = humanoid(reset_noise=0.0)
    env.reset(seed=0)
    row = env.worlds.states[0]
    efforts = env.model.dofs["effort"][6:]
    corners = (env.task.foot_of_feature >= 0) & (env.model.candidates["center"][:, 2] < -0.06)
    assert corners.sum() == 8
    cost = np.full(len(env.model.features), np.inf)
    cost[env.model.feature_of[corners]] = 1.0
    start = row["q"].copy()
    for _ in range(10):
        held = inverse_dynamics(env.model, row["q"], row["v"], np.zeros(21), env.dt, load_cost=cost)
        assert held.status == InverseStatus.TRACKED
        assert (held.impulses[corners, 2] > 0).all()
        action = (held.tau / efforts).astype(np.float32)
        assert np.abs(action).max() < 1.0
        _, _, terminated, _, info = env.step(action)
        assert not terminated
        assert info["contact_forces"][:, 2].sum() == pytest.approx(70.0 * 9.81, rel=0.05)
    assert np.abs(row["q"] - start).max() < 0.01


# The expert


@pytest.mark.parametrize(
    "command", [(0, 0, 0), (0.8, 0, 0), (0.4, 0.2, -0.4), (0, -0.2, 0)], ids=repr
)
@pytest.mark.thorough
def test_walks_as_commanded(command: tuple[float, float, float]) -> None:
    """On the spot, fast, sideways, turning: every bar, in six seconds."""
    env = humanoid(max_episode_steps=400)
    episode = run_episode(env, reference_controller(env), seed=12, command=command)
    trot = measure_trot(env, episode)
    assert missed_bars(trot, 12, 0.02, **BARS) == []
    assert trot.swings >= 8
    assert trot.tilt < 0.1
    knees = episode.q[:, [env.model.position_index(f"{side}_knee") for side in robot.SIDES]]
    assert knees.min() > 0.05  # never locked straight


@pytest.mark.parametrize(
    "options",
    [
        {"timestep": 0.0025, "frame_skip": 6},
        {"timestep": 0.005, "frame_skip": 3},
        {"friction_range": (0.6, 0.6), "mass_range": (0.95, 1.05)},
        {"push_impulse": 10.0, "push_interval": 1.0},
    ],
    ids=repr,
)
@pytest.mark.thorough
def test_walks_with_other_options(options: dict[str, Any]) -> None:
    """Other physics steps, slippery ground, other masses, pushes."""
    env = humanoid(command=(0.5, 0.1, 0.2), max_episode_steps=400, **options)
    check_follows(env)


def test_the_clock_never_stands_still() -> None:
    """A slope that would turn it back at 0.8 m/s leaves 0.3 cycles a second."""
    env = humanoid(gait_frequency=(1.0, -10.0), command=(0.8, 0.0, 0.0))
    env.reset(seed=0)
    phase = env.worlds.task_states["phase"]
    before = phase.copy()
    env.step(np.zeros(21))
    assert (phase - before) % 1.0 == pytest.approx(0.3 * env.dt, rel=1e-9)


@pytest.mark.thorough
def test_feels_slippery_ground() -> None:
    """Fast walks at a third of the friction, 24 seeds of six seconds: two may fall."""
    slippery = {"friction_range": (0.3, 0.3), "forward_range": (0.5, 0.8)}
    batch = HumanoidVectorEnv(num_envs=24, num_threads=1, **slippery)
    expert = reference_controller(batch)
    fell = [episode.fell for episode in run_episodes(batch, expert, seed=0, max_steps=400)]
    assert len(fell) == 24
    assert sum(fell) <= 2


@pytest.mark.thorough
def test_float32_observations_still_walk() -> None:
    """What a trainer's cast leaves of an observation is enough."""
    env = humanoid(command=(0.6, 0.0, 0.2))
    speeds = velocities_in_float32(env, 334)
    np.testing.assert_allclose(speeds[134:].mean(axis=0), (0.6, 0.0, 0.2), atol=0.05)


@pytest.mark.thorough
def test_a_changed_command_is_followed() -> None:
    """From standing to walking to turning, without a fall."""
    env = humanoid(command=(0.0, 0.0, 0.0))
    policy = reference_controller(env)
    observation, _ = env.reset(seed=3)
    for command in ((0.8, 0.0, 0.0), (0.2, 0.1, 0.4), (0.0, 0.0, 0.0)):
        env.set_command(command)
        speeds = []
        for _ in range(200):
            observation, _, terminated, _, info = env.step(policy.predict(observation)[0])
            assert not terminated
            speeds.append(info["velocity"])
        np.testing.assert_allclose(np.mean(speeds[-67:], axis=0), command, atol=0.06)


@pytest.mark.thorough
def test_survivors_are_counted() -> None:
    """All of a few walk on unpushed; hardly any takes 200 N s."""
    alive = survivors("dynenvs/Humanoid-v0", [0.0, 200.0], seeds=4, steps=260)
    assert alive[0] == 1.0
    assert alive[1] < 0.5


def test_the_curve_is_drawn(tmp_path: Path) -> None:
    """A picture, and no draft left beside it."""
    pytest.importorskip("matplotlib")
    plot(tmp_path / "curve.png", "Humanoid-v0", [0.0, 10.0, 20.0], [1.0, 0.9, 0.2])
    with Image.open(tmp_path / "curve.png") as picture:
        assert min(picture.size) > 200
    assert [file.name for file in tmp_path.iterdir()] == ["curve.png"]


def test_survival_names_what_takes_no_pushes(capsys: pytest.CaptureFixture[str]) -> None:
    """The planar walkers have no such option."""
    with pytest.raises(SystemExit):
        survival.main(["planar-humanoid", "--seeds", "1"])
    assert "push" in capsys.readouterr().err


@pytest.mark.slow
def test_200_seeds_meet_the_bars() -> None:
    """Whole episodes, commands drawn from the whole range."""
    env = humanoid(max_episode_steps=1000)
    policy = reference_controller(env)
    missed = []
    for seed in range(200):
        episode = run_episode(env, policy, seed=seed)
        missed += missed_bars(measure_trot(env, episode), seed, 0.02, **BARS)
    assert [bar for bar in missed if "torque change" not in bar] == []
    assert len(missed) <= 4  # as many as docs/lab/experts.md says
    if missed:
        pytest.xfail(f"fast and sideways at once, torques change by up to 16 %: {missed}")


@pytest.mark.slow
def test_takes_pushes() -> None:
    """90 % of 200 episodes with 10 N s every three seconds; fewer the harder."""
    alive = survivors("dynenvs/Humanoid-v0", [0.0, 10.0, 30.0], seeds=200)
    assert alive[0] >= 0.97
    assert alive[1] >= 0.9
    assert not math.isnan(alive[2])


@pytest.mark.thorough
def test_the_main_solver_solves_walking() -> None:
    """From noisy starts, touchdowns and all: Lemke's method is not asked once."""
    envs = gym.make_vec("dynenvs/Humanoid-v0", num_envs=16)
    observations, _ = envs.reset(seed=3)
    expert = reference_controller(envs)
    for _ in range(60):
        observations, *_ = envs.step(expert.predict(observations)[0])
    status = envs.unwrapped.worlds.states["status"]
    assert status["solves"].sum() >= 16 * 120
    assert status["called"][..., LEMKE].sum() == 0
