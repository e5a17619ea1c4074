"""Capsule against a height field, and the edges of boxes, which are capsules without a radius.

The gap g(s) of a ball that moves along the axis has the slope n(s) . u, with the surface's normal n
at its foot and the axis u: where it turns from falling to rising, the capsule is nearest to the
ground.  Such places are looked for between balls a quarter of the heights' distance apart, and
found by the Illinois method (Dowell and Jarratt 1971).

Slots: both ends, and stretches of the axis as long as half of the heights' distance, each of which
holds its deepest least gap.  Where the ground is as straight as the axis nothing lies between.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.compiled import inlined, kernel
from dynenvs.contact.geometry.height_field import ABOVE, fill, nearest, surface
from dynenvs.contact.geometry.spot import Point, along, back, column, dot, into, point
from dynenvs.layout import Floats, Records

LEVEL = 1e-9  # a slope less than this is none
FOUND = 1e-11  # a least gap's slope
ITERATIONS = 40
SHORTEST = 1e-10  # interval in which a place is sought [m]
MOST_BALLS = 8  # within a stretch


@inlined
def finer(pair: Any, half: float, stretches: int) -> int:
    """Into how many parts a stretch is cut, so that they are a quarter of the heights' distance."""
    wanted = math.ceil(8.0 * half / (min(pair.dx, pair.dy) * stretches) - 1e-9)
    return min(max(int(wanted), 1), MOST_BALLS)


@inlined
def _probe(pair: Any, heights: Floats, c: Point, u: Point, radius: float) -> tuple[float, float]:
    """Gap [m] and slope of a ball at c on its way along u; of a point, as seen straight below.

    Both kinds of gap of a point vanish together, and where they do so are least at one place.
    """
    if radius > 0.0:
        gap, n = nearest(pair, heights, c, radius)
        return gap, dot(n, u)
    h, hx, hy, _, _, _ = surface(pair, heights, c[0], c[1])
    length = math.sqrt(1.0 + hx * hx + hy * hy)
    return (c[2] - h) / length, (u[2] - hx * u[0] - hy * u[1]) / length


@kernel
def _least(
    pair: Any, heights: Floats, p: Point, u: Point, radius: float, low: float, high: float
) -> float:
    """Where between low and high the gap stops falling [m]; it falls at low and rises at high."""
    at_low = _probe(pair, heights, along(p, low, u), u, radius)[1]
    at_high = _probe(pair, heights, along(p, high, u), u, radius)[1]
    s, side = 0.5 * (low + high), 0
    for _ in range(ITERATIONS):
        if high - low < SHORTEST:
            break
        s = (low * at_high - high * at_low) / (at_high - at_low)
        slope = _probe(pair, heights, along(p, s, u), u, radius)[1]
        if abs(slope) < FOUND:
            break
        if slope < 0.0:
            low, at_low = s, slope
            at_high *= 0.5 if side < 0 else 1.0
            side = -1
        else:
            high, at_high = s, slope
            at_low *= 0.5 if side > 0 else 1.0
            side = 1
    return s


@kernel
def line_field(
    pair: Any,
    b: Any,
    heights: Floats,
    spots: Records,
    first: int,
    stretches: int,
    p: Point,
    u: Point,
    half: float,
    radius: float,
) -> None:
    """The stretches of the axis p + s u, |s| < half, of the field's frame; they come discarded."""
    cuts = finer(pair, half, stretches)
    count = stretches * cuts
    width = 2.0 * half / count
    gap, slope = _probe(pair, heights, along(p, -half, u), u, radius)
    taken = 0  # the last ball that was a least gap itself (the end, at first)
    for i in range(count):
        low, high = -half + i * width, -half + (i + 1) * width
        next_gap, next_slope = _probe(pair, heights, along(p, high, u), u, radius)
        falls_to = slope < -LEVEL and next_slope >= -LEVEL
        rises_from = slope <= LEVEL and next_slope > LEVEL
        if (falls_to or rises_from) and min(gap, next_gap) < ABOVE:
            ball = -1
            if next_slope <= LEVEL:
                ball, s = i + 1, high
            elif slope >= -LEVEL:
                ball, s = i, low
            else:
                s = _least(pair, heights, p, u, radius, low, high)
            if ball < 0 or (ball != taken and ball < count):
                c = along(p, s, u)
                found = nearest(pair, heights, c, radius)
                spot = spots[first + i // cuts]
                if found[0] < spot.gap:
                    fill(b, spot, c, radius, found)
            if ball >= 0:
                taken = ball
        gap, slope = next_gap, next_slope


@kernel
def capsule_field(pair: Any, a: Any, b: Any, heights: Floats, spots: Records, first: int) -> None:
    """All slots, see above; they come discarded."""
    radius, half = pair.size_a[0], pair.size_a[1]
    p, u = into(b, point(a.center)), back(b.R, column(a.R, 2))
    for k in range(2):
        c = along(p, (2.0 * k - 1.0) * half, u)
        fill(b, spots[first + k], c, radius, nearest(pair, heights, c, radius))
    if p[2] - half * abs(u[2]) - radius < pair.top + ABOVE:
        line_field(pair, b, heights, spots, first + 2, pair.slots - 2, p, u, half, radius)
