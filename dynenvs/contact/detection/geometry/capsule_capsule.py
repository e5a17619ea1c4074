"""Sphere or capsule against capsule: the distance of their axes less both radii.

Slots of two capsules: A's two ends against B's axis, B's two ends against A's axis, and the inner
points at which the axes pass each other.  Parallel capsules touch at two or more of the ends.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.contact.detection.geometry.segment import WITHIN, clamp, inner_points, place_on
from dynenvs.contact.detection.geometry.spot import along, column, part, perpendicular, point
from dynenvs.jit.compiled import kernel
from dynenvs.memory.layout import Records


@kernel
def sphere_capsule(pair: Any, a: Any, b: Any, spots: Records, first: int) -> None:
    """One slot: the sphere's centre against the capsule's axis."""
    c, q, v = point(a.center), point(b.center), column(b.R, 2)
    foot = along(q, clamp(place_on(c, q, v), pair.size_b[1]), v)
    part(spots[first], c, foot, pair.size_a[0], pair.size_b[0], perpendicular(v))


@kernel
def capsule_capsule(pair: Any, a: Any, b: Any, spots: Records, first: int) -> None:
    """Five slots, see above; they come discarded."""
    p, u, half_u = point(a.center), column(a.R, 2), pair.size_a[1]
    q, v, half_v = point(b.center), column(b.R, 2), pair.size_b[1]
    ra, rb = pair.size_a[0], pair.size_b[0]
    beside = perpendicular(v)
    for k in range(2):
        sign = 2.0 * k - 1.0
        end = along(p, sign * half_u, u)
        part(spots[first + k], end, along(q, clamp(place_on(end, q, v), half_v), v), ra, rb, beside)
        end = along(q, sign * half_v, v)
        s = place_on(end, p, u)
        if abs(s) < half_u - WITHIN:  # otherwise A's end is nearer
            part(spots[first + 2 + k], along(p, s, u), end, ra, rb, perpendicular(u))
    inner, s, t = inner_points(p, u, half_u, q, v, half_v)
    if inner:
        x, y, z = u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]
        length = math.sqrt(x * x + y * y + z * z)
        across = (x / length, y / length, z / length)
        part(spots[first + 4], along(p, s, u), along(q, t, v), ra, rb, across)
