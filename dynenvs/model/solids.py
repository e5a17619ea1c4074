"""Pairs of solids as kernels read them: PAIR and SOLID records, and where their slots are.

A pair of solids touches in several ways (two boxes in up to 32), and a world remembers something of
each.  Where all pairs of a model have few slots together, each keeps its own for ever, and every
contact candidate has a fixed number by which environments can read it.  The number of pairs grows
with the square of the number of loose parts, though, while only neighbours are near each other.  In
large scenes a pair of two loose solids therefore has slots only while it is near: it gets the first
free block out of a pool, and gives it back when it has parted and nothing of it is remembered
(`dynenvs.contact.detection.broad_phase`).  Solids over a height or block field keep their slots for
ever even
there: there are only as many such pairs as solids.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynenvs.memory.layout import Floats, Ints, Records
from dynenvs.memory.records import (
    BLOCK_FIELD,
    BOX,
    CONE_GEOM,
    CONVEX,
    CYLINDER,
    ELLIPSOID,
    HALF_SPACE,
    HEIGHT_FIELD,
    LOOK,
    NEAR,
    POINT,
    SEEN,
    SPHERE,
)
from dynenvs.model.pairs import SMOOTH, SolidPairs
from dynenvs.model.parts import Geom
from dynenvs.model.polyhedra import inner_radius, polyhedra

SLOTS_KEPT = 20_000  # of all pairs together, up to which every pair keeps its own ...
PAIRS_KEPT = 2000  # ... and of the pairs themselves
BLOCKS = 3  # for each solid of a large scene, to begin with
FIELDS = (HEIGHT_FIELD, BLOCK_FIELD)
GROUNDS = (*FIELDS, HALF_SPACE)  # without end
POLYHEDRAL = (CONVEX, *SMOOTH)  # pairs in which boxes are polyhedra, too
# Numbers that two patches of smooth solids take, with marks and sides (`geometry.patch`)
PATCHES = 2 * (40 + 8 + 7 * 8)


class SlotPlan(NamedTuple):
    """Which pairs keep slots of their own, and the pool for the others."""

    first: Ints  # each pair's first own slot, or -1, shape (pairs,)
    own: Ints  # numbers of the pairs that have their own, in order
    own_slots: int  # of these together
    blocks: int  # in the pool
    block_slots: int  # of each of its blocks


def plan_slots(pairs: SolidPairs, geoms: tuple[Geom, ...], blocks: int | None = None) -> SlotPlan:
    """Where the slots of all pairs are.

    blocks: of the pool, if there is one; a few for each solid if None
    """
    kinds = np.array([geom.kind for geom in geoms], dtype=np.int64)
    # Few: all keep theirs.  Many: only those with the ground, of which there are as many as solids
    many = int(pairs.slots.sum()) > SLOTS_KEPT or len(pairs.slots) > PAIRS_KEPT
    own = np.isin(kinds[pairs.geom_b], GROUNDS) if many else np.ones(len(pairs.slots), bool)
    kept = np.where(own, pairs.slots, 0)
    first = np.where(own, np.cumsum(kept) - kept, -1)
    # The rest share a pool, of which each block has room for the largest of them
    pooled = int((~own).sum())
    if pooled and blocks is None:
        blocks = BLOCKS * len(solid_numbers(pairs))
    return SlotPlan(
        first,
        np.flatnonzero(own),
        int(kept.sum()),
        min(max(blocks or 0, 1), pooled),
        int(pairs.slots[~own].max(initial=0)),
    )


def solid_numbers(pairs: SolidPairs) -> Ints:
    """Numbers of the geoms that are in some pair, in order: the solids."""
    return np.union1d(pairs.geom_a, pairs.geom_b).astype(np.int64)


def field_numbers(pairs: SolidPairs, geoms: tuple[Geom, ...]) -> list[int]:
    """Numbers of the height and block fields among the solids, in the order of the pairs."""
    return [k for k in dict.fromkeys(pairs.geom_b.tolist()) if geoms[k].kind in FIELDS]


def fill_pairs(
    records: Records,
    solids: Records,
    heights: Floats,
    hulls: Floats,
    pairs: SolidPairs,
    plan: SlotPlan,
    geoms: tuple[Geom, ...],
    body_index: dict[str, int],
    loose: NDArray[np.bool_],
) -> None:
    """PAIR of every pair of solids, SOLID of all of these, heights of the fields, and polyhedra."""
    if len(records) == 0:
        return
    # Geoms that are in pairs have numbers of their own, in order
    chosen = solid_numbers(pairs)
    number = np.full(len(geoms), -1, dtype=np.int64)
    number[chosen] = np.arange(len(chosen))
    _fill_solids(solids, [geoms[k] for k in chosen], body_index)
    a, b = number[pairs.geom_a], number[pairs.geom_b]
    # As `collect_contacts` lists them: by the lower number, then by the higher one
    low = np.minimum(a, b)
    solids["pairs"] = np.bincount(low, minlength=len(solids))
    solids["pairs_at"] = np.cumsum(solids["pairs"]) - solids["pairs"]
    # What the narrow phase asks of a pair, without looking at its solids
    records["solid_a"], records["solid_b"] = a, b
    records["kind_a"] = solids["kind"][a]
    records["kind_b"] = solids["kind"][b]
    records["first"], records["slots"] = plan.first, pairs.slots
    records["parts"] = pairs.parts
    records["size_a"], records["size_b"] = solids["extent"][a], solids["extent"][b]
    _fill_beside(records, solids, loose)
    _fill_reach(records, pairs, geoms)
    _fill_hulls(records, hulls, pairs, geoms)
    _fill_fields(records, heights, pairs, geoms)


def thinnest(pairs: Records, solids: Records, features: Records) -> float:
    """HEADER's."""
    inside, rounds = solids["inside"], features[features["kind"] != HALF_SPACE]
    sums = [
        inside[pairs["solid_a"]] + inside[pairs["solid_b"]],
        rounds["radius"] + rounds["target_radius"],
    ]
    return float(np.concatenate(sums).min(initial=math.inf))


