"""Friction with two coefficients along two directions of a surface: Coulomb's law in other units.

mu_1 along a direction e_1 of the surface and mu_2 along e_2 = n x e_1 (wood along its grain and
across it, skates, tyres).  The tangential impulse lies in an ellipse, and where the contact slips
it is the point of it that takes most energy away:

    (p_1 / mu_1)^2 + (p_2 / mu_2)^2 <= p_n^2,
    p_i = -mu_i^2 u_i p_n / sqrt(mu_1^2 u_1^2 + mu_2^2 u_2^2).

Measured along the tangents t_i = mu_i / mu_1 e_i, which are as long as friction is strong, an
impulse has the entries q_i = p_i mu_1 / mu_i and a velocity w_i = u_i mu_i / mu_1.  So q . w is the
power p . u, and the law is Coulomb's, with mu_1:

    |q| <= mu_1 p_n,    q = -mu_1 p_n w / |w|.

Solvers and certificates see the rows of such tangents and need know nothing of the law.  What
knows: callers that need directions of length one, or the entries of a given impulse.  These
pyramids keep to the surface's directions; others turn with the predicted slip.

In the plane there is one tangent t, along which the ellipse reaches as far as
sqrt((mu_1 e_1 . t)^2 + (mu_2 e_2 . t)^2): what it pushes across is borne.

(Goyal, Ruina, Papadopoulos, Planar sliding with dry friction, Wear 143 (1991); MuJoCo's elliptic
cone is the same.)
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.jit.compiled import inlined, unit
from dynenvs.kinematics.rotation import rotate
from dynenvs.kinematics.spatial import dot3
from dynenvs.memory.layout import Floats, Records, WorkView


@unit("extra rows", seconds=1)
def set_directions(w: WorkView, count: int) -> int:
    """Tangents of the contacts that have two coefficients, among the first `count`.

    Writes `skewed` of all of these.
    """
    for i in range(count):
        contact = w.contacts[i]
        grain = w.features[contact.source].grain - 1
        contact.skewed = 1 if grain >= 0 else 0
        if grain >= 0:
            _set_tangents(w.grains[grain], w.pose, contact, w.header[0].directions == 2)
    return count


@inlined
def _set_tangents(grain: Any, poses: Records, contact: Any, planar: bool) -> None:
    n, t1, t2, side = contact.normal, contact.t1, contact.t2, contact.side
    R = poses[grain.body].R
    # The direction, as far as it lies in the contact's plane
    ax, ay, az = rotate(R, grain.along)
    if abs(n[0] * ax + n[1] * ay + n[2] * az) >= grain.steep:
        ax, ay, az = rotate(R, grain.spare)
    out = n[0] * ax + n[1] * ay + n[2] * az
    ax, ay, az = ax - out * n[0], ay - out * n[1], az - out * n[2]
    size = math.sqrt(ax * ax + ay * ay + az * az)
    ax, ay, az = ax / size, ay / size, az / size
    bx, by, bz = n[1] * az - n[2] * ay, n[2] * ax - n[0] * az, n[0] * ay - n[1] * ax
    if planar:
        # t1 = y x n; the ellipse's reach along it
        x, z = n[2], -n[0]
        first, second = ax * x + az * z, grain.ratio * (bx * x + bz * z)
        reach = math.sqrt(first * first + second * second)
        t1[0], t1[1], t1[2] = reach * x, 0.0, reach * z
        t2[0], t2[1], t2[2] = 0.0, 1.0, 0.0
        side[0], side[1], side[2] = 0.0, 1.0, 0.0
        return
    t1[0], t1[1], t1[2] = ax, ay, az
    side[0], side[1], side[2] = bx, by, bz
    for k in range(3):
        t2[k] = grain.ratio * side[k]


@inlined
def impulse_along(contact: Any, tangent: Floats, impulse: Floats) -> float:
    """Entry of an impulse, world axes, along one of a contact's tangents, whatever its length."""
    entry = dot3(tangent, impulse)
    if contact.skewed != 0:
        entry /= dot3(tangent, tangent)
    return float(entry)


@inlined
def second_axis(contact: Any) -> Floats:
    """The second tangent's direction, of length one."""
    return contact.side if contact.skewed != 0 else contact.t2
