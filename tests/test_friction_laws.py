"""Coulomb's law and unilateral contact on a stepped World, against closed forms.

Numbers: docs/theory.md, Known answers.  Time stepping is first order, so distances are compared
with the exact sums of the scheme, which differ from the continuous law by a stated offset.
"""

from __future__ import annotations

import numpy as np
import pytest
from scenes import (
    G,
    ball,
    block,
    block_inertia,
    body_rotation,
    certified,
    energy,
    quaternion,
    tilted_gravity,
)
from scipy.spatial.transform import Rotation

from dynenvs.model.builder import ModelBuilder
from dynenvs.model.parts import free, prismatic, revolute
from dynenvs.simulation.world import World

HEADINGS = (0.0, 0.3, np.pi / 8, 1.0, np.pi / 2, 2.5)

# Block on a slope


@pytest.mark.parametrize("heading", HEADINGS)
def test_block_sticks_below_the_friction_angle(heading: float) -> None:
    """tan(theta) = mu at theta - 1e-3 rad: moves less than 1e-12 m in 10 s (no creep)."""
    slope = np.arctan(0.5) - 1e-3
    world = block(gravity=tilted_gravity(slope, heading), timestep=5e-3)
    start = world.q.copy()
    world.step(steps=2000)
    assert np.abs(world.q - start).max() < 1e-12
    certified(world)


@pytest.mark.parametrize("heading", HEADINGS)
def test_block_slips_above_the_friction_angle(heading: float) -> None:
    """At theta + 1e-3 rad: v = g (sin theta - mu cos theta) t, 1.10e-2 m/s at 1 s."""
    slope = np.arctan(0.5) + 1e-3
    world = block(gravity=tilted_gravity(slope, heading))
    world.step(steps=1000)
    expected = G * (np.sin(slope) - 0.5 * np.cos(slope))
    assert expected == pytest.approx(1.10e-2, abs=5e-5)
    along = np.array([np.cos(heading), np.sin(heading), 0.0])
    np.testing.assert_allclose(world.v[:3], expected * along, atol=1e-10)
    np.testing.assert_allclose(world.v[3:], 0.0, atol=1e-10)
    certified(world)


@pytest.mark.parametrize("heading", HEADINGS)
def test_slow_slip_on_four_feet_is_stable(heading: float) -> None:
    """The same slip for a table on four feet; a spin of 1e-9 rad/s must not grow."""
    slope = np.arctan(0.5) + 1e-3
    builder = ModelBuilder(gravity=tilted_gravity(slope, heading))
    builder.half_space("floor", friction=0.5)
    half = np.array([0.3, 0.2, 0.01])
    builder.body("table", joint=free(), mass=2.0, inertia=block_inertia(2.0, half))
    for i, (x, y) in enumerate([(-0.3, -0.2), (-0.3, 0.2), (0.3, -0.2), (0.3, 0.2)]):
        builder.point(f"foot{i}", "table", (x, y, -0.01), friction=0.5)
    world = World(builder.build(), timestep=1e-3)
    world.q[2] = 0.01
    world.v[5] = 1e-9
    world.step(steps=1000)
    assert abs(world.v[5]) < 1e-8
    expected = G * (np.sin(slope) - 0.5 * np.cos(slope))
    along = np.array([np.cos(heading), np.sin(heading), 0.0])
    np.testing.assert_allclose(world.v[:3], expected * along, atol=1e-7)
    certified(world)


@pytest.mark.parametrize("off", [-1e-3, 1e-3])
@pytest.mark.parametrize("heading", [0.0, 0.7])
def test_block_on_a_tilted_plane(heading: float, off: float) -> None:
    """The same threshold with the half space tilted instead of gravity."""
    slope = np.arctan(0.5) + off
    turn = Rotation.from_euler("ZY", [heading, slope]).as_matrix()
    half = np.array([0.2, 0.15, 0.05])
    builder = ModelBuilder(gravity=(0, 0, -G))
    builder.half_space("ramp", normal=turn[:, 2], friction=0.5)
    builder.body("block", joint=free(), mass=2.0, inertia=block_inertia(2.0, half))
    builder.box("skin", "block", half_size=half, friction=0.5)
    world = World(builder.build(), timestep=1e-3)
    start = np.concatenate([turn[:, 2] * half[2], quaternion(turn)])
    world.reset(start)
    world.step(steps=1000)
    if off < 0:
        assert np.abs(world.q - start).max() < 1e-12
    else:
        expected = G * (np.sin(slope) - 0.5 * np.cos(slope)) * turn[:, 0]
        np.testing.assert_allclose(world.v[:3], expected, atol=1e-10)
    certified(world)


