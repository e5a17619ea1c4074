"""What `info` says of a robot with a free base; what is observed stands in `parts.py`."""

from __future__ import annotations

import numpy as np

from dynenvs.envs.core.feet import write_forces
from dynenvs.envs.core.loop import TaskWorld
from dynenvs.envs.legged.object_placing import write_objects
from dynenvs.envs.legged.object_records import FREE_Q
from dynenvs.envs.legged.records import OWN_INFO, ROOT
from dynenvs.jit.compiled import inlined
from dynenvs.jit.views import matrix, vector
from dynenvs.memory.layout import Bytes, StateView


@inlined
def upright(w: StateView) -> float:
    """Cosine of the base's tilt."""
    return 1.0 - 2.0 * (w.q[4] * w.q[4] + w.q[5] * w.q[5])


@inlined
def describe(w: TaskWorld, info: Bytes) -> None:
    """What `info` says but for what all tasks have: scalars first, arrays behind all scalars.

    Torques [N m], mean contact forces over the control step [N], speeds, command; then the poses
    of loose objects.
    """
    world, o, t, action, objects = w.world, w.options[0], w.task[0], w.action, w.constants[3]
    own, nu, at = vector(info, 0, 1, OWN_INFO)[0], action.shape[0], o.info_bytes
    own.x_position, own.y_position = world.q[0], world.q[1]
    own.x_velocity, own.y_velocity = t.x_speed, t.y_speed
    torques = vector(info, at, nu, np.float64)
    for i in range(nu):
        torques[i] = action[i] * world.dofs[ROOT + i].effort
    at += 8 * nu
    write_forces(w, matrix(info, at, o.legs, 3, np.float64))
    at += 24 * o.legs
    speeds = vector(info, at, 6, np.float64)
    speeds[0], speeds[1], speeds[2] = t.forward_speed, t.sideways_speed, t.turning_speed
    speeds[3], speeds[4], speeds[5] = t.forward, t.sideways, t.turning
    write_objects(world, objects, matrix(info, at + 48, objects.shape[0], FREE_Q, np.float64))
