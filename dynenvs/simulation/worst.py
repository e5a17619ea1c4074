"""The worst that parts of steps end with: loops open, joints beyond their stops."""

from __future__ import annotations

from dynenvs.contact.assembly.swing import angle_left
from dynenvs.jit.compiled import inlined
from dynenvs.lcp.solve import CERTIFIED, DEGRADED
from dynenvs.memory.layout import Floats, ModelView, WorkView, WorldView
from dynenvs.memory.records import STOPS, SWING

BEYOND = 1e-9  # a stop from which a part counts as degraded [rad, m]


@inlined
def begin_worst(w: WorkView) -> None:
    """Nothing is open or beyond, in models that have neither loops nor stops."""
    answer = w.answer[0]
    answer.opened, answer.shut, answer.overrun = 0.0, CERTIFIED, 0.0


@inlined
def overrun(w: ModelView, q: Floats) -> float:
    """How far the joints are beyond their stops at q, at most; 0 if none is [rad, m]."""
    beyond = 0.0
    for j in range(w.header[0].nv if w.header[0].nlimited > 0 else 0):
        dof = w.dofs[j]
        if dof.limited == STOPS:
            at = q[dof.q_at]
            beyond = max(beyond, dof.lower - at, at - dof.upper)
        elif dof.limited == SWING:
            beyond = max(beyond, -angle_left(dof, q))
    return beyond


@inlined
def keep_worst(w: WorldView) -> None:
    """Keep the worst of what the parts end with, and count those that end beyond their bounds."""
    answer, status = w.answer[0], w.status[0]
    status.opened = max(status.opened, answer.opened)
    status.overrun = max(status.overrun, answer.overrun)
    if answer.shut == DEGRADED or answer.overrun > BEYOND:
        status.degraded += 1
