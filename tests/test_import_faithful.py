"""Small files that ran otherwise than in MuJoCo without a word: right now, or named."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from trees import close

import dynenvs
from dynenvs.model.importing import NotCarriedOver
from dynenvs.model.model import Model
from dynenvs.simulation.world import World

mujoco: Any = pytest.importorskip("mujoco")

STEPS, CONTROL = 250, 0.5  # of 2 ms


def hinge(rest: str, option: str = '<option gravity="0 0 0"/>') -> str:
    """A rod on a hinge, and what else is in the file."""
    return (
        f'<mujoco>{option}<worldbody><body><joint name="j" axis="0 1 0"/><geom type="capsule" '
        f'fromto="0 0 0 .3 0 0" size=".03"/></body></worldbody>{rest}</mujoco>'
    )


def motor(attributes: str = "", kind: str = "motor") -> str:
    return f'<actuator><{kind} name="m" joint="j" {attributes}/></actuator>'


def box(plane: str = "", rest: str = "", option: str = "", own: str = "") -> str:
    """A box that stands on a plane."""
    return (
        f'<mujoco>{option}<worldbody><geom name="f" type="plane" size="1 1 1" {plane}/>'
        '<body pos="0 0 .1"><freejoint/>'
        f'<geom name="g" type="box" size=".1 .1 .1" {own}/></body></worldbody>{rest}</mujoco>'
    )


def quietly(text: str) -> Model:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotCarriedOver)
        return dynenvs.load(text)


def theirs(text: str, v: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """MuJoCo's q after half a second."""
    m = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(m)
    data.ctrl[:] = CONTROL
    data.qvel[:] = 0.0 if v is None else v
    mujoco.mj_step(m, data, nstep=STEPS)
    return np.array(data.qpos)