@pytest.mark.parametrize("directions", [4, 8])
@pytest.mark.parametrize("heading", HEADINGS)
def test_sliding_distance(heading: float, directions: int) -> None:
    """d = v^2 / (2 mu g) - v dt / 2 exactly, in any direction: the pyramid follows the slip."""
    mu, speed, steps = 0.3, 1.0, 400
    dt = speed / (mu * G * steps)  # it stops at the end of a step
    world = block(friction=mu, timestep=dt, directions=directions)
    along = np.array([np.cos(heading), np.sin(heading), 0.0])
    world.v[:3] = speed * along
    world.step(steps=steps + 50)
    expected = speed**2 / (2 * mu * G) - speed * dt / 2
    np.testing.assert_allclose(world.q[:2], expected * along[:2], atol=1e-9)
    np.testing.assert_allclose(world.v, 0.0, atol=1e-12)
    certified(world)


def test_planar_sliding_distance() -> None:
    """The same for a model that moves in the x-z plane with the two directions of it."""
    mu, speed, steps = 0.4, 1.5, 300
    dt = speed / (mu * G * steps)
    builder = ModelBuilder(gravity=(0, 0, -G), directions=2)
    builder.half_space("floor", friction=mu)
    builder.body("x", joint=prismatic(axis=(1, 0, 0)))
    builder.body("z", parent="x", joint=prismatic(axis=(0, 0, 1)))
    builder.body("box", parent="z", joint=revolute(axis=(0, 1, 0)), mass=1.0, inertia=(1, 1, 1))
    for name, x in (("heel", -0.2), ("toe", 0.2)):
        builder.point(name, "box", (x, 0.0, -0.1), friction=mu)
    world = World(builder.build(), timestep=dt)
    world.reset([0.0, 0.1, 0.0], [speed, 0.0, 0.0])
    world.step(steps=steps + 20)
    expected = speed**2 / (2 * mu * G) - speed * dt / 2
    np.testing.assert_allclose(world.q, [expected, 0.1, 0.0], atol=1e-9)
    certified(world)


def test_frictionless_slide_keeps_its_velocity() -> None:
    """mu = 0: tangential velocity is constant to roundoff."""
    world = block(friction=0.0)
    world.v[:2] = 1.3, -0.4
    world.step(steps=2000)
    np.testing.assert_allclose(world.v, [1.3, -0.4, 0, 0, 0, 0], atol=1e-12)
    np.testing.assert_allclose(world.q[:3], [2.6, -0.8, 0.05], atol=1e-11)
    certified(world)


# Coefficients


def test_friction_of_a_pair_is_the_geometric_mean_unless_overridden() -> None:
    """sqrt(0.9 * 0.4) = 0.6; `pair` sets its own; a world's own value prevails over both."""

    def scene(**rule: float) -> World:
        builder = ModelBuilder(gravity=(0, 0, -G))
        builder.half_space("floor", friction=0.9)
        builder.body("ball", joint=free(), mass=1.0, inertia=(1e6, 1e6, 1e6))
        builder.sphere("skin", "ball", radius=0.1, friction=0.4)
        if rule:
            builder.pair("skin", "floor", **rule)
        world = World(builder.build(), timestep=1e-3)
        world.reset([0, 0, 0.1, 1, 0, 0, 0], [1, 0, 0, 0, 0, 0])
        return world

    def deceleration(world: World) -> float:
        world.step(steps=10)
        return float((1 - world.v[0]) / (10 * world.timestep))

    assert scene().friction == pytest.approx([0.6], abs=1e-15)
    assert deceleration(scene()) == pytest.approx(0.6 * G, rel=1e-4)  # turns a little
    assert deceleration(scene(friction=0.25)) == pytest.approx(0.25 * G, rel=1e-4)
    own = scene()
    own.friction[:] = 0.1
    assert deceleration(own) == pytest.approx(0.1 * G, rel=1e-4)


