"""The fuzzer's models: calls of ModelBuilder, saved models, MJCF and URDF."""

from __future__ import annotations

import contextlib
import copy
import json
import xml.etree.ElementTree as ElementTree
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from fuzz_values import (
    Strategy,
    changed,
    changes,
    cut,
    cuts,
    rarely,
    some_of,
)
from hypothesis import strategies as st

import dynenvs
from dynenvs import ModelBuilder, World, Worlds
from dynenvs.model.model import Model
from dynenvs.model.parts import Joint

# Calls of the builder: parts without names, bodies by number; then some leaves are changed

number = st.floats(0.05, 0.5)
vector = st.lists(st.floats(-0.5, 0.5), min_size=3, max_size=3)
sizes = st.lists(number, min_size=3, max_size=3)
which = st.integers(0, 9)
rotation = st.one_of(st.none(), st.floats(-4, 4).map(lambda t: _turn(t).tolist()))
JOINTS: dict[str, dict[str, Strategy]] = {
    "free": {},
    "revolute": {"limits": st.just([-1.0, 1.0]), "friction": st.just(0.01)},
    "prismatic": {"limits": st.just([-1.0, 1.0]), "effort": number},
    "spherical": {"limits": st.just([0.0, 1.0]), "stiffness": number},
    "fixed": {},
}
placed = {"axis": vector, "position": vector, "rotation": rotation}
moved = {"damping": number, "armature": number, "stiffness": number, "velocity": number,
         "reference": st.just(0.0)}  # fmt: skip
joints = st.one_of(
    *(
        st.fixed_dictionaries(
            {"type": st.just(kind)}, optional={**placed, **own, **(moved if own else {})}
        )
        for kind, own in (*JOINTS.items(), ("free", {}))
    )
)
bodies = st.fixed_dictionaries(
    {"joint": joints, "mass": number, "inertia": number.map(lambda x: [x, x, x])},
    optional={"com": vector, "kinematic": st.just(False), "parent": which},
)
kinematic = st.fixed_dictionaries(
    {"joint": st.just({"type": "prismatic", "axis": [0.0, 0, 1]}), "kinematic": st.just(True)}
)
links = st.fixed_dictionaries(
    {"dh": st.just(True), "mass": number, "a": number,
     "joint": st.sampled_from([{"type": "revolute"}, {"type": "prismatic"}])},
    optional={"d": number, "alpha": number, "theta": number, "com": vector},
)  # fmt: skip
common: dict[str, Strategy] = {
    "friction": number,
    "color": st.just([1, 2, 3]),
    "collide": st.booleans(),
    "position": vector,
}
rare: dict[str, Strategy] = {
    "restitution": number,
    "torsional_friction": number,
    "rolling_friction": number,
    "surface_velocity": vector,
}
SHAPES: dict[str, dict[str, Strategy]] = {
    "point": {"position": vector},
    "sphere": {"radius": number},
    "capsule": {"start": vector, "end": vector, "radius": number},
    "box": {"half_size": sizes, "rotation": rotation},
    "cylinder": {"radius": number, "half_length": number, "rotation": rotation},
    "cone": {"radius": number, "half_length": number, "rotation": rotation},
    "ellipsoid": {"radii": sizes, "rotation": rotation},
    "convex": {"points": st.lists(vector, min_size=4, max_size=9)},
}
heights = st.lists(st.lists(st.floats(-0.1, 0.1), min_size=3, max_size=3), min_size=2, max_size=4)
spans = st.lists(st.floats(1.0, 9.0), min_size=2, max_size=2)
GROUNDS: dict[str, dict[str, Strategy]] = {
    "half_space": {"normal": st.just([0, 0, 1])},
    "height_field": {"heights": heights, "half_size": spans},
    "block_field": {"heights": heights, "half_size": spans},
}


def _geoms(kind: str, own: dict[str, Strategy], odd: dict[str, Strategy]) -> Strategy:
    options = {key: value for key, value in common.items() if key not in own}
    if kind == "capsule":
        del options["position"]
    required = {"type": st.just(kind), "body": which, **own}
    return st.fixed_dictionaries(required, optional={**options, **odd})


