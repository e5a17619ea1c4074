"""Convex polyhedron against convex polyhedron: hulls, and boxes as such.

The line between their nearest points (`distance.py`) tells which faces look at each other, or,
where they touch, the axis that parts them best (`separating_axis.py`).  Cast on one another along
it, the faces overlap in a polygon of corners of A over B's face, corners of B over A's face, and
crossings of their edges; each has a slot with a gap and normal of its own.

Slots: corners of A, corners of B, and two for each side of A's face: where it enters B's face and
where it leaves it.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.contact.detection.geometry.box_box import (
    ASTRAY,
    BETTER,
    SAME,
    TIE,
    WITHIN,
    takes_over,
)
from dynenvs.contact.detection.geometry.polyhedron import (
    Polyhedron,
    corner_of,
    cross,
    minus,
    sides,
    three,
)
from dynenvs.contact.detection.geometry.separating_axis import (
    PARALLEL,
    best_axis,
)
from dynenvs.contact.detection.geometry.spot import Point, along, dot
from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Floats, Records
from dynenvs.memory.records import FAR, LOOK

OUTERMOST = 1e-9  # corners no further behind the outermost one, relative to the breadth, are so too
SIDE = 7  # numbers that are listed of a face's side
INSIDE, AT, OUT = 0, 1, 2  # where a point lies that is cast on a face
FLAT = 1e-9  # faces that look at the other one by less than this cosine look past it


@inlined
def hull_hull(
    a: Polyhedron, b: Polyhedron, gap: float, way: Point, fine: float, origin: Point,
    work: Floats, spots: Records, first: int,
) -> None:  # fmt: skip
    """All slots, see above; they come discarded.

    a, b: placed in the world from `origin` on
    gap: how far apart they are [m]; negative or 0 if they overlap
    way: unit normal of a plane that parts them so, from B to A; if they overlap, a guess
    fine: their `fineness`
    work: as of `best_axis`, or three numbers for each corner of the larger one
    """
    # Of what nearly touches, rounding turns the line between the nearest points
    n = way if gap > fine * BETTER else best_axis(a, b, gap, way, fine, work)
    own, others = a.corners.shape[0] // 3, b.corners.shape[0] // 3
    looks, rest = (work[:own], work[own : own + others]), work[own + others :]
    face_a = facing(a, (-n[0], -n[1], -n[2]), looks[0], rest)
    face_b = facing(b, n, looks[1], rest)
    if face_a >= 0 and face_b >= 0:
        clip(a, b, face_a, face_b, n, fine, origin, looks, rest, spots, first)


@inlined
def clip(
    a: Polyhedron, b: Polyhedron, face_a: int, face_b: int, n: Point, fine: float, origin: Point,
    looks: tuple[Floats, Floats], work: Floats, spots: Records, first: int,
) -> None:  # fmt: skip
    """The slots of two faces that look at each other along n, from B to A.

    A's face may be a line of two corners or a single one (`smooth_solids.py`).
    looks: for each corner of A, and of B, whether it looks at the other one (`facing`)
    work: seven numbers for each side of either face
    """
    back, within = (-n[0], -n[1], -n[2]), fine * WITHIN
    sides_b = _list_sides(b, face_b, n, work)
    sides_a = _list_sides(a, face_a, back, work[SIDE * sides(b, face_b) :])
    own, others = a.corners.shape[0] // 3, b.corners.shape[0] // 3
    normal_a, normal_b = three(a.normals, face_a), three(b.normals, face_b)
    inward = (-normal_a[0], -normal_a[1], -normal_a[2])
    slant_a, slant_b = dot(n, inward), dot(n, normal_b)
    looks_a, looks_b = looks
    for i in range(own):
        p = three(a.corners, i)
        gap = dot(normal_b, p) - b.levels[face_b]
        near = gap < LOOK * slant_b and looks_a[i] > 0.0
        place = _place_over(sides_b, p, within) if near else OUT
        if place == OUT:
            continue
        normal, gap = _towards(normal_b, slant_b, gap, n)
        over = _over_edge(b, face_b, sides_b, p, gap, n, within) if place == AT else gap
        if over < gap - fine * TIE:
            normal, gap = n, over
        _fill(spots[first + i], p, normal, gap, origin)
    for j in range(others if sides(a, face_a) > 2 else 0):
        p = three(b.corners, j)
        gap = dot(normal_a, p) - a.levels[face_a]
        near = gap < LOOK * slant_a and looks_b[j] > 0.0
        place = _place_over(sides_a, p, within) if near else OUT
        if place == OUT:
            continue
        normal, gap = _towards(inward, slant_a, gap, n)
        over = _over_edge(a, face_a, sides_a, p, gap, back, within) if place == AT else gap
        if over < gap - fine * TIE:
            normal, gap = n, over
        k = _corner_at(a, spots, first, p, n, fine * SAME)
        if k < 0 or takes_over(spots, first + k, gap, fine):
            _fill(spots[first + own + j], along(p, gap, normal), normal, gap, origin)
    for side in range(_ways(a, face_a)):
        _cross(a, b, face_a, face_b, side, sides_b, n, within, origin, spots, first)


@inlined
def _towards(normal: Point, slant: float, gap: float, n: Point) -> tuple[Point, float]:
    """Normal and gap of a corner over a face with that normal, whose cosine with n is `slant`.

    While they are apart along n, no point of one is nearer to the other along it; the plane of a
    face that looks past it may be nearer by far.
    """
    if gap > 0.0 and slant < ASTRAY:
        return n, gap / slant
    return normal, gap


@inlined
def _list_sides(shape: Polyhedron, face: int, up: Point, work: Floats) -> Floats:
    """For each side of a face: its first corner, what leads inward across it, and its square.

    `up` points out of the face's front, along its normal more or less.  Inward is as long as the
    side, as it is seen along `up`.
    """
    a, found = three(shape.corners, corner_of(shape, face, 0)), work[: SIDE * sides(shape, face)]
    for k in range(sides(shape, face)):
        b = three(shape.corners, corner_of(shape, face, k + 1))
        inward, at = cross(up, minus(b, a)), SIDE * k
        found[at], found[at + 1], found[at + 2] = a
        found[at + 3], found[at + 4], found[at + 5] = inward
        found[at + 6] = dot(inward, inward)
        a = b
    return found


@inlined
def _place_over(listed: Floats, p: Point, slack: float) -> int:
    """Whether p lies INSIDE a face whose sides are listed, OUT of it, or AT a side, by `slack`."""
    place = INSIDE
    for at in range(0, listed.shape[0], SIDE):
        c = listed[at], listed[at + 1], listed[at + 2]
        away = dot(minus(p, c), (listed[at + 3], listed[at + 4], listed[at + 5]))
        if away * away <= slack * slack * listed[at + 6]:
            place = AT
        elif not away > 0.0:
            return OUT
    return place


@inlined
def _over_edge(
    shape: Polyhedron, face: int, listed: Floats, p: Point, gap: float, out: Point, slack: float
) -> float:  # fmt: skip
    """The least gap of a point over a face's plane, `gap`, and over the sides that it stands at.

    listed: the sides; out: along which the two are parted best, out of the face
    """
    for side in range(listed.shape[0] // SIDE):
        at = SIDE * side
        c = listed[at], listed[at + 1], listed[at + 2]
        away = dot(minus(p, c), (listed[at + 3], listed[at + 4], listed[at + 5]))
        if away * away <= slack * slack * listed[at + 6]:
            v = minus(three(shape.corners, corner_of(shape, face, side + 1)), c)
            flat = along(v, -dot(v, out), out)
            s = min(max(dot(minus(p, c), flat) / dot(flat, flat), 0.0), 1.0)
            gap = min(gap, dot(minus(p, along(c, s, v)), out))
    return gap


@inlined
def _ways(shape: Polyhedron, face: int) -> int:
    """How many sides a face has; one if it is a line."""
    count = sides(shape, face)
    return count if count > 2 else count - 1


@inlined
def facing(shape: Polyhedron, n: Point, looks: Floats, heights: Floats) -> int:
    """A face with all that is outermost along n, or -1; of several that which lies closest to it.

    How close, its three outermost corners tell, and the less a face looks along n, the closer it
    has to be: beside an edge the other solid lies over the face that looks at it.
    looks: becomes 1 for each corner of a face that looks along n, else 0
    heights: work array, a number for each corner
    """
    most, least = -math.inf, math.inf
    for k in range(looks.shape[0]):
        heights[k] = dot(n, three(shape.corners, k))
        most, least = max(most, heights[k]), min(least, heights[k])
        looks[k] = 0.0
    best, held, found = math.inf, 0, -1
    for f in range(shape.levels.shape[0]):
        cosine = dot(three(shape.normals, f), n)
        if cosine < FLAT:
            continue
        first, second, third, count = math.inf, math.inf, math.inf, 0
        for k in range(int(shape.firsts[f]), int(shape.firsts[f + 1])):
            corner = int(shape.loops[k])
            looks[corner] = 1.0
            depth = most - heights[corner]
            if depth <= OUTERMOST * (most - least):
                count += 1
            if depth < first:
                first, second, third = depth, first, second
            elif depth < second:
                second, third = depth, second
            elif depth < third:
                third = depth
        cost = (first + second + third + 1e-9 * (1.0 - cosine)) / cosine
        if count > held or (count == held and cost < best):
            best, held, found = cost, count, f
    return found


@inlined
def _fill(spot: Any, center: Point, n: Point, gap: float, origin: Point) -> None:
    spot.gap = gap
    spot.radius = 0.0
    for k in range(3):
        spot.center[k] = center[k] + origin[k]
        spot.normal[k] = n[k]


@inlined
def _corner_at(a: Polyhedron, spots: Records, first: int, p: Point, n: Point, same: float) -> int:
    """The corner of A that touches already where B's corner p does, or -1."""
    for i in range(a.corners.shape[0] // 3):
        if spots[first + i].gap < FAR:
            d = minus(three(a.corners, i), p)
            d = along(d, -dot(d, n), n)
            if dot(d, d) < same * same:
                return i
    return -1


@inlined
def _cross(
    a: Polyhedron, b: Polyhedron, face_a: int, face_b: int, side: int, sides_b: Floats, n: Point,
    within: float, origin: Point, spots: Records, first: int,
) -> None:  # fmt: skip
    """A side of A's face, cast along n on B's face: where it enters and where it leaves it."""
    i, j = corner_of(a, face_a, side), corner_of(a, face_a, side + 1)
    start = three(a.corners, i)
    edge = minus(three(a.corners, j), start)
    enter, leave, at_enter, at_leave = 0.0, 1.0, -1, -1
    for q in range(sides(b, face_b)):
        at = SIDE * q
        c = sides_b[at], sides_b[at + 1], sides_b[at + 2]
        inward = sides_b[at + 3], sides_b[at + 4], sides_b[at + 5]
        away, speed = dot(minus(start, c), inward), dot(edge, inward)
        slack = within * math.sqrt(sides_b[at + 6])
        if abs(speed) <= slack:
            if away < -slack:
                return
            continue
        t = -away / speed
        if speed > 0.0:
            if t > enter:
                enter, at_enter = t, q
        elif t < leave:
            leave, at_leave = t, q
        if enter > leave:  # most sides pass by
            return
    if at_enter >= 0:
        _meet(a, b, face_a, face_b, side, enter, at_enter, n, within, origin, spots, first, 0)
    if at_leave >= 0:
        _meet(a, b, face_a, face_b, side, leave, at_leave, n, within, origin, spots, first, 1)


@inlined
def _meet(
    a: Polyhedron, b: Polyhedron, face_a: int, face_b: int, side: int, t: float, q: int,
    n: Point, within: float, origin: Point, spots: Records, first: int, way: int,
) -> None:  # fmt: skip
    """A side of A's face at t, across side q of B's face.

    None at a corner, whose own slot tells of its edges, too (`_over_edge`).
    way: 0 where the side enters B's face, 1 where it leaves it
    """
    i, j = corner_of(a, face_a, side), corner_of(a, face_a, side + 1)
    k, l = corner_of(b, face_b, q), corner_of(b, face_b, q + 1)
    own, others = a.corners.shape[0] // 3, b.corners.shape[0] // 3
    place = own + others + 2 * side + way
    start, c = three(a.corners, i), three(b.corners, k)
    u, v = minus(three(a.corners, j), start), minus(three(b.corners, l), c)
    if min(t, 1.0 - t) * math.sqrt(dot(u, u)) <= within:
        return
    p = along(start, t, u)
    # Where along B's side: both cast on the plane across n
    flat_v = along(v, -dot(v, n), n)
    s = dot(minus(p, c), flat_v) / dot(flat_v, flat_v)
    inside = min(s, 1.0 - s) * math.sqrt(dot(flat_v, flat_v))
    # No corner of B stands over a line
    if inside < -within or (inside <= within and sides(a, face_a) > 2):
        return
    gap = dot(minus(p, along(c, s, v)), n)
    normal, cosine = n, 1.0
    common = cross(u, v)
    square = dot(common, common)
    if square >= PARALLEL * dot(u, u) * dot(v, v):
        size = math.sqrt(square) if dot(common, n) > 0.0 else -math.sqrt(square)
        common = (common[0] / size, common[1] / size, common[2] / size)
        if dot(common, n) >= ASTRAY:
            normal, cosine = common, dot(common, n)
    gap *= cosine
    spot = spots[first + place]
    _fill(spot, p, normal, gap, origin)
    one, other = min(i, j) * own + max(i, j), min(k, l) * others + max(k, l)
    spot.edges = 1 + one * others * others + other
