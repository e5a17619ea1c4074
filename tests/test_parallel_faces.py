"""Hulls with parallel faces and edges: let down on each other, and against coal's distances.

What is parallel is so to rounding alone, which must not tell what touches.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from solids import few_of, pose, read
from trees import Array

from dynenvs.model.builder import ModelBuilder
from dynenvs.model.hulls import prism
from dynenvs.model.model import Model
from dynenvs.model.parts import free
from dynenvs.simulation.world import World

CUBE = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))


def add(builder: ModelBuilder, name: str, kind: str, size: float) -> None:
    """A free cube as a box or as a hull; half edges [m]."""
    mass = 4e3 * size**3
    builder.body(name, joint=free(), mass=mass, inertia=(2 / 3 * mass * size**2,) * 3)
    if kind == "hull":
        builder.convex(name, name, points=size * CUBE)
    else:
        builder.box(name, name, half_size=(size, size, size))


@pytest.mark.parametrize("size", [0.1, pytest.param(1e-3, marks=pytest.mark.thorough), 10.0])
@pytest.mark.parametrize("kinds", list(itertools.product(("box", "hull"), repeat=2)))
def test_a_cube_let_down_on_another_rests_on_it(kinds: tuple[str, str], size: float) -> None:
    """A hundred random places, a hair above: none falls through."""
    builder = ModelBuilder(timestep=0.002).half_space("floor")
    for name, kind in zip(("lower", "upper"), kinds, strict=True):
        add(builder, name, kind, size)
    world, rng = World(builder.build()), np.random.default_rng(0)
    for _ in range(100):
        x, y = rng.uniform(-0.9, 0.9, 2) * size
        world.reset([0, 0, size, 1, 0, 0, 0, x, y, 3 * size + 1e-5, 1, 0, 0, 0])
        world.step(steps=10)
        assert world.q[9] == pytest.approx(3 * size, abs=1e-9 * max(size, 1.0))


@pytest.mark.parametrize("sides", range(3, 33))
def test_a_prism_rests_on_its_like(sides: int) -> None:
    """Straight above, aside, and turned."""
    points = prism(0.1, 0.05, sides)
    builder = ModelBuilder(timestep=0.002).half_space("floor")
    for name in ("lower", "upper"):
        builder.body(name, joint=free(), mass=1.0, inertia=(3e-3, 3e-3, 5e-3))
        builder.convex(name, name, points=points)
    world, rng = World(builder.build()), np.random.default_rng(sides)
    for k in range(13):
        x, y = rng.uniform(-0.03, 0.03, 2) * (k % 3 > 0)
        turn = rng.uniform(0.0, np.pi) * (k % 2)
        world.reset([0, 0, 0.05, 1, 0, 0, 0, x, y, 0.15, np.cos(turn), 0, 0, np.sin(turn)])
        world.step(steps=30)
        assert world.q[9] == pytest.approx(0.15, abs=1e-9)


def test_a_stack_of_discs_stays() -> None:
    """Six of 32 sides: none has moved after 300 steps."""
    builder = ModelBuilder(timestep=0.002).half_space("floor")
    for k in range(6):
        builder.body(f"disc {k}", joint=free(), mass=1.0, inertia=(3e-3, 3e-3, 5e-3))
        builder.convex(f"disc {k}", f"disc {k}", points=prism(0.1, 0.02, 32))
    world = World(builder.build())
    start = np.concatenate([[0, 0, 0.02 + 0.04 * k, 1, 0, 0, 0] for k in range(6)])
    world.reset(start)
    for _ in range(300):
        world.step()
        np.testing.assert_allclose(world.q, start, atol=1e-9)


# Against coal

QUARTERS = [turn.as_matrix() for turn in Rotation.create_group("O")]
KINDS = ("sphere", "capsule", "box", "cube", "prism", "gem")
PAIRS = [
    kinds for kinds in itertools.combinations_with_replacement(KINDS, 2) if kinds[1] != "sphere"
]
APART, DEEP = 1e-6, 1e-5  # how far shapes as large as one are apart, and then overlap


class Shape(NamedTuple):
    """A shape about as large as one, and coal's of it."""

    kind: str
    size: Any
    theirs: Any

    def add(self, builder: ModelBuilder, body: str, scale: float) -> None:
        """As the skin of a free body, larger by `scale`."""
        builder.body(body, joint=free(), mass=1.0, inertia=(1.0, 1.0, 1.0))
        size = scale * np.array(self.size)
        if self.kind == "sphere":
            builder.sphere(body, body, radius=size)
        elif self.kind == "capsule":
            ends = {"start": (0, 0, -size[1]), "end": (0, 0, size[1])}
            builder.capsule(body, body, radius=size[0], **ends)
        elif self.kind == "box":
            builder.box(body, body, half_size=size)
        else:
            builder.convex(body, body, points=size)


