"""Which geoms can touch, and at which features: fixed once, when the model is built."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynenvs.layout import BOX, CAPSULE, HALF_SPACE, POINT, SPHERE
from dynenvs.parts import Body, Geom, ModelError

ROUND = (POINT, SPHERE)


@dataclass(frozen=True)
class PairRule:
    """What the user said of a pair of geoms."""

    collide: bool
    friction: float | None = None
    restitution: float | None = None


class Feature(NamedTuple):
    """A point of geom A, with a radius, that can touch geom B."""

    geom_a: Geom
    geom_b: Geom
    group: int
    center: NDArray[np.float64]  # in body A's frame [m]
    radius: float
    friction: float
    restitution: float


def contact_features(
    bodies: list[Body], geoms: list[Geom], rules: dict[frozenset[str], PairRule]
) -> list[Feature]:
    """All features of all pairs that may touch, in a stable order (their index is their id)."""
    known = {geom.name for geom in geoms}
    for pair in rules:
        for name in pair - known:
            raise ModelError(f"pair of unknown geom {name!r}; known geoms: {', '.join(known)}")
    trees = _trees(bodies)
    features: list[Feature] = []
    group = 0
    for a, b in itertools.combinations(geoms, 2):
        rule = rules.get(frozenset((a.name, b.name)))
        if not _touches(a, b, rule, trees):
            continue
        first, second = _ordered(a, b)
        friction, restitution = _coefficients(first, second, rule)
        for center, radius in _points(first):
            features.append(Feature(first, second, group, center, radius, friction, restitution))
        group += 1
    return features


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
    # A point has no volume: it touches planes, and other shapes on request only.
    return not (
        (a.kind == POINT and b.kind != HALF_SPACE) or (b.kind == POINT and a.kind != HALF_SPACE)
    )


def _ordered(a: Geom, b: Geom) -> tuple[Geom, Geom]:
    """The pair with the geom that carries the features first."""
    if b.kind == HALF_SPACE and a.kind in (*ROUND, CAPSULE, BOX):
        return a, b
    if a.kind == HALF_SPACE and b.kind in (*ROUND, CAPSULE, BOX):
        return b, a
    if a.kind in ROUND and b.kind in ROUND:
        return a, b
    raise ModelError(
        f"no contact test of {a.type} {a.name!r} against {b.type} {b.name!r} yet; exclude the "
        "pair, or use sphere, capsule or box against half_space, or sphere against sphere"
    )


def _coefficients(a: Geom, b: Geom, rule: PairRule | None) -> tuple[float, float]:
    """Friction: geometric mean; restitution: maximum; both overridable by the pair's rule."""
    friction = math.sqrt(a.friction * b.friction)
    restitution = max(a.restitution, b.restitution)
    if rule is not None and rule.friction is not None:
        friction = rule.friction
    if rule is not None and rule.restitution is not None:
        restitution = rule.restitution
    if restitution != 0.0:
        raise ModelError(
            f"pair {a.name!r}, {b.name!r}: restitution {restitution} is not supported yet; "
            "set it to 0 (inelastic contact)"
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