def mark_meeting(
    bodies: Records, pairs: Records, solids: Records, features: Records, bounces: bool
) -> None:
    """Fill `meets` of the BODY records: parts of pairs, and points.

    Of points above half spaces those that may bounce: no other could pass through anything.
    """
    points = features if bounces else features[features["kind"] != HALF_SPACE]
    for of in ("_a", "_b"):
        bodies["meets"][points["body" + of]] = True
        bodies["meets"][solids["body"][pairs["solid" + of]]] = True


def _fill_beside(records: Records, solids: Records, loose: NDArray[np.bool_]) -> None:
    """Which pairs may be at a seam: where a solid meets two of one body, or of loose ones.

    But for what meets a field: a robot's foot and shank do, on stairs.

    loose: whether each body is free and alone, shape (nb + 1,); such ones may lie flush
    """
    # Loose bodies may lie side by side with anything, as tiles of the world do
    over_field, bodies = np.isin(records["kind_b"], GROUNDS), int(solids["body"].max()) + 1
    a, b = records["solid_a"], records["solid_b"]
    body = np.where(loose[solids["body"]], 0, solids["body"])  # as the world's: side by side
    of_a, of_b = a * bodies + body[b], b * bodies + body[a]
    # Of each solid and each body that it meets, how often
    meets = np.concatenate([of_a, np.where(over_field, -1, of_b)])
    _, which, counts = np.unique(meets, return_inverse=True, return_counts=True)
    several = (counts[which] > 1) & (meets >= 0)
    records["beside"] = several[: len(records)] | several[len(records) :]


def _fill_reach(records: Records, pairs: SolidPairs, geoms: tuple[Geom, ...]) -> None:
    """From where on geoms are far from each other."""
    radii = np.array([geom.bounding_radius for geom in geoms])
    over_field = np.isin(records["kind_b"], GROUNDS)
    # Bounding balls, with how far around them things are looked for
    reach = radii[pairs.geom_a] + np.where(over_field, SEEN, near_distance(pairs, geoms))
    around = reach + radii[pairs.geom_b]
    records["far_squared"] = np.where(over_field, math.inf, far(around))
    boxes = records["kind_b"] == BOX
    records["reach"] = np.where(over_field | boxes, reach, around)


def pack_hulls(pairs: SolidPairs, geoms: tuple[Geom, ...]) -> tuple[Floats, Ints, int]:
    """The polyhedra of all pairs with a convex hull, each once; where each geom's numbers begin,
    shape (geoms,); and the length of the work array that placing two of them takes."""
    kinds = np.array([geom.kind for geom in geoms], dtype=np.int64)
    convex = np.isin(kinds[pairs.geom_a], POLYHEDRAL) | np.isin(kinds[pairs.geom_b], POLYHEDRAL)
    chosen = np.union1d(pairs.geom_a[convex], pairs.geom_b[convex]).astype(np.int64)
    place, rows, end = np.zeros(len(geoms), np.int64), [np.zeros(0)], 0
    placed = marks = 0  # numbers that one takes at most: placed in the world, and looked at
    seen: dict[int, int] = {}
    for k, shape in zip(chosen, polyhedra([geoms[k] for k in chosen]), strict=True):
        if shape is None:
            continue
        if id(shape) not in seen:
            seen[id(shape)] = end
            rows.append(shape.packed())
            end += len(rows[-1])
            placed = max(placed, 3 * len(shape.corners) + 7 * len(shape.normals))
            marks = max(marks, 11 * len(shape.edges), 3 * len(shape.corners))
        place[k] = seen[id(shape)]
    work = 2 * placed + marks
    smooth = count_smooth(pairs, geoms) > 0
    return np.concatenate(rows), place, work + PATCHES if smooth else work