# Rolling


@pytest.mark.parametrize("heading", [0.0, 0.4, 2.0])
@pytest.mark.parametrize("excess", [1.02, 3.0, 0.98, 0.3])
def test_sphere_on_a_slope(excess: float, heading: float) -> None:
    """mu >= 2/7 tan(theta): rolls with a = 5/7 g sin(theta) each step; else slides and spins up."""
    slope, radius = 0.5, 0.1
    mu = excess * 2 / 7 * np.tan(slope)
    world = ball(radius=radius, friction=mu, gravity=tilted_gravity(slope, heading))
    rolls = excess > 1
    a = 5 / 7 * G * np.sin(slope) if rolls else G * (np.sin(slope) - mu * np.cos(slope))
    along = np.array([np.cos(heading), np.sin(heading), 0.0])
    across = np.array([-np.sin(heading), np.cos(heading), 0.0])
    spin = a / radius if rolls else mu * G * np.cos(slope) * 2.5 / radius
    for k in range(1, 301):
        world.step()
        t = k * world.timestep
        np.testing.assert_allclose(world.v[:3], a * t * along, atol=1e-9)
        omega = body_rotation(world.q) @ world.v[3:]
        np.testing.assert_allclose(omega, spin * t * across, atol=1e-8)
    certified(world)


def test_rolling_covers_the_distance_of_its_velocity() -> None:
    """A sphere that rolls on the flat goes on for ever: v t after 5 s, gap zero."""
    world = ball(radius=0.1, timestep=5e-3)
    world.v[:] = [0.5, 0, 0, 0, 5.0, 0]
    world.step(steps=1000)
    np.testing.assert_allclose(world.q[:3], [2.5, 0, 0.1], atol=1e-9)
    np.testing.assert_allclose(world.v[:3], [0.5, 0, 0], atol=1e-10)
    certified(world)


# Sliding and spinning


def test_impulses_obey_coulombs_law() -> None:
    """Each contact's impulse: normal part >= 0, tangential within mu times it, against the slip."""
    world = block((0.12, 0.1, 0.08), friction=0.4, timestep=2e-3)
    world.q[2:] = [0.4, *quaternion(Rotation.from_rotvec([0.5, 0.4, 0.2]).as_matrix())]
    world.v[:] = [1.5, -0.3, 0.0, 1.0, 2.0, -1.0]
    sliding = 0
    for _ in range(500):
        world.step()
        for contact in world.contacts:
            normal = contact.impulse @ contact.normal
            tangential = contact.impulse - normal * contact.normal
            assert normal >= -1e-13
            assert np.linalg.norm(tangential) <= 0.4 * normal * (1 + 1e-9) + 1e-13
            sliding += bool(np.linalg.norm(tangential) > 0.399 * normal > 1e-6)
    assert sliding > 10


@pytest.mark.parametrize("seed", range(4))
def test_sliding_and_spinning_block_loses_energy_until_it_rests(seed: int) -> None:
    """Dissipation in every step, normal velocity zero, full stop."""
    rng = np.random.default_rng(seed)
    world = block(friction=0.4, timestep=2e-3)
    world.v[:2] = rng.normal(size=2)
    world.v[5] = rng.normal() * 5
    before = energy(world)
    for _ in range(1000):
        world.step()
        now = energy(world)
        assert now <= before + 1e-12
        assert abs(world.v[2:5]).max() < 1e-9
        before = now
    np.testing.assert_allclose(world.v, 0.0, atol=1e-10)
    certified(world)


