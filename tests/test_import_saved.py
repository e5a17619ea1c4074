"""Models as plain files: read back bit for bit, and every fault of a file told in one line."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import pytest

import dynenvs
from dynenvs import ModelBuilder, ModelError, free, prismatic, revolute, spherical
from dynenvs.model.importing import fields
from dynenvs.model.model import Model


def everything() -> Model:
    """A model with every kind of part."""
    builder = ModelBuilder(gravity=(0.1, 0.0, -9.8), directions=6, cone="exact", max_contacts=40)
    belt = (0.1, 0.2, 0.0)
    builder.half_space("floor", normal=(0.1, 0.0, 1.0), friction=0.7, surface_velocity=belt)
    builder.body("lift", joint=prismatic("shaft"), kinematic=True)
    hills = np.array([[0.0, 0.1, 0.2], [0.3, 1 / 3, 0.5]])
    builder.block_field("stairs", heights=hills, half_size=(2.0, 3.0), position=(5.0, 0.0, 0.0))
    builder.body("hull", joint=free(), density=300.0)
    builder.box("skin", "hull", half_size=(0.3, 0.2, 0.1), color=(1, 2, 3))
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    hinge = revolute("hip", (0, 1, 0), rotation=turn, limits=(-0.1, 1 / 7), damping=0.1, effort=9.0)
    builder.body("leg", parent="hull", joint=hinge, mass=1.0, inertia=(0.1, 0.2, 0.3))
    builder.capsule("shin", "leg", start=(0, 0, 0), end=(0, 0, -0.5), radius=0.05, restitution=0.1)
    builder.body("ball", parent="leg", joint=spherical(), mass=0.1, inertia=(0.1, 0.1, 0.1))
    builder.sphere("toe", "ball", radius=0.07)
    builder.body("gem", joint=free("fly"), mass=1.0, inertia=(0.1, 0.1, 0.1))
    corners = [[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0], [0, 0, 1 / 3], [0.01, 0.01, 0.01]]
    builder.convex("cut", "gem", points=corners, position=(0, 0, 3.0), rotation=np.eye(3))
    for other in ("stairs", "skin", "shin", "toe"):
        builder.exclude("cut", other)
    builder.body("rail", joint=prismatic("slide", armature=0.2), mass=2.0, com=(0, 0.1, 0))
    builder.dh_link("arm", parent="rail", a=0.3, alpha=0.2, joint=revolute("elbow"), mass=1.0)
    builder.body("hand", parent="arm", joint=revolute("wrist"), mass=1.0, inertia=(0.1, 0.1, 0.1))
    builder.close("hold", "hand", "world", position_b=(0.3, 0.1, 0.2))
    builder.self_contact("skin", "toe", "shin").exclude("skin", "toe")
    builder.pair("shin", "floor", friction=0.3)
    builder.site("eye", "hull", position=(0.1, 0.0, 0.2), rotation=turn)
    builder.actuator("motor", {"hip": 3.0, "wrist": -1.0}, control_range=(-1.0, 0.5))
    builder.actuator("servo", {"slide": 1.0}, gain=(5.0, 0.0, 0.0), bias=(0.0, -5.0, -0.3))
    flag = {"points": corners, "triangles": [[0, 1, 2], [0, 2, 3]], "color": (9, 8, 7)}
    builder.visual("flag", "hand", **flag, instead_of=("toe", "shin"))
    builder.keyframe("home", builder.build().neutral(), control=[0.1, 0.2])
    return builder.build()


def test_round_trip_keeps_every_bit(tmp_path: Path) -> None:
    """The packed model, and what the step does not read."""
    model = everything()
    file = tmp_path / "model.json"
    dynenvs.save(model, file)
    again = dynenvs.load(file)
    assert (again.packed == model.packed).all()
    assert again.actuators == model.actuators
    assert again.joints.keys() == model.joints.keys()
    assert (again.sites["eye"].rotation == model.sites["eye"].rotation).all()
    assert (again.keyframes["home"].control == [0.1, 0.2]).all()
    dynenvs.save(again, file)
    before = file.read_bytes()
    dynenvs.save(dynenvs.load(file), file)
    assert file.read_bytes() == before


def test_every_option_of_a_builder_is_described() -> None:
    """So that a file cannot forget one that is added later."""
    known = set(inspect.signature(ModelBuilder).parameters)
    assert set(ModelBuilder().description().options) == known


def test_the_integrator_of_now_is_kept(tmp_path: Path) -> None:
    """Also one that was chosen after the model was built."""
    builder = ModelBuilder()
    builder.body("ball", joint=free(), mass=1.0, inertia=(0.1, 0.1, 0.1))
    dynenvs.save(builder.build().with_integrator("midpoint"), tmp_path / "ball.json")
    assert dynenvs.load(tmp_path / "ball.json").integrator == "midpoint"


def test_more_can_be_added_to_a_model() -> None:
    """`ModelBuilder.of`: ground under a robot that is there."""
    model = everything()
    again = ModelBuilder.of(model.description)
    again.half_space("wall", normal=(1.0, 0.0, 0.0), position=(-9.0, 0.0, 0.0))
    assert len(again.build().geoms) == len(model.geoms) + 1


def _drop(content: Any) -> None:
    del content["bodies"][2]["joint"]["damping"]


FAULTS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "version": (lambda c: c.update(version=99), "version 99 of the format is unknown"),
    "format": (lambda c: c.update(format="urdf"), '"format" must be'),
    "missing field": (_drop, r"bodies\[2\].joint: 'damping' is missing"),
    "missing part": (lambda c: c.pop("geoms"), "'geoms' is missing"),
    "unknown field": (lambda c: c["geoms"][0].update(colour=1), "'colour' is unknown; known: name"),
    "missing option": (lambda c: c["options"].pop("cone"), "options: 'cone' is missing"),
    "no truth": (lambda c: c["options"].update(sparse_loops=""), "sparse_loops must be True or"),
    "long value": (
        lambda c: c["options"].update(cone="n" * 10**5),
        r"unknown cone 'n{90,100}\.\.\.;",
    ),
    "unknown option": (lambda c: c["options"].update(x=1), "options: 'x' is unknown"),
    "nan": (
        lambda c: c["bodies"][2]["inertia"][0].__setitem__(1, float("nan")),
        r"bodies\[2\].inertia\[0\]\[1\] must be a number, got nan",
    ),
    "infinite": (
        lambda c: c["bodies"][2]["com"].__setitem__(2, "inf"),
        r"bodies\[2\].com\[2\] must be finite",
    ),
    "text": (lambda c: c["bodies"][2].update(mass="1 kg"), r"bodies\[2\].mass must be a number"),
    "number": (lambda c: c["bodies"][2].update(name=3), r"bodies\[2\].name must be a text"),
    "list": (lambda c: c.update(sites={}), "sites must be a list"),
    "shape": (lambda c: c["bodies"][2].update(com=[1.0]), "com of 'leg' must be three finite"),
    "ragged": (lambda c: c["bodies"][2].update(inertia=[[1.0], [1.0, 2.0]]), "different lengths"),
    "pair": (lambda c: c["actuators"][0].update(force_range=[1.0]), "must have 2 entries"),
    "radius": (lambda c: c["geoms"][4]["size"].__setitem__(0, -1.0), r"size\[0\] must be positive"),
    "type": (lambda c: c["geoms"][4].update(type="torus"), "unknown type 'torus'"),
    "joint": (lambda c: c["actuators"][0]["gears"][0].__setitem__(0, "x"), "unknown joint 'x'"),
    "keyframe": (lambda c: c["keyframes"][0]["q"].pop(), "q must have 23 entries, got 22"),
    "site": (lambda c: c["sites"][0].update(body="head"), "unknown body 'head'"),
    "mass": (lambda c: c["bodies"][2].update(mass=-1.0), "mass must be finite and not negative"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_told_in_one_line(fault: str, tmp_path: Path) -> None:
    """What is wrong, in which file, and where in it."""
    change, message = FAULTS[fault]
    file = tmp_path / "model.json"
    dynenvs.save(everything(), file)
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))
    with pytest.raises(ModelError, match=message) as raised:
        dynenvs.load(file)
    assert "\n" not in str(raised.value)
    assert str(file) in str(raised.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "broken JSON"),
        ("nothing", "neither XML"),
        ('{"a": [], "a": []}', "broken JSON: 'a' stands there twice"),
    ],
)
def test_other_files_are_refused(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "model.json"
    file.write_text(text)
    with pytest.raises(ModelError, match=message):
        dynenvs.load(file)


def test_a_failed_save_leaves_what_was_there(tmp_path: Path) -> None:
    """A model whose parts nobody knows is refused before the file is touched."""
    file = tmp_path / "model.json"
    dynenvs.save(everything(), file)
    before = file.read_bytes()
    model = everything()
    model.description = type(model.description)()
    with pytest.raises(ModelError, match="cannot be saved"):
        dynenvs.save(model, file)
    assert file.read_bytes() == before
    with pytest.raises(OSError, match="cannot write"):
        dynenvs.save(everything(), tmp_path)


Scalar = TypeVar("Scalar")


class Alias(Generic[Scalar]):
    """What `NDArray` is from NumPy 2.5 on: an origin of its own, not `np.ndarray`."""


def test_arrays_are_read_whatever_their_alias_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fields, "NDArray", Alias)
    np.testing.assert_array_equal(fields.decoded(Alias[np.float64], [1.0, 2.0], "x"), (1.0, 2.0))


def test_a_name_that_no_file_can_have_is_told() -> None:
    with pytest.raises(ModelError, match=r"cannot read 'folder/\\x00\.xml': embedded null byte"):
        dynenvs.load("folder/\0.xml")
