"""Worlds begin at a keyframe of their model: at "qpos0", or at another by its name."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import dynenvs
from dynenvs import Model, ModelBuilder, World, Worlds, free, revolute
from dynenvs.model.importing.losses import NotCarriedOver

ANT = Path(gymnasium.__file__).parent / "envs/mujoco/assets/ant.xml"
MJCF = """<mujoco><worldbody><geom type="plane" size="1 1 1"/>
<body pos="0 0 0.7"><freejoint/><geom size="0.1"/>
 <body pos="0.3 0 0"><joint name="hinge" ref="30"/><geom size="0.05"/></body></body></worldbody>
<actuator><motor joint="hinge"/></actuator>
<keyframe><key name="home" qpos="1 2 3 0 1 0 0 0.5" qvel="1 2 3 4 5 6 7" ctrl="0.4"/></keyframe>
</mujoco>"""
URDF = """<robot name="r"><link name="a"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""


def of_mjcf() -> Model:
    pytest.importorskip("mujoco")
    return dynenvs.load(MJCF)


def of_urdf() -> Model:
    pytest.importorskip("mujoco")
    return dynenvs.load(URDF, floating=True)


def built(*keyframes: str) -> Model:
    """A ball with an arm, with these keyframes."""
    builder = ModelBuilder()
    builder.body("ball", joint=free(), mass=1.0, inertia=(0.1, 0.1, 0.1))
    builder.body("arm", parent="ball", joint=revolute("hinge"), mass=1.0, inertia=(0.1, 0.1, 0.1))
    builder.actuator("motor", {"hinge": 1.0})
    for height, name in enumerate(keyframes, 1):
        q = [0.0, 0.0, height, 0.6, 0.8, 0.0, 0.0, 0.1]
        builder.keyframe(name, q, np.arange(7.0) * height, [0.3])
    return builder.build()


MODELS = {
    "mjcf": of_mjcf,
    "urdf": of_urdf,
    "built": lambda: built("qpos0", "home"),
    "of another": lambda: ModelBuilder.of(built("qpos0", "home").description).build(),
}


@pytest.fixture(params=[(name, saved) for name in MODELS for saved in (False, True)])
def model(request: pytest.FixtureRequest, tmp_path: Path) -> Model:
    """Each of the models, as it is made, and after it was saved and loaded."""
    name, is_saved = request.param
    made = MODELS[name]()
    if is_saved:
        dynenvs.save(made, tmp_path / "model.json")
        made = dynenvs.load(tmp_path / "model.json")
    return made


def is_at(world: World | Worlds, model: Model, keyframe: str) -> bool:
    """Whether these are the positions and velocities of the keyframe, bit for bit."""
    frame = model.keyframes[keyframe]
    same = (world.q == frame.q).all() and (world.v == frame.v).all()
    return bool(same and not np.any(world.time))


def same(one: Any, other: Any) -> bool:
    """Whether two states are equal bit for bit, field by field."""
    return all(one[name].tobytes() == other[name].tobytes() for name in one.dtype.names)


def test_worlds_begin_at_keyframes(model: Model) -> None:
    """When they are made, at a reset without a name, at one with a name; one world and many."""
    one, many = World(model), Worlds(model, 3)
    for world in (one, many):
        assert is_at(world, model, "qpos0")
        for name in (None, *model.keyframes):
            world.q[...], world.v[...] = 0.3, 0.2
            world.reset() if name is None else world.reset(name)
            assert is_at(world, model, name or "qpos0")
    assert same(many.get_state()[1], one.get_state())
    for world in (one, many):
        world.reset()
        world.step(steps=5)
    assert same(many.get_state()[2], one.get_state())
    again = pickle.loads(pickle.dumps(many))
    again.reset()
    assert is_at(again, model, "qpos0")


def test_a_robot_from_a_file_is_not_buried() -> None:
    """Gymnasium's ant begins as its file draws it, above the floor."""
    pytest.importorskip("mujoco")
    with pytest.warns(NotCarriedOver):
        model = dynenvs.load(ANT)
    for world in (World(model), Worlds(model, 2)):
        assert (world.q[..., 2] == 0.75).all()
    world = World(model)
    assert not world.contacts
    world.step(steps=100)
    assert all(contact.gap > -1e-6 for contact in world.contacts)
    world.reset()
    assert is_at(world, model, "qpos0")


def test_what_is_said_besides_goes_before() -> None:
    """Velocities beside a name; positions alone are at rest; a mask."""
    model = built("qpos0", "home")
    one, many = World(model), Worlds(model, 2)
    q, v = np.array([0, 0, 9.0, 1, 0, 0, 0, 0]), np.full(7, 2.0)
    for world in (one, many):
        world.reset("home", v)
        assert (world.q == model.keyframes["home"].q).all()
        assert (world.v == v).all()
        world.reset(q)
        assert (world.q == q).all()
        assert not world.v.any()
        world.reset(None, v)
        assert (world.q == model.keyframes["qpos0"].q).all()
        assert (world.v == v).all()
    many.reset("home", mask=[False, True])
    np.testing.assert_array_equal(many.q[:, 2], [1.0, 2.0])
    np.testing.assert_array_equal(many.v[:, 1], [2.0, 2.0])


def test_a_model_without_begins_at_its_zeros() -> None:
    """As one does whose keyframes have other names; quaternions are at one."""
    for model in (built(), built("home")):
        for world in (World(model), Worlds(model, 2)):
            assert (world.q == model.neutral()).all()
            assert not world.v.any()
            world.reset()
            assert (world.q == [0, 0, 0, 1, 0, 0, 0, 0]).all()


@pytest.mark.parametrize(
    ("keyframes", "q", "message"),
    [
        (("qpos0", "home"), "hone", "unknown keyframe 'hone'; the model's keyframes: qpos0, home"),
        ((), "home", "unknown keyframe 'home'; the model's keyframes: none"),
        (("qpos0",), [1.0], "q must"),
        (("qpos0",), np.full(8, np.nan), "q must be finite|entries"),
    ],
)
def test_a_reset_that_cannot_be_changes_nothing(
    keyframes: tuple[str, ...], q: Any, message: str
) -> None:
    """One line that names the keyframes; time and state stay."""
    for make in (World, lambda model: Worlds(model, 2)):
        world = make(built(*keyframes))
        world.step(steps=3)
        before = world.get_state()
        with pytest.raises(ValueError, match=message) as told:
            world.reset(q)
        assert "\n" not in str(told.value)
        assert same(world.get_state(), before)


def test_what_is_added_to_a_model_is_at_its_zeros_in_its_keyframes() -> None:
    """A box and a motor beside a robot; a keyframe of one's own has all entries."""
    builder = ModelBuilder.of(built("home").description)
    builder.body("box", joint=free(), mass=1.0, inertia=(0.1, 0.1, 0.1))
    builder.body("rod", parent="box", joint=revolute("rod"), mass=1.0, inertia=(0.1, 0.1, 0.1))
    builder.actuator("rod's", {"rod": 1.0})
    model = builder.keyframe("late", np.arange(1.0, 17.0)).build()
    home, alone = model.keyframes["home"], built("home").keyframes["home"]
    np.testing.assert_array_equal(home.q, [*alone.q, 0, 0, 0, 1, 0, 0, 0, 0])
    np.testing.assert_array_equal(home.v, [*alone.v, *np.zeros(7)])
    np.testing.assert_array_equal(home.control, [0.3, 0.0])
    with pytest.raises(dynenvs.ModelError, match="q must have 16 entries, got 3"):
        builder.keyframe("short", [1.0, 2.0, 3.0]).build()
