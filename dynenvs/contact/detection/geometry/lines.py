"""Lines along the sides of round solids: against each other, and along a sharp edge.

Two lines touch at their ends and where they cross; a line along an edge at the ends of what they
share.  The normal is that of the round side there, not that of a face beside the edge.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.contact.detection.geometry.patch import EVEN, Patch
from dynenvs.contact.detection.geometry.polyhedron import Polyhedron, minus, three
from dynenvs.contact.detection.geometry.spot import Point, along, dot, point
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.memory.layout import Records
from dynenvs.memory.records import FAR, LOOK

ALIKE = 1.0 - 1e-12  # cosine between normals that are the same
PARALLEL = 1e-12  # squared sine between lines that do not cross
NONE = (0.0, 0.0, 0.0)
ALONG = 0.04  # squared sine between a line and an edge that it lies along


@inlined
def two_lines(
    one: Patch, other: Patch, n: Point, origin: Point, spots: Records, first: int
) -> None:
    """Lines along the sides of two solids: the ends of each over the other, and where they cross.

    An end meets the round side behind the other line: the distance from its centre of curvature.
    """
    back = (-n[0], -n[1], -n[2])
    for k in range(2):
        _end(three(one.shape.corners, k), one.ball, other, n, origin, spots[first + k])
        spot = spots[first + 2 + k]
        _end(three(other.shape.corners, k), 0.0, one, back, origin, spot)
        if spot.gap < FAR:
            turn_over(spot)
    p, r = three(one.shape.corners, 0), three(other.shape.corners, 0)
    u, v = minus(three(one.shape.corners, 1), p), minus(three(other.shape.corners, 1), r)
    uu, uv, vv = dot(u, u), dot(u, v), dot(v, v)
    square = uu * vv - uv * uv
    if square > PARALLEL * uu * vv:
        d = minus(p, r)
        s = (uv * dot(v, d) - vv * dot(u, d)) / square
        t = (uu * dot(v, d) - uv * dot(u, d)) / square
        if 0.0 <= s <= 1.0 and 0.0 <= t <= 1.0:
            p, r = along(p, s, u), along(r, t, v)
            fill(spots[first + 4], p, n, dot(n, minus(p, r)), origin)


@inlined
def _end(p: Point, ball: float, line: Patch, n: Point, origin: Point, spot: Any) -> None:
    """The end p of a line, of a ball or of none, over another one, which faces it along n."""
    q = three(line.shape.corners, 0)
    way = minus(three(line.shape.corners, 1), q)
    t = dot(minus(p, q), way) / dot(way, way)
    if t < 0.0 or t > 1.0:
        return
    bend = line.first_bend + t * (line.last_bend - line.first_bend)
    d = along(minus(p, along(q, t, way)), bend + ball, n)
    length = math.sqrt(dot(d, d))
    gap = length - bend - ball
    if length > 0.0 and gap < LOOK:
        normal = (d[0] / length, d[1] / length, d[2] / length)
        fill(spot, along(along(p, ball, n), -ball, normal), normal, gap, origin)


@kernel
def line_along_edge(
    line: Patch, own: Polyhedron, n: Point, side: float, same: float, origin: Point,
    spots: Records, first: int, count: int,
) -> None:  # fmt: skip
    """A line along an edge of a polyhedron that nothing else of it reaches as far as.

    What clipping found on that edge is discarded, but for what stands along n.

    n: from B to A; side: 1 if the line is A's, -1 if it is B's
    same: how far from the edge as seen along n is on it [m]
    first, count: of the slots; the third and fourth of them are free
    """
    i, j = _outermost_edge(own, (side * n[0], side * n[1], side * n[2]))
    if i < 0:
        return
    p, q = three(line.shape.corners, 0), three(own.corners, i)
    u, v = minus(three(line.shape.corners, 1), p), minus(three(own.corners, j), q)
    uu, vv, uv = dot(u, u), dot(v, v), dot(u, v)
    if uu * vv - uv * uv > ALONG * uu * vv:
        return
    at_start, at_end = dot(minus(q, p), u) / uu, (dot(minus(q, p), u) + uv) / uu
    low, high = max(0.0, min(at_start, at_end)), min(1.0, max(at_start, at_end))
    if low > high:
        return
    start = along(q, (low - at_start) / (at_end - at_start), v)
    end = along(q, (high - at_start) / (at_end - at_start), v)
    for k in range(first, first + count):
        if spots[k].gap < FAR:
            here = minus(point(spots[k].center), origin)
            away = min(_aside(here, start, NONE, n), _aside(here, end, NONE, n))
            if dot(point(spots[k].normal), n) < ALIKE:
                away = min(away, _aside(here, q, v, n))
            if away < same * same:
                spots[k].gap = FAR
    for k in range(2):
        s, x = (low, start) if k == 0 else (high, end)
        bend = line.first_bend + s * (line.last_bend - line.first_bend)
        _on_side(along(p, s, u), x, bend, n, side, origin, spots[first + 2 + k])


@inlined
def _aside(p: Point, q: Point, v: Point, n: Point) -> float:
    """The square of how far p is from the line through q along v, or from q, as seen along n."""
    d = minus(p, q)
    d = along(d, -dot(d, n), n)
    flat = along(v, -dot(v, n), n)
    square = dot(flat, flat)
    if square > 0.0:
        d = along(d, -dot(d, flat) / square, flat)
    return dot(d, d)


@inlined
def _on_side(
    p: Point, x: Point, bend: float, n: Point, side: float, origin: Point, spot: Any
) -> None:
    """The point x of an edge against the round side at p of a line, by its centre of curvature."""
    out = (-side * n[0], -side * n[1], -side * n[2])
    middle = along(p, -bend, out)
    d = minus(x, middle)
    length = math.sqrt(dot(d, d))
    gap = length - bend
    if dot(d, out) > 0.0:
        out = (d[0] / length, d[1] / length, d[2] / length)
    else:  # as deep as that, or at an apex
        gap = dot(minus(x, p), out)
    if gap < LOOK:
        normal = (-side * out[0], -side * out[1], -side * out[2])
        fill(spot, along(x, -gap, out) if side > 0.0 else x, normal, gap, origin)


@inlined
def _outermost_edge(own: Polyhedron, n: Point) -> tuple[int, int]:
    """The two corners that alone are outermost along n, or -1, -1."""
    most, second, third, least, i, j = -math.inf, -math.inf, -math.inf, math.inf, -1, -1
    for k in range(own.corners.shape[0] // 3):
        reach = dot(n, three(own.corners, k))
        least = min(least, reach)
        if reach > most:
            most, second, third, i, j = reach, most, second, k, i
        elif reach > second:
            second, third, j = reach, second, k
        elif reach > third:
            third = reach
    slack = EVEN * (most - least)
    if most - second <= slack and most - third > slack:
        return i, j
    return -1, -1


@inlined
def turn_over(spot: Any) -> None:
    """A slot of B against A as one of A against B."""
    for k in range(3):
        spot.center[k] -= spot.gap * spot.normal[k]
        spot.normal[k] = -spot.normal[k]


@inlined
def fill(spot: Any, p: Point, n: Point, gap: float, origin: Point) -> None:
    """A slot of the point p of A."""
    spot.gap, spot.radius, spot.edges = gap, 0.0, 0
    for k in range(3):
        spot.center[k], spot.normal[k] = p[k] + origin[k], n[k]
