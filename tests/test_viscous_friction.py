"""Viscous friction beside Coulomb's, a film of oil where geoms touch: known answers."""

from __future__ import annotations

import copy
import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scenes import G, block_inertia, certified, energy, tilted_gravity
from scipy.spatial.transform import Rotation
from trees import Array

import dynenvs
from dynenvs import inverse_dynamics
from dynenvs.dynamics.jacobians import frames
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model
from dynenvs.model.parts import ModelError, fixed, free, prismatic, revolute
from dynenvs.simulation.world import World
from dynenvs.simulation.worlds import Worlds

MU, C = 0.1, 3.0  # friction [-], [N s/m]
HALF = np.array([0.2, 0.15, 0.05])
MASS, DT = 2.0, 1e-2
BALL = 0.05  # radius [m]
RULES = ("euler", "midpoint")
ALL = [
    {"cone": cone, "integrator": rule, "blocks": blocks}
    for cone, rule, blocks in itertools.product(("exact", "pyramid"), RULES, (1, 3))
]


def sliding(*, blocks: int = 1, friction: float = MU, viscous: float | None = C,
            dt: float = DT, **options: Any) -> World:  # fmt: skip
    """Boxes side by side on an oiled floor."""
    builder = ModelBuilder(**{"gravity": (0.0, 0.0, -G), **options})
    builder.half_space("floor")
    for k in range(blocks):
        builder.body(f"block {k}", joint=free(), mass=MASS, inertia=block_inertia(MASS, HALF))
        builder.box(f"skin {k}", f"block {k}", half_size=HALF)
        builder.pair(f"skin {k}", "floor", friction=friction, viscous=viscous)
    world = World(builder.build(), timestep=dt)
    for k in range(blocks):
        world.q[7 * k : 7 * k + 3] = 0.0, k, HALF[2]
    return world


def slowed(rule: str, v: float, push: float, drag: float = C / MASS, dt: float = DT) -> float:
    """A step of v' = push - drag v, by hand: implicit, or with the mean of both velocities."""
    if rule == "euler":
        return (v + push * dt) / (1.0 + drag * dt)
    return (v * (1.0 - 0.5 * drag * dt) + push * dt) / (1.0 + 0.5 * drag * dt)


@pytest.mark.parametrize("options", ALL)
def test_a_block_slides_to_a_stop(options: dict[str, Any]) -> None:
    """m v' = -mu m g - c v, step by step, until friction holds it."""
    world = sliding(**options)
    heading = np.array([1.0, 0.0])
    world.v.reshape(-1, 6)[:, :2] = heading
    speed = 1.0
    for _ in range(80):
        world.step()
        speed = max(slowed(options["integrator"], speed, -MU * G), 0.0)
        for v in world.v.reshape(-1, 6):
            np.testing.assert_allclose(v[:2], speed * heading, atol=1e-12)
            np.testing.assert_allclose(v[2:], 0.0, atol=1e-12)
    assert speed == 0.0
    assert not world.v.any() or np.abs(world.v).max() < 1e-12
    certified(world)


@pytest.mark.parametrize(("rule", "order"), [("euler", 1), ("midpoint", 2)])
def test_the_error_is_of_the_rule_s_order(rule: str, order: int) -> None:
    """v = (v_0 + s) exp(-c t / m) - s with s = mu m g / c."""
    settled = MU * MASS * G / C
    exact = (1.0 + settled) * math.exp(-C / MASS * 0.4) - settled
    errors = []
    for dt in (0.02, 0.01):
        world = sliding(integrator=rule, dt=dt)
        world.v[0] = 1.0
        world.step(steps=round(0.4 / dt))
        errors.append(abs(world.v[0] - exact))
    assert errors[0] / errors[1] == pytest.approx(2**order, rel=0.05)
    assert errors[1] < (5e-3 if order == 1 else 2e-5)


