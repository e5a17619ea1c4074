"""Mass, centre of mass and inertia of a body, computed from its geoms.

Solids of even density (moments about the centre of mass, along the geom's axes; V is the volume,
the mass is m = density V):

- sphere of radius r: V = 4/3 pi r^3, I = 2/5 m r^2 about every axis;
- box of half edges (a, b, c): V = 8 a b c, I = m / 3 (b^2 + c^2, a^2 + c^2, a^2 + b^2);
- capsule of radius r and half length h along z, a cylinder (volume 2 pi r^2 h, its share of m: m_c)
  with two halves of a ball (4/3 pi r^3 together, m_s):
  I_z = m_c r^2 / 2 + 2/5 m_s r^2,
  I_x = I_y = m_c (r^2 / 4 + h^2 / 3) + m_s (2/5 r^2 + h^2 + 3/4 r h).
  (The centroid of half a ball lies 3/8 r above its flat face, and its moment there is
  83/320 m r^2; moved to the capsule's middle by h + 3/8 r this gives the last bracket.)
- cylinder of radius r and half length h along z: V = 2 pi r^2 h, I_z = m r^2 / 2,
  I_x = I_y = m (r^2 / 4 + h^2 / 3);
- ellipsoid of half axes (a, b, c): V = 4/3 pi a b c, I = m / 5 (b^2 + c^2, a^2 + c^2, a^2 + b^2);
- cone of radius r, base at z = -h, apex at z = h: V = 2/3 pi r^2 h, centre of mass at z = -h / 2,
  I_z = 3/10 m r^2, I_x = I_y = 3/20 m (r^2 + h^2);
- convex hull: sums over tetrahedra between a point within and the triangles of the surface, each
  with the second moment V / 20 (sum_i v_i v_i^T + s s^T), s = sum_i v_i, of its corners v_i from
  that point.

Several solids add up: m = sum m_i, com = sum m_i c_i / m and, by the parallel axis theorem,
I = sum R_i I_i R_i^T + m_i (|d_i|^2 1 - d_i d_i^T) with d_i = c_i - com.

Sources: Goldstein, Classical Mechanics, 5.3 (parallel axes); Eberly, Game Physics, 2.5 (moments of
solids).  As in MuJoCo, volume that two geoms share counts twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynenvs.model.parts import Body, Geom, ModelError, check_mass

Array = NDArray[np.float64]


class Solid(NamedTuple):
    """The mass distribution of a geom, or of several."""

    mass: float  # [kg]
    com: Array  # body axes [m], shape (3,)
    inertia: Array  # about the centre of mass, body axes [kg m^2], shape (3, 3)


def weighed(body: Body, geoms: list[Geom]) -> Body:
    """The body with the mass distribution of its geoms, if it or one of them asks for that.

    Args:
        body: as described.
        geoms: those that it carries.

    Raises:
        ModelError: both the body and its geoms say what it weighs, or a density finds no volume.
    """
    # What says what it weighs: the body, or its geoms
    heavy = [geom for geom in geoms if geom.mass is not None or geom.density is not None]
    if body.density is None and not heavy:
        return body
    # Both cannot
    if body.explicit:
        source = f"geom {heavy[0].name!r}" if heavy else "the body"
        given = heavy and heavy[0].mass is not None
        raise ModelError(
            f"body {body.name!r} has a mass, com or inertia of its own, and {source} has a "
            f"{'mass' if given else 'density'}: give one or the other"
        )
    # Geoms add up, each with its own density or the body's
    total = combined(solid(geom, body.density) for geom in geoms)
    if body.density is not None and total.mass == 0.0:
        raise ModelError(
            f"body {body.name!r}: density needs a geom with a volume on the body; it has "
            f"{', '.join(repr(geom.name) for geom in geoms) or 'no geom'}"
        )
    check_mass(body.name, total.mass, total.inertia)
    return replace(body, mass=total.mass, com=total.com, inertia=total.inertia)


def combined(solids: Iterable[Solid]) -> Solid:
    """Several solids of one body as one, by the parallel axis theorem."""
    # Massless parts would divide zero by zero
    parts = [part for part in solids if part.mass > 0.0]
    mass = math.fsum(part.mass for part in parts)
    if not parts or not math.isfinite(mass):
        return Solid(mass, np.zeros(3), np.zeros((3, 3)))
    com = np.sum([part.mass / mass * part.com for part in parts], axis=0)
    inertia = np.zeros((3, 3))
    for part in parts:
        d = part.com - com
        inertia += part.inertia + part.mass * (d @ d * np.eye(3) - np.outer(d, d))
    return Solid(mass, com, 0.5 * (inertia + inertia.T))


def solid(geom: Geom, density: float | None = None) -> Solid:
    """The mass distribution of one geom; of no mass if nothing gives it any.

    Args:
        geom: its own mass or density counts first.
        density: for a geom with volume that has neither [kg/m^3].
    """
    shape = _shape(geom)
    # A mass that is given spreads over the shape; else volume times density
    if geom.mass is not None:
        mass = geom.mass
    else:
        mass = shape.volume * ((density or 0.0) if geom.density is None else geom.density)
    com = geom.position + geom.rotation @ shape.com
    if not math.isfinite(mass):  # `check_mass` will say so
        return Solid(mass, com, np.zeros((3, 3)))
    return Solid(mass, com, mass * (geom.rotation @ shape.inertia @ geom.rotation.T))


class Shape(NamedTuple):
    """A solid of even density in its own axes; all zero of what is a point or has no end."""

    volume: float  # [m^3]
    com: Array  # [m]
    inertia: Array  # of one kilogramme, about the centre of mass [m^2]


def _shape(geom: Geom) -> Shape:
    a, b, c = (float(x) for x in geom.size)
    aa, bb, cc = a * a, b * b, c * c  # infinite where ** would raise
    middle, com = np.zeros(3), np.array([0.0, 0.0, -b / 2])
    if geom.type == "sphere":
        return Shape(4 / 3 * math.pi * aa * a, middle, 0.4 * aa * np.eye(3))
    if geom.type == "box":
        moments = (bb + cc) / 3, (aa + cc) / 3, (aa + bb) / 3
        return Shape(8 * a * b * c, middle, np.diag(moments))
    if geom.type == "ellipsoid":
        moments = (bb + cc) / 5, (aa + cc) / 5, (aa + bb) / 5
        return Shape(4 / 3 * math.pi * a * b * c, middle, np.diag(moments))
    if geom.type == "cylinder":
        across = aa / 4 + bb / 3
        return Shape(2 * math.pi * aa * b, middle, np.diag([across, across, aa / 2]))
    if geom.type == "cone":
        across = 0.15 * (aa + bb)
        return Shape(2 / 3 * math.pi * aa * b, com, np.diag([across, across, 0.3 * aa]))
    if geom.type == "capsule":
        ends = 4 / 3 * a / (4 / 3 * a + 2 * b)  # their share of the mass
        along = aa * ((1 - ends) / 2 + 0.4 * ends)
        across = (1 - ends) * (aa / 4 + bb / 3) + ends * (0.4 * aa + bb + 0.75 * a * b)
        volume = math.pi * aa * (4 / 3 * a + 2 * b)
        return Shape(volume, middle, np.diag([across, across, along]))
    return _hull(geom.corners) if geom.corners is not None else Shape(0.0, middle, np.zeros((3, 3)))


def _hull(corners: Array) -> Shape:
    """Of the tetrahedra between a point within and all triangles of the surface."""
    from scipy.spatial import ConvexHull

    # Tetrahedra from the middle: their signs cannot matter within a convex hull
    middle = corners.mean(axis=0)
    own = corners - middle
    a, b, c = own[ConvexHull(own).simplices].swapaxes(0, 1)
    volumes = np.abs(np.einsum("ij,ij->i", a, np.cross(b, c))) / 6
    volume = float(volumes.sum())
    shares = volumes / volume
    com = shares @ (a + b + c) / 4
    # Second moments of all tetrahedra, then Steiner's theorem back to the centre
    second = np.zeros((3, 3))
    for v in (a, b, c, a + b + c):
        second += (shares[:, None] * v).T @ v / 20
    second -= np.outer(com, com)
    return Shape(volume, middle + com, np.trace(second) * np.eye(3) - second)
