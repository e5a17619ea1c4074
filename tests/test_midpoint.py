"""The midpoint rule: what it keeps, its order, contact, limits, loops, and the same bits."""

from __future__ import annotations

import copy
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from trees import Array

import dynenvs  # noqa: F401
from dynenvs.dynamics.energy import totals
from dynenvs.dynamics.jacobians import frames
from dynenvs.envs.robots import humanoid
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model
from dynenvs.model.parts import ModelError, free, prismatic, revolute
from dynenvs.simulation.world import World

G = 9.81
NOTHING = (0.0, 0.0, 0.0)


def about_center(world: World) -> Array:
    """Angular momentum about the centre of mass, then linear momentum."""
    found = totals(world.model, world.q, world.v)
    turn = found.momentum[:3] - np.cross(found.center_of_mass, found.momentum[3:])
    return np.concatenate([turn, found.momentum[3:]])


def energy(world: World) -> float:
    """Kinetic and potential energy [J]."""
    return totals(world.model, world.q, world.v).energy


# Free motion


def rod(com: tuple[float, float, float]) -> Model:
    """A long thin body in empty space."""
    builder = ModelBuilder(gravity=NOTHING, integrator="midpoint")
    return builder.body(
        "rod", joint=free(), mass=1.0, com=com, inertia=(1e-3, 0.08, 0.0801)
    ).build()


@pytest.mark.parametrize("com", [NOTHING, (0.1, -0.2, 0.05)])
def test_a_tumbling_rod_keeps_energy_and_momentum(com: tuple[float, float, float]) -> None:
    world = World(rod(com), timestep=2e-3)
    world.v[3:] = 11.0, 7.0, -5.0
    first, start = energy(world), about_center(world)
    for _ in range(12):
        world.step(steps=2500)  # a minute in all
        assert abs(energy(world) / first - 1.0) < 1e-12
        change = np.abs(about_center(world) - start)[:3].max()
        assert change < 1e-12 * np.abs(start[:3]).max()


def test_a_thrown_body_keeps_its_energy() -> None:
    builder = ModelBuilder(integrator="midpoint")
    builder.body("club", joint=free(), mass=2.0, com=(0.1, 0.0, 0.3), inertia=(0.2, 0.15, 0.1))
    world = World(builder.build(), timestep=5e-3)
    world.q[2], world.v[:] = 3.0, (1.0, 0.5, 6.0, 4.0, -3.0, 5.0)
    first = energy(world)
    center = totals(world.model, world.q, world.v)
    rise = center.momentum[5] / center.mass
    world.step(steps=200)
    after = totals(world.model, world.q, world.v)
    assert abs(energy(world) - first) < 1e-11 * first
    fall = center.center_of_mass[2] + rise * world.time - G / 2 * world.time**2
    assert abs(after.center_of_mass[2] - fall) < 1e-11


def in_space(gravity: float = 0.0) -> World:
    """The humanoid far above the ground, its joints in motion."""
    model = humanoid.build()
    packed = model.packed.copy()
    packed[: model.header.itemsize].view(model.header.dtype)[0].gravity[2] = -gravity
    world = World(model.repacked(packed), timestep=2e-3, integrator="midpoint")
    rng = np.random.default_rng(3)
    world.q[:] = model.neutral()
    world.q[2] = 10.0
    world.q[7:] = (model.lower[6:] + model.upper[6:]) / 2
    world.v[:] = rng.normal(size=model.nv)
    return world


def test_a_humanoid_in_space_keeps_its_momentum() -> None:
    """Through motion, damping, stops of joints and contact of its own legs."""
    world = in_space()
    world.v[6:] *= 3.0
    start = about_center(world)
    stopped = False
    for _ in range(20):
        world.step(steps=100)
        low, high = world.q[7:] - world.model.lower[6:], world.model.upper[6:] - world.q[7:]
        stopped = stopped or min(low.min(), high.min()) < 1e-6
        change = np.abs(about_center(world) - start)
        assert change[:3].max() < 1e-12 * np.abs(start[:3]).max()
        assert change[3:].max() < 1e-12 * np.abs(start[3:]).max()
    assert stopped


