"""Convex solids: their hulls, how they meet the ground, and what they refuse."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import nnls
from scipy.spatial.transform import Rotation
from solids import Slots, few_of, pose, read
from trees import Array, close

import dynenvs
from dynenvs import ModelBuilder, ModelError, World, free
from dynenvs.model.hulls import fewer_corners, hull_corners, prism
from dynenvs.model.model import Model
from dynenvs.model.polyhedra import polyhedron

HALF = np.array([0.3, 0.2, 0.1])
CORNERS = HALF * np.array(list(itertools.product((-1.0, 1.0), repeat=3)))


def falling(convex: bool) -> Model:
    """A box over a floor, as a box or as the hull of its corners and of points within."""
    builder = ModelBuilder(friction="minimum")
    builder.half_space("floor", friction=0.5)
    builder.body("block", joint=free(), mass=6.0, inertia=(0.1, 0.2, 0.26))
    if convex:
        rng = np.random.default_rng(0)
        points = np.concatenate([rng.uniform(-HALF, HALF, (50, 3)), CORNERS])
        builder.convex("skin", "block", points=points)
    else:
        builder.box("skin", "block", half_size=HALF)
    return builder.build()


def test_a_hull_meets_the_ground_as_the_box_that_it_is() -> None:
    """Thrown, it tumbles, slides and comes to rest in the same way."""
    ends = []
    for convex in (False, True):
        world = World(falling(convex), timestep=0.005)
        turn = Rotation.from_euler("xyz", [0.4, 0.3, 0.2]).as_quat(scalar_first=True)
        world.reset([0.0, 0.0, 0.6, *turn], [1.0, 0.5, 0.0, 1.0, -2.0, 0.5])
        for _ in range(60):
            world.step(np.zeros(0))
        ends.append(np.concatenate([world.q, world.v]))
        for _ in range(400):
            world.step(np.zeros(0))
        assert np.abs(world.v).max() < 1e-9
        lowest = (dynenvs.frames(world.model, world.q).rotations[1] @ CORNERS.T)[2].min()
        assert world.q[2] + lowest == pytest.approx(0.0, abs=1e-6)
    close(ends[1], ends[0], 1e-9)


def test_hulls_keep_their_corners_alone() -> None:
    rng = np.random.default_rng(1)
    inside = rng.uniform(-0.99, 0.99, (200, 3)) * HALF
    corners = hull_corners(np.concatenate([inside, CORNERS]), "block")
    assert (corners == CORNERS).all()
    for points in (CORNERS[:3], CORNERS[[0, 1, 2, 3]], np.zeros((5, 3)), np.full((5, 3), np.nan)):
        with pytest.raises(ModelError, match="block: points must be"):
            hull_corners(points, "block")


def test_fewer_corners_say_how_much_is_missing() -> None:
    """Of a ball of 2,000 corners; every point of it is within that of the smaller hull."""
    rng = np.random.default_rng(2)
    points = rng.normal(size=(2000, 3))
    points /= np.linalg.norm(points, axis=1)[:, None]
    kept, missing = fewer_corners(points, 64)
    assert len(kept) == 64
    looks = rng.normal(size=(500, 3))
    looks /= np.linalg.norm(looks, axis=1)[:, None]
    lost = (points @ looks.T).max(axis=0) - (kept @ looks.T).max(axis=0)
    assert 0.5 * missing < lost.max() < 1.1 * missing
    assert fewer_corners(CORNERS, 64) == (pytest.approx(CORNERS), 0.0)


def test_a_hull_weighs_what_its_box_weighs() -> None:
    turn, com = Rotation.from_euler("xyz", [0.3, 0.5, 0.7]).as_matrix(), np.array([0.1, 0.2, 0.3])
    found = []
    for convex in (False, True):
        builder = ModelBuilder().body("block", joint=free(), density=700.0)
        if convex:
            builder.convex("skin", "block", points=CORNERS @ turn.T + com)
        else:
            builder.box("skin", "block", half_size=HALF, rotation=turn, position=com)
        found.append(builder.build().bodies[1])
    close(found[1].mass, found[0].mass, 1e-12)
    close(found[1].com, found[0].com, 1e-12)
    close(found[1].inertia, found[0].inertia, 1e-12)


def test_meshes_of_files_stand_on_planes() -> None:
    """At the height at which MuJoCo's distance to the plane is zero."""
    mujoco = pytest.importorskip("mujoco")
    xml = """<mujoco><asset><mesh name="gem" vertex="0 0 0  .3 0 0  0 .4 0  0 0 .5  .2 .2 .2"/>
    </asset><worldbody><geom name="floor" type="plane" size="1 1 1"/>
    <body name="a"><freejoint/><geom name="gem" type="mesh" mesh="gem"/></body>
    </worldbody></mujoco>"""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = dynenvs.load(xml)
    theirs = mujoco.MjModel.from_xml_string(xml)
    data, line = mujoco.MjData(theirs), np.zeros(6)
    features = ours.features
    rng = np.random.default_rng(3)
    for _ in range(20):
        q = np.array([0.0, 0.0, 2.0, *_quaternion(rng)])
        data.qpos[:] = q
        mujoco.mj_forward(theirs, data)
        found = dynenvs.frames(ours, q)
        g = ours.geom_id("gem")
        body = features["body_a"][features["geom_a"] == g]
        centers = features["center"][features["geom_a"] == g]
        heights = (found.rotations[body[0]] @ centers.T)[2] + found.positions[body[0], 2]
        gem, floor = theirs.geom("gem").id, theirs.geom("floor").id
        gap = mujoco.mj_geomDistance(theirs, data, gem, floor, 10.0, line)
        assert heights.min() == pytest.approx(gap, abs=1e-6)  # their vertices are of float32


