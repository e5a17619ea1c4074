"""Block fields: gaps against the distance to a heap of boxes, level joints, sharp rims."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from solids import Solid, add_solid, few_of, pose, read
from trees import Array

from dynenvs.memory.records import FAR
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model
from dynenvs.model.parts import ModelError, free
from dynenvs.simulation.world import World

BREADTH = 0.3  # of a block [m]
BALL = 0.04


def blocks(seed: int, n: int = 6) -> Array:
    """Tops of blocks, some of them level with each other [m]."""
    return np.random.default_rng(seed).integers(0, 4, (n, n)) * 0.08


def over(heights: Array, solid: Solid, **options: Any) -> Model:
    """One free solid over blocks."""
    builder = ModelBuilder(**options)
    half = (0.5 * BREADTH * heights.shape[0], 0.5 * BREADTH * heights.shape[1])
    builder.block_field("steps", heights=heights, half_size=half)
    builder.body("a", joint=free(), mass=1.0, inertia=(4e-4, 4e-4, 4e-4))
    add_solid(builder, "a", solid)
    return builder.build()


def ball(position: Array | tuple[float, ...]) -> Solid:
    """A ball of 4 cm."""
    return Solid("sphere", (BALL,), np.eye(3), np.array(position))


def heap_distance(heights: Array, p: Array) -> float:
    """Distance of a point outside from the nearest of the boxes that reach far down [m]."""
    n = np.array(heights.shape)
    low = (np.indices(heights.shape).transpose(1, 2, 0) - 0.5 * n) * BREADTH
    low = np.concatenate([low, np.full((*heights.shape, 1), -10.0)], axis=-1)
    high = np.concatenate([low[..., :2] + BREADTH, heights[..., None]], axis=-1)
    return float(np.linalg.norm(p - np.clip(p, low, high), axis=-1).min())


@pytest.mark.parametrize("seed", few_of(60, 15))
def test_gap_is_the_distance_to_the_heap(seed: int) -> None:
    """Wherever a ball is near the surface; every slot is a valid constraint on it."""
    rng = np.random.default_rng(seed)
    heights = blocks(seed)
    p = np.array([*rng.uniform(-0.85, 0.85, 2), 0.0])
    p[2] = rng.uniform(0.0, 0.4)
    while heap_distance(heights, p) == 0.0:
        p[2] += 0.03
    gap = heap_distance(heights, p) - BALL
    found = read(over(heights, ball(p)), pose(np.eye(3), p))
    near = found.gaps < 0.5 * BREADTH - BALL  # further off there may be other blocks
    assert (found.gaps > gap - 1e-12).all()
    if gap < 0.5 * BREADTH - BALL:
        assert found.least == pytest.approx(gap, abs=1e-12)
    np.testing.assert_allclose(np.linalg.norm(found.normals[near], axis=1), 1.0, atol=1e-12)


def test_joints_between_level_blocks_do_not_show() -> None:
    """A ball that slides over them, without friction, keeps its velocity; on a rough one it rolls
    as on a plane."""
    for friction, speed in ((0.0, 2.0), (0.8, 1.0)):
        builder = ModelBuilder()
        half = 3 * BREADTH
        builder.block_field("steps", heights=np.zeros((6, 6)), half_size=(half, half),
                            friction=friction)  # fmt: skip
        builder.body("a", joint=free(), mass=1.0, inertia=(4e-4, 4e-4, 4e-4))
        builder.sphere("skin", "a", radius=BALL, friction=friction)
        world = World(builder.build(), timestep=5e-3)
        world.reset([-0.8, -0.7, BALL, 1, 0, 0, 0])
        world.v[0], world.v[1] = speed, 0.3 * speed
        if friction:
            world.v[3], world.v[4] = -0.3 * speed / BALL, speed / BALL
        world.step(steps=150)
        assert world.v[0] == pytest.approx(speed, rel=1e-9)
        assert world.v[1] == pytest.approx(0.3 * speed, rel=1e-9)
        assert world.q[2] == pytest.approx(BALL, abs=1e-9)


def test_a_wall_stops_a_ball_and_a_rim_lets_it_roll_off() -> None:
    """It never sinks in by more than the solver's rounding, and lands on the next block below."""
    heights = np.zeros((6, 6))
    heights[3:] = 0.08
    model = over(heights, ball((0, 0, 0)))
    world = World(model, timestep=5e-3)
    world.reset([-0.4, 0.05, BALL, 1, 0, 0, 0])
    world.v[0], world.v[4] = 1.0, 1.0 / BALL
    for _ in range(200):
        world.step()
        assert least(world) > -1e-6
    assert world.q[0] <= -BALL + 1e-6  # the wall stands at x = 0
    world.reset([0.2, 0.05, 0.08 + BALL, 1, 0, 0, 0])
    world.v[0], world.v[4] = -0.5, -0.5 / BALL
    for _ in range(200):
        world.step()
        assert least(world) > -1e-5
    assert world.q[0] < -0.1
    assert world.q[2] == pytest.approx(BALL, abs=1e-6)


def least(world: World) -> float:
    """The least gap [m]."""
    found = read(world.model, np.array(world.q))
    return found.least


def test_a_capsule_across_a_rim_touches_where_it_passes_it() -> None:
    """A capsule that lies half on a step: at its end, and at the rim."""
    heights = np.zeros((4, 4))
    heights[2:] = 0.08
    R = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])  # along x
    p = np.array([0.03, 0.1, 0.08 + 0.05 + 0.01])
    found = read(over(heights, Solid("capsule", (0.05, 0.15), R, p)), pose(R, p))
    near = found.gaps < 0.05
    np.testing.assert_allclose(found.gaps[near], 0.01, atol=1e-12)
    np.testing.assert_allclose(np.sort(found.points[near, 0]), [0.0, 0.18], atol=1e-12)


def test_what_it_refuses() -> None:
    """Balls that are broader than a block, and heights that are no field."""
    heights = blocks(0)
    with pytest.raises(ModelError, match="half the breadth of the blocks"):
        over(heights, Solid("sphere", (0.2,), np.eye(3), np.zeros(3)))
    with pytest.raises(ModelError, match="at least 2"):
        ModelBuilder().block_field("steps", heights=np.zeros(3), half_size=(1, 1))


def test_beyond_the_border_the_outermost_blocks_go_on() -> None:
    """Far outside, the ground is as high as the nearest block."""
    heights = blocks(1)
    p = np.array([5.0, 0.1, heights[-1, 3] + 0.1])
    found = read(over(heights, ball(p)), pose(np.eye(3), p))
    assert found.least == pytest.approx(0.1 - BALL, abs=1e-12)
    assert (found.gaps < FAR).all()
