"""Rotations in three dimensions: unit quaternions (w, x, y, z) and 3 x 3 matrices.

Kernels write into their last argument; angles in rad.
"""

from __future__ import annotations

import math

from dynenvs.compiled import inlined
from dynenvs.layout import Floats


@inlined
def axis_angle_matrix(axis: Floats, angle: float, out: Floats) -> None:
    """Rodrigues' formula R = 1 + sin K + (1 - cos) K^2 for a unit `axis`, shape (3,)."""
    s = math.sin(angle)
    c = math.cos(angle)
    x, y, z = axis[0], axis[1], axis[2]
    t = 1.0 - c
    out[0, 0] = t * x * x + c
    out[0, 1] = t * x * y - s * z
    out[0, 2] = t * x * z + s * y
    out[1, 0] = t * x * y + s * z
    out[1, 1] = t * y * y + c
    out[1, 2] = t * y * z - s * x
    out[2, 0] = t * x * z - s * y
    out[2, 1] = t * y * z + s * x
    out[2, 2] = t * z * z + c


@inlined
def quaternion_matrix(quaternion: Floats, out: Floats) -> None:
    """Rotation matrix of a quaternion, shape (4,), normalised on the way."""
    w, x, y, z = quaternion[0], quaternion[1], quaternion[2], quaternion[3]
    s = 2.0 / (w * w + x * x + y * y + z * z)
    out[0, 0] = 1.0 - s * (y * y + z * z)
    out[0, 1] = s * (x * y - w * z)
    out[0, 2] = s * (x * z + w * y)
    out[1, 0] = s * (x * y + w * z)
    out[1, 1] = 1.0 - s * (x * x + z * z)
    out[1, 2] = s * (y * z - w * x)
    out[2, 0] = s * (x * z - w * y)
    out[2, 1] = s * (y * z + w * x)
    out[2, 2] = 1.0 - s * (x * x + y * y)


@inlined
def rotate_quaternion(quaternion: Floats, rx: float, ry: float, rz: float, out: Floats) -> None:
    """out = quaternion * exp(r / 2): turn by the body-fixed rotation vector r [rad]."""
    angle = math.sqrt(rx * rx + ry * ry + rz * rz)
    half = 0.5 * angle
    c = math.cos(half)
    # sin(half) / angle, by its series where the quotient loses digits
    k = math.sin(half) / angle if angle > 1e-4 else 0.5 - angle * angle / 48.0
    x, y, z = k * rx, k * ry, k * rz
    a, b, d, e = quaternion[0], quaternion[1], quaternion[2], quaternion[3]
    w1 = a * c - b * x - d * y - e * z
    x1 = a * x + b * c + d * z - e * y
    y1 = a * y - b * z + d * c + e * x
    z1 = a * z + b * y - d * x + e * c
    s = 1.0 / math.sqrt(w1 * w1 + x1 * x1 + y1 * y1 + z1 * z1)
    out[0] = w1 * s
    out[1] = x1 * s
    out[2] = y1 * s
    out[3] = z1 * s


@inlined
def rotation_vector(a: Floats, b: Floats, out: Floats) -> None:
    """The body-fixed rotation vector r [rad] with b = a * exp(r / 2), |r| <= pi."""
    w = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
    x = a[0] * b[1] - a[1] * b[0] - a[2] * b[3] + a[3] * b[2]
    y = a[0] * b[2] - a[2] * b[0] - a[3] * b[1] + a[1] * b[3]
    z = a[0] * b[3] - a[3] * b[0] - a[1] * b[2] + a[2] * b[1]
    if w < 0.0:
        w, x, y, z = -w, -x, -y, -z
    sine = math.sqrt(x * x + y * y + z * z)
    k = 2.0 * math.atan2(sine, w) / sine if sine > 1e-12 else 2.0
    out[0] = k * x
    out[1] = k * y
    out[2] = k * z


@inlined
def matmul3(a: Floats, b: Floats, out: Floats) -> None:
    """out = a b, shapes (3, 3); `out` must be neither of them."""
    for i in range(3):
        for j in range(3):
            out[i, j] = a[i, 0] * b[0, j] + a[i, 1] * b[1, j] + a[i, 2] * b[2, j]


@inlined
def rotate(R: Floats, x: Floats) -> tuple[float, float, float]:
    """R x as three numbers; shapes (3, 3) and (3,)."""
    return (
        R[0, 0] * x[0] + R[0, 1] * x[1] + R[0, 2] * x[2],
        R[1, 0] * x[0] + R[1, 1] * x[1] + R[1, 2] * x[2],
        R[2, 0] * x[0] + R[2, 1] * x[1] + R[2, 2] * x[2],
    )
