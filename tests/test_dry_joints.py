"""Dry friction of joints: it holds what it can hold, and opposes what moves."""

from __future__ import annotations

import numpy as np
import pytest
from solids import read_gaps
from trees import close

import dynenvs
from dynenvs import ModelBuilder, ModelError, World, free, prismatic, revolute
from dynenvs.model.model import Model
from dynenvs.simulation.worlds import Worlds

DT = 0.005


def cart(friction: float, **options: float) -> World:
    """A mass of 2 kg on a level slide that rubs."""
    builder = ModelBuilder()
    builder.body("cart", joint=prismatic(axis=(1, 0, 0), friction=friction, **options), mass=2.0)
    return World(builder.build(), timestep=DT)


def test_it_holds_up_to_its_bound() -> None:
    """Pushed with less it does not move at all; with more, by what is left over."""
    world = cart(5.0)
    for push in (4.99, -4.99, 3.0):
        for _ in range(100):
            world.step([push])
        assert world.q[0] == pytest.approx(0.0, abs=1e-10)
        assert world.dry_impulses[0] == pytest.approx(-push * DT, rel=1e-8)  # the certificate's
    for _ in range(100):
        world.step([-7.0])
    assert world.v[0] == pytest.approx(-(7.0 - 5.0) / 2.0 * 100 * DT, rel=1e-12)
    assert world.dry_impulses[0] == pytest.approx(5.0 * DT)
    assert world.diagnostics.degraded == world.diagnostics.failed == 0


def test_what_moves_comes_to_rest_and_stays() -> None:
    """After v0 m / f, to the step, having gone v0^2 m / (2 f)."""
    world = cart(4.0)
    world.reset([0.0], [3.0])
    steps = 0
    while abs(world.v[0]) > 1e-12:
        world.step([0.0])
        steps += 1
    assert steps == pytest.approx(3.0 * 2.0 / 4.0 / DT, abs=1)
    assert world.q[0] == pytest.approx(9.0 * 2.0 / 8.0, rel=0.01)
    where = world.q[0]
    for _ in range(100):
        world.step([0.0])
    assert world.q[0] == pytest.approx(where, abs=1e-10)


def energy_of(world: World) -> float:
    """Kinetic and potential [J]."""
    found = dynenvs.totals(world.model, world.q, world.v)
    return found.kinetic + found.potential


def chain(friction: float, rng: np.random.Generator, floor: bool) -> Model:
    """A chain of four links with an end that reaches the floor."""
    builder = ModelBuilder()
    if floor:
        builder.half_space("floor", position=(0, 0, -1.2), friction=0.6)
    parent = "world"
    for k in range(4):
        axis = rng.normal(size=3)
        joint = revolute(f"j{k}", axis=axis / np.linalg.norm(axis), position=(0, 0, -0.3 * (k > 0)),
                         friction=friction * (k != 1), damping=0.02)  # fmt: skip
        inertia = rng.uniform(0.01, 0.02, 3)
        builder.body(f"b{k}", parent=parent, joint=joint, mass=1.0, com=(0, 0, -0.15),
                     inertia=inertia)  # fmt: skip
        parent = f"b{k}"
    builder.sphere("tip", parent, radius=0.05, position=(0, 0, -0.3))
    return builder.build()


