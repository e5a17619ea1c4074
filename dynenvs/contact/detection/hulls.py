"""The slots of pairs in which one is a convex hull; compiled apart, when a model first has such."""

from __future__ import annotations

import math
from typing import Any

from dynenvs.contact.detection.geometry.block_field import block_height
from dynenvs.contact.detection.geometry.box_blocks import (
    Blocks,
    drop_hidden,
    is_covered,
    number_of,
    stand,
    widened,
)
from dynenvs.contact.detection.geometry.height_field import ball_on
from dynenvs.contact.detection.geometry.hull_hull import LOOK, hull_hull
from dynenvs.contact.detection.geometry.polyhedron import (
    Polyhedron,
    minus,
    open_polyhedron,
    placed,
    three,
)
from dynenvs.contact.detection.geometry.round_hull import capsule_hull, sphere_hull
from dynenvs.contact.detection.geometry.spot import COINCIDENT, Point, back, dot, into, point
from dynenvs.jit.compiled import apart, inlined, kernel
from dynenvs.memory.layout import (
    Bytes,
    Floats,
    Records,
    open_hulls,
    open_model,
    open_pairs,
    open_solids,
    open_workspace,
)
from dynenvs.memory.records import BLOCK_FIELD, BOX, CAPSULE, CONVEX, HEIGHT_FIELD

FOUND = 0


@apart("int64(uint8[::1], uint8[::1], int64, int64)", "hulls", seconds=8)
def find_hull_spots(packed: Bytes, buffer: Bytes, number: int, first: int) -> int:
    """Fill the slots of pair `number`, from `first` on, which come discarded.  Returns FOUND."""
    m = open_model(packed)
    w = open_workspace(m, buffer)
    pairs, heights = open_pairs(m, packed)
    _, shapes = open_solids(m, packed, buffer)
    hulls, room = open_hulls(m, packed, buffer)
    pair = pairs[number]
    a, b = shapes[pair.solid_a], shapes[pair.solid_b]
    if pair.kind_b == HEIGHT_FIELD:
        _over_hills(pair, a, b, heights, open_polyhedron(hulls, pair.hull_a), w.spots, first)
    elif pair.kind_b == BLOCK_FIELD:
        _over_blocks(pair, a, b, heights, hulls, room, w.spots, first)
    elif pair.kind_a == BOX or pair.kind_a == CONVEX:
        _both(pair, a, b, hulls, room, w.spots, first)
    elif pair.kind_a == CAPSULE:
        hull = open_polyhedron(hulls, pair.hull_b)
        capsule_hull(pair, a, b, hull, room, w.spots, first)
    else:
        sphere_hull(pair, a, b, open_polyhedron(hulls, pair.hull_b), w.spots, first)
    return FOUND


@inlined
def _scale(kind: int, shape: Any) -> Point:
    """Of the axes of a polyhedron: a box's is a cube."""
    return point(shape.half) if kind in (BOX, BLOCK_FIELD) else (1.0, 1.0, 1.0)


@kernel
def _both(
    pair: Any, a: Any, b: Any, hulls: Floats, room: Floats, spots: Records, first: int
) -> None:
    """Two polyhedra, placed in the world from B's centre on; b may be a block of a field."""
    origin = point(b.center)
    one, other = open_polyhedron(hulls, pair.hull_a), open_polyhedron(hulls, pair.hull_b)
    scale_a, scale_b = _scale(pair.kind_a, a), _scale(pair.kind_b, b)
    if _parted(one, a, scale_a, other, b, scale_b) > LOOK:
        return
    place_a = placed(one, a, scale_a, origin, room)
    rest = room[one.corners.shape[0] + one.normals.shape[0] + one.levels.shape[0] :]
    place_b = placed(other, b, scale_b, origin, rest)
    hull_hull(place_a, place_b, origin, spots, first)


@inlined
def _parted(
    one: Polyhedron, a: Any, scale_a: Point, other: Polyhedron, b: Any, scale_b: Point
) -> float:
    """How far a plane across the line between their centres parts two polyhedra [m].

    Most pairs that are near each other end here, before they are placed.
    """
    d = minus(point(a.center), point(b.center))
    length = math.sqrt(dot(d, d))
    if not length > COINCIDENT:
        return 0.0
    n = (d[0] / length, d[1] / length, d[2] / length)
    back_ = (-n[0], -n[1], -n[2])
    return length - _reach(one, a, scale_a, back_) - _reach(other, b, scale_b, n)


@inlined
def _reach(own: Polyhedron, shape: Any, scale: Point, n: Point) -> float:
    """How far a polyhedron reaches from its centre along n [m]."""
    x, y, z = back(shape.R, n)
    x, y, z = scale[0] * x, scale[1] * y, scale[2] * z
    most = -math.inf
    for i in range(0, own.corners.shape[0], 3):
        c = own.corners
        most = max(most, x * c[i] + y * c[i + 1] + z * c[i + 2])
    return most


@inlined
def _over_hills(
    pair: Any, a: Any, b: Any, heights: Floats, hull: Polyhedron, spots: Records, first: int
) -> None:
    """Each corner as a point on a height field."""
    R, c = a.R, a.center
    for k in range(hull.corners.shape[0] // 3):
        x, y, z = three(hull.corners, k)
        p = (
            c[0] + R[0, 0] * x + R[0, 1] * y + R[0, 2] * z,
            c[1] + R[1, 0] * x + R[1, 1] * y + R[1, 2] * z,
            c[2] + R[2, 0] * x + R[2, 1] * y + R[2, 2] * z,
        )
        ball_on(pair, b, heights, spots[first + k], p, 0.0)


@inlined
def _over_blocks(
    pair: Any, a: Any, b: Any, heights: Floats, hulls: Floats, room: Floats, spots: Records,
    first: int,
) -> None:  # fmt: skip
    """The treads of a block field, each of them a box (`box_blocks.py`)."""
    count = pair.parts[0]
    each = pair.slots // (count * count)
    x, y, z = into(b, point(a.center))
    i = math.floor(x / pair.dx + 0.5 * (pair.nx - count) + 0.5)
    j = math.floor(y / pair.dy + 0.5 * (pair.ny - count) + 0.5)
    window: Blocks = (i, i + count - 1, j, j + count - 1)
    size = pair.size_a[0]
    c0, c1, c2 = b.center[0], b.center[1], b.center[2]
    for key in range(count * count):
        k, l = number_of(key // count, i, count), number_of(key % count, j, count)
        if not is_covered(pair, heights, key, k, l, window, count):
            slots = first + each * key
            blocks = widened(pair, heights, k, l, window)
            h = block_height(pair, heights, k, l)
            foot = min(h, z - size) - 8.0 * size
            middle = stand(pair, b, blocks, window, h, foot, 8.0 * size)
            _both(pair, a, b, hulls, room, spots, slots)
            drop_hidden(pair, b, heights, h, middle, spots, slots, each)
            b.center[0], b.center[1], b.center[2] = c0, c1, c2
