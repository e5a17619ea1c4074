"""What the pairs of shapes share: filling one slot, and moving points between frames."""

from __future__ import annotations

import math
from typing import Any

from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Floats, Records
from dynenvs.memory.records import FAR

Point = tuple[float, float, float]

COINCIDENT = 1e-12  # core points nearer than this do not tell a normal [m]


@inlined
def discard(spots: Records, first: int, count: int) -> None:
    """Slots of a pair that is near, which do not touch that way: what else they hold is nothing."""
    for k in range(first, first + count):
        spots[k].gap = FAR
        spots[k].edges = 0


@inlined
def part(spot: Any, a: Point, b: Point, radius_a: float, radius_b: float, otherwise: Point) -> None:
    """Round parts with core points a and b [m]; normal `otherwise` (unit) if they coincide."""
    x, y, z = a[0] - b[0], a[1] - b[1], a[2] - b[2]
    distance = math.sqrt(x * x + y * y + z * z)
    n = spot.normal
    if distance > COINCIDENT:
        n[0], n[1], n[2] = x / distance, y / distance, z / distance
    else:
        n[0], n[1], n[2] = otherwise[0], otherwise[1], otherwise[2]
    spot.gap = distance - radius_a - radius_b
    spot.radius = radius_a
    spot.center[0], spot.center[1], spot.center[2] = a[0], a[1], a[2]


@inlined
def column(R: Floats, k: int) -> Point:
    """Axis k of a rotation matrix."""
    return R[0, k], R[1, k], R[2, k]


@inlined
def dot(a: Point, b: Point) -> float:
    """a . b"""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined
def along(p: Point, s: float, d: Point) -> Point:
    """p + s d"""
    return p[0] + s * d[0], p[1] + s * d[1], p[2] + s * d[2]


@inlined
def point(p: Floats) -> Point:
    """An array of three as a tuple."""
    return p[0], p[1], p[2]


@inlined
def back(R: Floats, p: Point) -> Point:
    """R^T p"""
    x, y, z = p
    return (
        R[0, 0] * x + R[1, 0] * y + R[2, 0] * z,
        R[0, 1] * x + R[1, 1] * y + R[2, 1] * z,
        R[0, 2] * x + R[1, 2] * y + R[2, 2] * z,
    )


@inlined
def turned(R: Floats, p: Point) -> Point:
    """R p"""
    x, y, z = p
    return (
        R[0, 0] * x + R[0, 1] * y + R[0, 2] * z,
        R[1, 0] * x + R[1, 1] * y + R[1, 2] * z,
        R[2, 0] * x + R[2, 1] * y + R[2, 2] * z,
    )


@inlined
def into(shape: Any, p: Point) -> Point:
    """A world point in a solid's own frame."""
    c = shape.center
    return back(shape.R, (p[0] - c[0], p[1] - c[1], p[2] - c[2]))


@inlined
def out_of(shape: Any, spot: Any) -> None:
    """A slot filled in a solid's own frame, turned into world axes."""
    R, c, n = shape.R, spot.center, spot.normal
    x, y, z = c[0], c[1], c[2]
    for i in range(3):
        c[i] = shape.center[i] + R[i, 0] * x + R[i, 1] * y + R[i, 2] * z
    x, y, z = n[0], n[1], n[2]
    for i in range(3):
        n[i] = R[i, 0] * x + R[i, 1] * y + R[i, 2] * z


@inlined
def perpendicular(d: Point) -> Point:
    """A unit vector at a right angle to the unit vector d."""
    if abs(d[0]) < 0.6:  # x - (x . d) d
        x, y, z = 1.0 - d[0] * d[0], -d[0] * d[1], -d[0] * d[2]
    else:
        x, y, z = -d[1] * d[0], 1.0 - d[1] * d[1], -d[1] * d[2]
    length = math.sqrt(x * x + y * y + z * z)
    return x / length, y / length, z / length
