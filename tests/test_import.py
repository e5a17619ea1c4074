"""What `load` makes of files that are not what they should be, and what it says of the rest."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from trees import close

import dynenvs
from dynenvs import ModelError
from dynenvs.model.importing import NotCarriedOver
from dynenvs.simulation.world import World

pytest.importorskip("mujoco")

BALL = """
<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1"/>
    <body name="ball" pos="0 0 1"><freejoint/><geom name="skin" size="0.1"/></body>
  </worldbody>
</mujoco>
"""
LINK = """<link name="{}"><inertial><mass value="1"/>
<inertia ixx="{}" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """<joint name="elbow" type="revolute"><parent link="a"/><child link="b"/>
<axis xyz="0 0 1"/><limit effort="7" velocity="2" lower="-1" upper="1"/></joint>"""


def urdf(*parts: str) -> str:
    return f'<robot name="arm">{"".join(parts)}</robot>'


def body(inner: str, outer: str = "") -> str:
    """A body on a hinge, with more in it and beside it."""
    return (
        '<mujoco><worldbody><body name="arm"><joint name="hinge" axis="0 1 0"/>'
        f'<geom name="rod" size="0.1"/>{inner}</body></worldbody>{outer}</mujoco>'
    )


MESH = '<asset><mesh name="hull" file="none.stl"/></asset>'
FAULTS = {
    "broken XML": ("<mujoco><worldbody>", "XML parse error"),
    "no model": ("<html/>", "XML text: "),
    "unknown element": ("<mujoco><worldbody><boody/></worldbody></mujoco>", "boody"),
    "missing mesh": (body('<geom type="mesh" mesh="hull"/>', MESH), "none.stl.*put the file there"),
    "no inertia": (urdf(LINK.format("a", 1), '<link name="b"/>', JOINT), "'b'.*give this link an"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_told_in_one_line(fault: str) -> None:
    text, message = FAULTS[fault]
    with pytest.raises(ModelError, match=message) as raised:
        dynenvs.load(text)
    assert "\n" not in str(raised.value)


def test_files_are_named_by_errors(tmp_path: Path) -> None:
    """One that is missing, and one that is broken."""
    file = tmp_path / "robot.xml"
    with pytest.raises(ModelError, match=r"cannot read .*robot\.xml.*No such file"):
        dynenvs.load(file)
    file.write_text("<mujoco><worldbody>")
    with pytest.raises(ModelError, match=r"robot\.xml: XML parse error"):
        dynenvs.load(file)


LOSSES = {
    "margin": (body('<geom name="fur" size="1" margin="0.1"/>'), r"margins of geoms \(fur\)"),
    "soft contact": (
        body('<geom name="gum" size="1" solref="0.1 1"/>'),
        r"gum\): contact is rigid",
    ),
    "soft limit": (
        body('<joint name="knee" range="0 1" solreflimit="0.1 1" limited="true"/>'),
        r"limits \(knee\): limits are hard stops",
    ),
    "weightless by limited motors": (
        body("")
        .replace('name="arm"', 'name="arm" gravcomp="1"')
        .replace('axis="0 1 0"', 'axis="0 1 0" actuatorgravcomp="true" actuatorfrcrange="-1 1"'),
        r"actuatorgravcomp.*\(hinge\): what carries the weight is not limited",
    ),
    "fluid": (body("", '<option density="1"/>'), r"fluid \(density\)"),
    "muscle": (
        body("", '<actuator><muscle name="calf" joint="hinge" lengthrange="0 1"/></actuator>'),
        r"actuators of this kind \(calf\)",
    ),
    "tendon": (
        body(
            "",
            '<tendon><fixed name="t" limited="true" range="0 1" armature="1" frictionloss="1">'
            '<joint joint="hinge" coef="1"/><joint joint="slide" coef="1"/></fixed></tendon>',
        ).replace("<geom", '<joint name="slide" type="slide"/><geom', 1),
        r"limits of tendons \(t\): nothing ends .*; frictionloss of tendons \(t\): .*; armature",
    ),
    "bent tendon": (
        body(
            '<site name="s"/><site name="t" pos="0 0 1"/>',
            '<tendon><spatial name="t" stiffness="1"><site site="s"/><geom geom="rod"/>'
            '<site site="t"/></spatial></tendon>',
        ),
        r"springs and dampers of tendons that bend around geoms \(t\): nothing pulls there",
    ),
    "inertia": (urdf(LINK.format("a", 1), LINK.format("b", 3), JOINT), r"no rigid body has.*\(b\)"),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_what_is_left_out_is_named(loss: str) -> None:
    """In one warning, or as an error on request."""
    text, message = LOSSES[loss]
    with pytest.warns(NotCarriedOver, match=message) as told:
        dynenvs.load(text)
    assert len(told) == 1
    with pytest.raises(ModelError, match=message):
        dynenvs.load(text, strict=True)


def test_what_is_carried_over_needs_no_warning() -> None:
    """A ball falls onto the floor and lies there."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", NotCarriedOver)
        model = dynenvs.load(BALL, strict=True)
    world = World(model, timestep=0.005)
    for _ in range(200):
        world.step(np.zeros(0))
    np.testing.assert_allclose(world.q[2], 0.1, atol=1e-9)


def test_urdf_joints_are_driven_up_to_their_effort() -> None:
    """A URDF has no motors; its root stands on the ground unless it is to float."""
    text = urdf(LINK.format("a", 1), LINK.format("b", 1), JOINT)
    model = dynenvs.load(text)
    assert (model.nv, model.nu) == (1, 1)
    assert model.effort_limit[0] == 7.0
    floating = dynenvs.load(text, floating=True)
    assert (floating.nv, floating.nu) == (7, 1)


def test_a_urdf_is_what_pinocchio_makes_of_it() -> None:
    """Mass matrix and bias of an arm with turned and shifted joints, at 1e-10."""
    pin = pytest.importorskip("pinocchio")
    link = """<link name="l{0}"><inertial><origin xyz="0.1 {0} 0.2" rpy="0.3 0.1 {0}"/>
    <mass value="1.{0}"/><inertia ixx="0.3{0}" iyy="0.5" izz="0.4" ixy="0.01" ixz="0.02"
    iyz="0.03"/></inertial></link>"""
    joint = """<joint name="j{0}" type="{2}"><parent link="l{0}"/><child link="l{1}"/>
    <origin xyz="0.{1} 0.2 0.3" rpy="0.1 0.{1} -0.7"/><axis xyz="0.6 0 0.8"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>"""
    kinds = ("revolute", "prismatic", "fixed", "continuous", "revolute")
    links = [link.format(i) for i in range(1, len(kinds) + 2)]
    text = urdf(*links, *(joint.format(i, i + 1, kind) for i, kind in enumerate(kinds, 1)))
    ours, theirs = dynenvs.load(text), pin.buildModelFromXML(text)
    data, rng = theirs.createData(), np.random.default_rng(0)
    for _ in range(5):
        angles, v = rng.uniform(-2, 2, 4), rng.normal(size=4)
        turned = [*angles[:2], np.cos(angles[2]), np.sin(angles[2]), angles[3]]
        upper = np.triu(pin.crba(theirs, data, np.array(turned)))
        close(dynenvs.crba(ours, angles), upper + np.triu(upper, 1).T)
        close(dynenvs.bias_force(ours, angles, v), pin.nle(theirs, data, np.array(turned), v))


def test_a_link_without_inertia_has_no_mass() -> None:
    """Whatever its shapes: they are not made of water."""
    skin = """<link name="skin"><collision><geometry><box size="1 1 1"/></geometry></collision>
    </link>
    <joint name="glue" type="fixed"><parent link="b"/><child link="skin"/></joint>"""
    links = LINK.format("a", 1), LINK.format("b", 1), JOINT
    model = dynenvs.load(urdf(*links, skin), floating=True)
    bare = dynenvs.load(urdf(*links), floating=True)
    np.testing.assert_allclose(model.bodies["mass"].sum(), bare.bodies["mass"].sum(), rtol=1e-12)


def test_moments_of_contact_are_carried_over() -> None:
    """A ball of condim 6 on a floor of condim 3: all five bounds are the larger ones of the two."""
    text = BALL.replace('size="0.1"', 'size="0.1" condim="6" friction="0.5 0.02 0.003"')
    world = World(dynenvs.load(text), timestep=0.002)
    world.q[2], world.v[5] = 0.1, 40.0  # it spins on its spot: torque 0.02 m g
    world.step(steps=50)
    inertia = 0.4 * 0.1**2
    assert world.v[5] == pytest.approx(40.0 - 0.1 * 0.02 * 9.81 / inertia, rel=1e-6)
    with pytest.warns(NotCarriedOver, match="spin and roll without"):
        model = dynenvs.load(text, moments=False)
    world = World(model, timestep=0.002)
    world.q[2], world.v[5] = 0.1, 4.0
    world.step(steps=50)
    assert world.v[5] == pytest.approx(4.0, rel=1e-9)


def test_planar_robots_get_two_directions_of_friction() -> None:
    """Unless the user wants more."""
    assert dynenvs.load(body("")).header.directions == 2
    assert dynenvs.load(body(""), directions=8).header.directions == 8
    assert dynenvs.load(BALL).header.directions == 8


def test_loops_hold() -> None:
    """`connect` becomes a closed loop: two rods that meet stay together."""
    rod = '<geom type="capsule" fromto="0 0 0 {} 0 0" size="0.01" contype="0"/>'
    model = dynenvs.load(
        '<mujoco><worldbody><body name="a"><joint axis="0 1 0"/>'
        + rod.format(1)
        + '</body><body name="b" pos="2 0 0"><joint axis="0 1 0" pos="0 0 0"/>'
        + rod.format(-1)
        + '</body></worldbody><equality><connect body1="a" body2="b" anchor="1 0 0"/></equality>'
        "</mujoco>"
    )
    assert len(model.closures.loops) == 1
    world = World(model, timestep=0.002)
    for _ in range(100):
        world.step(np.zeros(0))
    found = dynenvs.frames(model, world.q)
    ends = [
        found.positions[i] + found.rotations[i] @ x for i, x in ((1, [1, 0, 0]), (2, [-1, 0, 0]))
    ]
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-9)


def test_shapes_of_a_urdf_that_overlap_at_rest_pass_through_each_other() -> None:
    """Two links apart, and named; shapes that do not overlap there meet as ever."""
    link = (
        '<link name="{0}"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" '
        'iyz="0" izz="1"/></inertial><collision name="{0}"><origin xyz="{1} 0 0"/><geometry>'
        '<sphere radius="0.1"/></geometry></collision></link>'
    )
    joint = (
        '<joint name="{0}-{1}" type="continuous"><parent link="{0}"/><child link="{1}"/>'
        '<axis xyz="0 1 0"/></joint>'
    )
    links = [link.format(name, x) for name, x in zip("abcd", (0, 0.5, 0.15, 1.0), strict=True)]
    joints = [joint.format(*pair) for pair in ("ab", "bc", "cd")]
    robot = f'<robot name="r">{"".join(links + joints)}</robot>'
    with pytest.warns(NotCarriedOver, match="overlap where all joints are at zero") as told:
        model = dynenvs.load(robot, floating=True)
    assert "they pass through each other" in str(told[0].message)
    assert "(a and c)" in str(told[0].message)
    touching = {
        frozenset((model.geoms[f.geom_a].body, model.geoms[f.geom_b].body)) for f in model.features
    }
    assert touching == {frozenset("ad"), frozenset("bd")}
    # Shapes that have no name are named with their links
    with pytest.warns(NotCarriedOver, match=r"\(geom 0 of a and geom 2 of c\)"):
        dynenvs.load(re.sub('<collision name="."', "<collision", robot), floating=True)
