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
from dynenvs.contact.detection.geometry.box_box import fineness, longest
from dynenvs.contact.detection.geometry.height_field import ball_on
from dynenvs.contact.detection.geometry.hull_hull import LOOK, hull_hull
from dynenvs.contact.detection.geometry.polyhedron import (
    Polyhedron,
    minus,
    open_polyhedron,
    outermost,
    placed,
    three,
)
from dynenvs.contact.detection.geometry.round_hull import capsule_hull, sphere_hull
from dynenvs.contact.detection.geometry.spot import (
    COINCIDENT,
    Point,
    along,
    column,
    dot,
    into,
    point,
)
from dynenvs.jit.compiled import apart, inlined, kernel
from dynenvs.memory.layout import Floats, Records, WorkView
from dynenvs.memory.records import BLOCK_FIELD, BOX, CAPSULE, CONVEX, HEIGHT_FIELD

FOUND = 0
TURNS = 6  # planes that are looked at to tell a pair that is far apart


@apart("hulls", seconds=10)
def find_hull_spots(w: WorkView, number: int, first: int) -> int:
    """Fill the slots of pair `number`, from `first` on, which come discarded.  Returns FOUND."""
    pairs, heights = w.pairs, w.heights
    shapes = w.shapes
    hulls, room = w.hulls, w.hull_room
    pair = pairs[number]
    a, b = shapes[pair.solid_a], shapes[pair.solid_b]
    round_ = pair.kind_a != BOX and pair.kind_a != CONVEX
    if pair.kind_b == CONVEX and round_:
        hull = open_polyhedron(hulls, pair.hull_b)
        if _is_far_from_ball(pair, a, b, hull):
            return FOUND
        if pair.kind_a == CAPSULE:
            capsule_hull(pair, a, b, hull, room, w.spots, first)
        else:
            sphere_hull(pair, a, b, hull, w.spots, first)
    elif pair.kind_b == HEIGHT_FIELD:
        _over_hills(pair, a, b, heights, open_polyhedron(hulls, pair.hull_a), w.spots, first)
    elif pair.kind_b == BLOCK_FIELD:
        over_blocks(_both, pair, a, b, heights, hulls, room, w.spots, first)
    else:
        _both(pair, a, b, hulls, room, w.spots, first)
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
    if _are_far(one, a, scale_a, other, b, scale_b):
        return
    place_a = placed(one, a, scale_a, origin, room)
    rest = room[one.corners.shape[0] + one.normals.shape[0] + one.levels.shape[0] :]
    place_b = placed(other, b, scale_b, origin, rest)
    size_a = longest(a.half) if pair.kind_a == BOX else pair.size_a[0]
    size_b = pair.size_b[0] if pair.kind_b == CONVEX else longest(b.half)
    hull_hull(place_a, place_b, fineness(size_a, size_b), origin, spots, first)


@inlined
def _are_far(
    one: Polyhedron, a: Any, scale_a: Point, other: Polyhedron, b: Any, scale_b: Point
) -> bool:
    """Whether a plane parts two polyhedra by more than LOOK.

    Most pairs that are near each other end here, before they are placed.  The plane is looked for
    first across the line between their centres, then by reflections (Chung, Wang, Quick collision
    detection of polytopes in virtual environments, VRST 1996): one that is not found costs time
    alone.
    """
    way = minus(point(a.center), point(b.center))
    for _ in range(TURNS):
        n = _unit(way)
        p = outermost(one, a, scale_a, (-n[0], -n[1], -n[2]))
        gap, way = _turned(n, minus(p, outermost(other, b, scale_b, n)), LOOK)
        if gap > LOOK:
            return True
    return False


@inlined
def _is_far_from_ball(pair: Any, a: Any, b: Any, hull: Polyhedron) -> bool:
    """`_are_far` for a sphere or capsule A and a hull."""
    length = pair.size_a[1] if pair.kind_a == CAPSULE else 0.0
    u, apart_ = column(a.R, 2), LOOK + pair.size_a[0]
    way = minus(point(a.center), point(b.center))
    for _ in range(TURNS):
        n = _unit(way)
        p = along(point(a.center), -length if dot(u, n) > 0.0 else length, u)
        gap, way = _turned(n, minus(p, outermost(hull, b, (1.0, 1.0, 1.0), n)), apart_)
        if gap > apart_:
            return True
    return False


@inlined
def _unit(way: Point) -> Point:
    length = math.sqrt(dot(way, way))
    if not length > COINCIDENT:
        return 0.0, 0.0, 1.0
    return way[0] / length, way[1] / length, way[2] / length


@inlined
def _turned(n: Point, between: Point, apart_: float) -> tuple[float, Point]:
    """How far planes across n part two solids, and n reflected towards a better way.

    between: from B's outermost point along n to A's lowest
    """
    gap = dot(between, n)
    short = along(between, -apart_, n)
    square = dot(short, short)
    if not square > COINCIDENT * COINCIDENT:
        return gap, n
    return gap, along(n, -2.0 * dot(short, n) / square, short)


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
def over_blocks(
    meet: Any, pair: Any, a: Any, b: Any, heights: Floats, hulls: Floats, room: Floats,
    spots: Records, first: int,
) -> None:  # fmt: skip
    """The treads of a block field, each of them a box (`box_blocks.py`), by what fills the slots of
    A and a box: `meet(pair, a, b, hulls, room, spots, first)`."""
    count = pair.parts[0]
    each = pair.slots // (count * count)
    x, y, z = into(b, point(a.center))
    i = math.floor(x / pair.dx + 0.5 * (pair.nx - count) + 0.5)
    j = math.floor(y / pair.dy + 0.5 * (pair.ny - count) + 0.5)
    window: Blocks = (i, i + count - 1, j, j + count - 1)
    size = pair.size_a[0]
    c0, c1, c2 = b.center[0], b.center[1], b.center[2]
    met = 0
    for key in range(count * count):
        k, l = number_of(key // count, i, count), number_of(key % count, j, count)
        if not is_covered(pair, heights, met, k, l, window, count):
            met |= 1 << key
            slots = first + each * key
            blocks = widened(pair, heights, k, l, window)
            h = block_height(pair, heights, k, l)
            foot = min(h, z - size) - 8.0 * size
            middle = stand(pair, b, blocks, window, h, foot, 8.0 * size)
            meet(pair, a, b, hulls, room, spots, slots)
            drop_hidden(pair, b, heights, h, middle, spots, slots, each)
            b.center[0], b.center[1], b.center[2] = c0, c1, c2
