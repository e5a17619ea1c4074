"""URDF and MJCF that say what no robot has: each is told in one line, with what, where, and why."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest

import dynenvs
from dynenvs import ModelError
from dynenvs.model.importing import NotCarriedOver

pytest.importorskip("mujoco")

INERTIA = 'ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"'
BALL = '<sphere radius="0.1"/>'
FLAT = '<geometry><cylinder radius="0.1" length="1e-300"/></geometry>'
LIMIT = '<limit lower="-1" upper="1" effort="10" velocity="5"/>'


def urdf(shape: str = BALL, mass: str = "1", inertia: str = INERTIA, limit: str = LIMIT) -> str:
    """A link on a hinge of another one."""
    return (
        '<robot name="r"><link name="a"/><link name="b"><inertial>'
        f'<mass value="{mass}"/><inertia {inertia}/></inertial>'
        f"<collision><geometry>{shape}</geometry></collision></link>"
        '<joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/>'
        f"{limit}</joint></robot>"
    )


def mjcf(joint: str = "", body: str = "", geom: str = 'size="0.1"', actuator: str = "") -> str:
    """A body on a hinge."""
    inertial = body or 'mass="1" diaginertia="1 1 1"'
    return (
        f'<mujoco><worldbody><body name="b"><inertial pos="0 0 0" {inertial}/>'
        f'<joint name="j" {joint}/><geom name="g" {geom}/></body></worldbody>'
        f'<actuator><motor name="m" joint="j" {actuator}/></actuator></mujoco>'
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (urdf(mass="-1"), """link 'b': <mass value="-1"> must be finite and not negative"""),
        (urdf(mass="nan"), """link 'b': <mass value="nan"> must be finite and not negative"""),
        (urdf(inertia=INERTIA.replace("1", "nan", 1)), """<inertia ixx="nan"> must be finite"""),
        (urdf('<box size="nan .1 .1"/>'), """link 'b': <box size="nan .1 .1"> must be finite"""),
        (urdf('<box size="-.1 .1 .1"/>'), "must be finite and not negative"),
        (urdf('<mesh filename=""/>'), "link 'b': its <mesh> has no filename"),
        (
            urdf(limit='<limit lower="nan" upper="1" effort="1"/>'),
            """<limit lower="nan"> must be""",
        ),
        (urdf(limit='<limit lower="-1" upper="1" effort="-1"/>'), "finite and not negative"),
        (
            urdf(limit='<limit lower="1" upper="-1" effort="1"/>'),
            "joint 'j': its lower limit, 1, is above its upper one, -1; swap them",
        ),
        (mjcf(body='mass="-1" diaginertia="1 1 1"'), "body 'b': mass must be finite and not neg"),
        (mjcf(body='mass="1" diaginertia="1 -5 1"'), "diaginertia must be finite and not negat"),
        (mjcf(joint='range="1 -1"'), "joint 'j': the lower end of its range, 1, is above"),
        (mjcf(joint='range="nan 1"'), "joint 'j': a number of its range is not finite"),
        (mjcf(joint='actuatorfrcrange="1 -1"'), "the lower end of its actfrcrange, 1, is above"),
        (mjcf(geom='size="0.1" quat="nan 0 0 0"'), "geom 'g': a number of its quat is not finite"),
        (mjcf(actuator='ctrlrange="1 -1"'), "actuator 'm': the lower end of its ctrlrange, 1, is"),
        (mjcf(actuator='gear="nan"'), "actuator 'm': a number of its gear is not finite"),
        (mjcf(actuator='gear="1e300"'), "must be"),
        (mjcf(geom='size="0.1" pos="0 0 inf"'), "geom 'g': a number of its pos is not finite"),
    ],
)
def test_what_cannot_be_is_told(text: str, told: str) -> None:
    """Ranges in the wrong order were no ranges at all, and a NaN came into the model."""
    with pytest.raises(ModelError, match=re.escape(told)) as error:
        dynenvs.load(text)
    assert "\n" not in str(error.value)


def test_a_limit_of_no_width_is_told() -> None:
    with pytest.warns(NotCarriedOver, match=r"limits whose ends are the same \(j\): nothing stops"):
        dynenvs.load(urdf(limit='<limit lower="0" upper="0" effort="1" velocity="1"/>'))


@pytest.mark.parametrize("suffix", ["urdf", "xml"])
def test_a_folder_in_place_of_a_mesh(suffix: str, tmp_path: Path) -> None:
    """MuJoCo says that the file is larger than 2 GB."""
    (tmp_path / "x.stl").mkdir()
    text = urdf('<mesh filename="x.stl"/>')
    if suffix == "xml":
        text = mjcf(geom='type="mesh" mesh="x"').replace(
            "<worldbody>", '<asset><mesh name="x" file="x.stl"/></asset><worldbody>'
        )
    (tmp_path / f"robot.{suffix}").write_text(text)
    with pytest.raises(ModelError, match=re.escape("x.stl' is a folder: name a file in it")):
        dynenvs.load(tmp_path / f"robot.{suffix}")


@pytest.mark.parametrize("named", ["mesh", "include"])
def test_a_pipe_in_place_of_a_file(named: str, tmp_path: Path) -> None:
    """Archives may hold one; it was waited for for ever."""
    if not hasattr(os, "mkfifo"):
        pytest.skip("no pipes with names on this system")
    os.mkfifo(tmp_path / "hand.stl")
    (tmp_path / "noise.stl").symlink_to("/dev/zero")
    for name in ("hand.stl", "noise.stl"):
        mesh = f'<asset><mesh name="hand" file="{name}"/></asset><worldbody><body>'
        mesh += '<joint/><geom type="mesh" mesh="hand"/></body></worldbody>'
        text = mesh if named == "mesh" else f'<include file="{name}"/>'
        (tmp_path / "robot.xml").write_text(f"<mujoco>{text}</mujoco>")
        with pytest.raises(ModelError, match=f"'{name}' is a pipe or a device: name a file"):
            dynenvs.load(tmp_path / "robot.xml")


def test_a_visual_that_is_flat() -> None:
    """Its surface has no volume: that was an error of its own, of forty lines."""
    text = urdf().replace("<collision>", f"<visual>{FLAT}</visual><collision>")
    visual = dynenvs.load(text).visuals[0]
    assert np.ptp(np.asarray(visual.points)[:, 2]) < 1e-4


def test_a_visual_of_absurd_length() -> None:
    text = urdf().replace("<collision>", f"<visual>{FLAT}</visual><collision>")
    with pytest.raises(ModelError, match=r"only seen has sizes .*: too different to draw"):
        dynenvs.load(text.replace("1e-300", "1e300"))


def test_more_links_than_can_be_read() -> None:
    """MuJoCo takes time with their square: 20,000 did not end in 100 s."""
    links = "".join(f'<link name="l{i}"/>' for i in range(20_000))
    with pytest.raises(ModelError, match="20000 links, more than 5000"):
        dynenvs.load(f'<robot name="r">{links}</robot>')
    bodies = "".join(f'<body name="b{i}"/>' for i in range(20_000))
    with pytest.raises(ModelError, match="20000 bodies, more than 5000"):
        dynenvs.load(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")


def test_a_strangers_names_move_no_cursor() -> None:
    """MuJoCo's message has them as they are."""
    with pytest.raises(ModelError, match=r"g\\x1b\[2J") as raised:
        dynenvs.load(mjcf(geom='size="-1"').replace('"g"', '"g&#27;[2J"'))
    assert str(raised.value).isprintable()


def test_names_in_another_code_are_told(tmp_path: Path) -> None:
    """MuJoCo takes the bytes as they are."""
    file = tmp_path / "r.xml"
    file.write_bytes(mjcf().replace('"b"', '"\xe9"').encode("latin-1"))
    with pytest.raises(ModelError, match=r"r.xml: .*names must be in UTF-8") as raised:
        dynenvs.load(file)
    assert "\n" not in str(raised.value)