@pytest.mark.parametrize(
    ("options", "heading"),
    [
        *itertools.product(ALL, [0.0]),
        # Pyramids are off between their directions
        *itertools.product([one for one in ALL if one["cone"] == "exact"], [0.7]),
    ],
)
def test_on_an_oiled_slope_it_ends_at_a_terminal_speed(
    options: dict[str, Any], heading: float
) -> None:
    """(m g sin - mu m g cos) / c, along the slope's fall; below the friction angle it rests."""
    slope = 0.4
    world = sliding(gravity=tilted_gravity(slope, heading), viscous=40.0, **options)
    world.step(steps=200)
    terminal = MASS * G * (math.sin(slope) - MU * math.cos(slope)) / 40.0
    along = np.array([math.cos(heading), math.sin(heading)])
    for v in world.v.reshape(-1, 6):
        np.testing.assert_allclose(v[:2], terminal * along, atol=1e-9)
    certified(world)
    world = sliding(gravity=tilted_gravity(0.9 * math.atan(MU), heading), viscous=40.0, **options)
    start = world.q.copy()
    world.step(steps=100)
    np.testing.assert_allclose(world.q, start, atol=1e-12)


@pytest.mark.parametrize("balls", [1, 2])
@pytest.mark.parametrize("rule", RULES)
def test_a_ball_on_oil_begins_to_roll(rule: str, balls: int) -> None:
    """Without Coulomb's friction: the slip falls by c (1/m + r^2/I), and five sevenths stay."""
    builder = ModelBuilder(gravity=(0, 0, -G), integrator=rule)
    builder.half_space("floor")
    for k in range(balls):
        builder.body(f"{k}", joint=free(), mass=MASS, inertia=(0.4 * MASS * BALL**2,) * 3)
        builder.sphere(f"{k}", f"{k}", radius=BALL)
        builder.pair(f"{k}", "floor", friction=0.0, viscous=C)
    world = World(builder.build(), timestep=DT)
    world.q.reshape(-1, 7)[:, 1], world.q.reshape(-1, 7)[:, 2] = np.arange(balls), BALL
    world.v[0::6] = 1.0
    slip = 1.0
    for _ in range(300):
        world.step()
        slip = slowed(rule, slip, 0.0, 3.5 * C / MASS)
        for v in world.v.reshape(-1, 6):
            assert v[0] - v[4] * BALL == pytest.approx(slip, abs=1e-12)
            assert v[0] == pytest.approx((5.0 + 2.0 * slip) / 7.0, abs=1e-12)
    assert slip < 1e-6
    certified(world)


def guided(shape: str, size: dict[str, Any], ground: str = "half_space", **options: Any) -> World:
    """A slide that moves along x and z and cannot turn, on smooth oil."""
    builder = ModelBuilder(**options)
    if ground == "half_space":
        builder.half_space("ground")
    else:
        builder.box("ground", "world", half_size=(5, 5, 1), position=(0, 0, -1))
    builder.body("rail", joint=prismatic(axis=(1, 0, 0)), mass=0.0)
    builder.body("lift", parent="rail", joint=prismatic(axis=(0, 0, 1)), mass=MASS,
                 inertia=(1, 1, 1))  # fmt: skip
    getattr(builder, shape)("skin", "lift", **size)
    builder.pair("skin", "ground", friction=0.0, viscous=C)
    return World(builder.build(), timestep=DT)


@pytest.mark.parametrize("rule", RULES)
def test_a_film_resists_where_nothing_presses(rule: str) -> None:
    """Without gravity; and no more once they have parted."""
    world = guided("box", {"half_size": HALF}, integrator=rule, gravity=(0, 0, 0))
    world.q[1], world.v[0], speed = HALF[2], 1.0, 1.0
    for _ in range(20):
        world.step()
        speed = slowed(rule, speed, 0.0)
        np.testing.assert_allclose(world.v, (speed, 0.0), atol=1e-12)
    given = np.sum([contact.impulse for contact in world.contacts], axis=0)
    mean = speed if rule == "euler" else 0.5 * (speed + slowed(rule, speed, 0.0, dt=-DT))
    np.testing.assert_allclose(given, (-C * DT * mean, 0.0, 0.0), atol=1e-14)
    certified(world)
    world.q[1] += 1e-5
    kept = world.v.copy()
    world.step(steps=5)
    np.testing.assert_allclose(world.v, kept, atol=1e-12)


