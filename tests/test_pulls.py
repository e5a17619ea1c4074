"""Carried weights, pushes at sites, and tendons: against MuJoCo, by hand, and by both rules."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from trees import close

import dynenvs
from dynenvs import ModelBuilder, ModelError, World, Worlds, free, prismatic, revolute
from dynenvs.model.importing import NotCarriedOver
from dynenvs.model.model import Model

mujoco: Any = pytest.importorskip("mujoco")

PARTS = """
<mujoco><option timestep="0.002"><flag contact="disable"/></option><worldbody>
<body pos="0 0 1" gravcomp="1"><joint name="j1" axis="0 1 0"/>
 <geom type="capsule" fromto="0 0 0 .3 .1 0" size=".03"/><site name="s1" pos=".1 .05 .1"/>
 <body pos=".3 .1 0" gravcomp=".4"><joint name="j2" axis="1 0 1" pos="0 .1 0"/>
  <joint name="j3" type="slide" axis="0 0 1"/><geom type="box" size=".1 .2 .05" pos="0 0 .1"/>
  <site name="s2" pos=".1 .2 .1" euler="10 20 30"/>
  <body pos=".1 0 0.1"><joint type="ball"/><geom type="box" size=".1 .1 .05" pos=".1 0 .1"/>
   <site name="s3" pos=".1 .2 .3" euler="30 20 10"/></body></body>
 <body pos="-.2 0 0"><joint name="j5" axis="0 0 1"/><geom size=".1" pos=".2 .1 0"/></body></body>
<body pos="1 1 1" gravcomp="1.2"><freejoint/><geom type="box" size=".1 .2 .3"/>
 <site name="s4" pos=".1 0 .2" euler="0 40 20"/></body>
<site name="w" pos="0 0 2"/></worldbody>
<tendon>
 <fixed name="t" stiffness="30" damping="2" springlength=".1"><joint joint="j1" coef="0.5"/>
  <joint joint="j2" coef="-2"/><joint joint="j3" coef="1"/></fixed>
 <fixed name="u" stiffness="20" damping=".3" springlength="-.2 .3"><joint joint="j2" coef="1"/>
  <joint joint="j5" coef="2"/></fixed>
 <spatial name="p" stiffness="90" damping="3" springlength=".1 .3"><site site="w"/><site site="s1"/>
  <site site="s3"/><pulley divisor="2"/><site site="s2"/><site site="s4"/></spatial>
</tendon>
<actuator><motor name="thrust" site="s4" gear="1 2 3 .1 .2 .3"/>
<motor site="s3" gear="0 0 10 0 1 0"/><motor tendon="p" gear="3"/><position joint="j1" kp="3"/>
<velocity site="s2" gear="1 0 0 0 0 0" kv="3"/><position tendon="p" kp="20" kv="2"/></actuator>
</mujoco>
"""
DRONE = """
<mujoco><worldbody><body><freejoint/><geom type="box" size=".1 .2 .05" mass="1"/>
<site name="a" pos=".1 .1 0"/></body></worldbody>
<actuator><motor site="a" gear="0 0 1 0 0 .1" ctrlrange="0 20"/></actuator></mujoco>
"""
ARM = """
<mujoco><worldbody><body gravcomp="1"><joint axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/><body pos=".3 0 0" gravcomp="1">
<joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/></body></body>
</worldbody>
</mujoco>
"""


def exactly(text: str) -> Model:
    """The model of a file of which nothing may be left out."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", NotCarriedOver)
        return dynenvs.load(text)


def states(m: Any, count: int) -> list[tuple[Any, Any, Any]]:
    """Random positions, velocities and controls."""
    rng, out = np.random.default_rng(2), []
    for _ in range(count):
        q = m.qpos0.copy()
        mujoco.mj_integratePos(m, q, rng.uniform(-2.0, 2.0, m.nv), 1.0)
        out.append((q, rng.normal(size=m.nv), rng.normal(size=m.nu)))
    return out


