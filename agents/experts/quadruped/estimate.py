"""A state that agrees with what is known: feet that carry are on the ground and do not move.

On level ground the height and the tilt of the base are put right by the feet that carry, by least
squares with these standard deviations; the joint velocities of standing legs follow from the base's
velocity, which is observed far better than they are.
"""

from __future__ import annotations

from collections.abc import Sequence

from dynenvs.agents.experts.common.state import BASE
from dynenvs.agents.experts.quadruped.records import JOINTS, LEGS, Leg
from dynenvs.envs.legged.records import ROOT, TURN
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.kinematics.rotation import rotate, rotate_quaternion
from dynenvs.kinematics.triples import add_cross, entries
from dynenvs.memory.layout import WorldView

HEIGHT, TILT = 0.01, 0.03  # standard deviations, observed: of the base's height [m] and tilt [rad]
FOOT = 0.003  # of a foot's height below the base, which the joint angles tell [m]


@kernel
def stand_on_feet(w: WorldView, legs: Sequence[Leg]) -> bool:
    """Put right height and tilt of the base in `w.q`; whether a foot carries.  Needs the poses."""
    # Normal equations of the corrections (up, roll, pitch): foot f rises by (1, y_f, -x_f) of them
    c00, c11, c22 = 1.0 / HEIGHT**2, 1.0 / TILT**2, 1.0 / TILT**2
    c01 = c02 = c12 = d0 = d1 = d2 = 0.0
    base = w.pose[BASE].p
    found = False
    for leg in range(LEGS):
        one = legs[leg]
        if one.touches:
            found = True
            feature, pose = w.features[one.feature], w.pose[one.body]
            x, y, z = rotate(pose.R, feature.center)
            x, y = x + pose.p[0] - base[0], y + pose.p[1] - base[1]
            gap = z + pose.p[2] - feature.radius
            k = 1.0 / FOOT**2
            c00, c01, c02 = c00 + k, c01 + k * y, c02 - k * x
            c11, c12, c22 = c11 + k * y * y, c12 - k * x * y, c22 + k * x * x
            d0, d1, d2 = d0 - k * gap, d1 - k * y * gap, d2 + k * x * gap
    if found:
        # Elimination
        f, e = c01 / c00, c02 / c00
        c11, c12, d1 = c11 - f * c01, c12 - f * c02, d1 - f * d0
        c22, d2 = c22 - e * c02, d2 - e * d0
        f = c12 / c11
        pitch = (d2 - f * d1) / (c22 - f * c12)
        roll = (d1 - c12 * pitch) / c11
        w.q[2] += (d0 - c01 * roll - c02 * pitch) / c00
        R = w.pose[BASE].R  # a turn in the base's own axes
        for k in range(4):
            w.q_new[k] = w.q[3 + k]
        rotate_quaternion(
            w.q_new[0:4],
            R[0, 0] * roll + R[1, 0] * pitch,
            R[0, 1] * roll + R[1, 1] * pitch,
            R[0, 2] * roll + R[1, 2] * pitch,
            w.q[3:TURN],
        )
    return found


@inlined
def rest_feet(w: WorldView, legs: Sequence[Leg]) -> None:
    """Joint velocities with which standing feet do not move, for the base's.  Needs `reach`."""
    turning = rotate(w.pose[BASE].R, entries(w.v, 3))
    for leg in range(LEGS):
        one = legs[leg]
        J, at = one.jacobian, ROOT + JOINTS * leg
        x, y, z = add_cross(entries(w.v, 0), turning, entries(one.arm, 0))
        if one.rests:
            for k in range(JOINTS):
                row = one.inverse[k]
                w.v[at + k] = -(row[0] * x + row[1] * y + row[2] * z)
            one.velocity[0] = one.velocity[1] = one.velocity[2] = 0.0
        else:
            a, b, c = w.v[at], w.v[at + 1], w.v[at + 2]
            one.velocity[0] = x + J[0, 0] * a + J[0, 1] * b + J[0, 2] * c
            one.velocity[1] = y + J[1, 0] * a + J[1, 1] * b + J[1, 2] * c
            one.velocity[2] = z + J[2, 0] * a + J[2, 1] * b + J[2, 2] * c
