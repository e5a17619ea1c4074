"""What the experts of robots with a free base make of an observation: state, angular momentum.

Everything is worked out in a frame below the base that has its heading and stands still.
"""

from __future__ import annotations

import math
from typing import Protocol

from dynenvs.envs.legged.records import ROOT, TURN
from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Floats, StateView, WorkView, WorldView
from dynenvs.simd.elementary import atan2, cos, sin

BASE = 1  # the body


class Sight:
    """Where the observation of such a robot has what (`sight.py`): fields of its record."""

    at_height: int
    at_upward_direction: int
    at_joint_angles: int
    at_velocity: int
    at_angular_velocity: int
    at_joint_velocities: int
    at_gait_phase: int
    at_command: int
    at_foot_contacts: int


class Told(Protocol):
    """What has the gait's phase and the command, shape (3,)."""

    phase: float
    command: Floats


class Moving(Protocol):
    """What has the centre of mass, shape (3,), and a velocity that stands for momentum, (2,)."""

    center: Floats
    momentum: Floats


@inlined
def read_clock(g: Sight, o: Floats, told: Told) -> None:
    """Gait phase and command from an observation."""
    at = g.at_gait_phase
    turn = atan2(o[at], o[at + 1]) / (2.0 * math.pi)
    told.phase = turn - math.floor(turn)
    at = g.at_command
    for k in range(3):
        told.command[k] = o[at + k]


@inlined
def read_state(w: StateView, g: Sight, o: Floats) -> None:
    """The state, below the base and with its heading along x, from an observation."""
    place_base(w, g, o)
    at = g.at_angular_velocity
    for k in range(3):
        w.v[3 + k] = o[at + k]
    angles, rates = g.at_joint_angles, g.at_joint_velocities
    for i in range(w.header[0].nv - ROOT):
        w.q[TURN + i] = o[angles + i]
        w.v[ROOT + i] = o[rates + i]


@inlined
def place_base(w: StateView, g: Sight, o: Floats) -> None:
    """The base's part of the state but for its turning: what follows from its height and tilt."""
    at = g.at_upward_direction
    x, y, z = o[at], o[at + 1], o[at + 2]  # upward: the rotation matrix's last row
    pitch, roll = atan2(-x, math.sqrt(y * y + z * z)), atan2(y, z)
    c, d = cos(0.5 * pitch), sin(0.5 * pitch)
    e, f = cos(0.5 * roll), sin(0.5 * roll)
    w.q[0] = w.q[1] = 0.0
    w.q[2] = o[g.at_height]
    w.q[3], w.q[4], w.q[5], w.q[6] = c * e, c * f, d * e, -d * f
    c, d = cos(pitch), sin(pitch)
    e, f = cos(roll), sin(roll)
    at = g.at_velocity
    vx, vy, vz = o[at], o[at + 1], o[at + 2]
    up = f * vy + e * vz
    w.v[0], w.v[1], w.v[2] = c * vx + d * up, e * vy - f * vz, c * up - d * vx


@inlined
def angular_momentum(w: WorldView, base: Moving) -> None:
    """Angular momentum about the ground below the centre of mass, as a velocity of the latter.

    Contact forces do not change it but by where they act: it foretells the pendulum's motion
    better than the centre's own velocity, which the legs' swing disturbs.  Reads the mass matrix
    and the centre, writes `base.momentum`.
    """
    # Of the base's rows: linear momentum and, in its axes, angular
    x, y, z = mass_row(w, 0, w.v, 0.0), mass_row(w, 1, w.v, 0.0), mass_row(w, 2, w.v, 0.0)
    bx, by, bz = mass_row(w, 3, w.v, 0.0), mass_row(w, 4, w.v, 0.0), mass_row(w, 5, w.v, 0.0)
    R, origin = w.pose[BASE].R, w.pose[BASE].p
    rx, ry = origin[0] - base.center[0], origin[1] - base.center[1]
    lx = R[0, 0] * bx + R[0, 1] * by + R[0, 2] * bz + ry * z - origin[2] * y
    ly = R[1, 0] * bx + R[1, 1] * by + R[1, 2] * bz + origin[2] * x - rx * z
    scale = w.body[BASE].mc * max(base.center[2], 0.05)
    base.momentum[0], base.momentum[1] = ly / scale, -lx / scale


@inlined
def mass_entry(w: WorkView, j: int, k: int) -> float:
    """Entry (j, k) of the mass matrix, of which the lower triangle is stored."""
    return w.M[j, k] if j >= k else w.M[k, j]


@inlined
def mass_row(w: WorkView, j: int, v: Floats, start: float) -> float:
    """start + row j of the mass matrix times v, shape (nv,)."""
    total = start
    for k in range(w.header[0].nv):
        total += mass_entry(w, j, k) * v[k]
    return total