def test_a_wrench_and_gravity_turn_a_humanoid_as_they_should() -> None:
    world = in_space(G)
    body = world.model.body_id("torso")
    world.wrenches[body] = 0.0, 0.0, 0.0, 30.0, -20.0, 50.0
    start, mass = about_center(world), totals(world.model, world.q, world.v).mass
    world.step(np.full(world.model.nu, 5.0), steps=100)
    gained = (about_center(world) - start)[3:] / world.time
    assert np.allclose(gained, [30.0, -20.0, 50.0 - mass * G], rtol=1e-11)


def test_a_wrench_turns_a_humanoid_alike_wherever_it_is() -> None:
    """Its angular momentum grows by moment and arm; neither knows of the world's origin."""
    ends = []
    for place in (NOTHING, (3.0, -7.0, 2.0)):
        world = in_space(0.0)
        world.q[:3] += place
        body = world.model.body_id("torso")
        moment, force = np.array([2.0, -3.0, 1.0]), np.array([30.0, -20.0, 50.0])
        world.wrenches[body] = *moment, *force
        start, found = about_center(world), totals(world.model, world.q, world.v)
        frame = frames(world.model, world.q)
        at = frame.rotations[body] @ world.model.bodies[body].com + frame.positions[body]
        world.timestep = 1e-5
        world.step()
        gained = (about_center(world) - start)[:3] / world.time
        expected = moment + np.cross(at - found.center_of_mass, force)
        np.testing.assert_allclose(gained, expected, rtol=1e-3)
        world.timestep = 0.005
        world.step(np.full(world.model.nu, 5.0), steps=100)
        ends.append(np.concatenate([world.q[:3] - place, world.q[3:], world.v]))
    np.testing.assert_allclose(ends[0], ends[1], rtol=0.0, atol=1e-9)


def chain(links: int, **options: Any) -> Model:
    """Rods of a metre and a kilogram on hinges."""
    builder = ModelBuilder(**options)
    for i in range(links):
        builder.body(
            f"link{i}",
            parent=f"link{i - 1}" if i else "world",
            joint=revolute(axis=(0.0, 1.0, 0.0), position=(0.0, 0.0, -1.0 if i else 0.0)),
            mass=1.0,
            com=(0.0, 0.0, -0.5),
            inertia=(1 / 12, 1 / 12, 1e-3),
        )
    return builder.build()


def test_a_double_pendulum_keeps_its_energy_for_a_minute() -> None:
    world = World(chain(2, integrator="midpoint"), timestep=1e-3)
    world.q[0] = np.pi / 2
    first, worst = energy(world), 0.0
    for _ in range(600):
        world.step(steps=100)
        worst = max(worst, abs(energy(world) - first))
    assert worst < 2e-4 * 2 * G  # 0.37 of it by Euler's rule


def order(make: Any, steps: int) -> float:
    """log2 of the ratio of errors of two step lengths that differ by two, by a third."""
    ends = []
    for k in range(3):
        world, tau = make(2.0**-k)
        world.step(tau, steps=steps * 2**k)
        ends.append(np.concatenate([world.q, world.v]))
    coarse, fine = np.abs(ends[0] - ends[1]).max(), np.abs(ends[1] - ends[2]).max()
    return float(np.log2(coarse / fine))


def test_a_chain_converges_with_order_two() -> None:
    def make(scale: float) -> Any:
        world = World(chain(4, integrator="midpoint"), timestep=1e-3 * scale)
        world.q[:], world.v[:] = np.linspace(1.2, 0.3, 4), np.linspace(-1.0, 2.0, 4)
        return world, None

    assert 1.9 < order(make, 1000) < 2.15


@pytest.mark.thorough
def test_a_deep_chain_and_a_long_one_converge_too() -> None:
    """Of a depth at which Euler's rule refines velocities, or goes by articulated bodies."""
    for links in (12, 42):

        def make(scale: float, links: int = links) -> Any:
            model = chain(links, integrator="midpoint")
            world = World(model, timestep=2e-4 * scale)
            world.q[:] = 0.02 * np.sin(np.arange(links))
            return world, None

        assert 1.9 < order(make, 100) < 2.15


