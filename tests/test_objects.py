"""Loose objects in the scenes of the walkers in space: described, placed, drawn, seen, kept."""

from __future__ import annotations

import importlib
import json
import re
from typing import Any

import numpy as np
import pytest
from batches import assert_same, make_batch, random_actions, trace_batch
from rollouts import bits, make

from dynenvs.agents import reference_controller
from dynenvs.agents.evaluation.evaluate import evaluate
from dynenvs.agents.experts.standing import StandingController
from dynenvs.envs.legged.legged import OBJECT_BOUND, LeggedTask
from dynenvs.envs.objects import box, capsule, read_objects, sphere
from dynenvs.envs.robots import quadruped

ROBOTS = ("dynenvs/Quadruped-v0", "dynenvs/Humanoid-v0")
BRICK = (0.1, 0.05, 0.03)
MIXED: list[dict[str, Any]] = [
    box(
        half_size=BRICK,
        mass=(0.3, 0.6),
        friction=(0.4, 1.0),
        position=((-1.5, 1.5), (-1.0, 1.0)),
        orientation=(0.0, 0.0, (-3.0, 3.0)),
        count=3,
    ),
    sphere(radius=(0.05, 0.1), mass=0.5, position=(0.8, 0.6)),
    capsule(radius=0.05, half_length=0.1, position=(1.5, -1.4, 0.4), orientation=(0.3, 1.2, 0.0)),
]
robots = pytest.mark.parametrize("name", ROBOTS)


def task_of(name: str, **options: Any) -> LeggedTask:
    """The task of an environment with options."""
    task = make(name, **options).task
    assert isinstance(task, LeggedTask)
    return task


@robots
def test_model_ends_with_the_objects(name: str) -> None:
    """The robot's coordinates come first, and its motors are all that there are."""
    task = task_of(name, objects=MIXED)
    assert task.model.body_names[: len(task.robot.body_names)] == task.robot.body_names
    assert task.model.body_names[-1] == "object 4"
    assert task.model.nq == task.robot.nq + 7 * 5
    np.testing.assert_array_equal(task.model.actuated, task.robot.actuated)
    assert len(task.standing) == task.robot.nq


def test_drawn_sizes_follow_their_seed() -> None:
    """Sizes belong to the model: drawn once, within their ranges."""
    ball = [sphere(radius=(0.05, 0.1), position=(1.0, 0.0))]
    radii = [task_of(ROBOTS[0], objects=ball, objects_seed=s).loose[0].radius for s in (0, 0, 1)]
    assert radii[0] == radii[1] != radii[2]
    assert all(0.05 <= radius <= 0.1 for radius in radii)


def test_masses_and_friction_are_drawn_in_each_episode() -> None:
    """Within their ranges; others' are left alone; a fixed one is exact."""
    envs = make_batch(ROBOTS[0], 20, objects=MIXED)
    envs.reset(seed=0)
    model, rows = envs.task.model, envs.worlds.states
    masses = rows["mass_scale"] * model.bodies["mass"]
    bricks, ball = masses[:, -5:-2], masses[:, -2]
    assert np.all((bricks >= 0.3) & (bricks <= 0.6))
    assert np.ptp(bricks) > 0.2
    np.testing.assert_array_equal(ball, 0.5)
    np.testing.assert_array_equal(rows["mass_scale"][:, 1:-5], 1.0)
    floor = (model.features["body_b"] == 0) & (
        model.features["body_a"] == model.body_id("object 0")
    )
    own = rows["coefficients"]["friction"][:, floor] ** 2 / quadruped.FRICTION
    assert np.all((own >= 0.4 - 1e-12) & (own <= 1.0 + 1e-12))
    assert np.ptp(own) > 0.4
    np.testing.assert_array_equal(own, np.tile(own[:, :1], own.shape[1]))


@robots
def test_objects_start_clear_of_everything(name: str) -> None:
    """Drawn ones of the robot and of each other; all rest on the ground or above it."""
    crowd = [
        box(half_size=BRICK, count=12, position=((-1.2, 1.2), (-1.2, 1.2))),
        sphere(radius=0.1, count=4, position=((-1.0, 1.5), (-1.0, 1.0), (0.0, 1.0))),
    ]
    envs = make_batch(name, 8, objects=crowd)
    _, info = envs.reset(seed=1)
    for w in range(8):
        poses = info["objects"][w]
        radii = np.array([loose.radius for loose in envs.task.loose])
        apart = np.linalg.norm(poses[:, None, :3] - poses[None, :, :3], axis=2)
        apart += 10.0 * np.eye(len(poses))
        assert np.all(apart > radii[:, None] + radii[None, :])
        assert np.all(poses[:12, 2] >= BRICK[2])
        assert np.all(poses[12:, 2] >= 0.1)


