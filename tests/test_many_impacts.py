"""Impacts in scenes of many bodies: island by island, by the laws of one problem for all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scenes import G
from test_impacts import LAWS, names
from trees import Array

from dynenvs import ModelBuilder, World, free, prismatic
from dynenvs.contact.impact import CUTS, PARTS
from dynenvs.memory.records import HEADER


def answer(world: World) -> Any:
    """ANSWER of the last step."""
    return world._handle.answer[0]


def balls(count: int, *, floor: bool, dense: bool = False, first: int = 0, **law: str) -> World:
    """Balls of many masses, from the first on, in empty space, maybe above a floor.

    dense: in one problem for all
    """
    builder = ModelBuilder(gravity=(0, 0, 0), **law)
    if floor:
        builder.half_space("floor")
    for i in range(count):
        mass = 1.0 + 0.7 * (first + i)
        builder.body(f"b{i}", joint=free(), mass=mass, inertia=[0.004 * mass] * 3)
        builder.sphere(f"g{i}", f"b{i}", radius=0.1, restitution=1.0)
    model = builder.build()
    if dense:
        model.packed.flags.writeable = True
        model.packed[: HEADER.itemsize].view(HEADER)["sparse"] = 0
    return World(model, timestep=1e-9)


def throw(world: World, rng: np.random.Generator) -> None:
    """Random velocities and coefficients; impulses are those of impacts alone."""
    world.v[:] = rng.normal(size=world.v.size)
    world.friction[:] = rng.uniform(0.0, 0.5)
    world.restitution[:] = rng.uniform(0.0, 1.0)


# The same answers, the same conserved quantities


def strike(world: World, rng: np.random.Generator, places: Array) -> Array:
    """Balls side by side on the floor, thrown at random: their velocities after the impacts."""
    world.reset()
    q = world.q.reshape(-1, 7)
    q[:, 0], q[:, 2] = places, 0.1
    throw(world, rng)
    world.step()
    assert world.diagnostics.degraded == 0
    after: Array = world.v.copy()
    return after


@pytest.mark.parametrize("law", LAWS, ids=names)
@pytest.mark.parametrize("count", [2, 4])
def test_an_island_has_the_answers_of_the_dense_solvers(law: dict[str, str], count: int) -> None:
    worlds = [balls(count, floor=True, dense=dense, **law) for dense in (False, True)]
    for seed in range(40):
        ends = [
            strike(world, np.random.default_rng(seed), 0.2 * np.arange(count)) for world in worlds
        ]
        assert np.abs(ends[0]).max() > 0.1
        np.testing.assert_allclose(ends[0], ends[1], atol=1e-9)


@pytest.mark.parametrize("law", LAWS, ids=names)
def test_what_is_apart_bounces_as_if_alone(law: dict[str, str]) -> None:
    """Two pairs of balls, and each pair in a world of its own: the same bits."""
    both = balls(4, floor=True, **law)
    pairs = [balls(2, floor=True, first=first, **law) for first in (0, 2)]
    features = [[int(f["geom_a"]), int(f["geom_b"])] for f in both.model.features]
    rng = np.random.default_rng(4)
    for _ in range(40):
        both.reset()
        q = both.q.reshape(-1, 7)
        q[:, 0], q[:, 2] = (0.0, 0.2, 1.0, 1.2), 0.1
        throw(both, rng)
        for k, pair in enumerate(pairs):
            own = slice(2 * k, 2 * k + 2)
            pair.reset()
            pair.q[:] = q[own].ravel()
            pair.v[:] = both.v.reshape(-1, 6)[own].ravel()
            for f, feature in enumerate(pair.model.features):
                geoms = [int(feature[side]) for side in ("geom_a", "geom_b")]
                same = features.index([g + 2 * k if g else 0 for g in geoms])
                pair.friction[f], pair.restitution[f] = both.friction[same], both.restitution[same]
            pair.step()
        both.step()
        alone = np.concatenate([pair.v for pair in pairs])
        np.testing.assert_allclose(both.v, alone, rtol=1e-13, atol=1e-13)


def momentum(world: World, masses: Array) -> Array:
    """Linear and angular momentum of balls, about the world's origin [N s, N m s], shape (6,)."""
    q, v = world.q.reshape(-1, 7), world.v.reshape(-1, 6)
    linear = masses[:, None] * v[:, :3]
    spin = 0.004 * masses[:, None] * v[:, 3:]  # of balls turned by nothing yet
    return np.concatenate([linear.sum(0), (np.cross(q[:, :3], linear) + spin).sum(0)])


def energies(world: World, masses: Array) -> Array:
    """Kinetic energy of each ball [J]."""
    v = world.v.reshape(-1, 6)
    total: Array = 0.5 * masses * ((v[:, :3] ** 2).sum(1) + 0.004 * (v[:, 3:] ** 2).sum(1))
    return total