def test_a_humanoid_in_the_air_converges_with_order_two() -> None:
    def make(scale: float) -> Any:
        world = in_space(G)
        world.timestep = 2e-3 * scale
        return world, np.linspace(-3.0, 3.0, world.model.nu)

    assert 1.9 < order(make, 20) < 2.1


# Contact


def box_on_floor(friction: float = 0.5, slope: float = 0.0, **options: Any) -> Model:
    """A box on a plane that is tilted about y."""
    gravity = (G * np.sin(slope), 0.0, -G * np.cos(slope))
    builder = ModelBuilder(gravity=gravity, integrator="midpoint", **options)
    builder.half_space("floor", friction=friction)
    builder.body("box", joint=free(), density=1000.0)
    builder.box("skin", "box", half_size=(0.2, 0.15, 0.1), friction=friction)
    return builder.build()


def test_a_box_slides_as_far_as_it_should() -> None:
    world = World(box_on_floor(), timestep=5e-3)
    world.q[2], world.v[0] = 0.1, 2.0
    world.step(steps=200)
    assert abs(world.q[0] - 4.0 / (2 * 0.5 * G)) < 3e-5  # Euler's rule: v dt / 2, 5 mm
    assert np.abs(world.v).max() < 1e-12


def test_a_ball_begins_to_roll() -> None:
    builder = ModelBuilder(integrator="midpoint")
    builder.half_space("floor", friction=0.3)
    builder.body("ball", joint=free(), density=1000.0)
    builder.sphere("skin", "ball", radius=0.1, friction=0.3)
    world = World(builder.build(), timestep=5e-3)
    world.q[2], world.v[0] = 0.1, 2.0
    world.step(steps=200)
    assert abs(world.v[0] - 2.0 * 5 / 7) < 1e-12
    assert abs(world.v[4] - world.v[0] / 0.1) < 1e-11


def test_nothing_at_rest_creeps() -> None:
    """A box on a slope and a stack of three, for a minute."""
    builder = ModelBuilder(integrator="midpoint", gravity=(1.0, 0.5, -G))
    builder.half_space("floor", friction=0.8)
    for k in range(3):
        builder.body(f"box{k}", joint=free(), density=1000.0)
        builder.box(f"skin{k}", f"box{k}", half_size=(0.1, 0.1, 0.1), friction=0.8)
    world = World(builder.build(), timestep=1e-2)
    world.q[:] = np.concatenate([[0.0, 0.0, 0.1 + 0.2 * k, 1.0, 0.0, 0.0, 0.0] for k in range(3)])
    start = world.q.copy()
    world.step(steps=6000)
    assert np.abs(world.q - start).max() < 1e-9
    assert world.diagnostics.degraded == world.diagnostics.failed == 0


def test_a_top_at_rest_stays() -> None:
    builder = ModelBuilder(integrator="midpoint")
    builder.half_space("floor", friction=0.8)
    builder.body("top", joint=free(), mass=0.5, com=(0.0, 0.0, 0.05), inertia=(1e-3, 1e-3, 5e-4))
    builder.sphere("tip", "top", radius=0.01, friction=0.8)
    world = World(builder.build(), timestep=2e-3)
    world.q[2] = 0.01
    start = world.q.copy()
    world.step(steps=1000)
    assert np.abs(world.q - start).max() < 1e-9


@pytest.mark.parametrize("dt", [1e-3, 5e-3])
@pytest.mark.parametrize("seed", range(4))
def test_falling_and_tumbling_gains_no_energy(seed: int, dt: float) -> None:
    """But for a part of second order while a body pivots on an edge, given back on its way down."""
    rng = np.random.default_rng(seed)
    world = World(box_on_floor(), timestep=dt)
    turn = rng.normal(size=4)
    world.q[:] = [0.0, 0.0, 0.5, *(turn / np.linalg.norm(turn))]
    world.v[:] = rng.normal(size=6) * [1.0, 1.0, 1.0, 5.0, 5.0, 5.0]
    least = first = energy(world)
    gained = deepest = 0.0
    for _ in range(round(1.5 / dt)):
        world.step()
        now = energy(world)
        assert now <= first + 1e-12 * first
        gained, least = max(gained, now - least), min(least, now)
        deepest = min([deepest] + [contact.gap for contact in world.contacts])
    assert gained < 100.0 * dt**2  # [J] of 100 to 200 J
    assert deepest > -15.0 * dt**2  # nothing is below ground at the middles of the steps
    assert np.abs(world.v).max() < 1e-9
    assert world.diagnostics.degraded == world.diagnostics.failed == 0


