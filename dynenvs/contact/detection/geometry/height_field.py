"""Spheres, capsules and boxes against a height field.

The surface z = h(x, y) interpolates the given heights by Catmull-Rom splines in x and y (cubic,
continuous slope; Catmull and Rom 1974), so that normals are exact and turn smoothly.  Beyond its
border it goes on at the border's height.  The foot of a ball's centre c on it minimises
|c - (x, y, h)|^2 by Newton's method; the gap is measured along the normal there.  A capsule
touches with balls along its axis, a box with points all over its surface (`parts` along each edge,
corners included).  One slot a ball or point.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.contact.detection.geometry.spot import Point, along, column, into, out_of, point
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.memory.layout import Floats, Records
from dynenvs.memory.records import BOX, CAPSULE

ITERATIONS = 12
CLOSE = 1e-8  # Newton's last step [m]: the gap's error is its square times the curvature
# Higher than this the distance to the highest place will do, or to the tangent plane below [m]
ABOVE = 0.08

Weights = tuple[float, float, float, float]


@inlined
def _value(t: float) -> Weights:
    a = t * t
    b = a * t
    return a - 0.5 * (b + t), 1.5 * b - 2.5 * a + 1.0, 2.0 * a + 0.5 * t - 1.5 * b, 0.5 * (b - a)


@inlined
def _slope(t: float) -> Weights:
    a = t * t
    return 2.0 * t - 1.5 * a - 0.5, 4.5 * a - 5.0 * t, 4.0 * t + 0.5 - 4.5 * a, 1.5 * a - t


@inlined
def _curvature(t: float) -> Weights:
    return 2.0 - 3.0 * t, 9.0 * t - 5.0, 4.0 - 9.0 * t, 3.0 * t - 1.0


@inlined
def _cell(x: float, count: int) -> tuple[int, float, float]:
    """(cell, place in it from 0 to 1, 1 inside or 0 beyond the border) of a grid coordinate."""
    if x <= 0.0:
        return 0, 0.0, 0.0
    if x >= count - 1.0:
        return count - 2, 1.0, 0.0
    i = min(int(x), count - 2)
    return i, x - i, 1.0


@kernel
def surface(
    pair: Any, heights: Floats, x: float, y: float
) -> tuple[float, float, float, float, float, float]:
    """(h, h_x, h_y, h_xx, h_xy, h_yy) at (x, y) of the field's frame [m, 1, 1/m]."""
    nx, ny = pair.nx, pair.ny
    i, s, on_x = _cell(x / pair.dx + 0.5 * (nx - 1.0), nx)
    j, t, on_y = _cell(y / pair.dy + 0.5 * (ny - 1.0), ny)
    a, da, dda = _value(s), _slope(s), _curvature(s)
    b, db, ddb = _value(t), _slope(t), _curvature(t)
    h = hx = hy = hxx = hxy = hyy = 0.0
    for k in range(4):
        row = pair.heights_at + min(max(i + k - 1, 0), nx - 1) * ny
        r = dr = ddr = 0.0
        for l in range(4):
            z = heights[row + min(max(j + l - 1, 0), ny - 1)]
            r += b[l] * z
            dr += db[l] * z
            ddr += ddb[l] * z
        h += a[k] * r
        hx += da[k] * r
        hxx += dda[k] * r
        hy += a[k] * dr
        hxy += da[k] * dr
        hyy += a[k] * ddr
    fx, fy = on_x / pair.dx, on_y / pair.dy
    return h, hx * fx, hy * fy, hxx * fx * fx, hxy * fx * fy, hyy * fy * fy


@kernel
def ball_field(
    pair: Any, heights: Floats, spot: Any, cx: float, cy: float, cz: float, radius: float
) -> None:
    """A ball at (cx, cy, cz) of the field's frame."""
    spot.radius = radius
    spot.center[0], spot.center[1], spot.center[2] = cx, cy, cz
    n = spot.normal
    if cz - radius - pair.top > ABOVE:
        n[0], n[1], n[2] = 0.0, 0.0, 1.0
        spot.gap = cz - radius - pair.top
        return
    x, y = cx, cy
    h, hx, hy, hxx, hxy, hyy = surface(pair, heights, x, y)
    iterations = ITERATIONS
    if cz - h - radius > ABOVE * math.sqrt(1.0 + hx * hx + hy * hy):
        iterations = 0
    for _ in range(iterations):
        above = cz - h
        gx, gy = x - cx - above * hx, y - cy - above * hy
        a, b, d = 1.0 + hx * hx, hx * hy, 1.0 + hy * hy
        # Where the surface bends away faster than the ball's sphere, its curvature misleads
        p, q, r = a - above * hxx, b - above * hxy, d - above * hyy
        if p > 0.1 and p * r - q * q > 0.1:
            a, b, d = p, q, r
        determinant = a * d - b * b
        mx, my = (d * gx - b * gy) / determinant, (a * gy - b * gx) / determinant
        x -= mx
        y -= my
        h, hx, hy, hxx, hxy, hyy = surface(pair, heights, x, y)
        if abs(mx) + abs(my) < CLOSE:
            break
    length = math.sqrt(1.0 + hx * hx + hy * hy)
    n[0], n[1], n[2] = -hx / length, -hy / length, 1.0 / length
    spot.gap = n[0] * (cx - x) + n[1] * (cy - y) + n[2] * (cz - h) - radius


@kernel
def solid_field(pair: Any, a: Any, b: Any, heights: Floats, spots: Records, first: int) -> None:
    """All slots of a solid against a height field."""
    if pair.kind_a == BOX:
        _box_field(pair, a, b, heights, spots, first)
        return
    radius, half = pair.size_a[0], pair.size_a[1]
    for k in range(pair.slots):
        p = point(a.center)
        if pair.kind_a == CAPSULE:
            p = along(p, half * (2.0 * k / (pair.slots - 1.0) - 1.0), column(a.R, 2))
        ball_on(pair, b, heights, spots[first + k], p, radius)


@kernel
def ball_on(pair: Any, b: Any, heights: Floats, spot: Any, p: Point, radius: float) -> None:
    """A ball about a point of the world."""
    x, y, z = into(b, p)
    ball_field(pair, heights, spot, x, y, z, radius)
    out_of(b, spot)


@inlined
def _box_field(pair: Any, a: Any, b: Any, heights: Floats, spots: Records, first: int) -> None:
    """The points of a lattice that lie on the box's surface."""
    n, half, c, R = pair.parts, pair.size_a, a.center, a.R
    k = first
    for i in range(n[0]):
        x = half[0] * (2.0 * i / (n[0] - 1.0) - 1.0)
        for j in range(n[1]):
            y = half[1] * (2.0 * j / (n[1] - 1.0) - 1.0)
            side = i == 0 or i == n[0] - 1 or j == 0 or j == n[1] - 1
            for l in range(n[2]):
                if side or l == 0 or l == n[2] - 1:
                    z = half[2] * (2.0 * l / (n[2] - 1.0) - 1.0)
                    p = (
                        c[0] + R[0, 0] * x + R[0, 1] * y + R[0, 2] * z,
                        c[1] + R[1, 0] * x + R[1, 1] * y + R[1, 2] * z,
                        c[2] + R[2, 0] * x + R[2, 1] * y + R[2, 2] * z,
                    )
                    ball_on(pair, b, heights, spots[k], p, 0.0)
                    k += 1
