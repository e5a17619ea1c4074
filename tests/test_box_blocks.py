"""Boxes on block fields: against the boxes that their blocks are, a plane, and an independent sum.

The blocks of `test_block_field.py`, met by boxes.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from solids import Solid, distance, few_of, pose, read, slots
from test_block_field import BREADTH, blocks, over
from trees import Array

from dynenvs.model.builder import ModelBuilder
from dynenvs.model.hulls import prism
from dynenvs.model.parts import Joint, ModelError, free, prismatic
from dynenvs.simulation.world import World

FOOT = (0.11, 0.05, 0.022)
DEEP = 3.0  # [m]


def columns(heights: Array) -> list[Solid]:
    """Every block as a box that reaches far down."""
    n = np.array(heights.shape)
    out = []
    for i, j in np.ndindex(heights.shape):
        x, y = (np.array([i, j]) + 0.5 - 0.5 * n) * BREADTH
        size = (0.5 * BREADTH, 0.5 * BREADTH, 0.5 * DEEP)
        center = np.array([x, y, heights[i, j] - 0.5 * DEEP])
        out.append(Solid("box", size, np.eye(3), center))
    return out


def heap_distance(heights: Array, foot: Solid) -> float:
    """Distance of a box from the nearest column (an independent convex program)."""
    near = [c for c in columns(heights) if np.linalg.norm((c.p - foot.p)[:2]) < 0.6]
    return min(distance(foot, c) for c in near)


@pytest.mark.parametrize("seed", few_of(40, 8))
@pytest.mark.thorough
def test_gap_is_the_distance_to_the_heap(seed: int) -> None:
    """A box let down along a random line to 1 um above the heap has a slot that says so; no slot
    that is near says less."""
    rng = np.random.default_rng(seed)
    heights = blocks(seed)
    R = Rotation.from_rotvec(rng.normal(size=3) * rng.choice([0.0, 0.2, 2.0])).as_matrix()
    place = rng.uniform(-0.55, 0.55, 2)
    low, high = -0.2, 0.6  # one at least of the two is above
    for _ in range(34):
        middle = 0.5 * (low + high)
        gap = heap_distance(heights, Solid("box", FOOT, R, np.array([*place, middle])))
        low, high = (middle, high) if gap < 1e-6 else (low, middle)
    foot = Solid("box", FOOT, R, np.array([*place, high]))
    gap = heap_distance(heights, foot)
    found = read(over(heights, foot), pose(R, foot.p))
    assert found.least == pytest.approx(gap, abs=2e-7)
    np.testing.assert_allclose(np.linalg.norm(found.normals, axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_a_single_column_is_a_box(seed: int) -> None:
    """One block that stands out of a deep plain: the same slots as a free-standing box's."""
    rng = np.random.default_rng(seed)
    heights = np.full((5, 5), -5.0)
    heights[2, 2] = 0.0
    R = Rotation.from_rotvec(rng.normal(size=3)).as_matrix()
    p = np.array([*rng.uniform(-0.24, 0.24, 2), rng.uniform(0.0, 0.1)])
    foot = Solid("box", FOOT, R, p)
    column = Solid("box", (0.5 * BREADTH, 0.5 * BREADTH, 2.5), np.eye(3), np.array([0, 0, -2.5]))
    here, there = read(over(heights, foot), pose(R, p)), slots(foot, column)
    a, b = np.sort(here.gaps), np.sort(there.gaps)
    np.testing.assert_allclose(a[a < 0.1], b[b < 0.1], atol=1e-12)
    assert len(a) > 0


def level(holes: bool) -> Array:
    """Level ground, if wanted with an L of deep blocks in it."""
    heights = np.zeros((8, 8))
    if holes:
        heights[:3, :5] = -0.5
        heights[3:6, :2] = -0.5
    return heights


def slider(heights: Array | None, friction: float) -> World:
    """A box that slides over blocks, or over a plane."""
    builder = ModelBuilder()
    if heights is None:
        builder.half_space("floor", friction=friction)
    else:
        half = (0.5 * BREADTH * heights.shape[0], 0.5 * BREADTH * heights.shape[1])
        builder.block_field("floor", heights=heights, half_size=half, friction=friction)
    builder.body("a", joint=free(), mass=1.0, inertia=(0.003, 0.008, 0.01))
    builder.box("skin", "a", half_size=FOOT, friction=friction)
    return World(builder.build(), timestep=5e-3)


@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("turn", [0.0, 0.4])
def test_joints_between_level_blocks_do_not_show(holes: bool, turn: float) -> None:
    """A box slides over them, and past the corner of a pit, as over a plane."""
    worlds = [slider(level(holes), 0.05), slider(None, 0.05)]
    for world in worlds:
        world.reset([0.14, 0.9, FOOT[2], np.cos(turn), 0, 0, np.sin(turn)])
        world.v[0], world.v[1] = 0.1, -1.6
    for _ in range(180):
        for world in worlds:
            world.step()
        np.testing.assert_allclose(worlds[0].q, worlds[1].q, atol=1e-9)
    assert worlds[0].q[1] < -0.3  # past the joints at 0.6, 0.3, 0 and -0.3


