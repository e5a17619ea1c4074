"""Capsule against a block field: its ends, and its axis between them past rims and corners.

An end touches as a ball does (`block_field.py`).  Between its ends the axis is nearest to a heap of
blocks where it passes a rim (the upper edge of a block that stands out beside a lower one), an
upright edge (of a block that stands out from its three neighbours), or the corner where both end:
the closest points of two segments, or of a point and a segment (Ericson, Real-Time Collision
Detection, 5.1.2, 5.1.9).  Past a flat wall or top it is nearest at an end, or where that face ends.

Slots: 4 for each end; then `parts[0]` for the lines across x, between the blocks, and as many for
those across y, each with the rim on it that is nearest; then `parts[1]` squared for the nodes where
lines meet, with their upright edges and corners.  Lines keep their slots, by their numbers modulo
`parts`, wherever the capsule is.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.contact.detection.geometry.block_field import ball_blocks, block_at, block_height
from dynenvs.contact.detection.geometry.capsule_box import SLACK
from dynenvs.contact.detection.geometry.segment import WITHIN, inner_points, place_on
from dynenvs.contact.detection.geometry.spot import (
    Point,
    along,
    back,
    column,
    dot,
    into,
    out_of,
    point,
)
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.memory.layout import Floats, Records

Capsule = tuple[Point, Point, float, float]  # centre, axis, half length, radius

# So far beside a capsule rims are still looked at [m]
SIGHT = 0.05


@kernel
def capsule_blocks(pair: Any, a: Any, b: Any, heights: Floats, spots: Records, first: int) -> None:
    """All slots, see above; they come discarded."""
    radius, half = pair.size_a[0], pair.size_a[1]
    # Both ends, as balls
    p, u = into(b, point(a.center)), back(b.R, column(a.R, 2))
    for k in range(2):
        end = along(p, (2.0 * k - 1.0) * half, u)
        ball_blocks(pair, b, heights, spots, first + 4 * k, end, radius)
    # Which blocks can be below it
    wide, deep = half * abs(u[0]) + radius + SIGHT, half * abs(u[1]) + radius + SIGHT
    left, front = block_at(pair, p[0] - wide, p[1] - deep)
    right, rear = block_at(pair, p[0] + wide, p[1] + deep)
    lowest = p[2] - half * abs(u[2]) - radius - SIGHT
    lines, nodes = pair.parts[0], pair.parts[1]
    capsule = p, u, half, radius
    for i in range(left, right + 1):
        for j in range(front, rear + 1):
            # A block's height beside those of its neighbours: what is lower than the capsule is far
            h = block_height(pair, heights, i, j)
            beside, behind = (
                block_height(pair, heights, i - 1, j),
                block_height(pair, heights, i, j - 1),
            )
            across = block_height(pair, heights, i - 1, j - 1)
            if max(max(h, beside), max(behind, across)) < lowest:
                continue
            # Its edges along y and x, then the corner of four blocks
            corner = (pair.dx * (i - 0.5 * pair.nx), pair.dy * (j - 0.5 * pair.ny))
            if i > left and h != beside:
                rim = (corner[0], corner[1] + 0.5 * pair.dy, max(h, beside))
                way = 1.0 if beside > h else -1.0
                spot = spots[first + 8 + i % lines]
                _rim(spot, b, capsule, rim, (0.0, 1.0, 0.0), 0.5 * pair.dy, way)
            if j > front and h != behind:
                rim = (corner[0] + 0.5 * pair.dx, corner[1], max(h, behind))
                way = 1.0 if behind > h else -1.0
                spot = spots[first + 8 + lines + j % lines]
                _rim(spot, b, capsule, rim, (1.0, 0.0, 0.0), 0.5 * pair.dx, way)
            if i > left and j > front:
                spot = spots[first + 8 + 2 * lines + i % nodes * nodes + j % nodes]
                _node(spot, b, p, u, half, radius, corner, (across, beside, behind, h))


@inlined
def _rim(
    spot: Any, b: Any, capsule: Capsule, rim: Point, v: Point, half_rim: float, way: float
) -> None:
    """A rim about `rim` along v, which is x or y; the lower block lies on the side `way`."""
    p, u, half, radius = capsule
    # Up to its very ends: where it goes on behind a joint, nothing else would tell
    inner, s, t = inner_points(p, u, half, rim, v, half_rim + 2.0 * WITHIN)
    if inner:
        c, e = along(p, s, u), along(rim, t, v)
        out = (c[1] - e[1]) * way if v[0] > 0.0 else (c[0] - e[0]) * way
        _touch(spot, b, c, e, radius, out, c[2] - e[2])


@inlined
def _node(
    spot: Any, b: Any, p: Point, u: Point, half: float, radius: float, at: tuple[float, float],
    h: tuple[float, float, float, float],
) -> None:  # fmt: skip
    """The upright edge and the corner above `at` of the highest of the four blocks about it.

    Heights h: on both sides' low, on x's low and y's high side, the other way round, on the high
    sides.
    """
    top = max(max(h[0], h[1]), max(h[2], h[3]))
    which, second = 0, -math.inf
    for k in range(4):
        if h[k] == top:
            which = k
    for k in range(4):
        if k != which:
            second = max(second, h[k])
    if second == top:
        return
    # Away from the block that stands out
    way_x, way_y = -1.0 if which >= 2 else 1.0, -1.0 if which % 2 == 1 else 1.0
    corner = (at[0], at[1], top)
    s = place_on(corner, p, u)
    if abs(s) < half - WITHIN:
        c = along(p, s, u)
        d = (c[0] - corner[0], c[1] - corner[1], c[2] - corner[2])
        least = min(min(d[0] * way_x, d[1] * way_y), d[2])
        if least > -WITHIN:
            _touch(spot, b, c, corner, radius, least, least)
    middle, up = (at[0], at[1], 0.5 * (top + second)), (0.0, 0.0, 1.0)
    inner, s, t = inner_points(p, u, half, middle, up, 0.5 * (top - second) + 2.0 * WITHIN)
    if inner:
        c, e = along(p, s, u), along(middle, t, up)
        _touch(spot, b, c, e, radius, (c[0] - e[0]) * way_x, (c[1] - e[1]) * way_y)


@inlined
def _touch(spot: Any, b: Any, c: Point, e: Point, radius: float, one: float, other: float) -> None:
    """Fill a slot, if this is deeper, with core point c near the edge's point e.

    `one` and `other`: how far c is out of both faces that meet in the edge.  An edge is nearest
    where c is out of both (with the slack of `capsule_box.py`), and meets the axis where it is
    within both, by no more than the radius.
    """
    d = (c[0] - e[0], c[1] - e[1], c[2] - e[2])
    square = dot(d, d)
    distance, sign, least = math.sqrt(square), 1.0, min(one, other)
    if max(one, other) < -WITHIN:
        if distance > radius:
            return
        sign = -1.0
    elif not (least > -WITHIN or least * least < SLACK * SLACK * square):
        return
    gap = sign * distance - radius
    if gap < spot.gap and distance > WITHIN:
        spot.gap, spot.radius = gap, radius
        spot.center[0], spot.center[1], spot.center[2] = c[0], c[1], c[2]
        scale = sign / distance
        spot.normal[0], spot.normal[1], spot.normal[2] = d[0] * scale, d[1] * scale, d[2] * scale
        out_of(b, spot)
