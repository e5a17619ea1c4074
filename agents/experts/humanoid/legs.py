"""Kinematics of a biped's legs: places and motions of soles, inverse Jacobians, joints' motions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dynenvs.agents.experts.common.curves import smooth_step
from dynenvs.agents.experts.common.state import BASE
from dynenvs.agents.experts.humanoid.records import (
    JOINTS,
    LEGS,
    TWIST,
    Chain,
    Leg,
    Pelvis,
    Sole,
    Soles,
    Swing,
    Wanted,
)
from dynenvs.envs.legged.records import ROOT, TURN
from dynenvs.jit.compiled import inlined
from dynenvs.kinematics.rotation import rotate
from dynenvs.kinematics.triples import add, add_cross, entries, put_entries
from dynenvs.memory.layout import Floats, Ints, ModelView, StateView, WorkView, WorldView
from dynenvs.simd.elementary import atan2

STRAIGHT = 1e-6  # least pivot
KNEE = 3  # of a leg's joints
BENT, DAMPING = 0.35, 0.03  # angle from which on a knee is well bent [rad]; of a straight one
BEND_RATE = 20.0  # at which a straight knee bends [rad/s]
SWIFTEST = 2000.0  # acceleration of a joint [rad/s^2]


@inlined
def find_legs(w: ModelView, leg_of_corner: Ints, legs: Sequence[Leg]) -> None:
    """The foot's body and the first coordinate of each leg.

    leg_of_corner: leg of each contact feature that is a corner of its sole, else -1.
    """
    for f in range(w.header[0].npoints):
        if leg_of_corner[f] >= 0:
            legs[leg_of_corner[f]].body = w.features[f].body_a
    for leg in range(LEGS):
        legs[leg].first = ROOT + JOINTS * leg


@inlined
def find_soles(w: WorldView, g: Soles, pelvis: Pelvis, legs: Sequence[Leg]) -> None:
    """Places, tilts, twists and inverse Jacobians of the soles; needs poses and speeds."""
    base = w.pose[BASE].p
    for leg in range(LEGS):
        one = legs[leg]
        pose = w.pose[one.body]
        R = pose.R
        x, y, z = rotate(R, g.sole)
        x, y, z = x + pose.p[0], y + pose.p[1], z + pose.p[2]
        one.point[0], one.point[1], one.point[2] = x, y, z
        one.yaw = atan2(R[1, 0], R[0, 0])
        for k in range(3):
            one.up[k] = R[k, 2]
        find_tilt(one)
        r, u = one.arm, one.velocity
        r[0], r[1], r[2] = x - base[0], y - base[1], z - base[2]
        o = entries(pelvis.turning, 0)
        put_entries(u, 0, o)
        put_entries(u, 3, add_cross(entries(pelvis.speed, 0), o, entries(r, 0)))
        J = one.jacobian
        for k in range(JOINTS):
            body = w.dofs[one.first + k].body
            pose = w.pose[body]
            a, b, c = rotate(pose.R, w.bodies[body].axis)
            rx, ry, rz = x - pose.p[0], y - pose.p[1], z - pose.p[2]
            J[0, k], J[1, k], J[2, k] = a, b, c
            J[3, k], J[4, k], J[5, k] = b * rz - c * ry, c * rx - a * rz, a * ry - b * rx
            rate = w.v[one.first + k]
            for i in range(TWIST):
                u[i] += J[i, k] * rate
        _invert_jacobian(one, w.q[TURN - ROOT + one.first + KNEE])


@inlined
def find_tilt(one: Sole) -> None:
    """How a sole would have to turn to lie on the ground."""
    u, n = one.up, one.normal
    one.tilt[0], one.tilt[1] = u[1] * n[2] - u[2] * n[1], u[2] * n[0] - u[0] * n[2]


@inlined
def find_drifts(w: WorkView, legs: Sequence[Leg]) -> None:
    """Accelerations of the soles that velocities alone cause; needs the equations of motion."""
    gravity = w.header[0].gravity
    for leg in range(LEGS):
        one = legs[leg]
        a, v, r = w.body[one.body].a, w.body[one.body].v, entries(one.arm, 0)
        turning, spin = entries(a, 0), entries(v, 0)
        # A material point's acceleration, from the spatial one at the pelvis
        speed = add_cross(entries(v, 3), spin, r)
        falls = add(entries(a, 3), entries(gravity, 0))
        put_entries(one.drift, 0, turning)
        put_entries(one.drift, 3, add_cross(add_cross(falls, turning, r), spin, speed))


@inlined
def bend_legs(w: StateView, g: Swing, wanted: Wanted, legs: Sequence[Leg], a: Floats) -> None:
    """Accelerations of the legs' joints for those of the base, balance left aside, and the goals.

    A leg that is nearly straight cannot lift its foot by way of the Jacobian: its knee bends.
    """
    base, alpha = entries(wanted.a, 0), entries(wanted.alpha, 0)
    for leg in range(LEGS):
        one = legs[leg]
        t = one.twist
        put_entries(t, 0, alpha)
        put_entries(t, 3, add_cross(base, alpha, entries(one.arm, 0)))
        for k in range(TWIST):
            t[k] = min(max(one.goal[k], -g.most_swing[k]), g.most_swing[k]) - one.drift[k] - t[k]
        knee = one.first + KNEE
        bends = BEND_RATE * (BEND_RATE * (BENT - w.q[TURN - ROOT + knee]) - 2.0 * w.v[knee])
        for k in range(JOINTS):
            total = 0.0
            for i in range(TWIST):
                total += one.inverse[k, i] * t[i]
            total += one.damping * one.undone[k, KNEE] * bends
            a[one.first + k] = min(max(total, -SWIFTEST), SWIFTEST)


@inlined
def _invert_jacobian(one: Chain, knee: float) -> None:
    """(J^T J + d^2)^-1 J^T, no damping d where the knee is well bent; knee: its angle [rad]."""
    J, N = one.jacobian, one.square
    damping = DAMPING * (1.0 - smooth_step(knee / BENT))
    one.damping = damping * damping
    for i in range(JOINTS):
        for k in range(i + 1):
            total = damping * damping if i == k else 0.0
            for r in range(TWIST):
                total += J[r, i] * J[r, k]
            N[i, k] = N[k, i] = total
    _invert(N, one.undone)
    for i in range(JOINTS):
        for r in range(TWIST):
            total = 0.0
            for k in range(JOINTS):
                total += one.undone[i, k] * J[r, k]
            one.inverse[i, r] = total


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