def test_where_there_is_no_room_objects_fall_from_above() -> None:
    """Ten balls cannot lie side by side on a tenth of a square metre."""
    env = make(ROBOTS[0], objects=[sphere(radius=0.1, count=10, position=((0.8, 1.1), (0.8, 1.1)))])
    _, info = env.reset(seed=0)
    heights = np.sort(info["objects"][:, 2])
    assert heights[0] == 0.1
    assert heights[-1] > 0.5
    assert np.all(np.diff(heights[heights > 0.1]) > 0.2)


def test_orientation_is_roll_pitch_yaw_and_objects_lie_on_the_ground() -> None:
    """A capsule that is pitched by a right angle lies along x."""
    lying = capsule(
        radius=0.05, half_length=0.2, position=(1.0, 0.5), orientation=(0, np.pi / 2, 0)
    )
    tilted = box(half_size=BRICK, position=(1.5, -0.8), orientation=(0.3, 0.0, 1.0))
    env = make(ROBOTS[0], objects=[lying, tilted])
    _, info = env.reset(seed=0)
    np.testing.assert_allclose(info["objects"][0, :3], (1.0, 0.5, 0.05), atol=1e-15)
    axis = [2 * info["objects"][0, 3] * info["objects"][0, 5], 0.0]
    np.testing.assert_allclose(axis, (1.0, 0.0), atol=1e-12)
    height = BRICK[1] * np.sin(0.3) + BRICK[2] * np.cos(0.3)
    np.testing.assert_allclose(info["objects"][1, 2], height, rtol=1e-12)


@robots
def test_objects_that_nothing_touches_stay(name: str) -> None:
    """Lying on the ground is rest, to the micrometre, while the robot falls beside them."""
    env = make(name, objects=[box(half_size=BRICK, position=(3, 2)), MIXED[0]], reset_noise=0.0)
    _, info = env.reset(seed=0)
    start = info["objects"][0]
    for _ in range(60):
        *_, info = env.step(np.zeros(env.task.model.nu, np.float32))
    np.testing.assert_allclose(info["objects"][0], start, atol=1e-9)


def rotation(quaternion: Any) -> Any:
    """The matrix of a unit quaternion."""
    w, x, y, z = quaternion
    skew = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + 2 * w * skew + 2 * skew @ skew


@robots
def test_observation_tells_of_objects_in_the_robots_axes(name: str) -> None:
    """Place, two axes, velocity and angular velocity, against the state; the rest is as before."""
    env = make(name, objects=MIXED, observe_objects=True)
    bare = make(name)
    assert env.observation_space.shape[0] == bare.observation_space.shape[0] + 15 * 5
    bounds = env.observation_space.high[-15:]
    np.testing.assert_array_equal(bounds, [OBJECT_BOUND] * 3 + [1] * 6 + [15] * 3 + [60] * 3)
    table = re.findall(
        r"^ *\| \+(\d+) +\|[^|]*\| -(\d+) +\| (\d+) ", type(env).__doc__ or "", re.MULTILINE
    )
    told = [float(high) for count, low, high in table[-4:] for _ in range(int(count))]
    np.testing.assert_array_equal(bounds, told)
    observation, info = env.reset(seed=3)
    rng = np.random.default_rng(0)
    for _ in range(8):
        action = rng.uniform(-1, 1, env.task.model.nu).astype(np.float32)
        observation, *_, info = env.step(action)
    row, nv = env.worlds.states[0], env.task.robot.nv
    base, place = rotation(row["q"][3:7]), row["q"][:3]
    seen = observation[-75:].reshape(5, 15)
    for k in range(5):
        pose, v = info["objects"][k], row["v"][nv + 6 * k : nv + 6 * k + 6]
        own = rotation(pose[3:])
        expected = [
            base.T @ (pose[:3] - place),
            base.T @ own[:, 0],
            base.T @ own[:, 1],
            base.T @ v[:3],
            base.T @ own @ v[3:],
        ]
        np.testing.assert_allclose(seen[k], np.concatenate(expected), atol=1e-12)
    assert env.observation_space.contains(observation)


