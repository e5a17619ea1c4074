"""Coupled joints: gears, held at a polynomial of another joint's position."""

from __future__ import annotations

import numpy as np
import pytest
from trees import close

import dynenvs
from dynenvs import ModelBuilder, ModelError, World, prismatic, revolute


def gears(coefficients: tuple[float, ...], other: str | None = "b") -> World:
    """Two wheels of 0.3 and 0.1 kg m^2 without gravity, a coupled to b."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    for name, inertia in (("a", 0.3), ("b", 0.1)):
        builder.body(f"wheel {name}", joint=revolute(name), mass=1.0, inertia=(1.0, 1.0, inertia))
    builder.couple("gear", "a", other, coefficients=coefficients)
    return World(builder.build(), timestep=0.002)


def test_a_gear_has_the_inertia_that_its_ratio_gives() -> None:
    """q_a = 0.2 - 2 q_b: a torque on b moves 0.1 + 4 * 0.3 kg m^2, one on a counts -2 times."""
    world = gears((0.2, -2.0))
    world.reset([0.2, 0.0])
    for _ in range(500):
        world.step([0.1, 1.0])
    rate = (1.0 - 2.0 * 0.1) / (0.1 + 4.0 * 0.3) * 500 * 0.002
    assert world.v[1] == pytest.approx(rate, rel=1e-12)
    close(world.v[0], -2.0 * world.v[1], 1e-13)
    assert abs(world.q[0] - (0.2 - 2.0 * world.q[1])) < 1e-13


def test_a_cam_follows_its_curve_and_keeps_its_energy() -> None:
    """A polynomial of degree four; what turns freely keeps its kinetic energy, to second order."""
    c = (0.1, 0.5, -0.3, 0.1, 0.02)
    errors = []
    for dt in (0.004, 0.002):
        world = gears(c)
        world.timestep = dt
        slope = c[1]
        world.reset([0.1, 0.0], [slope, 1.0])
        before = dynenvs.totals(world.model, world.q, world.v).energy
        for _ in range(round(1.5 / dt)):
            world.step(np.zeros(2))
            assert abs(world.q[0] - np.polyval(c[::-1], world.q[1])) < 1e-12
        errors.append(abs(dynenvs.totals(world.model, world.q, world.v).energy / before - 1.0))
    assert errors[1] < 2e-3
    assert errors[1] < 0.6 * errors[0]


def test_a_joint_alone_is_held_where_it_is_told() -> None:
    world = gears((0.7,), None)
    world.reset([0.7, 0.0])
    for _ in range(100):
        world.step([5.0, 1.0])
    assert world.q[0] == pytest.approx(0.7, abs=1e-13)
    assert world.v[1] == pytest.approx(1.0 / 0.1 * 0.2, rel=1e-12)


def test_a_finger_driven_by_its_neighbour_holds_a_box() -> None:
    """Two jaws, one motor: they close on a box and carry it against gravity."""
    builder = ModelBuilder(friction="minimum")
    slide = {"axis": (1, 0, 0), "effort": 50.0}
    for side, x in (("left", -0.2), ("right", 0.2)):
        joint = prismatic(side, position=(x, 0, 1), actuated=side == "left", **slide)
        builder.body(f"{side} jaw", joint=joint, mass=0.5)
        builder.box(f"{side} pad", f"{side} jaw", half_size=(0.02, 0.05, 0.05), friction=1.0)
    builder.body("thing", joint=dynenvs.free())
    builder.box("thing", "thing", half_size=(0.05, 0.05, 0.05), mass=0.4, friction=1.0)
    builder.couple("gripper", "right", "left", coefficients=(0.0, -1.0))
    world = World(builder.build(), timestep=0.002)
    world.reset([0.129, -0.129, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    for _ in range(500):
        world.step([20.0])
    assert world.q[4] == pytest.approx(1.0, abs=2e-3), "it is held"
    assert np.abs(world.v).max() < 1e-8
    assert world.q[1] == pytest.approx(-world.q[0], abs=1e-12)
    assert world.diagnostics.failed == world.diagnostics.degraded == 0


def test_equality_of_joints_in_a_file(tmp_path) -> None:
    """MuJoCo's polynomial about the joints' first positions; saved and loaded again."""
    pytest.importorskip("mujoco")
    text = """<mujoco><compiler angle="radian"/><worldbody>
    <body><joint name="y" axis="0 0 1" ref="0.3"/><geom size="0.1" mass="1" contype="0"/></body>
    <body pos="1 0 0"><joint name="x" axis="0 0 1" ref="-0.2"/>
    <geom size="0.1" mass="1" contype="0"/></body></worldbody>
    <equality><joint joint1="y" joint2="x" polycoef="0.1 2 0.5 0 0"/></equality></mujoco>"""
    model = dynenvs.load(text, strict=True)
    dynenvs.save(model, tmp_path / "cam.json")
    for one in (model, dynenvs.load(tmp_path / "cam.json")):
        (loop,) = one.closures.loops
        for x in (-0.2, 0.0, 0.9):
            wanted = 0.3 + 0.1 + 2.0 * (x + 0.2) + 0.5 * (x + 0.2) ** 2
            assert np.polyval(loop.coefficients[::-1], x) == pytest.approx(wanted, abs=1e-14)


def test_mimic_joints_of_a_urdf() -> None:
    """A gripper's second finger follows the first one."""
    pytest.importorskip("mujoco")
    inertia = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    link = f'<link name="{{}}"><inertial><mass value="1"/>{inertia}</inertial></link>'
    joint = (
        '<joint name="j{0}" type="continuous"><parent link="base"/><child link="{0}"/>'
        '<axis xyz="0 0 1"/>{1}</joint>'
    )
    mimic = '<mimic joint="ja" multiplier="-2" offset="0.1"/>'
    parts = [link.format("base"), *(link.format(n) + joint.format(n, mimic * (n == "b"))
             for n in "ab")]  # fmt: skip
    model = dynenvs.load(f'<robot name="r">{"".join(parts)}</robot>')
    assert model.closures.loops[0].coefficients == (0.1, -2.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("c", "b"), "unknown joint 'c'; known: a, b"),
        (("a", "a"), "with itself"),
        (("a", "b", ()), "one to 5 finite numbers"),
        (("a", "b", (1.0, float("nan"))), "one to 5 finite numbers"),
        (("a", "b", (1.0,) * 6), "one to 5 finite numbers"),
    ],
)
def test_couplings_that_cannot_be(arguments: tuple, message: str) -> None:
    builder = ModelBuilder()
    for name in "ab":
        builder.body(f"wheel {name}", joint=revolute(name), mass=1.0, inertia=(1, 1, 1))
    options = {"coefficients": arguments[2]} if len(arguments) > 2 else {}
    with pytest.raises(ModelError, match=message):
        builder.couple("gear", *arguments[:2], **options)
