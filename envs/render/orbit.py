"""A perspective camera that goes round what it looks at."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dynenvs.envs.render.camera import Projected
from dynenvs.records import record_type

Array = NDArray[np.float64]

FIELD = math.radians(32.0)  # height of the field of view
NEAR = 0.02  # points nearer than this are not drawn [m]
LOW, HIGH = math.radians(-2.0), math.radians(85.0)  # elevations that make sense

# What kernels see of a camera: world axes, lengths in metres, `focal` and the middle in pixels
CAMERA = record_type(
    [
        ("eye", "f8", (3,)),
        ("right", "f8", (3,)),
        ("up", "f8", (3,)),
        ("ahead", "f8", (3,)),
        ("focal", "f8"),
        ("column", "f8"),
        ("row", "f8"),
    ]
)


class OrbitCamera:
    """Looks at `target` from `distance`, `azimuth` and `elevation`.

    Args:
        size: of the picture, width and height [px].
        view_height: height of what the picture shows at the target [m].

    Attributes:
        target: world point in the middle of the picture [m], shape (3,).
        azimuth: of the camera seen from the target, from the x axis to the left [rad].
        elevation: of the camera above the target's level [rad].
        zoom: factor on the target's size in the picture.
    """

    def __init__(self, size: tuple[int, int], view_height: float) -> None:
        self.size, self.view_height = size, view_height
        self.target = np.zeros(3)
        self.azimuth, self.elevation, self.zoom = math.radians(-58.0), math.radians(13.0), 1.0
        self.record = np.zeros(1, CAMERA)
        self.aim(self.target)

    def orbit(self, azimuth: float, elevation: float) -> None:
        """Go round by these angles [rad]; never over the top or far below ground."""
        self.azimuth += azimuth
        self.elevation = min(max(self.elevation + elevation, LOW), HIGH)

    def aim(self, target: Array) -> None:
        """Look at `target`."""
        self.target = np.array(target, float)
        c, s = math.cos(self.elevation), math.sin(self.elevation)
        back = np.array([c * math.cos(self.azimuth), c * math.sin(self.azimuth), s])
        right = np.array([-math.sin(self.azimuth), math.cos(self.azimuth), 0.0])
        distance = 0.5 * self.view_height / math.tan(0.5 * FIELD) / self.zoom
        record = self.record[0]
        record.eye[:] = self.target + distance * back
        record.right[:], record.up[:], record.ahead[:] = right, np.cross(back, right), -back
        record.focal = 0.5 * self.size[1] / math.tan(0.5 * FIELD)
        record.column, record.row = 0.5 * self.size[0], 0.54 * self.size[1]

    def project(self, points: Array) -> Projected:
        """World points [m], shape (k, 3), in pixels."""
        c = self.record[0]
        d = points - c.eye
        depth = np.maximum(d @ c.ahead, NEAR)
        scale = c.focal / depth
        pixels = np.stack([c.column + scale * (d @ c.right), c.row - scale * (d @ c.up)], axis=1)
        return Projected(pixels, depth, scale)

    def turn(self, vector: Array) -> Array:
        """A world vector, shape (3,), in view axes: right, up, towards the viewer."""
        c = self.record[0]
        return np.array([c.right @ vector, c.up @ vector, -c.ahead @ vector])
