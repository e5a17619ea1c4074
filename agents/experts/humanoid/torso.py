"""How base, torso and arms move: the torso keeps itself upright, whatever the pelvis does below it.

The pelvis is light: noise of the motors shakes it, and it has to be held fast.  With the torso held
by its own direction instead of by the angle between them, that moves the pelvis alone.
"""

from __future__ import annotations

import math

from dynenvs.agents.experts.common.state import BASE
from dynenvs.agents.experts.humanoid.records import (
    JOINTS,
    LEGS,
    TORSO,
    UPPER,
    Clock,
    Posture,
    Wanted,
)
from dynenvs.envs.legged.records import ROOT, TURN
from dynenvs.jit.compiled import inlined
from dynenvs.kinematics.triples import cross, dot, entries
from dynenvs.memory.layout import Floats, StateView, WorkView, WorldView
from dynenvs.simd.elementary import cos, sin

FIRST = ROOT + JOINTS * LEGS  # the torso's first coordinate


@inlined
def follow_base(w: WorkView, wanted: Wanted, a: Floats) -> None:
    """The base's accelerations, those of its turning in its own axes."""
    R, turn = w.pose[BASE].R, wanted.alpha
    for k in range(3):
        a[k] = wanted.a[k]
        a[3 + k] = R[0, k] * turn[0] + R[1, k] * turn[1] + R[2, k] * turn[2]


@inlined
def swing_arms(w: StateView, g: Posture, clock: Clock, a: Floats) -> None:
    """Arms hold their pose and swing against the legs."""
    angle = 2.0 * math.pi * clock.phase
    rate = 2.0 * math.pi * clock.frequency
    k = g.posture_rate
    c, d = cos(angle), sin(angle)
    for i in range(TORSO, UPPER):
        j = FIRST + i
        size = g.swing[i] * clock.command[0]
        angle_error = g.pose[i] + size * c - w.q[TURN - ROOT + j]
        rate_error = -rate * size * d - w.v[j]
        a[j] = -rate * rate * size * c + k * k * angle_error + 2.0 * k * rate_error


@inlined
def hold_torso(w: WorldView, g: Posture, clock: Clock, wanted: Wanted, a: Floats) -> None:
    """Accelerations of the torso's joints; needs the equations of motion and wanted.alpha."""
    body = w.dofs[FIRST + TORSO - 1].body
    R, v, drift = w.pose[body].R, w.body[body].v, w.body[body].a
    k = g.torso_rate
    yaw = g.pose[0] + g.swing[0] * clock.command[0] - w.q[FIRST + TURN - ROOT]
    roll = k * k * R[1, 2] - 2.0 * k * v[0]
    pitch = k * k * (wanted.lean - R[0, 2]) - 2.0 * k * v[1]
    turn = k * k * yaw + 2.0 * k * (clock.command[2] - v[2])
    t = (
        roll - wanted.alpha[0] - drift[0],
        pitch - wanted.alpha[1] - drift[1],
        turn - wanted.alpha[2] - drift[2],
    )
    x, y, z = entries(w.S[FIRST], 0), entries(w.S[FIRST + 1], 0), entries(w.S[FIRST + 2], 0)
    yz, zx, xy = cross(y, z), cross(z, x), cross(x, y)
    size = max(dot(x, yz), 0.2)  # one where the torso is upright on the pelvis
    a[FIRST], a[FIRST + 1] = dot(t, yz) / size, dot(t, zx) / size
    a[FIRST + 2] = dot(t, xy) / size