def test_a_riser_stops_a_foot_that_stands_on_the_tread_below() -> None:
    """It slides up to the wall and no further, flat on the ground."""
    heights = np.zeros((6, 6))
    heights[3:] = 0.08
    world = slider(heights, 0.1)
    world.reset([-0.3, 0.05, FOOT[2], 1, 0, 0, 0])
    world.v[0] = 1.5
    for _ in range(200):
        world.step()
        assert read(world.model, np.array(world.q)).least > -1e-7
    assert world.q[0] == pytest.approx(-FOOT[0], abs=1e-6)
    assert world.q[2] == pytest.approx(FOOT[2], abs=1e-9)


@pytest.mark.parametrize("beyond", [0.03, -0.03])
def test_a_foot_over_a_rim_stands_until_its_middle_is_beyond(beyond: float) -> None:
    """With its centre 3 cm before the rim it stands for a second, 3 cm beyond it tips over."""
    heights = np.zeros((6, 6))
    heights[3:] = 0.08
    world = slider(heights, 0.8)
    world.reset([beyond, 0.02, 0.08 + FOOT[2], 1, 0, 0, 0])
    start = np.array(world.q)
    world.step(steps=200)
    if beyond > 0:
        np.testing.assert_allclose(world.q, start, atol=1e-12)
    else:
        assert world.q[2] < start[2] - 0.01


def test_slots_stay_the_same_on_level_ground() -> None:
    """A sliding box keeps the slots by which it stands, over all joints."""
    world = slider(level(False), 0.0)
    world.reset([0.1, 0.8, FOOT[2], 1, 0, 0, 0])
    world.v[1] = -2.0
    seen = set()
    for _ in range(100):
        world.step()
        found = read(world.model, np.array(world.q))
        seen.add(tuple(found.numbers[found.gaps < 1e-6]))
    assert len(seen) == 1


def test_on_a_moving_support() -> None:
    """The field on a body that moves: in its frame nothing changes."""
    heights = blocks(3)
    rng = np.random.default_rng(5)
    builder = ModelBuilder()
    half = 0.5 * BREADTH * heights.shape[0]
    builder.body("b", joint=free(), mass=1.0, inertia=(1.0, 1.0, 1.0))
    builder.block_field("steps", "b", heights=heights, half_size=(half, half))
    builder.body("a", joint=free(), mass=1.0, inertia=(1.0, 1.0, 1.0))
    builder.box("skin", "a", half_size=FOOT)
    model = builder.build()
    R, p = Rotation.from_rotvec([0.3, 0.2, 0.5]).as_matrix(), np.array([0.1, 0.05, 0.28])
    here = read(model, np.concatenate([pose(np.eye(3), np.zeros(3)), pose(R, p)]))
    M, o = Rotation.random(random_state=rng).as_matrix(), rng.normal(size=3)
    there = read(model, np.concatenate([pose(M, o), pose(M @ R, M @ p + o)]))
    np.testing.assert_array_equal(here.numbers, there.numbers)
    np.testing.assert_allclose(here.gaps, there.gaps, atol=1e-12)
    np.testing.assert_allclose(here.normals @ M.T, there.normals, atol=1e-9)


def test_blocks_too_fine_for_a_box_are_refused() -> None:
    """The message says how many there would be."""
    builder = ModelBuilder()
    builder.block_field("steps", heights=np.zeros((100, 100)), half_size=(1.0, 1.0))
    builder.body("a", joint=free(), mass=1.0, inertia=(1.0, 1.0, 1.0))
    builder.box("skin", "a", half_size=FOOT)
    with pytest.raises(ModelError, match="blocks of 'steps' side by side"):
        builder.build()


# Blocks that are no straight stairs: against coal's distances from every block

SIZES = {"box": (0.1, 0.15, 0.25), "hull": (0.1, 0.15, 0.25), "capsule": (0.1, 0.2)}
SIDE, TALL = 0.4, 4.0  # of blocks [m]


def tops(kind: str, rng: np.random.Generator) -> Array:
    """Heights of 4 x 4 blocks [m]."""
    if kind == "L":
        heights = np.zeros((4, 4))
        heights[[0, 0, 1], [0, 1, 1]] = 0.4
        return np.rot90(heights, rng.integers(4)).copy()
    if kind == "any":
        return rng.uniform(0.0, 0.5, (4, 4))
    return rng.integers(0, 2, (4, 4)) * 0.4 if kind == "two" else rng.integers(0, 4, (4, 4)) * 0.1


