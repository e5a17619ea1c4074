"""Six-dimensional vector algebra (Featherstone, Rigid Body Dynamics Algorithms, chapter 2).

Motion vectors are (angular; linear), force vectors (moment; force), both in world axes and
taken at the origin of the kinematic tree, so that no transformation stands between bodies.
"""

from __future__ import annotations

from typing import Any

from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Floats


@inlined
def add_cross_motion(v: Floats, m: Floats, scale: float, out: Floats) -> None:
    """out += scale * (v x m) = scale * (w x m_w; w x m_v + v_v x m_w); shapes (6,)."""
    out[0] += scale * (v[1] * m[2] - v[2] * m[1])
    out[1] += scale * (v[2] * m[0] - v[0] * m[2])
    out[2] += scale * (v[0] * m[1] - v[1] * m[0])
    out[3] += scale * (v[1] * m[5] - v[2] * m[4] + v[4] * m[2] - v[5] * m[1])
    out[4] += scale * (v[2] * m[3] - v[0] * m[5] + v[5] * m[0] - v[3] * m[2])
    out[5] += scale * (v[0] * m[4] - v[1] * m[3] + v[3] * m[1] - v[4] * m[0])


@inlined
def add_cross_force(v: Floats, f: Floats, out: Floats) -> None:
    """out += v x* f = (w x n + v_v x f; w x f); shapes (6,)."""
    out[0] += v[1] * f[2] - v[2] * f[1] + v[4] * f[5] - v[5] * f[4]
    out[1] += v[2] * f[0] - v[0] * f[2] + v[5] * f[3] - v[3] * f[5]
    out[2] += v[0] * f[1] - v[1] * f[0] + v[3] * f[4] - v[4] * f[3]
    out[3] += v[1] * f[5] - v[2] * f[4]
    out[4] += v[2] * f[3] - v[0] * f[5]
    out[5] += v[0] * f[4] - v[1] * f[3]


@inlined
def inertia_times(mass: float, h: Floats, I: Floats, v: Floats, out: Floats) -> None:
    """out = (I w + h x v; m v - h x w): a rigid inertia applied to a motion vector."""
    out[0] = I[0, 0] * v[0] + I[0, 1] * v[1] + I[0, 2] * v[2] + h[1] * v[5] - h[2] * v[4]
    out[1] = I[1, 0] * v[0] + I[1, 1] * v[1] + I[1, 2] * v[2] + h[2] * v[3] - h[0] * v[5]
    out[2] = I[2, 0] * v[0] + I[2, 1] * v[1] + I[2, 2] * v[2] + h[0] * v[4] - h[1] * v[3]
    out[3] = mass * v[3] - h[1] * v[2] + h[2] * v[1]
    out[4] = mass * v[4] - h[2] * v[0] + h[0] * v[2]
    out[5] = mass * v[5] - h[0] * v[1] + h[1] * v[0]


@inlined
def inertia_matrix(body: Any, out: Floats) -> None:
    """The 6 x 6 matrix [[I, hx], [-hx, m 1]] of a body's rigid inertia."""
    h = body.h
    for i in range(3):
        for j in range(3):
            out[i, j] = body.I[i, j]
            out[3 + i, 3 + j] = 0.0
            out[i, 3 + j] = 0.0
        out[3 + i, 3 + i] = body.m
    out[0, 4] = -h[2]
    out[0, 5] = h[1]
    out[1, 3] = h[2]
    out[1, 5] = -h[0]
    out[2, 3] = -h[1]
    out[2, 4] = h[0]
    for i in range(3):
        for j in range(3):
            out[3 + j, i] = out[i, 3 + j]


@inlined
def dot6(a: Floats, b: Floats) -> float:
    """Scalar product of a motion and a force vector."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5]


@inlined
def dot3(a: Floats, b: Floats) -> float:
    """Product of two vectors of three numbers."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
