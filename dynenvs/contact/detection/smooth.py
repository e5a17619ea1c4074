"""The slots of pairs in which one solid is smooth: a cylinder, cone or ellipsoid.

A unit, compiled when a model has such.  The direction that parts them best tells which patches
look at each other (`geometry/parting.py`, `geometry/patch.py`).  Where one point of either solid is
nearest, it is the contact.  Faces and lines that lie on each other touch at the corners of what
they share, as those of polyhedra do (`geometry/hull_hull.py`), and two lines at their ends and
where they cross.

Slots: the nearest point; corners of A, corners of B, two for each side of either, and two more
where sides cross the rim of a disc.  Over a half space the `RIM` points of a patch, over a height
field one more.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.contact.detection.geometry.borders import cast, nearest_point
from dynenvs.contact.detection.geometry.box_box import SAME, fineness, longest
from dynenvs.contact.detection.geometry.height_field import ball_on
from dynenvs.contact.detection.geometry.hull_hull import FLAT, clip
from dynenvs.contact.detection.geometry.lines import (
    ALIKE,
    fill,
    line_along_edge,
    turn_over,
    two_lines,
)
from dynenvs.contact.detection.geometry.parting import part_best
from dynenvs.contact.detection.geometry.patch import EVEN, RIM, ROOM, Patch, patch
from dynenvs.contact.detection.geometry.polyhedron import (
    Polyhedron,
    corner_of,
    minus,
    sides,
    three,
)
from dynenvs.contact.detection.geometry.spot import (
    Point,
    along,
    column,
    discard,
    dot,
    point,
)
from dynenvs.contact.detection.hulls import keep_parted, over_blocks, were_parted
from dynenvs.jit.compiled import inlined, kernel, unit
from dynenvs.memory.layout import Floats, Records, WorkView
from dynenvs.memory.records import (
    BESIDE,
    BLOCK_FIELD,
    BOX,
    CYLINDER,
    FAR,
    HALF_SPACE,
    HEIGHT_FIELD,
    LOOK,
    NEAREST,
    ON_LINE,
)

FOUND = 0
TURNS = 4  # how often the patch over a hill is looked for anew
THERE = 1e-12  # further than the nearest point: beside it [m]
ON_RIM = 1e-6  # relative: how far within a rim a corner is beside it


@unit("smooth", seconds=15)
def find_smooth_spots(w: WorkView, at: int, first: int) -> int:
    """Fill the slots of the near pair w.near[at]; all as of `find_hull_spots`."""
    pairs, heights = w.pairs, w.heights
    shapes = w.shapes
    hulls, work = w.hulls, w.hull_work
    entry = w.near[at]
    pair = pairs[entry.pair]
    a, b = shapes[pair.solid_a], shapes[pair.solid_b]
    if pair.kind_b == HALF_SPACE or pair.kind_b == HEIGHT_FIELD or pair.kind_b == BLOCK_FIELD:
        discard(w.spots, first, entry.slots)
    if pair.kind_b == HALF_SPACE:
        _on_plane(pair, a, b, hulls, work, w.spots, first)
    elif pair.kind_b == HEIGHT_FIELD:
        _over_hills(pair, a, b, heights, hulls, work, w.spots, first)
    elif pair.kind_b == BLOCK_FIELD:
        over_blocks(_near, pair, a, b, LOOK, heights, hulls, work, w.spots, first)
    else:
        if were_parted(w, entry, a, b):
            return FOUND
        gap, n = part_best(pair, a, b, hulls, entry.look)
        keep_parted(w, entry, gap, n)
        if entry.slots > 0:
            discard(w.spots, first, entry.slots)
            _meet(pair, a, b, gap, n, hulls, work, w.spots, first, pair.slots)
    return FOUND


@inlined
def _on_plane(
    pair: Any, a: Any, b: Any, hulls: Floats, work: Floats, spots: Records, first: int
) -> None:
    """The points of the patch over a half space."""
    n, origin = column(b.R, 2), point(b.center)
    down = (-n[0], -n[1], -n[2])
    own = patch(pair.kind_a, a, hulls, 0, down, (0.0, 0.0, 0.0), origin, work)
    count = own.shape.corners.shape[0] // 3
    rolls = _rolls(pair.kind_a, own)
    lowest = 1 if count == 2 and own.outermost != three(own.shape.corners, 0) else 0
    for k in range(count):
        p = three(own.shape.corners, k)
        spot = spots[first + k]
        fill(spot, p, n, dot(n, p), origin)
        if rolls:
            spot.edges = NEAREST if k == lowest or not own.single else BESIDE
        if count == 2:  # what rolls about a centre above it moves with that
            spot.radius = own.first_bend if k == 0 else own.last_bend
            for i in range(3):
                spot.center[i] += spot.radius * n[i]


@inlined
def _over_hills(
    pair: Any, a: Any, b: Any, heights: Floats, hulls: Floats, work: Floats, spots: Records,
    first: int,
) -> None:  # fmt: skip
    """The points of the patch over a height field, and one or two between them."""
    origin = (0.0, 0.0, 0.0)
    spot, foot = spots[first], point(a.center)
    for _ in range(TURNS):
        ball_on(pair, b, heights, spot, foot, 0.0)
        n = point(spot.normal)
        down = (-n[0], -n[1], -n[2])
        own = patch(pair.kind_a, a, hulls, 0, down, origin, origin, work)
        foot = own.outermost
    count = own.shape.corners.shape[0] // 3
    for k in range(count):
        ball_on(pair, b, heights, spots[first + k], three(own.shape.corners, k), 0.0)
        if count == 2:
            spots[first + k].edges = ON_LINE
        elif own.single:
            spots[first + k].edges = NEAREST if k == 0 else BESIDE
    if count == 2:
        p, q = three(own.shape.corners, 0), three(own.shape.corners, 1)
        for k in range(1, 4):
            between = along(p, 0.25 * k, minus(q, p))
            ball_on(pair, b, heights, spots[first + 1 + k], between, 0.0)
            spots[first + 1 + k].edges = ON_LINE
    elif count > 2:
        p, q = three(own.shape.corners, 0), three(own.shape.corners, RIM // 2)
        middle = along(p, 0.5, minus(q, p))
        ball_on(pair, b, heights, spots[first + count], middle, 0.0)


@inlined
def _near(
    pair: Any,
    a: Any,
    b: Any,
    look: float,
    hulls: Floats,
    work: Floats,
    spots: Records,
    first: int,
) -> None:
    """A smooth solid and a block of a field."""
    gap, n = part_best(pair, a, b, hulls, look)
    if gap <= look:
        slots = pair.slots // (pair.parts[0] * pair.parts[0])  # each block in reach has as many
        _meet(pair, a, b, gap, n, hulls, work, spots, first, slots)


@kernel
def _meet(
    pair: Any, a: Any, b: Any, gap: float, n: Point, hulls: Floats, work: Floats, spots: Records,
    first: int, slots: int,
) -> None:  # fmt: skip
    """Two solids, of which B may be a block of a field, parted best along n.

    slots: how many are theirs, from `first` on
    """
    origin = point(b.center)
    out, way = (-n[0], -n[1], -n[2]), minus(origin, point(a.center))
    one = patch(pair.kind_a, a, hulls, pair.hull_a, out, way, origin, work)
    used = _room(one)
    back = (-way[0], -way[1], -way[2])
    other = patch(pair.kind_b, b, hulls, pair.hull_b, n, back, origin, work[used:])
    size_a, size_b = _size(pair.kind_a, a), _size(pair.kind_b, b)
    fine, least = fineness(size_a, size_b), min(size_a, size_b)
    used += _room(other)
    _clip(one, other, n, fine, origin, work[used:], spots, first + 1)
    last = first + slots
    if one.single or other.single:
        p = one.outermost if one.single else along(other.outermost, gap, n)
        fill(
            spots[_place_of(spots, first, last, p, gap, n, fine * SAME, origin)], p, n, gap, origin
        )
    elif _least(spots, first, last) > gap + EVEN * least:
        fill(spots[first], nearest_point(one, other, n), n, gap, origin)
    rolls = _rolls(pair.kind_a, one) or _rolls(pair.kind_b, other)
    for k in range(first, first + slots):
        if spots[k].gap < FAR:
            spots[k].radius = one.ball
            for i in range(3):
                spots[k].center[i] += one.ball * spots[k].normal[i]
            if rolls:
                spots[k].edges = NEAREST if spots[k].gap <= gap + THERE else BESIDE


@inlined
def _least(spots: Records, first: int, last: int) -> float:
    """The least gap of some slots, or FAR [m]."""
    least = FAR
    for k in range(first, last):
        least = min(least, spots[k].gap)
    return least


@inlined
def _room(own: Patch) -> int:
    """How many numbers a patch takes."""
    shape = own.shape
    if shape.edges.shape[0] == 0:
        return ROOM
    return int(shape.corners.shape[0] + shape.normals.shape[0] + shape.levels.shape[0])


@inlined
def _rolls(kind: int, own: Patch) -> bool:
    """Whether a patch is a point or a line of a smooth solid: others touch as it rolls."""
    return kind >= CYLINDER and (own.single or sides(own.shape, own.face) == 2)


@inlined
def _place_of(
    spots: Records, first: int, last: int, p: Point, gap: float, n: Point, same: float,
    origin: Point,
) -> int:  # fmt: skip
    """The slot for the nearest point p of A: the one that is there already, along n, or the first.

    Those there along other normals, on A or on B, are discarded: where a rim leans over an edge,
    the normal of neither face is that of the contact.
    """
    found, q = first, along(p, -gap, n)
    for k in range(first + 1, last):
        if spots[k].gap < FAR:
            own, normal = minus(point(spots[k].center), origin), point(spots[k].normal)
            away, aside = minus(own, p), minus(along(own, -spots[k].gap, normal), q)
            if min(dot(away, away), dot(aside, aside)) < same * same:
                if dot(normal, n) > ALIKE and found == first:
                    found = k
                else:
                    spots[k].gap = FAR
    return found


@inlined
def _size(kind: int, shape: Any) -> float:
    """A length of a solid, for tolerances [m]."""
    return longest(shape.half) if kind in (BOX, BLOCK_FIELD) else shape.half[0]


@inlined
def _clip(
    one: Patch, other: Patch, n: Point, fine: float, origin: Point, work: Floats, spots: Records,
    first: int,
) -> None:  # fmt: skip
    """What two patches share along n, from B to A.  Points share nothing but the nearest point."""
    if one.face < 0 or other.face < 0:
        return
    few, many = sides(one.shape, one.face), sides(other.shape, other.face)
    if few == 1 or many == 1:
        return
    if few == 2 and many == 2:
        two_lines(one, other, n, origin, spots, first)
        return
    own, others = one.shape.corners.shape[0] // 3, other.shape.corners.shape[0] // 3
    sides_at = first + own + others
    rims_at = sides_at + 2 * max(few, many)
    back = (-n[0], -n[1], -n[2])
    looks, others_look, rest = work[:own], work[own : own + others], work[own + others :]
    _mark_corners(one.shape, back, looks)
    _mark_corners(other.shape, n, others_look)
    if many > 2:
        look = looks, others_look
        clip(
            one.shape, other.shape, one.face, other.face, n, fine, origin, look, rest, spots, first
        )  # fmt: skip
        if (one.radius > 0.0) != (other.radius > 0.0):  # what crosses the rim follows exactly
            discard(spots, sides_at, rims_at - sides_at)
        if one.radius > 0.0:
            _over_disc(one, other, n, origin, spots, first + own, rims_at)
        if other.radius > 0.0:
            _over_disc(other, one, n, origin, spots, first, rims_at)
        if few == 2 and other.shape.edges.shape[0] > 0:
            line_along_edge(
                one, other.shape, n, 1.0, fine * SAME, origin, spots, first, rims_at - first
            )
    else:
        look = others_look, looks
        clip(
            other.shape, one.shape, other.face, one.face, back, fine, origin, look, rest, spots,
            first,
        )  # fmt: skip
        for k in range(first, sides_at + 2 * many):
            if spots[k].gap < FAR:
                turn_over(spots[k])
        if one.radius > 0.0:
            discard(spots, sides_at, rims_at - sides_at)
            _over_disc(one, other, n, origin, spots, first, rims_at)
        if one.shape.edges.shape[0] > 0:
            line_along_edge(
                other, one.shape, n, -1.0, fine * SAME, origin, spots, first, rims_at - first
            )


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
def _over_disc(
    disc: Patch, face: Patch, n: Point, origin: Point, spots: Records, corners_at: int, rims_at: int
) -> None:
    """What of a face is over a disc, of which clipping knows a polygon alone: corners, and where
    sides cross the rim.

    n: from B to A; corners_at, rims_at: first slots of the face's corners, and of its sides
    """
    up = three(disc.shape.normals, 0)
    count = sides(face.shape, face.face)
    for side in range(count):
        k = corner_of(face.shape, face.face, side)
        p = three(face.shape.corners, k)
        q = three(face.shape.corners, corner_of(face.shape, face.face, side + 1))
        a, b = cast(p, disc.middle, up, n), minus(q, p)
        b = along(b, -dot(b, up) / dot(n, up), n)
        ab, bb, rest = dot(a, b), dot(b, b), dot(a, a) - disc.radius * disc.radius
        # Those on the rim stand on its own points
        if rest < -ON_RIM * disc.radius * disc.radius and spots[corners_at + k].gap == FAR:
            _stand(spots[corners_at + k], p, disc, up, n, origin)
        root = ab * ab - bb * rest
        # A line has one side; the rims of two discs cross where their polygons do, nearly
        if face.radius > 0.0 or not root > 0.0 or (count == 2 and side == 1):
            continue
        root = math.sqrt(root)
        for way in range(2):
            t = (-ab + root * (2.0 * way - 1.0)) / bb
            if 0.0 < t < 1.0:
                x = along(p, t, minus(q, p))
                _stand(spots[rims_at + 2 * side + way], x, disc, up, n, origin)


@inlined
def _stand(spot: Any, p: Point, disc: Patch, up: Point, n: Point, origin: Point) -> None:
    """A point of the other solid over a disc, which is of A if it looks against n."""
    gap = dot(minus(p, disc.middle), up)
    if dot(up, n) > 0.0:
        fill(spot, p, up, gap, origin)
    else:
        fill(spot, along(p, -gap, up), (-up[0], -up[1], -up[2]), gap, origin)
