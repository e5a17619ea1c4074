"""Ground and light in pictures of worlds: terrain as it is touched, shadows as they fall."""

from __future__ import annotations

from typing import Any

import numpy as np
from pictures import GREEN, RED, SIZE, where

import dynenvs
from dynenvs.contact.detection.geometry.height_field import surface
from dynenvs.envs.render.pieces import BLOCK, PIECE, Pieces, collected
from dynenvs.envs.render.shadow import SUN, light, open_light, visibility
from dynenvs.envs.render.terrain import Surface
from dynenvs.memory.layout import open_model
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.parts import free, prismatic
from dynenvs.simulation.world import World


def test_terrain_is_drawn_where_it_is_touched() -> None:
    """The net's corners lie on the surface of contact, between the array's points as well."""
    heights = np.random.default_rng(0).uniform(0, 0.5, (6, 9))
    builder = ModelBuilder(max_contacts=9)
    builder.height_field("hills", heights=heights, half_size=(2.0, 3.0), position=(1, 0, 0.2))
    builder.body("ball", joint=free(), density=1000.0).sphere("skin", "ball", radius=0.05)
    model = builder.build()
    points, normals = Surface(model.geoms[0]).near(np.zeros(3), np.eye(3), np.zeros(3))
    assert len(points) > 60  # finer than the array
    pairs, packed_heights = (w := open_model(model.packed)).pairs, w.heights
    near = points[::7, ::5].reshape(-1, 3)
    touched = [surface(pairs[0], packed_heights, x - 1.0, y)[0] + 0.2 for x, y, _ in near]
    np.testing.assert_allclose(near[:, 2], touched, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(normals, axis=2), 1.0)


def test_blocks_are_drawn_where_they_are() -> None:
    """Every corner of a top lies at its block's height, far beyond the array's border too."""
    heights = np.arange(12.0).reshape(3, 4)
    builder = ModelBuilder().block_field("steps", heights=heights, half_size=(1.5, 2.0))
    points, normals = Surface(builder.build().geoms[0]).near(np.zeros(3), np.eye(3), np.zeros(3))
    inner = points[1::4, 1::4] + points[2::4, 2::4]  # two opposite corners of each top
    x, y, z = 0.5 * np.moveaxis(inner, -1, 0)
    i = np.clip(np.floor(x + 1.5).astype(int), 0, 2)
    j = np.clip(np.floor(y + 2.0).astype(int), 0, 3)
    close = (np.abs(x) < 11) & (np.abs(y) < 11)
    np.testing.assert_array_equal(z[close], heights[i, j][close])
    assert points[..., 0].max() > 50
    assert set(np.unique(normals)) == {-1.0, 0.0, 1.0}


def test_the_highest_of_level_floors_is_seen() -> None:
    builder = ModelBuilder().half_space("cellar", position=(0, 0, -1)).half_space("floor")
    builder.sphere("ball", "world", radius=0.2, position=(0, 0, -0.5), color=RED)
    builder.sphere("peak", "world", radius=0.2, position=(0, 0, 0.5), color=GREEN)
    picture = dynenvs.render(World(builder.build()), elevation=0.5, **SIZE)
    assert where(picture, GREEN).sum() > 50
    assert where(picture, RED).sum() == 0


def test_ground_on_a_moving_body_moves_with_it() -> None:
    builder = ModelBuilder().body("lift", joint=prismatic(axis=(0, 0, 1)), mass=1.0)
    builder.height_field("deck", "lift", heights=np.zeros((3, 3)), half_size=(1, 1))
    builder.sphere("ball", "world", radius=0.1, position=(0, 0, 0.5), color=RED)
    world = World(builder.build())
    options: dict[str, Any] = {"look_at": (0, 0, 0.5), "distance": 2.0, **SIZE}
    assert where(dynenvs.render(world, **options), RED).sum() > 50
    world.q = [0.7]
    assert where(dynenvs.render(world, **options), RED).sum() == 0


def boxes(*rows: tuple[tuple[float, ...], tuple[float, ...]]) -> Pieces:
    """Upright boxes from (centre, half edges), fixed in the world."""
    made = np.zeros(len(rows), PIECE)
    for piece, (center, half) in zip(made, rows, strict=True):
        piece["kind"], piece["R"] = BLOCK, np.eye(3)
        piece["center"], piece["half"] = center, half
    return collected(made)


def bright(pieces: Pieces, place: tuple[float, ...], own: int = -1) -> float:
    sun = light(SUN, 0.1, pieces)
    return float(visibility(open_light(sun), sun.casters, sun.table, place, own))


def test_a_hundred_boxes_cast_a_hundred_shadows() -> None:
    """Each darkens the floor next to it, away from the sun; fixed ones too."""
    grid = [(float(i), float(j), 0.1) for i in range(10) for j in range(10)]
    pieces = boxes(*[(center, (0.1, 0.1, 0.1)) for center in grid])
    for x, y, _ in grid:
        assert bright(pieces, (x + 0.11, y + 0.11, 0.0)) < 0.1
        assert bright(pieces, (x - 0.2, y - 0.2, 0.0)) == 1.0


def test_what_lies_on_a_wide_slab_is_not_in_its_shadow() -> None:
    """Wherever it lies; what is below the slab is."""
    pieces = boxes(((0, 0, 0), (4.0, 4.0, 0.1)), ((3, 3, 0.2), (0.1, 0.1, 0.1)))
    for x in np.linspace(-3.9, 3.9, 7):
        assert bright(pieces, (x, 3.5, 0.15)) > 0.95
        assert bright(pieces, (0.9 * x, 0.0, -0.3)) < 0.05


def test_a_scene_a_hundred_times_as_large_looks_the_same() -> None:
    pictures = []
    for scale in (1.0, 100.0, 0.01):
        builder = ModelBuilder().half_space("floor")
        builder.body("b", joint=free(), mass=1.0, inertia=(1, 1, 1))
        builder.box("box", "b", half_size=np.array([0.2, 0.3, 0.1]) * scale)
        builder.point("tip", "b", np.array([0, 0, 0.3]) * scale)
        world = World(builder.build())
        world.q[2] = 0.15 * scale
        pictures.append(dynenvs.render(world, **SIZE).astype(int))
    for other in pictures[1:]:
        assert (np.abs(other - pictures[0]).max(axis=2) > 24).mean() < 0.02
