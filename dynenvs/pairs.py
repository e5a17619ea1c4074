"""Which geoms can touch, and at which features: fixed once, when the model is built."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynenvs.parts import Body, Geom, ModelError
from dynenvs.records import BLOCK_FIELD, BOX, CAPSULE, HALF_SPACE, HEIGHT_FIELD, POINT, SPHERE

ROUND = (POINT, SPHERE)
GROUND = {HALF_SPACE, HEIGHT_FIELD, BLOCK_FIELD}
RANK = {POINT: 0, SPHERE: 0, CAPSULE: 1, BOX: 2, **dict.fromkeys(GROUND, 3)}
# Slots of each pair of solids (what they are: `dynenvs.contact.geometry`), and how many of them
# touch at once
SLOTS = {(CAPSULE, CAPSULE): (5, 3), (CAPSULE, BOX): (22, 4), (BOX, BOX): (32, 8)}
SIGHT = 0.02  # a box looks at blocks that are so far from it at least [m]
MOST_BLOCKS = 8  # side by side, of those
MOST_POINTS = 4  # along an edge of a box over a height field
RIMS_BESIDE = 0.05  # a capsule looks at rims of blocks that are so far from it [m]
MOST_LINES, MOST_NODES = 8, 4  # between blocks, along x (and y): slots for them
SLOTS_AT_ONCE = 32  # of all pairs together, unless the user wants more

# From the coefficients of two geoms to that of their contact.  Coulomb's law knows pairs alone, so
# that each rule is a convention: Bullet's is the product, PhysX's the arithmetic mean, Box2D's the
# geometric one, MuJoCo's the maximum (of geoms of equal priority).
FRICTION_RULES: dict[str, Callable[[float, float], float]] = {
    "geometric": lambda a, b: math.sqrt(a * b),
    "arithmetic": lambda a, b: (a + b) / 2,
    "minimum": min,
    "maximum": max,
}


@dataclass(frozen=True)
class PairRule:
    """What the user said of a pair of geoms."""

    collide: bool
    friction: float | None = None
    restitution: float | None = None


class Feature(NamedTuple):
    """A point of geom A, with a radius, that can touch geom B, or a slot of a pair of solids."""

    geom_a: Geom
    geom_b: Geom
    group: int
    center: NDArray[np.float64]  # in body A's frame [m]
    radius: float
    friction: float
    restitution: float


class SolidPair(NamedTuple):
    """Two geoms whose slots are found together."""

    geom_a: Geom
    geom_b: Geom
    first: int  # first slot
    slots: int
    parts: tuple[int, int, int]  # of a box over a field, as PAIR's


class Contacts(NamedTuple):
    """All that can touch: features (slots of pairs last), pairs, and how many can at once."""

    features: list[Feature]
    pairs: list[SolidPair]
    at_once: int


def collect_contacts(
    bodies: list[Body],
    geoms: list[Geom],
    rules: dict[frozenset[str], PairRule],
    friction: str = "geometric",
) -> Contacts:
    """All features of all pairs that may touch, in a stable order (their index is their id).

    friction: one of `FRICTION_RULES`
    """
    known = {geom.name for geom in geoms}
    for pair in rules:
        for name in pair - known:
            raise ModelError(f"unknown geom {name!r} in a pair; known geoms: {', '.join(known)}")
    trees = _trees(bodies)
    points: list[Feature] = []
    slots: list[Feature] = []
    pairs: list[SolidPair] = []
    group = at_once = slots_at_once = 0
    for a, b in itertools.combinations(geoms, 2):
        rule = rules.get(frozenset((a.name, b.name)))
        if not _touches(a, b, rule, trees):
            continue
        first, second = _ordered(a, b)
        coefficients = _coefficients(first, second, rule, friction)
        if second.kind == HALF_SPACE or (first.kind in ROUND and second.kind in ROUND):
            own = [Feature(first, second, group, c, r, *coefficients) for c, r in _points(first)]
            points += own
            at_once += len(own)
        else:
            parts = _parts(first, second)
            count, most = _slots(first, second, parts)
            pairs.append(SolidPair(first, second, len(slots), count, parts))
            slots += [Feature(first, second, group, np.zeros(3), 0.0, *coefficients)] * count
            slots_at_once += most
        group += 1
    return Contacts(points + slots, pairs, at_once + min(slots_at_once, SLOTS_AT_ONCE))


def self_contacts(
    bodies: list[Body], geoms: list[Geom], groups: list[tuple[str, ...]]
) -> dict[frozenset[str], PairRule]:
    """Rules of the geoms that may touch others of their own robot: all but those next to it."""
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
        for a, b in itertools.combinations(group, 2):
            one, other = body_of[a], body_of[b]
            if one != other and above.get(one) != other and above.get(other) != one:
                rules[frozenset((a, b))] = PairRule(True)
    return rules


def _parts(a: Geom, b: Geom) -> tuple[int, int, int]:
    """Into what a capsule or box over a field is taken apart, see PAIR."""
    if b.heights is None or a.kind in ROUND:
        return 0, 0, 0
    if b.kind == BLOCK_FIELD:
        return (_blocks_in_reach(a, b), 0, 0) if a.kind == BOX else (*_lines_in_reach(a, b), 0)
    if a.kind == CAPSULE:
        return 0, 0, 0
    spacing = (2 * b.size[:2] / (np.array(b.heights.shape) - 1)).min()
    # Twice as close to each other as the heights: of a hill of one height between four of these
    # points no more than a quarter is missed
    x, y, z = (min(max(2, math.ceil(4 * half / spacing) + 1), MOST_POINTS) for half in a.size)
    return x, y, z


def _slots(a: Geom, b: Geom, parts: tuple[int, int, int]) -> tuple[int, int]:
    """How many slots a pair of solids has, and how many of them are used at once."""
    if b.kind == BLOCK_FIELD:
        if a.kind == BOX:
            blocks = parts[0] ** 2
            return SLOTS[BOX, BOX][0] * blocks, SLOTS[BOX, BOX][1] * (1 + min(blocks, 3))
        _check_breadth(a, b)
        lines, nodes, _ = parts
        return (8 + 2 * lines + nodes**2, 4 + lines) if a.kind == CAPSULE else (4, 2)
    if b.heights is not None:
        if a.kind == BOX:
            x, y, z = parts
            inner = (x - 2) * (y - 2) * (z - 2)
            return x * y * z - inner, max(x * y, y * z, z * x)
        if a.kind == CAPSULE:  # balls as close to each other as the heights
            spacing = (2 * b.size[:2] / (np.array(b.heights.shape) - 1)).min()
            count = max(2, math.ceil(2 * a.size[1] / spacing) + 1)
            return count, count
    return SLOTS.get((a.kind, b.kind), (1, 1))


def _blocks_in_reach(a: Geom, b: Geom) -> int:
    """Blocks of a field along x (and y) that a box can touch, however it is turned."""
    assert b.heights is not None
    least = float((2 * b.size[:2] / np.array(b.heights.shape)).min())
    count = math.ceil(2 * (a.bounding_radius + SIGHT) / least) + 1
    if count > MOST_BLOCKS:
        raise ModelError(
            f"box {a.name!r} can touch {count} blocks of {b.name!r} side by side, of a breadth of "
            f"{least}, more than {MOST_BLOCKS}; make the blocks broader or the box smaller"
        )
    return count


def _lines_in_reach(a: Geom, b: Geom) -> tuple[int, int]:
    """Lines between a field's blocks along x (and y) that a capsule can touch, however it is
    turned; and of how many of them the crossings have slots of their own."""
    assert b.heights is not None
    least = float((2 * b.size[:2] / np.array(b.heights.shape)).min())
    count = math.ceil(2 * (a.bounding_radius + RIMS_BESIDE) / least) + 1
    return min(count, MOST_LINES), min(count, MOST_NODES)


def _check_breadth(a: Geom, b: Geom) -> None:
    """Balls must not be broader than blocks: they touch four at most."""
    assert b.heights is not None
    least = (b.size[:2] / np.array(b.heights.shape)).min()  # half of a block's breadth
    if a.size[0] > least:
        raise ModelError(
            f"radius {a.size[0]} of {a.name!r} is more than half the breadth of the blocks of "
            f"{b.name!r}, {least}"
        )


def _trees(bodies: list[Body]) -> dict[str, str]:
    """The first moving body of each body's tree; "world" for what is welded to the world."""
    tree = {"world": "world"}
    for body in bodies:
        root = tree[body.parent]
        moving = body.joint.type != "fixed"
        tree[body.name] = body.name if root == "world" and moving else root
    return tree