def _quaternion(rng: np.random.Generator) -> np.ndarray:
    four = rng.normal(size=4)
    return four / np.linalg.norm(four)


# Against other solids


class Shape(NamedTuple):
    """A rounded hull at a pose: core points in its own axes, and the radius around them."""

    kind: str
    points: Array
    radius: float
    R: Array
    p: Array

    @property
    def core(self) -> Array:
        """Its core points in the world."""
        return self.points @ self.R.T + self.p


def shape(rng: np.random.Generator, kind: str) -> Shape:
    """A random shape about the origin."""
    R = Rotation.from_rotvec(2.0 * rng.normal(size=3)).as_matrix()
    size = rng.uniform(0.1, 0.4, 3)
    points = {
        "sphere": np.zeros((1, 3)),
        "capsule": np.array([[0.0, 0.0, -size[1]], [0.0, 0.0, size[1]]]),
        "box": size * np.array(list(itertools.product((-1.0, 1.0), repeat=3))),
        "prism": prism(size[0], size[1], 12),
        "gem": rng.normal(size=(16, 3)) * size / 2,
    }[kind]
    points = points - points.mean(axis=0)
    radius = size[0] if kind in ("sphere", "capsule") else 0.0
    return Shape(kind, points, radius, R, np.zeros(3))


def distance(a: Shape, b: Shape) -> float:
    """Distance of shapes that are apart: the point of their difference nearest to the origin.

    By non-negative least squares over its corners (Wolfe 1976), which knows nothing of faces.
    """
    corners = (a.core[:, None] - b.core[None]).reshape(-1, 3).T
    scale = np.linalg.norm(corners, axis=0).max()
    for turn in range(5):
        weights, _ = nnls(np.vstack([corners / scale, np.ones(corners.shape[1])]), [0, 0, 0, 1])
        nearest = corners @ weights / weights.sum()
        if (nearest @ corners).min() > nearest @ nearest - 1e-12 * scale**2:
            break  # no corner lies before the plane across it
        corners = np.roll(corners, 7 * turn + 1, axis=1)  # scipy's code loses its way at times
    else:
        raise AssertionError("no distance found")
    return float(np.linalg.norm(nearest)) - a.radius - b.radius


def approach(a: Shape, b: Shape, rng: np.random.Generator, gap: float) -> Shape:
    """a, moved up to b from a random side."""
    way = rng.normal(size=3)
    way /= np.linalg.norm(way)
    low, high = 0.0, 3.0
    assert distance(a._replace(p=high * way), b) > gap
    for _ in range(60):
        middle = 0.5 * (low + high)
        near = distance(a._replace(p=middle * way), b) < gap
        low, high = (middle, high) if near else (low, middle)
    return a._replace(p=high * way)


