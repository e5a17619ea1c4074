"""By how much contacts end a step elsewhere than their velocities said, for their correction.

Errors stand by rows: of the dense problem, or three a constraint of the sparse one.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.contact.assembly.swing import angle_left
from dynenvs.contact.gaps import gap_at_end
from dynenvs.jit.compiled import inlined, inlined_source
from dynenvs.kinematics.rotation import rotate
from dynenvs.kinematics.spatial import dot3
from dynenvs.memory.layout import Floats, Records, WorkView
from dynenvs.memory.records import BENT, FAR, HALF_SPACE, HELD, SWING
from dynenvs.simd.elementary import asin

LEFT_OUT = math.inf  # error of a row that takes no part
BURIED = 1e-9  # depth from which something is in the ground [m]
FLUSH = 1e-10  # depth up to which it touches [m]
AT_STOP = 1e-12  # from a stop, at which a joint is there [rad, m]
LOW = 1e-8  # height from which the way of a point above another one is its own [m]
# What corrections do: bring contacts where their velocities said; the same, but pull nothing
# together; only lift out what is in the ground
PULL, PUSH, LIFT = 0, 1, 2


@inlined
def response(w: WorkView, index: int) -> float:
    """Velocity along a contact's normal that a unit of its impulse gives it [m/s / N s]."""
    if w.answer[0].sparse != 0:
        return float(w.scene.G[index, 0])
    r = w.contacts[index].row
    return float(w.G[r, r])


@inlined
def stop_error(dof: Any, q: Floats, upwards: bool) -> float:
    """How far a joint is beyond a stop, its lower one if that pushes upwards, or its cone."""
    if dof.limited == SWING:
        return float(-angle_left(dof, q))
    at = q[dof.q_at]
    return float(dof.lower - at if upwards else at - dof.upper)


@inlined
def holds_stop(aim: Any, error: float, pressed: bool) -> bool:
    """Whether a stop takes part in a correction: it was passed or pressed, or ended the last one.

    A joint that a correction would lead through its stop is left there: the next correction must
    know, or it would be cut again, and lift nothing.

    aim: `w.correction[0]`; error: of the stop's row
    """
    return bool(error > 0.0 or pressed or (aim.attempt > 0 and error > -AT_STOP))


@inlined
def contact_errors(w: WorkView, errors: Floats, speeds: Floats, dt: float) -> None:
    """Errors of the contacts' rows at `w.pose_new`, as far as they take part [m].

    errors: LEFT_OUT of all rows before
    speeds: velocities of the rows [m/s]
    `w.correction` is told the largest error, and the farthest pull.
    """
    aim = w.correction[0]
    for i in range(w.answer[0].contacts):
        contact = w.contacts[i]
        r, held = contact.row, contact.correction == HELD
        contact.correction = HELD if held else 0.0
        # A correction that was taken back leaves the slots as it has found them, but gaps are known
        if aim.known == 0:
            holds, gap = gap_at_end(w, contact)
            contact.before = gap if holds else FAR
        gap, moves = contact.before, response(w, i)
        if held or not gap < FAR or not moves > 0.0:
            continue
        announced = announced_gap(contact, speeds[r], dt)
        if aim.way == LIFT:
            # What touches besides is to stay where it is
            if gap > BURIED:
                continue
            announced = gap if gap > -FLUSH else 0.0
        elif not bears(contact, moves, announced, dt):
            # It only hovers: it counts where it is below ground, and then as touching
            if gap >= 0.0:
                continue
            announced = 0.0
        error = announced - gap
        # A pull from further away than the last errors: it has come to touch elsewhere
        if error < (-aim.before if aim.way == PULL else -BURIED):
            continue
        errors[r] = contact.correction = error
        aim.pull = min(aim.pull, error)
        aim.deep = max(aim.deep, error)
        aim.worst = max(aim.worst, abs(error))
        if aim.way != LIFT and contact.stick > 0 and contact.grounded and contact.edges >= 0:
            # What sticks to the ground keeps its place along it as well
            tangential_errors(contact, w.pose, w.pose_new, speeds, dt, errors)
            for k in range(r + 1, r + 1 + contact.stick):
                aim.worst = max(aim.worst, abs(errors[k]))


@inlined
def announced_gap(contact: Any, speed: float, dt: float) -> float:
    """Gap at the end of the step by the velocities, no less than touching [m]."""
    return max(0.0, float(contact.gap + dt * speed + contact.bend))