def accelerations(model: Model, q: Any, v: Any, control: Any, h: float) -> Any:
    """Change of velocity in a short step, over its length."""
    world = World(model, timestep=h, integrator="euler")
    world.reset(q, v)
    world.step(control=control)
    return (world.v - v) / h


def test_forces_are_mujocos() -> None:
    """Accelerations with all passive forces, and those of a step of which the length goes to 0."""
    m, model = mujoco.MjModel.from_xml_string(PARTS), exactly(PARTS)
    data = mujoco.MjData(m)
    for q, v, control in states(m, 6):
        data.qpos[:], data.qvel[:], data.ctrl[:] = q, v, control
        mujoco.mj_forward(m, data)
        close(dynenvs.aba(model, q, v, data.qfrc_actuator), data.qacc_smooth)
        coarse, fine = (accelerations(model, q, v, control, h) for h in (2e-6, 1e-6))
        close(2.0 * fine - coarse, data.qacc_smooth, 1e-7)


@pytest.mark.parametrize("integrator", ["euler", "midpoint"])
def test_a_drone_flies_as_in_mujoco(integrator: str) -> None:
    """A second of thrust beside its centre: to the difference of two rules of small steps."""
    text = DRONE.replace("<worldbody>", '<option timestep=".0002"/><worldbody>')
    m = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(m)
    world = World(exactly(text), integrator=integrator)
    data.ctrl[:] = 0.5
    mujoco.mj_step(m, data, nstep=5000)
    world.step(steps=5000, control=[0.5])
    assert np.abs(data.qpos[4:]).max() > 0.3
    np.testing.assert_allclose(world.q, data.qpos, atol=3e-3)


def test_a_push_at_the_centre_is_exact() -> None:
    """By hand: semi-implicit Euler's z = -(g - f/m) dt^2 n (n + 1) / 2; clipped to 20 N."""
    text = DRONE.replace('pos=".1 .1 0"', "").replace("0 0 .1", "0 0 0")
    world = World(exactly(text), timestep=0.002, integrator="euler")
    world.step(steps=250, control=[0.5])
    np.testing.assert_allclose(world.q[2], -(9.81 - 0.5) * 0.002**2 * 250 * 251 / 2, rtol=1e-12)
    world.reset()
    world.step(steps=250, control=[50.0])
    np.testing.assert_allclose(world.q[2], (20 - 9.81) * 0.002**2 * 250 * 251 / 2, rtol=1e-12)


def test_forces_of_a_call_are_not_those_of_the_next() -> None:
    """What pushes a free joint acts while it is commanded."""
    world = World(exactly(DRONE), timestep=0.002, integrator="euler")
    worlds = Worlds(world.model, 2, timestep=0.002, integrator="euler")
    for stepped, control in ((world, [9.0]), (worlds, [[9.0], [9.0]])):
        stepped.step(control=control)
        before = np.array(stepped.v)
        stepped.step()
        change = np.array(stepped.v) - before
        np.testing.assert_allclose(change[..., 2], -9.81 * 0.002, rtol=1e-9)
    assert (worlds.q == world.q).all()


@pytest.mark.parametrize("integrator", ["euler", "midpoint"])
@pytest.mark.parametrize("spatial", [False, True])
def test_a_carried_arm_stays_where_it_is(integrator: str, spatial: bool) -> None:
    """In the plane and in space; and energy is that of an arm without weight."""
    ball = '<body pos="0 9 0"><freejoint/><geom size=".1"/></body></worldbody>'
    text = ARM.replace("</worldbody>", ball)
    model = exactly(text if spatial else ARM)
    world = World(model, timestep=0.002, integrator=integrator)
    for i in range(model.nq):
        world.q[i] += 0.3 if i < 2 else 0.0
    before = world.q[:2].copy()
    world.step(steps=100)
    np.testing.assert_allclose(world.q[:2], before, atol=1e-13)
    heights = [dynenvs.totals(exactly(ARM), q).potential for q in ([0.3, 0.2], [-1.0, 0.9])]
    np.testing.assert_allclose(heights[0], heights[1], atol=1e-12)


