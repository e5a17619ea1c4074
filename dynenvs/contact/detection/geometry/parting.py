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
    distance_up_to,
    from_center,
    radius_around,
    separation,
)
from dynenvs.contact.detection.geometry.overlap import depth_of
from dynenvs.contact.detection.geometry.polyhedron import minus, open_polyhedron, three
from dynenvs.contact.detection.geometry.smooth_solids import least_size
from dynenvs.contact.detection.geometry.spot import Point, along, back, column, dot, point, turned
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.memory.layout import Floats
from dynenvs.memory.records import BLOCK_FIELD, BOX, CONE_GEOM, CONVEX, CYLINDER

ROUNDS = 12
OUT = 1e-3  # how far apart solids are moved, relative to the smooth one's least size
CONVERGED = 1e-10  # change of a direction that is none
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
    gap, n = distance_up_to(pair, a, b, hulls, enough, from_center(a, b))
    if gap > enough:
        return gap, n
    radii = radius_around(pair.kind_a, a) + radius_around(pair.kind_b, b)
    apart_ = math.inf
    if pair.kind_a >= CYLINDER:
        apart_ = OUT * least_size(pair.kind_a, a)
    if pair.kind_b >= CYLINDER:
        apart_ = min(apart_, OUT * least_size(pair.kind_b, b))
    if dot(n, n) == 0.0 or gap + radii < apart_:
        if dot(n, n) == 0.0:
            _, n = depth_of(pair, a, b, hulls)
        n = _settled(pair, a, b, hulls, n, apart_ - radii)
        gap = separation(pair, a, b, hulls, n)
    return _on_faces(pair, a, b, hulls, gap, n)


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
            other = _nearest_face(pair.kind_b, b, hulls, pair.hull_b, n)
        else:
            x, y, z = _nearest_face(pair.kind_a, a, hulls, pair.hull_a, (-n[0], -n[1], -n[2]))
            other = (-x, -y, -z)
        if dot(other, n) > ALIKE:
            found = separation(pair, a, b, hulls, other)
            if found >= gap - rounding:
                return found, other
    return gap, n


@inlined
def _nearest_face(kind: int, shape: Any, hulls: Floats, at: int, n: Point) -> Point:
    """The outward normal of a flat face that looks along n most; zeros if there is none."""
    most, normal = -math.inf, (0.0, 0.0, 0.0)
    if kind in (CYLINDER, CONE_GEOM):
        axis = column(shape.R, 2)
        down = (-axis[0], -axis[1], -axis[2])
        normal = axis if kind == CYLINDER and dot(axis, n) > 0.0 else down
    elif kind == CONVEX:
        own, inside, best = open_polyhedron(hulls, at), back(shape.R, n), 0
        for f in range(own.levels.shape[0]):
            if dot(three(own.normals, f), inside) > most:
                most, best = dot(three(own.normals, f), inside), f
        normal = turned(shape.R, three(own.normals, best))
    elif kind in (BOX, BLOCK_FIELD):
        for k in range(3):
            axis = column(shape.R, k)
            if abs(dot(axis, n)) > most:
                most = abs(dot(axis, n))
                normal = axis if dot(axis, n) > 0.0 else (-axis[0], -axis[1], -axis[2])
    return normal
