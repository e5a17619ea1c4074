"""Limits and wrong arguments: honoured, or refused with words; never silently ignored."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scenes import G, ball, block

from dynenvs.dynamics.aba import aba
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.parts import Joint, ModelError, fixed, free, prismatic, revolute, spherical
from dynenvs.simulation.world import World
from dynenvs.simulation.worlds import Worlds

NOTHING = (0.0, 0.0, 0.0)
ROD = (0.1, 0.1, 0.0)  # thin, along its z axis


def one(joint: Any, inertia: Any = (0.1, 0.1, 0.1), **options: Any) -> ModelBuilder:
    """A body on a joint."""
    return ModelBuilder().body("part", joint=joint, mass=1.0, inertia=inertia, **options)


# Effort and velocity


def test_forces_beyond_the_effort_limit_are_clipped() -> None:
    """Oracle: v = dt effort / J of a hinge without gravity, either way; below, the force itself."""
    model = one(revolute(effort=2.0, velocity=0.01)).build()
    for asked, given in ((5.0, 2.0), (-1e9, -2.0), (1.5, 1.5), (2.0, 2.0)):
        world = World(model, timestep=0.01)
        world.step([asked])
        assert world.v[0] == pytest.approx(0.01 * given / 0.1, rel=1e-12)
        assert world.tau == pytest.approx([given])
        world.step()
        assert world.tau == pytest.approx([0.0])


def test_the_limit_of_velocity_is_a_datum() -> None:
    """As `Joint` says: it is read from the model, and nothing enforces it."""
    model = one(revolute(velocity=0.5)).build()
    assert model.velocity_limit[0] == 0.5
    world = World(model, timestep=0.01)
    world.v[0] = 3.0
    world.step()
    assert world.v[0] == pytest.approx(3.0)
    assert "not" in str(Joint.__doc__)


# Motions without inertia


@pytest.mark.parametrize(
    ("joint", "inertia"),
    [
        (free(), NOTHING),  # a point mass that turns
        (spherical(), NOTHING),
        (free(), ROD),  # a thin rod, about itself
        (spherical(), ROD),
        (revolute(axis=(0, 0, 1)), ROD),
        (free(), [[0.05, 0.0, 0.05], [0.0, 0.1, 0.0], [0.05, 0.0, 0.05]]),  # the same, askew
    ],
)
def test_a_motion_without_inertia_is_refused(joint: Joint, inertia: Any) -> None:
    """The mass matrix would be singular, and accelerations infinite."""
    with pytest.raises(ModelError, match=r"'part': its .* joint allows a motion.*armature"):
        one(joint, inertia).build()


def test_a_wheel_on_a_rod_does_not_hold_its_spin() -> None:
    """Each part has inertia to show, yet rod and wheel can turn against each other for nothing."""
    builder = one(free(), ROD)
    builder.body("wheel", parent="part", joint=revolute(), mass=1.0, inertia=(0.1, 0.1, 0.2))
    with pytest.raises(ModelError, match="allows a motion"):
        builder.build()


@pytest.mark.parametrize(
    ("joint", "inertia", "com"),
    [
        (revolute(axis=(0, 1, 0)), ROD, NOTHING),  # across the rod, as in a four-bar linkage
        (revolute(axis=(0, 1, 0)), NOTHING, (0, 0, -1.0)),  # a simple pendulum
        (prismatic(), NOTHING, NOTHING),
        (revolute(armature=0.1), NOTHING, NOTHING),
        (free(armature=0.01), NOTHING, NOTHING),
        (free(), (1e-9, 1e-9, 1e-9), (0.1, 0, 0)),
    ],
)
def test_a_motion_with_inertia_is_fine(joint: Joint, inertia: Any, com: Any) -> None:
    """Oracle: accelerations are finite."""
    model = one(joint, inertia, com=com).build()
    assert np.isfinite(aba(model, model.neutral(), np.zeros(model.nv), np.ones(model.nv))).all()


def test_a_configuration_without_inertia_is_an_error_of_its_own() -> None:
    """A point mass on a turntable, straight above its axis: there alone nothing turns."""
    builder = ModelBuilder().body("yaw", joint=revolute(axis=(0, 0, 1)))
    builder.body("arm", parent="yaw", joint=revolute(axis=(0, 1, 0)), mass=1.0, com=(0, 0, 1.0))
    model = builder.build()
    assert np.isfinite(aba(model, [0.0, 0.5], np.zeros(2), np.zeros(2))).all()
    with pytest.raises(ValueError, match=r"singular at q = .*'yaw'"):
        aba(model, [0.0, 0.0], np.zeros(2), np.ones(2))


# Contact in the plane


def planar(*bodies: tuple[str, str, Joint]) -> ModelBuilder:
    """Bodies with their parents and joints, the last with a ball on a floor."""
    builder = ModelBuilder(directions=2).half_space("floor")
    for name, parent, joint in bodies:
        builder.body(name, parent=parent, joint=joint, mass=1.0, inertia=(0.1, 0.1, 0.1))
    return builder.sphere("skin", bodies[-1][0], radius=0.1)


TILTED = [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]  # z becomes -y


@pytest.mark.parametrize(
    ("name", "bodies"),
    [
        ("box", [("box", "world", free())]),
        ("box", [("box", "world", spherical())]),
        ("box", [("box", "world", revolute(axis=(1, 0, 0)))]),
        ("box", [("box", "world", prismatic(axis=(1, 1, 0)))]),
        ("box", [("up", "world", prismatic()), ("box", "up", prismatic(rotation=TILTED))]),
    ],
)
def test_two_directions_are_for_the_plane(name: str, bodies: list[Any]) -> None:
    """Across the plane there would be no friction at all."""
    with pytest.raises(ModelError, match=rf"'{name}': directions=2 .*directions=4"):
        planar(*bodies).build()


def test_planar_joints_are_fine() -> None:
    """Slides in x and z, a hinge about y, by its axis or by its frame."""
    planar(
        ("x", "world", prismatic(axis=(1, 0, 0))),
        ("z", "x", prismatic()),
        ("leg", "z", revolute(axis=(0, 1, 0))),
        ("foot", "leg", revolute(rotation=TILTED)),
        ("toe", "foot", fixed(position=(0, 0.1, 0))),
    ).build()


# How coefficients of friction become one


@pytest.mark.parametrize(
    ("rule", "mu"),
    [
        ({}, 0.4),
        ({"friction": "geometric"}, 0.4),
        ({"friction": "arithmetic"}, 0.5),
        ({"friction": "minimum"}, 0.2),
        ({"friction": "maximum"}, 0.8),
    ],
)
def test_friction_of_a_pair(rule: dict[str, str], mu: float) -> None:
    """A box of 0.2 slides on a floor of 0.8.  Oracle: v = v0 - mu g t."""
    builder = ModelBuilder(gravity=(0, 0, -G), **rule)  # type: ignore[arg-type]
    builder.half_space("floor", friction=0.8)
    builder.body("box", joint=free(), mass=2.0, inertia=(0.1, 0.1, 0.1))
    builder.box("skin", "box", half_size=(0.2, 0.2, 0.05), friction=0.2)
    world = World(builder.build(), timestep=1e-3)
    world.q[2], world.v[0] = 0.05, 3.0
    world.step(steps=200)
    assert world.v[0] == pytest.approx(3.0 - mu * G * 0.2, rel=1e-9)


def test_a_pairs_own_friction_prevails() -> None:
    builder = ModelBuilder(friction="maximum").half_space("floor", friction=0.8)
    builder.body("b", joint=free(), mass=1.0, inertia=(0.1, 0.1, 0.1))
    model = builder.sphere("skin", "b", radius=0.1).pair("skin", "floor", friction=0.3).build()
    assert model.features["friction"].tolist() == [0.3]


# Wrong arguments


def with_geom(add: Callable[[ModelBuilder], Any]) -> Callable[[], Any]:
    def run() -> Any:
        builder = one(free()).half_space("floor")
        add(builder)
        return builder.build()

    return run


def two_balls(b: ModelBuilder) -> ModelBuilder:
    return b.sphere("a", "part", radius=0.1).sphere("b", "part", radius=0.1)


HILLS = {"heights": np.zeros((2, 2)), "half_size": (1, 1)}
BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "joint by name": (lambda: one("free"), r"'part': joint must be one of .*free\(\).*got 'free'"),
    "joint of a link by name": (
        lambda: ModelBuilder().dh_link("part", joint="revolute"),  # type: ignore[arg-type]
        r"'part'.*revolute\(\)",
    ),
    "max_contacts a fraction": (lambda: ModelBuilder(max_contacts=2.5), r"max_contacts.*2.5"),  # type: ignore[arg-type]
    "max_contacts a text": (lambda: ModelBuilder(max_contacts="9"), r"max_contacts.*'9'"),  # type: ignore[arg-type]
    "max_contacts true": (lambda: ModelBuilder(max_contacts=True), r"max_contacts.*True"),
    "directions a text": (lambda: ModelBuilder(directions="8"), r"directions.*'8'"),  # type: ignore[arg-type]
    "directions a fraction": (lambda: ModelBuilder(directions=8.0), r"directions.*8.0"),  # type: ignore[arg-type]
    "rule of friction": (
        lambda: ModelBuilder(friction="product"),
        r"friction 'product'; choose from: geometric, arithmetic, minimum, maximum",
    ),
    "gravity of truth values": (lambda: ModelBuilder(gravity=(True,) * 3), r"gravity"),
    "gravity not finite": (lambda: ModelBuilder(gravity=(0, 0, math.nan)), r"gravity"),
    "gravity of texts": (lambda: ModelBuilder(gravity=("0", "0", "1")), r"gravity"),  # type: ignore[arg-type]
    "mass a text": (lambda: ModelBuilder().body("part", mass="1"), r"mass of 'part'.*'1'"),  # type: ignore[arg-type]
    "damping a text": (lambda: one(revolute(damping="1")), r"'part': damping.*'1'"),
    "effort a text": (lambda: one(revolute(effort="1")), r"'part': effort limit.*'1'"),
    "effort not a number": (lambda: one(revolute(effort=math.nan)), r"'part': effort limit"),
    "velocity zero": (lambda: one(revolute(velocity=0.0)), r"'part': velocity limit"),
    "one limit": (lambda: one(revolute(limits=(1.0,))), r"'part': limits must be two"),
    "limits a number": (lambda: one(revolute(limits=1.0)), r"'part': limits must be two"),
    "rotation a text": (lambda: one(revolute(rotation="x")).build(), r"rotation.*'part'"),
    "self contact of nobody": (
        with_geom(lambda b: two_balls(b).self_contact()),
        r"self_contact needs names",
    ),
    "self contact of one unknown": (
        with_geom(lambda b: two_balls(b).self_contact("nope")),
        r"unknown geom 'nope' in self_contact",
    ),
    "self contact of a list": (
        with_geom(lambda b: two_balls(b).self_contact(["a", "b"])),  # type: ignore[arg-type]
        r"self_contact needs names",
    ),
    "self contact unknown": (
        with_geom(lambda b: two_balls(b).self_contact("a", "nope")),
        r"unknown geom 'nope' in self_contact",
    ),
    "pair of one": (with_geom(lambda b: two_balls(b).pair("a", "a")), r"'a' cannot touch itself"),
    "exclude one": (with_geom(lambda b: two_balls(b).exclude("a", "a")), r"'a' cannot touch"),
    "exclude unknown": (with_geom(lambda b: two_balls(b).exclude("a", "c")), r"unknown geom 'c'"),
    "friction a text": (
        with_geom(lambda b: b.sphere("toe", "part", radius=1, friction="1")),
        r"'toe': friction.*'1'",
    ),
    "friction infinite": (
        with_geom(lambda b: b.sphere("toe", "part", radius=1, friction=math.inf)),
        r"'toe': friction",
    ),
    "friction of a pair a text": (
        with_geom(lambda b: two_balls(b).pair("a", "b", friction="1")),  # type: ignore[arg-type]
        r"'a', 'b': friction.*'1'",
    ),
    "radius a text": (
        with_geom(lambda b: b.sphere("toe", "part", radius="1")),  # type: ignore[arg-type]
        r"'toe': radius.*'1'",
    ),
    "heights of texts": (
        with_geom(lambda b: b.height_field("hills", **HILLS | {"heights": "flat"})),
        r"'hills': heights",
    ),
    "half size of a field": (
        with_geom(lambda b: b.height_field("hills", **HILLS | {"half_size": 1.0})),
        r"'hills': half_size must be two",
    ),
    "half size not finite": (
        with_geom(lambda b: b.height_field("hills", **HILLS | {"half_size": (1, math.inf)})),
        r"'hills': half_size",
    ),
    "color": (
        with_geom(lambda b: b.sphere("toe", "part", radius=1, color=(0, 0, 256))),
        r"'toe': color",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_wrong_descriptions_are_refused(case: str) -> None:
    """By name, with what would be right."""
    make, message = BAD[case]
    with pytest.raises(ModelError, match=message):
        make()


@pytest.mark.parametrize("timestep", [-1.0, 0.0, math.nan, math.inf, "0.01", None, True, [0.01]])
def test_wrong_timesteps_are_refused(timestep: Any) -> None:
    """When the world is made, and later."""
    world = ball()
    if timestep is not None:  # which is the model's
        with pytest.raises(ValueError, match="timestep"):
            World(world.model, timestep=timestep)
    with pytest.raises(ValueError, match="timestep"):
        world.timestep = timestep
    assert world.timestep == 1e-3


def test_a_model_has_a_timestep() -> None:
    """Which worlds of it take, unless they are told another one; saved and read with it."""
    builder = ModelBuilder(timestep=0.003)
    builder.body("ball", joint=free(), mass=1.0, inertia=(0.1, 0.1, 0.1))
    model = builder.build()
    assert World(model).timestep == Worlds(model, 2).timestep == model.timestep == 0.003
    assert World(model, timestep=0.01).timestep == 0.01
    assert ModelBuilder.of(model.description).build().timestep == 0.003
    with pytest.raises(ModelError, match="timestep"):
        ModelBuilder(timestep=0.0)


def test_a_world_is_made_of_a_model() -> None:
    with pytest.raises(ValueError, match=r"build\(\)"):
        World(ModelBuilder())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("friction", -1.0),
        ("friction", math.nan),
        ("friction", math.inf),
        ("mass_scale", 0.0),
        ("mass_scale", -1.0),
        ("mass_scale", math.nan),
    ],
)
def test_what_is_written_into_a_world_is_checked(name: str, value: float) -> None:
    """Through a view that was taken long before; nothing moves, and a right value mends it."""
    world = block()
    view = getattr(world, name)
    world.step()
    kept = view[-1]
    view[-1] = value
    before = world.q.copy()
    with pytest.raises(ValueError, match=rf"{name}\[\d+\] of the world is"):
        world.step()
    np.testing.assert_array_equal(world.q, before)
    view[-1] = kept
    world.step()


def test_what_a_state_brings_is_checked() -> None:
    """States come from outside, too."""
    world = block()
    state = world.get_state()
    state["coefficients"]["friction"][:] = -1.0
    world.set_state(state)
    with pytest.raises(ValueError, match="friction"):
        world.step()


def test_memory_that_there_is_not_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """With words, before it is asked for; scenes with closed loops are solved densely."""
    builder = ModelBuilder(max_contacts=400).half_space("floor")
    for i in range(50):
        builder.body(f"b{i}", joint=free(), mass=1.0, inertia=(0.1, 0.1, 0.1))
        builder.box(f"skin {i}", f"b{i}", half_size=(0.1, 0.1, 0.1))
    builder.close("pin", "b0", "b1")
    model = builder.build()
    monkeypatch.setattr("dynenvs.model.model.available_bytes", lambda: 500_000_000)
    with pytest.raises(MemoryError, match=r"room for 400 contacts at once needs .* GB.*0.5 GB"):
        World(model)


@pytest.mark.parametrize("loose", [False, True])
def test_a_stop_gives_what_the_motor_pushes_with(loose: bool) -> None:
    """At rest against its stop; alone, and beside a body that lies on the floor."""
    builder = ModelBuilder()
    joint = prismatic(axis=(1, 0, 0), name="slide", limits=(-1.0, 0.5), actuated=True)
    builder.body("cart", joint=joint, mass=2.0)
    if loose:
        builder.half_space("floor")
        builder.body("ball", joint=free(), mass=1.0, inertia=(0.1, 0.1, 0.1))
        builder.sphere("skin", "ball", radius=0.1)
    world = World(builder.build(), timestep=0.01)
    world.reset([0.49, *([3.0, 0.0, 0.1, 1.0, 0.0, 0.0, 0.0] if loose else [])])
    world.step([7.0])
    assert not world.stop_impulses.any()
    for _ in range(30):
        world.step([7.0])
    assert world.q[0] == pytest.approx(0.5, abs=1e-9)
    assert world.stop_impulses[0] == pytest.approx(-0.07, rel=1e-9)
    assert not world.stop_impulses[1:].any()
    worlds = Worlds(world.model, 2, timestep=0.01)
    worlds.reset(np.tile(world.q, (2, 1)))
    worlds.step([[7.0], [-7.0]])
    np.testing.assert_allclose(worlds.stop_impulses[:, 0], [-0.07, 0.0], rtol=1e-9)
    world.step([-7.0])
    assert not world.stop_impulses.any()


@pytest.mark.parametrize("pressed", [0, 1, 4])
def test_a_pressed_stop_moves_no_other_joint_of_a_large_robot(pressed: int) -> None:
    """Which stops press was one bit of 64 a coordinate: coordinate i + 64 went to its own stop."""
    builder = ModelBuilder(gravity=NOTHING)
    builder.body("hub", joint=prismatic("hub"), mass=100.0, inertia=(1.0, 1.0, 1.0))
    for k in range(70):
        joint = revolute(f"joint {k}", limits=(0.0, 1.0))
        builder.body(f"arm {k}", parent="hub", joint=joint, mass=1.0, inertia=(0.1, 0.1, 0.1))
    world = World(builder.build(), timestep=0.002)
    q, tau = np.full(71, 0.5), np.zeros(71)
    q[1 + pressed], q[65 + pressed], tau[1 + pressed] = 0.0, 0.03, -5.0
    world.reset(q)
    for _ in range(3):
        world.step(tau)
    assert world.q[1 + pressed] == pytest.approx(0.0, abs=1e-9)
    assert world.q[65 + pressed] == pytest.approx(0.03, abs=1e-12)
