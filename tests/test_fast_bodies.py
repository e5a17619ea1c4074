"""What is fast does not pass through what is thin: it is stopped by it within the step."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from solids import Solid, add_solid, few_of, pose

from dynenvs.model.builder import ModelBuilder
from dynenvs.model.hulls import prism
from dynenvs.model.parts import free
from dynenvs.simulation.world import World

BULLETS = {
    "sphere": Solid("sphere", (0.03,), np.eye(3), np.zeros(3)),
    "capsule": Solid("capsule", (0.02, 0.05), np.eye(3), np.zeros(3)),
    "box": Solid("box", (0.05, 0.04, 0.03), np.eye(3), np.zeros(3)),
}


def shot(bullet: Solid, target: str, at: list[float], v: list[float], dt: float = 1e-3) -> World:
    """A bullet that flies at a target, whose upper side is at z = 0, in empty space."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    if target == "plate":
        builder.box("target", "world", half_size=(1, 1, 0.05), position=(0, 0, -0.05))
    elif target == "field":
        builder.height_field("target", heights=np.zeros((9, 9)), half_size=(1, 1))
    elif target == "blocks":
        builder.block_field("target", heights=np.zeros((9, 9)), half_size=(1, 1))
    else:
        builder.sphere("target", "world", radius=0.03, position=(0, 0, -0.03))
    builder.body("bullet", joint=free(), density=1000.0)
    add_solid(builder, "bullet", bullet)
    world = World(builder.build(), timestep=dt)
    world.reset(pose(np.eye(3), np.array(at)))
    world.v[:3] = v
    return world


@pytest.mark.parametrize("speed", [30.0, 300.0])
@pytest.mark.parametrize("target", ["plate", "field", "blocks"])
@pytest.mark.parametrize("kind", sorted(BULLETS))
def test_it_is_stopped_by_a_plate(kind: str, target: str, speed: float) -> None:
    """From many heights above it, straight and aslant: its centre is never below."""
    for height in np.linspace(0.11, 0.11 + 1e-3 * speed, 16):
        for aslant in (0.0, 0.4):
            start, v = [0.02, 0.01, height], [aslant * speed, 0, -speed]
            world = shot(BULLETS[kind], target, start, v)
            for _ in range(int(2 * (height / (speed * world.timestep) + 1))):
                world.step()
                assert world.q[2] > 0.0, (height, aslant, world.q, world.v)
            assert world.v[2] > -0.1 * speed
            assert world.diagnostics.failed == 0


def test_two_bullets_meet() -> None:
    """At 300 m/s each: momentum and energy are those of an inelastic blow."""
    for gap in np.linspace(0.05, 1.3, 6):
        builder = ModelBuilder(gravity=(0, 0, 0))
        for name in "ab":
            builder.body(name, joint=free(), mass=1.0, inertia=(0.01, 0.01, 0.01))
            builder.sphere(f"skin {name}", name, radius=0.05)
        world = World(builder.build(), timestep=1e-3)
        world.q[7] = gap + 0.1
        world.v[0], world.v[6] = 300.0, -300.0
        world.step(steps=5)
        np.testing.assert_allclose(world.v, 0.0, atol=1e-9)


def test_what_flies_past_is_not_touched() -> None:
    """A ball that passes a sphere at a distance keeps its velocity to the last bit."""
    world = shot(BULLETS["sphere"], "sphere", [-0.5, 0.0, 0.1], [300.0, 0.0, 0.0])
    world.step(steps=10)
    assert world.v.tolist() == [300.0, 0.0, 0.0, 0.0, 0.0, 0.0]


# Random shots

CUBE = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
KINDS = ("sphere", "capsule", "box", "hull", "gem")
WALLS = ("box", "hull", "prism", "moving", "layers", "bricks")
BREADTH = 3.0  # of a wall, half [m]


def wall(builder: ModelBuilder, kind: str, half: float) -> None:
    """A wall across z, `half` thick to each side: fixed, or a free body of ten tonnes.

    Layers are flush one behind the other, bricks side by side.
    """
    owner = "world"
    if kind == "moving":
        owner = "wall"
        builder.body("wall", joint=free(), mass=1e4, inertia=(1e5, 1e5, 1e5))
    if kind == "layers":
        for k, z in enumerate((-1.0, 0.0, 1.0)):
            thin = half / 3.0
            builder.box(f"skin {k}", "world", half_size=(BREADTH, BREADTH, thin),
                        position=(0, 0, 2.0 * z * thin))  # fmt: skip
    elif kind == "bricks":
        side = BREADTH / 4.0
        for i, j in itertools.product(range(-2, 2), repeat=2):
            builder.box(f"skin {i} {j}", "world", half_size=(side, side, half),
                        position=(side * (2 * i + 1), side * (2 * j + 1), 0))  # fmt: skip
    elif kind in ("box", "moving"):
        builder.box("skin", owner, half_size=(BREADTH, BREADTH, half))
    elif kind == "hull":
        builder.convex("skin", owner, points=CUBE * (BREADTH, BREADTH, half))
    else:
        builder.convex("skin", owner, points=prism(BREADTH, half, 12))


