"""How far a rod is from a cylinder: a sphere's centre, a capsule's axis, or an edge of a box.

Along a rod the squared distance from a convex solid is convex, and its derivatives are known: a
search for one number, which Newton's method ends in a few steps.  The general search
(`distance.py`) comes nearer by a part each time, since across its axis a rod is a kink.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from dynenvs.contact.detection.geometry.spot import Point, along, back, column, into, point, turned
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.memory.records import CAPSULE, SPHERE

STEPS = 50
STILL = 1e-15  # a step along the axis that is none, relative to the lengths


class Rod(NamedTuple):
    """A segment in the world."""

    middle: Point
    axis: Point  # unit vector
    end: float  # how far either end is from the middle [m]


@inlined
def rod_of(kind: int, shape: Any, n: Point) -> Rod:
    """The core of a sphere or capsule, or of a box the edge that is outermost along n."""
    middle, size = point(shape.center), shape.half
    if kind == SPHERE:
        return Rod(middle, n, 0.0)
    if kind == CAPSULE:
        return Rod(middle, column(shape.R, 2), size[1])
    own, least = back(shape.R, n), 0
    for k in range(1, 3):
        if abs(own[k]) < abs(own[least]):
            least = k
    for k in range(3):
        if k != least:
            middle = along(middle, size[k] if own[k] > 0.0 else -size[k], column(shape.R, k))
    return Rod(middle, column(shape.R, least), size[least])


@kernel
def part_rod(rod: Rod, b: Any) -> tuple[float, Point]:
    """How far a rod is from the cylinder B [m], and the unit normal from B to it.

    Of what overlaps (0, zeros).
    """
    p, u, end = into(b, rod.middle), back(b.R, rod.axis), rod.end
    radius, height = b.half[0], b.half[1]
    low, high, t, still = -math.inf, math.inf, 0.0, STILL * (end + radius + height)
    for _ in range(STEPS):
        slope, bend, far = _climb(along(p, t, u), u, radius, height)
        if not abs(slope) > STILL * far:  # across the normal but for rounding, or they overlap
            break
        if slope > 0.0:
            high = t
        else:
            low = t
        then = min(max(t - slope / bend, -end), end)
        if abs(then - t) <= still:
            break
        t = then if low < then < high else 0.5 * (low + high)
    x, y, z = along(p, t, u)
    across = math.sqrt(x * x + y * y)
    out, over = max(across - radius, 0.0), max(abs(z) - height, 0.0)
    far = math.sqrt(out * out + over * over)
    if not far > 0.0:
        return 0.0, (0.0, 0.0, 0.0)
    out, over = out / far, math.copysign(over / far, z)
    return far, turned(
        b.R, (out * x / across, out * y / across, over) if out > 0.0 else (0.0, 0.0, over)
    )


@inlined
def _climb(p: Point, u: Point, radius: float, height: float) -> tuple[float, float, float]:
    """Half of the first two derivatives of the squared distance of p from a cylinder, along u.

    And how far p is, or a little more [m].
    """
    slope, bend, far = 0.0, 0.0, 0.0
    across = math.sqrt(p[0] * p[0] + p[1] * p[1])
    if across > radius:
        rate, out = (p[0] * u[0] + p[1] * u[1]) / across, across - radius
        slope += out * rate
        bend += rate * rate + out * (u[0] * u[0] + u[1] * u[1] - rate * rate) / across
        far += out
    if abs(p[2]) > height:
        over = abs(p[2]) - height
        slope += over * math.copysign(u[2], p[2] * u[2])
        bend += u[2] * u[2]
        far += over
    return slope, bend, far
