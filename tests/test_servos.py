"""Servos: their law at the end of a step, their limits, their place in the mass matrix."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pytest
from trees import close

import dynenvs
from dynenvs import ModelBuilder, World, Worlds, prismatic, revolute
from dynenvs.model.model import Model
from dynenvs.simulation.room import with_room

Law = dict[str, Any]


def position(stiffness: float, damping: float = 0.0, **options: Any) -> Law:
    """A servo that pulls its length to the control."""
    return {"gain": (stiffness, 0, 0), "bias": (0, -stiffness, -damping), **options}


def velocity(damping: float, **options: Any) -> Law:
    """A servo that pulls its velocity to the control."""
    return {"gain": (damping, 0, 0), "bias": (0, 0, -damping), **options}


def slide(law: Law, mass: float = 2.0, **options: Any) -> Model:
    """A mass along x without gravity, on a servo."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    joint = prismatic("x", (1, 0, 0), **options)
    builder.body("block", joint=joint, mass=mass, inertia=(0.1,) * 3)
    return builder.actuator("motor", {"x": 1.0}, **law).build()


def tree(laws: dict[str, tuple[dict[str, float], Law]], effort: float = math.inf) -> Model:
    """Three links one behind the other, a, b, c, and a fourth one, d, beside the second."""
    builder = ModelBuilder()
    for name, parent, axis in (
        ("a", "world", (0, 1, 0)),
        ("b", "a", (1, 0, 0)),
        ("c", "b", (0, 1, 0)),
        ("d", "a", (0, 1, 0)),
    ):
        hinge = revolute(name, axis, position=(0, 0, -0.3), damping=0.01, effort=effort)
        builder.body(name, parent=parent, joint=hinge, density=800.0)
        builder.capsule(name, name, start=(0, 0, 0), end=(0.02, 0.01, -0.3), radius=0.02)
    for name, (gears, law) in laws.items():
        builder.actuator(name, gears, **law)
    return builder.build()


MIXED: dict[str, tuple[dict[str, float], Law]] = {
    "hold": ({"a": 1.0}, position(400.0, 3.0)),
    "turn": ({"b": 2.0}, velocity(0.7)),
    "push": ({"c": 0.5}, {}),
    "both": ({"a": 0.4, "c": -1.5}, position(60.0, 0.5)),
}
CONTROL = np.array([0.3, -1.0, 0.2, 0.1])


@pytest.mark.parametrize("integrator", ["euler", "midpoint"])
def test_a_step_is_the_equation_that_it_solves(integrator: str) -> None:
    """Velocity and forces after a step, put into the rule's own equation (see `servos.py`)."""
    model, dt = tree(MIXED), 0.01
    rng = np.random.default_rng(1)
    q, v = 0.3 * rng.normal(size=4), 0.3 * rng.normal(size=4)
    world = World(model, timestep=dt, integrator=integrator)
    world.reset(q, v)
    world.step(control=CONTROL)
    change = world.v - v
    if integrator == "euler":
        at, speed, end = q, v, (q + dt * world.v, world.v)
    else:
        at, speed = q + dt / 2 * v, (v + world.v) / 2
        end = at + dt / 4 * change, speed
    forces = dynenvs.actuator_forces(model, CONTROL, *end)
    close(world.tau, forces, 1e-11)
    damped = model.damping * (v + change if integrator == "euler" else speed)
    missing = dynenvs.crba(model, at) @ change
    missing -= dt * (forces - dynenvs.bias_force(model, at, speed) - damped)
    assert np.abs(missing).max() < (1e-13 if integrator == "euler" else 1e-5) * np.abs(change).max()


