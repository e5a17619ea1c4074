"""What of a solid faces another one: a point, a line along a side, or a face.

Of a disc `RIM` points of its rim are known, the first of them the outermost one: so a rim that
rolls touches where it truly does, however few its points are.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from dynenvs.contact.detection.geometry.hull_hull import facing
from dynenvs.contact.detection.geometry.polyhedron import (
    Polyhedron,
    cross,
    minus,
    open_polyhedron,
    placed,
    three,
)
from dynenvs.contact.detection.geometry.smooth_solids import outermost_smooth
from dynenvs.contact.detection.geometry.spot import Point, along, column, dot, point
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.memory.layout import Floats
from dynenvs.memory.records import (
    BLOCK_FIELD,
    BOX,
    CAPSULE,
    CONE_GEOM,
    CONVEX,
    CYLINDER,
    ELLIPSOID,
)
from dynenvs.simd.elementary import cos, sin

RIM = 8  # as `dynenvs.model.pairs.RIM`
# Sine or cosine below which a disc or a line lies flat on what it faces: its outermost point is
# not one, but all of them
EVEN = 1e-6
ASIDE = 0.01  # of its radius, from which a disc that lies flat turns its first point to the other
STEEP = 0.5  # cosine between the axis and what is faced from which a cylinder shows its end
ROOM = 40  # numbers that a patch of a smooth solid takes


class Patch(NamedTuple):
    """What of a solid faces another one: a face, a line or a point, from some origin on."""

    shape: Polyhedron  # in whose face `face` it is
    face: int
    single: bool  # whether `outermost` is the only point that reaches as far
    outermost: Point
    # How far behind the ends of a line its centres of curvature are [m]
    first_bend: float
    last_bend: float
    middle: Point  # of a disc; its radius, or 0 of what is none [m]
    radius: float
    ball: float  # radius of a sphere or capsule, or 0 [m]


@kernel
def patch(
    kind: int, shape: Any, hulls: Floats, at: int, n: Point, toward: Point, origin: Point,
    work: Floats,
) -> Patch:  # fmt: skip
    """What of a solid, placed in the world, faces the unit vector n.

    Args:
        kind: of the solid.
        shape: its SHAPE.
        hulls: the numbers of all polyhedra.
        at: where its own begin.
        n: out of it, to the other one.
        toward: the other one's centre, from its own [m].
        origin: of all coordinates.
        work: for the patch.
    """
    # Of a polyhedron: the face that looks most along n
    if kind in (BOX, CONVEX, BLOCK_FIELD):
        scale = point(shape.half) if kind != CONVEX else (1.0, 1.0, 1.0)
        own = placed(open_polyhedron(hulls, at), shape, scale, origin, work)
        single, outermost = _single_corner(own, n)
        count = own.corners.shape[0] // 3
        rest = work[3 * count + 4 * own.levels.shape[0] :]
        face = facing(own, n, rest[:count], rest[count:])
        return Patch(own, face, single, outermost, 0.0, 0.0, origin, 0.0, 0.0)
    # Of round things: the corners of what looks along n, and how it bends there
    center, corners = minus(point(shape.center), origin), work[: 3 * RIM]
    axis = column(shape.R, 2)
    rises = dot(axis, n)
    count, single, first, normal, bends = 1, True, True, n, (0.0, 0.0)
    middle, broad, ball = center, 0.0, 0.0
    if kind == CAPSULE:
        count, single, ball = 2, abs(rises) > EVEN, shape.half[0]
        _write_line(corners, along(center, ball, n), shape.half[1], axis)
        first, bends = rises > 0.0, (ball, ball)
    elif kind == ELLIPSOID:
        _write(corners, 0, minus(outermost_smooth(kind, shape, n), origin))
    elif kind in (CYLINDER, CONE_GEOM):
        radius, half = shape.half[0], shape.half[1]
        radial, across = _radial(shape, n, rises, toward)
        # A disk at one end, a line of its side, or the line from the apex to the rim
        if rises < -STEEP or (rises > STEEP and kind == CYLINDER):
            count, single = RIM, across > EVEN
            up = 1.0 if rises > 0.0 else -1.0
            normal = (up * axis[0], up * axis[1], up * axis[2])
            middle, broad = along(center, half, normal), radius
            _write_rim(corners, middle, radius, radial, normal)
        elif kind == CYLINDER:
            count, single, bends = 2, abs(rises) > EVEN, (radius, radius)
            _write_line(corners, along(center, radius, radial), half, axis)
            first = rises > 0.0
        else:
            apex, foot = along(center, half, axis), along(center, -half, axis)
            foot = along(foot, radius, radial)
            slant = math.sqrt(radius * radius + 4.0 * half * half)
            tilt = rises - radius / slant  # from the normal of its side
            count, single, first = 2, abs(tilt) > EVEN, tilt > 0.0
            _write(corners, 0, apex)
            _write(corners, 1, foot)
            bends = (0.0, radius * slant / (2.0 * half))
    else:
        ball = shape.half[0]
        _write(corners, 0, along(center, ball, n))
    own = _flat(work, count, normal)
    outermost = three(corners, 0 if first else 1)
    return Patch(own, 0, single, outermost, bends[0], bends[1], middle, broad, ball)


@inlined
def _radial(shape: Any, n: Point, rises: float, toward: Point) -> tuple[Point, float]:
    """The unit vector across the axis towards n, and how much of n that is.

    Where it is nothing, towards the other solid; and that of the own x axis where that is ahead: a
    disc that lies flat keeps its points.
    """
    axis = column(shape.R, 2)
    way = along(n, -rises, axis)
    across = math.sqrt(dot(way, way))
    if across > EVEN:
        return (way[0] / across, way[1] / across, way[2] / across), across
    way = along(toward, -dot(toward, axis), axis)
    aside = math.sqrt(dot(way, way))
    if aside > ASIDE * shape.half[0]:
        return (way[0] / aside, way[1] / aside, way[2] / aside), 0.0
    return column(shape.R, 0), 0.0


@inlined
def _write(corners: Floats, k: int, p: Point) -> None:
    corners[3 * k], corners[3 * k + 1], corners[3 * k + 2] = p


@inlined
def _write_line(corners: Floats, middle: Point, half: float, axis: Point) -> None:
    """The ends of a line along the axis."""
    _write(corners, 0, along(middle, half, axis))
    _write(corners, 1, along(middle, -half, axis))


@inlined
def _write_rim(corners: Floats, center: Point, radius: float, radial: Point, up: Point) -> None:
    """Points of a rim, the one towards `radial` first, counter-clockwise as seen from `up`."""
    other = cross(up, radial)
    for k in range(RIM):
        turn = 2.0 * math.pi * k / RIM
        p = along(center, radius * cos(turn), radial)
        _write(corners, k, along(p, radius * sin(turn), other))


@inlined
def _flat(work: Floats, count: int, normal: Point) -> Polyhedron:
    """A polyhedron of one face, whose corners are the first in `work`; it has no edges."""
    at = 3 * RIM
    normals, levels = work[at : at + 3], work[at + 3 : at + 4]
    firsts, loops = work[at + 4 : at + 6], work[at + 6 : at + 6 + count]
    normals[0], normals[1], normals[2] = normal
    levels[0] = dot(normal, three(work, 0))
    firsts[0], firsts[1] = 0.0, float(count)
    for k in range(count):
        loops[k] = float(k)
    return Polyhedron(work[: 3 * count], normals, levels, firsts, loops, work[:0])


@inlined
def _single_corner(own: Polyhedron, n: Point) -> tuple[bool, Point]:
    """Whether one corner of a polyhedron alone is outermost along n, and which."""
    most, second, least, best = -math.inf, -math.inf, math.inf, 0
    for k in range(own.corners.shape[0] // 3):
        reach = dot(n, three(own.corners, k))
        least = min(least, reach)
        if reach > most:
            most, second, best = reach, most, k
        elif reach > second:
            second = reach
    return most - second > EVEN * (most - least), three(own.corners, best)