def _touches(a: Geom, b: Geom, rule: PairRule | None, trees: dict[str, str]) -> bool:
    """Whether a pair is tested: robots against all else by default, with themselves on request."""
    if rule is not None:
        return rule.collide
    if not (a.collide and b.collide) or trees[a.body] == trees[b.body]:
        return False
    # A point has no volume: it touches the ground, and other shapes on request only.
    return not (
        (a.kind == POINT and b.kind not in GROUND) or (b.kind == POINT and a.kind not in GROUND)
    )


def _ordered(a: Geom, b: Geom) -> tuple[Geom, Geom]:
    """The pair in the order in which it is tested: ground last, otherwise the simpler shape first.

    Two round geoms stay in the order in which they were added.
    """
    if GROUND.issuperset((a.kind, b.kind)):
        raise ModelError(
            f"no contact test of {a.type} {a.name!r} against {b.type} {b.name!r}; exclude the pair"
        )
    if a.kind in ROUND and b.kind in ROUND:
        return a, b
    return (a, b) if RANK[a.kind] <= RANK[b.kind] else (b, a)


def _coefficients(a: Geom, b: Geom, rule: PairRule | None, law: str) -> tuple[float, float]:
    """Friction: by one of `FRICTION_RULES`; restitution: maximum; the pair's own rule prevails."""
    friction = FRICTION_RULES[law](a.friction, b.friction)
    restitution = max(a.restitution, b.restitution)
    if rule is not None and rule.friction is not None:
        friction = rule.friction
    if rule is not None and rule.restitution is not None:
        restitution = rule.restitution
    if restitution > 1.0:
        raise ModelError(
            f"pair {a.name!r}, {b.name!r}: restitution {restitution} would gain energy; "
            "choose it from 0 (inelastic) to 1 (elastic)"
        )
    return friction, restitution


def _points(geom: Geom) -> list[tuple[NDArray[np.float64], float]]:
    """Centres (body frame) and radii of the points with which a geom can touch a plane."""
    if geom.kind in ROUND:
        return [(geom.position, float(geom.size[0]))]
    if geom.kind == CAPSULE:
        half = geom.rotation[:, 2] * geom.size[1]
        return [(geom.position - half, geom.size[0]), (geom.position + half, geom.size[0])]
    corners = itertools.product((-1.0, 1.0), repeat=3)
    return [(geom.position + geom.rotation @ (geom.size * np.array(c)), 0.0) for c in corners]
