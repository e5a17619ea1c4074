"""Kinematics of a biped's legs: places and twists of the soles, inverse Jacobians."""

from __future__ import annotations

import math
from typing import Any

from dynenvs.agents.experts.common.motion import contact_cost
from dynenvs.agents.experts.common.state import BASE
from dynenvs.agents.experts.planar.biped_records import JOINTS, LEGS, TWIST
from dynenvs.jit.compiled import inlined
from dynenvs.kinematics.joints import integrate
from dynenvs.kinematics.poses import point_velocity, update_poses
from dynenvs.kinematics.rotation import rotate
from dynenvs.memory.layout import Floats, Ints, ModelView, Records, StateView, WorkspaceView

STRAIGHT = 1e-3  # least pivot of a Jacobian: a stretched leg's rates stay finite
FLAT = 2e-4  # height below which a standing foot's corner carries, too [m]


@inlined
def find_legs(m: ModelView, leg_of_corner: Ints, legs: Records, root: int, joints: int) -> None:
    """The foot's body and the first coordinate of each leg.

    leg_of_corner: leg of each contact feature that is a corner of its sole, else -1; root, joints:
    number of coordinates of the root, and of a leg.
    """
    for f in range(m.header[0].npoints):
        if leg_of_corner[f] >= 0:
            legs[leg_of_corner[f]].body = m.features[f].body_a
    for leg in range(LEGS):
        legs[leg].first = root + joints * leg


@inlined
def find_sole(
    m: ModelView, w: WorkspaceView, g: Any, leg_of_corner: Ints, leg: int, one: Any
) -> None:
    """Place, twist and tilt of a leg's sole, its lowest and highest corners; the ground is flat."""
    pose = w.pose[one.body]
    R = pose.R
    x, y, z = rotate(R, g.sole)
    one.point[0], one.point[1], one.point[2] = x + pose.p[0], y + pose.p[1], z + pose.p[2]
    point_velocity(m, w, one.body, one.point, one.velocity[3:])
    for k in range(3):
        one.velocity[k] = w.body[one.body].v[k]
    one.yaw = math.atan2(R[1, 0], R[0, 0])
    one.tilt[0], one.tilt[1], one.tilt[2] = R[1, 2], -R[0, 2], 0.0
    one.gap, one.high = math.inf, -math.inf
    for f in range(m.header[0].npoints):
        if leg_of_corner[f] == leg:
            x, y, z = rotate(R, m.features[f].center)
            height = z + pose.p[2]
            if height < one.gap:
                one.gap = height
                one.corner[0] = x + pose.p[0] - one.point[0]
                one.corner[1] = y + pose.p[1] - one.point[1]
                one.corner[2] = height - one.point[2]
            one.high = max(one.high, height)


@inlined
def reach(
    m: ModelView,
    s: StateView,
    w: WorkspaceView,
    g: Any,
    legs: Records,
    span: float,
    mean: Floats,
    standing: bool,
) -> None:
    """Arms and inverse Jacobians of the standing, or else the swinging legs, a time `span` on."""
    integrate(m, s.q, mean, span, w.q_new)
    update_poses(m, w.q_new, w.pose_new)
    base = w.pose_new[BASE].p
    for leg in range(LEGS):
        one = legs[leg]
        if (one.stands != 0) == standing:
            pose = w.pose_new[one.body]
            x, y, z = rotate(pose.R, g.sole)
            x, y, z = x + pose.p[0], y + pose.p[1], z + pose.p[2]
            one.arm[0], one.arm[1], one.arm[2] = x - base[0], y - base[1], z - base[2]
            for k in range(JOINTS):
                body = m.dofs[one.first + k].body
                pose = w.pose_new[body]
                a, b, c = rotate(pose.R, m.bodies[body].axis)
                rx, ry, rz = x - pose.p[0], y - pose.p[1], z - pose.p[2]
                one.jacobian[0, k], one.jacobian[1, k], one.jacobian[2, k] = a, b, c
                one.jacobian[3, k] = b * rz - c * ry
                one.jacobian[4, k] = c * rx - a * rz
                one.jacobian[5, k] = a * ry - b * rx
            _invert(one.jacobian, one.inverse)


@inlined
def _invert(A: Floats, out: Floats) -> None:
    """out = inverse of A, which is destroyed: Gauss and Jordan's, with pivoting by rows."""
    for i in range(TWIST):
        for k in range(TWIST):
            out[i, k] = 1.0 if i == k else 0.0
    for c in range(TWIST):
        best = c
        for i in range(c + 1, TWIST):
            if abs(A[i, c]) > abs(A[best, c]):
                best = i
        if best != c:
            for k in range(TWIST):
                A[c, k], A[best, k] = A[best, k], A[c, k]
                out[c, k], out[best, k] = out[best, k], out[c, k]
        pivot = A[c, c]
        if abs(pivot) < STRAIGHT:
            pivot = math.copysign(STRAIGHT, pivot)
        scale = 1.0 / pivot
        for k in range(TWIST):
            A[c, k] *= scale
            out[c, k] *= scale
        for i in range(TWIST):
            factor = A[i, c]
            if i != c and factor != 0.0:
                for k in range(TWIST):
                    A[i, k] -= factor * A[c, k]
                    out[i, k] -= factor * out[c, k]


@inlined
def leg_rates(one: Any, out: Floats) -> None:
    """Rates of a leg's joints that give its sole the twist `one.twist` relative to the base."""
    for k in range(JOINTS):
        total = 0.0
        for r in range(TWIST):
            total += one.inverse[k, r] * one.twist[r]
        out[one.first + k] = total


@inlined
def set_contact_costs(
    m: ModelView, w: WorkspaceView, g: Any, legs: Records, leg_of_corner: Ints, cost: Floats
) -> None:
    """Costs of the impulses at the soles' corners.

    Corners in the air, and those of feet that do not stand, are left out by an infinite cost: they
    would be given a load that they cannot carry yet.
    """
    for f in range(m.header[0].nf):
        cost[f] = math.inf
        if leg_of_corner[f] >= 0:
            one = legs[leg_of_corner[f]]
            pose = w.pose[one.body]
            _, _, z = rotate(pose.R, m.features[f].center)
            if one.stands and z + pose.p[2] < FLAT:
                cost[f] = contact_cost(one.share, g.mass, g.period)