def test_carried_bodies_fall_with_what_is_left_of_their_weight() -> None:
    """A free body of which a quarter is carried, and one that is pulled up; both rules."""
    builder = ModelBuilder()
    for name, lift in (("heavy", 0.25), ("light", 1.5)):
        builder.body(name, joint=free(), mass=2.0, inertia=(0.1, 0.2, 0.3), lift=lift)
        builder.sphere(name, name, radius=0.1, collide=False)
    model = builder.build()
    for integrator in ("euler", "midpoint"):
        world = World(model, timestep=0.01, integrator=integrator)
        world.v[3:6] = 1.0, 2.0, 3.0
        world.step(steps=50)
        np.testing.assert_allclose(world.v[2], -0.75 * 9.81 * 0.5, rtol=1e-9)
        np.testing.assert_allclose(world.v[8], 0.5 * 9.81 * 0.5, rtol=1e-9)


def pendulums(**options: Any) -> Model:
    """Two links, one behind the other, and a tendon over both joints, without gravity."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    for name, parent in (("a", "world"), ("b", "a")):
        hinge = revolute(name, (0, 1, 0), position=(0.3, 0, 0))
        builder.body(name, parent=parent, joint=hinge, density=800.0)
        builder.capsule(name, name, start=(0, 0, 0), end=(0.3, 0, 0.0), radius=0.02, collide=False)
    return builder.tendon("t", {"a": 1.0, "b": -0.5}, **options).build()


def test_stiff_tendons_are_implicit() -> None:
    """A spring and a damper that no explicit step of this length could hold."""
    for options in ({"stiffness": 1e6}, {"damping": 1e4}):
        model = pendulums(rest=0.2, **options)
        world = World(model, timestep=0.005, integrator="euler")
        world.v[:] = 1.0, -1.0
        world.step(steps=400)
        length, speed = world.q @ [1.0, -0.5], world.v @ [1.0, -0.5]
        assert abs(speed) < 1e-3
        if "stiffness" in options:
            assert abs(length - 0.2) < 1e-3


@pytest.mark.parametrize("text", ["gears", "path"])
def test_the_midpoint_rule_is_of_second_order(text: str) -> None:
    """Springs and dampers of tendons, a servo along a path, a weight: halved steps, a quarter."""
    builder = ModelBuilder()
    for name, parent in (("a", "world"), ("b", "a")):
        hinge = revolute(name, (0, 1, 0), position=(0.3, 0, 0))
        builder.body(name, parent=parent, joint=hinge, density=800.0, lift=0.3)
        builder.capsule(name, name, start=(0, 0, 0), end=(0.3, 0, 0.0), radius=0.02, collide=False)
        builder.site(name, name, position=(0.2, 0, 0.05))
    builder.site("up", "world", position=(0.2, 0, 0.5))
    way: Any = {"path": [("up", "a", 1.0), ("a", "b", 0.5)]}
    way = {"gears": {"a": 1.0, "b": -0.5}} if text == "gears" else way
    builder.tendon("t", stiffness=3.0, damping=0.1, rest=0.1, **way)
    if text == "path":
        builder.actuator("m", gain=(2.0, 0, 0), bias=(0, -2.0, -0.1), **way)
    ends = []
    for steps in (50, 100, 200, 1600):
        world = World(builder.build(), timestep=0.4 / steps, integrator="midpoint")
        world.q[:] = 0.3, -0.2
        world.step(steps=steps, control=[0.2] if text == "path" else None)
        ends.append(world.q.copy())
    coarse, half, quarter = (np.abs(end - ends[-1]).max() for end in ends[:3])
    assert 3.5 < coarse / half < 4.7
    assert 3.5 < half / quarter < 4.7


def test_energy_of_tendons_is_kept() -> None:
    """By the midpoint rule, with slack on the way: what springs store is in the totals."""
    model = pendulums(stiffness=40.0, rest=(-0.1, 0.1))
    world = World(model, timestep=5e-5, integrator="midpoint")
    world.q[:] = 0.5, -0.4
    before = dynenvs.totals(model, world.q, world.v).energy
    lowest = before
    for _ in range(200):
        world.step(steps=100)
        assert dynenvs.totals(model, world.q, world.v).energy == pytest.approx(before, rel=1e-4)
        lowest = min(lowest, dynenvs.totals(model, world.q).potential)
    assert before == pytest.approx(0.5 * 40.0 * (0.7 - 0.1) ** 2)
    assert lowest == 0.0


def test_inverse_dynamics_know_of_them() -> None:
    """The torques that are found lead where they should, past springs, dampers and weights."""
    builder = ModelBuilder()
    for name, parent in (("a", "world"), ("b", "a")):
        hinge = revolute(name, (0, 1, 0), position=(0.3, 0, 0))
        builder.body(name, parent=parent, joint=hinge, density=800.0, lift=0.3)
        builder.capsule(name, name, start=(0, 0, 0), end=(0.3, 0, 0.0), radius=0.02, collide=False)
    builder.tendon("t", {"a": 1.0, "b": -0.5}, stiffness=30.0, damping=2.0, rest=0.1)
    model = builder.build()
    q, v, wanted = np.array([0.3, -0.2]), np.array([0.5, 0.1]), np.array([0.6, -0.2])
    found = dynenvs.inverse_dynamics(model, q, v, wanted, 0.01)
    world = World(model, timestep=0.01, integrator="euler")
    world.reset(q, v)
    world.step(found.tau)
    np.testing.assert_allclose(world.v, wanted, atol=1e-10)


def test_they_are_saved(tmp_path: Path) -> None:
    model = exactly(PARTS)
    dynenvs.save(model, tmp_path / "parts.json")
    again = dynenvs.load(tmp_path / "parts.json")
    assert (again.packed == model.packed).all()
    assert again.actuators == model.actuators


FAULTS: dict[str, tuple[Any, str]] = {
    "no way": (lambda b: b.actuator("m"), "gears must name a joint, or give it a path"),
    "two ways": (
        lambda b: b.actuator("m", {"x": 1.0}, push=("s", (1, 0, 0), (0, 0, 0))),
        "gears must name a joint",
    ),
    "site": (
        lambda b: b.actuator("m", push=("t", (1, 0, 0), (0, 0, 0))).build(),
        "actuator 'm': unknown site 't'; known: s",
    ),
    "path": (
        lambda b: b.tendon("c", path=[("s", "u", 1.0)]).build(),
        "tendon 'c': unknown site 'u'",
    ),
    "no length": (lambda b: b.tendon("c"), "tendon 'c': give it either gears or a path"),
    "joint": (lambda b: b.tendon("c", {"y": 1.0}).build(), "tendon 'c': unknown joint 'y'"),
    "stiffness": (lambda b: b.tendon("c", {"x": 1.0}, stiffness=-1.0), "stiffness must be"),
    "rest": (lambda b: b.tendon("c", {"x": 1.0}, rest=(2.0, 1.0)), "2.0 is not below 1.0"),
    "share": (lambda b: b.tendon("c", path=[("s", "s", np.nan)]), "share of a segment"),
    "lift": (lambda b: b.body("c", mass=1.0, inertia=(1, 1, 1), lift=np.inf), "lift must be"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_told(fault: str) -> None:
    builder = ModelBuilder()
    builder.body("block", joint=prismatic("x", (1, 0, 0)), mass=1.0, inertia=(0.1,) * 3)
    builder.site("s", "block")
    change, message = FAULTS[fault]
    with pytest.raises(ModelError, match=message):
        change(builder)


def test_joint_forces_of_a_push_are_refused() -> None:
    model = exactly(DRONE)
    with pytest.raises(ValueError, match=r"give World\.step the control"):
        dynenvs.actuator_forces(model, [1.0], model.neutral(), np.zeros(6))
