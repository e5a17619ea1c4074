"""Parametric surfaces c(s, t) with their derivatives; c_s x c_t points out of the body.

All formulas hold for complex parameters too: derivatives along a motion are taken by complex steps
(`dynenvs.reference.surfaces.contact`).
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[Any]  # real or complex


class Jet(NamedTuple):
    """A point of a surface and its derivatives [m], each of shape (3,)."""

    c: Array
    s: Array
    t: Array
    ss: Array
    st: Array
    tt: Array


class Surface(Protocol):
    """A surface of a body, in the body's frame."""

    def jet(self, parameters: Array) -> Jet:
        """Point and derivatives at the `parameters`, shape (2,)."""
        ...

    def margin(self, parameters: Array) -> float:
        """How far it is from there to the chart's edge, in parameters; negative outside."""
        ...


def _vector(*entries: Any) -> Array:
    return np.array(entries)


class Plane:
    """c = (s, t, 0), out along +z; parameters in metres.

    Args:
        extent: half the side of the square that the chart covers [m].
    """

    def __init__(self, extent: float = np.inf) -> None:
        self.extent = extent

    def jet(self, parameters: Array) -> Jet:
        """Point and derivatives."""
        zero = np.zeros(3)
        return Jet(
            _vector(parameters[0], parameters[1], 0.0), np.eye(3)[0], np.eye(3)[1], zero, zero, zero
        )

    def margin(self, parameters: Array) -> float:
        """Distance from the square's border [m]."""
        return float(self.extent - np.abs(parameters).max())


class Sphere:
    """c = r (cos t cos s, cos t sin s, sin t) about the body's origin: longitude, latitude.

    Args:
        radius: [m].
        polar: latitude at which the chart ends [rad]; at pi/2 it is singular.
    """

    def __init__(self, radius: float, polar: float = 1.4) -> None:
        if not (radius > 0.0 and 0.0 < polar < np.pi / 2):
            raise ValueError(
                f"radius must be positive and polar between 0 and pi/2, got {radius}, {polar}"
            )
        self.radius, self.polar = radius, polar

    def jet(self, parameters: Array) -> Jet:
        """Point and derivatives."""
        r, cs, ss, ct, st = self.radius, *_turns(parameters)
        c = r * _vector(ct * cs, ct * ss, st)
        return Jet(
            c,
            r * _vector(-ct * ss, ct * cs, 0.0),
            r * _vector(-st * cs, -st * ss, ct),
            r * _vector(-ct * cs, -ct * ss, 0.0),
            r * _vector(st * ss, -st * cs, 0.0),
            -c,
        )

    def margin(self, parameters: Array) -> float:
        """Latitude that is left to the chart's edge [rad]."""
        return float(self.polar - abs(parameters[1]))


class Torus:
    """c = ((R + r cos t) cos s, (R + r cos t) sin s, r sin t): no edge anywhere.

    Args:
        ring: R, of the circle that the tube follows [m].
        tube: r [m], less than R.
    """

    def __init__(self, ring: float, tube: float) -> None:
        if not 0.0 < tube < ring:
            raise ValueError(f"tube must be positive and less than ring, got {tube}, {ring}")
        self.ring, self.tube = ring, tube

    def jet(self, parameters: Array) -> Jet:
        """Point and derivatives."""
        r, cs, ss, ct, st = self.tube, *_turns(parameters)
        out = self.ring + r * ct
        return Jet(
            _vector(out * cs, out * ss, r * st),
            _vector(-out * ss, out * cs, 0.0),
            r * _vector(-st * cs, -st * ss, ct),
            _vector(-out * cs, -out * ss, 0.0),
            r * _vector(st * ss, -st * cs, 0.0),
            r * _vector(-ct * cs, -ct * ss, -st),
        )

    def margin(self, parameters: Array) -> float:
        """Infinite."""
        return np.inf


def _turns(parameters: Array) -> tuple[Any, Any, Any, Any]:
    return (
        np.cos(parameters[0]),
        np.sin(parameters[0]),
        np.cos(parameters[1]),
        np.sin(parameters[1]),
    )


class Bezier:
    """Bicubic tensor-product patch, s and t in [0, 1] (de Casteljau's polynomials).

    Args:
        control: control points [m], shape (4, 4, 3), first index along s.
    """

    def __init__(self, control: ArrayLike) -> None:
        points = np.array(control, dtype=np.float64)
        if points.shape != (4, 4, 3) or not np.isfinite(points).all():
            raise ValueError(f"control must be finite with shape (4, 4, 3), got {points.shape}")
        self.control = points

    def jet(self, parameters: Array) -> Jet:
        """Point and derivatives."""
        S, T = _bernstein(parameters[0]), _bernstein(parameters[1])
        # All derivatives along s, then all along t: D[i, j] is d^(i+j) c / ds^i dt^j
        D = T @ (S @ self.control.reshape(4, 12)).reshape(3, 4, 3)
        return Jet(D[0, 0], D[1, 0], D[0, 1], D[2, 0], D[1, 1], D[0, 2])

    def margin(self, parameters: Array) -> float:
        """Distance from the border of the unit square."""
        return float(np.min(np.minimum(parameters, 1.0 - parameters)))


def _bernstein(x: Any) -> Array:
    """Cubic Bernstein polynomials and their first two derivatives, shape (3, 4)."""
    y = 1.0 - x
    return np.array(
        [
            (y * y * y, 3 * x * y * y, 3 * x * x * y, x * x * x),
            (-3 * y * y, 3 * y * y - 6 * x * y, 6 * x * y - 3 * x * x, 3 * x * x),
            (6 * y, 6 * x - 12 * y, 6 * y - 12 * x, 6 * x),
        ]
    )
