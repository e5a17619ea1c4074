"""Box against box: the corners and edges of the two faces that look at each other.

The separating axis of least overlap among the 15 candidates of the separating-axis theorem (faces
of both boxes, products of their edges; Gottschalk, Lin and Manocha 1996; Ericson, 4.4.1) tells
which faces these are.  Cast on one another along it, the faces overlap in a polygon made of corners
of A over B's face, corners of B over A's face, and crossings of their edges (Sutherland and Hodgman
1974).  Each of these is a slot with a gap and normal of its own: of a corner, those of the other's
face; of a crossing, those of the two edges' common perpendicular.  So what touches does not
depend on the axis, and nothing jumps where the axis changes over.

Slots: 8 corners of A, 8 corners of B, 16 crossings of A's edge p and B's edge q on the way round
the faces.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.contact.detection.geometry.spot import (
    Point,
    along,
    column,
    discard,
    dot,
    point,
)
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.memory.layout import Floats, Records

# Lengths for solids of a centimetre or more; below, they shrink with the smaller one (`fineness`)
WITHIN = 1e-7  # a corner this far outside a face still stands on it [m]
SAME = 1e-6  # corners this close to each other are one contact [m]
BETTER = 1e-6  # by which A's face must part the boxes better than B's face [m]
TIE = 1e-9  # by which whatever else must part them better than what came before [m]
SMALL = 0.01  # [m]
ASTRAY = 0.9  # cosine: a perpendicular further than this from the axis is no way apart
SLOTS = 32  # of a pair


@inlined
def fineness(size_a: float, size_b: float) -> float:
    """What the tolerances above are multiplied by for solids of these sizes [m]."""
    return min(1.0, min(size_a, size_b) / SMALL)


@inlined
def longest(half: Floats) -> float:
    """Half of a box's longest edge [m]."""
    return max(half[0], max(half[1], half[2]))


@inlined
def _extent(shape: Any, n: Point) -> float:
    """How far a box reaches along the unit vector n from its centre [m]."""
    half = shape.half
    return (
        half[0] * abs(dot(column(shape.R, 0), n))
        + half[1] * abs(dot(column(shape.R, 1), n))
        + half[2] * abs(dot(column(shape.R, 2), n))
    )


@inlined
def _toward(n: Point, d: Point) -> Point:
    """n or -n, whichever does not point against d."""
    return n if dot(n, d) >= 0.0 else (-n[0], -n[1], -n[2])


@kernel
def part_by_face(a: Any, b: Any) -> tuple[float, Point]:
    """(separation, unit normal from B to A) of the best face."""
    d, fine = _between(a, b), _fineness(a, b)
    tie, better = fine * TIE, fine * BETTER
    best, normal = -math.inf, (0.0, 0.0, 1.0)
    for k in range(3):
        n = _toward(column(b.R, k), d)
        s = dot(n, d) - b.half[k] - _extent(a, n)
        if s > best + tie:
            best, normal = s, n
    others = best + better
    for k in range(3):
        n = _toward(column(a.R, k), d)
        s = dot(n, d) - a.half[k] - _extent(b, n)
        if s > others:
            best, others, normal = s, s + tie, n
    return best, normal


@inlined
def _perpendicular(u: Point, v: Point, d: Point) -> tuple[bool, Point]:
    """Unit normal of two edges that does not point against d, unless they are nearly parallel."""
    x = u[1] * v[2] - u[2] * v[1]
    y = u[2] * v[0] - u[0] * v[2]
    z = u[0] * v[1] - u[1] * v[0]
    square = x * x + y * y + z * z
    if square < 1e-6:
        return False, d
    length = math.sqrt(square)
    return True, _toward((x / length, y / length, z / length), d)


@inlined
def _axis(a: Any, b: Any, d: Point, fine: float, best: float, normal: Point) -> Point:
    """Unit normal from B to A of the best axis, if that of the best face parts them by `best`."""
    others = best + fine * TIE
    for i in range(3):
        u = column(a.R, i)
        for j in range(3):
            crossed, n = _perpendicular(u, column(b.R, j), d)
            if crossed:
                s = dot(n, d) - _extent(a, n) - _extent(b, n)
                if s > others:
                    others, normal = s, n
    return normal