shapes = st.one_of(
    *(_geoms(kind, own, {}) for _ in range(6) for kind, own in SHAPES.items()),
    *(_geoms(kind, own, rare) for kind, own in SHAPES.items()),
)
grounds = st.one_of(*(_geoms(kind, own, {}) for kind, own in GROUNDS.items()))
OTHERS: dict[str, dict[str, Strategy]] = {
    "close": {"body_a": which, "body_b": which, "position_a": vector, "position_b": vector,
              "joint": st.sampled_from(["spherical", "revolute", "prismatic", "fixed"])},
    "couple": {"joint": which, "other": which, "coefficients": vector},
    "exclude": {"geom_a": which, "geom_b": which},
    "pair": {"geom_a": which, "geom_b": which, "friction": number},
    "site": {"body": which, "position": vector, "rotation": rotation},
    "keyframe": {"q": vector},
    "actuator": {"joint": which, "gain": vector, "bias": vector,
                 "control_range": st.just([-1.0, 1.0]), "force_range": st.just([-1.0, 1.0])},
    "visual": {"body": which, "points": st.lists(vector, min_size=3, max_size=4),
               "triangles": st.just([[0, 1, 2]]), "color": st.just([1, 2, 3])},
}  # fmt: skip
others = st.one_of(
    *(st.fixed_dictionaries({"call": st.just(call), **own}) for call, own in OTHERS.items())
)
builders = some_of(
    gravity=vector,
    directions=st.sampled_from([4, 8]),
    cone=st.sampled_from(["pyramid", "exact"]),
    restitution=st.sampled_from(["newton", "poisson"]),
    impacts=st.sampled_from(["simultaneous", "sequential"]),
    integrator=st.sampled_from(["euler", "euler", "midpoint"]),
    friction=st.sampled_from(["geometric", "minimum"]),
    timestep=st.just(0.005),
    max_contacts=st.just(50),
)
worlds = some_of(timestep=st.just(0.005), budget=st.just(100), audit_every=st.just(1))
models = st.tuples(
    st.fixed_dictionaries(
        {
            "options": builders,
            "bodies": st.lists(st.one_of(*[bodies] * 8, links, kinematic), min_size=1, max_size=4),
            "grounds": st.lists(grounds, max_size=1),
            "shapes": st.lists(shapes, max_size=5),
            "others": rarely(st.just([]), st.lists(others, max_size=2), 4),
            "world": worlds,
            "q": st.one_of(st.just([]), vector),
        }
    ),
    changes,
)


def build_model(recipe: Any) -> None:
    """Call the builder, step what it makes, save it and read it again."""
    content, many = recipe
    content = copy.deepcopy(content)
    for one in many:
        content = changed(content, one)
    try:
        calls = _calls(content)
    except (KeyError, TypeError, ValueError, AttributeError):
        return  # the change has left no calls
    builder = ModelBuilder(**content["options"])
    for call, arguments in calls:
        if isinstance(arguments.get("joint"), dict):
            arguments["joint"] = Joint(**arguments["joint"])
        getattr(builder, call)(**arguments)
    model = builder.build()
    step_some(model, content.get("world"), content.get("q"))
    dynenvs.save(model, "model.json")
    dynenvs.load("model.json")


def _calls(content: Any) -> list[tuple[str, dict[str, Any]]]:
    """The calls of the builder that a recipe means; parts get their names and bodies."""
    dict(content["options"], **content["world"])
    bodies, geoms = content["bodies"], [*content["grounds"], *content["shapes"]]
    calls = []
    for k, part in enumerate(bodies):
        given = {"name": f"body{k}", **part}
        if "parent" in given:
            given["parent"] = _named(given["parent"], "body", k)
        calls.append(("dh_link" if given.pop("dh", None) else "body", given))
    for k, part in enumerate(geoms):
        given = {"name": f"geom{k}", **part}
        ground = given["type"] in GROUNDS
        given["body"] = "world" if ground else _named(given["body"], "body", len(bodies))
        calls.append((str(given.pop("type")), given))
    for k, part in enumerate(content["others"]):
        given = {"name": f"other{k}", **part}
        call = str(given.pop("call"))
        for key in ("body", "body_a", "body_b", "joint", "other", "geom_a", "geom_b"):
            kind = "geom" if "geom" in key else "body"
            if key in given:
                given[key] = _named(given[key], kind, len(geoms if kind == "geom" else bodies))
        if call == "actuator":
            given["gears"] = {given.pop("joint"): 1.0}
        if call in ("pair", "exclude"):
            del given["name"]
        calls.append((call, given))
    known = {"body", "dh_link", *SHAPES, *GROUNDS, *OTHERS}
    return [(call, given) for call, given in calls if call in known and _is_named(given)]


def _is_named(given: dict[Any, Any]) -> bool:
    return all(isinstance(key, str) for key in given)


def _named(value: Any, kind: str, count: int) -> Any:
    """The name of a part by its number, of which there are `count`; "world" without any."""
    if type(value) is not int:
        return value
    return f"{kind}{value % count}" if count else "world"


# Of a step [s]: what is absurdly fast is stepped in up to 10,000 parts, which take a minute
LONG = 10.0


