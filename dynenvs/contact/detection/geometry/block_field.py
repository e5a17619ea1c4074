"""Spheres against a block field: upright blocks side by side with flat tops.

A ball no broader than a block touches four blocks at most: the one below its centre and its three
nearest neighbours.  A neighbour counts where it stands out: higher than the one below (than all
three others, across the corner).  What is nearest of it, a point of its wall or of its rim, is
found as for a box (Ericson, Real-Time Collision Detection, 5.1.3); what does not stand out lies
behind the surface, and its rim would trip a ball that slides over the joint.

Slots: four a ball, by whether a block's numbers in x and y are odd: a block keeps its slot while
the ball moves on to the next one.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.contact.detection.geometry.spot import Point, into, out_of, part, point
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.memory.layout import Floats, Records


@inlined
def block_height(pair: Any, heights: Floats, i: int, j: int) -> float:
    """Height of block (i, j) [m]; beyond the border the outermost goes on."""
    i, j = min(max(i, 0), pair.nx - 1), min(max(j, 0), pair.ny - 1)
    return float(heights[pair.heights_at + i * pair.ny + j])


@inlined
def block_at(pair: Any, x: float, y: float) -> tuple[int, int]:
    """Numbers of the block below (x, y) of the field's frame."""
    return math.floor(x / pair.dx + 0.5 * pair.nx), math.floor(y / pair.dy + 0.5 * pair.ny)


@kernel
def ball_blocks(
    pair: Any, b: Any, heights: Floats, spots: Records, first: int, p: Point, radius: float
) -> None:
    """A ball at p of the field's frame, into four slots; they come discarded."""
    x, y, z = p
    i, j = block_at(pair, x, y)
    # Towards the nearest neighbours: their numbers, and where they begin
    u, v = x / pair.dx + 0.5 * pair.nx - i, y / pair.dy + 0.5 * pair.ny - j
    ni, nj = i - 1 if u < 0.5 else i + 1, j - 1 if v < 0.5 else j + 1
    rim_x = pair.dx * (max(i, ni) - 0.5 * pair.nx)
    rim_y = pair.dy * (max(j, nj) - 0.5 * pair.ny)
    own = block_height(pair, heights, i, j)
    beside, behind = block_height(pair, heights, ni, j), block_height(pair, heights, i, nj)
    across = block_height(pair, heights, ni, nj)
    spot = spots[first + _slot(i, j)]
    spot.gap, spot.radius = z - own - radius, radius
    spot.center[0], spot.center[1], spot.center[2] = x, y, z
    spot.normal[0], spot.normal[1], spot.normal[2] = 0.0, 0.0, 1.0
    out_of(b, spot)
    if beside > own:
        spot = spots[first + _slot(ni, j)]
        part(spot, p, (rim_x, y, min(z, beside)), radius, 0.0, (1.0 if u < 0.5 else -1.0, 0.0, 0.0))
        out_of(b, spot)
    if behind > own:
        spot = spots[first + _slot(i, nj)]
        part(spot, p, (x, rim_y, min(z, behind)), radius, 0.0, (0.0, 1.0 if v < 0.5 else -1.0, 0.0))
        out_of(b, spot)
    if across > max(own, max(beside, behind)):
        spot = spots[first + _slot(ni, nj)]
        part(spot, p, (rim_x, rim_y, min(z, across)), radius, 0.0, (0.0, 0.0, 1.0))
        out_of(b, spot)


@inlined
def _slot(i: int, j: int) -> int:
    return 2 * (i & 1) + (j & 1)


@kernel
def sphere_blocks(pair: Any, a: Any, b: Any, heights: Floats, spots: Records, first: int) -> None:
    """All slots of a sphere; they come discarded."""
    ball_blocks(pair, b, heights, spots, first, into(b, point(a.center)), pair.size_a[0])
