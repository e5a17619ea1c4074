"""Impacts with restitution: Newton's and Poisson's laws, simultaneous and one by one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scenes import G, block, certified, energy
from trees import Array

from dynenvs.model.builder import ModelBuilder
from dynenvs.model.parts import ModelError, free
from dynenvs.simulation.world import World

LAWS: list[dict[str, str]] = [
    {},
    {"restitution": "poisson"},
    {"cone": "exact"},
    {"impacts": "sequential"},
    {"restitution": "poisson", "impacts": "sequential"},
    {"restitution": "poisson", "cone": "exact"},
    {"restitution": "poisson", "cone": "exact", "impacts": "sequential"},
]


def names(law: dict[str, str]) -> str:
    """A test's name of some laws."""
    return "-".join(law.values()) or "default"


def spheres(count: int, e: float, *, masses: tuple[float, ...] | None = None, **law: str) -> World:
    """A row along x in empty space; the first is 10.5 mm before the others, which touch."""
    builder = ModelBuilder(gravity=(0, 0, 0), **law)
    for i in range(count):
        mass = masses[i] if masses else 1.0
        builder.body(f"ball{i}", joint=free(), mass=mass, inertia=[0.004 * mass] * 3)
        builder.sphere(f"skin{i}", f"ball{i}", radius=0.1, restitution=e)
    world = World(builder.build(), timestep=1e-3)
    world.q[::7] = 0.2 * np.arange(count)
    world.q[0] -= 0.0105
    world.v[0] = 1.0
    return world


# Cradles


@pytest.mark.parametrize("law", LAWS, ids=names)
def test_newtons_cradle_has_two_answers(law: dict[str, str]) -> None:
    """All at once (-1/3, 2/3, 2/3); one by one the last alone goes on."""
    world = spheres(3, 1.0, **law)
    world.step(steps=30)
    one_by_one = law.get("impacts") == "sequential"
    expected = (0.0, 0.0, 1.0) if one_by_one else (-1 / 3, 2 / 3, 2 / 3)
    np.testing.assert_allclose(world.v[::6], expected, atol=1e-12)
    # The impact lies within a step: after it each has gone its own way at once
    left = world.time - 0.0105
    start = np.array([0.0, 0.2, 0.4])
    np.testing.assert_allclose(world.q[::7], start + left * np.array(expected), atol=1e-7)
    certified(world)