def ours(model: Model, v: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """The same here."""
    world = World(model)
    world.reset(None, v)
    control = np.full(len(model.actuators), CONTROL) if model.actuators else None
    world.step(steps=STEPS, control=control)
    return world.q.copy()


PLUGIN = (
    '<extension><plugin plugin="mujoco.pid"/></extension><actuator><plugin name="m" '
    'plugin="mujoco.pid" joint="j" actdim="0"><config key="kp" value="2"/></plugin></actuator>'
)
PAIR = '<contact><pair geom1="f" geom2="g" condim="3" {}/></contact>'
OVERRIDE = '<option {}><flag override="enable"/></option>'
TENDON = (
    '<tendon><fixed name="t" actuatorfrclimited="true" actuatorfrcrange="-.01 .01">'
    '<joint joint="j" coef="2"/></fixed></tendon>'
)
TWO = (
    '<worldbody><body name="a"><joint name="a" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body>'
    '<body name="b" pos="0 1 0"><joint name="b" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body>'
    "</worldbody>"
)
TOLD = {
    "delay": (hinge(motor('delay="0.2" nsample="128"')), r"delays of actuators \(m\)"),
    "disabled": (
        hinge(motor('group="1"'), '<option actuatorgroupdisable="1"/>'),
        r"disabled actuators \(m\): they have no control",
    ),
    "plugin": (hinge(PLUGIN), r"actuators of this kind \(m\)"),
    "pair's margin": (box(rest=PAIR.format('margin=".1"')), r"margins of pairs \(f and g\)"),
    "pair's softness": (
        box(rest=PAIR.format('solref=".1 1"')),
        r"solref and solimp of pairs \(f and g\)",
    ),
    "pair's frictions": (
        box(rest=PAIR.format('friction="1 .0001 0 0 0"')),
        r"coefficients of friction of pairs, less than 0.001 of the other \(f and g\)",
    ),
    "override's margin": (box(option=OVERRIDE.format('o_margin=".1"')), "override's.*o_margin"),
    "override's softness": (
        box(option=OVERRIDE.format('o_solref=".1 1"')),
        r"override's \(o_solref\): contact is rigid",
    ),
    "override's frictions": (
        box(option=OVERRIDE.format('o_friction="1 .5 0 0 0"')),
        "override's .o_friction's second",
    ),
    "soft equality": (
        f'<mujoco>{TWO}<equality><joint name="e" joint1="a" joint2="b" solref=".5 1"/></equality>'
        "</mujoco>",
        r"solref and solimp of equality constraints \(e\): they hold exactly",
    ),
    "torquescale": (
        f'<mujoco>{TWO}<equality><weld name="e" body1="a" body2="b" torquescale=".5"/></equality>'
        "</mujoco>",
        r"torquescale of welds \(e\)",
    ),
    "tendon with two motors": (
        hinge(f'{TENDON}<actuator><motor tendon="t"/><motor tendon="t"/></actuator>'),
        r"actuatorfrcrange of tendons with several actuators \(t\)",
    ),
    "turntable": (box('surfacevel="0 0 0 0 0 1"'), r"turning surfaces of geoms \(f\)"),
}


@pytest.mark.parametrize("kind", TOLD)
def test_what_runs_otherwise_is_named(kind: str) -> None:
    text, message = TOLD[kind]
    with pytest.warns(NotCarriedOver, match=message):
        dynenvs.load(text)


@pytest.mark.parametrize("kind", ["delay", "disabled", "plugin"])
def test_actuators_that_are_off_give_no_force(kind: str) -> None:
    """One that is delayed acts; the others have no control at all."""
    model = quietly(TOLD[kind][0])
    assert len(model.actuators) == (kind == "delay")
    if kind == "disabled":
        close(ours(model), theirs(TOLD[kind][0].replace("/>", ' gravity="0 0 -9.81"/>', 1)), 1e-3)


RIGHT = {
    "a limit and a spring of a joint's tendon": (
        hinge(
            '<tendon><fixed stiffness="5" springlength="0" limited="true" range="-.2 .2">'
            '<joint joint="j" coef="-2"/></fixed></tendon>',
            "",
        ),
        None,
        1e-2,
    ),
    "a tendon's range": (hinge(TENDON + '<actuator><motor tendon="t"/></actuator>'), None, 1e-9),
    "a control's range": (hinge(motor('ctrlrange="-.1 .1" ctrllimited="true"')), None, 1e-9),
    "the override's friction": (
        box(option=OVERRIDE.format('o_friction=".01 .01 0 0 0"')),
        [1.0, 0, 0, 0, 0, 0],
        1e-3,
    ),
    "the override's friction of a pair": (
        box(rest=PAIR.format(""), option=OVERRIDE.format('o_friction=".01 .01 0 0 0"')),
        [1.0, 0, 0, 0, 0, 0],
        1e-3,
    ),
    "a belt": (box('surfacevel="1 0 0 0 0 0"'), None, 5e-2),
    "a turned belt": (box('surfacevel=".4 0 0 0 0 0" euler="0 0 90"'), None, 5e-2),
    "a running box": (box(own='surfacevel=".4 0 0 0 0 0" euler="0 0 90"'), None, 5e-2),
    "a weld's anchor": (
        '<mujoco><worldbody><body name="a" pos="0 0 1"><freejoint/><geom size=".1" pos=".2 0 0"/>'
        '</body></worldbody><equality><weld body1="a" torquescale="0"/></equality></mujoco>',
        None,
        1e-2,
    ),
}


@pytest.mark.parametrize("kind", RIGHT)
def test_what_is_carried_over_moves_as_in_mujoco(kind: str) -> None:
    """Half a second; contacts and loops are soft there, and hold exactly here."""
    text, v, tolerance = RIGHT[kind]
    velocity = None if v is None else np.array(v)
    with warnings.catch_warnings():
        warnings.simplefilter("error", NotCarriedOver)
        model = dynenvs.load(text)
    close(ours(model, velocity), theirs(text, velocity), tolerance)


def test_an_axis_that_is_nearly_one_of_the_frames_is_not_it() -> None:
    """As exporters write them: y, but for 1.3e-8."""
    text = (
        '<mujoco><worldbody><body><joint axis="0 0 1"/><geom size=".1"/><body pos="1 0 0"><joint '
        'axis="-1.3e-8 -1 0"/><geom size=".1"/></body></body></worldbody></mujoco>'
    )
    m = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(m)
    data.qpos[:] = 0.3, 1.5
    mujoco.mj_forward(m, data)
    turned = dynenvs.frames(dynenvs.load(text), data.qpos).rotations[2]
    np.testing.assert_allclose(turned, data.xmat[2].reshape(3, 3), rtol=0.0, atol=1e-15)


ENDS = (
    '<body name="a" pos=".1 .2 1" euler="10 20 30"><freejoint/><geom size=".1"/>'
    '<site name="s" pos=".1 .2 .3" euler="5 6 7"/></body>'
    '<body name="b" pos=".5 .3 1" euler="50 20 30"><freejoint/><geom size=".1"/>'
    '<site name="t" pos=".4 .1 .3" euler="9 16 7"/></body>'
)


@pytest.mark.parametrize(
    "held",
    [
        '<weld body1="a" body2="b" anchor=".1 .2 .3"/>',
        '<weld body1="a" body2="b" anchor=".1 .2 .3" relpose=".3 .2 .1 .5 .5 .5 .5"/>',
        '<weld site1="s" site2="t"/>',
        '<connect site1="s" site2="t"/>',
        '<connect body1="a" body2="b" anchor=".1 .2 .3"/>',
    ],
)
def test_loops_hold_the_frames_that_mujoco_holds(held: str) -> None:
    """Put together as the loop here asks for, MuJoCo measures no error there, at random poses."""
    text = f"<mujoco><worldbody>{ENDS}</worldbody><equality>{held}</equality></mujoco>"
    m = mujoco.MjModel.from_xml_string(text)
    data, rng = mujoco.MjData(m), np.random.default_rng(1)
    loop = quietly(text).closures.loops[0]
    for _ in range(5):
        mujoco.mj_integratePos(m, data.qpos, rng.normal(size=m.nv), 1.0)
        mujoco.mj_forward(m, data)
        turn = data.xmat[1].reshape(3, 3) @ loop.rotation_a
        place = data.xpos[1] + data.xmat[1].reshape(3, 3) @ loop.position_a
        turn = turn @ np.transpose(loop.rotation_b)
        data.qpos[7:10] = place - turn @ loop.position_b
        mujoco.mju_mat2Quat(data.qpos[10:14], turn.ravel())
        mujoco.mj_forward(m, data)
        rows = data.efc_pos[data.efc_type == int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)]
        assert len(rows) == (6 if "weld" in held else 3)
        np.testing.assert_allclose(rows, 0.0, atol=1e-12)


MOVED = '<actuator><{} joint="j" gear="3" damping=".5" armature=".2"/></actuator>'


@pytest.mark.parametrize("option", ["", 'actuatorgroupdisable="1"'])
def test_damping_and_armature_of_actuators_are_their_joints(option: str) -> None:
    """Times the gear squared, whether they give a force or not."""
    text = hinge(MOVED.format('motor group="1"'), f'<option gravity="0 0 0" {option}/>')
    model = quietly(text)
    m = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(m)
    data.qvel[:] = 1.3
    mujoco.mj_forward(m, data)
    close(dynenvs.aba(model, [0.0], [1.3], [0.0]), data.qacc_smooth)
    assert model.damping[0] == 4.5


def test_limits_in_name_only_are_none() -> None:
    """As the rotors of Iris have them, 1e16 rad; longer than a model takes."""
    text = hinge("").replace('axis="0 1 0"', 'axis="0 1 0" range="-1e16 1e16" limited="true"')
    model = quietly(text.replace("<mujoco>", '<mujoco><compiler angle="radian"/>'))
    assert not model.header.nlimited