@inlined
def is_free_to_part(w: WorkView, index: int, speed: float, dt: float) -> bool:
    """Whether a contact that is lifted may be lifted further: nothing presses it.

    Not above a plane: points that were left out of the problem move with those that are in it.
    """
    contact = w.contacts[index]
    if contact.kind == HALF_SPACE:
        return False
    announced = announced_gap(contact, speed, dt)
    lifts = w.correction[0].way == LIFT
    return bool(lifts or not bears(contact, response(w, index), announced, dt))


@inlined
def bears(contact: Any, response: float, announced: float, dt: float) -> bool:
    """Whether a contact's impulse does more to its velocity than what it parts by.

    Interior methods, and those of the exact cone, leave a speck of impulse on each contact.

    response: velocity that a unit of impulse gives it; announced: gap at the end by the velocities
        [m]
    """
    return bool(dt * response * contact.impulse[0] > announced)


@inlined_source
def tangential_errors(
    contact: Any, poses: Records, poses_new: Records, speeds: Floats, dt: float, errors: Floats
) -> None:
    """Announced minus actual tangential displacement of a sticking contact on what is grounded.

    Measured at the core point: a rolling sphere's centre moves by dt times its velocity.
    """
    start, pose = poses[contact.body_a], poses_new[contact.body_a]
    # Where the body's point is now, less where it was
    height = contact.radius  # of the core point above the one that sticks
    if contact.corner != 0:
        height = contact.gap
    ax, ay, az = rotate(pose.R, contact.local)
    bx, by, bz = contact.center[0], contact.center[1], contact.center[2]
    dx, dy, dz = ax + pose.p[0] - bx, ay + pose.p[1] - by, az + pose.p[2] - bz
    if contact.body_b > 0:
        # Less what the ground has carried it
        cx, cy, cz = _carried(poses[contact.body_b], poses_new[contact.body_b], contact.point)
        dx, dy, dz = dx - cx, dy - cy, dz - cz
    for k in range(contact.stick):
        # Along each tangent; a sphere's centre rolls over the point that sticks
        t = contact.t1 if k == 0 else contact.t2
        r = contact.row + 1 + k
        moved = t[0] * dx + t[1] * dy + t[2] * dz
        announced = speeds[r]
        if contact.drifts == BENT:  # belts carry nothing along, a way that bends does
            announced += dot3(t, contact.drift)
        if abs(height) > LOW:
            announced += _rolling(start.R, pose.R, contact.normal, height, t, dt)
        errors[r] = dt * announced - moved


@inlined
def _carried(start: Any, end: Any, at: Floats) -> tuple[float, float, float]:
    """By how much a body carries what is at a place, from one pose to another."""
    R, S = end.R, start.R
    x, y, z = at[0] - start.p[0], at[1] - start.p[1], at[2] - start.p[2]
    u = S[0, 0] * x + S[1, 0] * y + S[2, 0] * z  # in the body's frame
    v = S[0, 1] * x + S[1, 1] * y + S[2, 1] * z
    w = S[0, 2] * x + S[1, 2] * y + S[2, 2] * z
    return (
        R[0, 0] * u + R[0, 1] * v + R[0, 2] * w + end.p[0] - at[0],
        R[1, 0] * u + R[1, 1] * v + R[1, 2] * w + end.p[1] - at[1],
        R[2, 0] * u + R[2, 1] * v + R[2, 2] * w + end.p[2] - at[2],
    )


@inlined
def _rolling(
    before: Floats, after: Floats, normal: Floats, radius: float, tangent: Floats, dt: float
) -> float:
    """Velocity along `tangent` of a sphere's centre relative to its contact point.

    That is radius (omega x normal) . tangent.

    The mean angular velocity of the step is read from the rotation after before^T (under 90
    degrees).
    """
    # Skew part of after before^T: twice the sine of the angle, times the axis
    wx = wy = wz = 0.0
    for k in range(3):
        wx += after[2, k] * before[1, k] - after[1, k] * before[2, k]
        wy += after[0, k] * before[2, k] - after[2, k] * before[0, k]
        wz += after[1, k] * before[0, k] - after[0, k] * before[1, k]
    sine = 0.5 * math.sqrt(wx * wx + wy * wy + wz * wz)
    angle = asin(min(sine, 1.0)) / sine if sine > 1e-6 else 1.0
    sx = wy * normal[2] - wz * normal[1]
    # The surface's speed at the contact point
    sy = wz * normal[0] - wx * normal[2]
    sz = wx * normal[1] - wy * normal[0]
    return 0.5 * angle * radius * (sx * tangent[0] + sy * tangent[1] + sz * tangent[2]) / dt