def pair(a: Shape, b: Shape) -> Model:
    """Two free bodies, each with one of the shapes."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    for body, solid in (("a", a), ("b", b)):
        builder.body(body, joint=free(), mass=1.0, inertia=(1.0, 1.0, 1.0))
        skin = f"skin of {body}"
        if solid.kind == "sphere":
            builder.sphere(skin, body, radius=solid.radius)
        elif solid.kind == "capsule":
            start, end = solid.points
            builder.capsule(skin, body, start=start, end=end, radius=solid.radius)
        elif solid.kind == "box":
            builder.box(skin, body, half_size=solid.points.max(axis=0))
        else:
            builder.convex(skin, body, points=solid.points)
    return builder.build()


def found(a: Shape, b: Shape) -> Slots:
    """The slots of two shapes."""
    return read(pair(a, b), np.concatenate([pose(a.R, a.p), pose(b.R, b.p)]))


KINDS = [(other, "gem") for other in ("sphere", "capsule", "box", "gem", "prism")]
OTHERS = [("prism", "prism"), ("capsule", "prism"), ("box", "box")]


@pytest.mark.parametrize("kinds", KINDS + OTHERS)
@pytest.mark.parametrize("seed", few_of(40, 6))
def test_the_least_gap_is_the_distance(kinds: tuple[str, str], seed: int) -> None:
    """A micrometre apart, by faces, edges or corners, as the convex program says."""
    rng = np.random.default_rng(seed)
    a, b = (shape(rng, kind) for kind in kinds)
    a = approach(a, b, rng, 1e-6)
    here = found(a, b)
    k = int(here.gaps.argmin())
    assert here.gaps[k] == pytest.approx(distance(a, b), abs=2e-9)
    # The contact's point lies on the one of them, and so far from the other
    point = Shape("point", here.points[k : k + 1], 0.0, np.eye(3), np.zeros(3))
    assert sorted(distance(point, c) for c in (a, b)) == pytest.approx([0, 1e-6], abs=1e-8)
    other = found(b, a)
    assert other.least == pytest.approx(here.least, abs=2e-9)


@pytest.mark.parametrize("kinds", KINDS)
@pytest.mark.parametrize("seed", few_of(30, 3))
def test_what_overlaps_is_parted_by_its_normal(kinds: tuple[str, str], seed: int) -> None:
    """Moved along the deepest contact's normal by its depth, the solids touch just so."""
    rng = np.random.default_rng(seed)
    a, b = (shape(rng, kind) for kind in kinds)
    a = approach(a, b, rng, 1e-9)
    inward = found(a, b)
    n = inward.normals[int(inward.gaps.argmin())]
    a = a._replace(p=a.p - 1e-3 * n)
    deep = found(a, b)
    k = int(deep.gaps.argmin())
    assert -1.1e-3 < deep.gaps[k] < -1e-4
    assert distance(a._replace(p=a.p - (deep.gaps[k] - 1e-6) * deep.normals[k]), b) < 2e-6


GROUNDS = ("box", "hull", "blocks", "stairs", "hills")


def thrown(ground: str, add: Callable[[ModelBuilder], object]) -> World:
    """A solid thrown onto a ground, after 80 steps."""
    builder = ModelBuilder(friction="minimum")
    if ground == "box":
        builder.box("floor", "world", half_size=(3, 3, 1), friction=0.5, position=(0, 0, -1))
    elif ground == "hull":
        table = np.array([3, 3, 1]) * np.array(list(itertools.product((-1, 1), repeat=3)))
        builder.convex("floor", "world", points=table - [0, 0, 1], friction=0.5)
    else:
        field = builder.height_field if ground == "hills" else builder.block_field
        heights = (
            0.05 * np.indices((12, 12)).sum(axis=0) if ground == "stairs" else np.zeros((6, 6))
        )
        field("floor", heights=heights, half_size=(4.0, 4.0), friction=0.5, position=(0, 0, -0.1))
    builder.body("block", joint=free(), mass=3.0, inertia=(0.03, 0.04, 0.05))
    add(builder)
    world = World(builder.build(), timestep=0.005)
    world.reset([0.2, 0.1, 1.2, 1, 0, 0, 0], [1.0, 0.5, 0.0, 1.0, -2.0, 0.5])
    for _ in range(120):
        world.step(np.zeros(0))
    return world