def heap(coal: Any, heights: Array, solid: Solid) -> float:
    """Signed distance [m] of a solid from the blocks, which go on beyond the border."""
    size = solid.size
    if solid.kind == "capsule":
        ours = coal.Capsule(size[0], 2 * size[1])
    else:
        ours = coal.Box(*(2 * np.array(size)))
    column, at = coal.Box(SIDE, SIDE, TALL), coal.Transform3s(solid.R, solid.p)
    least = np.inf
    for i, j in itertools.product(range(-1, 5), repeat=2):
        top = heights[min(max(i, 0), 3), min(max(j, 0), 3)]
        center = np.array([(i - 1.5) * SIDE, (j - 1.5) * SIDE, top - 0.5 * TALL])
        there, request = coal.Transform3s(np.eye(3), center), coal.DistanceRequest()
        result = coal.DistanceResult()
        least = min(least, coal.distance(ours, at, column, there, request, result))
    return least


def above(heights: Array, kind: str, joint: Joint, R: Array) -> World:
    """A solid over blocks, turned by R in its body."""
    builder = ModelBuilder(timestep=0.005)
    builder.block_field("ground", heights=heights, half_size=(2 * SIDE, 2 * SIDE))
    builder.body("a", joint=joint, mass=1.0, inertia=(0.01, 0.01, 0.01))
    size = SIZES[kind]
    if kind == "capsule":
        builder.capsule("a", "a", start=-size[1] * R[:, 2], end=size[1] * R[:, 2], radius=size[0])
    elif kind == "hull":
        corners = np.array(list(itertools.product((-1, 1), repeat=3))) * size
        builder.convex("a", "a", points=corners @ R.T)
    else:
        builder.box("a", "a", half_size=size, rotation=R)
    return World(builder.build())


@pytest.mark.parametrize("pattern", ["L", "two", "four", "any"])
@pytest.mark.parametrize("kind", sorted(SIZES))
@pytest.mark.thorough
def test_a_solid_let_down_upright_stops_on_the_blocks(kind: str, pattern: str) -> None:
    """Wherever, and however it and the blocks are turned: it ends where it touches the first."""
    coal: Any = pytest.importorskip("coal")
    rng = np.random.default_rng(7)
    for k in range(40):
        heights = tops(pattern, rng)
        R = Rotation.random(random_state=rng).as_matrix()
        if k % 4 == 0:
            R = Rotation.from_euler("z", rng.integers(4) * np.pi / 2).as_matrix()
        x, y = rng.uniform(-0.4, 0.4, 2)
        world = above(heights, kind, prismatic(position=(x, y, 0)), R)
        world.q[0] = 1.0
        world.step(steps=160)
        here = Solid(kind, SIZES[kind], R, np.array([x, y, world.q[0]]))
        assert abs(heap(coal, heights, here)) < 1e-6, k


@pytest.mark.parametrize("pattern", ["L", "two", "four", "any"])
@pytest.mark.parametrize("kind", sorted(SIZES))
@pytest.mark.thorough
def test_a_solid_that_falls_does_not_end_inside(kind: str, pattern: str) -> None:
    """Thrown, it may come to rest in a pit or lean on a wall, but in no block."""
    coal: Any = pytest.importorskip("coal")
    rng = np.random.default_rng(8)
    for k in range(15):
        heights = tops(pattern, rng)
        world = above(heights, kind, free(), np.eye(3))
        turn = Rotation.random(random_state=rng).as_quat(scalar_first=True)
        world.reset([*rng.uniform(-0.4, 0.4, 2), 1.0, *turn], rng.normal(size=6))
        for _ in range(10):
            world.step(steps=30)
            R = Rotation.from_quat(world.q[3:7], scalar_first=True).as_matrix()
            here = Solid(kind, SIZES[kind], R, np.array(world.q[:3]))
            assert heap(coal, heights, here) > -1e-4, k
        assert world.diagnostics.failed == 0


def test_an_edge_in_a_pits_corner_meets_a_wall() -> None:
    """Behind both walls it meets the one in which it is deeper."""
    heights = np.full((4, 4), 0.4)
    heights[1, 1] = 0.0
    edge = 0.05 * np.array([-1.0, -1.0]) / np.sqrt(2)  # of the wedge, upright
    turn = Rotation.from_euler("z", 225, degrees=True).as_matrix()
    builder = ModelBuilder()
    builder.block_field("ground", heights=heights, half_size=(2 * SIDE, 2 * SIDE))
    builder.body("a", joint=free(), mass=1.0, inertia=(0.01, 0.01, 0.01))
    builder.convex("a", "a", points=prism(0.05, 0.05, 3) @ turn.T)
    model = builder.build()
    for deep in ((1e-3, 1e-3), (2e-3, 1e-3), (1e-3, 2e-3)):
        p = np.array([*(-SIDE - np.array(deep) - edge), 0.3])  # the walls are at -SIDE
        found = read(model, pose(np.eye(3), p))
        assert found.least == pytest.approx(-max(deep), abs=1e-9)