@pytest.mark.parametrize("law", LAWS, ids=names)
@pytest.mark.parametrize("e", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("ratio", [0.1, 1.0, 50.0])
def test_two_spheres_meet(law: dict[str, str], e: float, ratio: float) -> None:
    """v1' = (m1 - e m2) / (m1 + m2), v2' = (1 + e) m1 / (m1 + m2)."""
    world = spheres(2, e, masses=(1.0, ratio), **law)
    world.step(steps=20)
    total = 1.0 + ratio
    expected = (1.0 - e * ratio) / total, (1.0 + e) / total
    np.testing.assert_allclose(world.v[::6], expected, atol=1e-12)
    certified(world)


@pytest.mark.parametrize("law", LAWS, ids=names)
def test_a_long_cradle_keeps_what_must_be_kept(law: dict[str, str]) -> None:
    """Ten spheres, e = 0.7, one of them heavy: momentum to roundoff, no energy gained."""
    world = spheres(10, 0.7, masses=(1.0, 2.0, 1.0, 30.0, *[1.0] * 6), **law)
    masses = np.array([1.0, 2.0, 1.0, 30.0, *[1.0] * 6])
    world.step(steps=60)
    assert masses @ world.v[::6] == pytest.approx(1.0, abs=1e-12)
    assert energy(world) <= 0.5 * (1 + 1e-12)
    assert (np.diff(world.v[::6]) > -1e-8).all()  # none runs into the next
    certified(world)


# Bouncing


@pytest.mark.parametrize("law", LAWS, ids=names)
def test_a_ball_bounces_to_e_squared_of_its_height(law: dict[str, str]) -> None:
    """h_k = e^2k h, first order in dt: half the error with half the step; at rest at last."""
    e, height = 0.8, 0.5
    errors = []
    for dt in (1e-3, 5e-4):
        builder = ModelBuilder(gravity=(0, 0, -G), **law)
        builder.half_space("floor")
        builder.body("ball", joint=free(), mass=0.7, inertia=(0.003, 0.003, 0.003))
        builder.sphere("skin", "ball", radius=0.1, restitution=e)
        world = World(builder.build(), timestep=dt)
        world.q[2] = 0.1 + height
        path = []
        for _ in range(round(3.5 / dt)):
            world.step()
            path.append(world.q[2] - 0.1)
        peaks = [b for a, b, c in zip(path, path[1:], path[2:], strict=False) if b > a and b >= c]
        expected = height * e ** (2 * np.arange(1, 5))
        errors.append(np.abs(peaks[:4] - expected).max())
        assert min(path) > -1e-12
        assert abs(path[-1]) < 1e-12
        assert abs(world.v).max() < 1e-12
        certified(world)
    assert errors[0] < 5e-3
    assert errors[1] == pytest.approx(errors[0] / 2, rel=0.2)


def test_a_bullet_returns() -> None:
    """100 m/s, e = 1, 0.3 m away: located within the step, the way back included."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    builder.half_space("floor")
    builder.body("ball", joint=free(), mass=1.0, inertia=(0.004, 0.004, 0.004))
    builder.sphere("skin", "ball", radius=0.1, restitution=1.0)
    world = World(builder.build(), timestep=4e-3)
    world.q[2], world.v[2] = 0.4, -100.0
    world.step()
    assert world.v[2] == pytest.approx(100.0, rel=1e-12)
    assert world.q[2] == pytest.approx(0.1 + 100.0 * (4e-3 - 0.3 / 100.0), abs=1e-7)
    certified(world)


@pytest.mark.parametrize("law", LAWS[:3], ids=names)
def test_a_flat_box_bounces_without_turning(law: dict[str, str]) -> None:
    """Four corners at once: straight up again at e times the speed."""
    builder = ModelBuilder(gravity=(0, 0, -G), **law)
    builder.half_space("floor")
    builder.body("box", joint=free(), mass=2.0, inertia=(0.01, 0.02, 0.03))
    builder.box("skin", "box", half_size=(0.1, 0.12, 0.05), restitution=0.5)
    world = World(builder.build(), timestep=1e-3)
    world.q[2], world.v[2] = 0.051, -1.0
    world.step(steps=2)
    after = 0.5 * (1.0 + G * 1e-3)  # two steps of gravity: one before the impact, one after
    assert world.v[2] == pytest.approx(after, abs=1.2 * G * 1e-3)
    np.testing.assert_allclose(world.v[[0, 1, 3, 4, 5]], 0.0, atol=1e-12)
    certified(world)


def test_the_step_length_does_not_change_a_stack_at_rest() -> None:
    """Two boxes with restitution stand as if they had none: nothing approaches."""
    builder = ModelBuilder(gravity=(0, 0, -G))
    builder.half_space("floor")
    for i in range(2):
        builder.body(f"box{i}", joint=free(), mass=1.0, inertia=(0.01, 0.01, 0.01))
        builder.box(f"skin{i}", f"box{i}", half_size=(0.1, 0.1, 0.05), restitution=0.6)
    world = World(builder.build(), timestep=2e-3)
    world.q[2], world.q[9] = 0.05, 0.15
    start = world.q.copy()
    world.step(steps=500)
    np.testing.assert_allclose(world.q, start, atol=1e-12)
    certified(world)


# Energy


def feet(rng: np.random.Generator, count: int, **law: str) -> World:
    """A body of random inertia on `count` feet that touch the floor, in empty space."""
    builder = ModelBuilder(gravity=(0, 0, 0), **law)
    builder.half_space("floor")
    points = rng.normal(size=(5, 3)) * 0.3
    points -= points.mean(axis=0)
    inertia = (points**2).sum() * np.eye(3) - points.T @ points
    builder.body("body", joint=free(), mass=5.0, inertia=inertia)
    height = rng.uniform(0.05, 0.6)
    for i, (x, y) in enumerate(rng.uniform(-0.4, 0.4, (count, 2))):
        builder.point(f"foot{i}", "body", (x, y, -height), restitution=1.0)
    world = World(builder.build(), timestep=1e-9)
    world.reset([0, 0, height, 1, 0, 0, 0])
    return world


def random_impacts(law: dict[str, str], models: int, each: int, seed: int) -> tuple[int, int]:
    """(impacts, those not certified); asserts that no energy is gained and nothing sinks."""
    rng = np.random.default_rng(seed)
    impacts = uncertain = 0
    for k in range(models):
        count = 1 + k % 4
        world = feet(rng, count, **law)
        fresh = world.get_state()
        mass = _mass_matrix(world)
        for _ in range(each):
            world.set_state(fresh)
            world.v[:] = rng.normal(size=6) * [1, 1, 1, 3, 3, 3]
            world.v[2] -= 1.0
            world.friction[:] = rng.uniform(0.0, 1.5)
            world.restitution[:] = rng.uniform(0.0, 1.0)
            before, v = 0.5 * world.v @ mass @ world.v, world.v.copy()
            world.step()
            after = 0.5 * world.v @ mass @ world.v
            impacts += bool(np.abs(world.v - v).max() > 1e-6)
            uncertain += world.diagnostics.degraded > 0
            assert after <= before * (1 + 1e-12), (law, count, after / before - 1)
    return impacts, uncertain


def _mass_matrix(world: World) -> Array:
    """Of the body at rest in its place: its axes are the world's."""
    body = world.model.bodies[1]
    matrix = np.zeros((6, 6))
    matrix[:3, :3] = body.mass * np.eye(3)
    matrix[3:, 3:] = body.inertia
    return matrix


@pytest.mark.parametrize("law", LAWS, ids=names)
def test_random_impacts_gain_no_energy(law: dict[str, str]) -> None:
    """On one to four feet, any friction to 1.5, any restitution."""
    impacts, uncertain = random_impacts(law, 12, 25, 1)
    assert impacts > 250
    assert uncertain == 0


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS, ids=names)
def test_ten_thousand_random_impacts_gain_no_energy(law: dict[str, str]) -> None:
    """The same, 10,000 of each law."""
    impacts, uncertain = random_impacts(law, 200, 60, 2)
    assert impacts >= 10_000
    assert uncertain == 0


