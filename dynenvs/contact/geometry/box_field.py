"""Box against a height field: corners, edges and faces.

Corners always take part.  An edge touches between its corners where its distance from the surface
stops falling (`capsule_field.py`), a face where the height of its points above the surface, F, has
a minimum: Newton's method on F from a lattice of places a quarter of the heights' distance apart.
Edges and faces take part only where they look down on a slope as steep as the field has any.

Slots: 8 corners; 12 edges, each in `parts` stretches along its axis; 6 faces, each in a lattice of
`parts` times `parts` places; each holds the deepest that is found there.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.compiled import inlined, kernel
from dynenvs.contact.geometry.capsule_field import finer, line_field
from dynenvs.contact.geometry.height_field import ABOVE, fill, nearest, surface
from dynenvs.contact.geometry.spot import Point, along, back, column, into, point
from dynenvs.layout import Floats, Records

Axes = tuple[Point, Point, Point]

SLACK = 0.02  # slope added to the field's steepest
LEVEL = 1e-10  # slope of a minimum
FLAT = 1e-6  # curvature below which a place may be part of a plane [1/m]
PLANE = 1e-9  # ... if it is so near to the corners' plane [m]
ITERATIONS = 12


@kernel
def box_field(pair: Any, a: Any, b: Any, heights: Floats, spots: Records, first: int) -> None:
    """All slots, see above; they come discarded."""
    p, half, m = into(b, point(a.center)), pair.size_a, pair.parts
    axes = (
        back(b.R, column(a.R, 0)),
        back(b.R, column(a.R, 1)),
        back(b.R, column(a.R, 2)),
    )
    low = p[2]
    for k in range(3):
        low -= half[k] * abs(axes[k][2])
    for k in range(8):
        c = p
        for i in range(3):
            c = along(c, half[i] if k & (4 >> i) else -half[i], axes[i])
        fill(b, spots[first + k], c, 0.0, nearest(pair, heights, c, 0.0))
    if low > pair.top + ABOVE:
        return
    k = first + 8
    for axis in range(3):
        for corner in range(4):
            _edge(pair, b, heights, spots, k, p, axes, axis, corner)
            k += m[axis]
    for axis in range(3):
        i, j = (axis + 1) % 3, (axis + 2) % 3
        for side in (-1.0, 1.0):
            _face(pair, b, heights, spots, k, along(p, side * half[axis], axes[axis]), axes, axis,
                  side)  # fmt: skip
            k += m[i] * m[j]


@inlined
def _looks_down(pair: Any, n: Point, side: float) -> bool:
    """Whether a face of outward normal `side` n, or a part of an edge beside it, can touch."""
    across = math.sqrt(n[0] * n[0] + n[1] * n[1])
    return bool(side * n[2] <= (pair.steep + SLACK) * across)


@inlined
def _edge(
    pair: Any, b: Any, heights: Floats, spots: Records, first: int, p: Point, axes: Axes,
    axis: int, corner: int,
) -> None:  # fmt: skip
    """The edge along an axis through one of the four corners of the other two."""
    half = pair.size_a
    i, j = (axis + 1) % 3, (axis + 2) % 3
    one, other = 1.0 if corner & 2 else -1.0, 1.0 if corner & 1 else -1.0
    if not (_looks_down(pair, axes[i], one) and _looks_down(pair, axes[j], other)):
        return
    u = axes[axis]
    if abs(u[2]) > (pair.steep + SLACK) * math.sqrt(u[0] * u[0] + u[1] * u[1]):
        return  # steeper than the ground: its lower end is nearest
    c = along(along(p, one * half[i], axes[i]), other * half[j], axes[j])
    if c[2] - half[axis] * abs(u[2]) < pair.top + ABOVE:
        line_field(pair, b, heights, spots, first, pair.parts[axis], c, u, half[axis], 0.0)


@kernel
def _face(
    pair: Any, b: Any, heights: Floats, spots: Records, first: int, c: Point, axes: Axes,
    axis: int, side: float,
) -> None:  # fmt: skip
    """The face about c across an axis."""
    half, m = pair.size_a, pair.parts
    n = axes[axis]
    across = math.sqrt(n[0] * n[0] + n[1] * n[1])
    if side * n[2] >= 0.0 or across > (pair.steep + SLACK) * abs(n[2]):
        return
    i, j = (axis + 1) % 3, (axis + 2) % 3
    u, v, hu, hv = axes[i], axes[j], half[i], half[j]
    if c[2] - hu * abs(u[2]) - hv * abs(v[2]) > pair.top + ABOVE:
        return
    nu, nv = m[i] * finer(pair, hu, m[i]), m[j] * finer(pair, hv, m[j])
    for k in range(nu * nv):
        wu, wv = 2.0 * hu / nu, 2.0 * hv / nv
        x, y = -hu + (k // nv + 0.5) * wu, -hv + (k % nv + 0.5) * wv
        found, x, y = _settle(pair, heights, c, u, v, x, y, wu, wv)
        if found and abs(x) < hu and abs(y) < hv:
            place = int((x + hu) / (2.0 * hu) * m[i]) * m[j] + int((y + hv) / (2.0 * hv) * m[j])
            spot = spots[first + place]
            q = along(along(c, x, u), y, v)
            ball = nearest(pair, heights, q, 0.0)
            if ball[0] < spot.gap and ball[0] < ABOVE and _stands_out(pair, heights, c, u, v, x, y,
                                                                      hu, hv):  # fmt: skip
                fill(b, spot, q, 0.0, ball)


@inlined
def _slopes(
    pair: Any, heights: Floats, q: Point, u: Point, v: Point
) -> tuple[float, float, float, float, float]:
    """First and second derivatives of F at q along u and v: (F_u, F_v, F_uu, F_uv, F_vv)."""
    _, hx, hy, hxx, hxy, hyy = surface(pair, heights, q[0], q[1])
    return (
        u[2] - hx * u[0] - hy * u[1],
        v[2] - hx * v[0] - hy * v[1],
        -(hxx * u[0] * u[0] + 2.0 * hxy * u[0] * u[1] + hyy * u[1] * u[1]),
        -(hxx * u[0] * v[0] + hxy * (u[0] * v[1] + u[1] * v[0]) + hyy * u[1] * v[1]),
        -(hxx * v[0] * v[0] + 2.0 * hxy * v[0] * v[1] + hyy * v[1] * v[1]),
    )


@kernel
def _settle(
    pair: Any, heights: Floats, c: Point, u: Point, v: Point, x: float, y: float, wu: float,
    wv: float,
) -> tuple[bool, float, float]:  # fmt: skip
    """Go down from (x, y) on the face to a minimum of F: whether it is near, and where."""
    start_x, start_y = x, y
    for _ in range(ITERATIONS):
        fu, fv, fuu, fuv, fvv = _slopes(pair, heights, along(along(c, x, u), y, v), u, v)
        determinant = fuu * fvv - fuv * fuv
        size = math.sqrt(fu * fu + fv * fv)
        if size < LEVEL:
            return fuu > -FLAT and determinant > -FLAT * FLAT, x, y
        if fuu > 0.0 and determinant > 0.0:
            mx, my = (fvv * fu - fuv * fv) / determinant, (fuu * fv - fuv * fu) / determinant
        else:
            mx, my = math.inf, math.inf
        if not (abs(mx) <= wu and abs(my) <= wv):  # a short way down instead
            mx, my = 0.5 * wu * fu / size, 0.5 * wv * fv / size
        x -= mx
        y -= my
        if abs(x - start_x) > wu or abs(y - start_y) > wv:
            break
    return False, x, y


@inlined
def _stands_out(
    pair: Any, heights: Floats, c: Point, u: Point, v: Point, x: float, y: float, hu: float,
    hv: float,
) -> bool:  # fmt: skip
    """Whether the ground does more than lie flat below the face: then its corners tell."""
    q = along(along(c, x, u), y, v)
    _, _, fuu, _, fvv = _slopes(pair, heights, q, u, v)
    if fuu + fvv > FLAT:
        return True
    plane = 0.0
    for k in range(4):
        su, sv = 1.0 if k & 2 else -1.0, 1.0 if k & 1 else -1.0
        corner = along(along(c, su * hu, u), sv * hv, v)
        height = corner[2] - surface(pair, heights, corner[0], corner[1])[0]
        plane += 0.25 * (1.0 + su * x / hu) * (1.0 + sv * y / hv) * height
    return q[2] - surface(pair, heights, q[0], q[1])[0] < plane - PLANE
