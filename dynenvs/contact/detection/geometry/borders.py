"""Where two patches touch at their borders alone: the one point that they share."""

from __future__ import annotations

import math

from dynenvs.contact.detection.geometry.patch import Patch
from dynenvs.contact.detection.geometry.polyhedron import corner_of, minus, sides, three
from dynenvs.contact.detection.geometry.spot import Point, along, dot
from dynenvs.jit.compiled import inlined, kernel


@kernel
def nearest_point(one: Patch, other: Patch, n: Point) -> Point:
    """The point of A's patch that is nearest to B's, both seen along n.

    Where a line or a face touches another one at its very border, they share a point and no more:
    rounding tells whether clipping finds it.
    """
    if one.radius > 0.0:
        return _foot(one, _foot(other, one.middle, n), n)
    if other.radius > 0.0:
        return _foot(one, other.middle, n)
    best, least = one.outermost, math.inf
    for k in range(sides(one.shape, one.face)):
        p = three(one.shape.corners, corner_of(one.shape, one.face, k))
        away = cast(_foot(other, p, n), p, n, n)
        if dot(away, away) < least:
            best, least = p, dot(away, away)
    for k in range(sides(other.shape, other.face)):
        p = three(other.shape.corners, corner_of(other.shape, other.face, k))
        foot = _foot(one, p, n)
        away = cast(foot, p, n, n)
        if dot(away, away) < least:
            best, least = foot, dot(away, away)
    return best


@inlined
def _foot(own: Patch, p: Point, n: Point) -> Point:
    """The point on the border of a patch that is nearest to p, both seen along n."""
    if own.radius > 0.0:
        up = three(own.shape.normals, 0)
        way = cast(p, own.middle, up, n)
        length = math.sqrt(dot(way, way))
        return along(own.middle, own.radius / length, way) if length > 0.0 else own.middle
    best, least = p, math.inf
    for k in range(sides(own.shape, own.face)):
        c = three(own.shape.corners, corner_of(own.shape, own.face, k))
        way = minus(three(own.shape.corners, corner_of(own.shape, own.face, k + 1)), c)
        flat = along(way, -dot(way, n), n)
        t = min(max(dot(minus(p, c), flat) / dot(flat, flat), 0.0), 1.0)
        foot = along(c, t, way)
        away = cast(foot, p, n, n)
        if dot(away, away) < least:
            best, least = foot, dot(away, away)
    return best


@inlined
def cast(p: Point, middle: Point, up: Point, n: Point) -> Point:
    """Where p, cast along n on a disc, is from its middle."""
    d = minus(p, middle)
    return along(d, -dot(d, up) / dot(n, up), n)
