"""ModelBuilder: what it accepts, and errors that name the culprit and say what would be right."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynenvs.dynamics.crba import crba
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model
from dynenvs.model.parts import Joint, ModelError, fixed, free, prismatic, revolute, spherical

SOLID: dict[str, Any] = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)}


def cart_pole() -> ModelBuilder:
    builder = ModelBuilder()
    builder.half_space("floor")
    builder.body("cart", joint=prismatic("slide", axis=(1, 0, 0), limits=(-2, 2)), **SOLID)
    builder.body("pole", parent="cart", joint=revolute("hinge", actuated=False), **SOLID)
    builder.sphere("tip", "pole", radius=0.1)
    return builder


@pytest.mark.parametrize("name", ["a\x1b[31mred", "a\x00b", "a\nb", "a\x9b2J"])
def test_a_name_that_steers_terminals_is_refused(name: str) -> None:
    """Of every part that has one; other languages and signs are names."""

    def arm(kind: str) -> ModelBuilder:
        own = {kind: name}
        builder = ModelBuilder()
        body = own.get("body", "körper <b>")
        builder.body(body, joint=revolute(own.get("joint", "gelenk")), **SOLID)
        builder.sphere(own.get("geom", "球"), body, radius=0.1)
        builder.site(own.get("site", "spitze"), body)
        builder.actuator(own.get("actuator", "motor"), {own.get("joint", "gelenk"): 1.0})
        return builder

    arm("none").build()
    for kind in ("body", "joint", "geom", "site", "actuator"):
        with pytest.raises(
            ModelError, match=f"{kind} .*names must have no control characters"
        ) as told:
            arm(kind).build()
        assert str(told.value).isprintable()


@pytest.mark.parametrize("name", [5, b"x", [5]])
def test_a_name_that_is_no_text_is_refused(name: Any) -> None:
    """Of every part that has one, where it is added."""
    makers: dict[str, Callable[[ModelBuilder], Any]] = {
        "body": lambda b: b.body(name, **SOLID),
        "joint": lambda b: b.body("arm", joint=revolute(name), **SOLID),
        "geom": lambda b: b.sphere(name, "cart", radius=0.1),
        "site": lambda b: b.site(name, "cart"),
        "actuator": lambda b: b.actuator(name, {"slide": 1.0}),
        "keyframe": lambda b: b.keyframe(name, [0.0, 0.0]),
        "loop": lambda b: b.close(name, "cart", "pole"),
        "visual": lambda b: b.visual(name, "cart", points=np.eye(3), triangles=[[0, 1, 2]]),
    }
    for kind, add in makers.items():
        with pytest.raises(ModelError, match=rf"name of a part \({kind}\) must be a text, got"):
            add(cart_pole())


# What a model says of itself


def test_a_builder_says_what_it_holds() -> None:
    """Not where it lies in memory; of many bodies some."""
    told = repr(cart_pole())
    assert told == "<ModelBuilder of 2 bodies (cart, pole), 2 geoms; build() makes the Model>"
    builder = ModelBuilder()
    for k in range(30):
        builder.body(f"b{k}", joint=free(), **SOLID)
    assert "30 bodies (b0, b1" in repr(builder)
    assert len(repr(builder)) < 120


def test_names_and_indices() -> None:
    """Bodies, joints and geoms by name; joints without a name take their body's."""
    model = cart_pole().build()
    assert model.body_names == ("world", "cart", "pole")
    assert model.joint_names == ("slide", "hinge")
    assert (model.nq, model.nv, model.nu) == (2, 2, 1)
    assert [model.body_id(n) for n in ("world", "cart", "pole")] == [0, 1, 2]
    assert (model.velocity_index("hinge"), model.position_index("hinge")) == (1, 1)
    assert model.geom_id("tip") == 1
    assert model.actuated.tolist() == [0]
    assert model.lower.tolist() == [-2, -math.inf]
    unnamed = ModelBuilder().body("b", joint=spherical(), **SOLID).build()
    assert unnamed.joint_names == ("b",)


@pytest.mark.parametrize(
    ("ask", "what"),
    [("body_id", "body"), ("geom_id", "geom"), ("velocity_index", "joint")],
)
def test_unknown_names_list_the_known_ones(ask: str, what: str) -> None:
    """`model.body_id("leg")` says what there is."""
    known = {"body": "cart", "geom": "tip", "joint": "slide"}[what]
    with pytest.raises(KeyError, match=rf"unknown {what} 'leg'.*{known}"):
        getattr(cart_pole().build(), ask)("leg")


