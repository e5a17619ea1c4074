"""A camera as kernels use it: plain numbers, read once a picture."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynenvs.jit.compiled import inlined
from dynenvs.kinematics.triples import dot

Vector = tuple[float, float, float]

# Pictures, as kernels take them
Canvas = Annotated[NDArray[np.uint8], 3]  # (h, w, 3)
Depths = Annotated[NDArray[np.float32], 2]
Codes = Annotated[NDArray[np.int32], 2]
Directions = Annotated[NDArray[np.float32], 3]  # (h, w, 3)


class Lens(NamedTuple):
    """World axes [m]; `focal` and the middle of the picture in pixels; `pixel` is 1 / focal."""

    eye: Vector
    right: Vector
    up: Vector
    ahead: Vector
    focal: float
    pixel: float
    column: float
    row: float


@inlined
def vector(v: Any) -> Vector:
    """Three numbers of an array."""
    return 1.0 * v[0], 1.0 * v[1], 1.0 * v[2]


@inlined
def open_lens(camera: Any) -> Lens:
    """The numbers of a record CAMERA."""
    return Lens(
        vector(camera.eye),
        vector(camera.right),
        vector(camera.up),
        vector(camera.ahead),
        camera.focal,
        1.0 / camera.focal,
        camera.column,
        camera.row,
    )


@inlined
def ray(lens: Lens, column: float, row: float) -> Vector:
    """Direction through a place in the picture [px]; one metre ahead, not of unit length."""
    x, y = (column - lens.column) * lens.pixel, (lens.row - row) * lens.pixel
    a, r, u = lens.ahead, lens.right, lens.up
    return (
        a[0] + x * r[0] + y * u[0],
        a[1] + x * r[1] + y * u[1],
        a[2] + x * r[2] + y * u[2],
    )


@inlined
def seen_at(lens: Lens, p: Vector, near: float) -> Vector:
    """Column, row [px] and depth [m] of a world point; nearer than `near` counts as there."""
    d = (p[0] - lens.eye[0], p[1] - lens.eye[1], p[2] - lens.eye[2])
    depth = dot(d, lens.ahead)
    scale = lens.focal / max(depth, near)
    return lens.column + scale * dot(d, lens.right), lens.row - scale * dot(d, lens.up), depth


@inlined
def linear(lens: Lens, n: Vector, scale: float) -> Vector:
    """(a, b, c) with n . ray = scale (a + b column + c row) at sample (column, row)."""
    b = dot(n, lens.right) * 0.5 / (lens.focal * scale)
    c = -dot(n, lens.up) * 0.5 / (lens.focal * scale)
    a = dot(n, lens.ahead) / scale
    return a + b * (0.5 - 2.0 * lens.column) + c * (0.5 - 2.0 * lens.row), b, c


@inlined
def cut(low: float, high: float, a: float, b: float) -> tuple[float, float]:
    """The part of the interval low..high in which a + b x >= 0."""
    if b > 1e-15:
        return max(low, -a / b), high
    if b < -1e-15:
        return low, min(high, -a / b)
    return (low, high) if a >= 0.0 else (1.0, 0.0)