def test_a_contact_that_is_first_made_within_a_step_has_none_in_it() -> None:
    """A block that falls: Coulomb's friction of the landing, and from the next step on the film."""
    world = sliding()
    world.q[2] += 1e-3
    world.v[0], world.v[2] = 1.0, -1.0
    world.step()
    assert world.v[2] == pytest.approx(-0.1, abs=1e-9)
    landed = 1.0 - MU * (0.9 + G * DT)
    assert world.v[0] == pytest.approx(landed, abs=1e-9)
    world.step()
    fallen = MU * (0.1 + G * DT)
    assert world.v[0] == pytest.approx((landed - fallen) / (1.0 + C / MASS * DT), abs=1e-9)


SHAPES: dict[str, tuple[dict[str, Any], float]] = {
    "sphere": ({"radius": 0.1}, 0.1),
    "capsule": ({"radius": 0.1, "start": (-0.2, 0, 0), "end": (0.2, 0, 0)}, 0.1),
    "box": ({"half_size": (0.2, 0.1, 0.05)}, 0.05),
    "cylinder": ({"radius": 0.2, "half_length": 0.05}, 0.05),
}


@pytest.mark.parametrize("ground", ["half_space", "box"])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_coefficient_is_the_pair_s_however_many_points_touch(shape: str, ground: str) -> None:
    """A slide that cannot turn: c v, whatever the shape."""
    size, height = SHAPES[shape]
    world = guided(shape, size, ground)
    world.q[1], world.v[0], speed = height, 1.0, 1.0
    for _ in range(10):
        world.step()
        speed = slowed("euler", speed, 0.0)
        assert world.v[0] == pytest.approx(speed, abs=1e-12)
    certified(world)


@pytest.mark.parametrize("rule", RULES)
def test_oil_between_two_blocks_keeps_their_momentum(rule: str) -> None:
    """Two trees: the slip falls by c (1/m + 1/M), and by friction as much for each mass."""
    heavy, smooth = 3.0, {"friction": 0.0}
    builder = ModelBuilder(gravity=(0, 0, -G), integrator=rule)
    builder.half_space("floor")
    for name, mass in (("lower", heavy), ("upper", MASS)):
        builder.body(name, joint=free(), mass=mass, inertia=block_inertia(mass, HALF))
    builder.box("lower", "lower", half_size=(1.0, 1.0, 0.05))
    builder.box("upper", "upper", half_size=HALF)
    builder.pair("lower", "floor", **smooth)
    builder.pair("lower", "upper", friction=MU, viscous=C)
    world = World(builder.build(), timestep=DT)
    world.q[2], world.q[9] = 0.05, 0.15
    world.v[6] = 0.5
    slip, weight = 0.5, 1.0 / MASS + 1.0 / heavy
    for _ in range(40):
        world.step()
        slip = max(slowed(rule, slip, -MU * MASS * G * weight, C * weight), 0.0)
        assert world.v[6] - world.v[0] == pytest.approx(slip, abs=1e-10)
        assert heavy * world.v[0] + MASS * world.v[6] == pytest.approx(MASS * 0.5, abs=1e-10)
    assert slip == 0.0
    certified(world)


@pytest.mark.parametrize("rule", RULES)
def test_on_an_oiled_belt(rule: str) -> None:
    """The film drags towards the belt's speed."""
    builder = ModelBuilder(gravity=(0, 0, -G), integrator=rule)
    builder.half_space("belt", surface_velocity=(0.7, 0.0, 0.0))
    builder.body("block", joint=free(), mass=MASS, inertia=block_inertia(MASS, HALF))
    builder.box("skin", "block", half_size=HALF)
    builder.pair("skin", "belt", friction=0.0, viscous=C)
    world = World(builder.build(), timestep=DT)
    world.q[2] = HALF[2]
    slip = -0.7
    for _ in range(30):
        world.step()
        slip = slowed(rule, slip, 0.0)
        assert world.v[0] - 0.7 == pytest.approx(slip, abs=1e-12)
    certified(world)


