"""Sphere or capsule against box.

A capsule touches with its ends (against the whole box), and between them with the box's corners
and edges; lying on a face it touches at its ends, or where its axis leaves the face, at edges.
Where its axis runs through the box from face to face, with both ends outside, the middle of what
lies within is pushed out through the nearest face, in the first end's place.
Slots: 2 ends, 8 corners, 12 edges.  Everything is found in the box's frame.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.contact.detection.geometry.segment import WITHIN, clamp, inner_points, place_on
from dynenvs.contact.detection.geometry.spot import (
    Point,
    along,
    column,
    dot,
    into,
    out_of,
    part,
    point,
)
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.memory.layout import Floats, Records

# A corner or edge is the nearest part of the box only where the way out of it leads away from all
# its faces; a little slack lets an edge take part before a face lies flat on it.
SLACK = 0.2  # sine of that slack
SLOTS = 22  # of a capsule and a box


@kernel
def sphere_box(pair: Any, a: Any, b: Any, spots: Records, first: int) -> None:
    """One slot: the sphere's centre against the box."""
    point_box(spots[first], into(b, point(a.center)), pair.size_b, pair.size_a[0])
    out_of(b, spots[first])


@inlined
def point_box(spot: Any, p: Point, half: Floats, radius: float) -> None:
    """A ball at p against a box, in the box's frame; from inside, out through the nearest face."""
    x, y, z = clamp(p[0], half[0]), clamp(p[1], half[1]), clamp(p[2], half[2])
    if x != p[0] or y != p[1] or z != p[2]:
        part(spot, p, (x, y, z), radius, 0.0, (0.0, 0.0, 1.0))
        return
    depth, axis = half[0] - abs(p[0]), 0
    for k in range(1, 3):
        own = half[k] - abs(p[k])
        if own < depth:
            depth, axis = own, k
    spot.gap = -depth - radius
    spot.radius = radius
    for k in range(3):
        spot.center[k] = p[k]
        spot.normal[k] = 0.0
    spot.normal[axis] = 1.0 if p[axis] >= 0.0 else -1.0


@inlined
def _core(a: Any, b: Any) -> tuple[Point, Point]:
    """The middle and the direction of a capsule's axis, in the box's frame."""
    axis = column(a.R, 2)
    u = (dot(column(b.R, 0), axis), dot(column(b.R, 1), axis), dot(column(b.R, 2), axis))
    return into(b, point(a.center)), u


@kernel
def capsule_beside_box(pair: Any, a: Any, b: Any) -> tuple[float, Point]:
    """(separation, unit normal from the box to the capsule) of the box's best face."""
    p, u = _core(a, b)
    best, normal = -math.inf, (0.0, 0.0, 1.0)
    for k in range(3):
        gap = abs(p[k]) - pair.size_a[1] * abs(u[k]) - pair.size_b[k] - pair.size_a[0]
        if gap > best:
            x, y, z = column(b.R, k)
            best, normal = gap, (x, y, z) if p[k] >= 0.0 else (-x, -y, -z)
    return best, normal


@kernel
def capsule_box(pair: Any, a: Any, b: Any, spots: Records, first: int) -> None:
    """Fill the slots, see above; they come discarded."""
    half, radius, length = pair.size_b, pair.size_a[0], pair.size_a[1]
    p, u = _core(a, b)
    pierced, middle = _within(p, u, length, half)
    for k in range(2):
        at = middle if pierced and k == 0 else (2.0 * k - 1.0) * length
        point_box(spots[first + k], along(p, at, u), half, radius)
        out_of(b, spots[first + k])
    _corners(spots, first + 2, b, p, u, half, radius, length)
    _edges(spots, first + 10, b, p, u, half, radius, length)


@inlined
def _within(p: Point, u: Point, l: float, half: Floats) -> tuple[bool, float]:
    """Whether the axis enters the box and leaves it again before its ends, and where half way is.

    By its stretches between the three pairs of faces (slabs).
    """
    enters, leaves = -math.inf, math.inf
    for k in range(3):
        if abs(u[k]) > 1e-12:
            one, other = (-half[k] - p[k]) / u[k], (half[k] - p[k]) / u[k]
            enters, leaves = max(enters, min(one, other)), min(leaves, max(one, other))
        elif abs(p[k]) > half[k]:
            leaves = -math.inf
    return enters < leaves and enters > -l and leaves < l, 0.5 * (enters + leaves)


@inlined
def _corners(
    spots: Records, first: int, b: Any, p: Point, u: Point, half: Floats, radius: float, l: float
) -> None:
    for k in range(8):
        corner = (_side(k, 4) * half[0], _side(k, 2) * half[1], _side(k, 1) * half[2])
        s = place_on(corner, p, u)
        if abs(s) < l - WITHIN:
            c = along(p, s, u)
            if (
                (c[0] - corner[0]) * _side(k, 4) > -WITHIN
                and (c[1] - corner[1]) * _side(k, 2) > -WITHIN
                and (c[2] - corner[2]) * _side(k, 1) > -WITHIN
            ):
                part(spots[first + k], c, corner, radius, 0.0, (0.0, 0.0, 1.0))
                out_of(b, spots[first + k])


@inlined
def _edges(
    spots: Records, first: int, b: Any, p: Point, u: Point, half: Floats, radius: float, l: float
) -> None:
    for k in range(12):
        axis = k // 4
        s1, s2 = _side(k, 2), _side(k, 1)
        if axis == 0:
            v, q = (1.0, 0.0, 0.0), (0.0, s1 * half[1], s2 * half[2])
        elif axis == 1:
            v, q = (0.0, 1.0, 0.0), (s1 * half[0], 0.0, s2 * half[2])
        else:
            v, q = (0.0, 0.0, 1.0), (s1 * half[0], s2 * half[1], 0.0)
        inner, s, t = inner_points(p, u, l, q, v, half[axis])
        if inner:
            c, e = along(p, s, u), along(q, t, v)
            d = (c[0] - e[0], c[1] - e[1], c[2] - e[2])
            first_way = d[1] * s1 if axis == 0 else d[0] * s1
            second_way = d[1] * s2 if axis == 2 else d[2] * s2
            least = min(first_way, second_way)
            if least > -WITHIN or least * least < SLACK * SLACK * dot(d, d):
                part(spots[first + k], c, e, radius, 0.0, (0.0, 0.0, 1.0))
                out_of(b, spots[first + k])


@inlined
def _side(k: int, bit: int) -> float:
    """-1 or 1: on which side corner or edge k lies."""
    return 1.0 if k & bit else -1.0
