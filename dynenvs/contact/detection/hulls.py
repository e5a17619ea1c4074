"""The slots of pairs in which one is a convex hull; a unit, compiled when a model has such."""

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
from dynenvs.contact.detection.geometry.distance import distance_up_to, from_center, separation
from dynenvs.contact.detection.geometry.height_field import ball_on
from dynenvs.contact.detection.geometry.hull_hull import hull_hull
from dynenvs.contact.detection.geometry.polyhedron import (
    Polyhedron,
    open_polyhedron,
    placed,
    three,
)
from dynenvs.contact.detection.geometry.round_hull import capsule_hull, sphere_hull
from dynenvs.contact.detection.geometry.spot import (
    Point,
    discard,
    dot,
    into,
    point,
)
from dynenvs.jit.compiled import inlined, kernel, unit
from dynenvs.memory.layout import Floats, Records, WorkView
from dynenvs.memory.records import (
    BLOCK_FIELD,
    BOX,
    CAPSULE,
    CONVEX,
    FAR,
    HEIGHT_FIELD,
    LOOK,
    SPHERE,
)

FOUND = 0
UNIT = 1e-9  # by how much the square of a unit vector may be another number


@unit("hulls", seconds=10)
def find_hull_spots(w: WorkView, at: int, first: int) -> int:
    """Fill the slots of the near pair w.near[at], from `first` on.  Returns FOUND.

    A pair further apart than its `look` has no slots, and that becomes 0.
    """
    pairs, heights = w.pairs, w.heights
    shapes = w.shapes
    hulls, work = w.hulls, w.hull_work
    entry = w.near[at]
    pair, look = pairs[entry.pair], entry.look
    a, b = shapes[pair.solid_a], shapes[pair.solid_b]
    if pair.kind_b == HEIGHT_FIELD:
        discard(w.spots, first, entry.slots)
        _over_hills(pair, a, b, heights, open_polyhedron(hulls, pair.hull_a), w.spots, first)
        return FOUND
    if pair.kind_b == BLOCK_FIELD:
        discard(w.spots, first, entry.slots)
        over_blocks(_both, pair, a, b, LOOK, heights, hulls, work, w.spots, first)
        return FOUND
    gap, way = -FAR, (0.0, 0.0, 0.0)
    if not were_parted(w, entry, a, b):
        gap, way = distance_up_to(pair, a, b, hulls, look, from_center(a, b))
        keep_parted(w, entry, gap, way)
    if entry.slots == 0:
        return FOUND
    discard(w.spots, first, entry.slots)
    if pair.kind_b == CONVEX and pair.kind_a == CAPSULE:
        capsule_hull(pair, a, b, open_polyhedron(hulls, pair.hull_b), work, w.spots, first)
    elif pair.kind_b == CONVEX and pair.kind_a == SPHERE:
        sphere_hull(pair, a, b, open_polyhedron(hulls, pair.hull_b), w.spots, first)
    else:
        _fill(pair, a, b, gap, way, hulls, work, w.spots, first)
    return FOUND


@inlined
def were_parted(w: WorkView, entry: Any, a: Any, b: Any) -> bool:
    """Whether the plane that parted a pair the last time still parts it by more than its `look`.

    Then it has no slots.  The last caller may have been another world: whatever the normal
    is, if it is one, the answer is right.
    """
    n = point(w.broad.ways[entry.pair])
    if not abs(dot(n, n) - 1.0) < UNIT:
        return False
    gap = separation(w.pairs[entry.pair], a, b, w.hulls, n)
    parted = gap > entry.look
    if parted:
        entry.look, entry.slots, entry.gap = 0.0, 0, gap
    return bool(parted)


@inlined
def keep_parted(w: WorkView, entry: Any, gap: float, n: Point) -> None:
    """Keep the normal of the plane that parts a pair, by `gap`; if there is one, it is not zero.

    Further apart than its `look`, the pair has no slots.
    """
    if dot(n, n) > 0.0:
        way = w.broad.ways[entry.pair]
        way[0], way[1], way[2] = n
    entry.gap = gap
    if gap > entry.look:
        entry.look, entry.slots = 0.0, 0


@inlined
def _scale(kind: int, shape: Any) -> Point:
    """Of the axes of a polyhedron: a box's is a cube."""
    return point(shape.half) if kind in (BOX, BLOCK_FIELD) else (1.0, 1.0, 1.0)


@inlined
def _both(
    pair: Any,
    a: Any,
    b: Any,
    look: float,
    hulls: Floats,
    work: Floats,
    spots: Records,
    first: int,
) -> None:
    """A polyhedron and a block of a field."""
    gap, way = distance_up_to(pair, a, b, hulls, look, from_center(a, b))
    if gap <= look:
        _fill(pair, a, b, gap, way, hulls, work, spots, first)


@kernel
def _fill(
    pair: Any, a: Any, b: Any, gap: float, way: Point, hulls: Floats, work: Floats, spots: Records,
    first: int,
) -> None:  # fmt: skip
    """Two polyhedra, placed in the world from B's centre on; b may be a block of a field."""
    origin = point(b.center)
    if not gap > 0.0:
        way = from_center(a, b)
    one, other = open_polyhedron(hulls, pair.hull_a), open_polyhedron(hulls, pair.hull_b)
    place_a = placed(one, a, _scale(pair.kind_a, a), origin, work)
    rest = work[one.corners.shape[0] + one.normals.shape[0] + one.levels.shape[0] :]
    place_b = placed(other, b, _scale(pair.kind_b, b), origin, rest)
    rest = rest[other.corners.shape[0] + other.normals.shape[0] + other.levels.shape[0] :]
    size_a = longest(a.half) if pair.kind_a == BOX else pair.size_a[0]
    size_b = pair.size_b[0] if pair.kind_b == CONVEX else longest(b.half)
    fine = fineness(size_a, size_b)
    hull_hull(place_a, place_b, gap, way, fine, origin, rest, spots, first)


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
    meet: Any, pair: Any, a: Any, b: Any, look: float, heights: Floats, hulls: Floats,
    work: Floats, spots: Records, first: int,
) -> None:  # fmt: skip
    """The treads of a block field, each of them a box (`box_blocks.py`), by what fills the slots of
    A and a box: `meet(pair, a, b, look, hulls, work, spots, first)`."""
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
            meet(pair, a, b, look, hulls, work, spots, slots)
            drop_hidden(pair, b, heights, h, middle, spots, slots, each)
            b.center[0], b.center[1], b.center[2] = c0, c1, c2