@pytest.mark.parametrize("ground", GROUNDS)
def test_a_hull_meets_every_ground_as_the_box_that_it_is(ground: str) -> None:
    ends = []
    for add in (
        lambda b: b.box("skin", "block", half_size=HALF),
        lambda b: b.convex("skin", "block", points=CORNERS),
    ):
        world = thrown(ground, add)
        ends.append(np.concatenate([world.q, world.v]))
    close(ends[1], ends[0], 1e-7)


@pytest.mark.parametrize("ground", GROUNDS)
def test_a_gem_comes_to_rest_on_every_ground(ground: str) -> None:
    points = shape(np.random.default_rng(4), "gem").points
    world = thrown(ground, lambda b: b.convex("skin", "block", points=points))
    for _ in range(600):
        world.step(np.zeros(0))
    assert np.abs(world.v).max() < 1e-9
    assert world.diagnostics.degraded == world.diagnostics.failed == 0
    gaps = read(world.model, world.q).gaps
    assert (np.abs(gaps) < 1e-6).sum() >= 3, "it stands on three corners"
    assert gaps.min() > -1e-6


@pytest.mark.parametrize("kinds", [("gem", "gem"), ("gem", "box"), ("capsule", "gem")])
def test_hulls_that_collide_keep_momentum(kinds: tuple[str, str]) -> None:
    rng = np.random.default_rng(5)
    a, b = (shape(rng, kind) for kind in kinds)
    model = pair(a, b)
    world = World(model, timestep=0.002)
    world.reset(
        np.concatenate([pose(a.R, np.array([-1.0, 0, 0])), pose(b.R, np.zeros(3))]),
        [3.0, 0.1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    )
    for _ in range(400):
        world.step(np.zeros(0))
    v = world.v.reshape(2, 6)
    assert abs(v[1, 0]) > 0.1, "they met"
    close(v[:, :3].sum(axis=0), [3.0, 0.1, 0.0], 1e-12)
    assert world.diagnostics.degraded == world.diagnostics.failed == 0


def test_faces_of_hulls() -> None:
    """Triangles in one plane are one face; every edge has two."""
    cube = polyhedron(CORNERS, "cube")
    assert (len(cube.normals), len(cube.edges), cube.sides) == (6, 12, 4)
    can = polyhedron(prism(0.1, 0.3, 32), "can")
    assert (len(can.normals), len(can.edges), can.sides) == (34, 96, 32)
    rough = prism(0.1, 0.3, 32).astype(np.float32).astype(float)  # as MuJoCo keeps meshes
    assert len(polyhedron(rough, "can").normals) == 34
    for own, n in zip(can.loops, can.normals, strict=True):
        points = can.corners[own]
        around = np.cross(np.roll(points, -1, 0) - points, np.roll(points, -2, 0) - points)
        assert (around @ n > 0).all(), "counter-clockwise"


# Eight corners with nearly straight edges and nearly flat faces, as a mesh of a gripper has them
NEARLY_FLAT = np.array(
    [
        [0.36756286, 0.3803255, 0.60929322],
        [0.36918461, -0.3787508, 0.6092937],
        [0.36796829, 0.19055691, 0.60929334],
        [0.36837372, 0.00078735, 0.60929346],
        [-0.36832932, 0.30498004, 0.49665338],
        [-0.36836383, 0.32411301, 0.50434238],
        [-0.36784211, -0.31787992, -0.52257991],
        [-0.36697558, -0.32568347, 0.50434273],
    ]
)


def test_a_hull_with_nearly_flat_faces_closes() -> None:
    """Its faces are Qhull's own triangles; it holds all corners, and stands on the ground."""
    found = polyhedron(NEARLY_FLAT, "gripper")
    assert len(found.corners) - len(found.edges) + len(found.normals) == 2
    assert (NEARLY_FLAT @ found.normals.T - found.levels).max() < 1e-12
    for own, n in zip(found.loops, found.normals, strict=True):
        a, b, c = found.corners[own]
        assert np.cross(b - a, c - a) @ n > 0.0, "counter-clockwise"
    builder = ModelBuilder()
    builder.half_space("floor")
    builder.body("gripper", joint=free(), density=500.0)
    builder.convex("gripper", "gripper", points=NEARLY_FLAT)
    world = World(builder.build(), timestep=0.005)
    world.q[2] = 0.8
    world.step(steps=400)
    assert world.certificate().deepest < 1e-9
    assert world.diagnostics.failed == 0
