"""A perspective camera that goes round what it looks at."""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from dynenvs.envs.render.camera import Projected
from dynenvs.jit.kinds import Record
from dynenvs.memory.records import record_type

Array = NDArray[np.float64]

FIELD = math.radians(32.0)  # height of the field of view
MIDDLE = 0.54  # where the target is, as a share of the picture's height from the top
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
Camera = Annotated[Any, Record(CAMERA)]  # as kernels take it


class OrbitCamera:
    """Looks at `target` from `distance`, `azimuth` and `elevation`.

    Args:
        size: of the picture, width and height [px].
        view_height: height of what the picture shows at the target [m].

    Attributes:
        target: world point that it looks at [m], shape (3,).
        azimuth: of the camera seen from the target, from the x axis to the left [rad].
        elevation: of the camera above the target's level [rad].
        zoom: factor on the target's size in the picture.
        field: height of the field of view [rad]; a narrow one looks from far away.
        rise: how far above what it is told to look at its target is [m].
        middle: where the target is in the picture, as a share of its height from the top.
        held: where the eye is [m], shape (3,), and its axes (right, up, back) as columns, (3, 3),
            where it does not go round; else None.
    """

    def __init__(self, size: tuple[int, int], view_height: float) -> None:
        self.size, self.view_height = size, view_height
        self.field, self.rise, self.middle = FIELD, 0.0, MIDDLE
        self.target = np.zeros(3)
        self.azimuth, self.elevation, self.zoom = math.radians(-58.0), math.radians(13.0), 1.0
        self.held: tuple[Array, Array] | None = None
        self.record = np.zeros(1, CAMERA)
        self.aim(self.target)

    def orbit(self, azimuth: float, elevation: float) -> None:
        """Go round by these angles [rad]; never over the top or far below ground."""
        self.azimuth += azimuth
        self.elevation = min(max(self.elevation + elevation, LOW), HIGH)

    @property
    def distance(self) -> float:
        """Of the eye from the target [m]."""
        return 0.5 * self.view_height / math.tan(0.5 * self.field) / self.zoom

    def aim(self, focus: Array) -> None:
        """Look at what is `rise` above the world point `focus` [m]."""
        self.target = np.array(focus, float) + np.array([0.0, 0.0, self.rise])
        c, s = math.cos(self.elevation), math.sin(self.elevation)
        back = np.array([c * math.cos(self.azimuth), c * math.sin(self.azimuth), s])
        right = np.array([-math.sin(self.azimuth), math.cos(self.azimuth), 0.0])
        record = self.record[0]
        eye, up = self.target + self.distance * back, np.cross(back, right)
        if self.held is not None:
            eye, (right, up, back) = self.held[0], self.held[1].T
        record.eye[:], record.right[:], record.up[:], record.ahead[:] = eye, right, up, -back
        record.focal = 0.5 * self.size[1] / math.tan(0.5 * self.field)
        record.column, record.row = 0.5 * self.size[0], self.middle * self.size[1]

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
