"""Sphere or capsule against a convex hull, in the hull's own axes.

As against a box (`capsule_box.py`): a capsule's ends against the whole hull, its axis between them
against the hull's corners and edges, and its middle where it runs through.  Slots: 1 of a sphere;
of a capsule 2 ends, V corners and E edges.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.contact.detection.geometry.capsule_box import SLACK
from dynenvs.contact.detection.geometry.polyhedron import (
    Polyhedron,
    cross,
    minus,
    three,
    within_face,
)
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
from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Floats, Records

UP = (0.0, 0.0, 1.0)


@inlined
def sphere_hull(pair: Any, a: Any, b: Any, hull: Polyhedron, spots: Records, first: int) -> None:
    """One slot: the sphere's centre against the hull."""
    _ball(spots[first], into(b, point(a.center)), hull, pair.size_a[0])
    out_of(b, spots[first])


@inlined
def _ball(spot: Any, p: Point, hull: Polyhedron, radius: float) -> None:
    """A ball at p against the hull; from inside, out through the nearest face.

    Its nearest point lies within a face whose foot is there, or else on an edge.
    """
    best, face = -math.inf, 0
    over, square = -1, math.inf
    for f in range(hull.levels.shape[0]):
        n = three(hull.normals, f)
        away = dot(n, p) - hull.levels[f]
        if away > best:
            best, face = away, f
        if away > 0.0 and away * away < square and within_face(hull, f, p, n, 0.0):
            over, square = f, away * away
    if best <= 0.0:
        _on_face(spot, p, hull, face, radius)
        return
    nearest = p
    for e in range(0, hull.edges.shape[0], 4):
        c = three(hull.corners, int(hull.edges[e]))
        way = minus(three(hull.corners, int(hull.edges[e + 1])), c)
        t = min(max(dot(minus(p, c), way) / dot(way, way), 0.0), 1.0)
        foot = along(c, t, way)
        d = minus(p, foot)
        if dot(d, d) < square:
            over, nearest, square = -1, foot, dot(d, d)
    if over >= 0:
        _on_face(spot, p, hull, over, radius)
    else:
        part(spot, p, nearest, radius, 0.0, three(hull.normals, face))


@inlined
def _on_face(spot: Any, p: Point, hull: Polyhedron, f: int, radius: float) -> None:
    """A ball at p over or below face f: its normal is exact however near p is, as a point's is."""
    n = three(hull.normals, f)
    spot.gap = dot(n, p) - hull.levels[f] - radius
    spot.radius = radius
    for k in range(3):
        spot.center[k], spot.normal[k] = p[k], n[k]


@inlined
def capsule_hull(
    pair: Any, a: Any, b: Any, hull: Polyhedron, work: Floats, spots: Records, first: int
) -> None:
    """All slots, see above; they come discarded.  work: a number for each corner."""
    radius, length = pair.size_a[0], pair.size_a[1]
    p = into(b, point(a.center))
    axis = column(a.R, 2)
    u = (dot(column(b.R, 0), axis), dot(column(b.R, 1), axis), dot(column(b.R, 2), axis))
    pierced, middle = _within(hull, p, u, length)
    for k in range(2):
        at = middle if pierced and k == 0 else (2.0 * k - 1.0) * length
        _ball(spots[first + k], along(p, at, u), hull, radius)
        out_of(b, spots[first + k])
    corners = hull.corners.shape[0] // 3
    _mark_corners(hull, p, u, length, work)
    for k in range(corners):
        if work[k] > 0.0:
            corner = three(hull.corners, k)
            spot = spots[first + 2 + k]
            part(spot, along(p, place_on(corner, p, u), u), corner, radius, 0.0, UP)
            out_of(b, spot)
    for e in range(hull.edges.shape[0] // 4):
        _edge(hull, e, p, u, length, radius, b, spots[first + 2 + corners + e])


@inlined
def _within(hull: Polyhedron, p: Point, u: Point, l: float) -> tuple[bool, float]:
    """Whether the axis enters the hull and leaves it again before its ends, and where half way is.

    It is within where it is behind every face.
    """
    enters, leaves = -math.inf, math.inf
    for f in range(hull.levels.shape[0]):
        n = three(hull.normals, f)
        rises, away = dot(n, u), dot(n, p) - hull.levels[f]
        if rises > 1e-12:
            leaves = min(leaves, -away / rises)
        elif rises < -1e-12:
            enters = max(enters, -away / rises)
        elif away > 0.0:
            leaves = -math.inf
    return enters < leaves and enters > -l and leaves < l, 0.5 * (enters + leaves)


@inlined
def _mark_corners(hull: Polyhedron, p: Point, u: Point, length: float, work: Floats) -> None:
    """Mark the corners that are the hull's nearest point to the axis between its ends.

    Those where the way to the axis leads away from every edge that meets there.
    """
    for k in range(hull.corners.shape[0] // 3):
        s = place_on(three(hull.corners, k), p, u)
        work[k] = 1.0 if abs(s) < length - WITHIN else 0.0
    for e in range(0, hull.edges.shape[0], 4):
        i, j = int(hull.edges[e]), int(hull.edges[e + 1])
        c, d = three(hull.corners, i), three(hull.corners, j)
        way = minus(d, c)
        slack = WITHIN * math.sqrt(dot(way, way))
        if dot(minus(along(p, place_on(c, p, u), u), c), way) > slack:
            work[i] = 0.0
        if dot(minus(along(p, place_on(d, p, u), u), d), way) < -slack:
            work[j] = 0.0


@inlined
def _edge(
    hull: Polyhedron, e: int, p: Point, u: Point, length: float, radius: float, b: Any, spot: Any
) -> None:
    """The axis across edge e, where the way between them leads away from both of its faces."""
    c = three(hull.corners, int(hull.edges[4 * e]))
    way = minus(three(hull.corners, int(hull.edges[4 * e + 1])), c)
    half = 0.5 * math.sqrt(dot(way, way))
    v = (way[0] / (2.0 * half), way[1] / (2.0 * half), way[2] / (2.0 * half))
    inner, s, t = inner_points(p, u, length, along(c, half, v), v, half)
    if not inner:
        return
    core, foot = along(p, s, u), along(c, half + clamp(t, half), v)
    d = minus(core, foot)
    back_, front = (-v[0], -v[1], -v[2]), v
    one = dot(d, cross(three(hull.normals, int(hull.edges[4 * e + 2])), front))
    other = dot(d, cross(three(hull.normals, int(hull.edges[4 * e + 3])), back_))
    most = max(one, other)  # along the faces, away from the edge
    if most < WITHIN or most * most < SLACK * SLACK * dot(d, d):
        part(spot, core, foot, radius, 0.0, UP)
        out_of(b, spot)
