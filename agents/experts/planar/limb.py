"""Kinematics of a planar walker's leg.

Angles turn about +y: a positive one turns a limb that hangs down backward, and a foot's toe down.
Links are followed by their rates in the plane, sums of the joints' rates and the trunk's.
"""

from __future__ import annotations

from dynenvs.agents.experts.planar.records import Body, Limb, Trunk, Wanted
from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Floats, StateView
from dynenvs.simd.elementary import cos, sin


@inlined
def pitch_trunk(trunk: Trunk, pitch: float, turn: float) -> None:
    """Pitch of the trunk [rad], and its rate [rad/s]."""
    trunk.pitch, trunk.turn = pitch, turn
    trunk.cosine, trunk.sine = cos(pitch), sin(pitch)


@inlined
def place_leg(w: StateView, g: Body, trunk: Trunk, leg: int, one: Limb) -> None:
    """Links, point and tilt of a leg, from the positions."""
    at = g.root + 3 * leg
    q1 = trunk.pitch + w.q[at]
    q2 = q1 + w.q[at + 1]
    q3 = q2 + w.q[at + 2]
    one.hip[0], one.hip[1] = g.hips[leg] * trunk.cosine, -g.hips[leg] * trunk.sine
    one.thigh[0], one.thigh[1] = -g.thigh * sin(q1), -g.thigh * cos(q1)
    one.shank[0], one.shank[1] = -g.shank * sin(q2), -g.shank * cos(q2)
    c, d = cos(q3), sin(q3)
    one.foot[0] = one.point * c + g.sole * d
    one.foot[1] = g.sole * c - one.point * d - g.radius
    one.tilt = q3 - g.flat_pitch
    one.place[0] = one.hip[0] + one.thigh[0] + one.shank[0] + one.foot[0]
    one.ankle = one.place[0] - one.point * c
    one.place[1] = one.hip[1] + one.thigh[1] + one.shank[1] + one.foot[1]
    end = min(g.sole * c - g.heel * d, g.sole * c - g.toe * d)
    one.lowest = one.hip[1] + one.thigh[1] + one.shank[1] + end - g.radius


@inlined
def move_leg(w: StateView, g: Body, trunk: Trunk, leg: int, one: Limb) -> None:
    """Rates of its links and velocity of its point, from the velocities; `place_leg` before."""
    at = g.root + 3 * leg
    one.rates[0] = trunk.turn + w.v[at]
    one.rates[1] = one.rates[0] + w.v[at + 1]
    one.rates[2] = one.rates[1] + w.v[at + 2]
    a, b, c = one.rates[0], one.rates[1], one.rates[2]
    one.speed[0] = (
        w.v[0] + trunk.turn * one.hip[1] + a * one.thigh[1] + b * one.shank[1] + c * one.foot[1]
    )
    one.speed[1] = (
        w.v[1] - trunk.turn * one.hip[0] - a * one.thigh[0] - b * one.shank[0] - c * one.foot[0]
    )


@inlined
def joint_accelerations(
    g: Body, trunk: Trunk, wanted: Wanted, one: Limb, goal: Floats
) -> tuple[float, float, float]:
    """Of hip, knee and ankle, for the root's wanted acceleration.

    goal: acceleration of the point in x and z, and of the foot's turning, shape (3,).
    """
    ax, az, turning = goal[0], goal[1], goal[2]
    a, b, c = one.rates[0], one.rates[1], one.rates[2]
    # Centripetal parts; a sphere's lowest point has none of the part below its centre
    x = ax - wanted.ax - wanted.alpha * one.hip[1] + trunk.turn * trunk.turn * one.hip[0]
    z = az - wanted.az + wanted.alpha * one.hip[0] + trunk.turn * trunk.turn * one.hip[1]
    x += a * a * one.thigh[0] + b * b * one.shank[0] + c * c * one.foot[0]
    z += a * a * one.thigh[1] + b * b * one.shank[1] + c * c * (one.foot[1] + g.radius)
    x -= turning * one.foot[1]
    z += turning * one.foot[0]
    # x = A thigh_z + B shank_z, z = -A thigh_x - B shank_x
    det = -one.thigh[1] * one.shank[0] + one.shank[1] * one.thigh[0]
    least = 0.05 * g.thigh * g.shank  # a nearly straight knee
    if g.knee * det < least:
        det = g.knee * least
    A = (-x * one.shank[0] - z * one.shank[1]) / det
    B = (z * one.thigh[1] + x * one.thigh[0]) / det
    return A - wanted.alpha, B - A, turning - B


@inlined
def joint_torques(one: Limb, x: float, z: float) -> tuple[float, float, float]:
    """Of hip, knee and ankle, by which a force on the point is pushed against: J^T (x, z)."""
    ankle = x * one.foot[1] - z * one.foot[0]
    knee = ankle + x * one.shank[1] - z * one.shank[0]
    return knee + x * one.thigh[1] - z * one.thigh[0], knee, ankle