def near_distance(pairs: SolidPairs, geoms: tuple[Geom, ...]) -> float:
    """HEADER's: the pairs that are near take most of a step, and those of hulls the most [m]."""
    kinds = np.array([geom.kind for geom in geoms], dtype=np.int64)
    slow = np.isin(kinds[pairs.geom_a], POLYHEDRAL) | np.isin(kinds[pairs.geom_b], POLYHEDRAL)
    return LOOK if slow.any() else NEAR


def count_smooth(pairs: SolidPairs, geoms: tuple[Geom, ...]) -> int:
    """How many of the pairs have a smooth solid."""
    kinds = np.array([geom.kind for geom in geoms], dtype=np.int64)
    return int((np.isin(kinds[pairs.geom_a], SMOOTH) | np.isin(kinds[pairs.geom_b], SMOOTH)).sum())


def _fill_hulls(
    records: Records, hulls: Floats, pairs: SolidPairs, geoms: tuple[Geom, ...]
) -> None:
    """The numbers of the polyhedra, and where those of each pair begin."""
    hulls[:], place, _ = pack_hulls(pairs, geoms)
    records["hull_a"], records["hull_b"] = place[pairs.geom_a], place[pairs.geom_b]


def far(distance: Any) -> Any:
    """The square of a distance, and a little more for rounding."""
    return distance**2 * (1 + 1e-9)


def _fill_fields(
    records: Records, heights: Floats, pairs: SolidPairs, geoms: tuple[Geom, ...]
) -> None:
    """The heights of all fields, and what the pairs over them know of these."""
    end = 0
    for k in field_numbers(pairs, geoms):
        field = geoms[k]
        assert field.heights is not None
        begin, end = end, end + field.heights.size
        heights[begin:end] = field.heights.ravel()
        cells = np.array(field.heights.shape) - (field.kind == HEIGHT_FIELD)
        over = pairs.geom_b == k
        records["heights_at"][over] = begin
        records["nx"][over], records["ny"][over] = field.heights.shape
        records["dx"][over], records["dy"][over] = 2 * field.size[:2] / cells
        block = field.kind == BLOCK_FIELD
        records["top"][over] = field.heights.max() if block else _top(field.heights)


def _fill_solids(records: Records, geoms: list[Geom], body_index: dict[str, int]) -> None:
    for record, geom in zip(records, geoms, strict=True):
        record.body = body_index[geom.body]
        record.kind = SPHERE if geom.kind == POINT else geom.kind
        record.extent[:] = geom.size
        field = geom.kind in GROUNDS
        record.radius = math.inf if field else geom.bounding_radius
        record.inside = 0.0 if field else inner_ball(geom)
        record.position[:], record.rotation[:] = geom.position, geom.rotation


def inner_ball(geom: Geom) -> float:
    """Radius of the ball about a solid's centre that is in it [m]."""
    if geom.kind == CONVEX:
        return inner_radius(geom)
    if geom.kind == CONE_GEOM:
        radius, half = (float(x) for x in geom.size[:2])
        return half * min(1.0, radius / math.hypot(radius, 2.0 * half))
    if geom.kind == CYLINDER:
        return float(geom.size[:2].min())
    return float(geom.size.min() if geom.kind in (BOX, ELLIPSOID) else geom.size[0])


def _top(heights: Floats) -> float:
    """What no place of a height field's surface is higher than [m].

    The highest Bezier point of its splines, of which the surface is averages (Farin, Curves and
    Surfaces for CAGD, 4.3).
    """
    return float(_bezier(_bezier(heights).T).max())


def _bezier(points: Floats) -> Floats:
    """Bezier points of the Catmull-Rom splines through points along the first axis, as
    `dynenvs.contact.detection.geometry.height_field` has them."""
    padded = np.concatenate([points[:1], points, points[-1:]])
    slope = (padded[2:] - padded[:-2]) / 6
    net = np.empty((3 * len(points) - 2, *points.shape[1:]))
    net[::3] = points
    net[1::3] = (points + slope)[:-1]
    net[2::3] = (points - slope)[1:]
    return net