def test_order_of_description_does_not_matter() -> None:
    """Children may come before their parents: the same mass matrix."""
    parts: list[Callable[[ModelBuilder], Any]] = [
        lambda b: b.body("a", joint=revolute(axis=(0, 1, 0)), **SOLID),
        lambda b: b.body(
            "b", parent="a", joint=revolute(axis=(1, 0, 0), position=(0, 0, 1)), **SOLID
        ),
        lambda b: b.body("c", parent="b", joint=prismatic(position=(1, 0, 0)), **SOLID),
    ]
    models = []
    for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0)):
        builder = ModelBuilder()
        for i in order:
            parts[i](builder)
        models.append(builder.build())
    q = np.array([0.1, 0.2, 0.3])
    for model in models:
        assert model.body_names == ("world", "a", "b", "c")
        np.testing.assert_array_equal(crba(model, q), crba(models[0], q))


def test_models_are_frozen_and_can_be_copied() -> None:
    """Buffers are read-only; a pickled or deep-copied model has the same bytes."""
    model = cart_pole().build()
    with pytest.raises(ValueError, match="read-only"):
        model.lower[0] = 0.0
    with pytest.raises(ValueError, match="read-only"):
        model.packed[0] = 1
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert isinstance(twin, Model)
        assert np.array_equal(twin.packed, model.packed)
        assert twin.joint_names == model.joint_names
        np.testing.assert_array_equal(crba(twin, [0.1, 0.2]), crba(model, [0.1, 0.2]))


