"""What tasks with a motor at every actuated joint share: from actions to torques."""

from __future__ import annotations

from dynenvs.envs.core.loop import TaskWorld
from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Floats, ModelView


@inlined
def set_torques(w: TaskWorld, tau: Floats) -> None:
    """Clip an action of each motor, in the order of the coordinates, to its torques, shape (nv,).

    The `start` of tasks on which nothing else acts (`loop.py`).
    """
    world, action, motor = w.world, w.action, 0
    for i in range(world.header[0].nv):
        tau[i] = 0.0
        if world.dofs[i].actuated:
            action[motor] = min(max(action[motor], -1.0), 1.0)
            tau[i] = action[motor] * world.dofs[i].effort
            motor += 1


@inlined
def write_torques(w: ModelView, action: Floats, torques: Floats) -> None:
    """Torques [N m] of an action that has been clipped, shape (nu,)."""
    motor = 0
    for i in range(w.header[0].nv):
        if w.dofs[i].actuated:
            torques[motor] = action[motor] * w.dofs[i].effort
            motor += 1
