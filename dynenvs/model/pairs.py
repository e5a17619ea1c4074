"""Which geoms can touch, and at which features: fixed once, when the model is built."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynenvs.memory.records import (
    BLOCK_FIELD,
    BOX,
    CAPSULE,
    CONE_GEOM,
    CONVEX,
    CYLINDER,
    ELLIPSOID,
    HALF_SPACE,
    HEIGHT_FIELD,
    POINT,
    SPHERE,
)
from dynenvs.model.grains import Grain, PairGrain
from dynenvs.model.parts import Body, Geom, ModelError
from dynenvs.model.polyhedra import polyhedra

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ROUND = (POINT, SPHERE)
GROUND = {HALF_SPACE, HEIGHT_FIELD, BLOCK_FIELD}
SMOOTH = (CYLINDER, ELLIPSOID, CONE_GEOM)
RANK = {POINT: 0, SPHERE: 0, CAPSULE: 1, BOX: 2, CONVEX: 2}
RANK |= dict.fromkeys(SMOOTH, 3) | dict.fromkeys(GROUND, 4)
# Slots of each pair of solids (what they are: `dynenvs.contact.detection.geometry`), and how many
# of them touch at once
SLOTS = {(CAPSULE, CAPSULE): (5, 3), (CAPSULE, BOX): (22, 4), (BOX, BOX): (32, 8)}
SIGHT = 0.02  # a box looks at blocks that are so far from it at least [m]
MOST_BLOCKS = 8  # side by side, of those
MOST_POINTS = 4  # along an edge of a box over a height field
RIMS_BESIDE = 0.05  # a capsule looks at rims of blocks that are so far from it [m]
MOST_LINES, MOST_NODES = 8, 4  # between blocks, along x (and y): slots for them
MOST_CROSSED = 200  # lines between blocks, along x (and y): each step looks at their square
MOST_PAIRS = 5_000_000  # of geoms that could touch: each takes some 500 bytes of the model
MOST_BALLS = 1000  # of which a capsule over a height field is made
RIM = 8  # points of a smooth solid's rim that may touch at once (`geometry.patch`) ...
OVER_HILLS = RIM + 1  # ... and above a height field
MOST_SIDES = 8  # of the polygon in which two hulls meet, to begin with
ROUND_PAIRS = 2000  # of round geoms, above which they are pairs of solids with one slot each
SLOTS_AT_ONCE = 32  # of all pairs together, unless the user wants more

# From the coefficients of two geoms to that of their contact.  Coulomb's law knows pairs alone, so
# that each rule is a convention: Bullet's is the product, PhysX's the arithmetic mean, Box2D's the
# geometric one, MuJoCo's the maximum (of geoms of equal priority).
FRICTION_RULES: dict[str, Callable[[Floats, Floats], Floats]] = {
    "geometric": lambda a, b: np.sqrt(a * b),
    "arithmetic": lambda a, b: (a + b) / 2,
    "minimum": np.minimum,
    "maximum": np.maximum,
}


@dataclass(frozen=True)
class PairRule:
    """What the user said of a pair of geoms."""

    collide: bool
    friction: float | None = None
    restitution: float | None = None
    torsional: float | None = None
    rolling: float | None = None
    grain: Grain | None = None  # where `friction` is that along a direction alone
    viscous: float | None = None  # friction [N s/m]


class Feature(NamedTuple):
    """A point of geom A, with a radius, that can touch geom B."""

    geom_a: Geom
    geom_b: Geom
    group: int
    center: NDArray[np.float64]  # in body A's frame [m]
    radius: float
    friction: float
    restitution: float
    torsional: float  # friction [m]
    rolling: float
    viscous: float  # friction [N s/m]


class SolidPairs(NamedTuple):
    """Pairs of geoms that can touch in several ways, one entry a pair, shapes (pairs,)."""

    geom_a: Ints  # numbers of the geoms
    geom_b: Ints
    group: Ints
    slots: Ints  # how many
    at_once: Ints  # of these, that are used at once
    parts: Ints  # of a box or capsule over a field, as PAIR's, shape (pairs, 3)
    friction: Floats
    restitution: Floats
    torsional: Floats  # friction [m]
    rolling: Floats
    viscous: Floats  # friction [N s/m]


class Contacts(NamedTuple):
    """All that can touch: point features, pairs of solids, and how many contacts at once."""

    points: list[Feature]
    pairs: SolidPairs
    at_once: int
    grains: list[PairGrain]


def collect_contacts(
    bodies: list[Body],
    geoms: list[Geom],
    rules: dict[frozenset[str], PairRule],
    friction: str = "geometric",
) -> Contacts:
    """All features of all pairs that may touch, in a stable order (their index is their id).

    friction: one of `FRICTION_RULES`
    """
    # Rules name geoms; from here on they are numbers
    number = {geom.name: i for i, geom in enumerate(geoms)}
    for pair in rules:
        for name in pair - number.keys():
            raise ModelError(f"unknown geom {name!r} in a pair; known geoms: {', '.join(number)}")
    ruled = {_numbers(pair, number): rule for pair, rule in rules.items()}
    first, second = _touching(bodies, geoms, ruled)
    # Tests take ground last, the simpler of two other shapes first
    kinds = np.array([geom.kind for geom in geoms], dtype=np.int64)
    a, b = _ordered(geoms, kinds, first, second)
    coefficients = (*_coefficients(geoms, a, b, friction), np.zeros(len(a)))
    # What a pair's own rule says prevails over what its geoms say
    place = {both: k for k, both in enumerate(zip(first.tolist(), second.tolist(), strict=True))}
    grains: list[PairGrain] = []
    for both, rule in ruled.items():
        if both in place:
            _prevail(rule, place[both], coefficients)
            if rule.grain is not None and rule.friction is not None:
                grains.append(PairGrain(*both, rule.friction, rule.grain))
    _check_restitution(geoms, a, b, coefficients[1])
    # Round geoms touch in one point each, which needs no slots
    kind_a, kind_b = kinds[a], kinds[b]
    pointwise = np.isin(kind_a, ROUND) & np.isin(kind_b, ROUND)
    if pointwise.sum() > ROUND_PAIRS:  # in large scenes only those that are near may cost anything
        pointwise[:] = False
    pointwise |= (kind_b == HALF_SPACE) & ~np.isin(kind_a, SMOOTH)
    groups = _groups(_carriers(bodies), geoms, a, b, kind_b)
    points = [
        Feature(geoms[a[k]], geoms[b[k]], int(group), c, r, *(float(x[k]) for x in coefficients))
        for k, group in sorted(
            ((k, groups[k]) for k in np.flatnonzero(pointwise)), key=lambda both: both[1]
        )
        for c, r in _points(geoms[a[k]])
    ]
    pairs = _solid_pairs(geoms, kinds, a, b, np.flatnonzero(~pointwise), coefficients)
    at_once = len(points) + min(int(pairs.at_once.sum()), SLOTS_AT_ONCE)
    return Contacts(points, pairs, at_once, grains)


def _groups(
    carriers: dict[str, str], geoms: list[Geom], first: Ints, second: Ints, kind_b: Ints
) -> Ints:
    """Of each pair of geoms the earliest one of the same body above the same plane, or itself.

    What a body has above a plane moves as one sole, of however many shapes it is.
    """
    earliest: dict[tuple[str, int], int] = {}
    groups = np.arange(len(first))
    for k in np.flatnonzero(kind_b == HALF_SPACE):
        body = geoms[first[k]].body
        groups[k] = earliest.setdefault((carriers.get(body, body), int(second[k])), int(k))
    return groups


def _carriers(bodies: list[Body]) -> dict[str, str]:
    """Of each body the one with which it moves as one: itself, if it has a joint of its own."""
    found: dict[str, str] = {}
    for body in bodies:
        welded = body.joint.type == "fixed" and body.parent != "world"
        found[body.name] = found[body.parent] if welded else body.name
    return found


def _numbers(pair: frozenset[str], number: dict[str, int]) -> tuple[int, int]:
    """Numbers of two geoms, the lower one first."""
    low, high = sorted(number[name] for name in pair)
    return low, high


def _solid_pairs(
    geoms: list[Geom],
    kinds: Ints,
    first: Ints,
    second: Ints,
    groups: Ints,
    coefficients: tuple[Floats, ...],
) -> SolidPairs:
    """The pairs of solids among all that touch: those of the groups."""
    first, second = first[groups], second[groups]
    slots, at_once = np.ones(len(groups), np.int64), np.ones(len(groups), np.int64)
    parts = np.zeros((len(groups), 3), np.int64)
    for (one, other), (count, most) in SLOTS.items():
        same = (kinds[first] == one) & (kinds[second] == other)
        slots[same], at_once[same] = count, most
    for k in np.flatnonzero((kinds[first] == CONVEX) | (kinds[second] == CONVEX)):
        slots[k], at_once[k] = _hull_slots(geoms[first[k]], geoms[second[k]])
    for k in np.flatnonzero(np.isin(kinds[first], SMOOTH) | np.isin(kinds[second], SMOOTH)):
        slots[k], at_once[k] = _smooth_slots(geoms[first[k]], geoms[second[k]])
    for k in np.flatnonzero(np.isin(kinds[second], (HEIGHT_FIELD, BLOCK_FIELD))):
        one, field = geoms[first[k]], geoms[second[k]]
        parts[k] = _parts(one, field)
        slots[k], at_once[k] = _slots(one, field, tuple(parts[k].tolist()))
    return SolidPairs(
        first, second, groups, slots, at_once, parts, *(values[groups] for values in coefficients)
    )


def self_contacts(
    bodies: list[Body], geoms: list[Geom], groups: list[tuple[str, ...]]
) -> dict[frozenset[str], PairRule]:
    """Rules of the geoms that may touch others of their own robot: all but those next to it."""
    # Bodies without geoms do not count: of each the next one above that carries some
    body_of = {geom.name: geom.body for geom in geoms}
    parents = {body.name: body.parent for body in bodies}
    carrying = set(body_of.values())
    above = {}
    for name in parents:
        up = parents[name]
        while up != "world" and up not in carrying:
            up = parents[up]
        above[name] = up
    rules = {}
    for group in groups:
        for name in group:
            if name not in body_of:
                raise ModelError(
                    f"unknown geom {name!r} in self_contact; known geoms: {', '.join(body_of)}"
                )
        # Neighbours overlap at their joint by design
        for a, b in itertools.combinations(group, 2):
            one, other = body_of[a], body_of[b]
            if one != other and above.get(one) != other and above.get(other) != one:
                rules[frozenset((a, b))] = PairRule(True)
    return rules


def _parts(first: Geom, second: Geom) -> tuple[int, int, int]:
    """Into what a capsule or box over a field is taken apart, see PAIR."""
    if second.heights is None or first.kind in ROUND:
        return 0, 0, 0
    if second.kind == BLOCK_FIELD:
        return (
            (*_lines_in_reach(first, second), 0)
            if first.kind == CAPSULE
            else (_blocks_in_reach(first, second), 0, 0)
        )
    if first.kind in (CAPSULE, CONVEX, *SMOOTH):
        return 0, 0, 0
    spacing = (2 * second.size[:2] / (np.array(second.heights.shape) - 1)).min()
    # Twice as close to each other as the heights: of a hill of one height between four of these
    # points no more than a quarter is missed
    x, y, z = (min(max(2, math.ceil(4 * half / spacing) + 1), MOST_POINTS) for half in first.size)
    return x, y, z


def _hull_slots(first: Geom, second: Geom) -> tuple[int, int]:
    """How many slots a pair with a convex hull has, and how many of them are used at once."""
    one, other = polyhedra([first, second])
    if one is None:  # a sphere or capsule
        assert other is not None
        return (1, 1) if first.kind in ROUND else (2 + len(other.corners) + len(other.edges), 4)
    corners = len(one.corners)
    if other is None:  # a height field
        return corners, min(corners, one.sides)
    return corners + len(other.corners) + 2 * one.sides, min(one.sides + other.sides, MOST_SIDES)


def _smooth_slots(first: Geom, second: Geom) -> tuple[int, int]:
    """How many slots a pair with a smooth solid has, and how many of them are used at once."""
    if second.kind == HALF_SPACE:
        return RIM, RIM
    if second.kind == HEIGHT_FIELD:
        return OVER_HILLS, OVER_HILLS
    corners, sides = 0, 0
    for geom, shape in zip((first, second), polyhedra([first, second]), strict=True):
        few = {POINT: 1, SPHERE: 1, CAPSULE: 2}.get(geom.kind, RIM)
        corners += few if shape is None else len(shape.corners)
        sides = max(sides, few if shape is None else shape.sides)
    return 1 + corners + 4 * sides, MOST_SIDES


def _slots(first: Geom, second: Geom, parts: tuple[int, ...]) -> tuple[int, int]:
    """How many slots a solid over a field has, and how many of them are used at once."""
    assert second.heights is not None
    if first.kind == CONVEX or first.kind in SMOOTH:
        count, most = (
            _hull_slots(first, second) if first.kind == CONVEX else _smooth_slots(first, second)
        )
        return count * max(1, parts[0] ** 2), most * (1 + min(parts[0] ** 2, 3))
    if second.kind == BLOCK_FIELD:
        if first.kind == BOX:
            blocks = parts[0] ** 2
            return SLOTS[BOX, BOX][0] * blocks, SLOTS[BOX, BOX][1] * (1 + min(blocks, 3))
        _check_breadth(first, second)
        lines, nodes, _ = parts
        return (8 + 2 * lines + nodes**2, 4 + lines) if first.kind == CAPSULE else (4, 2)
    # Points of a box over a height field: those on its surface alone
    if first.kind == BOX:
        x, y, z = parts
        inner = (x - 2) * (y - 2) * (z - 2)
        return x * y * z - inner, max(x * y, y * z, z * x)
    if first.kind == CAPSULE:  # balls as close to each other as the heights
        spacing = (2 * second.size[:2] / (np.array(second.heights.shape) - 1)).min()
        count = max(2, math.ceil(2 * first.size[1] / spacing) + 1)
        if count > MOST_BALLS:
            raise ModelError(
                f"capsule {first.name!r} is {count} times as long as the heights of "
                f"{second.name!r} are apart, {spacing:g} m, more than {MOST_BALLS}; make the "
                "grid coarser or it shorter"
            )
        return count, count
    return 1, 1


def _blocks_in_reach(first: Geom, second: Geom) -> int:
    """Blocks of a field along x (and y) that a box can touch, however it is turned."""
    assert second.heights is not None
    least = float((2 * second.size[:2] / np.array(second.heights.shape)).min())
    count = math.ceil(2 * (first.bounding_radius + SIGHT) / least) + 1
    if count > MOST_BLOCKS:
        raise ModelError(
            f"{first.type} {first.name!r} can touch {count} blocks of {second.name!r} side by "
            f"side, of a breadth of {least}, more than {MOST_BLOCKS}; make the blocks broader "
            "or it smaller"
        )
    return count


def _lines_in_reach(first: Geom, second: Geom) -> tuple[int, int]:
    """Lines between a field's blocks along x (and y) that a capsule can touch, however it is
    turned; and of how many of them the crossings have slots of their own."""
    assert second.heights is not None
    least = float((2 * second.size[:2] / np.array(second.heights.shape)).min())
    count = math.ceil(2 * (first.bounding_radius + RIMS_BESIDE) / least) + 1
    if count > MOST_CROSSED:
        raise ModelError(
            f"capsule {first.name!r} can reach {count} blocks of {second.name!r} side by side, "
            f"of a breadth of {least:g} m, more than {MOST_CROSSED}; make the blocks broader "
            "or it shorter"
        )
    return min(count, MOST_LINES), min(count, MOST_NODES)


def _check_breadth(first: Geom, second: Geom) -> None:
    """Balls must not be broader than blocks: they touch four at most."""
    assert second.heights is not None
    least = (second.size[:2] / np.array(second.heights.shape)).min()  # half of a block's breadth
    if first.size[0] > least:
        raise ModelError(
            f"radius {first.size[0]} of {first.name!r} is more than half the breadth of the "
            f"blocks of {second.name!r}, {least}"
        )


def _trees(bodies: list[Body]) -> dict[str, str]:
    """The first moving body of each body's tree; "world" for what nothing that touches it moves.

    That is what is welded to the world, and kinematic bodies with all that they carry.
    """
    tree = {"world": "world"}
    for body in bodies:
        root = tree[body.parent]
        moving = body.joint.type != "fixed" and not body.kinematic
        tree[body.name] = body.name if root == "world" and moving else root
    return tree


def _touching(
    bodies: list[Body], geoms: list[Geom], ruled: dict[tuple[int, int], PairRule]
) -> tuple[Ints, Ints]:
    """Numbers of the geoms of all pairs that are tested, in the order in which geoms were added.

    Robots against all else by default, with themselves on request.
    """
    trees = _trees(bodies)
    names = {name: k for k, name in enumerate(dict.fromkeys(trees.values()))}
    tree = np.array([names[trees[geom.body]] for geom in geoms], dtype=np.int64)
    kinds = np.array([geom.kind for geom in geoms], dtype=np.int64)
    solid = np.array([geom.collide for geom in geoms], dtype=bool)
    still = names["world"]
    said: dict[int, list[tuple[int, bool]]] = {}
    for (i, j), rule in ruled.items():
        if rule.collide and tree[i] == still and tree[j] == still:
            raise ModelError(
                f"pair {geoms[i].name!r}, {geoms[j].name!r}: neither can give way, for both are on "
                "the world or on kinematic bodies; leave the pair out"
            )
        said.setdefault(i, []).append((j, rule.collide))
    # Of each geom its partners among the later ones: all pairs at once would not fit in memory
    partners, count = [], 0
    for i in range(len(geoms)):
        # Those of different trees, if both touch
        later = slice(i + 1, None)
        tested = solid[later] & (tree[later] != tree[i]) & solid[i]
        # Two points have no volume, and so nothing to meet with, but on request.
        if kinds[i] == POINT:
            tested &= kinds[later] != POINT
        # What the user has said of a pair comes last
        for j, collide in said.get(i, ()):
            tested[j - i - 1] = collide
        partners.append(np.flatnonzero(tested) + i + 1)
        count += len(partners[-1])
        if count > MOST_PAIRS:
            raise ModelError(
                f"more than {MOST_PAIRS} pairs of the {len(geoms)} geoms could touch; leave those "
                "out that never do (`exclude`, `collide=False`), or build a smaller scene"
            )
    first = np.repeat(np.arange(len(geoms)), [len(found) for found in partners])
    return first, np.concatenate(partners) if partners else first


def _ordered(geoms: list[Geom], kinds: Ints, first: Ints, second: Ints) -> tuple[Ints, Ints]:
    """The pairs in the order in which they are tested: ground last, otherwise the simpler shape
    first.

    Two round geoms stay in the order in which they were added.
    """
    ground, ranks = np.isin(kinds, list(GROUND)), np.array([RANK[kind] for kind in kinds.tolist()])
    for k in np.flatnonzero(ground[first] & ground[second])[:1]:
        one, other = geoms[first[k]], geoms[second[k]]
        raise ModelError(
            f"no contact test of {one.type} {one.name!r} against {other.type} {other.name!r}; "
            "exclude the pair"
        )
    # No pairs: nothing to compare
    if len(first) == 0:
        return first, second
    later = ranks[first] > ranks[second]
    return np.where(later, second, first), np.where(later, first, second)


def _coefficients(geoms: list[Geom], first: Ints, second: Ints, law: str) -> tuple[Floats, ...]:
    """Of friction, restitution, torsional and rolling friction.

    Friction of all kinds: by one of `FRICTION_RULES`; restitution: maximum.
    """
    names = ("friction", "restitution", "torsional_friction", "rolling_friction")
    own = [np.array([getattr(geom, name) for geom in geoms], dtype=np.float64) for name in names]
    rule = FRICTION_RULES[law]
    return tuple(
        np.maximum(values[first], values[second])
        if name == "restitution"
        else rule(values[first], values[second])
        for name, values in zip(names, own, strict=True)
    )


def _prevail(rule: PairRule, pair: int, coefficients: tuple[Floats, ...]) -> None:
    """What the user said of pair number `pair`."""
    said = (rule.friction, rule.restitution, rule.torsional, rule.rolling, rule.viscous)
    for values, value in zip(coefficients, said, strict=True):
        if value is not None:
            values[pair] = value


def _check_restitution(geoms: list[Geom], first: Ints, second: Ints, restitution: Floats) -> None:
    for k in np.flatnonzero(restitution > 1.0)[:1]:
        raise ModelError(
            f"pair {geoms[first[k]].name!r}, {geoms[second[k]].name!r}: restitution "
            f"{restitution[k]} would gain energy; choose it from 0 (inelastic) to 1 (elastic)"
        )


def _points(geom: Geom) -> list[tuple[NDArray[np.float64], float]]:
    """Centres (body frame) and radii of the points with which a geom can touch a plane."""
    # A ball's centre, a capsule's two, corners of what has corners
    if geom.kind in ROUND:
        return [(geom.position, float(geom.size[0]))]
    if geom.kind == CAPSULE:
        half = geom.rotation[:, 2] * geom.size[1]
        return [(geom.position - half, geom.size[0]), (geom.position + half, geom.size[0])]
    if geom.corners is not None:
        return [(geom.position + geom.rotation @ corner, 0.0) for corner in geom.corners]
    corners = itertools.product((-1.0, 1.0), repeat=3)
    return [(geom.position + geom.rotation @ (geom.size * np.array(c)), 0.0) for c in corners]
