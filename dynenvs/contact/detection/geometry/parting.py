"""The direction along which two solids, one of them smooth, are nearest to each other or touch.

What parts them best: the unit vector n, from B to A, for which the least n . p of A is furthest
above the largest of B.  Where they are apart it leads from one nearest point to the other
(`distance.py`).  Where they touch these points coincide and tell nothing.  So A is moved out along
the direction so far until the two are a little apart, which yields a better direction; and so on.
The direction sought is the one that this leaves as it is.  With r the sum of the radii of curvature
and d that distance, an error shrinks by d / (r + d) each time.

Between a face, and a direction that rounding alone makes another one, the face is right.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.contact.detection.geometry.distance import (
    PRECISE,
    distance_up_to,
    from_center,
    part_cores,
    radius_around,
    separation,
    support,
)
from dynenvs.contact.detection.geometry.overlap import along_faces, round_depth
from dynenvs.contact.detection.geometry.polyhedron import minus, open_polyhedron, three
from dynenvs.contact.detection.geometry.smooth_solids import least_size
from dynenvs.contact.detection.geometry.spot import (
    Point,
    along,
    back,
    column,
    dot,
    into,
    point,
    turned,
)
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.memory.layout import Floats
from dynenvs.memory.records import BLOCK_FIELD, BOX, CONE_GEOM, CONVEX, CYLINDER

ROUNDS = 12
OUT = 1e-3  # how far apart solids are moved, relative to the smooth one's least size
CONVERGED = 1e-10  # change of a direction that is none
ROUGH = 1e-4  # relative: how well a distance is known that only tells where the search begins
EVEN = 1.0 - 1e-15  # cosine between directions that are the same
ALIKE = 0.99  # cosine with a face's normal from which that is tried
EXACT = 1e-14  # relative: what rounding makes of a distance


@kernel
def part_best(pair: Any, a: Any, b: Any, hulls: Floats, enough: float) -> tuple[float, Point]:
    """The gap of two solids [m], negative if they overlap, and the direction of it.

    enough: as of `distance_up_to`

    Args:
        pair: a PAIR; of a block field's blocks that at hand.
        a, b: its SHAPEs, placed in the world, with their `half` sizes; A is moved and put back.
        hulls: the numbers of all polyhedra.
    """
    radii = radius_around(pair.kind_a, a) + radius_around(pair.kind_b, b)
    way = from_center(a, b)
    parted, n = part_cores(pair, a, b, hulls, enough + radii, way, PRECISE)
    gap = parted - radii
    if gap > enough:
        return gap, n
    apart_ = OUT * least_size(pair, a, b)
    if parted < apart_:
        settled = False
        if not parted > 0.0:
            depth, face = along_faces(pair, a, b, hulls)
            other = -separation(pair, a, b, hulls, n)
            if not other < depth:  # what is round has few faces, and they may be far from there
                n, settled = face, _rests(pair, a, b, hulls, face)
            if not settled:
                _, n = round_depth(pair, a, b, hulls, min(depth, other), n, ROUGH)
        if not settled:
            n = _settled(pair, a, b, hulls, n, apart_ - radii)
        gap = separation(pair, a, b, hulls, n)
    return _on_faces(pair, a, b, hulls, gap, n)


@inlined
def _rests(pair: Any, a: Any, b: Any, hulls: Floats, n: Point) -> bool:
    """Whether n is normal to a face of one solid, and the other one's outermost point lies over it.

    Then no direction near n parts them better.  A hull's faces do not count: they may be splinters
    of what is flat, each with a normal of its own.
    """
    out = (-n[0], -n[1], -n[2])
    p, q = (
        support(pair.kind_a, a, hulls, pair.hull_a, out),
        support(pair.kind_b, b, hulls, pair.hull_b, n),
    )
    return _is_over(pair.kind_b, b, hulls, pair.hull_b, n, p) or _is_over(
        pair.kind_a, a, hulls, pair.hull_a, out, q
    )


@inlined
def _is_over(kind: int, shape: Any, hulls: Floats, at: int, n: Point, p: Point) -> bool:
    """Whether n is the outward normal of a face of a solid, and the point p lies over that face."""
    normal, face = _nearest_face(kind, shape, hulls, at, n)
    if kind == CONVEX or not dot(normal, n) > EVEN:
        return False
    own, size = into(shape, p), shape.half
    if kind in (CYLINDER, CONE_GEOM):
        return bool(own[0] * own[0] + own[1] * own[1] <= size[0] * size[0])
    # Of a box: within both other sides
    over = True
    for k in range(3):
        over = over and (k == face or abs(own[k]) <= size[k])
    return bool(over)


@inlined
def _settled(pair: Any, a: Any, b: Any, hulls: Floats, n: Point, apart_: float) -> Point:
    """The direction that parts them best where they are moved apart along it so far [m]."""
    x, y, z = point(a.center)
    for _ in range(ROUNDS):
        out = along((x, y, z), apart_ - separation(pair, a, b, hulls, n), n)
        a.center[0], a.center[1], a.center[2] = out
        _, then = distance_up_to(pair, a, b, hulls, math.inf, n)
        a.center[0], a.center[1], a.center[2] = x, y, z
        if dot(then, then) == 0.0:
            break
        change = minus(then, n)
        n = then
        if dot(change, change) < CONVERGED * CONVERGED:
            break
    return n


@inlined
def _on_faces(
    pair: Any, a: Any, b: Any, hulls: Floats, gap: float, n: Point
) -> tuple[float, Point]:
    """The normal of a face that is nearly n, where it parts the solids as well."""
    between = minus(point(a.center), point(b.center))
    rounding = EXACT * (math.sqrt(dot(between, between)) + a.half[0] + b.half[0])
    for side in range(2):
        other = n
        if side == 0:
            other, _ = _nearest_face(pair.kind_b, b, hulls, pair.hull_b, n)
        else:
            out = (-n[0], -n[1], -n[2])
            (x, y, z), _ = _nearest_face(pair.kind_a, a, hulls, pair.hull_a, out)
            other = (-x, -y, -z)
        if dot(other, n) > ALIKE:
            found = separation(pair, a, b, hulls, other)
            if found >= gap - rounding:
                return found, other
    return gap, n


@inlined
def _nearest_face(kind: int, shape: Any, hulls: Floats, at: int, n: Point) -> tuple[Point, int]:
    """The outward normal of a flat face that looks along n most, or zeros if there is none.

    And its number: of a hull's face, or of the axis that it is normal to.
    """
    most, normal, best = -math.inf, (0.0, 0.0, 0.0), 0
    if kind in (CYLINDER, CONE_GEOM):
        axis = column(shape.R, 2)
        down = (-axis[0], -axis[1], -axis[2])
        normal = axis if kind == CYLINDER and dot(axis, n) > 0.0 else down
    elif kind == CONVEX:
        own, inside = open_polyhedron(hulls, at), back(shape.R, n)
        for f in range(own.levels.shape[0]):
            if dot(three(own.normals, f), inside) > most:
                most, best = dot(three(own.normals, f), inside), f
        normal = turned(shape.R, three(own.normals, best))
    elif kind in (BOX, BLOCK_FIELD):
        for k in range(3):
            axis = column(shape.R, k)
            if abs(dot(axis, n)) > most:
                most, best = abs(dot(axis, n)), k
                normal = axis if dot(axis, n) > 0.0 else (-axis[0], -axis[1], -axis[2])
    return normal, best
