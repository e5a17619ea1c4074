"""Coulomb's law at one contact as a projection, on the pyramid or on the exact cone.

With u = J v + bias the law reads (De Saxce and Feng 1998; for the pyramid the same with sigma, the
least bound on the slip along its directions, for |u_t|)

    p = P(p - rho (u + mu s e_n)),    s = |u_t| or sigma,    for any rho > 0,

P the projection on K: the cone |p_t| <= mu p_n, or the pyramid over the polygon of directions.
This is one function of (p, rho, u); its derivative by u is -W, with W = rho dP (1 + mu e_n ds/du).
Where a contact slips, mu |p_t - rho u_t| and rho mu |u_t| nearly cancel: their difference is formed
by what they have in common.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.contact.solvers.modes import SLIP, STICK, nearest, sector
from dynenvs.jit.compiled import inlined
from dynenvs.kinematics.triples import Three
from dynenvs.memory.layout import Floats, Records
from dynenvs.memory.records import CONE
from dynenvs.simd.elementary import cos, sin

Two = tuple[float, float]


@inlined
def project_contact(
    cone: int,
    polygon: Records,
    constraint: Any,
    rho: float,
    p: Floats,
    u: Three,
    held: float,
    out: Floats,
    derivative: Floats,
) -> None:
    """P(p - rho (u + mu s e_n)) into `out`, shape (3,), and its W into `derivative`, shape (9,).

    held: mu s, if it is to be taken as given; negative if it follows from u.
    """
    # Zero first: a mode writes the entries that it has
    for k in range(9):
        derivative[k] = 0.0
    if constraint.tangents == 0:
        a = p[0] - rho * u[0]
        out[0], out[1], out[2] = max(a, 0.0), 0.0, 0.0
        derivative[0] = rho if a > 0.0 else 0.0
    elif constraint.compression > 0.0 and (cone == CONE or constraint.tangents == 1):
        _project_cut(constraint, rho, p, u, held, out, derivative)
    elif constraint.compression > 0.0:
        _project_cut_pyramid(polygon, constraint, rho, p, u, held, out, derivative)
    elif constraint.tangents == 1:
        _project_line(constraint.friction, rho, p, u, held, out, derivative)
    elif cone == CONE:
        _project_cone(constraint.friction, rho, p, u, held, out, derivative)
    else:
        _project_pyramid(polygon, constraint.friction, rho, p, u, held, out, derivative)


@inlined
def _stick(
    rho: float, normal: float, x: float, y: float, rows: int, derivative: Floats, out: Floats
) -> None:
    out[0], out[1], out[2] = normal, x, y
    for k in range(rows):
        derivative[4 * k] = rho


@inlined
def _project_line(
    mu: float, rho: float, p: Floats, u: Three, held: float, out: Floats, derivative: Floats
) -> None:
    """In the plane: two directions."""
    own = held < 0.0
    s = mu * abs(u[1]) if own else held
    a, x = p[0] - rho * (u[0] + s), p[1] - rho * u[1]
    # Which of the two edges of the cone in the plane is nearer
    sign = 1.0 if x >= 0.0 else -1.0
    if abs(x) <= mu * a:
        _stick(rho, a, x, 0.0, 2, derivative, out)
        if own and u[1] != 0.0:
            derivative[1] = rho * mu * (1.0 if u[1] > 0.0 else -1.0)
        return
    # On that edge; its slip and the bias that it causes cancel where they oppose
    total = p[0] - rho * u[0] + mu * sign * p[1]
    total -= rho * (mu * (abs(u[1]) + sign * u[1]) if own else held + mu * sign * u[1])
    sx, sy = _slope_of_slip(own, (u[0], u[1], 0.0))
    _along(mu, rho, total, sign, 0.0, sx, sy, out, derivative)


@inlined
def _along(
    mu: float, rho: float, total: float, cx: float, cy: float, sx: float, sy: float, out: Floats,
    derivative: Floats,
) -> None:  # fmt: skip
    """The projection on the ray (1, mu c), where `total` = (1, mu c) . y; c a unit vector.

    sx, sy: derivative of the slip by u_t, zero where the slip is held: opposite to c, the bias
    that it causes takes back what the ray feels of u_t.
    """
    if not total > 0.0:
        out[0] = out[1] = out[2] = 0.0
        return
    # The foot on the ray; (1, mu c) has the length sqrt(1 + mu^2)
    height = total / (1.0 + mu * mu)
    out[0], out[1], out[2] = height, mu * cx * height, mu * cy * height
    share = rho / (1.0 + mu * mu)
    e1, e2 = mu * (cx + sx), mu * (cy + sy)  # of d total / d u over -rho, (1, e)
    for r in range(3):
        d = 1.0 if r == 0 else (mu * cx if r == 1 else mu * cy)
        derivative[3 * r], derivative[3 * r + 1], derivative[3 * r + 2] = (
            share * d,
            share * d * e1,
            share * d * e2,
        )


@inlined
def _slope_of_slip(own: bool, u: Three) -> tuple[float, float]:
    """Derivative of |u_t| by u_t; zero where the slip is not its own, or nothing slips."""
    slip = math.sqrt(u[1] * u[1] + u[2] * u[2]) if own else 0.0
    return (u[1] / slip, u[2] / slip) if slip > 0.0 else (0.0, 0.0)


@inlined
def _project_cone(
    mu: float, rho: float, p: Floats, u: Three, held: float, out: Floats, derivative: Floats
) -> None:
    # y = p - rho (u + s e_n), the point that is projected
    own = held < 0.0
    slip = math.sqrt(u[1] * u[1] + u[2] * u[2])
    s = mu * slip if own else held
    a, x, y = p[0] - rho * (u[0] + s), p[1] - rho * u[1], p[2] - rho * u[2]
    size = math.sqrt(x * x + y * y)
    if size <= mu * a:
        _stick(rho, a, x, y, 3, derivative, out)
        if own and slip > 0.0:
            derivative[1], derivative[2] = rho * mu * u[1] / slip, rho * mu * u[2] / slip
        return
    if not size > 0.0:
        out[0] = out[1] = out[2] = 0.0
        return
    # On the cone's surface: its height by the normal part and mu times the tangential one
    cx, cy = x / size, y / size
    total = p[0] - rho * u[0]
    if own:  # mu (|y_t| - rho |u_t|)
        common = p[1] * p[1] + p[2] * p[2] - 2.0 * rho * (p[1] * u[1] + p[2] * u[2])
        total += mu * common / (size + rho * slip)
    else:
        total += mu * size - rho * held
    sx, sy = _slope_of_slip(own, u)
    _along(mu, rho, total, cx, cy, sx, sy, out, derivative)
    if total > 0.0:  # the ray turns with y
        bend = rho * mu * total / (1.0 + mu * mu) / size
        derivative[4] += bend * (1.0 - cx * cx)
        derivative[5] -= bend * cx * cy
        derivative[7] -= bend * cx * cy
        derivative[8] += bend * (1.0 - cy * cy)


@inlined
def _project_cut(
    constraint: Any, rho: float, p: Floats, u: Three, held: float, out: Floats, derivative: Floats
) -> None:
    """The cone with a compression impulse, cut off at its flat face (`cone_law.py`)."""
    # As on the whole cone, whose tip is `compression` below
    mu, compression, own = constraint.friction, constraint.compression, held < 0.0
    slip = math.sqrt(u[1] * u[1] + u[2] * u[2])
    s = mu * slip if own else held
    a, x, y = p[0] - rho * (u[0] + s), p[1] - rho * u[1], p[2] - rho * u[2]
    if constraint.tangents == 1:
        y = 0.0
    size = math.sqrt(x * x + y * y)
    if a >= 0.0 and size <= mu * (a + compression):
        _stick(rho, a, x, y, 1 + constraint.tangents, derivative, out)
        if own and slip > 0.0:
            derivative[1], derivative[2] = rho * mu * u[1] / slip, rho * mu * u[2] / slip
        return
    # Outside: on the sloping surface if the foot is above the flat face, else on its rim or in it
    cx, cy = (x / size, y / size) if size > 0.0 else (1.0, 0.0)
    total = a + compression + mu * size
    bound = mu * compression
    if total > (1.0 + mu * mu) * compression:
        sx, sy = _slope_of_slip(own, u)
        _along(mu, rho, total, cx, cy, sx, sy, out, derivative)
        out[0] -= compression
        bound = mu * total / (1.0 + mu * mu)
    else:  # on the flat face: nothing but friction on the compression impulse
        out[0], out[1], out[2] = 0.0, x, y
        if size <= bound:
            for k in range(1, 1 + constraint.tangents):
                derivative[4 * k] = rho
            return
        out[1], out[2] = bound * cx, bound * cy
    if constraint.tangents == 2:  # the ray turns with y
        bend = rho * bound / size
        derivative[4] += bend * (1.0 - cx * cx)
        derivative[5] -= bend * cx * cy
        derivative[7] -= bend * cx * cy
        derivative[8] += bend * (1.0 - cy * cy)


@inlined
def _project_cut_pyramid(
    polygon: Records,
    constraint: Any,
    rho: float,
    p: Floats,
    u: Three,
    held: float,
    out: Floats,
    derivative: Floats,
) -> None:
    """The pyramid with a compression impulse, cut off at its flat face.

    The nearest point of the whole pyramid, if that lies above the face; else the point of the face,
    a polygon, that is nearest to the tangential part.
    """
    # Measured from the tip of the whole pyramid
    compression = constraint.compression
    above = (p[0] + compression, p[1], p[2])
    _project_pyramid(polygon, constraint.friction, rho, above, u, held, out, derivative)
    out[0] -= compression
    if out[0] >= 0.0:
        return
    # Below the face: its derivative has nothing of the normal velocity
    for k in range(9):
        derivative[k] = 0.0
    x, y = p[1] - rho * u[1], p[2] - rho * u[2]
    mode, out[1], out[2] = nearest(polygon, constraint.friction * compression, x, y)
    out[0] = 0.0
    if mode == STICK:
        derivative[4] = derivative[8] = rho
    elif mode >= SLIP + polygon[0].directions:  # along an edge of the polygon
        k = mode - SLIP - polygon[0].directions
        after = k + 1 if k + 1 < polygon[0].directions else 0
        ex = polygon[0].cosines[after] - polygon[0].cosines[k]
        ey = polygon[0].sines[after] - polygon[0].sines[k]
        share = rho / (ex * ex + ey * ey)
        derivative[4], derivative[8] = share * ex * ex, share * ey * ey
        derivative[5] = derivative[7] = share * ex * ey


@inlined
def steepest(polygon: Records, x: float, y: float) -> int:
    """The direction k with the largest -d_k . (x, y)."""
    best, most = 0, -math.inf
    for k in range(polygon[0].directions):
        value = -polygon[0].cosines[k] * x - polygon[0].sines[k] * y
        if value > most:
            best, most = k, value
    return best


@inlined
def _project_pyramid(
    polygon: Records,
    mu: float,
    rho: float,
    p: Any,
    u: Three,
    held: float,
    out: Floats,
    derivative: Floats,
) -> None:
    # The slip sigma, and the point that is projected
    own = held < 0.0
    cosines, sines = polygon[0].cosines, polygon[0].sines
    k = steepest(polygon, u[1], u[2])
    sx, sy = -cosines[k], -sines[k]  # derivative of sigma by u_t
    sigma = sx * u[1] + sy * u[2]
    s = mu * sigma if own else held
    a, x, y = p[0] - rho * (u[0] + s), p[1] - rho * u[1], p[2] - rho * u[2]
    # The two directions next to it
    k = sector(polygon, x, y)
    after = k + 1 if k + 1 < polygon[0].directions else 0
    half = math.pi / polygon[0].directions
    cosine, sine = cos(half), sin(half)
    # Across and along the polygon's edge between directions k and after
    nx, ny = cosines[k] + cosines[after], sines[k] + sines[after]
    nx, ny = nx / (2.0 * cosine), ny / (2.0 * cosine)
    across = nx * x + ny * y
    if across <= mu * cosine * a:
        _stick(rho, a, x, y, 3, derivative, out)
        if own:
            derivative[1], derivative[2] = rho * mu * sx, rho * mu * sy
        return
    along = nx * y - ny * x
    # On the facet (1, mu cosine n) of the pyramid
    slope = mu * cosine
    total = p[0] - rho * u[0] + slope * (nx * p[1] + ny * p[2])
    lost = mu * sigma if own else held
    total -= rho * (lost + slope * (nx * u[1] + ny * u[2]))
    height = total / (1.0 + slope * slope)
    if total > 0.0 and abs(along) <= mu * sine * height:
        lean = (mu * sx, mu * sy) if own else (0.0, 0.0)
        _on_facet(rho, slope, height, along, (nx, ny), lean, out, derivative)
        return
    # Beyond the facet's ends: on the nearer edge
    if along < 0.0:
        cx, cy = cosines[k], sines[k]
    else:
        cx, cy = cosines[after], sines[after]
    total = p[0] - rho * u[0] + mu * (cx * p[1] + cy * p[2])
    if own:
        total -= rho * mu * ((sx + cx) * u[1] + (sy + cy) * u[2])
    else:
        total -= rho * (held + mu * (cx * u[1] + cy * u[2]))
    if not own:
        sx, sy = 0.0, 0.0
    _along(mu, rho, total, cx, cy, sx, sy, out, derivative)


@inlined
def _on_facet(
    rho: float,
    slope: float,
    height: float,
    along: float,
    direction: Two,
    lean: Two,
    out: Floats,
    derivative: Floats,
) -> None:
    """The projection on the plane spanned by (1, slope d) and (0, d turned by a right angle).

    direction: d, a unit vector
    lean: what the slip bound adds, along the predicted slip
    """
    # Height along the edge's normal, and what is left along the edge
    nx, ny = direction
    out[0] = height
    out[1] = slope * height * nx - along * ny
    out[2] = slope * height * ny + along * nx
    # The plane's own part of the derivative, then that along the edge, which no friction bounds
    share = rho / (1.0 + slope * slope)
    e1, e2 = slope * nx + lean[0], slope * ny + lean[1]
    for r in range(3):
        d = 1.0 if r == 0 else (slope * nx if r == 1 else slope * ny)
        derivative[3 * r], derivative[3 * r + 1], derivative[3 * r + 2] = (
            share * d,
            share * d * e1,
            share * d * e2,
        )
    derivative[4] += rho * ny * ny
    derivative[5] -= rho * nx * ny
    derivative[7] -= rho * nx * ny
    derivative[8] += rho * nx * nx