def test_fixed_bodies_add_their_mass() -> None:
    """A body welded to another counts as part of it: parallel axes by hand."""
    builder = ModelBuilder()
    builder.body("arm", joint=revolute(), mass=2.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
    builder.body("tool", parent="arm", joint=fixed(position=(1, 0, 0)), mass=0.5)
    assert crba(builder.build(), [0.4])[0, 0] == pytest.approx(0.1 + 2 * 0.25 + 0.5, rel=1e-14)


# Pairs


def pairs(builder: ModelBuilder) -> set[tuple[str, str]]:
    model = builder.build()
    return {(model.geoms[f.geom_a].name, model.geoms[f.geom_b].name) for f in model.features}


def test_which_pairs_touch() -> None:
    """Other trees and the world by default; one's own tree on request; `exclude` and `collide`."""

    def scene() -> ModelBuilder:
        builder = ModelBuilder()
        builder.half_space("floor")
        builder.body("a", joint=free(), **SOLID).sphere("ball a", "a", radius=0.1)
        builder.body("a2", parent="a", joint=revolute(), **SOLID)
        builder.sphere("ball a2", "a2", radius=0.1)
        builder.body("b", joint=free(), **SOLID).sphere("ball b", "b", radius=0.1)
        builder.sphere("ghost", "b", radius=0.5, collide=False)
        return builder

    usual = {
        ("ball a", "floor"),
        ("ball a2", "floor"),
        ("ball b", "floor"),
        ("ball a", "ball b"),
        ("ball a2", "ball b"),
    }
    assert pairs(scene()) == usual
    assert pairs(scene().exclude("ball b", "floor")) == usual - {("ball b", "floor")}
    assert pairs(scene().pair("ball a", "ball a2")) == usual | {("ball a", "ball a2")}
    assert pairs(scene().pair("floor", "ghost")) == usual | {("ghost", "floor")}


def test_features_of_shapes() -> None:
    """A box meets a plane with 8 corners, a capsule with 2 caps, a sphere and a point with 1."""
    builder = ModelBuilder()
    builder.half_space("floor")
    builder.body("b", joint=free(), **SOLID)
    builder.box("box", "b", half_size=(0.1, 0.2, 0.3), position=(1, 0, 0))
    builder.capsule("rod", "b", start=(0, 0, 0), end=(0, 0, 1), radius=0.1)
    builder.sphere("ball", "b", radius=0.1)
    builder.point("tip", "b", (0, 0, 2))
    model = builder.build()
    count = np.bincount(model.features["geom_a"], minlength=5)
    assert count.tolist() == [0, 8, 2, 1, 1]
    corners = model.features["center"][:8]
    np.testing.assert_allclose(np.abs(corners - [1, 0, 0]), np.tile([0.1, 0.2, 0.3], (8, 1)))
    assert len(np.unique(corners, axis=0)) == 8
    np.testing.assert_allclose(model.features["center"][8:10], [[0, 0, 0], [0, 0, 1]], atol=1e-15)


# Errors


def build(**options: Any) -> Callable[[], Any]:
    return lambda: ModelBuilder().body("leg", **{"joint": revolute(), **SOLID, **options}).build()


def with_geom(add: Callable[[ModelBuilder], Any]) -> Callable[[], Any]:
    def run() -> Any:
        builder = ModelBuilder().half_space("floor").body("leg", joint=free(), **SOLID)
        add(builder)
        return builder.build()

    return run


BAD = {
    "unknown joint": (build(joint=Joint("hinge")), r"'leg'.*'hinge'.*revolute, prismatic"),
    "negative mass": (build(mass=-1.0), r"'leg'.*mass"),
    "infinite mass": (build(mass=math.inf), r"'leg'.*mass"),
    "mass not a number": (build(mass=math.nan), r"'leg'.*mass"),
    "inertia without mass": (build(mass=0.0), r"'leg'.*no mass"),
    "negative inertia": (build(inertia=(-1, 1, 1)), r"'leg'.*negative principal moment"),
    "triangle inequality": (build(inertia=(1, 1, 3)), r"'leg'.*triangle"),
    "asymmetric inertia": (
        build(inertia=[[1, 0.2, 0], [0, 1, 0], [0, 0, 1]]),
        r"'leg'.*symmetric",
    ),
    "shape of inertia": (build(inertia=(1, 1)), r"'leg'.*inertia"),
    "inertia not finite": (build(inertia=(1, math.nan, 1)), r"'leg'.*inertia"),
    "com": (build(com=(0, 0)), r"com of 'leg'"),
    "zero axis": (build(joint=revolute(axis=(0, 0, 0))), r"axis.*'leg'"),
    "axis not finite": (build(joint=revolute(axis=(0, math.nan, 1))), r"axis.*'leg'"),
    "improper rotation": (build(joint=revolute(rotation=-np.eye(3))), r"rotation.*'leg'"),
    "position": (build(joint=revolute(position=(0, math.inf, 0))), r"position.*'leg'"),
    "limits": (build(joint=revolute("knee", limits=(1, -1))), r"'knee'.*lower limit 1"),
    "limits not a number": (build(joint=revolute("knee", limits=(math.nan, 1))), r"'knee'"),
    "damping": (build(joint=revolute("knee", damping=-0.1)), r"'knee'.*damping"),
    "armature": (build(joint=revolute("knee", armature=math.nan)), r"'knee'.*armature"),
    "effort": (build(joint=revolute("knee", effort=-1)), r"'knee'.*effort"),
    "limits of a ball": (build(joint=spherical("hip", limits=(-1, 1))), r"(hip|leg).*limits"),
    "moves no mass": (build(mass=0.0, inertia=(0, 0, 0)), r"'leg' moves no mass"),
    "unknown parent": (build(parent="trunk"), r"'leg'.*unknown parent 'trunk'.*world"),
    "own parent": (build(parent="leg"), r"cycle.*leg"),
    "body exists": (with_geom(lambda b: b.body("leg", **SOLID)), r"'leg' exists already"),
    "world": (with_geom(lambda b: b.body("world", **SOLID)), r"'world' exists already"),
    "geom exists": (with_geom(lambda b: b.half_space("floor")), r"'floor' exists already"),
    "unknown body": (
        with_geom(lambda b: b.sphere("toe", "foot", radius=1)),
        r"'toe'.*unknown body 'foot'.*world, leg",
    ),
    "radius": (with_geom(lambda b: b.sphere("toe", "leg", radius=0.0)), r"'toe'.*radius"),
    "radius not a number": (
        with_geom(lambda b: b.sphere("toe", "leg", radius=math.nan)),
        r"'toe'.*radius",
    ),
    "half size": (
        with_geom(lambda b: b.box("toe", "leg", half_size=(1, -1, 1))),
        r"'toe'.*half_size",
    ),
    "length": (
        with_geom(lambda b: b.capsule("toe", "leg", start=(0, 0, 1), end=(0, 0, 1), radius=1)),
        r"'toe'.*length",
    ),
    "normal": (with_geom(lambda b: b.half_space("wall", normal=(0, 0, 0))), r"normal of 'wall'"),
    "friction": (
        with_geom(lambda b: b.sphere("toe", "leg", radius=1, friction=-0.5)),
        r"'toe'.*friction",
    ),
    "friction not a number": (
        with_geom(lambda b: b.sphere("toe", "leg", radius=1, friction=math.nan)),
        r"'toe'.*friction",
    ),
    "restitution": (
        with_geom(lambda b: b.sphere("toe", "leg", radius=1, restitution=1.5)),
        r"'toe', 'floor'.*restitution",
    ),
    "pair of unknown geom": (with_geom(lambda b: b.pair("floor", "tow")), r"'tow'.*floor"),
    "unsupported pair": (
        with_geom(
            lambda b: (
                b.body("arm", joint=free(), **SOLID)
                .half_space("wall", "arm")
                .height_field("hills", "leg", heights=np.zeros((2, 2)), half_size=(1, 1))
            )
        ),
        r"'wall'.*'hills'|'floor'.*",
    ),
    "directions": (lambda: ModelBuilder(directions=5), r"directions.*5"),
    "gravity": (lambda: ModelBuilder(gravity=(0, 0)), r"gravity"),
    "dh joint": (
        lambda: ModelBuilder().dh_link("leg", joint=spherical(), **SOLID),
        r"'leg'.*'spherical'",
    ),
    "friction of a pair": (
        with_geom(lambda b: b.sphere("toe", "leg", radius=1).pair("toe", "floor", friction=-1.0)),
        r"toe.*friction|friction.*toe",
    ),
    "friction of a pair not a number": (
        with_geom(
            lambda b: b.sphere("toe", "leg", radius=1).pair("toe", "floor", friction=math.nan)
        ),
        r"toe.*friction|friction.*toe",
    ),
    "no contacts": (
        lambda: (
            ModelBuilder(max_contacts=0)
            .half_space("floor")
            .body("leg", joint=free(), **SOLID)
            .sphere("toe", "leg", radius=1)
            .build()
        ),
        r"max_contacts",
    ),
    "negative max contacts": (lambda: ModelBuilder(max_contacts=-1).build(), r"max_contacts"),
    "d of a dh row": (
        lambda: ModelBuilder().dh_link("leg", joint=revolute(), d=math.nan, **SOLID).build(),
        r"leg",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_errors_name_the_culprit(case: str) -> None:
    """Each wrong description raises a ModelError that names the part and what is wrong."""
    make, message = BAD[case]
    with pytest.raises(ModelError, match=message):
        make()


def test_joint_names_are_unique() -> None:
    """Two joints of one name could not be told apart."""
    builder = ModelBuilder().body("a", joint=revolute("j"), **SOLID)
    builder.body("b", joint=revolute("j"), **SOLID)
    with pytest.raises(ModelError, match="'j' exists twice"):
        builder.build()


def test_a_cycle_is_spelled_out() -> None:
    """a on b on c on a."""
    builder = ModelBuilder()
    for name, parent in (("a", "b"), ("b", "c"), ("c", "a")):
        builder.body(name, parent=parent, joint=revolute(), **SOLID)
    with pytest.raises(ModelError, match="cycle: a -> b -> c -> a"):
        builder.build()


numbers = st.floats(width=64) | st.sampled_from([0.0, -0.0, 1.0, -1.0, 1e-320, 1e308])
vectors = st.tuples(numbers, numbers, numbers)


@pytest.mark.filterwarnings("ignore:overflow")
@settings(max_examples=200)
@given(
    mass=numbers,
    com=vectors,
    inertia=vectors,
    axis=vectors,
    position=vectors,
    limits=st.tuples(numbers, numbers),
    damping=numbers,
    armature=numbers,
    radius=numbers,
    friction=numbers,
)
def test_any_numbers_give_a_model_or_a_model_error(
    mass: float,
    com: tuple[float, ...],
    inertia: tuple[float, ...],
    axis: tuple[float, ...],
    position: tuple[float, ...],
    limits: tuple[float, float],
    damping: float,
    armature: float,
    radius: float,
    friction: float,
) -> None:
    """Never another exception, never a model with a number that is not finite in it."""
    joint = Joint(
        "revolute", axis=axis, position=position, limits=limits, damping=damping, armature=armature
    )
    message, model = "", None
    try:
        model = (
            ModelBuilder()
            .half_space("floor")
            .body("leg", joint=joint, mass=mass, com=com, inertia=inertia)
            .sphere("toe", "leg", radius=radius, friction=friction)
            .build()
        )
    except ModelError as error:
        message = str(error)
    if model is None:
        assert any(word in message for word in ("leg", "toe"))
        return
    record = model.bodies[1]
    for name in ("mass", "com", "inertia", "axis", "position", "rotation"):
        assert np.isfinite(record[name]).all(), name
    assert np.linalg.norm(record["axis"]) == pytest.approx(1.0, abs=1e-12)
    assert np.isfinite(model.features["friction"]).all()


@settings(max_examples=100)
@given(value=st.text(max_size=3) | st.lists(numbers, max_size=4))
@pytest.mark.thorough
def test_vectors_of_any_kind_give_a_model_error(value: Any) -> None:
    """What is not three finite numbers is refused by name."""
    three = isinstance(value, list) and len(value) == 3 and np.isfinite(value).all()
    if three:
        return
    with pytest.raises(ModelError, match="com of 'leg'"):
        ModelBuilder().body("leg", com=value, **SOLID)


def test_a_misspelt_option_of_a_geom_is_named_with_those_that_there_are() -> None:
    builder = ModelBuilder()
    with pytest.raises(TypeError, match="geom 'floor': unknown option 'fricton'; choose from: f"):
        builder.half_space("floor", fricton=0.5)  # type: ignore[call-arg]
