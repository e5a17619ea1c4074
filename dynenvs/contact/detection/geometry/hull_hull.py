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
from typing import Any, NamedTuple

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
from dynenvs.lcp.workspace import integer
from dynenvs.memory.layout import Floats, Records
from dynenvs.memory.records import FAR, NEAR

PARALLEL = 1e-6  # squared sine between edges
OUTERMOST = 1e-9  # corners no further behind the outermost one, relative to the breadth, are so too
SURE = 1e-3  # of what edges reach: by so much more an edge is too deep, whatever is rounded
FLAT = 1e-9  # faces that look at the other one by less than this cosine look past it


class Separation(NamedTuple):
    """What is known of two polyhedra before they are looked at: their distance."""

    gap: float  # [m]; negative or 0 if they overlap
    way: Point  # if not, unit normal of a plane that parts them so, from B to A


@inlined
def hull_hull(
    a: Polyhedron, b: Polyhedron, separation: Separation, fine: float, origin: Point,
    work: Floats, spots: Records, first: int,
) -> None:  # fmt: skip
    """All slots, see above; they come discarded.

    a, b: placed in the world from `origin` on
    fine: their `fineness`
    work: eleven numbers for each edge of B, or one for each of its corners and A's
    """
    n = best_axis(a, b, separation, fine, work)
    face_a, face_b = facing(a, (-n[0], -n[1], -n[2])), facing(b, n)
    if face_a >= 0 and face_b >= 0:
        clip(a, b, face_a, face_b, n, fine, origin, work, spots, first)


@inlined
def clip(
    a: Polyhedron, b: Polyhedron, face_a: int, face_b: int, n: Point, fine: float, origin: Point,
    work: Floats, spots: Records, first: int,
) -> None:  # fmt: skip
    """The slots of two faces that look at each other along n, from B to A.

    A's face may be a line of two corners or a single one (`smooth_solids.py`).
    work: a number for each corner of either
    """
    back, within = (-n[0], -n[1], -n[2]), fine * WITHIN
    own, others = a.corners.shape[0] // 3, b.corners.shape[0] // 3
    normal_a, normal_b = three(a.normals, face_a), three(b.normals, face_b)
    inward = (-normal_a[0], -normal_a[1], -normal_a[2])
    slant_a, slant_b = dot(n, inward), dot(n, normal_b)
    looks_a, looks_b = work[:own], work[own : own + others]
    _mark_corners(a, back, looks_a)
    _mark_corners(b, n, looks_b)
    for i in range(own):
        p = three(a.corners, i)
        gap = dot(normal_b, p) - b.levels[face_b]
        if gap < NEAR * slant_b and looks_a[i] > 0.0 and within_face(b, face_b, p, n, within):
            _fill(spots[first + i], p, normal_b, gap, origin)
    for j in range(others if sides(a, face_a) > 2 else 0):
        p = three(b.corners, j)
        gap = dot(normal_a, p) - a.levels[face_a]
        near = gap < NEAR * slant_a and looks_b[j] > 0.0
        over = near and within_face(a, face_a, p, back, within)
        if over and not _taken(a, spots, first, p, n, fine * SAME):
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
def _parts(shape: Polyhedron, n: Point, level: float, most: float, hint: int) -> tuple[float, int]:
    """How far the plane n . x = level parts all corners from what is below it.

    The search ends at a corner that it does not part by more than `most`; that is returned, too.
    It begins at `hint`, where the last one ended: faces side by side mostly fail at one corner.
    """
    c = shape.corners
    least, at = n[0] * c[hint] + n[1] * c[hint + 1] + n[2] * c[hint + 2] - level, hint
    i = integer(0)
    while i < c.shape[0] and least > most:
        reach = n[0] * c[i] + n[1] * c[i + 1] + n[2] * c[i + 2] - level
        if reach < least:
            least, at = reach, i
        i += 3
    return least, at


@inlined
def best_axis(
    a: Polyhedron, b: Polyhedron, separation: Separation, fine: float, work: Floats
) -> Point:
    """Unit normal from B to A of the axis that parts them best.

    Along n two that are `gap` apart along `way` are parted by no more than gap n . way.
    """
    tie, better = fine * TIE, fine * BETTER
    gap = separation.gap if separation.gap > tie else math.inf
    best, normal, hint = -math.inf, (0.0, 0.0, 1.0), integer(0)
    for f in range(b.levels.shape[0]):
        n = three(b.normals, f)
        if gap < math.inf and gap * dot(n, separation.way) < best:
            continue
        s, hint = _parts(a, n, b.levels[f], best + tie, hint)
        if s > best + tie:
            best, normal = s, n
    others, hint = best + better, integer(0)
    for f in range(a.levels.shape[0]):
        x, y, z = three(a.normals, f)
        n = (-x, -y, -z)
        if gap < math.inf and gap * dot(n, separation.way) < best:
            continue
        s, hint = _parts(b, (x, y, z), a.levels[f], others, hint)
        if s > others:
            best, others, normal = s, s + tie, n
    if gap <= best + tie:  # no edges part them better
        return normal
    reach = gap if gap < math.inf else max(-best, 0.0)
    return _edge_axis(a, b, best + tie, normal, reach + fine * WITHIN, work)


