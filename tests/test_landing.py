"""Unilateral contact on a stepped World: landing, lying, colliding, joint limits.

Against closed forms and the laws of conservation (docs/theory.md, Gaps).
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
    corners,
    energy,
    quaternion,
)
from scipy.spatial.transform import Rotation

from dynenvs.model.builder import ModelBuilder
from dynenvs.model.parts import free, revolute
from dynenvs.simulation.world import World

# Landing


@pytest.mark.parametrize("height", [0.1, 0.3333, 1.0])
def test_inelastic_landing_is_exact(height: float) -> None:
    """Touchdown closes exactly the gap: never below ground, then at rest on it."""
    world = ball(radius=0.1, timestep=4e-3)
    world.q[2] += height
    lowest = np.inf
    for _ in range(300):
        world.step()
        lowest = min(lowest, world.q[2] - 0.1)
    assert lowest > -1e-15
    np.testing.assert_allclose(world.q[2], 0.1, atol=1e-15)
    np.testing.assert_allclose(world.v, 0.0, atol=1e-14)
    certified(world)


@pytest.mark.parametrize("timestep", [1e-3, 4e-3])
@pytest.mark.parametrize("seed", range(8))
def test_tilted_box_comes_to_rest_flat(seed: int, timestep: float) -> None:
    """Dropped on a corner: never deeper than 1e-6 m, no energy gained, flat and at rest at last."""
    rng = np.random.default_rng(seed)
    half = (0.12, 0.1, 0.08)
    world = block(half, timestep=timestep)
    turn = Rotation.random(random_state=rng).as_matrix()
    world.q[:] = [0, 0, 0, *quaternion(turn)]
    world.q[2] = 0.2 - corners(world.q, half)[:, 2].min()
    world.v[:] = [*rng.normal(size=3) * 0.5, *rng.normal(size=3)]
    before = energy(world)
    for _ in range(round(3.0 / timestep)):
        world.step()
        assert corners(world.q, half)[:, 2].min() > -1e-6
        now = energy(world)
        assert now <= before + 1e-3 * timestep
        before = now
    certified(world)
    height = np.sort(corners(world.q, half)[:, 2])
    np.testing.assert_allclose(height[:4], 0.0, atol=1e-9)
    np.testing.assert_allclose(world.v, 0.0, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_a_dropped_box_does_not_creep(seed: int) -> None:
    """Once at rest it stays where it is: below 1e-12 m in 10 s."""
    rng = np.random.default_rng(seed)
    world = block((0.12, 0.1, 0.08), timestep=5e-3)
    world.q[2:] = [0.2, *quaternion(Rotation.random(random_state=rng).as_matrix())]
    world.v[:] = rng.normal(size=6) * 0.3
    world.step(steps=1000)
    start = world.q.copy()
    world.step(steps=2000)
    assert np.abs(world.q - start).max() < 1e-12


def test_momentum_balance() -> None:
    """m (v+ - v) = dt m g + sum of the contacts' impulses, in every step of a tumbling box."""
    world = block((0.12, 0.1, 0.08), mass=2.0, timestep=2e-3)
    world.q[2:] = [0.4, *quaternion(Rotation.from_rotvec([0.5, 0.4, 0.2]).as_matrix())]
    world.v[:] = [1.0, -0.3, 0.0, 1.0, 2.0, -1.0]
    touched = 0
    for _ in range(1000):
        before = world.v[:3].copy()
        world.step()
        impulse = sum((c.impulse for c in world.contacts), np.zeros(3))
        touched += bool(np.any(impulse))
        change = 2.0 * (world.v[:3] - before) - [0, 0, -2.0 * G * world.timestep]
        np.testing.assert_allclose(impulse, change, atol=1e-12)
    assert touched > 500


# Shapes and collisions


