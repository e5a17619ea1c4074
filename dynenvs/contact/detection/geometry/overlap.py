"""How deep two convex solids are in each other: an upper bound, and as a rule the depth itself.

Along any direction n they overlap by max_B n . p - min_A n . p: moved apart by as much, they do not
overlap.  The least of it over all directions is the depth.  The best normal of a face is where the
search begins.  Then A is moved out along the best direction so far, a little further than it takes,
and what now parts the two most (`distance.py`) is tried in turn: across two edges, or from a corner
or a round part, it asks for less.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.contact.detection.geometry.distance import (
    PRECISE,
    distance,
    nearest_way,
    part_cores,
    reach,
    separation,
)
from dynenvs.contact.detection.geometry.polyhedron import minus, open_polyhedron, three
from dynenvs.contact.detection.geometry.smooth_solids import least_size
from dynenvs.contact.detection.geometry.spot import Point, along, column, dot, point, turned
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.memory.layout import Floats
from dynenvs.memory.records import BLOCK_FIELD, BOX, CONVEX, CYLINDER

ROUNDS = 8
THIN = 1e-4  # of the least size, from which the far side is tried, too
BEYOND = 0.01  # of the depth, by which A is moved further out than it takes


@kernel
def overlap(pair: Any, a: Any, b: Any, hulls: Floats) -> tuple[float, Point]:
    """How deep two solids are in each other, and the unit direction in which A would have to leave.

    Args:
        pair: a PAIR; of a block field's blocks that at hand.
        a, b: its SHAPEs, placed in the world, with their `half` sizes; A is moved and put back.
        hulls: the numbers of all polyhedra.

    Returns:
        (depth [m], direction): what is apart has a negative depth, its distance.
    """
    gap, normal = distance(pair, a, b, hulls)
    if dot(normal, normal) > 0.0:
        return -gap, normal
    return depth_of(pair, a, b, hulls)


@kernel
def depth_of(pair: Any, a: Any, b: Any, hulls: Floats) -> tuple[float, Point]:
    """`overlap` of two solids that are known to be in each other."""
    depth, normal = along_faces(pair, a, b, hulls)
    if pair.kind_a < CYLINDER and pair.kind_b < CYLINDER:
        return less_deep(pair, a, b, hulls, depth, normal, PRECISE)
    # What is round has few faces, and they may be far from what touches
    _, then = part_cores(pair, a, b, hulls, math.inf, normal, PRECISE)
    other = -separation(pair, a, b, hulls, then)
    if other < depth:
        depth, normal = other, then
    return round_depth(pair, a, b, hulls, depth, normal, PRECISE)


@kernel
def round_depth(
    pair: Any, a: Any, b: Any, hulls: Floats, depth: float, normal: Point, precise: float
) -> tuple[float, Point]:
    """`less_deep` where one solid is smooth; of what is thin the far side is tried, too."""
    depth, normal = less_deep(pair, a, b, hulls, depth, normal, precise)
    if depth < THIN * least_size(pair, a, b):
        return depth, normal
    then = (-normal[0], -normal[1], -normal[2])
    other = -separation(pair, a, b, hulls, then)
    other, then = less_deep(pair, a, b, hulls, other, then, precise)
    return (other, then) if other < depth else (depth, normal)


@kernel
def less_deep(
    pair: Any, a: Any, b: Any, hulls: Floats, depth: float, normal: Point, precise: float
) -> tuple[float, Point]:
    """`overlap`, from a direction along which two solids are so deep in each other.

    precise: as of `nearest_way`; the search ends where the depth gains less, too
    """
    x, y, z = point(a.center)
    for _ in range(ROUNDS):
        out = along((x, y, z), depth * (1.0 + BEYOND), normal)
        a.center[0], a.center[1], a.center[2] = out
        _, then = nearest_way(pair, a, b, hulls, math.inf, normal, precise)
        a.center[0], a.center[1], a.center[2] = x, y, z
        if not dot(then, then) > 0.0:
            break
        other = -separation(pair, a, b, hulls, then)
        if not other < depth:
            break
        last, depth, normal = depth, other, then
        if depth > last * (1.0 - precise):
            break
    return depth, normal


@inlined
def along_faces(pair: Any, a: Any, b: Any, hulls: Floats) -> tuple[float, Point]:
    """`overlap` along the best of the line between their centres and the normals of all faces."""
    n = minus(point(a.center), point(b.center))
    length = math.sqrt(dot(n, n))
    normal = (n[0] / length, n[1] / length, n[2] / length) if length > 0.0 else (0.0, 0.0, 1.0)
    depth = -separation(pair, a, b, hulls, normal)
    for side in range(2):
        kind, at = (pair.kind_a, pair.hull_a) if side == 0 else (pair.kind_b, pair.hull_b)
        shape = a if side == 0 else b
        faces = 0
        if kind in (BOX, BLOCK_FIELD):
            faces = 6
        elif kind == CONVEX:
            faces = open_polyhedron(hulls, at).levels.shape[0]
        elif kind >= CYLINDER:
            faces = 2
        for f in range(faces):
            if kind in (BOX, BLOCK_FIELD):
                n = along((0.0, 0.0, 0.0), 1.0 - 2.0 * (f % 2), column(shape.R, f // 2))
                other = -separation(pair, a, b, hulls, n)
            elif kind >= CYLINDER:
                n = along((0.0, 0.0, 0.0), 1.0 - 2.0 * f, column(shape.R, 2))
                other = -separation(pair, a, b, hulls, n)
            else:  # of the two only the other one's outermost point is to be looked for
                own = open_polyhedron(hulls, at)
                n = turned(shape.R, three(own.normals, f))
                other = own.levels[f] + dot(n, point(shape.center))
                if side == 0:
                    n = (-n[0], -n[1], -n[2])
                    other += reach(pair.kind_b, b, hulls, pair.hull_b, n)
                else:
                    other += reach(pair.kind_a, a, hulls, pair.hull_a, (-n[0], -n[1], -n[2]))
            if other < depth:
                depth, normal = other, n
    return depth, normal
