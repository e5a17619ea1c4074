"""The torso keeps itself upright in space, whatever the pelvis does below it.

The pelvis is light: noise of the motors shakes it, and it has to be held fast.  With the torso held
by its own direction instead of by the angle between them, that moves the pelvis alone.
"""

from __future__ import annotations

from dynenvs.agents.experts.humanoid.records import JOINTS, LEGS, TORSO, Biped, Clock, Wanted
from dynenvs.envs.legged.records import ROOT, TURN
from dynenvs.jit.compiled import inlined
from dynenvs.kinematics.triples import cross, dot, entries
from dynenvs.memory.layout import Floats, WorldView

FIRST = ROOT + JOINTS * LEGS  # the torso's first coordinate


@inlined
def hold_torso(w: WorldView, g: Biped, clock: Clock, wanted: Wanted, acc: Floats) -> None:
    """Accelerations of the torso's joints; needs the equations of motion and wanted.alpha."""
    body = w.dofs[FIRST + TORSO - 1].body
    R, v, drift = w.pose[body].R, w.body[body].v, w.body[body].a
    k = g.torso_rate
    yaw = g.pose[0] + g.swing[0] * clock.command[0] - w.q[FIRST + TURN - ROOT]
    x = k * k * R[1, 2] - 2.0 * k * v[0]
    y = k * k * (wanted.lean - R[0, 2]) - 2.0 * k * v[1]
    z = k * k * yaw + 2.0 * k * (clock.command[2] - v[2])
    t = (
        x - wanted.alpha[0] - drift[0],
        y - wanted.alpha[1] - drift[1],
        z - wanted.alpha[2] - drift[2],
    )
    a, b, c = entries(w.S[FIRST], 0), entries(w.S[FIRST + 1], 0), entries(w.S[FIRST + 2], 0)
    bc, ca, ab = cross(b, c), cross(c, a), cross(a, b)
    size = max(dot(a, bc), 0.2)  # one where the torso is upright on the pelvis
    acc[FIRST], acc[FIRST + 1], acc[FIRST + 2] = (
        dot(t, bc) / size,
        dot(t, ca) / size,
        dot(t, ab) / size,
    )
