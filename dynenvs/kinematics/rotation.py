"""Rotations in three dimensions: unit quaternions (w, x, y, z) and 3 x 3 matrices.

Kernels write into their last argument; angles in rad.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Floats
from dynenvs.simd.elementary import atan2, cos, sin


@inlined
def times(left: Floats, right: Floats, out: Floats) -> None:
    """out = A B, shapes (3, 3)."""
    for i in range(3):
        x, y, z = left[i, 0], left[i, 1], left[i, 2]
        for j in range(3):
            out[i, j] = x * right[0, j] + y * right[1, j] + z * right[2, j]


@inlined
def turn_about(rotation: Floats, body: Any, sine: float, cosine: float, out: Floats) -> None:
    """out = R (rest + cosine even + sine odd): Rodrigues' formula, its constants in BODY.

    All factors are read before anything is written, so that no load waits for a store.
    """
    # R_tree R_joint entry by entry
    s, c, rest, even, odd = sine, cosine, body.rest, body.even, body.odd
    t00 = rest[0, 0] + c * even[0, 0] + s * odd[0, 0]
    t01 = rest[0, 1] + c * even[0, 1] + s * odd[0, 1]
    t02 = rest[0, 2] + c * even[0, 2] + s * odd[0, 2]
    t10 = rest[1, 0] + c * even[1, 0] + s * odd[1, 0]
    t11 = rest[1, 1] + c * even[1, 1] + s * odd[1, 1]
    t12 = rest[1, 2] + c * even[1, 2] + s * odd[1, 2]
    t20 = rest[2, 0] + c * even[2, 0] + s * odd[2, 0]
    t21 = rest[2, 1] + c * even[2, 1] + s * odd[2, 1]
    t22 = rest[2, 2] + c * even[2, 2] + s * odd[2, 2]
    for i in range(3):
        x, y, z = rotation[i, 0], rotation[i, 1], rotation[i, 2]
        out[i, 0] = x * t00 + y * t10 + z * t20
        out[i, 1] = x * t01 + y * t11 + z * t21
        out[i, 2] = x * t02 + y * t12 + z * t22


@inlined
def turn_about_principal(
    rotation: Floats, body: Any, sine: float, cosine: float, out: Floats
) -> None:
    """`turn_about` for an axis x, y or z (1, 2, 3): one column stays; the same bits."""
    axis = body.principal
    # The other two columns turn in their plane
    j, k = (1, 2) if axis == 1 else ((2, 0) if axis == 2 else (0, 1))
    kept = axis - 1
    t = sine * body.odd[k, j]
    for i in range(3):
        u, v = rotation[i, j], rotation[i, k]
        out[i, kept] = rotation[i, kept]
        out[i, j] = u * cosine + v * t
        out[i, k] = v * cosine - u * t


@inlined
def turn_by_quaternion(rotation: Floats, q: Floats, first: int, out: Floats) -> None:
    """out = R times the rotation of the quaternion q_first ..., normalised on the way."""
    w, x, y, z = q[first], q[first + 1], q[first + 2], q[first + 3]
    # Twice over the square of its length: no root, and any length will do
    s = 2.0 / (w * w + x * x + y * y + z * z)
    t00 = 1.0 - s * (y * y + z * z)
    t01 = s * (x * y - w * z)
    t02 = s * (x * z + w * y)
    t10 = s * (x * y + w * z)
    t11 = 1.0 - s * (x * x + z * z)
    t12 = s * (y * z - w * x)
    t20 = s * (x * z - w * y)
    t21 = s * (y * z + w * x)
    t22 = 1.0 - s * (x * x + y * y)
    for i in range(3):
        x, y, z = rotation[i, 0], rotation[i, 1], rotation[i, 2]
        out[i, 0] = x * t00 + y * t10 + z * t20
        out[i, 1] = x * t01 + y * t11 + z * t21
        out[i, 2] = x * t02 + y * t12 + z * t22


@inlined
def rotate_quaternion(quaternion: Floats, rx: float, ry: float, rz: float, out: Floats) -> None:
    """out = quaternion * exp(r / 2): turn by the body-fixed rotation vector r [rad]."""
    angle = math.sqrt(rx * rx + ry * ry + rz * rz)
    half = 0.5 * angle
    c = cos(half)
    # sin(half) / angle, by its series where the quotient loses digits
    k = sin(half) / angle if angle > 1e-4 else 0.5 - angle * angle / 48.0
    x, y, z = k * rx, k * ry, k * rz
    # Hamilton's product, then to length one again: rounding would let it creep
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
def write_quaternion(q: Floats, at: int, roll: float, pitch: float, yaw: float) -> None:
    """Into q_at ...: the turn about x, then y, then z of what stands still, by angles [rad]."""
    a, e = cos(0.5 * yaw), sin(0.5 * yaw)
    b, f = cos(0.5 * pitch), sin(0.5 * pitch)
    g, h = cos(0.5 * roll), sin(0.5 * roll)
    q[at] = a * b * g + e * f * h
    q[at + 1] = a * b * h - e * f * g
    q[at + 2] = a * f * g + e * b * h
    q[at + 3] = e * b * g - a * f * h


@inlined
def rotation_vector(a: Floats, b: Floats, out: Floats) -> None:
    """The body-fixed rotation vector r [rad] with b = a * exp(r / 2), |r| <= pi."""
    # a^-1 b
    w = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
    x = a[0] * b[1] - a[1] * b[0] - a[2] * b[3] + a[3] * b[2]
    y = a[0] * b[2] - a[2] * b[0] - a[3] * b[1] + a[1] * b[3]
    z = a[0] * b[3] - a[3] * b[0] - a[1] * b[2] + a[2] * b[1]
    # q and -q are one rotation: take the one of at most half a turn
    if w < 0.0:
        w, x, y, z = -w, -x, -y, -z
    sine = math.sqrt(x * x + y * y + z * z)
    k = 2.0 * atan2(sine, w) / sine if sine > 1e-12 else 2.0
    out[0] = k * x
    out[1] = k * y
    out[2] = k * z


@inlined
def _turn(
    w0: float, x0: float, y0: float, z0: float, rx: float, ry: float, rz: float, nearest: bool
) -> tuple[float, float, float]:
    """The rotation vector t [rad] with q0 = exp(r / 2) * exp(t / 2), nearest: |t| <= pi."""
    # exp(-r / 2), with the series where the quotient loses digits
    angle = math.sqrt(rx * rx + ry * ry + rz * rz)
    c = cos(0.5 * angle)
    k = sin(0.5 * angle) / angle if angle > 1e-4 else 0.5 - angle * angle / 48.0
    b, d, e = -k * rx, -k * ry, -k * rz
    w = c * w0 - b * x0 - d * y0 - e * z0
    x = c * x0 + b * w0 + d * z0 - e * y0
    y = c * y0 - b * z0 + d * w0 + e * x0
    z = c * z0 + b * y0 - d * x0 + e * w0
    if nearest and w < 0.0:
        w, x, y, z = -w, -x, -y, -z
    sine = math.sqrt(x * x + y * y + z * z)
    k = 2.0 * atan2(sine, w) / sine if sine > 1e-12 * abs(w) else 2.0 / w
    return k * x, k * y, k * z


@inlined
def turned(q: Floats, at: int, rx: float, ry: float, rz: float) -> tuple[float, float, float]:
    """The body-fixed rotation vector t [rad] with q = exp(r / 2) * exp(t / 2), |t| <= pi.

    q: the quaternion that begins at entry `at`, of any length
    """
    return _turn(q[at], q[at + 1], q[at + 2], q[at + 3], rx, ry, rz, True)


@inlined
def turned_on(q: Floats, at: int, rx: float, ry: float, rz: float) -> tuple[float, float, float]:
    """The rotation vector t [rad] of q * exp(r / 2), which may go on beyond half a turn."""
    s = 1.0 if q[at] >= 0.0 else -1.0  # log(q exp) = -log(exp^-1 q^-1)
    x, y, z = _turn(s * q[at], -s * q[at + 1], -s * q[at + 2], -s * q[at + 3], rx, ry, rz, False)
    return -x, -y, -z


@inlined
def rotate(
    rotation: Floats, vector: Floats | tuple[float, float, float]
) -> tuple[float, float, float]:
    """R vector as three numbers; shapes (3, 3) and (3,)."""
    return (
        rotation[0, 0] * vector[0] + rotation[0, 1] * vector[1] + rotation[0, 2] * vector[2],
        rotation[1, 0] * vector[0] + rotation[1, 1] * vector[1] + rotation[1, 2] * vector[2],
        rotation[2, 0] * vector[0] + rotation[2, 1] * vector[1] + rotation[2, 2] * vector[2],
    )