def test_coordinates_on_different_ways_are_explicit() -> None:
    """Links c and d are on two branches: M has no entry for them; the force is the first one's."""
    model = tree({"tendon": ({"c": 1.0, "d": -0.5}, position(60.0, 0.5))})
    world = World(model, timestep=0.01)
    q, v = [0.1, 0.2, -0.3, 0.1], [0.3, -0.1, 0.2, 0.4]
    world.reset(q, v)
    world.step(control=[0.4])
    close(world.tau, dynenvs.actuator_forces(model, [0.4], q, v), 1e-14)


def test_both_rules_converge_with_their_order() -> None:
    """To the damped oscillation's closed form: errors at half the step are 1/2 and 1/4."""
    mass, stiffness, damping, goal, time = 2.0, 50.0, 3.0, 0.3, 1.0
    decay = damping / (2 * mass)
    rate = math.sqrt(stiffness / mass - decay**2)
    wave = math.cos(rate * time) + decay / rate * math.sin(rate * time)
    exact = goal * (1.0 - math.exp(-decay * time) * wave)
    model = slide(position(stiffness, damping), mass)
    for integrator, ratio in (("euler", 2.0), ("midpoint", 4.0)):
        errors = []
        for steps in (400, 800):
            world = World(model, timestep=time / steps, integrator=integrator)
            world.step(control=[goal], steps=steps)
            errors.append(abs(world.q[0] - exact))
        assert errors[0] / errors[1] == pytest.approx(ratio, rel=0.05)


@pytest.mark.parametrize("integrator", ["euler", "midpoint"])
@pytest.mark.parametrize("stiffness", [1e3, 1e6])
def test_stiff_servos_are_stable(stiffness: float, integrator: str) -> None:
    """A gram on kp 1,000 and more at 5 ms: it never swings further than it was let go."""
    world = World(slide(position(stiffness, 0.1), mass=1e-3), integrator=integrator, timestep=0.005)
    for _ in range(400):
        world.step(control=[0.2])
        assert abs(world.q[0] - 0.2) <= 0.2 * (1 + 1e-9)
    if integrator == "euler":
        assert world.q[0] == pytest.approx(0.2, abs=1e-6)


@pytest.mark.parametrize("integrator", ["euler", "midpoint"])
def test_a_servo_that_brakes_takes_energy(integrator: str) -> None:
    """A velocity servo told to stand still: kinetic energy falls in each step, however strong."""
    for damping in (0.1, 1e6):
        world = World(slide(velocity(damping)), timestep=0.01, integrator=integrator)
        world.reset([0.0], [3.0])
        last = 3.0
        for _ in range(20):
            world.step(control=[0.0])
            assert abs(world.v[0]) < last
            last = abs(world.v[0])


@pytest.mark.parametrize(
    ("effort", "integrator"), [(math.inf, "euler"), (0.8, "euler"), (math.inf, "midpoint")]
)
def test_forces_at_their_limits_are_those_of_the_end(effort: float, integrator: str) -> None:
    """Force = clip(law) where the step ends (midpoint: in its mean), whoever is at a limit."""
    laws = {
        name: ({name: gear}, position(1000.0, 20.0, force_range=(-0.6, 1.0)))
        for name, gear in (("a", 1.0), ("b", -2.0), ("c", 1.0), ("d", 0.7))
    }
    model, dt = tree(laws, effort), 0.005
    world = World(model, timestep=dt, integrator=integrator)
    rng = np.random.default_rng(3)
    limited, free = 0, 0
    for k in range(300):
        if k % 30 == 0:
            control = rng.uniform(-0.3, 0.3, size=4)
        q, v = world.q.copy(), world.v.copy()
        world.step(control=control)
        at, speed = world.q, world.v
        if integrator == "midpoint":
            at, speed = q + dt / 4 * (v + world.v), (v + world.v) / 2
        forces = dynenvs.actuator_forces(model, control, at, speed)
        assert np.abs(world.tau - forces).max() < 2e-8
        kinds = world.get_state()["saturated"]
        limited, free = limited + np.abs(kinds).sum(), free + (kinds[:4] == 0).sum()
    assert limited > 100
    assert free > 100


