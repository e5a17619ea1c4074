"""Limits of balls (`swing.py`) in the contact problem.

Apart from the kernels that use them: few robots have balls with limits, and what is compiled into
the others' steps costs them a twentieth of their speed.
"""

from __future__ import annotations

import math

from dynenvs.contact.assembly.rows import closing_speed, is_limit_near
from dynenvs.contact.assembly.swing import (
    BEYOND,
    angle_left,
    expect_at_limit,
    has_axis,
    is_beyond,
    swing,
    take_back,
)
from dynenvs.jit.compiled import unit
from dynenvs.kinematics.poses import update_poses
from dynenvs.kinematics.triples import dot, entries, put_entries
from dynenvs.memory.layout import WorldView
from dynenvs.memory.records import SWING
from dynenvs.simd.elementary import cos, sin

TURNED_BACK = 1e-3  # from which an answer counts as degraded [rad]


@unit("swings", seconds=3)
def expect_swings(w: WorldView, dt: float) -> int:
    """Expect of balls that would move beyond their limits to end there; returns how many."""
    found = 0
    for j in range(w.header[0].nv if w.answer[0].recursive == 0 else 0):
        if w.dofs[j].limited == SWING:
            gap, n = swing(w.dofs[j], w.q, w.expected, j, dt)
            # Those that free motion leads beyond their limit are looked at more closely
            if gap + dt * dot(n, entries(w.expected, j)) < 0.0:
                expect_at_limit(w, j, dt)
                found += 1
    return found


@unit("swings", seconds=3)
def swing_rows(w: WorldView, row: int, dt: float) -> int:
    """Rows of the balls' limits in reach from `row` on, as of `limit_rows`; the number of all.

    A row is the gradient of the ball's angle where it ends, moving with `w.expected`.  dt: length
    of the step, or 0 in an impact, before which the velocities are `w.v`
    """
    nv = w.header[0].nv
    for i in range(nv):
        dof = w.dofs[i]
        if dof.limited != SWING:
            continue
        # An impact takes no time: its rows are made of the velocities before it
        v = w.v_free if dt > 0.0 else w.v
        expected = w.expected if dt > 0.0 else w.v
        gap, n = swing(dof, w.q, expected, i, dt)
        if has_axis(n) and is_limit_near(gap, dot(n, entries(expected, i)), dt):
            # Three entries, those of the ball
            for j in range(nv):
                w.J[row, j] = 0.0
            put_entries(w.J[row], i, n)
            for j in range(i, i + 3):
                w.active[j], w.block[j] = min(w.active[j], row), row + 1
            w.bias_row[row] = dot(n, entries(v, i)) + closing_speed(gap, dt)
            row += 1
    return row


@unit("swings", seconds=3)
def add_missed_swings(w: WorldView, dt: float) -> int:
    """Make the rows anew of balls that the answer leads beyond their limits; returns how many."""
    missed = 0
    for j in range(w.header[0].nv):
        dof = w.dofs[j]
        if dof.limited == SWING and is_beyond(dof, w.q, w.q_new):
            missed += 1
            # Its end as the answer has it, less what its own limit did to that
            for k in range(j, j + 3):
                w.expected[k] = w.v_new[k]
            if w.answer[0].recursive == 0:
                take_back(w, j)
                expect_at_limit(w, j, dt)
    return missed


@unit("swings", seconds=2)
def end_at_limits(w: WorldView) -> int:
    """Turn balls back to the limit that they kept before and have passed in `w.q_new`.

    What is left for it is what corrections of contacts turn a ball by, which see its limit from
    afar.  Returns how many there were; a large turn counts as degraded.
    """
    most, found, q = 0.0, 0, w.q_new
    for j in range(w.header[0].nv):
        dof = w.dofs[j]
        if dof.limited != SWING or angle_left(dof, w.q) < -BEYOND or angle_left(dof, q) >= 0.0:
            continue
        found, most, at = found + 1, max(most, -angle_left(dof, q)), dof.q_at
        # Half the angle is what the quaternion holds: scale its vector, keep the sign of its scalar
        sine = math.sqrt(q[at + 1] ** 2 + q[at + 2] ** 2 + q[at + 3] ** 2)
        scale = sin(0.5 * dof.upper) / sine
        for k in range(at + 1, at + 4):
            q[k] *= scale
        q[at] = math.copysign(cos(0.5 * dof.upper), q[at])
    if found > 0:
        update_poses(w, q, w.pose_new)
        w.status[0].degraded += 1 if most > TURNED_BACK else 0
    return found
