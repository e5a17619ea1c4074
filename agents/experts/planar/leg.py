"""Kinematics of a planar walker's leg: where its sole is, and the joint rates that move it.

Angles turn backward: knee = hip - thigh (sin q1, cos q1), ankle = knee - shank (sin q12, cos q12).
Where the trunk pitches, forward if positive, all of a leg's directions turn with it and its hip
moves about the trunk's origin.  A leg is described by a record of `gaits.GAIT`; lengths are in
metres, angles in radians.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.envs.planar.records import ROOT
from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Ints, ModelView, StateView


@inlined
def trunk(s: StateView, g: Any) -> tuple[float, float]:
    """Pitch of the trunk and its rate, 0 where it is not free."""
    if g.root == ROOT:
        return 0.0, 0.0
    return s.q[ROOT], s.v[ROOT]


@inlined
def gap(m: ModelView, s: StateView, g: Any, leg: int, f: int) -> float:
    """Height above the ground of a leg's contact feature [m]."""
    at = g.root + 3 * leg
    pitch, _ = trunk(s, g)
    q1 = pitch + s.q[at]
    q12 = q1 + s.q[at + 1]
    q123 = q12 + s.q[at + 2]
    ankle = (
        s.q[1] - g.hips[leg] * math.sin(pitch) - g.thigh * math.cos(q1) - g.shank * math.cos(q12)
    )
    center = m.features[f].center
    return ankle + math.cos(q123) * center[2] - math.sin(q123) * center[0] - m.features[f].radius


@inlined
def gaps(m: ModelView, s: StateView, g: Any, feet: Ints, leg: int) -> tuple[float, float]:
    """Least and greatest height of a leg's contact features [m]."""
    low, high = math.inf, 0.0
    for f in range(m.header[0].nf):
        if feet[f] == leg:
            height = gap(m, s, g, leg, f)
            low, high = min(low, height), max(high, height)
    return low, high


@inlined
def sole(s: StateView, g: Any, leg: int, end: float) -> tuple[float, float]:
    """(x from the hip, z above the ground) of a sole's point at `end` along the foot [m].

    x is where the ankle of a flat foot with this sole would be.
    """
    at = g.root + 3 * leg
    pitch, _ = trunk(s, g)
    q1 = pitch + s.q[at]
    q12 = q1 + s.q[at + 1]
    sole_x, sole_z = _offset(g, end, q12 + s.q[at + 2] - g.pitch)
    x = -g.thigh * math.sin(q1) - g.shank * math.sin(q12) + sole_x - end
    hip_z = s.q[1] - g.hips[leg] * math.sin(pitch)
    return x, hip_z - g.thigh * math.cos(q1) - g.shank * math.cos(q12) + sole_z


@inlined
def sole_velocity(
    s: StateView, g: Any, leg: int, end: float, ahead: float
) -> tuple[float, float, float]:
    """Its velocity over the ground and its turning, a time `ahead` along the velocity."""
    at = g.root + 3 * leg
    pitch, rate = trunk(s, g)
    w1 = rate + s.v[at]
    w12 = w1 + s.v[at + 1]
    turning = w12 + s.v[at + 2]
    q1 = pitch + s.q[at] + ahead * w1
    q12 = pitch + s.q[at] + s.q[at + 1] + ahead * w12
    tilt = pitch + s.q[at] + s.q[at + 1] + s.q[at + 2] + ahead * turning - g.pitch
    sole_x, sole_z = _offset(g, end, tilt)
    hip_x, hip_z = hip_velocity(g, leg, pitch + ahead * rate, rate)
    hip_x, hip_z = s.v[0] + hip_x, s.v[1] + hip_z
    vx = hip_x - g.thigh * math.cos(q1) * w1 - g.shank * math.cos(q12) * w12 + turning * sole_z
    vz = hip_z + g.thigh * math.sin(q1) * w1 + g.shank * math.sin(q12) * w12 - turning * sole_x
    return vx, vz, turning


@inlined
def hip_velocity(g: Any, leg: int, pitch: float, rate: float) -> tuple[float, float]:
    """Of a leg's hip against the trunk's origin while it turns."""
    return -g.hips[leg] * math.sin(pitch) * rate, -g.hips[leg] * math.cos(pitch) * rate


@inlined
def _offset(g: Any, end: float, tilt: float) -> tuple[float, float]:
    """That point from the ankle, the foot tilted; a sphere's lies below its centre."""
    c, s = math.cos(tilt), math.sin(tilt)
    z = g.sole_z + g.radius
    return c * end + s * z, c * z - s * end - g.radius


@inlined
def solve_leg(
    g: Any, end: float, q1: float, q12: float, q123: float, ux: float, uz: float, turn: float
) -> tuple[float, float]:
    """Rates of hip and knee that move the sole, hip-relative, at (ux, uz) while it turns."""
    sole_x, sole_z = _offset(g, end, q123 - g.pitch)
    px, pz = ux - turn * sole_z, uz + turn * sole_x  # of the ankle
    jx2, jz2 = -g.shank * math.cos(q12), g.shank * math.sin(q12)
    jx1, jz1 = -g.thigh * math.cos(q1) + jx2, g.thigh * math.sin(q1) + jz2
    det = jx1 * jz2 - jx2 * jz1
    least = 0.05 * g.thigh * g.shank  # a nearly straight knee
    if abs(det) < least:
        det = least if det > 0.0 else -least
    return (px * jz2 - jx2 * pz) / det, (jx1 * pz - jz1 * px) / det