@pytest.mark.parametrize("floor", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_law_holds_in_chains_with_contact(floor: bool, seed: int) -> None:
    """Each joint rests within its bound, or moves against the whole of it; no energy comes."""
    rng = np.random.default_rng(seed)
    model = chain(0.7, rng, floor)
    world = World(model, timestep=0.002)
    world.reset(rng.normal(size=4) * 0.3 + 0.4, rng.normal(size=4))
    assert not floor or read_gaps(model, world.q).min() > 0.0
    bound = model.dofs["friction"] * world.timestep
    energy = energy_of(world)
    rested = moved = touched = 0
    for _ in range(600):
        world.step(rng.normal(size=4) * 0.0)
        p, v = world.dry_impulses, world.v
        assert (np.abs(p) <= bound * (1 + 1e-12)).all()
        moving = (np.abs(v) > 1e-6) & (bound > 0.0)
        close(p[moving], -np.sign(v[moving]) * bound[moving], 1e-9)
        rested += int((~moving).sum())
        moved += int(moving.sum())
        touched += len(world.contacts)
    assert rested > 100
    assert moved > 100
    assert (touched > 0) == floor
    assert energy_of(world) < energy
    assert world.diagnostics.degraded == world.diagnostics.failed == 0


def test_many_worlds_are_each_the_single_one() -> None:
    """Bit for bit, saved and restored too."""
    rng = np.random.default_rng(7)
    model = chain(0.5, rng, True)
    q, v, tau = (rng.normal(size=(5, 4)) * scale for scale in (0.3, 1.0, 1.0))
    worlds = Worlds(model, 5, timestep=0.002, threads=2)
    worlds.reset(q, v)
    worlds.step(tau, 200)
    one = World(model, timestep=0.002)
    one.reset(q[3], v[3])
    for k in range(200):
        if k == 100:
            state = one.get_state()
            one.step(np.zeros(4))
            one.set_state(state)
        one.step(tau[3])
    np.testing.assert_array_equal(one.q, worlds.q[3])
    np.testing.assert_array_equal(one.dry_impulses, worlds.dry_impulses[3])


def test_inverse_dynamics_overcomes_it() -> None:
    """Torques that give the wanted velocities, whatever rubs."""
    rng = np.random.default_rng(8)
    model = chain(0.5, rng, False)
    world = World(model, timestep=0.002)
    q, v, wish = (rng.normal(size=4) * scale for scale in (0.3, 1.0, 1.0))
    world.reset(q, v)
    answer = dynenvs.inverse_dynamics(model, q, v, wish, period=0.002)
    world.step(answer.tau)
    close(world.v, wish, 1e-6)


def test_frictionloss_and_urdf_friction_are_carried_over(tmp_path) -> None:
    """Of MJCF and of URDF; a saved model has it, too."""
    pytest.importorskip("mujoco")
    text = """<mujoco><worldbody><body><joint name="knee" type="slide" axis="1 0 0"
    frictionloss="1.5"/><geom size="0.1" mass="2" contype="0"/></body></worldbody></mujoco>"""
    model = dynenvs.load(text, strict=True)
    assert model.dofs["friction"].tolist() == [1.5]
    dynenvs.save(model, tmp_path / "knee.json")
    assert dynenvs.load(tmp_path / "knee.json").dofs["friction"].tolist() == [1.5]
    urdf = """<robot name="r"><link name="base"/><link name="arm"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <joint name="j" type="continuous"><parent link="base"/><child link="arm"/>
    <axis xyz="0 0 1"/><dynamics friction="0.25" damping="0.5"/></joint></robot>"""
    assert dynenvs.load(urdf).dofs["friction"].tolist() == [0.25]


def test_friction_is_not_negative() -> None:
    with pytest.raises(ModelError, match="friction"):
        ModelBuilder().body("arm", joint=revolute(friction=-1.0), mass=1.0)


@pytest.mark.parametrize("law", ["newton", "poisson"])
def test_it_goes_with_restitution(law: str) -> None:
    """A ball that bounces beside a cart that rubs: each does what it does alone."""
    builder = ModelBuilder(restitution=law, gravity=(0.0, 0.0, -10.0))
    builder.half_space("floor", restitution=0.5)
    builder.body("cart", joint=prismatic(axis=(1, 0, 0), friction=4.0), mass=2.0)
    builder.body("ball", joint=free(), mass=1.0, inertia=(0.1, 0.1, 0.1))
    builder.sphere("skin", "ball", radius=0.1, restitution=0.5)
    world = World(builder.build(), timestep=DT)
    q, v = np.zeros(8), np.zeros(7)
    q[1:5], v[0], v[3] = (0.0, 1.0, 0.1, 1.0), 3.0, -2.0
    world.reset(q, v)
    world.step()
    assert world.v[0] == pytest.approx(3.0 - 2.0 * DT, rel=1e-12)
    assert world.v[3] == pytest.approx(1.0 - 10.0 * DT, rel=1e-9)


def test_it_goes_with_closed_loops() -> None:
    """Of two wheels that turn alike the friction of one holds a torque at the other."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    wheel = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)}
    builder.body("one", joint=revolute("one", axis=(0, 1, 0), friction=5.0), **wheel)
    builder.body("other", joint=revolute("other", axis=(0, 1, 0)), **wheel)
    builder.couple("belt", "one", "other")
    world = World(builder.build(), timestep=DT)
    world.step([0.0, 4.9], steps=200)
    np.testing.assert_allclose(world.q, 0.0, atol=1e-9)
    np.testing.assert_allclose(world.dry_impulses, (-4.9 * DT, 0.0), atol=1e-9)
    world.step([0.0, 7.0], steps=50)
    np.testing.assert_allclose(world.v, 50 * DT * (7.0 - 5.0) / 0.2, rtol=1e-9)
    assert world.diagnostics.degraded == world.diagnostics.failed == 0