@pytest.mark.parametrize("rule", RULES)
def test_an_oiled_plate_that_is_driven_drags_what_stands_on_it(rule: str) -> None:
    """A kinematic body, whose velocity nothing changes."""
    builder = ModelBuilder(gravity=(0, 0, -G), integrator=rule)
    builder.body("plate", joint=prismatic(axis=(1, 0, 0)), mass=1.0, inertia=(1, 1, 1),
                 kinematic=True)  # fmt: skip
    builder.box("plate", "plate", half_size=(2, 2, 0.1), position=(0, 0, -0.1))
    builder.body("block", joint=free(), mass=MASS, inertia=block_inertia(MASS, HALF))
    builder.box("skin", "block", half_size=HALF)
    builder.pair("plate", "skin", friction=0.0, viscous=C)
    world = World(builder.build(), timestep=DT)
    world.q[3], world.v[0], slip = HALF[2], 0.7, 0.7
    for _ in range(20):
        world.step()
        slip = slowed(rule, slip, 0.0)
        assert world.v[0] == 0.7
        assert world.v[0] - world.v[1] == pytest.approx(slip, abs=1e-12)
    certified(world)


def test_a_ball_slides_off_a_ball_and_keeps_its_film() -> None:
    """Gaps over round things open by the square of a step's way; what pressed still touches."""
    builder = ModelBuilder(gravity=(0, 0, -G))
    builder.sphere("hill", "world", radius=1.0)
    builder.body("ball", joint=free(), mass=MASS, inertia=(0.4 * MASS * BALL**2,) * 3)
    builder.sphere("ball", "ball", radius=BALL)
    builder.pair("ball", "hill", friction=0.0, viscous=C)
    world = World(builder.build(), timestep=DT)
    world.q[2], world.v[0] = 1.0 + BALL, 1.0
    for _ in range(20):
        before = world.q.copy()
        world.step()
        (contact,) = world.contacts
        normal = before[:3] / np.linalg.norm(before[:3])
        turn = Rotation.from_quat(np.roll(before[3:], -1)).apply(world.v[3:])
        slip = world.v[:3] + np.cross(turn, -BALL * normal)
        slip -= (slip @ normal) * normal
        given = -contact.impulse  # on the ball, which is B
        along = given - (given @ normal) * normal
        assert given @ normal > 0.0
        np.testing.assert_allclose(along, -C * DT * slip, atol=1e-9)


def law_error(world: World, before: Array) -> float:
    """By how much impulses on balls from the floor miss the law, over a ball's weight in a step.

    before: positions at the start of the step, for whose lowest points the law holds; which of
        them touch has a film
    """
    moved, worst, dt = frames(world.model, before, world.v), 0.0, world.timestep
    for contact in world.contacts:
        k, p = world.model.body_id(contact.bodies[0]), contact.impulse
        u = (moved.linear[k] + np.cross(moved.angular[k], (0.0, 0.0, -BALL)))[:2]
        touches = moved.positions[k, 2] - BALL < 1e-6
        q = p[:2] + (C * dt * u if touches else 0.0)
        worst = max(worst, float(np.linalg.norm(q)) - MU * p[2])
        size = float(np.linalg.norm(u))
        if size > 1e-6:
            worst = max(worst, float(np.linalg.norm(q + MU * p[2] * u / size)))
    return worst / (0.5 * G * dt)


