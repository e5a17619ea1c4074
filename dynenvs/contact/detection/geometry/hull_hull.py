"""Convex polyhedron against convex polyhedron: hulls, and boxes as such.

As for two boxes (`box_box.py`): the separating axis of least overlap, out of the normals of all
faces and the products of those edges whose arcs cross on the sphere of directions (Gregorius, The
Separating Axis Test, Game Developers Conference 2013), tells which faces look at each other.  Cast
on one another along it, they overlap in a polygon of corners of A over B's face, corners of B over
A's face, and crossings of their edges; each has a slot with a gap and normal of its own.

Slots: corners of A, corners of B, and two for each side of A's face: where it enters B's face and
where it leaves it.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.contact.detection.geometry.box_box import ASTRAY, BETTER, SAME, TIE, WITHIN
from dynenvs.contact.detection.geometry.polyhedron import (
    Polyhedron,
    corner_of,
    cross,
    minus,
    sides,
    three,
    within_face,
)
from dynenvs.contact.detection.geometry.spot import Point, along, dot
from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Records
from dynenvs.memory.records import FAR, NEAR

LOOK = 0.02  # hulls further apart than this show no slots: many of a robot are near others [m]
SIGHT = 0.005  # edges further than this beyond the other's outermost point take no part [m]
PARALLEL = 1e-6  # squared sine between edges
OUTERMOST = 1e-9  # corners no further behind the outermost one, relative to the breadth, are so too
FLAT = 1e-9  # faces that look at the other one by less than this cosine look past it


@inlined
def hull_hull(
    a: Polyhedron, b: Polyhedron, fine: float, origin: Point, spots: Records, first: int
) -> None:
    """All slots, see above; they come discarded.

    a, b: placed in the world from `origin` on
    fine: their `fineness`
    """
    separation, n = _axis(a, b, fine)
    if separation > LOOK:
        return
    face_a, face_b = facing(a, (-n[0], -n[1], -n[2])), facing(b, n)
    if face_a >= 0 and face_b >= 0:
        clip(a, b, face_a, face_b, n, fine, origin, spots, first)


@inlined
def clip(
    a: Polyhedron, b: Polyhedron, face_a: int, face_b: int, n: Point, fine: float, origin: Point,
    spots: Records, first: int,
) -> None:  # fmt: skip
    """The slots of two faces that look at each other along n, from B to A.

    A's face may be a line of two corners or a single one (`smooth_solids.py`).
    """
    back, within = (-n[0], -n[1], -n[2]), fine * WITHIN
    own, others = a.corners.shape[0] // 3, b.corners.shape[0] // 3
    normal_a, normal_b = three(a.normals, face_a), three(b.normals, face_b)
    inward = (-normal_a[0], -normal_a[1], -normal_a[2])
    slant_a, slant_b = dot(n, inward), dot(n, normal_b)
    for i in range(own):
        p = three(a.corners, i)
        gap = dot(normal_b, p) - b.levels[face_b]
        if gap < NEAR * slant_b and within_face(b, face_b, p, n, within) and _looks(a, i, back):
            _fill(spots[first + i], p, normal_b, gap, origin)
    for j in range(others if sides(a, face_a) > 2 else 0):
        p = three(b.corners, j)
        gap = dot(normal_a, p) - a.levels[face_a]
        over = gap < NEAR * slant_a and within_face(a, face_a, p, back, within)
        if over and _looks(b, j, n) and not _taken(a, spots, first, p, n, fine * SAME):
            _fill(spots[first + own + j], along(p, gap, inward), inward, gap, origin)
    for side in range(_ways(a, face_a)):
        place = first + own + others + 2 * side
        _cross(a, b, face_a, face_b, side, n, within, origin, spots, place)


@inlined
def _ways(shape: Polyhedron, face: int) -> int:
    """How many sides a face has; one if it is a line."""
    count = sides(shape, face)
    return count if count > 2 else count - 1


@inlined
def _least(shape: Polyhedron, n: Point) -> float:
    """The least n . p of all corners."""
    least = math.inf
    for i in range(0, shape.corners.shape[0], 3):
        c = shape.corners
        least = min(least, n[0] * c[i] + n[1] * c[i + 1] + n[2] * c[i + 2])
    return least


@inlined
def _parts(shape: Polyhedron, n: Point, level: float, most: float) -> float:
    """How far the plane n . x = level parts all corners from what is below it.

    The search ends at a corner that it does not part by more than `most`.
    """
    least = math.inf
    for i in range(0, shape.corners.shape[0], 3):
        c = shape.corners
        least = min(least, n[0] * c[i] + n[1] * c[i + 1] + n[2] * c[i + 2] - level)
        if not least > most:
            break
    return least


@inlined
def _axis(a: Polyhedron, b: Polyhedron, fine: float) -> tuple[float, Point]:
    """(separation, unit normal from B to A) of the best axis, or of one that parts them by LOOK."""
    tie, better = fine * TIE, fine * BETTER
    best, normal = -math.inf, (0.0, 0.0, 1.0)
    for f in range(b.levels.shape[0]):
        n = three(b.normals, f)
        s = _parts(a, n, b.levels[f], best + tie)
        if s > best + tie:
            best, normal = s, n
            if best > LOOK:
                return best, normal
    others = best + better
    for f in range(a.levels.shape[0]):
        n = three(a.normals, f)
        s = _parts(b, n, a.levels[f], others)
        if s > others:
            best, others, normal = s, s + tie, (-n[0], -n[1], -n[2])
            if best > LOOK:
                return best, normal
    return _edge_axis(a, b, best, best + tie, normal)


@inlined
def _edge_axis(
    a: Polyhedron, b: Polyhedron, best: float, others: float, normal: Point
) -> tuple[float, Point]:
    """The best axis, where two edges may part the polyhedra better than any face.

    Edges that take part reach, along the best face's normal, about as far as anything does: the
    nearest points of the polyhedra lie no further behind than these are apart.
    """
    face = normal
    sight = max(best, 0.0) + SIGHT
    above = -_least(b, (-face[0], -face[1], -face[2])) + sight
    below = _least(a, face) - sight
    for i in range(0, a.edges.shape[0], 4):
        p, q = three(a.corners, int(a.edges[i])), three(a.corners, int(a.edges[i + 1]))
        if min(dot(face, p), dot(face, q)) > above:
            continue
        u = minus(q, p)
        one, other = three(a.normals, int(a.edges[i + 2])), three(a.normals, int(a.edges[i + 3]))
        for j in range(0, b.edges.shape[0], 4):
            r, s = three(b.corners, int(b.edges[j])), three(b.corners, int(b.edges[j + 1]))
            if max(dot(face, r), dot(face, s)) < below:
                continue
            v = minus(s, r)
            # The arc of A's normals against that of B's, turned round
            if not dot(one, v) * dot(other, v) < 0.0:
                continue
            left = three(b.normals, int(b.edges[j + 2]))
            right = three(b.normals, int(b.edges[j + 3]))
            if not (dot(left, u) * dot(right, u) < 0.0 and _same_side(one, other, left, right)):
                continue
            n = cross(u, v)
            square = dot(n, n)
            if square < PARALLEL * dot(u, u) * dot(v, v):
                continue
            length = math.sqrt(square)
            if dot(n, one) + dot(n, other) > 0.0:
                length = -length
            n = (n[0] / length, n[1] / length, n[2] / length)
            if dot(n, minus(p, r)) > others:
                # Where faces are parallel the arcs cross by rounding alone, and other corners lie
                # further out: only what parts all of them counts
                apart = _least(a, n) + _least(b, (-n[0], -n[1], -n[2]))
                if apart > others:
                    best, others, normal = apart, apart, n
    return best, normal


@inlined
def _same_side(a: Point, b: Point, left: Point, right: Point) -> bool:
    """Whether the arcs from a to b and from -left to -right lie on the same half of the sphere."""
    c, d = (-left[0], -left[1], -left[2]), (-right[0], -right[1], -right[2])
    return dot(c, cross(b, a)) * dot(b, cross(d, c)) > 0.0


@inlined
def facing(shape: Polyhedron, n: Point) -> int:
    """A face with all that is outermost along n, or -1; of several that which lies closest to it.

    How close, its three outermost corners tell, not how much it looks along n: what is near the
    other solid counts, however steep.
    """
    most, least = -_least(shape, (-n[0], -n[1], -n[2])), _least(shape, n)
    best, held, found = math.inf, 0, -1
    for f in range(shape.levels.shape[0]):
        cosine = dot(three(shape.normals, f), n)
        if cosine < FLAT:
            continue
        first, second, third, count = math.inf, math.inf, math.inf, 0
        for k in range(sides(shape, f)):
            depth = most - dot(three(shape.corners, corner_of(shape, f, k)), n)
            if depth <= OUTERMOST * (most - least):
                count += 1
            if depth < first:
                first, second, third = depth, first, second
            elif depth < second:
                second, third = depth, second
            elif depth < third:
                third = depth
        cost = first + second + third + 1e-9 * (1.0 - cosine)
        if count > held or (count == held and cost < best):
            best, held, found = cost, count, f
    return found


@inlined
def _looks(shape: Polyhedron, corner: int, n: Point) -> bool:
    """Whether a corner belongs to a face that looks along n; of a solid without edges each does."""
    found = shape.edges.shape[0] == 0
    for e in range(0, shape.edges.shape[0], 4):
        if int(shape.edges[e]) == corner or int(shape.edges[e + 1]) == corner:
            for k in range(2):
                normal = three(shape.normals, int(shape.edges[e + 2 + k]))
                found = found or dot(normal, n) > FLAT
    return found


@inlined
def _fill(spot: Any, center: Point, n: Point, gap: float, origin: Point) -> None:
    spot.gap = gap
    spot.radius = 0.0
    for k in range(3):
        spot.center[k] = center[k] + origin[k]
        spot.normal[k] = n[k]


@inlined
def _taken(a: Polyhedron, spots: Records, first: int, p: Point, n: Point, same: float) -> bool:
    """Whether a corner of A that touches already stands on B's corner p."""
    found = False
    for i in range(a.corners.shape[0] // 3):
        if spots[first + i].gap < FAR:
            d = minus(three(a.corners, i), p)
            d = along(d, -dot(d, n), n)
            found = found or dot(d, d) < same * same
    return found


@inlined
def _cross(
    a: Polyhedron, b: Polyhedron, face_a: int, face_b: int, side: int, n: Point, within: float,
    origin: Point, spots: Records, first: int,
) -> None:  # fmt: skip
    """A side of A's face, cast along n on B's face: where it enters and where it leaves it."""
    i, j = corner_of(a, face_a, side), corner_of(a, face_a, side + 1)
    start = three(a.corners, i)
    edge = minus(three(a.corners, j), start)
    enter, leave, at_enter, at_leave = 0.0, 1.0, -1, -1
    for q in range(sides(b, face_b)):
        c = three(b.corners, corner_of(b, face_b, q))
        d = three(b.corners, corner_of(b, face_b, q + 1))
        inward = cross(n, minus(d, c))
        away, speed = dot(minus(start, c), inward), dot(edge, inward)
        slack = within * math.sqrt(dot(inward, inward))
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
    if enter > leave:
        return
    if at_enter >= 0:
        _meet(a, b, face_b, i, j, enter, at_enter, n, within, origin, spots[first])
    if at_leave >= 0:
        _meet(a, b, face_b, i, j, leave, at_leave, n, within, origin, spots[first + 1])


@inlined
def _meet(
    a: Polyhedron, b: Polyhedron, face: int, i: int, j: int, t: float, q: int, n: Point,
    within: float, origin: Point, spot: Any,
) -> None:  # fmt: skip
    """The side from corner i to j of A at t, across side q of B's face, between their ends."""
    k, l = corner_of(b, face, q), corner_of(b, face, q + 1)
    start, c = three(a.corners, i), three(b.corners, k)
    u, v = minus(three(a.corners, j), start), minus(three(b.corners, l), c)
    length = math.sqrt(dot(u, u))
    if min(t, 1.0 - t) * length <= within:
        return
    p = along(start, t, u)
    # Where along B's side: both cast on the plane across n
    flat_v = along(v, -dot(v, n), n)
    s = dot(minus(p, c), flat_v) / dot(flat_v, flat_v)
    if min(s, 1.0 - s) * math.sqrt(dot(flat_v, flat_v)) <= within:
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
    _fill(spot, p, normal, gap * cosine, origin)
    own, others = a.corners.shape[0] // 3, b.corners.shape[0] // 3
    one, other = min(i, j) * own + max(i, j), min(k, l) * others + max(k, l)
    spot.edges = 1 + one * others * others + other