def _point_on_a_turntable(mu: float, omega: float, r: float, dt: float, steps: int) -> np.ndarray:
    """Position of a point mass under the scheme's own law, with an isotropic friction disc."""
    x, v = np.array([r, 0.0]), np.array([0.0, omega * r])
    for _ in range(steps):
        slip = v - omega * np.array([-x[1], x[0]])
        speed = np.linalg.norm(slip)
        v = v - slip * min(1.0, mu * G * dt / speed) if speed > 0 else v
        x = x + dt * v
    return x


@pytest.mark.parametrize("excess", [0.98, 1.05, 1.5])
def test_turntable(excess: float) -> None:
    """A small block at radius r on a turning plane slips out once omega^2 r > mu g."""
    mu, r, dt, steps = 0.3, 1.0, 5e-4, 2000
    omega = np.sqrt(excess * mu * G / r)
    half = np.array([0.01, 0.01, 0.005])
    builder = ModelBuilder(gravity=(0, 0, -G))
    builder.body("table", joint=revolute(armature=1e9), mass=1.0, inertia=(1.0, 1.0, 1.0))
    builder.half_space("top", "table", friction=mu)
    builder.body("block", joint=free(), mass=0.1, inertia=block_inertia(0.1, half))
    builder.box("skin", "block", half_size=half, friction=mu)
    world = World(builder.build(), timestep=dt)
    world.q[1:4] = r, 0.0, half[2]
    world.v[:] = [omega, 0, omega * r, 0, 0, 0, omega]
    for _ in range(steps):
        world.v[0] = omega
        world.step()
    radius = np.hypot(*world.q[1:3])
    expected = _point_on_a_turntable(mu, omega, r, dt, steps)
    # The block is not a point: 1 cm at 1 m bounds what its size can do.
    np.testing.assert_allclose(world.q[1:3], expected, atol=1e-2)
    if excess < 1:
        # A chord instead of an arc in each step: the radius grows by omega^2 r dt / 2 per second.
        assert radius - r == pytest.approx(omega**2 * r * dt / 2, rel=0.05)
    else:
        assert radius > r + 0.05
    certified(world)


# Painleve


def test_painleve_rod() -> None:
    """No acceleration solves it, impulses do (mu = 2, tan theta = 2; docs/theory.md, Existence)."""
    g, dt, theta = 9.8, 1e-3, np.arctan(2.0)
    builder = ModelBuilder(gravity=(0, 0, -g), directions=2)
    builder.half_space("floor", friction=2.0)
    builder.body("x", joint=prismatic(axis=(1, 0, 0)))
    builder.body("z", parent="x", joint=prismatic(axis=(0, 0, 1)))
    rod = revolute(axis=(0, 1, 0))
    builder.body("rod", parent="z", joint=rod, mass=1.0, inertia=(1 / 3, 1 / 3, 0))
    builder.point("tip", "rod", (-np.cos(theta), 0.0, -np.sin(theta)), friction=2.0)
    world = World(builder.build(), timestep=dt)
    world.reset([0.0, np.sin(theta), 0.0], [-1.0, 0.0, 0.0])
    world.step()
    (contact,) = world.contacts
    assert contact.impulse[2] / (g * dt) == pytest.approx(31.46, abs=5e-3)
    vx, vz, omega = world.v
    tip = [vx - omega * np.sin(theta), vz + omega * np.cos(theta)]  # w (0,1,0) x r
    np.testing.assert_allclose(tip, 0.0, atol=1e-9)
    kinetic = (vx**2 + vz**2 + omega**2 / 3) / 2
    assert kinetic == pytest.approx(0.297, abs=5e-4)
    certified(world)


# Warm start


@pytest.mark.parametrize("seed", range(4))
def test_warm_start_does_not_change_the_velocity(seed: int) -> None:
    """A world that remembers nothing takes the same step, to 1e-10."""
    rng = np.random.default_rng(seed)
    world = block((0.12, 0.1, 0.08), timestep=2e-3)
    cold = World(world.model, timestep=2e-3)
    world.q[2:] = [0.3, *quaternion(Rotation.random(random_state=rng).as_matrix())]
    world.v[:] = rng.normal(size=6)
    for _ in range(600):
        cold.reset(world.q, world.v)
        cold.step()
        world.step()
        np.testing.assert_allclose(cold.v, world.v, atol=1e-10)