def step_some(model: Model, options: Any = None, q: Any = None) -> None:
    """A world of a model, and two in a batch, as far as they come in three steps."""
    world = World(model, **(options or {}))
    if isinstance(q, list) and q and model.nq:
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            world.q = np.resize(np.array(q, dtype=np.float64), model.nq)
    if world.timestep > LONG:
        return
    world.step(steps=3)
    world.certificate()
    repr((world.contacts, world.diagnostics))
    state = world.get_state()
    many = Worlds(model, 2, timestep=world.timestep)
    many.step(steps=2)
    repr((many.impulses, many.contact_wrenches, many.frames))
    world.set_state(state)
    world.step(control=np.ones(len(model.actuators)) if model.actuators else None)


def _turn(angle: float) -> Any:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


# Saved models

saved = st.tuples(st.integers(0, 3), changes, rarely(st.just([]), cuts, 5))


@cache
def saved_texts() -> list[str]:
    """Files of small models that have all parts between them."""
    texts = []
    for model in (_everything(), _loop(), _large()):
        dynenvs.save(model, "saved.json")
        texts.append(Path("saved.json").read_text(encoding="utf-8"))
    return texts


def read_saved(recipe: Any) -> None:
    """Read a spoilt file of a model, and step what it holds."""
    number_of, many, cut_out = recipe
    texts = saved_texts()
    content = json.loads(texts[number_of % len(texts)])
    head = {name: content.pop(name) for name in ("format", "version")}
    for one in many:
        content = changed(content, one)
    text = cut(json.dumps({**head, **content}, default=str), cut_out)
    Path("spoilt.json").write_text(text, encoding="utf-8", errors="replace")
    step_some(dynenvs.load("spoilt.json"))


def _everything() -> Model:
    b = ModelBuilder()
    b.block_field("floor", heights=np.zeros((3, 3)), half_size=(3.0, 3.0))
    b.body("a", joint=dynenvs.free(), density=500.0)
    b.capsule("a1", "a", start=(0, 0, 0), end=(0, 0, 0.3), radius=0.1)
    b.body("b", parent="a", joint=dynenvs.revolute("hinge", (0, 1, 0), limits=(-1.0, 1.0)),
           mass=1.0, inertia=(0.1, 0.1, 0.1))  # fmt: skip
    b.convex("b1", "b", points=np.vstack([np.eye(3), -np.eye(3)]) * 0.1, position=(0, 0, 0.5))
    b.body("c", joint=dynenvs.free(), density=500.0)
    b.cylinder("c1", "c", radius=0.1, half_length=0.1, position=(1.0, 0, 0))
    b.pair("a1", "b1", friction=0.3)
    b.site("s", "b").actuator("m", {"hinge": 1.0}, gain=(1.0, 0, 0), bias=(0, -1.0, -0.1))
    b.keyframe("qpos0", [0, 0, 0.5, 1, 0, 0, 0, 0, 1, 1, 0.5, 1, 0, 0, 0])
    b.visual("v", "a", points=np.eye(3), triangles=[[0, 1, 2]], instead_of=["a1"])
    return b.build()


