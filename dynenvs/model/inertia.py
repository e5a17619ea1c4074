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
    heavy = [geom for geom in geoms if geom.mass is not None or geom.density is not None]
    if body.density is None and not heavy:
        return body
    if body.explicit:
        source = f"geom {heavy[0].name!r}" if heavy else "the body"
        given = heavy and heavy[0].mass is not None
        raise ModelError(
            f"body {body.name!r} has a mass, com or inertia of its own, and {source} has a "
            f"{'mass' if given else 'density'}: give one or the other"
        )
    total = combined(solid(geom, body.density) for geom in geoms)
    if body.density is not None and total.mass == 0.0:
        raise ModelError(
            f"body {body.name!r}: density needs a sphere, capsule or box on the body; it has "
            f"{', '.join(repr(geom.name) for geom in geoms) or 'no geom'}"
        )
    check_mass(body.name, total.mass, total.inertia)
    return replace(body, mass=total.mass, com=total.com, inertia=total.inertia)


def combined(solids: Iterable[Solid]) -> Solid:
    """Several solids of one body as one, by the parallel axis theorem."""
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
    if geom.mass is not None:
        mass = geom.mass
    else:
        mass = _volume(geom) * ((density or 0.0) if geom.density is None else geom.density)
    if not math.isfinite(mass):  # `check_mass` will say so
        return Solid(mass, geom.position, np.zeros((3, 3)))
    inertia = mass * (geom.rotation @ np.diag(_moments(geom)) @ geom.rotation.T)
    return Solid(mass, geom.position, inertia)


def _volume(geom: Geom) -> float:
    """Of a sphere, capsule or box; zero of all that is a point or has no end [m^3]."""
    a, b, c = (float(x) for x in geom.size)
    if geom.type == "sphere":
        return 4 / 3 * math.pi * a * a * a
    if geom.type == "capsule":
        return math.pi * a * a * (4 / 3 * a + 2 * b)
    return 8 * a * b * c if geom.type == "box" else 0.0


def _moments(geom: Geom) -> tuple[float, float, float]:
    """Principal moments of one kilogramme of the geom about its middle, its axes [m^2]."""
    a, b, c = (float(x) for x in geom.size)
    aa, bb, cc = a * a, b * b, c * c  # infinite where ** would raise
    if geom.type == "sphere":
        return (0.4 * aa,) * 3
    if geom.type == "box":
        return (bb + cc) / 3, (aa + cc) / 3, (aa + bb) / 3
    if geom.type == "capsule":
        ends = 4 / 3 * a / (4 / 3 * a + 2 * b)  # their share of the mass
        along = aa * ((1 - ends) / 2 + 0.4 * ends)
        across = (1 - ends) * (aa / 4 + bb / 3) + ends * (0.4 * aa + bb + 0.75 * a * b)
        return across, across, along
    return 0.0, 0.0, 0.0