def test_capsule_lies_on_the_plane() -> None:
    """Dropped flat and turned: at rest on both caps, which carry its weight in halves."""
    builder = ModelBuilder(gravity=(0, 0, -G))
    builder.half_space("floor")
    builder.body("rod", joint=free(), mass=1.0, inertia=(0.01, 0.1, 0.1))
    builder.capsule("skin", "rod", start=(-0.3, 0, 0), end=(0.3, 0, 0), radius=0.05)
    world = World(builder.build(), timestep=2e-3)
    turn = Rotation.from_euler("ZY", [0.7, 0.2]).as_matrix()
    world.reset([0, 0, 0.4, *quaternion(turn)])
    for _ in range(1500):
        world.step()
        R = body_rotation(world.q)
        ends = [world.q[2] + s * 0.3 * R[2, 0] - 0.05 for s in (-1, 1)]
        assert min(ends) > -1e-6
    np.testing.assert_allclose(ends, 0.0, atol=1e-9)
    np.testing.assert_allclose(world.v, 0.0, atol=1e-9)
    assert len(world.contacts) == 2
    for contact in world.contacts:
        np.testing.assert_allclose(contact.impulse, [0, 0, G * 2e-3 / 2], atol=1e-9)
    certified(world)


def _row_of_spheres(count: int, gravity: tuple[float, float, float], **options: float) -> World:
    """Touching unit-mass spheres of radius 0.1 m in a row along z, the first on the floor."""
    builder = ModelBuilder(gravity=gravity)
    builder.half_space("floor")
    for i in range(count):
        builder.body(f"ball{i}", joint=free(), mass=1.0, inertia=(0.004, 0.004, 0.004))
        builder.sphere(f"skin{i}", f"ball{i}", radius=0.1)
    world = World(builder.build(), **options)
    for i in range(count):
        world.q[7 * i + 2] = 0.1 + 0.2 * i
    return world


def test_spheres_stand_on_each_other() -> None:
    """Three in line: at rest for a second, and each carries the weight of those above."""
    world = _row_of_spheres(3, (0, 0, -G), timestep=2e-3)
    start = world.q.copy()
    world.step(steps=500)
    np.testing.assert_allclose(world.q, start, atol=1e-12)
    by_geoms = {c.geoms: c.impulse for c in world.contacts}
    weight = np.array([0, 0, G * 2e-3])
    carried = [
        (("skin0", "floor"), 3 * weight),
        (("skin0", "skin1"), -2 * weight),
        (("skin1", "skin2"), -weight),
    ]
    for geoms, expected in carried:
        flip = geoms not in by_geoms
        impulse = by_geoms[geoms[::-1] if flip else geoms] * (-1 if flip else 1)
        np.testing.assert_allclose(impulse, expected, atol=1e-12)
    certified(world)


def test_inelastic_cradle_moves_as_one() -> None:
    """e = 0, simultaneous: a sphere that hits three touching ones shares its momentum equally."""
    world = _row_of_spheres(4, (0, 0, 0), timestep=1e-3)
    world.q[2] -= 0.005  # the first comes from below, through empty space at the floor
    world.q[2::7] += 1.0
    world.v[2] = 1.0
    world.step(steps=50)
    np.testing.assert_allclose(world.v[2::6], 0.25, atol=1e-12)
    gaps = np.diff(world.q[2::7]) - 0.2
    np.testing.assert_allclose(gaps, 0.0, atol=1e-12)
    certified(world)


