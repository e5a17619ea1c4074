"""Vectors of three numbers and symmetric matrices of six, as tuples: they stay in registers.

A symmetric matrix is its diagonal (xx, yy, zz) and the entries beside it, (yz, xz, xy).
"""

from __future__ import annotations

import math

from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Floats
from dynenvs.simd.elementary import sin

Three = tuple[float, float, float]


@inlined
def entries(v: Floats, at: int) -> Three:
    """Three entries of an array."""
    return (v[at], v[at + 1], v[at + 2])


@inlined
def put_entries(v: Floats, at: int, values: Three) -> None:
    """Write three entries of an array."""
    v[at], v[at + 1], v[at + 2] = values[0], values[1], values[2]


@inlined
def dot(a: Three, b: Three) -> float:
    """a . b"""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined
def cross(a: Three, b: Three) -> Three:
    """a x b"""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@inlined
def scaled(scale: float, a: Three) -> Three:
    """scale a"""
    return (scale * a[0], scale * a[1], scale * a[2])


@inlined
def plus(a: Three, scale: float, b: Three) -> Three:
    """a + scale b"""
    return (a[0] + scale * b[0], a[1] + scale * b[1], a[2] + scale * b[2])


@inlined
def add(a: Three, b: Three) -> Three:
    """a + b"""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@inlined
def subtract(a: Three, b: Three) -> Three:
    """a - b"""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@inlined
def add_cross(a: Three, b: Three, c: Three) -> Three:
    """a + b x c, its terms added from left to right."""
    return (
        a[0] + b[1] * c[2] - b[2] * c[1],
        a[1] + b[2] * c[0] - b[0] * c[2],
        a[2] + b[0] * c[1] - b[1] * c[0],
    )


@inlined
def subtract_cross(a: Three, b: Three, c: Three) -> Three:
    """a - b x c, its terms added from left to right."""
    return (
        a[0] - b[1] * c[2] + b[2] * c[1],
        a[1] - b[2] * c[0] + b[0] * c[2],
        a[2] - b[0] * c[1] + b[1] * c[0],
    )


@inlined
def size(a: Three) -> float:
    """|a_x| + |a_y| + |a_z|"""
    return abs(a[0]) + abs(a[1]) + abs(a[2])


@inlined
def into_body(rotation: Floats, x: Three) -> Three:
    """R^T x"""
    return (
        rotation[0, 0] * x[0] + rotation[1, 0] * x[1] + rotation[2, 0] * x[2],
        rotation[0, 1] * x[0] + rotation[1, 1] * x[1] + rotation[2, 1] * x[2],
        rotation[0, 2] * x[0] + rotation[1, 2] * x[1] + rotation[2, 2] * x[2],
    )


@inlined
def turned_by_quaternion(q: Floats, at: int, x: Three) -> Three:
    """x turned by the unit quaternion that begins at q[at]."""
    u = (q[at + 1], q[at + 2], q[at + 3])
    t = scaled(2.0, cross(u, x))
    return plus(plus(x, q[at], t), 1.0, cross(u, t))


@inlined
def turned_back(x: Three, r: Three) -> Three:
    """exp(-r) x: x turned by the rotation vector -r [rad]."""
    angle = math.sqrt(dot(r, r))
    once = cross(r, x)
    # sin(a) / a and (1 - cos(a)) / a^2, by their series where the quotients lose digits
    a, b = 1.0 - angle * angle / 6.0, 0.5 - angle * angle / 24.0
    if angle > 1e-4:
        sine = sin(0.5 * angle)
        a, b = sin(angle) / angle, 2.0 * sine * sine / (angle * angle)
    return plus(plus(x, -a, once), b, cross(r, once))


@inlined
def symmetric(diagonal: Three, off: Three, x: Three) -> Three:
    """A symmetric matrix times x."""
    return (
        diagonal[0] * x[0] + off[2] * x[1] + off[1] * x[2],
        off[2] * x[0] + diagonal[1] * x[1] + off[0] * x[2],
        off[1] * x[0] + off[0] * x[1] + diagonal[2] * x[2],
    )


@inlined
def within(rotation: Floats, diagonal: Three, off: Three) -> tuple[Three, Three]:
    """R^T A R of a symmetric matrix A."""
    a = (rotation[0, 0], rotation[1, 0], rotation[2, 0])
    b = (rotation[0, 1], rotation[1, 1], rotation[2, 1])
    c = (rotation[0, 2], rotation[1, 2], rotation[2, 2])
    x, y, z = symmetric(diagonal, off, a), symmetric(diagonal, off, b), symmetric(diagonal, off, c)
    return (dot(a, x), dot(b, y), dot(c, z)), (dot(b, z), dot(a, z), dot(a, y))


@inlined
def solved(x: Three, y: Three, z: Three, b: Three) -> Three:
    """A^-1 b of the matrix with the columns x, y, z."""
    yz, zx, xy = cross(y, z), cross(z, x), cross(x, y)
    scale = 1.0 / dot(x, yz)
    return (scale * dot(b, yz), scale * dot(b, zx), scale * dot(b, xy))
