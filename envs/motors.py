"""What tasks with a motor at every actuated joint share: from actions to torques to motion."""

from __future__ import annotations

from typing import Any

from dynenvs.compiled import inlined
from dynenvs.layout import Bytes, Floats, ModelView, StateView, open_torques
from dynenvs.timestep import DONE, clear_totals, step_apart


@inlined
def drive(
    packed: Bytes, m: ModelView, s: StateView, row: Bytes, buffer: Bytes, o: Any, action: Floats
) -> bool:
    """One control step: clip the action, hold its torques; whether every physics step was solved.

    o: options with `timestep` and `frame_skip`; action: of each motor, in the order of the
    coordinates, shape (nu,).
    """
    tau = open_torques(m, buffer)
    motor = 0
    for i in range(m.header[0].nv):
        tau[i] = 0.0
        if m.dofs[i].actuated:
            action[motor] = min(max(action[motor], -1.0), 1.0)
            tau[i] = action[motor] * m.dofs[i].effort
            motor += 1
    clear_totals(s)
    solved = True
    for _ in range(o.frame_skip):
        if solved:
            solved = step_apart(packed, row, buffer, tau, o.timestep) == DONE
    return solved


@inlined
def tell_torques(m: ModelView, action: Floats, torques: Floats) -> None:
    """Torques [N m] of an action that has been clipped, shape (nu,)."""
    motor = 0
    for i in range(m.header[0].nv):
        if m.dofs[i].actuated:
            torques[motor] = action[motor] * m.dofs[i].effort
            motor += 1