@inlined
def _between(a: Any, b: Any) -> Point:
    """From B's centre to A's."""
    return a.center[0] - b.center[0], a.center[1] - b.center[1], a.center[2] - b.center[2]


@inlined
def _fineness(a: Any, b: Any) -> float:
    """`fineness` of two boxes."""
    return fineness(longest(a.half), longest(b.half))


@kernel
def box_box(a: Any, b: Any, separation: float, n: Point, spots: Records, first: int) -> None:
    """Fill the slots, see above; they come discarded.

    separation, n: of the best face (`part_by_face`)
    """
    fine = _fineness(a, b)
    within = fine * WITHIN
    n = _axis(a, b, _between(a, b), fine, separation, n)
    _choose_face(a, (-n[0], -n[1], -n[2]))
    _choose_face(b, n)
    _cast_corners(a, b, n, within)
    _cast_corners(b, a, n, within)
    normal_a, normal_b = point(a.normal), point(b.normal)
    inward, back = (-normal_a[0], -normal_a[1], -normal_a[2]), (-n[0], -n[1], -n[2])
    for p in range(4):
        if a.inside[p]:
            normal, gap = normal_b, a.gaps[p] * dot(n, normal_b)
            over = _over_edge(a, b, p, gap, n, within)
            if over < gap - fine * TIE:
                normal, gap = n, over
            _fill(spots[first + a.numbers[p]], point(a.corners[p]), normal, gap)
    for p in range(4):
        if b.inside[p]:
            normal, gap = inward, -b.gaps[p] * dot(n, inward)
            over = _over_edge(b, a, p, gap, back, within)
            if over < gap - fine * TIE:
                normal, gap = n, over
            k = _corner_at(a, b, p, fine * SAME)
            if k < 0 or takes_over(spots, first + a.numbers[k], gap, fine):
                spot = spots[first + 8 + b.numbers[p]]
                _fill(spot, along(point(b.corners[p]), gap, normal), normal, gap)
    for p in range(4):
        for q in range(4):
            _cross(a, b, p, q, n, within, spots[first + 16 + 4 * p + q])


@inlined
def _fill(spot: Any, center: Point, n: Point, gap: float) -> None:
    spot.gap = gap
    spot.radius = 0.0
    spot.center[0], spot.center[1], spot.center[2] = center[0], center[1], center[2]
    spot.normal[0], spot.normal[1], spot.normal[2] = n[0], n[1], n[2]


@inlined
def _choose_face(shape: Any, n: Point) -> None:
    """The face that looks most along n: its frame, corners on the way round and their numbers."""
    half = shape.half
    axis, most = 0, -1.0
    for k in range(3):
        cosine = abs(dot(column(shape.R, k), n))
        if cosine > most:
            axis, most = k, cosine
    i, j = (axis + 1) % 3, (axis + 2) % 3
    side = 1.0 if dot(column(shape.R, axis), n) > 0.0 else -1.0
    shape.hu, shape.hv = half[i], half[j]
    for k in range(3):
        shape.normal[k] = side * shape.R[k, axis]
        shape.u[k], shape.v[k] = shape.R[k, i], shape.R[k, j]
        shape.face[k] = shape.center[k] + half[axis] * shape.normal[k]
    for p in range(4):
        on_u, on_v = p in (1, 2), p >= 2
        shape.numbers[p] = (int(side > 0.0) << axis) | (int(on_u) << i) | (int(on_v) << j)
        x = shape.hu if on_u else -shape.hu
        y = shape.hv if on_v else -shape.hv
        for k in range(3):
            shape.corners[p, k] = shape.face[k] + x * shape.u[k] + y * shape.v[k]


@inlined
def _cast_corners(shape: Any, other: Any, n: Point, within: float) -> None:
    """Cast the face's corners along n on the other's face: gap along n, place, whether inside."""
    normal = point(other.normal)
    slant = dot(n, normal)
    for p in range(4):
        corner = point(shape.corners[p])
        x = corner[0] - other.face[0], corner[1] - other.face[1], corner[2] - other.face[2]
        gap = dot(x, normal) / slant
        foot = along(x, -gap, n)
        on_u, on_v = dot(foot, point(other.u)), dot(foot, point(other.v))
        shape.gaps[p] = gap
        shape.feet[p, 0], shape.feet[p, 1] = on_u, on_v
        inside = abs(on_u) <= other.hu + within and abs(on_v) <= other.hv + within
        shape.inside[p] = 1 if inside else 0


