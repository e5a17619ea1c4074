"""Where things appear: cameras turn world points [m] into pixels."""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Projected(NamedTuple):
    """World points as a camera sees them."""

    pixels: Array  # right and down from the top left corner, shape (k, 2)
    depth: Array  # larger is farther away: the order to paint in, shape (k,)
    scale: Array  # [px/m] at each point, shape (k,)


class Camera(Protocol):
    """What a painter asks of a camera; a perspective camera would be another one of these."""

    def project(self, points: Array) -> Projected:
        """World points [m], shape (k, 3), in pixels."""

    def turn(self, vector: Array) -> Array:
        """A world vector, shape (3,), in view axes: right, up, towards the viewer."""


class SideCamera:
    """An orthographic camera at -y that looks along +y and a little down, x to the right.

    Paints in the order of y: exact for robots that move in the x-z plane, whose bodies lie in
    parallel planes.

    Args:
        size: of the picture, width and height [px].
        view_height: height of the picture [m].
        pitch: how far it looks down [rad].
    """

    def __init__(self, size: tuple[int, int], view_height: float, pitch: float = 0.2) -> None:
        self.size = size
        self.scale = size[1] / view_height
        self.sin, self.cos = math.sin(pitch), math.cos(pitch)
        self.center = np.zeros(3)  # world point in the middle of the picture [m]

    def project(self, points: Array) -> Projected:
        """World points [m], shape (k, 3), in pixels."""
        d = points - self.center
        pixels = np.empty((len(d), 2))
        pixels[:, 0] = self.size[0] / 2 + self.scale * d[:, 0]
        pixels[:, 1] = self.size[1] / 2 - self.scale * (self.cos * d[:, 2] + self.sin * d[:, 1])
        return Projected(pixels, d[:, 1], np.full(len(d), self.scale))

    def turn(self, vector: Array) -> Array:
        """A world vector, shape (3,), in view axes: right, up, towards the viewer."""
        x, y, z = vector
        return np.array([x, self.sin * y + self.cos * z, self.sin * z - self.cos * y])

    def column(self, x: float) -> float:
        """Where the plane of a world x [m] stands [px]."""
        return float(self.size[0] / 2 + self.scale * (x - self.center[0]))

    def row(self, y: float, z: float) -> float:
        """Where the line of a world y and z [m] lies [px]."""
        d = self.cos * (z - self.center[2]) + self.sin * (y - self.center[1])
        return float(self.size[1] / 2 - self.scale * d)