def test_a_servo_at_its_limit_does_not_chatter() -> None:
    """Decided by the start of a step (MuJoCo), this one goes to and fro between its limits."""
    law = position(1000.0, 20.0, force_range=(-10.0, 10.0))
    world = World(slide(law, mass=1e-3), timestep=0.005)
    for _ in range(100):
        world.step(control=[0.5])
    assert world.q[0] == pytest.approx(0.5, abs=1e-6)
    assert abs(world.v[0]) < 1e-6


def test_a_servo_that_presses_gives_its_limit_and_no_more() -> None:
    """Against a joint stop: 50 N of the 900 that its law asks for; freed, the law's."""
    law = position(1000.0, 1.0, force_range=(-50.0, 50.0))
    world = World(slide(law, limits=(-1.0, 0.1)), timestep=0.005)
    for _ in range(200):
        world.step(control=[1.0])
    close(world.tau, [50.0], 1e-12)
    close(world.stop_impulses / 0.005, [-50.0], 1e-9)
    for _ in range(5):
        world.step(control=[0.11])
    close(world.tau, [1000.0 * 0.01], 1e-6)


def test_control_ranges_clip() -> None:
    model = slide(position(100.0, 1.0, control_range=(-0.1, 0.1)))
    worlds = [World(model) for _ in range(2)]
    worlds[0].step(control=[5.0], steps=3)
    worlds[1].step(control=[0.1], steps=3)
    assert worlds[0].q == worlds[1].q


def test_motors_alone_are_forces() -> None:
    """Without servos a control is what its forces are, bit for bit."""
    model = tree({"a": ({"a": 2.0}, {}), "b": ({"b": 1.0}, {"control_range": (-0.1, 0.1)})})
    assert model.header.nservos == 0
    worlds = [World(model, timestep=0.005) for _ in range(2)]
    worlds[0].step(control=[0.3, 7.0], steps=5)
    worlds[1].step([0.6, 0.1, 0.0, 0.0], steps=5)
    assert np.array_equal(worlds[0].q, worlds[1].q)
    assert np.array_equal(worlds[0].tau, worlds[1].tau)


def test_many_worlds_are_each_as_one_alone() -> None:
    """Bit for bit, with threads and masks, and after a restart from a state."""
    laws = {
        name: (gears, law | {"force_range": (-2.0, 2.0)}) for name, (gears, law) in MIXED.items()
    }
    model = tree(laws)
    rng = np.random.default_rng(5)
    controls = rng.normal(size=(40, 4))
    worlds = Worlds(model, 40, timestep=0.005, threads=2)
    mask = np.arange(40) % 3 != 0
    worlds.step(control=controls, steps=4)
    worlds.step(control=controls[::-1], steps=3, mask=mask)
    for k in (0, 1, 39):
        world = World(model, timestep=0.005)
        world.step(control=controls[k], steps=4)
        again = World(model, timestep=0.005)
        again.set_state(world.get_state())
        for one in (world, again) if mask[k] else ():
            one.step(control=controls[39 - k], steps=3)
            assert np.array_equal(worlds.q[k], one.q)
            assert np.array_equal(worlds.v[k], one.v)
        assert np.array_equal(worlds.tau[k], world.tau)


def test_controls_that_cannot_be_are_refused() -> None:
    world, worlds = World(slide(velocity(1.0))), Worlds(slide(velocity(1.0)), 2)
    with pytest.raises(ValueError, match="either tau or control"):
        world.step([1.0], control=[1.0])
    with pytest.raises(ValueError, match=r"control must have shape \(1,\)"):
        world.step(control=[1.0, 2.0])
    with pytest.raises(ValueError, match="control must be finite"):
        world.step(control=[math.nan])
    with pytest.raises(ValueError, match=r"control must have shape \(2, 1\)"):
        worlds.step(control=[1.0, 2.0])
    with pytest.raises(ValueError, match="control must be finite"):
        worlds.step(control=[[1.0], [math.inf]])
    with pytest.raises(ValueError, match="the model has no actuators"):
        World(ModelBuilder().build()).step(control=[])


