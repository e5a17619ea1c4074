"""URDFs that other readers take and MuJoCo's parser refuses."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import dynenvs
from dynenvs import ModelError
from dynenvs.model.importing import NotCarriedOver

pytest.importorskip("mujoco")

INERTIA = (
    '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    "</inertial>"
)
BALL = '<geometry><sphere radius="0.1"/></geometry>'
TETRAHEDRON = "v 0 0 0\nv .1 0 0\nv 0 .1 0\nv 0 0 .1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def robot(shapes: str) -> str:
    """One free link."""
    return f'<robot name="r"><link name="a">{INERTIA}{shapes}</link></robot>'


@pytest.mark.parametrize("place", ["visual", "collision"])
@pytest.mark.parametrize(
    "shape",
    [
        '<sphere radius="0.0"/>',
        '<box size="0.1 0 0.1"/>',
        '<cylinder radius="0.1" length="0"/>',
    ],
)
def test_shapes_of_size_zero_are_left_out(place: str, shape: str) -> None:
    """The others of the link stay."""
    empty = f"<{place}><geometry>{shape}</geometry></{place}>"
    text = robot(empty + f"<collision>{BALL}</collision>")
    with pytest.warns(NotCarriedOver, match=r"shapes of size zero \(a\): they are not there"):
        model = dynenvs.load(text, floating=True)
    assert [geom.type for geom in model.geoms] == ["sphere"]
    assert model.bodies["mass"].sum() == 1.0


def test_a_repeated_material_counts_once() -> None:
    red, blue = (
        f'<material name="{name}"><color rgba="{rgba}"/></material>'
        for name, rgba in (("red", "1 0 0 1"), ("blue", "0 0 1 1"))
    )
    text = robot(
        f"<visual>{BALL.replace('sphere', 'cylinder length=' + chr(34) + '.1' + chr(34))}"
        f"{red}{blue}</visual><collision>{BALL}</collision>"
    )
    with pytest.warns(NotCarriedOver, match=r"repeated materials \(a\): the first one counts"):
        model = dynenvs.load(text, floating=True)
    assert [visual.color for visual in model.visuals] == [(255, 0, 0)]


def test_a_sound_file_is_read_as_it_is() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", NotCarriedOver)
        model = dynenvs.load(robot(f"<collision>{BALL}</collision>"), floating=True)
    assert len(model.geoms) == 1
    with pytest.raises(ModelError, match="XML"):
        dynenvs.load('<robot name="r"><link name="a"></robot>')


@pytest.mark.parametrize(
    ("folder", "file"),
    [
        ("arm_description", "urdf/arm.urdf"),  # the package's own folder
        ("stacks/arm_description", "../other/urdf/arm.urdf"),  # beside a folder above the file
        ("arm-2.1-main", "urdf/arm.urdf"),  # a download, with another name
    ],
)
def test_packages_are_found_above_the_file(
    folder: str, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a workspace of ROS."""
    for variable in ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH"):
        monkeypatch.delenv(variable, raising=False)
    meshes = tmp_path / folder / "meshes"
    meshes.mkdir(parents=True)
    (meshes / "part.obj").write_text(TETRAHEDRON)
    place = (tmp_path / folder / file).resolve()
    place.parent.mkdir(parents=True, exist_ok=True)
    mesh = '<geometry><mesh filename="package://arm_description/meshes/part.obj"/></geometry>'
    place.write_text(robot(f"<collision>{mesh}</collision>"))
    model = dynenvs.load(place, floating=True)
    corners = model.geoms[0].corners
    assert corners is not None
    np.testing.assert_allclose(np.ptp(corners @ model.geoms[0].rotation.T, axis=0), 0.1, atol=1e-6)


def test_a_mesh_that_is_nowhere_is_named(tmp_path: Path) -> None:
    file = tmp_path / "arm.urdf"
    mesh = '<geometry><mesh filename="package://arm_description/meshes/part.obj"/></geometry>'
    file.write_text(robot(f"<collision>{mesh}</collision>"))
    with pytest.raises(ModelError, match=re.escape("put its package in a folder above the file")):
        dynenvs.load(file)
