"""Grounds for robots with a free base: level, sloping, rough, or with stairs.

One ground serves all worlds of a task; each episode begins at a drawn place with a drawn heading,
so that no two of them meet the same terrain.  `seed` draws the ground itself.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dynenvs.model.builder import ModelBuilder

Array = NDArray[np.float64]

TERRAINS = ("flat", "slope", "rough", "stairs")
NUMBERS = {name: number for number, name in enumerate(TERRAINS)}

SLOPE = math.radians(10.0)  # rises along x
# Rough ground: heights drawn evenly from 0 to ROUGHNESS at points ROUGH_SPACING apart, smoothly
# joined
ROUGHNESS, ROUGH_SPACING, ROUGH_POINTS = 0.04, 0.2, 301
ROUGH_START = 8.0  # episodes begin so far from the middle at most, in x and y [m]
# Stairs: square hills and pits of FLIGHT steps side by side, each RISE up and TREAD wide, with
# level places on top and lanes between
RISE, TREAD = 0.08, 0.3
FLIGHT, LANDING, LANE = 6, 3, 2  # blocks: steps; half of the top's breadth; half of a lane's
HALF_TILE = FLIGHT + LANDING + LANE
TILES = 9  # in x and y
START_TILES = 3  # episodes begin in the middle of one of these in x and y
START_NOISE = 0.2  # ... within so much of its middle [m]


def add_ground(builder: ModelBuilder, terrain: str, seed: int, friction: float) -> None:
    """Add the geom `floor`, which must be a model's first one.

    Args:
        builder: gets the ground.
        terrain: one of TERRAINS.
        seed: of what is drawn.
        friction: its coefficient.
    """
    if terrain == "rough":
        half = 0.5 * ROUGH_SPACING * (ROUGH_POINTS - 1)
        builder.height_field(
            "floor", heights=rough_heights(seed), half_size=(half, half), friction=friction
        )
    elif terrain == "stairs":
        half = TREAD * HALF_TILE * TILES
        builder.block_field(
            "floor", heights=stair_heights(seed), half_size=(half, half), friction=friction
        )
    elif terrain == "slope":
        normal = (-math.sin(SLOPE), 0.0, math.cos(SLOPE))
        builder.half_space("floor", normal=normal, friction=friction)
    else:
        builder.half_space("floor", friction=friction)


def rough_heights(seed: int) -> Array:
    """Heights of the rough ground [m], shape (ROUGH_POINTS, ROUGH_POINTS)."""
    drawn = np.random.default_rng(seed).uniform(0.0, ROUGHNESS, (ROUGH_POINTS, ROUGH_POINTS))
    return np.asarray(drawn)


def stair_heights(seed: int) -> Array:
    """Heights of the blocks of all hills and pits [m], a square array.

    Each tile is a hill or a pit, as drawn.
    """
    border = np.minimum(np.arange(2 * HALF_TILE), np.arange(2 * HALF_TILE)[::-1])
    inward = np.minimum(border[:, None], border[None, :])  # blocks from the tile's border
    hill = RISE * np.clip(inward - LANE + 1, 0, FLIGHT)
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], (TILES, TILES))
    return np.kron(signs, hill)