MJCF = """<mujoco><option timestep="{}" integrator="implicitfast"/><worldbody>
<body pos="0 0 1"><joint name="a" axis="0 1 0" damping="0.05"/>
<geom type="capsule" fromto="0 0 0 0.05 0 -.3" size=".02" contype="0" conaffinity="0"/>
<body pos="0 0 -.3"><joint name="b" axis="1 0 0" armature="0.001"/>
<geom type="capsule" fromto="0 0 0 0 0.02 -.3" size=".02" contype="0" conaffinity="0"/>
</body></body></worldbody><actuator>{}</actuator></mujoco>"""
DAMPERS = '<velocity joint="a" kv="5"/><velocity joint="b" kv="3" gear="2"/>'
HOLDERS = '<position joint="a" kp="40" kv="1"/><position joint="b" kp="20" kv="2" gear="-1.5"/>'


def both(xml: str, steps: int) -> tuple[Any, Any]:
    """The velocities of MuJoCo and of the world after some steps from one state."""
    mujoco = pytest.importorskip("mujoco")
    theirs = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(theirs)
    world = World(dynenvs.load(xml))
    data.qpos[:], data.qvel[:], data.ctrl[:] = (0.4, -0.3), (1.0, -2.0), (0.2, 0.5)
    world.reset(data.qpos, data.qvel)
    for _ in range(steps):
        mujoco.mj_step(theirs, data)
        world.step(control=data.ctrl)
    return data.qvel, world.v


def test_dampers_are_those_of_implicitfast() -> None:
    """Without stiffness MuJoCo's rule and this one are the same, step by step."""
    theirs, ours = both(MJCF.format(0.005, DAMPERS), 100)
    close(ours, theirs, 1e-11)


def test_position_servos_agree_with_implicitfast_to_first_order() -> None:
    """It has them explicit in the position: one step differs by dt^2, a stretch of time by dt."""
    for steps, dt, again, ratio in ((1, 4e-5, 1, 4.0), (200, 5e-4, 400, 2.0)):
        theirs, ours = both(MJCF.format(dt, HOLDERS), steps)
        gap = np.abs(theirs - ours).max()
        theirs, ours = both(MJCF.format(dt / 2, HOLDERS), again)
        assert gap / np.abs(theirs - ours).max() == pytest.approx(ratio, rel=0.05)


def test_a_step_with_controls_opens_no_workspace() -> None:
    """Its views are opened once, not in each step: that took ten times as long as the kernel."""
    world, calls = World(slide(position(10.0))), []
    world.step(control=[0.1])
    sys.setprofile(lambda frame, *_: calls.append(frame.f_code.co_name))
    world.step(control=[0.2])
    sys.setprofile(None)
    assert "_advance" in calls
    assert "open_handle" not in calls


def test_controls_reach_a_world_that_has_made_room_for_more_contacts() -> None:
    """They went to where its workspace had them before it grew: servos held still, or worse."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    builder.half_space("floor")
    builder.body("sled", joint=prismatic("x", (1, 0, 0)), mass=2.0, inertia=(0.1,) * 3)
    for k in range(100):
        builder.sphere(f"ball{k}", "sled", radius=0.01, position=(0.05 * k, 0, 1.0))
    model = builder.actuator("motor", {"x": 1.0}, **position(10.0)).build()
    world, grown = World(model), World(model)
    grown.step(control=[0.0])
    grown._move_to(with_room(model, 90, 0))
    assert grown.model.header.nc > model.header.nc
    grown.reset()
    for _ in range(3):
        for one in (world, grown):
            one.step(control=[0.3])
    assert world.q[0] > 0.0
    assert np.array_equal(grown.q, world.q)
    assert np.array_equal(grown.tau, world.tau)
