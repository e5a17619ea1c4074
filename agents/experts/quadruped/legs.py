"""Kinematics of the trot's legs: arms, Jacobians and their inverses in given poses."""

from __future__ import annotations

import math

from dynenvs.agents.experts.common.state import BASE
from dynenvs.agents.experts.quadruped.records import Foot
from dynenvs.envs.legged.records import ROOT
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.kinematics.rotation import rotate
from dynenvs.memory.layout import Floats, ModelView, Records


@kernel
def reach(w: ModelView, poses: Records, one: Foot, leg: int, least: float) -> None:
    """A leg's arm, Jacobian and inverse Jacobian where its foot touches, or would touch.

    least: determinant of the Jacobian, below which it is kept there [m^3].
    """
    base, pose = poses[BASE].p, poses[one.body]
    feature, n = w.features[one.feature], one.normal
    x, y, z = rotate(pose.R, feature.center)
    x, y = x + pose.p[0] - feature.radius * n[0], y + pose.p[1] - feature.radius * n[1]
    z = z + pose.p[2] - feature.radius * n[2]
    one.arm[0], one.arm[1], one.arm[2] = x - base[0], y - base[1], z - base[2]
    for joint in range(one.jacobian.shape[1]):
        body = w.dofs[ROOT + one.jacobian.shape[1] * leg + joint].body
        pivot = poses[body].p
        a, b, c = rotate(poses[body].R, w.bodies[body].axis)
        rx, ry, rz = x - pivot[0], y - pivot[1], z - pivot[2]
        one.jacobian[0, joint] = b * rz - c * ry
        one.jacobian[1, joint] = c * rx - a * rz
        one.jacobian[2, joint] = a * ry - b * rx
    _invert(one.jacobian, least, one.inverse)


@inlined
def _invert(J: Floats, least: float, out: Floats) -> None:
    """out = inverse of the matrix.

    A stretched or folded leg's determinant is kept away from zero: its rates stay finite.
    """
    a, b, c = J[0, 0], J[1, 0], J[2, 0]
    d, e, f = J[0, 1], J[1, 1], J[2, 1]
    u, v, t = J[0, 2], J[1, 2], J[2, 2]
    x, y, z = e * t - f * v, f * u - d * t, d * v - e * u
    determinant = a * x + b * y + c * z
    if abs(determinant) < least:
        determinant = math.copysign(least, determinant)
    k = 1.0 / determinant
    out[0, 0], out[0, 1], out[0, 2] = k * x, k * y, k * z
    out[1, 0], out[1, 1], out[1, 2] = k * (v * c - t * b), k * (t * a - u * c), k * (u * b - v * a)
    out[2, 0], out[2, 1], out[2, 2] = k * (b * f - c * e), k * (c * d - a * f), k * (a * e - b * d)