@pytest.mark.parametrize("law", LAWS, ids=names)
def test_impacts_of_many_keep_momentum_and_gain_no_energy(law: dict[str, str]) -> None:
    """Three clusters of balls in empty space; each keeps its own momentum, none gains energy."""
    rng = np.random.default_rng(5)
    world = balls(9, floor=False, **law)
    masses = 1.0 + 0.7 * np.arange(9)
    corners = 0.2 * np.array([[0, 0, 0], [1, 0, 0], [0.5, np.sqrt(0.75), 0]])
    for _ in range(40):
        world.reset()
        q = world.q.reshape(-1, 7)
        q[:, :3] = np.concatenate([corners, corners + 5.0, corners + 9.0])
        throw(world, rng)
        first = momentum(world, masses)
        before = energies(world, masses).reshape(3, 3).sum(1)
        world.step()
        after = energies(world, masses).reshape(3, 3).sum(1)
        np.testing.assert_allclose(momentum(world, masses), first, atol=1e-7)  # parted by 1 ns
        assert (after <= before * (1 + 1e-12)).all()
        assert world.diagnostics.degraded == 0


def stools(count: int, rng: np.random.Generator, **law: str) -> World:
    """Bodies of random inertia, each on three feet that touch the floor, in empty space."""
    builder = ModelBuilder(gravity=(0, 0, 0), **law)
    builder.half_space("floor")
    for i in range(count):
        points = rng.normal(size=(5, 3)) * 0.3
        points -= points.mean(axis=0)
        inertia = (points**2).sum() * np.eye(3) - points.T @ points
        builder.body(f"b{i}", joint=free(), mass=5.0, inertia=inertia)
        for k, (x, y) in enumerate(rng.uniform(-0.4, 0.4, (3, 2))):
            builder.point(f"foot{i}.{k}", f"b{i}", (x, y, -0.3), restitution=1.0)
    return World(builder.build(), timestep=1e-9)


@pytest.mark.parametrize("law", LAWS, ids=names)
def test_what_one_body_loses_pays_for_no_others_gain(law: dict[str, str]) -> None:
    """Each of four bodies that meet the floor far apart is guarded alone.

    Guarded together, a body gained energy in one of these 60 scenes by Newton's law.
    """
    rng = np.random.default_rng(8)
    for _ in range(15):
        world = stools(4, rng, **law)
        matrices = [_mass_matrix(body) for body in world.model.bodies[1:]]
        for _ in range(4):
            world.reset()
            q, v = world.q.reshape(-1, 7), world.v.reshape(-1, 6)
            q[:, 0], q[:, 2] = 3.0 * np.arange(4), 0.3
            v[:] = rng.normal(size=(4, 6)) * [1, 1, 1, 3, 3, 3]
            v[:, 2] -= 1.0
            world.friction[:] = rng.uniform(0.0, 1.5)
            world.restitution[:] = rng.uniform(0.0, 1.0)
            before = [0.5 * u @ M @ u for u, M in zip(v, matrices, strict=True)]
            world.step()
            after = [0.5 * u @ M @ u for u, M in zip(v, matrices, strict=True)]
            assert (np.array(after) <= np.array(before) * (1 + 1e-12)).all()
            assert world.diagnostics.degraded == 0


def _mass_matrix(body: Any) -> Array:
    matrix = np.zeros((6, 6))
    matrix[:3, :3] = body.mass * np.eye(3)
    matrix[3:, 3:] = body.inertia
    return matrix


@pytest.mark.parametrize("law", LAWS, ids=names)
def test_two_cradles_swing_side_by_side(law: dict[str, str]) -> None:
    """Three balls each, far apart, hit at different times of the same step."""
    world = balls(6, floor=False, **law)
    world.timestep = 1e-3
    masses = 1.0 + 0.7 * np.arange(6)
    q, v = world.q.reshape(-1, 7), world.v.reshape(-1, 6)
    q[:, 0] = [0, 0.2, 0.4, 0, 0.2, 0.4]
    q[3:, 1] = 5.0
    q[[0, 3], 0] -= 0.0102, 0.0107
    v[[0, 3], 0] = 1.0
    world.step(steps=20)
    for own in (slice(0, 3), slice(3, 6)):
        speeds, m = v[own, 0], masses[own]
        assert m @ speeds == pytest.approx(m[0], abs=1e-12)
        assert m @ speeds**2 == pytest.approx(m[0], rel=1e-9)  # e = 1: none is lost
        assert (np.diff(speeds) > -1e-9).all()
    assert world.diagnostics.degraded == 0


# Many impacts in one step


