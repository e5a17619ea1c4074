"""Torques by inverse dynamics: what the ground must do, which foot does it, what is left to motors.

The desired motion a asks the ground for the wrench W = M_u a + h_u of the base's six rows.  Its
force passes through the centre of pressure, which lies between the soles as their shares say and as
far from the middle of each; so each foot pushes at the same place of its sole, with its share of
the force.  Nothing is searched for, and all of it changes continuously with the state.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from dynenvs.agents.experts.common.state import BASE, mass_entry, mass_row
from dynenvs.agents.experts.humanoid.records import (
    JOINTS,
    LEGS,
    Balance,
    Chain,
    Hold,
    Leg,
    Pressure,
    Push,
)
from dynenvs.agents.experts.humanoid.torso import FIRST
from dynenvs.envs.legged.records import ROOT
from dynenvs.jit.compiled import inlined
from dynenvs.kinematics.rotation import rotate
from dynenvs.kinematics.triples import cross, entries, plus, put_entries, subtract
from dynenvs.memory.layout import Floats, WorkView

TWIRL = 100.0  # of the torso about the vertical, to keep the feet's grip [rad/s^2]


@inlined
def balance(
    w: WorkView, g: Balance, press: Pressure, legs: Sequence[Chain], a: Floats, push: Push
) -> None:
    """Give the base the horizontal acceleration for which the ground pushes at press.center.

    a: accelerations with none of it; those of the legs follow.  Writes the wrench push.force,
    push.moment about press.center.
    """
    R, base = w.pose[BASE].R, w.pose[BASE].p
    r = subtract(entries(press.center, 0), entries(base, 0))
    W = push.wrench  # for a, and what it gains with the acceleration forward and sideways
    for k in range(ROOT):
        W[0, k], W[1, k], W[2, k] = w.bias[k], 0.0, 0.0
        for j in range(w.header[0].nv):
            M = mass_entry(w, j, k)
            W[0, k] += M * a[j]
            if j < 2:
                W[1 + j, k] += M
            elif ROOT <= j < ROOT + LEGS * JOINTS:
                row = legs[(j - ROOT) // JOINTS].inverse[(j - ROOT) % JOINTS]
                W[1, k] -= M * row[3]
                W[2, k] -= M * row[4]
    for i in range(3):
        moment = subtract(rotate(R, entries(W[i], 3)), cross(r, entries(W[i], 0)))
        put_entries(W[i], 3, moment)
    determinant = W[1, 3] * W[2, 4] - W[2, 3] * W[1, 4]
    ax = ay = 0.0
    if abs(determinant) > 1e-9:
        ax = (W[2, 3] * W[0, 4] - W[0, 3] * W[2, 4]) / determinant
        ay = (W[0, 3] * W[1, 4] - W[1, 3] * W[0, 4]) / determinant
    size = math.sqrt(ax * ax + ay * ay)
    shrink = g.strongest / max(size, g.strongest)
    ax, ay = shrink * ax, shrink * ay
    a[0] += ax
    a[1] += ay
    for leg in range(LEGS):
        one = legs[leg]
        for k in range(JOINTS):
            a[one.first + k] -= ax * one.inverse[k, 3] + ay * one.inverse[k, 4]
    for k in range(3):
        push.force[k] = W[0, k] + ax * W[1, k] + ay * W[2, k]
        push.moment[k] = W[0, 3 + k] + ax * W[1, 3 + k] + ay * W[2, 3 + k]


@inlined
def limit_forces(
    w: WorkView, hold: Hold, legs: Sequence[Leg], press: Pressure, push: Push, a: Floats
) -> None:
    """What the ground can give: it pushes, within its friction and the soles' grip against turns.

    What the soles cannot hold of a turn about the vertical, the torso takes up.
    """
    f = push.force
    most = hold.grip * max(f[2], 0.0)
    excess = push.moment[2] - min(max(push.moment[2], -most), most)
    if excess != 0.0:
        _turn_torso(w, press, push, a, excess)
    f[2] = max(f[2], 0.0)
    # A moment that balance has left, as far as the soles are long and wide
    if f[2] > 1.0:
        x, y = press.inside[0] - push.moment[1] / f[2], press.inside[1] + push.moment[0] / f[2]
        press.inside[0] = min(max(x, -press.room[0]), press.room[0])
        press.inside[1] = min(max(y, -press.room[1]), press.room[1])
    _keep_friction(hold.friction, legs, push)


@inlined
def _keep_friction(friction: float, legs: Sequence[Leg], push: Push) -> None:
    """Shrink the part of the force along the ground to what friction holds."""
    f, left, right = push.force, legs[0], legs[1]
    x = left.share * left.normal[0] + right.share * right.normal[0]
    y = left.share * left.normal[1] + right.share * right.normal[1]
    z = left.share * left.normal[2] + right.share * right.normal[2]
    size = max(math.sqrt(x * x + y * y + z * z), 1e-9)
    x, y, z = x / size, y / size, z / size
    normal = max(x * f[0] + y * f[1] + z * f[2], 0.0)
    u, v, w = f[0] - normal * x, f[1] - normal * y, f[2] - normal * z
    most = friction * normal
    size = math.sqrt(u * u + v * v + w * w)
    shrink = most / max(size, most, 1e-9)
    f[0], f[1], f[2] = normal * x + shrink * u, normal * y + shrink * v, normal * z + shrink * w


@inlined
def _turn_torso(w: WorkView, press: Pressure, push: Push, a: Floats, moment: float) -> None:
    """Have the torso's yaw give the moment about the vertical."""
    R, base = w.pose[BASE].R, w.pose[BASE].p
    r = subtract(entries(press.center, 0), entries(base, 0))
    f = mass_entry(w, FIRST, 0), mass_entry(w, FIRST, 1), mass_entry(w, FIRST, 2)
    m = mass_entry(w, FIRST, 3), mass_entry(w, FIRST, 4), mass_entry(w, FIRST, 5)
    mx, my, mz = subtract(rotate(R, m), cross(r, f))
    turn = min(max(-moment / max(mz, 0.05), -TWIRL), TWIRL)
    a[FIRST] += turn
    put_entries(push.force, 0, plus(entries(push.force, 0), turn, f))
    push.moment[0], push.moment[1] = push.moment[0] + turn * mx, push.moment[1] + turn * my
    push.moment[2] -= moment


@inlined
def find_torques(w: WorkView, press: Pressure, push: Push, legs: Sequence[Leg], a: Floats) -> None:
    """tau = M_a a + h_a - J^T (forces of the feet) into `w.tau`."""
    for j in range(ROOT, w.header[0].nv):
        w.tau[j] = mass_row(w, j, a, w.bias[j])
    for leg in range(LEGS):
        one = legs[leg]
        if one.share > 0.0:
            f, r = push.force, one.seat
            x, y, z = f[0] * one.share, f[1] * one.share, f[2] * one.share
            u, v, d = r[0] + press.inside[0], r[1] + press.inside[1], r[2] + press.inside[2]
            mx, my, mz = v * z - d * y, d * x - u * z, u * y - v * x + one.share * push.moment[2]
            for k in range(JOINTS):
                J = one.jacobian
                given = mx * J[0, k] + my * J[1, k] + mz * J[2, k]
                w.tau[one.first + k] -= given + x * J[3, k] + y * J[4, k] + z * J[5, k]