def test_in_flight_sliding_and_impacts_no_step_gains_energy() -> None:
    """A box that falls flat, slides and stops; a ball that slides and rolls."""
    for round_ in (False, True):
        builder = ModelBuilder(integrator="midpoint")
        builder.half_space("floor", friction=0.4)
        builder.body("body", joint=free(), density=1000.0)
        if round_:
            builder.sphere("skin", "body", radius=0.1, friction=0.4)
        else:
            builder.box("skin", "body", half_size=(0.2, 0.15, 0.1), friction=0.4)
        world = World(builder.build(), timestep=5e-3)
        world.q[2], world.v[:3] = 0.4, (2.0, 0.3, 0.0)
        last = first = energy(world)
        for _ in range(300):
            world.step()
            assert energy(world) <= last + 1e-13 * first
            last = energy(world)
        assert last < 0.7 * first


# Joints, loops, refusals


def test_strong_damping_of_a_light_joint_is_stable() -> None:
    builder = ModelBuilder(integrator="midpoint", gravity=NOTHING)
    joint = revolute(axis=(0.0, 1.0, 0.0), damping=10.0, armature=1e-3)
    builder.body("foot", joint=joint, mass=0.1, inertia=(1e-4, 1e-4, 1e-4))
    world = World(builder.build(), timestep=1e-2)
    world.v[0] = 5.0
    last = energy(world)
    for _ in range(100):
        world.step()
        assert energy(world) < last
        last = energy(world)


def test_damping_converges_with_order_two() -> None:
    def make(scale: float) -> Any:
        builder = ModelBuilder(integrator="midpoint")
        joint = revolute(axis=(0.0, 1.0, 0.0), damping=0.5, armature=0.1)
        builder.body("arm", joint=joint, mass=1.0, com=(0.0, 0.0, -1.0), inertia=(0.1, 0.1, 0.1))
        world = World(builder.build(), timestep=1e-2 * scale)
        world.q[0] = 1.0
        return world, None

    assert 1.9 < order(make, 100) < 2.1


def test_a_stop_stops() -> None:
    builder = ModelBuilder(integrator="midpoint")
    builder.body("slide", joint=prismatic(axis=(0.0, 0.0, 1.0), limits=(-0.5, 1.0)), mass=1.0)
    world = World(builder.build(), timestep=5e-3)
    for _ in range(200):
        world.step()
        assert world.q[0] > -0.5 - 1e-12
    assert abs(world.q[0] + 0.5) < 1e-12
    assert abs(world.v[0]) < 1e-12


def test_loops_stay_closed_and_keep_their_energy() -> None:
    """A four-bar whose sides all differ."""
    builder = ModelBuilder(integrator="midpoint")
    y = (0.0, 1.0, 0.0)
    rods = {"crank": 0.4, "coupler": 0.7, "rocker": 0.5}
    for name, length in rods.items():
        parent, place = "world", (0.6, 0.0, 0.0)
        if name == "crank":
            place = NOTHING
        if name == "coupler":
            parent, place = "crank", (0.0, 0.0, -0.4)
        moment = length**2 / 12
        builder.body(
            name,
            parent=parent,
            joint=revolute(axis=y, position=place),
            mass=1.0,
            com=(0.0, 0.0, -length / 2),
            inertia=(moment, moment, 1e-3),
        )
    builder.close(
        "pin", "coupler", "rocker", position_a=(0.0, 0.0, -0.7), position_b=(0.0, 0.0, -0.5)
    )
    world = World(builder.build(), timestep=1e-3)
    world.q[:] = 0.3, -1.6, 0.0
    world.step()  # closes what is open
    world.v[:] = 0.0
    first, worst = energy(world), 0.0
    for _ in range(50):
        world.step(steps=100)
        worst = max(worst, abs(energy(world) - first))
        assert np.abs(world.closure).max() < 1e-12
    assert worst < 1e-5 * abs(first)  # 4e-5 by Euler's rule