def bullet(builder: ModelBuilder, kind: str, r: float, rng: np.random.Generator) -> None:
    """A free body of 1 kg, about as large as r."""
    builder.body("bullet", joint=free(), mass=1.0, inertia=(r * r,) * 3)
    if kind == "sphere":
        builder.sphere("bullet", "bullet", radius=r)
    elif kind == "capsule":
        builder.capsule("bullet", "bullet", radius=r, start=(0, 0, -r), end=(0, 0, r))
    elif kind == "box":
        builder.box("bullet", "bullet", half_size=r * rng.uniform(0.2, 1.0, 3))
    elif kind == "hull":
        builder.convex("bullet", "bullet", points=CUBE * r * rng.uniform(0.2, 1.0, 3))
    else:
        points = rng.normal(size=(10, 3))
        points *= r / np.linalg.norm(points, axis=1)[:, None]
        builder.convex("bullet", "bullet", points=points - points.mean(axis=0))


@pytest.mark.thorough
@pytest.mark.parametrize("seed", few_of(100, 3))
def test_no_random_shot_passes_a_wall(seed: int) -> None:
    """A hundred of all shapes and sizes, still or tumbling, 5 to 300 m/s, at walls of 3 to 50 mm,
    in steps of 2 ms, 5 ms and a sixtieth of a second, by both rules."""
    for k in range(100 * seed, 100 * seed + 100):
        rng = np.random.default_rng(k)
        kind, against = KINDS[rng.integers(5)], WALLS[rng.integers(6)]
        rule, dt = ("euler", "midpoint")[rng.integers(2)], (2e-3, 5e-3, 1 / 60)[rng.integers(3)]
        half, r = 1.5e-3 * (50 / 3) ** rng.random(), 5e-3 * 60 ** rng.random()
        speed = 5.0 * 60 ** rng.random()
        builder = ModelBuilder(gravity=(0, 0, 0), timestep=dt, integrator=rule)
        wall(builder, against, half)
        bullet(builder, kind, r, rng)
        world = World(builder.build())
        way = rng.normal(size=3)
        way[2] = -abs(way[2]) - 0.5
        way /= np.linalg.norm(way)
        start = -way * (rng.uniform(0.05, 1.0) + 2.5 * r - half / way[2])
        start[2] = max(start[2], 2.5 * r + half + 0.01)
        world.q[-7:-4] = start
        world.q[-4:] = Rotation.random(random_state=rng).as_quat()[[3, 0, 1, 2]]
        world.v[-6:-3] = speed * way
        world.v[-3:] = rng.normal(size=3) * rng.choice([0.0, 10.0, 100.0])
        for _ in range(min(int(2.5 / speed / dt) + 4, 400)):
            world.step()
            x, y, z = world.q[-7:-4]
            level = world.q[2] if against == "moving" else 0.0
            assert z > level or max(abs(x), abs(y)) > BREADTH - r - 0.05, k
        assert world.diagnostics.degraded == 0, k


@pytest.mark.parametrize("rule", ["euler", "midpoint"])
def test_what_is_struck_passes_nothing_either(rule: str) -> None:
    """A heavy ball at 100 m/s knocks a light one, at rest till then, at a plate of 1 cm."""
    for gap in np.linspace(0.02, 1.0, 12):
        builder = ModelBuilder(gravity=(0, 0, 0), timestep=5e-3, integrator=rule)
        builder.box("plate", "world", half_size=(2, 2, 0.005))
        for name, mass in (("light", 0.01), ("heavy", 10.0)):
            builder.body(name, joint=free(), mass=mass, inertia=(1e-3 * mass,) * 3)
            builder.sphere(name, name, radius=0.03)
        world = World(builder.build())
        world.q[2], world.q[9] = 0.04 + gap, 0.3 + gap
        world.v[8] = -100.0
        for _ in range(6):
            world.step()
            assert world.q[2] > 0.0, gap
            assert world.q[9] > 0.0, gap


@pytest.mark.parametrize("ground", ["plane", "box", "hull"])
@pytest.mark.parametrize("kind", ["ball", "box", "hull"])
@pytest.mark.parametrize("dt", [2e-3, 1 / 60])
def test_a_drop_from_ten_metres_bounces(kind: str, ground: str, dt: float) -> None:
    """It loses at most g dt of its speed a bounce: 14 m/s, however far the ground is seen."""
    builder = ModelBuilder(timestep=dt)
    if ground == "plane":
        builder.half_space("ground", restitution=1.0)
    elif ground == "box":
        half = (2, 2, 0.05)
        builder.box("ground", "world", half_size=half, position=(0, 0, -0.05), restitution=1.0)
    else:
        points = CUBE * (2, 2, 0.05) - (0, 0, 0.05)
        builder.convex("ground", "world", points=points, restitution=1.0)
    builder.body("it", joint=free(), mass=1.0, inertia=(0.01,) * 3)
    if kind == "ball":
        builder.sphere("it", "it", radius=0.1)
    elif kind == "box":
        builder.box("it", "it", half_size=(0.1, 0.1, 0.1))
    else:
        builder.convex("it", "it", points=0.1 * CUBE)
    world = World(builder.build())
    world.q[2] = 10.1
    bounces = 0
    for _ in range(int(10.0 / dt)):
        before = -world.v[2]
        world.step()
        if before > 1.0 and world.v[2] > 0.0:
            bounces += 1
            assert abs(world.v[2] - before) <= 9.81 * dt + 1e-9
    assert bounces >= 3
    assert world.q[2] > 0.1 - 1e-9