def test_oblique_spheres_collide_along_their_centres() -> None:
    """Frictionless, inelastic: the normal velocities become equal, the tangential ones stay."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    for i, mass in enumerate((1.0, 3.0)):
        builder.body(f"ball{i}", joint=free(), mass=mass, inertia=(0.01, 0.01, 0.01))
        builder.sphere(f"skin{i}", f"ball{i}", radius=0.1, friction=0.0)
    world = World(builder.build(), timestep=1e-4)
    n = np.array([0.6, 0.0, 0.8])
    world.q[7:10] = 0.2 * n
    v0, v1 = np.array([1.0, 0.5, 0.7]), np.array([-0.2, 0.1, 0.0])
    world.v[:3], world.v[6:9] = v0, v1
    world.step()
    common = (1.0 * v0 @ n + 3.0 * v1 @ n) / 4.0
    # They go on past each other, and their positions are corrected by how far the line between them
    # has turned; the pair's spin, which keeps its angular momentum, is of that order and no more,
    # and so is what their inner motion loses for it, that no energy is gained.
    past = v0 - v1 - (v0 - v1) @ n * n
    angle = np.linalg.norm(past) * world.timestep / 0.2
    turn = np.linalg.norm(past) * angle**2 / 2
    np.testing.assert_allclose(world.v[:3], v0 + (common - v0 @ n) * n, atol=1e-12 + turn)
    np.testing.assert_allclose(world.v[6:9], v1 + (common - v1 @ n) * n, atol=1e-12 + turn)
    apart = (world.v[:3] - world.v[6:9]) @ n
    assert apart == pytest.approx(0.0, abs=1e-12 + 2 * turn * angle)
    gained = 0.5 * (world.v[:3] @ world.v[:3] + 3 * world.v[6:9] @ world.v[6:9])
    gained -= 0.5 * (v0 @ v0 + 3 * v1 @ v1) - 0.375 * ((v0 - v1) @ n) ** 2  # all that n loses
    assert -3 * turn < gained < 1e-12
    np.testing.assert_allclose(world.v[:3] + 3 * world.v[6:9], v0 + 3 * v1, atol=1e-12)


def test_collision_of_rough_spheres_keeps_momentum() -> None:
    """With friction and spin: linear and angular momentum before equal those after the impulse."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    mass, inertia, radius = (1.0, 3.0), (0.004, 0.03), (0.1, 0.15)
    for i in range(2):
        builder.body(f"ball{i}", joint=free(), mass=mass[i], inertia=[inertia[i]] * 3)
        builder.sphere(f"skin{i}", f"ball{i}", radius=radius[i], friction=0.4)
    world = World(builder.build(), timestep=1e-3)
    rng = np.random.default_rng(5)
    n = np.array([0.6, 0.0, 0.8])
    world.q[7:10] = 0.2505 * n
    world.v[:] = rng.normal(size=12)
    world.v[:3] += 3 * n
    x = [world.q[:3].copy(), world.q[7:10].copy()]

    def momentum() -> np.ndarray:
        p = [mass[i] * world.v[6 * i : 6 * i + 3] for i in range(2)]
        spin = [inertia[i] * world.v[6 * i + 3 : 6 * i + 6] for i in range(2)]  # R = 1 at first
        angular = sum(np.cross(x[i], p[i]) + spin[i] for i in range(2))
        return np.concatenate([p[0] + p[1], angular])

    before, velocity = momentum(), world.v.copy()
    world.step()
    assert np.abs(world.v - velocity).max() > 0.1
    np.testing.assert_allclose(momentum(), before, atol=1e-13)
    certified(world)


def test_bullet_does_not_pass_the_floor() -> None:
    """400 m/s from 1 m, far beyond the reach of a step: still stopped at gap zero."""
    world = ball(radius=0.1, timestep=4e-3)
    world.q[2] = 1.1
    world.v[2] = -400.0
    world.step()
    assert world.q[2] == pytest.approx(0.1, abs=1e-12)
    world.step()
    np.testing.assert_allclose(world.v, 0.0, atol=1e-11)
    certified(world)


