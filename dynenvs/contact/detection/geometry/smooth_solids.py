"""Cylinders, cones and ellipsoids: their outermost points.

A cylinder of radius r reaches from -h to h along its axis z.  A cone has its base at -h and its
apex at h.  An ellipsoid has half axes a, b, c.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.contact.detection.geometry.polyhedron import minus
from dynenvs.contact.detection.geometry.spot import Point, along, back, column, dot, point
from dynenvs.jit.compiled import inlined
from dynenvs.memory.records import CONE_GEOM, CYLINDER, ELLIPSOID


@inlined
def outermost_smooth(kind: int, shape: Any, n: Point) -> Point:
    """The point of a smooth solid, placed in the world, that is outermost along n."""
    size = shape.half
    x, y, z = back(shape.R, n)
    if kind == ELLIPSOID:
        a, b, c = size[0] * x, size[1] * y, size[2] * z
        length = math.sqrt(a * a + b * b + c * c)
        p = (size[0] * a / length, size[1] * b / length, size[2] * c / length)
    else:
        across = math.sqrt(x * x + y * y)
        reach = size[0] / across if across > 0.0 else 0.0
        p = (reach * x, reach * y, size[1] if z > 0.0 else -size[1])
        if kind == CONE_GEOM:
            if 2.0 * size[1] * z > size[0] * across:
                p = (0.0, 0.0, size[1])
            else:
                p = (reach * x, reach * y, -size[1])
    return _into_world(shape, p)


@inlined
def _into_world(shape: Any, p: Point) -> Point:
    q = point(shape.center)
    for k in range(3):
        q = along(q, p[k], column(shape.R, k))
    return q


@inlined
def above(pair: Any, a: Any, b: Any) -> float:
    """How far a smooth solid A is above a half space B [m]."""
    n = column(b.R, 2)
    lowest = outermost_smooth(pair.kind_a, a, (-n[0], -n[1], -n[2]))
    return dot(n, minus(lowest, point(b.center)))


@inlined
def least_size(pair: Any, a: Any, b: Any) -> float:
    """The least size of those solids of a pair that are smooth [m]."""
    least = math.inf
    if pair.kind_a >= CYLINDER:
        least = _least_of(pair.kind_a, a)
    if pair.kind_b >= CYLINDER:
        least = min(least, _least_of(pair.kind_b, b))
    return least


@inlined
def _least_of(kind: int, shape: Any) -> float:
    least = min(shape.half[0], shape.half[1])
    return min(least, shape.half[2]) if kind == ELLIPSOID else least