def _loop() -> Model:
    b = ModelBuilder()
    b.body("a", joint=dynenvs.revolute("one", (0, 1, 0)), mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.body("b", joint=dynenvs.revolute("two", (0, 1, 0), position=(1.0, 0, 0)), mass=1.0,
           inertia=(0.1, 0.1, 0.1))  # fmt: skip
    b.couple("gears", "one", "two", coefficients=(0.0, 2.0))
    b.body("c", joint=dynenvs.spherical("ball", limits=(0.0, 1.0), stiffness=1.0), mass=1.0,
           inertia=(0.1, 0.1, 0.1))  # fmt: skip
    b.close("closed", "c", "world", position_a=(0, 0, 0.5), position_b=(0, 0, 0.5))
    return b.build()


def _large() -> Model:
    b = ModelBuilder()
    b.height_field("floor", heights=np.zeros((4, 4)), half_size=(3.0, 3.0))
    for i in range(5):
        b.body(f"a{i}", joint=dynenvs.free(), density=500.0)
        b.box(f"a{i}", f"a{i}", half_size=(0.1, 0.1, 0.1), position=(0.3 * i, 0, 0.1))
    return b.build()


# MJCF and URDF

MJCF = """<mujoco model="m"><compiler angle="radian"/><option timestep="0.004" gravity="0 0 -9.81"/>
<default><geom friction="0.8 0.01 0.001" density="500"/><joint damping="0.1"/></default>
<asset><hfield name="h" nrow="3" ncol="3" size="2 2 0.2 0.1"/>
<mesh name="t" vertex="0 0 0 0.1 0 0 0 0.1 0 0 0 0.1"/></asset>
<worldbody><geom name="floor" type="plane" size="5 5 0.1"/>
<geom type="hfield" hfield="h" pos="9 0 0"/>
<body name="a" pos="0 0 0.5"><freejoint name="f"/><geom name="a1" type="capsule" size="0.05 0.1"/>
<body name="b" pos="0 0 0.2"><joint name="j" axis="0 1 0" range="-1 1" stiffness="1" armature="0.01"
 frictionloss="0.0"/>
<geom name="b1" type="box" size="0.05 0.05 0.05"/><site name="s" pos="0 0 0.1"/>
<body name="c" pos="0.2 0 0"><joint name="k" type="slide" axis="1 0 0" limited="true"
 range="-0.1 0.1"/>
<geom name="c1" type="sphere" size="0.05" condim="4"/></body></body></body>
<body name="d" pos="1 0 0.5"><joint name="ball" type="ball" range="0 1"/>
<geom type="cylinder" size="0.05 0.1"/><geom type="ellipsoid" size="0.05 0.06 0.07" pos="0 0 0.2"/>
<geom type="mesh" mesh="t" pos="0 0 0.4"/></body></worldbody>
<contact><pair geom1="a1" geom2="c1" condim="3"/><exclude body1="a" body2="d"/></contact>
<equality><joint joint1="j" joint2="k" polycoef="0 1 0 0 0"/></equality>
<tendon><fixed name="t"><joint joint="j" coef="1"/></fixed></tendon>
<actuator><motor joint="j" gear="2" ctrlrange="-1 1"/>
<position joint="k" kp="10" kv="1"/></actuator>
<keyframe><key name="home" qpos="0 0 0.5 1 0 0 0 0 0 1 0 0 0"/></keyframe></mujoco>"""
URDF = """<robot name="r"><link name="a"><inertial><origin xyz="0 0 0.1"/><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision></link>
<link name="b"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0"
 iyz="0"/></inertial><collision><origin xyz="0 0 0.1" rpy="0 0 1"/><geometry><sphere radius="0.1"/>
</geometry></collision></link><joint name="j" type="revolute"><parent link="a"/><child link="b"/>
<origin xyz="0 0 0.3" rpy="0 0.1 0"/><axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="10"
 velocity="5"/><dynamics damping="0.1" friction="0.1"/></joint></robot>"""
words = st.one_of(
    st.lists(
        st.sampled_from(["0", "1", "-1", "0.1", "1e-320", "1e-300", "1e12", "1e18", "1e300", "-1e9",
                         "nan", "inf", "1e400", "9" * 30, "true", "a", "b", "world", "floor"]),
        max_size=4,
    ).map(" ".join),
    st.text(max_size=6),
)  # fmt: skip
xml = st.tuples(
    st.booleans(),
    st.lists(
        st.tuples(
            st.integers(0, 10**4),
            st.sampled_from(["set", "set", "set", "set", "drop", "double", "nest", "without"]),
            st.integers(0, 10**4),
            words,
        ),
        max_size=4,
    ),
    rarely(st.just([]), cuts, 6),
    some_of(floating=rarely(st.booleans()), strict=rarely(st.just(False)),
            directions=rarely(st.just(4)), moments=rarely(st.booleans())),
)  # fmt: skip


def load_xml(recipe: Any) -> None:
    """Load a spoilt description, and step what it makes."""
    urdf, many, cut_out, options = recipe
    root = ElementTree.fromstring(URDF if urdf else MJCF)
    for which, how, attribute, new in many:
        found = list(root.iter())
        element = found[which % len(found)]
        keys = sorted(element.attrib)
        if how == "set" and keys:
            element.set(keys[attribute % len(keys)], new)
        elif how == "without" and keys:
            del element.attrib[keys[attribute % len(keys)]]
        elif how == "nest":
            found[attribute % len(found)].append(ElementTree.Element(element.tag, element.attrib))
        else:
            for parent in found:
                if element in list(parent):
                    if how == "drop":
                        parent.remove(element)
                    elif how == "double":
                        parent.append(element)
                    break
    text = cut(ElementTree.tostring(root, encoding="unicode"), cut_out)
    model = dynenvs.load(text, **options)
    check_possible(model)
    step_some(model)


def check_possible(model: Model) -> None:
    """That a robot can have the numbers of a model: what is accepted in silence is no better."""
    for records, signed in ((model.bodies, ("mass",)), (model.dofs, ("damping", "armature"))):
        for name in records.dtype.names:
            if records[name].dtype.kind == "f":
                assert not np.isnan(records[name]).any(), name
        for name in signed:
            assert (records[name] >= 0.0).all(), name
    assert (model.lower <= model.upper).all()