@inlined
def _over_edge(shape: Any, other: Any, p: int, gap: float, out: Point, within: float) -> float:
    """Gap of a corner over the edges of the other's face that it stands at; `gap` if at none.

    gap: over the face's plane; out: along which the two are parted best, out of the face
    """
    on_u, on_v = shape.feet[p, 0], shape.feet[p, 1]
    u = on_u - math.copysign(other.hu, on_u)
    v = on_v - math.copysign(other.hv, on_v)
    at_u, at_v = abs(u) <= within, abs(v) <= within
    if not (at_u or at_v):
        return gap
    u, v = u * dot(out, point(other.u)), v * dot(out, point(other.v))
    over = min(u, v, u + v) if at_u and at_v else (u if at_u else v)
    return gap / dot(out, point(other.normal)) + over


@inlined
def _corner_at(a: Any, b: Any, p: int, same: float) -> int:
    """The corner of A's face that touches already where corner p of B's does, or -1."""
    x = -b.hu if p in (0, 3) else b.hu
    y = -b.hv if p < 2 else b.hv
    for k in range(4):
        if a.inside[k] and abs(a.feet[k, 0] - x) < same and abs(a.feet[k, 1] - y) < same:
            return k
    return -1


@inlined
def takes_over(spots: Records, at: int, gap: float, fine: float) -> bool:
    """Whether a corner of B lies deeper than that of A there, whose slot is `at`.

    The two are one contact, and the deeper one tells how deep it is: the other slot is discarded.
    """
    deeper = gap < spots[at].gap - fine * TIE
    if deeper:
        discard(spots, at, 1)
    return bool(deeper)


@inlined
def _cross(a: Any, b: Any, p: int, q: int, n: Point, within: float, spot: Any) -> None:
    """A's edge from corner p to the next, cast on B's face, across B's edge q: inside both."""
    r = (p + 1) % 4
    x0, y0, x1, y1 = a.feet[p, 0], a.feet[p, 1], a.feet[r, 0], a.feet[r, 1]
    along_u = q == 0 or q == 2
    if along_u:  # B's edges v = -hv and v = hv; otherwise u = hu and u = -hu
        level = -b.hv if q == 0 else b.hv
        start, end, bound = y0, y1, b.hu
    else:
        level = b.hu if q == 1 else -b.hu
        start, end, bound = x0, x1, b.hv
    if not abs(end - start) > within:
        return
    t = (level - start) / (end - start)
    place = x0 + t * (x1 - x0) if along_u else y0 + t * (y1 - y0)
    length = math.sqrt((x1 - x0) ** 2 + (y1 - y0) ** 2)
    if not (min(t, 1.0 - t) * length > within and abs(place) < bound - within):
        return
    c, e = point(a.corners[p]), point(a.corners[r])
    edge = (e[0] - c[0], e[1] - c[1], e[2] - c[2])
    size = math.sqrt(dot(edge, edge))
    u = (edge[0] / size, edge[1] / size, edge[2] / size)
    v = point(b.u) if along_u else point(b.v)
    crossed, normal = _perpendicular(u, v, n)
    cosine = dot(normal, n)
    if not crossed or cosine < ASTRAY:
        normal, cosine = n, 1.0
    gap = a.gaps[p] + t * (a.gaps[r] - a.gaps[p])
    _fill(spot, along(c, t, edge), normal, gap * cosine)
    spot.edges = _edge_number(a, p) * 12 + _edge_number(b, q)


@inlined
def _edge_number(shape: Any, p: int) -> int:
    """0 to 11: which edge of the box leads from corner p of the face to the next."""
    low = min(shape.numbers[p], shape.numbers[(p + 1) % 4])
    high = max(shape.numbers[p], shape.numbers[(p + 1) % 4])
    axis = (high - low) // 2  # they differ in one bit: 1, 2 or 4
    # Without that bit, the lower corner's number counts the four edges along the axis
    return 4 * axis + (low & (high - low - 1)) + (low >> (axis + 1) << axis)
