"""Distance of two convex solids (Gilbert, Johnson, Keerthi, IEEE J. Robotics Automation 4, 1988).

The point of their Minkowski difference A - B that is nearest to the origin, by way of simplices of
its corners: each round adds the corner that lies furthest towards the origin, and keeps those of
the simplex that its nearest point rests on.  Spheres and capsules are their cores with a radius
around.  Slots of contacts are found otherwise (`manifold.py`): this knows nothing of them.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from dynenvs.contact.detection.geometry.polyhedron import cross, minus, open_polyhedron, outermost
from dynenvs.contact.detection.geometry.rod_cylinder import part_rod, rod_of
from dynenvs.contact.detection.geometry.smooth_solids import outermost_smooth
from dynenvs.contact.detection.geometry.spot import (
    COINCIDENT,
    Point,
    along,
    back,
    column,
    dot,
    point,
)
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.memory.layout import Floats
from dynenvs.memory.records import BLOCK_FIELD, BOX, CAPSULE, CONVEX, CYLINDER, SPHERE

ROUNDS = 64
PRECISE = 1e-12  # relative: by how much a distance may still shrink
GUESSES = 2  # at the edge of a box that is nearest
MET = 1e-14  # distance of cores that overlap or touch, relative to that of their centres


class Simplex(NamedTuple):
    """The first `size` of four corners."""

    size: int
    a: Point
    b: Point
    c: Point
    d: Point


@inlined
def distance(pair: Any, a: Any, b: Any, hulls: Floats) -> tuple[float, Point]:
    """How far apart two solids are, and the unit normal of a plane that parts them so, from B to A.

    Arguments and results as of `nearest_way`.
    """
    return distance_up_to(pair, a, b, hulls, math.inf, from_center(a, b))


@inlined
def from_center(a: Any, b: Any) -> Point:
    """The unit vector from B's centre to A's; where they coincide, any."""
    way = minus(point(a.center), point(b.center))
    length = math.sqrt(dot(way, way))
    if not length > COINCIDENT:
        return 0.0, 0.0, 1.0
    return way[0] / length, way[1] / length, way[2] / length


@inlined
def distance_up_to(
    pair: Any, a: Any, b: Any, hulls: Floats, enough: float, way: Point
) -> tuple[float, Point]:
    """`distance`, but of solids that are further apart than `enough` any plane that tells so.

    Arguments and results as of `nearest_way`.
    """
    found: tuple[float, Point] = nearest_way(pair, a, b, hulls, enough, way, PRECISE)
    return found


@kernel
def nearest_way(
    pair: Any, a: Any, b: Any, hulls: Floats, enough: float, way: Point, precise: float
) -> tuple[float, Point]:
    """The search itself.

    Args:
        pair: a PAIR; of a block field's blocks that at hand.
        a, b: its SHAPEs, placed in the world, with their `half` sizes.
        hulls: the numbers of all polyhedra.
        enough: from which on nobody asks how much it is [m].
        way: a guess at the normal, where the search begins.
        precise: relative, by how much the distance may still shrink.

    Returns:
        (distance [m], normal): no point of A is nearer to any of B.  Where cores overlap no plane
        parts them: how deep their radii alone are in each other, negative, and a normal of zeros.
    """
    radii = radius_around(pair.kind_a, a) + radius_around(pair.kind_b, b)
    parted, normal = part_cores(pair, a, b, hulls, enough + radii, way, precise)
    if not parted > 0.0 and not parted - radii > enough:
        return -radii, (0.0, 0.0, 0.0)
    return parted - radii, normal


@kernel
def part_cores(
    pair: Any, a: Any, b: Any, hulls: Floats, enough: float, way: Point, precise: float
) -> tuple[float, Point]:
    """The plane that parts two cores best of those that the search meets, and by how much [m].

    It is the best one where they are apart, and a good guess where they overlap (negative).
    Arguments as of `nearest_way`.
    """
    between = minus(point(a.center), point(b.center))
    scale = math.sqrt(dot(between, between)) + a.half[0] + b.half[0]
    if pair.kind_b == CYLINDER and pair.kind_a in (SPHERE, CAPSULE, BOX):
        far, n = _part_rods(pair, a, b, hulls, way, precise)
        if far > MET * scale:
            return far, n
    v = _corner(pair, a, b, hulls, way)
    simplex = Simplex(1, v, v, v, v)
    best, normal = dot(way, v), way
    if best > enough:
        return best, normal
    nearest = math.inf
    for _ in range(ROUNDS):
        length = math.sqrt(dot(v, v))
        # They have met; or rounding leaves nothing to gain
        if not length > MET * scale or not length < nearest:
            break
        nearest = length
        corner = _corner(pair, a, b, hulls, v)
        parted = dot(v, corner) / length
        if parted > best:
            best, normal = parted, (v[0] / length, v[1] / length, v[2] / length)
        if best > enough:
            break
        if length - parted <= precise * length or simplex.size == 4:
            break
        simplex, v = _nearest(_added(simplex, corner))
    return best, normal


@inlined
def _part_rods(
    pair: Any, a: Any, b: Any, hulls: Floats, way: Point, precise: float
) -> tuple[float, Point]:
    """`part_cores` of a rod and a cylinder; (0, zeros) where they overlap, or no edge is nearest.

    Which edge of a box it is, the guess tells; a plane that parts all of both as well proves it.
    """
    n = way
    for _ in range(GUESSES):
        far, n = part_rod(rod_of(pair.kind_a, a, (-n[0], -n[1], -n[2])), b)
        if pair.kind_a != BOX or not far > 0.0:
            return far, n
        parted = dot(n, _corner(pair, a, b, hulls, n))
        if far - parted <= precise * far:
            return parted, n
    return 0.0, (0.0, 0.0, 0.0)


@inlined
def separation(pair: Any, a: Any, b: Any, hulls: Floats, n: Point) -> float:
    """By how much planes across the unit vector n, which leads from B to A, part them [m]."""
    radii = radius_around(pair.kind_a, a) + radius_around(pair.kind_b, b)
    return dot(n, _corner(pair, a, b, hulls, n)) - radii


@inlined
def reach(kind: int, shape: Any, hulls: Floats, at: int, n: Point) -> float:
    """The largest n . p of a solid, for a unit vector n [m]."""
    return dot(n, support(kind, shape, hulls, at, n)) + radius_around(kind, shape)


@inlined
def radius_around(kind: int, shape: Any) -> float:
    """Of what is around a solid's core [m]."""
    return 0.0 if kind in (BOX, CONVEX, BLOCK_FIELD) or kind >= CYLINDER else shape.half[0]