@pytest.mark.parametrize("depth", [2e-5, 9e-5, 5e-4])
def test_a_correction_does_not_sink_what_no_turn_can_lift(depth: float) -> None:
    """A ball at the top of its arm, a little too deep: only a far turn moves it, and down.

    Of an arm 1e-3 rad off the vertical the ball can rise by 1e-7 m, and no more.
    """
    length, radius = 0.2, 0.05
    builder = ModelBuilder(gravity=(0, 0, 0))
    builder.half_space("floor", position=(0, 0, length - radius + depth))
    joint = revolute(axis=(0, 1, 0))
    builder.body("arm", joint=joint, mass=1.0, com=(0, 0, length), inertia=(0.01, 0.01, 0.01))
    builder.sphere("ball", "arm", radius=radius, position=(0, 0, length))
    world = World(builder.build(), timestep=2e-3)
    world.q[0] = 1e-3
    for _ in range(20):
        world.step()
        assert length * (1.0 - np.cos(world.q[0])) < 2e-4
    certified(world)


def test_sphere_on_a_carried_half_space() -> None:
    """A box with a plane on its lid carries a sphere: both at rest, the floor carries both."""
    half = (0.2, 0.2, 0.1)
    builder = ModelBuilder(gravity=(0, 0, -G))
    builder.half_space("floor")
    builder.body("box", joint=free(), mass=2.0, inertia=block_inertia(2.0, np.array(half)))
    builder.box("skin", "box", half_size=half)
    builder.half_space("lid", "box", position=(0, 0, 0.1))
    builder.body("ball", joint=free(), mass=1.0, inertia=(0.004, 0.004, 0.004))
    builder.sphere("round", "ball", radius=0.1)
    builder.exclude("lid", "floor").exclude("skin", "round")
    world = World(builder.build(), timestep=2e-3)
    world.q[2], world.q[9] = 0.1, 0.3
    world.q[7:9] = 0.05, -0.03  # off the centre
    start = world.q.copy()
    world.step(steps=500)
    np.testing.assert_allclose(world.q, start, atol=1e-12)
    on_floor = sum(c.impulse for c in world.contacts if c.geoms[1] == "floor")
    on_ball = sum(c.impulse for c in world.contacts if c.geoms == ("round", "lid"))
    np.testing.assert_allclose(on_floor, [0, 0, 3 * G * 2e-3], atol=1e-12)
    np.testing.assert_allclose(on_ball, [0, 0, G * 2e-3], atol=1e-12)
    # Pushed sideways, the box slides; friction drags the sphere along without lifting it.  Its spin
    # and its speed come from one friction force, so it rolls at 2/7 of the plane's speed (at its
    # place: the load off the centre turns the box a little).
    world.v[0] = 1.0
    world.step(steps=30)
    assert world.v[0] > 0.1
    np.testing.assert_allclose(world.v[6], 2 / 7 * (world.v[0] + 0.03 * world.v[5]), rtol=1e-3)
    world.step(steps=70)
    np.testing.assert_allclose(world.q[[2, 9]], [0.1, 0.3], atol=1e-9)
    certified(world)


# Joint limits


def test_pendulum_comes_to_rest_on_its_stop() -> None:
    """A limit is a unilateral row: never beyond it by 1e-9, then pressed against it for ever."""
    builder = ModelBuilder(gravity=(0, 0, -G))
    joint = revolute(axis=(0, 1, 0), limits=(-0.5, 0.7))
    builder.body("arm", joint=joint, mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.05, 0.05))
    world = World(builder.build(), timestep=2e-3)
    for _ in range(1000):
        world.step()
        assert world.q[0] <= 0.7 + 1e-9
    assert world.q[0] == pytest.approx(0.7, abs=1e-12)
    assert world.v[0] == pytest.approx(0.0, abs=1e-12)
    certified(world)


def test_limit_releases_at_once() -> None:
    """Pushed away from its stop, the joint moves as if there were none: v = tau t / I."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    builder.body("arm", joint=revolute(limits=(0.0, 1.0)), mass=1.0, inertia=(1, 1, 2))
    world = World(builder.build(), timestep=1e-3)
    world.step([-3.0], steps=100)
    assert world.q[0] == 0.0
    world.step([3.0], steps=100)
    assert world.v[0] == pytest.approx(3.0 / 2 * 0.1, rel=1e-12)