def legged(restitution: float = 0.0, rolling: float = 0.0, dry: float = 0.0, cords: bool = False,
           links: int = 3, trees: int = 1, sphere: bool = False) -> Model:  # fmt: skip
    """Free trunks with tails of balls on hinges, that slide on oil with all that is asked."""
    builder = ModelBuilder(cone="exact")
    builder.half_space("floor", restitution=restitution, rolling_friction=rolling)
    for t in range(trees):
        parent = "world"
        for i in range(links):
            turn = (0, 0, 1) if i % 2 else (0, 1, 0)
            joint = revolute(axis=turn, position=(0.1, 0, 0), friction=dry) if i else free()
            name = f"{t} {i}"
            builder.body(name, parent=parent, joint=joint, mass=0.5, inertia=(2e-3,) * 3)
            if i % max(1, links // 8) == 0:
                builder.sphere(name, name, radius=BALL, rolling_friction=rolling)
                builder.pair(name, "floor", rolling_friction=rolling, friction=MU, viscous=C)
            parent = name
        if cords:
            builder.close(f"loop {t}", f"{t} 0", f"{t} {links - 1}", joint="spherical",
                          position_a=(0.1, 0.1, 0), position_b=(-0.1, 0.1, 0))  # fmt: skip
    return builder.build()


MODELS: dict[str, dict[str, Any]] = {
    "alone": {},
    "several": {"trees": 3},
    "dry joints": {"dry": 0.05},
    "rolling friction": {"rolling": 0.003},
    "rolling friction of several": {"rolling": 0.003, "trees": 2},
    "loops": {"cords": True},
    "loops of several": {"cords": True, "trees": 2},
    "a long chain": {"links": 45},
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", MODELS)
def test_the_law_holds_in_every_model(name: str) -> None:
    """Impulses and velocities of each contact, read from outside, beside the certificate."""
    model = legged(**MODELS[name])
    world = World(model, timestep=2e-3)
    # Slow turns: of trees that whirl steps are cut
    world.v[:] = np.random.default_rng(3).normal(scale=0.02, size=model.nv)
    trees = MODELS[name].get("trees", 1)
    rows = world.q.reshape(trees, -1)
    rows[:, 1], rows[:, 2] = 2.0 * np.arange(trees), BALL
    world.v.reshape(trees, -1)[:, :2] = 0.4, 0.3
    worst, slips = 0.0, 0
    world.step()
    for _ in range(60):
        before = world.q.copy()
        world.step()
        worst = max(worst, law_error(world, before))
        slips += len(world.contacts)
    assert slips > 60
    # Beside dry joints answers are as exact as the certificate asks, not to rounding
    assert worst < (1e-6 if "dry" in name else 1e-9)
    certified(world)


@pytest.mark.thorough
@pytest.mark.parametrize("law", ["newton", "poisson"])
@pytest.mark.parametrize("balls", [1, 2])
def test_an_impact_takes_no_time_for_a_film(law: str, balls: int) -> None:
    """Dropped on smooth oil a ball bounces as without, and keeps its speed to the first order."""
    builder = ModelBuilder(restitution=law, cone="exact", gravity=(0, 0, 0))
    builder.half_space("floor", restitution=0.5)
    for k in range(balls):
        builder.body(f"{k}", joint=free(), mass=1.0, inertia=(4e-3,) * 3)
        builder.sphere(f"{k}", f"{k}", radius=0.1, restitution=0.5)
        builder.pair(f"{k}", "floor", restitution=0.5, friction=0.0, viscous=C)
    world = World(builder.build(), timestep=1e-3)
    world.q.reshape(-1, 7)[:, 1], world.q.reshape(-1, 7)[:, 2] = np.arange(balls), 0.105
    world.v.reshape(-1, 6)[:, 0], world.v.reshape(-1, 6)[:, 2] = 5.0, -1.0
    world.step(steps=20)
    for v in world.v.reshape(-1, 6):
        assert v[2] == pytest.approx(0.5, abs=1e-9)
        # For the rest of the step in which it leaves the floor it has a film, and no longer
        assert 5.0 * (1.0 - C * 3.5 * 1e-3) < v[0] <= 5.0
    certified(world)


@pytest.mark.parametrize("rule", RULES)
def test_in_the_plane(rule: str) -> None:
    builder = ModelBuilder(directions=2, integrator=rule, gravity=(0, 0, -G))
    builder.half_space("floor")
    builder.body("x", joint=prismatic("x", axis=(1, 0, 0)), mass=0.0)
    builder.body("z", parent="x", joint=prismatic("z"), mass=0.0)
    builder.body("block", parent="z", joint=revolute("y", axis=(0, 1, 0)), mass=MASS,
                 inertia=(1, 0.05, 1))  # fmt: skip
    builder.box("skin", "block", half_size=HALF)
    builder.pair("skin", "floor", friction=MU, viscous=C)
    world = World(builder.build(), timestep=DT)
    world.q[1], world.v[0], speed = HALF[2], 1.0, 1.0
    for _ in range(80):
        world.step()
        speed = max(slowed(rule, speed, -MU * G), 0.0)
        np.testing.assert_allclose(world.v, (speed, 0.0, 0.0), atol=1e-12)
    assert speed == 0.0
    certified(world)


def test_beside_two_coefficients_along_two_directions() -> None:
    """Across its grain a block has other friction, and the same oil."""
    world = sliding()
    builder = ModelBuilder(gravity=(0, 0, -G), cone="exact")
    builder.half_space("floor")
    builder.body("block", joint=free(), mass=MASS, inertia=block_inertia(MASS, HALF))
    builder.box("skin", "block", half_size=HALF)
    builder.pair("skin", "floor", friction=(0.5, MU), direction=(1, 0, 0), frame="floor", viscous=C)
    world = World(builder.build(), timestep=DT)
    world.q[2], world.v[1], speed = HALF[2], 1.0, 1.0
    for _ in range(20):
        world.step()
        speed = slowed("euler", speed, -MU * G)
        np.testing.assert_allclose(world.v[:2], (0.0, speed), atol=1e-12)
    certified(world)


def heap(seed: int, cone: str, rule: str) -> World:
    """Up to four boxes, balls and capsules that are thrown together, each pair with oil or not."""
    rng = np.random.default_rng(seed)
    builder = ModelBuilder(cone=cone, integrator=rule, gravity=(0, 0, -G))
    builder.half_space("floor", friction=rng.uniform(0, 1))
    names, count = ["floor"], int(rng.integers(1, 5))
    for k in range(count):
        name, mass = f"{k}", 10 ** rng.uniform(-1, 1)
        builder.body(name, joint=free(), mass=mass, inertia=(4e-3 * mass,) * 3)
        kind = rng.integers(3)
        if kind == 0:
            builder.box(name, name, half_size=(0.1, 0.08, 0.06), friction=rng.uniform(0, 1))
        elif kind == 1:
            builder.sphere(name, name, radius=0.1, friction=rng.uniform(0, 1))
        else:
            builder.capsule(name, name, radius=0.06, start=(-0.1, 0, 0), end=(0.1, 0, 0),
                            friction=rng.uniform(0, 1))  # fmt: skip
        for other in names:
            if rng.random() < 0.8:
                builder.pair(name, other, friction=rng.uniform(0, 1),
                             viscous=10 ** rng.uniform(-2, 6))  # fmt: skip
        names.append(name)
    world = World(builder.build(), timestep=5e-3)
    rows = world.q.reshape(count, 7)
    rows[:, :3] = rng.uniform(-0.1, 0.1, (count, 3))
    rows[:, 2] = 0.15 + 0.22 * np.arange(count)
    rows[:, 3:] = np.roll(Rotation.random(count, random_state=seed).as_quat(), 1, axis=1)
    world.v[:] = rng.normal(size=6 * count)
    return world


@pytest.mark.thorough
@pytest.mark.parametrize(("cone", "rule"), [*itertools.product(("pyramid", "exact"), RULES)])
def test_thrown_together_all_is_certified_and_gains_no_energy(cone: str, rule: str) -> None:
    """Beside what Euler's rule itself gains where bodies turn and fall: less than a ten-thousandth.

    Positions are corrected, which may lift what has sunk; that is counted, too.
    """
    for seed in range(12):
        world = heap(seed, cone, rule)
        before = energy(world)
        for _ in range(100):
            world.step()
            now = energy(world)
            assert now <= before + 1e-4 * max(1.0, abs(before)), (seed, now - before)
            before = now
        certified(world)


@pytest.mark.parametrize("viscous", [1e6, 1e12])
@pytest.mark.parametrize("rule", RULES)
def test_the_stiffest_film_lets_nothing_slide(rule: str, viscous: float) -> None:
    """By Euler's rule; by the midpoint rule the slip is turned round, but does not grow."""
    world = sliding(viscous=viscous, integrator=rule)
    world.v[:2], world.v[5] = (0.12, -0.16), 0.5  # too slow to tip
    world.step()
    if rule == "euler":
        assert np.abs(world.v).max() < 1e-3 * 1e6 / viscous + 1e-9
    most = energy(world)
    world.step(steps=50)
    assert energy(world) <= most + 1e-9
    certified(world)


def test_none_is_none_bit_for_bit() -> None:
    """The model is the same, islands and all; and so is the motion."""
    models = [sliding(blocks=2, viscous=viscous).model.packed.tobytes() for viscous in (None, 0.0)]
    assert models[0] == models[1]
    worlds = [sliding(viscous=viscous) for viscous in (None, 0.0)]
    for world in worlds:
        world.v[:] = np.random.default_rng(1).normal(size=world.model.nv)
        world.step(steps=50)
    np.testing.assert_array_equal(worlds[0].q, worlds[1].q)
    np.testing.assert_array_equal(worlds[0].v, worlds[1].v)
    assert worlds[1].model.header.nviscous == 0


def test_many_contacts_make_more_room_for_themselves() -> None:
    """Twelve blocks have 48 contacts, more than there is room for to begin with."""
    world = sliding(blocks=12, dt=2e-3)
    world.v[0::6] = 1.0
    speed = 1.0
    for _ in range(5):
        world.step()
        speed = slowed("euler", speed, -MU * G, dt=2e-3)
    np.testing.assert_allclose(world.v[0::6], speed, atol=1e-10)
    certified(world)


def test_films_are_part_of_the_state(tmp_path: Path) -> None:
    """Copies, a state that is set, a saved model and a batch go on bit for bit."""
    world = sliding()
    world.v[:] = 1.0, 0.3, 0.0, 0.0, 0.0, 2.0
    world.step(steps=10)
    state, again = world.get_state(), copy.deepcopy(world)
    dynenvs.save(world.model, tmp_path / "model.json")
    other = World(dynenvs.load(tmp_path / "model.json"), timestep=DT)
    other.set_state(state)
    worlds = Worlds(world.model, 2, timestep=DT)
    worlds.set_state(np.repeat(state, 2))
    for one in (world, again, other):
        one.step(steps=20)
    worlds.step(np.zeros((2, 0)), steps=20)
    np.testing.assert_array_equal(again.q, world.q)
    np.testing.assert_array_equal(other.q, world.q)
    np.testing.assert_array_equal(worlds.q[1], world.q)


def test_it_is_explained() -> None:
    told = dynenvs.explain(sliding(blocks=2).model)
    assert not told.islands.taken
    assert "viscous friction is taken out of one matrix" in told.islands.why
    assert "viscous beside it" in told.laws
    assert "viscous" not in str(dynenvs.explain(sliding(blocks=2, viscous=None).model))


def test_torques_for_a_wanted_motion_are_refused() -> None:
    model = sliding().model
    with pytest.raises(ValueError, match="viscous friction of contacts is not available"):
        inverse_dynamics(model, model.neutral(), np.zeros(6), np.zeros(0), 0.01)


@pytest.mark.parametrize("value", [-1.0, math.inf, math.nan])
def test_what_is_wrong_is_named(value: float) -> None:
    builder = ModelBuilder()
    builder.half_space("floor")
    builder.body("block", joint=fixed())
    builder.box("skin", "block", half_size=(1, 1, 1))
    with pytest.raises(ModelError, match="pair 'skin', 'floor': viscous must be finite and not"):
        builder.pair("skin", "floor", viscous=value)