@inlined
def _corner(pair: Any, a: Any, b: Any, hulls: Floats, n: Point) -> Point:
    """The corner of A - B, of their cores, that is outermost against n."""
    inward = (-n[0], -n[1], -n[2])
    p = support(pair.kind_a, a, hulls, pair.hull_a, inward)
    return minus(p, support(pair.kind_b, b, hulls, pair.hull_b, n))


@inlined
def support(kind: int, shape: Any, hulls: Floats, at: int, n: Point) -> Point:
    """The point of a solid's core that is outermost along n."""
    size, c = shape.half, point(shape.center)
    if kind == CONVEX:
        return outermost(open_polyhedron(hulls, at), shape, (1.0, 1.0, 1.0), n)
    if kind >= CYLINDER:
        return outermost_smooth(kind, shape, n)
    if kind == CAPSULE:
        axis = column(shape.R, 2)
        return along(c, size[1] if dot(axis, n) > 0.0 else -size[1], axis)
    if kind in (BOX, BLOCK_FIELD):
        own = back(shape.R, n)
        for k in range(3):
            c = along(c, size[k] if own[k] > 0.0 else -size[k], column(shape.R, k))
    return c


@inlined
def _added(s: Simplex, p: Point) -> Simplex:
    """The simplex with one corner more."""
    if s.size == 1:
        return Simplex(2, s.a, p, p, p)
    if s.size == 2:
        return Simplex(3, s.a, s.b, p, p)
    return Simplex(4, s.a, s.b, s.c, p)


@kernel
def _nearest(s: Simplex) -> tuple[Simplex, Point]:
    """The part of a simplex that its point nearest to the origin rests on, and that point."""
    if s.size == 2:
        return _on_edge(s.a, s.b)
    if s.size == 3:
        return _on_face(s.a, s.b, s.c)
    if _encloses(s):
        return s, (0.0, 0.0, 0.0)
    best, v = _on_face(s.a, s.b, s.c)
    for k in range(3):
        p, q = (s.a, s.b) if k == 0 else ((s.a, s.c) if k == 1 else (s.b, s.c))
        face, at = _on_face(p, q, s.d)
        if dot(at, at) < dot(v, v):
            best, v = face, at
    return best, v


@inlined
def _encloses(s: Simplex) -> bool:
    """Whether the origin lies within a tetrahedron: on the inner side of each of its faces."""
    return (
        _same_side(s.a, s.b, s.c, s.d)
        and _same_side(s.a, s.b, s.d, s.c)
        and _same_side(s.a, s.c, s.d, s.b)
        and _same_side(s.b, s.c, s.d, s.a)
    )


@inlined
def _same_side(a: Point, b: Point, c: Point, d: Point) -> bool:
    """Whether the origin lies on the same side of the plane through a, b and c as d does."""
    n = cross(minus(b, a), minus(c, a))
    return -dot(n, a) * dot(n, minus(d, a)) > 0.0


@inlined
def _on_edge(a: Point, b: Point) -> tuple[Simplex, Point]:
    """`_nearest` of an edge."""
    way = minus(b, a)
    square = dot(way, way)
    t = -dot(a, way) / square if square > 0.0 else 0.0
    if t <= 0.0:
        return Simplex(1, a, a, a, a), a
    if t >= 1.0:
        return Simplex(1, b, b, b, b), b
    return Simplex(2, a, b, b, b), along(a, t, way)


@kernel
def _on_face(a: Point, b: Point, c: Point) -> tuple[Simplex, Point]:
    """`_nearest` of a triangle: by the regions of its corners, edges and inside
    (Ericson, Real-Time Collision Detection, 2005, section 5.1.5)."""
    ab, ac = minus(b, a), minus(c, a)
    d1, d2 = -dot(ab, a), -dot(ac, a)
    d3, d4 = -dot(ab, b), -dot(ac, b)
    d5, d6 = -dot(ab, c), -dot(ac, c)
    over_c, over_b, over_a = d1 * d4 - d3 * d2, d5 * d2 - d1 * d6, d3 * d6 - d5 * d4
    if over_a > 0.0 and over_b > 0.0 and over_c > 0.0:
        n = cross(ab, ac)
        square = dot(n, n)
        if square > 0.0:
            return Simplex(3, a, b, c, c), along((0.0, 0.0, 0.0), dot(n, a) / square, n)
    best, v = _on_edge(a, b)
    for k in range(2):
        edge, at = _on_edge(a if k == 0 else b, c)
        if dot(at, at) < dot(v, v):
            best, v = edge, at
    return best, v
