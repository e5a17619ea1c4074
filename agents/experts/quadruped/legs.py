"""Kinematics of the trot's legs: arms and inverse Jacobians some time ahead."""

from __future__ import annotations

import math

from dynenvs.agents.experts.common.state import BASE
from dynenvs.agents.experts.quadruped.records import LEGS
from dynenvs.envs.legged.records import ROOT
from dynenvs.jit.compiled import inlined
from dynenvs.kinematics.joints import integrate
from dynenvs.kinematics.poses import update_poses
from dynenvs.kinematics.rotation import rotate
from dynenvs.memory.layout import Floats, ModelView, Records, StateView, WorkspaceView

Column = tuple[float, float, float]


@inlined
def reach(
    m: ModelView,
    s: StateView,
    w: WorkspaceView,
    legs: Records,
    span: float,
    mean: Floats,
    standing: bool,
    least: float,
) -> None:
    """Arms and inverse Jacobians of the standing, or else the swinging legs, a time `span` on.

    least: determinant of a leg's Jacobian, below which it is kept there [m^3].
    """
    integrate(m, s.q, mean, span, w.q_new)
    update_poses(m, w.q_new, w.pose_new)
    base = w.pose_new[BASE].p
    for leg in range(LEGS):
        one = legs[leg]
        if (one.stands != 0) == standing:
            feature, pose = m.features[one.feature], w.pose_new[one.body]
            x, y, z = rotate(pose.R, feature.center)
            n, radius = one.normal, feature.radius
            x, y = x + pose.p[0] - radius * n[0], y + pose.p[1] - radius * n[1]
            z = z + pose.p[2] - radius * n[2]
            one.arm[0], one.arm[1], one.arm[2] = x - base[0], y - base[1], z - base[2]
            abduction = _column(m, w, leg, 0, x, y, z)
            hip = _column(m, w, leg, 1, x, y, z)
            knee = _column(m, w, leg, 2, x, y, z)
            _invert(abduction, hip, knee, least, one.inverse)


@inlined
def _column(
    m: ModelView, w: WorkspaceView, leg: int, joint: int, x: float, y: float, z: float
) -> Column:
    """Velocity of the point (x, y, z) for a unit rate of one of a leg's joints."""
    body = m.dofs[ROOT + 3 * leg + joint].body
    pose = w.pose_new[body]
    a, b, c = rotate(pose.R, m.bodies[body].axis)
    rx, ry, rz = x - pose.p[0], y - pose.p[1], z - pose.p[2]
    return b * rz - c * ry, c * rx - a * rz, a * ry - b * rx


@inlined
def _invert(first: Column, second: Column, third: Column, least: float, out: Floats) -> None:
    """out = inverse of the matrix with these columns.

    A stretched or folded leg's determinant is kept away from zero: its rates stay finite.
    """
    a, b, c = first
    d, e, f = second
    u, v, t = third
    x, y, z = e * t - f * v, f * u - d * t, d * v - e * u
    determinant = a * x + b * y + c * z
    if abs(determinant) < least:
        determinant = math.copysign(least, determinant)
    k = 1.0 / determinant
    out[0, 0], out[0, 1], out[0, 2] = k * x, k * y, k * z
    out[1, 0], out[1, 1], out[1, 2] = k * (v * c - t * b), k * (t * a - u * c), k * (u * b - v * a)
    out[2, 0], out[2, 1], out[2, 2] = k * (b * f - c * e), k * (c * d - a * f), k * (a * e - b * d)