@pytest.mark.parametrize("count", [6, 300])
def test_of_many_impacts_in_one_step_none_is_lost(count: int) -> None:
    """Balls reach the floor at as many times of one step: each bounces, on it or just above.

    300 of them used to be too many: 101 stopped dead on the floor, and nothing told of it.
    """
    speed, dt, e = 1.0, 2e-3, 0.5
    builder = ModelBuilder(gravity=(0, 0, -G))
    builder.half_space("floor")
    for i in range(count):
        builder.body(f"b{i}", joint=free(), mass=1.0, inertia=[0.004] * 3)
        builder.sphere(f"g{i}", f"b{i}", radius=0.1, restitution=e)
    world = World(builder.build(), timestep=dt)
    q, v = world.q.reshape(-1, 7), world.v.reshape(-1, 6)
    side = np.arange(count)
    times = dt * (side + 0.5) / count
    q[:, 0], q[:, 1] = side % 20, side // 20
    q[:, 2], v[:, 2] = 0.1 + speed * times, -speed
    world.step()
    assert world.diagnostics.degraded == 0
    assert answer(world).cuts <= CUTS + PARTS
    np.testing.assert_allclose(v[:, 2], e * speed, atol=(1 + e) * G * dt)
    exact = 0.1 + e * speed * (dt - times)
    early = speed * dt / PARTS if count > CUTS else 0.0  # on the way down
    assert (q[:, 2] > exact - 2 * G * dt * dt).all()
    assert (q[:, 2] < exact + (1 + e) * early + 2 * G * dt * dt).all()


def bouncing(count: int, **law: str) -> World:
    """Turned boxes that fall on the ground, half a metre apart."""
    rng = np.random.default_rng(0)
    builder = ModelBuilder(**law)
    builder.half_space("ground", friction=0.6, restitution=0.3)
    for i in range(count):
        builder.body(f"b{i}", joint=free(), density=600.0)
        size = (0.05, 0.06, 0.07)
        builder.box(f"g{i}", f"b{i}", half_size=size, friction=0.6, restitution=0.3)
    world = World(builder.build(), timestep=2e-3)
    q, side = world.q.reshape(-1, 7), np.arange(count)
    q[:, 0], q[:, 1], q[:, 2] = (
        0.5 * (side % 10),
        0.5 * (side // 10),
        rng.uniform(0.15, 0.35, count),
    )
    turn = rng.normal(size=(count, 4))
    q[:, 3:] = turn / np.linalg.norm(turn, axis=1)[:, None]
    world.v[:] = (rng.normal(size=(count, 6)) * [0.3, 0.3, 0.3, 1, 1, 1]).ravel()
    return world


@pytest.mark.parametrize("law", [{}, {"restitution": "poisson"}], ids=["newton", "poisson"])
@pytest.mark.thorough
def test_a_hundred_boxes_bounce(law: dict[str, str]) -> None:
    """Problems of one box each are small.  (One for all took 0.8 s a step, and once 220 s.)"""
    world = bouncing(100, **law)
    world.step()
    world.step(steps=250)
    found = world.diagnostics
    assert (found.degraded, found.failed) == (0, 0)
    assert answer(world).cuts <= CUTS + PARTS
    assert found.solves < 3000  # of all that is cut together
    assert found.stages.kept.called > 10 * found.solves  # problems, one a box
    assert found.stages.path.called < 100  # which costs most


@pytest.mark.parametrize("law", LAWS, ids=names)
@pytest.mark.parametrize("count", [1, 2])
def test_a_racket_hits_balls(law: dict[str, str], count: int) -> None:
    """A heavy wall at V strikes balls at rest: (1 + e) V, of one tree (dense) or two (islands)."""
    speed, e = 2.0, 0.6
    builder = ModelBuilder(gravity=(0, 0, 0), **law)
    builder.body("racket", joint=prismatic(axis=(1, 0, 0)), kinematic=True)
    builder.box("face", "racket", half_size=(0.05, 3.0, 3.0), friction=0.5, restitution=e)
    for i in range(count):
        builder.body(f"b{i}", joint=free(), mass=1.0 + i, inertia=[0.004] * 3)
        builder.sphere(f"g{i}", f"b{i}", radius=0.1, friction=0.5, restitution=e)
    world = World(builder.build(), timestep=1e-3)
    balls = world.q[1:].reshape(-1, 7)
    balls[:, 0] = 0.1503 + 0.0004 * np.arange(count)
    balls[:, 1] = np.arange(count)
    world.v[0] = speed
    world.step(steps=3)
    assert world.v[0] == speed
    expected = np.zeros((count, 6))
    expected[:, 0] = (1 + e) * speed
    np.testing.assert_allclose(world.v[1:].reshape(-1, 6), expected, atol=1e-9)
    assert world.diagnostics.degraded == 0