def _total(world: World) -> Array:
    """Sum of the impulses on each feature [N s], shape (nf, 3)."""
    total: Array = world.get_state()["memory"]["total"]
    return total


@pytest.mark.parametrize("cone", ["pyramid", "exact"])
@pytest.mark.parametrize("friction", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(10))
def test_poissons_law(seed: int, friction: float, cone: str) -> None:
    """One contact: at least (1 + e) times the impulse of compression; Newton's if frictionless."""
    results: dict[str, Any] = {}
    e = 0.6
    for law in ("newton", "poisson", "inelastic"):
        rng = np.random.default_rng(seed)
        world = feet(rng, 1, restitution="newton" if law == "inelastic" else law, cone=cone)
        world.v[:] = rng.normal(size=6)
        world.v[2] -= 2.0
        world.friction[:] = friction
        world.restitution[:] = 0.0 if law == "inelastic" else e
        world.step()
        results[law] = _total(world)[0, 2], world.v.copy()
        certified(world)
    compressed = results["inelastic"][0]
    assert compressed > 0.0
    # 1e-9: the inelastic step of 1 ns sees roundoff of the gap, 1e-17 m, as 1e-8 m/s
    assert results["poisson"][0] >= (1 + e) * compressed * (1 - 1e-9)
    if friction == 0.0:
        np.testing.assert_allclose(results["poisson"][1], results["newton"][1], atol=1e-12)


def _oblique(rng: np.random.Generator, heading: float, **law: str) -> tuple[World, Array]:
    """A body on one foot, the whole scene turned by `heading`; its turn about the vertical."""
    c, s = math.cos(heading), math.sin(heading)
    turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    world = feet(rng, 1, **law)
    world.q[:] = *(turn @ world.q[:3]), math.cos(heading / 2), 0.0, 0.0, math.sin(heading / 2)
    v = rng.normal(size=6)
    v[2] -= 2.0
    world.v[:] = *(turn @ v[:3]), *v[3:]  # the spin in body axes
    world.friction[:] = 0.2
    world.restitution[:] = rng.uniform(0.2, 1.0)
    return world, turn


@pytest.mark.parametrize("seed", range(10))
def test_poissons_impact_prefers_no_direction(seed: int) -> None:
    """On the exact cone it is the same from every heading; friction within the cone."""
    expected = None
    for heading in (0.0, 0.4, 1.1, 2.5):
        rng = np.random.default_rng(seed)
        world, turn = _oblique(rng, heading, restitution="poisson", cone="exact")
        world.step()
        certified(world)
        impulse = turn.T @ _total(world)[0]
        assert np.hypot(*impulse[:2]) <= 0.2 * impulse[2] * (1 + 1e-12)
        found = np.concatenate([impulse, turn.T @ world.v[:3], world.v[3:]])
        expected = found if expected is None else expected
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_many_directions_come_to_the_exact_cones_impact() -> None:
    """Poisson's two LCPs on ever more directions tend to the two problems on the exact cone."""
    changes = []
    for directions in (8, 64):
        worst = 0.0
        for seed in range(8):
            ends = []
            for law in ({"cone": "exact"}, {"directions": directions}):
                rng = np.random.default_rng(seed)
                world = feet(rng, 3, restitution="poisson", **law)  # type: ignore[arg-type]
                world.v[:] = rng.normal(size=6) * [1, 1, 1, 3, 3, 3]
                world.v[2] -= 1.0
                world.friction[:] = 0.3
                world.restitution[:] = 0.5
                world.step()
                certified(world)
                ends.append(world.v.copy())
            worst = max(worst, float(np.abs(ends[0] - ends[1]).max()))
        changes.append(worst)
    # Of first order in the angle between directions, along one of which a contact slips
    assert changes[1] < 0.25 * changes[0]


# Input


def test_bad_laws_are_named() -> None:
    """The errors list the choices, or say what cannot go together."""
    with pytest.raises(ModelError, match=r"restitution 'glue'.*newton, poisson"):
        ModelBuilder(restitution="glue")
    with pytest.raises(ModelError, match=r"impacts 'never'.*simultaneous, sequential"):
        ModelBuilder(impacts="never")
    with pytest.raises(ModelError, match=r"restitution 1.2 would gain energy"):
        spheres(2, 1.2)


def test_restitution_can_be_changed_where_something_bounces() -> None:
    """A model without any has no part of the step that asks for it: its view is not writable."""
    world = spheres(2, 0.5)
    world.restitution[:] = 1.0
    world.step(steps=20)
    np.testing.assert_allclose(world.v[::6], (0.0, 1.0), atol=1e-12)
    with pytest.raises(ValueError, match="read-only"):
        block().restitution[:] = 0.5
    assert math.isclose(block().restitution.max(), 0.0)