@robots
def test_one_world_or_many_on_any_threads_give_the_same_bits(name: str) -> None:
    """Observations, rewards, infos and states of 33 worlds, of which some end and begin anew."""
    options = {"objects": MIXED, "observe_objects": True, "max_episode_steps": 12}
    found = []
    for threads in (1, 2):
        envs = make_batch(name, 33, num_threads=threads, **options)
        envs.reset(seed=5)
        actions = random_actions(envs, 16)
        found.append(trace_batch(envs, actions))
        states = envs.get_state()
    assert found[0] == found[1]
    single = make_batch(name, 1, **options)
    single.reset(seed=5 + 17)
    alone = trace_batch(single, actions[:, 17:18])
    assert [step[0] for step in alone] == [step[17] for step in found[0]]
    assert bits(single.get_state()["world"]["q"][0]) == bits(states["world"]["q"][17])


@robots
def test_states_are_restored_and_seeds_repeat(name: str) -> None:
    """The same future, bit for bit, after `set_state` in another environment, and after a seed."""
    options = {"objects": MIXED, "observe_objects": True}
    env, other = make(name, **options), make(name, **options)
    first = env.reset(seed=9)
    actions = np.random.default_rng(1).uniform(-1, 1, (20, env.task.model.nu)).astype(np.float32)
    for action in actions[:10]:
        env.step(action)
    state = env.get_state()
    other.set_state(state)
    for action in actions[10:]:
        assert bits(env.step(action)) == bits(other.step(action))
    assert_same(env.reset(seed=9), first)


@robots
def test_experts_act_as_if_there_were_nothing(name: str) -> None:
    """Far from all objects expert and standing agent move the robot as they do without them.

    Not to the bit: a robot alone has another solver, and touchdowns may come a step later.
    """
    far = [box(half_size=BRICK, position=(50.0, 0.0))]
    envs = make_batch(name, 2, objects=far, observe_objects=True)
    bare = make_batch(name, 2, integrator="midpoint")
    for agent in (reference_controller, StandingController):
        actors: Any = agent(envs), agent(bare)
        seen, alone = envs.reset(seed=2)[0], bare.reset(seed=2)[0]
        for _ in range(40):
            size = alone.shape[1]
            posture = slice(4 + envs.task.model.nu)
            np.testing.assert_allclose(seen[:, posture], alone[:, posture], atol=1e-3)
            np.testing.assert_array_equal(
                actors[0].predict(seen)[0],
                actors[0].predict(np.hstack([seen[:, :size], 0 * seen[:, size:]]))[0],
            )
            seen = envs.step(actors[0].predict(seen)[0])[0]
            alone = bare.step(actors[1].predict(alone)[0])[0]


def test_a_tumbling_brick_keeps_its_energy() -> None:
    """At 100 rad/s, in steps of 7.5 ms."""
    env = make(ROBOTS[0], objects=[box(half_size=BRICK, position=(2.0, 0.0, 50.0))])
    env.reset(seed=0)
    state = env.get_state()
    state["world"]["v"][0, -3:] = 60.0, 50.0, 62.0
    env.set_state(state)
    spin = env.worlds.states["v"][0, -3:]
    moments = np.array([0.05**2 + 0.03**2, 0.1**2 + 0.03**2, 0.1**2 + 0.05**2]) / 3
    start = 0.5 * moments @ spin**2
    for _ in range(30):
        env.step(np.zeros(12, np.float32))
    np.testing.assert_allclose(0.5 * moments @ spin**2, start, rtol=1e-9)
    assert make(ROBOTS[0]).task.integrator == "euler"


def test_no_contact_of_an_object_is_a_fall() -> None:
    """A ball that drops on the ground, and one that drops on the trunk, end no episode."""
    balls = [
        sphere(radius=0.05, mass=0.1, position=(1.0, 0.0, 0.2)),
        sphere(radius=0.05, mass=0.1, position=(0.0, 0.0, 0.6)),
    ]
    env = make(ROBOTS[0], objects=balls)
    expert = reference_controller(env)
    observation, info = env.reset(seed=0)
    for _ in range(60):
        observation, _, terminated, _, info = env.step(expert.predict(observation)[0])
        assert not terminated
    assert info["objects"][0, 2] < 0.06
    assert info["objects"][1, 2] < 0.5


def test_episodes_are_scored_among_objects() -> None:
    """Slip and speed are measured on the robot, among any objects."""
    result = evaluate(ROBOTS[0], "expert", 2, objects=MIXED, max_episode_steps=40)
    assert result.slips[0] < 0.01
    assert result.lengths == [40, 40]


