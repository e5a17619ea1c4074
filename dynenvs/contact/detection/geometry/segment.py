"""Closest points of points and segments (Ericson, Real-Time Collision Detection, 5.1.2, 5.1.9)."""

from __future__ import annotations

from dynenvs.contact.detection.geometry.spot import Point, dot
from dynenvs.jit.compiled import inlined

PARALLEL = 1e-10  # squared sine below which two segments count as parallel: their ends tell
WITHIN = 1e-9  # an inner point is further than this from the ends [m]


@inlined
def place_on(p: Point, center: Point, axis: Point) -> float:
    """Coordinate along `axis` (unit) from `center` of the foot of p on the line [m]."""
    return (
        (p[0] - center[0]) * axis[0] + (p[1] - center[1]) * axis[1] + (p[2] - center[2]) * axis[2]
    )


@inlined
def clamp(x: float, bound: float) -> float:
    """x within +-bound."""
    return min(max(x, -bound), bound)


@inlined
def inner_points(
    p: Point, u: Point, half_u: float, q: Point, v: Point, half_v: float
) -> tuple[bool, float, float]:
    """Whether the common perpendicular of p + s u, |s| < half_u, and q + t v, |t| < half_v meets
    both segments between their ends; and the coordinates (s, t) of its feet [m].

    Minimises |p + s u - q - t v|^2: s = c t - u . w, t = c s + v . w with w = p - q, c = u . v.
    """
    w = (p[0] - q[0], p[1] - q[1], p[2] - q[2])
    c, g, f = dot(u, v), dot(u, w), dot(v, w)
    square = 1.0 - c * c
    if square < PARALLEL:
        return False, 0.0, 0.0
    s = (c * f - g) / square
    t = f + c * s
    inner = abs(s) < half_u - WITHIN and abs(t) < half_v - WITHIN
    return inner, s, t
