"""Rotations in three dimensions: unit quaternions (w, x, y, z) and 3 x 3 matrices.

Kernels write into their last argument; angles in rad.
"""

from __future__ import annotations

import math

from dynenvs.compiled import inlined
from dynenvs.layout import Floats


@inlined
def turn_about(
    R: Floats, rest: Floats, even: Floats, odd: Floats, s: float, c: float, out: Floats
) -> None:
    """out = R (rest + c even + s odd), shapes (3, 3): Rodrigues' formula, its constants prepared.

    All factors are read before anything is written, so that no load waits for a store.
    """
    a00 = rest[0, 0] + c * even[0, 0] + s * odd[0, 0]
    a01 = rest[0, 1] + c * even[0, 1] + s * odd[0, 1]
    a02 = rest[0, 2] + c * even[0, 2] + s * odd[0, 2]
    a10 = rest[1, 0] + c * even[1, 0] + s * odd[1, 0]
    a11 = rest[1, 1] + c * even[1, 1] + s * odd[1, 1]
    a12 = rest[1, 2] + c * even[1, 2] + s * odd[1, 2]
    a20 = rest[2, 0] + c * even[2, 0] + s * odd[2, 0]
    a21 = rest[2, 1] + c * even[2, 1] + s * odd[2, 1]
    a22 = rest[2, 2] + c * even[2, 2] + s * odd[2, 2]
    for i in range(3):
        x, y, z = R[i, 0], R[i, 1], R[i, 2]
        out[i, 0] = x * a00 + y * a10 + z * a20
        out[i, 1] = x * a01 + y * a11 + z * a21
        out[i, 2] = x * a02 + y * a12 + z * a22


@inlined
def turn_about_principal(
    R: Floats, axis: int, odd: Floats, s: float, c: float, out: Floats
) -> None:
    """`turn_about` for an axis x, y or z (1, 2, 3): one column stays; the same bits."""
    a, b = (1, 2) if axis == 1 else ((2, 0) if axis == 2 else (0, 1))
    kept = axis - 1
    t = s * odd[b, a]
    for i in range(3):
        u, v = R[i, a], R[i, b]
        out[i, kept] = R[i, kept]
        out[i, a] = u * c + v * t
        out[i, b] = v * c - u * t


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
    """out = a b, shapes (3, 3); `out` must not be b."""
    for i in range(3):
        x, y, z = a[i, 0], a[i, 1], a[i, 2]
        for j in range(3):
            out[i, j] = x * b[0, j] + y * b[1, j] + z * b[2, j]


@inlined
def rotate(R: Floats, x: Floats) -> tuple[float, float, float]:
    """R x as three numbers; shapes (3, 3) and (3,)."""
    return (
        R[0, 0] * x[0] + R[0, 1] * x[1] + R[0, 2] * x[2],
        R[1, 0] * x[0] + R[1, 1] * x[1] + R[1, 2] * x[2],
        R[2, 0] * x[0] + R[2, 1] * x[1] + R[2, 2] * x[2],
    )