def test_pictures_show_objects() -> None:
    """A red ball in front of the robot is in the picture."""
    bare = make(ROBOTS[0], render_mode="rgb_array", width=160, height=90)
    ball = [sphere(radius=0.2, position=(0.7, -0.5))]
    env = make(ROBOTS[0], objects=ball, render_mode="rgb_array", width=160, height=90)
    pictures = []
    for one in (bare, env):
        one.reset(seed=0)
        pictures.append(np.asarray(one.render(), float))
    assert (np.abs(pictures[0] - pictures[1]).max(axis=2) > 40).mean() > 0.02


def test_descriptions_survive_json() -> None:
    """As datasets and Gymnasium's specs keep them: lists for tuples."""
    plain = json.loads(json.dumps(MIXED))
    assert task_of(ROBOTS[0], objects=plain).loose == task_of(ROBOTS[0], objects=MIXED).loose


@pytest.mark.parametrize(
    ("objects", "words"),
    [
        (3, "objects must be a list of descriptions"),
        ([3], r"objects\[0\] must be a description"),
        ([{"shape": "cone"}], r"unknown shape of objects\[0\] 'cone'; choose from: box"),
        ([{"shape": "sphere"}], r"objects\[0\], a sphere, needs its radius"),
        ([sphere(radius=0.1, weight=3)], r"unknown entry of objects\[0\], a sphere: 'weight'"),
        ([sphere(radius=-1)], r"objects\[0\]: radius must be a number in \[0.001, 10.0\] m"),
        ([sphere(radius=0.1, mass=0)], r"objects\[0\]: mass must be a number"),
        ([sphere(radius=0.1, mass=float("nan"))], r"objects\[0\]: mass must be a number"),
        ([sphere(radius=0.1, friction=(1, 0))], "must start with its lower end"),
        ([sphere(radius=0.1, position=3)], r"position must be \(x, y\) or \(x, y, z\)"),
        ([box(half_size=(1, 2))], "half_size must be one number, or three"),
        ([box(half_size=0.1, count=2)], "2 objects cannot lie in one place"),
        ([sphere(radius=0.1, count=300)], "count must be a whole number"),
        ([box(half_size=0.1, position=(0.2, 0.1))], r"the robot's .* and objects\[0\] overlap by"),
        (
            [sphere(radius=0.3, position=(2, 0)), sphere(radius=0.3, position=(2.2, 0.0))],
            r"objects\[0\] and objects\[1\] overlap by 0.4 m",
        ),
        ([sphere(radius=0.1, count=2, position=((0, 0.1), 0.0))], "no room beside the robot"),
        (
            [box(half_size=0.1, count=100, position=((1, 9), (-9, 9)))],
            "more than an environment keeps track of",
        ),
    ],
)
def test_what_cannot_be_is_refused(objects: Any, words: str) -> None:
    """One line that says what, where, and what would be right."""
    with pytest.raises(ValueError, match=words):
        make(ROBOTS[0], objects=objects)


@pytest.mark.parametrize("objects", [7, [7]])
def test_the_refusal_names_a_function_that_exists(objects: Any) -> None:
    """What it says to call is there to be imported."""
    with pytest.raises(ValueError, match="as dynenvs") as refused:
        read_objects(objects, 0)
    module, name = re.findall(r"as (dynenvs[\w.]*)\.(\w+)\(", str(refused.value))[0]
    assert getattr(importlib.import_module(module), name) is box


def test_objects_have_their_place() -> None:
    """Flat ground, robots in space."""
    with pytest.raises(ValueError, match="need flat ground, not terrain 'rough'"):
        make(ROBOTS[0], objects=MIXED, terrain="rough")
    with pytest.raises(ValueError, match="observe_objects=True, but there are no objects"):
        make(ROBOTS[0], observe_objects=True)


@pytest.mark.parametrize("name", ["PlanarHumanoid", "DoublePendulum", "ChainPendulum"])
def test_robots_in_the_plane_take_no_objects(name: str) -> None:
    """The error says who does."""
    import gymnasium as gym

    with pytest.raises(TypeError, match="Quadruped-v0 and Humanoid-v0 alone take them"):
        gym.make(f"dynenvs/{name}-v0", objects=MIXED)
    with pytest.raises(TypeError, match="Quadruped-v0 and Humanoid-v0 alone take them"):
        gym.make_vec(f"dynenvs/{name}-v0", num_envs=2, objects=MIXED)