def shape(coal: Any, kind: str, rng: np.random.Generator) -> Shape:
    """A random one."""
    half = np.ones(3) if rng.random() < 0.3 else rng.uniform(0.3, 1.0, 3)
    if kind == "sphere":
        return Shape(kind, half[0], coal.Sphere(half[0]))
    if kind == "capsule":
        return Shape(kind, (0.3, half[2]), coal.Capsule(0.3, 2 * half[2]))
    if kind == "box":
        return Shape(kind, half, coal.Box(*(2 * half)))
    points = CUBE * half
    if kind == "prism":
        points = prism(half[0], half[1], int(rng.integers(3, 33)))
    elif kind == "gem":
        points = rng.normal(size=(14, 3)) * half / 2
    points = points - points.mean(axis=0)
    corners = coal.StdVec_Vec3s()
    for point in points:
        corners.append(point)
    return Shape(kind, points, coal.ConvexBase.convexHull(corners, True, "Qt"))


class Placed(NamedTuple):
    """Two shapes, the second one at the origin; lengths in units of `scale` [m]."""

    coal: Any
    a: Shape
    b: Shape
    model: Model
    scale: float
    Ra: Array
    Rb: Array

    def distance(self, p: Array) -> tuple[float, Array]:
        """Signed distance with A at p, and the unit normal from A to B, by coal."""
        coal = self.coal
        request, result = coal.DistanceRequest(), coal.DistanceResult()
        request.gjk_tolerance = request.epa_tolerance = 1e-12
        one, other = coal.Transform3s(self.Ra, p), coal.Transform3s(self.Rb, np.zeros(3))
        gap = coal.distance(self.a.theirs, one, self.b.theirs, other, request, result)
        return gap, np.array(result.normal)

    def least(self, p: Array) -> float:
        """The least gap of ours."""
        q = np.concatenate([pose(self.Ra, self.scale * p), pose(self.Rb, np.zeros(3))])
        return read(self.model, q).least / self.scale

    def approach(self, start: Array, way: Array) -> Array:
        """Where A, coming from beyond `start` against `way`, is APART from B."""
        low, high = 0.0, 5.0
        for _ in range(70):
            middle = 0.5 * (low + high)
            near = self.distance(start + middle * way)[0] < APART
            low, high = (middle, high) if near else (low, middle)
        return start + high * way


def turns(rng: np.random.Generator) -> tuple[bool, Array, Array]:
    """Two orientations: at random (True), or with parallel axes, to rounding or a little off."""
    Rb = Rotation.random(random_state=rng).as_matrix()
    how = rng.integers(4)
    if how == 0:
        return True, Rotation.random(random_state=rng).as_matrix(), Rb
    Ra = Rb @ QUARTERS[rng.integers(24)]
    if how == 1:  # one axis in common
        axis = np.eye(3)[rng.integers(3)]
        Ra = Rb @ Rotation.from_rotvec(rng.uniform(0, 7) * axis).as_matrix() @ Ra.T @ Rb
    elif how == 2:
        bend = rng.normal(size=3) * 10.0 ** rng.integers(-16, -5)
        Ra = Rotation.from_rotvec(bend).as_matrix() @ Ra
    return False, Ra, Rb


@pytest.mark.parametrize("scale", [1e-4, 0.1, 1e3])
@pytest.mark.parametrize("kinds", PAIRS)
@pytest.mark.parametrize("seed", few_of(40, 1))
@pytest.mark.thorough
def test_nothing_is_missed_and_nothing_made_up(
    kinds: tuple[str, str], scale: float, seed: int
) -> None:
    """A millionth of their size apart no slot says that they overlap, and where nothing is
    parallel one tells the distance; moved into each other, one says how deep."""
    coal: Any = pytest.importorskip("coal")
    rng = np.random.default_rng(seed)
    compared = 0
    for k in range(100):
        if k % 20 == 0:
            a, b = (shape(coal, kind, rng) for kind in kinds)
            builder = ModelBuilder(gravity=(0, 0, 0))
            a.add(builder, "a", scale)
            b.add(builder, "b", scale)
            model = builder.build()
        general, Ra, Rb = turns(rng)
        placed = Placed(coal, a, b, model, scale, Ra, Rb)
        way = Rb[:, rng.integers(3)] if rng.random() < 0.5 else rng.normal(size=3)
        way /= np.linalg.norm(way)
        start = rng.uniform(-1, 1, 3) * rng.choice([0.0, 0.5, 1.0])
        if rng.random() < 0.3:  # flush
            start = Rb @ np.round(rng.uniform(-2, 2, 3))
        start -= (start @ way) * way
        if placed.distance(start)[0] > 0.0:
            continue  # it would pass by
        p = placed.approach(start, way)
        gap, normal = placed.distance(p)
        inside = p + (gap + DEEP) * normal
        depth = -placed.distance(inside)[0]
        if not abs(gap - APART) < 1e-8 or not abs(depth - DEEP) < 1e-7:
            continue  # coal contradicts itself, or a way across a corner leads past it
        compared += 1
        least = placed.least(p)
        assert least > -1e-8, k
        if general:
            assert least == pytest.approx(gap, abs=1e-7), k
        assert -2.0 * depth < placed.least(inside) < -0.3 * depth, k
    assert compared > 40
