"""Torques by inverse dynamics: what the ground must do, which foot does it, what is left to motors.

The desired motion a asks the ground for the wrench W = M_u a + h_u of the base's six rows.  Its
force passes through the centre of pressure, which lies between the soles as their shares say and as
far from the middle of each; so each foot pushes at the same place of its sole, with its share of
the force.  Nothing is searched for, and all of it changes continuously with the state.
"""

from __future__ import annotations

import math

from dynenvs.agents.experts.common.state import BASE, mass_entry
from dynenvs.agents.experts.humanoid.legs import BENT, KNEE
from dynenvs.agents.experts.humanoid.records import JOINTS, LEGS, TWIST, Biped, Load, Wanted
from dynenvs.agents.experts.humanoid.torso import FIRST
from dynenvs.envs.legged.records import ROOT, TURN
from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Floats, Records, StateView, WorkView

TWIRL = 100.0  # of the torso about the vertical, to keep the feet's grip [rad/s^2]
BEND_RATE = 20.0  # at which a straight knee bends [rad/s]
SWIFTEST = 2000.0  # acceleration of a joint [rad/s^2]


@inlined
def balance(w: WorkView, g: Biped, load: Load, legs: Records, acc: Floats) -> None:
    """Give the base the horizontal acceleration for which the ground pushes at load.pressure.

    acc: accelerations with none of it; those of the legs follow.  Writes the wrench load.force,
    load.moment about load.pressure.
    """
    R, base = w.pose[BASE].R, w.pose[BASE].p
    rx, ry, rz = load.pressure[0] - base[0], load.pressure[1] - base[1], load.pressure[2] - base[2]
    W = load.wrench  # for acc, and what it gains with the acceleration forward and sideways
    for k in range(ROOT):
        W[0, k], W[1, k], W[2, k] = w.bias[k], 0.0, 0.0
        for j in range(w.header[0].nv):
            M = mass_entry(w, j, k)
            W[0, k] += M * acc[j]
            if j < 2:
                W[1 + j, k] += M
            elif ROOT <= j < ROOT + LEGS * JOINTS:
                row = legs[(j - ROOT) // JOINTS].inverse[(j - ROOT) % JOINTS]
                W[1, k] -= M * row[3]
                W[2, k] -= M * row[4]
    for i in range(3):
        x, y, z = W[i, 3], W[i, 4], W[i, 5]
        fx, fy, fz = W[i, 0], W[i, 1], W[i, 2]
        W[i, 3] = R[0, 0] * x + R[0, 1] * y + R[0, 2] * z - (ry * fz - rz * fy)
        W[i, 4] = R[1, 0] * x + R[1, 1] * y + R[1, 2] * z - (rz * fx - rx * fz)
        W[i, 5] = R[2, 0] * x + R[2, 1] * y + R[2, 2] * z - (rx * fy - ry * fx)
    determinant = W[1, 3] * W[2, 4] - W[2, 3] * W[1, 4]
    ax = ay = 0.0
    if abs(determinant) > 1e-9:
        ax = (W[2, 3] * W[0, 4] - W[0, 3] * W[2, 4]) / determinant
        ay = (W[0, 3] * W[1, 4] - W[1, 3] * W[0, 4]) / determinant
    size = math.sqrt(ax * ax + ay * ay)
    shrink = g.strongest / max(size, g.strongest)
    ax, ay = shrink * ax, shrink * ay
    acc[0] += ax
    acc[1] += ay
    for leg in range(LEGS):
        one = legs[leg]
        for k in range(JOINTS):
            acc[one.first + k] -= ax * one.inverse[k, 3] + ay * one.inverse[k, 4]
    for k in range(3):
        load.force[k] = W[0, k] + ax * W[1, k] + ay * W[2, k]
        load.moment[k] = W[0, 3 + k] + ax * W[1, 3 + k] + ay * W[2, 3 + k]


@inlined
def limit_forces(w: WorkView, g: Biped, load: Load, legs: Records, acc: Floats) -> None:
    """What the ground can give: it pushes, within its friction and the soles' grip against turns.

    What the soles cannot hold of a turn about the vertical, the torso takes up.
    """
    f = load.force
    most = load.grip * max(f[2], 0.0)
    excess = load.moment[2] - min(max(load.moment[2], -most), most)
    if excess != 0.0:
        _turn_torso(w, load, acc, excess)
    f[2] = max(f[2], 0.0)
    # A moment that balance has left, as far as the soles are long and wide
    if f[2] > 1.0:
        x, y = load.inside[0] - load.moment[1] / f[2], load.inside[1] + load.moment[0] / f[2]
        load.inside[0] = min(max(x, -load.room[0]), load.room[0])
        load.inside[1] = min(max(y, -load.room[1]), load.room[1])
    _keep_friction(load, legs)


@inlined
def _keep_friction(load: Load, legs: Records) -> None:
    """Shrink the part of the force along the ground to what friction holds."""
    f, a, b = load.force, legs[0], legs[1]
    x = a.share * a.normal[0] + b.share * b.normal[0]
    y = a.share * a.normal[1] + b.share * b.normal[1]
    z = a.share * a.normal[2] + b.share * b.normal[2]
    size = max(math.sqrt(x * x + y * y + z * z), 1e-9)
    x, y, z = x / size, y / size, z / size
    push = max(x * f[0] + y * f[1] + z * f[2], 0.0)
    u, v, w = f[0] - push * x, f[1] - push * y, f[2] - push * z
    most = load.friction * push
    size = math.sqrt(u * u + v * v + w * w)
    shrink = most / max(size, most, 1e-9)
    f[0], f[1], f[2] = push * x + shrink * u, push * y + shrink * v, push * z + shrink * w


@inlined
def _turn_torso(w: WorkView, load: Load, acc: Floats, moment: float) -> None:
    """Have the torso's yaw give the moment about the vertical."""
    R, base = w.pose[BASE].R, w.pose[BASE].p
    rx, ry, rz = load.pressure[0] - base[0], load.pressure[1] - base[1], load.pressure[2] - base[2]
    fx, fy, fz = mass_entry(w, FIRST, 0), mass_entry(w, FIRST, 1), mass_entry(w, FIRST, 2)
    x, y, z = mass_entry(w, FIRST, 3), mass_entry(w, FIRST, 4), mass_entry(w, FIRST, 5)
    mx = R[0, 0] * x + R[0, 1] * y + R[0, 2] * z - (ry * fz - rz * fy)
    my = R[1, 0] * x + R[1, 1] * y + R[1, 2] * z - (rz * fx - rx * fz)
    mz = R[2, 0] * x + R[2, 1] * y + R[2, 2] * z - (rx * fy - ry * fx)
    turn = min(max(-moment / max(mz, 0.05), -TWIRL), TWIRL)
    acc[FIRST] += turn
    load.force[0], load.force[1] = load.force[0] + turn * fx, load.force[1] + turn * fy
    load.force[2] += turn * fz
    load.moment[0], load.moment[1] = load.moment[0] + turn * mx, load.moment[1] + turn * my
    load.moment[2] -= moment


@inlined
def find_torques(w: WorkView, load: Load, legs: Records, acc: Floats) -> None:
    """tau = M_a a + h_a - J^T (forces of the feet) into `w.tau`."""
    nv = w.header[0].nv
    for j in range(ROOT, nv):
        total = w.bias[j]
        for i in range(nv):
            total += mass_entry(w, j, i) * acc[i]
        w.tau[j] = total
    for leg in range(LEGS):
        one = legs[leg]
        if one.share > 0.0:
            x, y, z = (
                load.force[0] * one.share,
                load.force[1] * one.share,
                load.force[2] * one.share,
            )
            r = one.seat
            u, v, d = r[0] + load.inside[0], r[1] + load.inside[1], r[2] + load.inside[2]
            a, b, c = v * z - d * y, d * x - u * z, u * y - v * x + one.share * load.moment[2]
            for k in range(JOINTS):
                J = one.jacobian
                given = a * J[0, k] + b * J[1, k] + c * J[2, k]
                w.tau[one.first + k] -= given + x * J[3, k] + y * J[4, k] + z * J[5, k]


@inlined
def leg_accelerations(w: StateView, g: Biped, wanted: Wanted, legs: Records, acc: Floats) -> None:
    """Accelerations of the legs' joints for those of the base, in p, and of the soles' goals.

    A leg that is nearly straight cannot lift its foot by way of the Jacobian: its knee bends.
    """
    a, alpha = wanted.a, wanted.alpha
    for leg in range(LEGS):
        one = legs[leg]
        r, t = one.arm, one.twist
        t[0], t[1], t[2] = alpha[0], alpha[1], alpha[2]
        t[3] = a[0] + alpha[1] * r[2] - alpha[2] * r[1]
        t[4] = a[1] + alpha[2] * r[0] - alpha[0] * r[2]
        t[5] = a[2] + alpha[0] * r[1] - alpha[1] * r[0]
        for k in range(TWIST):
            t[k] = min(max(one.goal[k], -g.most_swing[k]), g.most_swing[k]) - one.drift[k] - t[k]
        knee = one.first + KNEE
        bends = BEND_RATE * (BEND_RATE * (BENT - w.q[TURN - ROOT + knee]) - 2.0 * w.v[knee])
        for k in range(JOINTS):
            total = 0.0
            for i in range(TWIST):
                total += one.inverse[k, i] * t[i]
            total += one.damping * one.undone[k, KNEE] * bends
            acc[one.first + k] = min(max(total, -SWIFTEST), SWIFTEST)