@inlined
def _edge_axis(
    a: Polyhedron, b: Polyhedron, others: float, normal: Point, reach: float, work: Floats
) -> Point:
    """The best axis, where two edges may part the polyhedra better than any face.

    Those of which the best axis is made come as near to each other as the polyhedra are apart, or
    deep in each other: so each lies no further behind the other one's outermost point, along the
    best face's normal.  And no point of one solid lies deeper behind both faces of the other's edge
    than the axis leaves them overlapping: its normal is a sum of theirs (`_hides`).

    others: by how much any other axis must part them to be better [m]
    reach: how near to each other those edges come, at most [m]
    work: eleven numbers for each edge of B
    """
    face, most = normal, b.edges.shape[0] // 4
    above = -_least(b, (-face[0], -face[1], -face[2])) + reach
    below = _least(a, face) - reach
    # B's edges that may be it: their numbers, where they lead, and the normals of their faces
    number, crosses = work[:most], work[most : 2 * most]
    vx, vy, vz = (
        work[2 * most : 3 * most],
        work[3 * most : 4 * most],
        work[4 * most : 5 * most],
    )
    lx, ly, lz = (
        work[5 * most : 6 * most],
        work[6 * most : 7 * most],
        work[7 * most : 8 * most],
    )
    rx, ry, rz = (
        work[8 * most : 9 * most],
        work[9 * most : 10 * most],
        work[10 * most : 11 * most],
    )
    # A point of each, in the middle of what overlaps; where that of one is in the other one, too,
    # it is used for both
    deep = max(-others, 0.0) + reach * SURE
    in_a, in_b = _middle(a, face, -math.inf, above), _middle(b, face, below, math.inf)
    for_a = in_a if _is_within(b, in_a) else in_b
    for_b = in_b if _is_within(a, in_b) else in_a
    count = 0
    for j in range(0, b.edges.shape[0], 4):
        r, s = three(b.corners, int(b.edges[j])), three(b.corners, int(b.edges[j + 1]))
        if max(dot(face, r), dot(face, s)) >= below and not (
            _hides(b, j, in_a, deep) or _hides(b, j, for_b, deep)
        ):
            number[count] = j
            vx[count], vy[count], vz[count] = minus(s, r)
            lx[count], ly[count], lz[count] = three(b.normals, int(b.edges[j + 2]))
            rx[count], ry[count], rz[count] = three(b.normals, int(b.edges[j + 3]))
            count += 1
    for i in range(0, a.edges.shape[0], 4):
        p, q = three(a.corners, int(a.edges[i])), three(a.corners, int(a.edges[i + 1]))
        if min(dot(face, p), dot(face, q)) > above or (
            _hides(a, i, in_b, deep) or _hides(a, i, for_a, deep)
        ):
            continue
        u = minus(q, p)
        one, other = three(a.normals, int(a.edges[i + 2])), three(a.normals, int(a.edges[i + 3]))
        # The arc of A's normals against those of B's, turned round: most end here, by a loop that
        # the compiler makes of vectors
        for k in range(count):
            on_one = one[0] * vx[k] + one[1] * vy[k] + one[2] * vz[k]
            on_other = other[0] * vx[k] + other[1] * vy[k] + other[2] * vz[k]
            on_left = u[0] * lx[k] + u[1] * ly[k] + u[2] * lz[k]
            on_right = u[0] * rx[k] + u[1] * ry[k] + u[2] * rz[k]
            crosses[k] = max(on_one * on_other, on_left * on_right)
        for k in range(count):
            if not crosses[k] < 0.0:
                continue
            left, right = (lx[k], ly[k], lz[k]), (rx[k], ry[k], rz[k])
            if not _same_side(one, other, left, right):
                continue
            v, r = (vx[k], vy[k], vz[k]), three(b.corners, int(b.edges[int(number[k])]))
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
                parted = _least(a, n) + _least(b, (-n[0], -n[1], -n[2]))
                if parted > others:
                    others, normal = parted, n
    return normal


@inlined
def _middle(shape: Polyhedron, n: Point, low: float, high: float) -> Point:
    """The mean of the corners whose height along n is from low to high; of none, a corner."""
    x = y = z = 0.0
    count = 0
    for i in range(shape.corners.shape[0] // 3):
        c = three(shape.corners, i)
        if low <= dot(n, c) <= high:
            x, y, z, count = x + c[0], y + c[1], z + c[2], count + 1
    if count == 0:
        return three(shape.corners, 0)
    return x / count, y / count, z / count


@inlined
def _is_within(shape: Polyhedron, p: Point) -> bool:
    """Whether a point is behind all faces."""
    for f in range(shape.levels.shape[0]):
        if dot(three(shape.normals, f), p) > shape.levels[f]:
            return False
    return True


@inlined
def _hides(shape: Polyhedron, edge: int, p: Point, deep: float) -> bool:
    """Whether a point of the other solid lies so deep behind both faces of an edge.

    The axis n of an edge, of length 1, is a sum of the normals of its faces with weights that are
    not negative, and of sum 1 at least: so it leaves an overlap of that depth.
    """
    f, g = int(shape.edges[edge + 2]), int(shape.edges[edge + 3])
    return (
        shape.levels[f] - dot(three(shape.normals, f), p) >= deep
        and shape.levels[g] - dot(three(shape.normals, g), p) >= deep
    )


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
def _mark_corners(shape: Polyhedron, n: Point, looks: Floats) -> None:
    """Write 1 for each corner of a face that looks along n, else 0; of a solid without edges, 1."""
    for k in range(looks.shape[0]):
        looks[k] = 1.0 if shape.edges.shape[0] == 0 else 0.0
    for f in range(shape.levels.shape[0] if shape.edges.shape[0] > 0 else 0):
        if dot(three(shape.normals, f), n) > FLAT:
            for k in range(sides(shape, f)):
                looks[corner_of(shape, f, k)] = 1.0


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