def test_restitution_is_refused() -> None:
    def build(integrator: str) -> Model:
        builder = ModelBuilder(integrator=integrator)
        builder.half_space("floor", restitution=0.5)
        builder.body("ball", joint=free(), density=1000.0)
        return builder.sphere("skin", "ball", radius=0.1, restitution=0.5).build()

    with pytest.raises(ModelError, match="knows no restitution"):
        build("midpoint")
    with pytest.raises(ModelError, match="knows no restitution"):
        World(build("euler"), integrator="midpoint")


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ModelError, match="unknown integrator 'rk4'; choose from: euler, midpoint"):
        ModelBuilder(integrator="rk4")
    with pytest.raises(ModelError, match="unknown integrator"):
        gym.make("dynenvs/DoublePendulum-v0", integrator="x")


# Bits


def test_saved_copied_and_restored_worlds_go_on_alike() -> None:
    world = World(box_on_floor(), timestep=5e-3)
    world.q[2], world.v[:] = 0.3, (1.0, 0.2, 0.0, 3.0, 2.0, 1.0)
    world.step(steps=60)
    other, restored = copy.deepcopy(world), World(box_on_floor(), timestep=5e-3)
    restored.set_state(world.get_state())
    for one in (world, other, restored):
        one.step(steps=60)
    assert world.get_state().tobytes() == other.get_state().tobytes()
    assert world.get_state().tobytes() == restored.get_state().tobytes()


@pytest.mark.parametrize("torque", [10.0, 100.0, 1000.0, 1e4])
def test_an_arm_that_is_pressed_against_its_stop_throws_nothing(torque: float) -> None:
    """Nothing moves, whatever the motor gives: the bead on the arm stays where it is.

    Velocity products were those of the arm's turn without the stop: with 100 N m the bead flew off
    at 0.16 m/s in a tenth of a second.
    """
    builder = ModelBuilder(gravity=NOTHING, integrator="midpoint", timestep=5e-3)
    pan = revolute(axis=(0, 0, 1), limits=(-1, 1))
    builder.body("arm", joint=pan, mass=1.0, inertia=(0.1, 0.1, 0.1))
    bead = prismatic(axis=(1, 0, 0), position=(0.3, 0, 0))
    builder.body("bead", parent="arm", joint=bead, mass=0.1, inertia=(1e-4, 1e-4, 1e-4))
    world = World(builder.build())
    world.reset([1.0, 0.0])
    world.step([torque, 0.0], steps=20)
    assert world.q[0] == 1.0
    assert abs(world.v).max() < 1e-9
    assert world.diagnostics.degraded == 0


@pytest.mark.parametrize("name", ["Quadruped-v0", "PlanarQuadruped-v0"])
def test_single_and_batched_worlds_agree_bit_for_bit(name: str) -> None:
    single = gym.make(f"dynenvs/{name}", integrator="midpoint").unwrapped
    batches = [
        gym.make_vec(
            f"dynenvs/{name}",
            num_envs=6,
            vectorization_mode="vector_entry_point",
            num_threads=threads,
            integrator="midpoint",
        )
        for threads in (1, 2)
    ]
    rng = np.random.default_rng(0)
    seen = [batch.reset(seed=5)[0] for batch in batches]
    alone, _ = single.reset(seed=5)
    assert np.array_equal(seen[0], seen[1])
    for _ in range(40):
        actions = rng.uniform(-0.3, 0.3, batches[0].action_space.shape).astype(np.float32)
        seen = [batch.step(actions)[0] for batch in batches]
        alone, _, ended, _, _ = single.step(actions[0])
        assert np.array_equal(seen[0], seen[1])
        if ended:
            break
        assert np.array_equal(seen[0][0], alone)
