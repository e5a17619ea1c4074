"""What an environment reports of a robot with a free base: its observation and its `info`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dynenvs.envs.core.loop import TaskWorld
from dynenvs.envs.legged.ground import FLAT, ground_height, scan
from dynenvs.envs.legged.object_placing import observe_objects, write_objects
from dynenvs.envs.legged.object_records import FREE_Q, FREE_V
from dynenvs.envs.legged.records import PLACE, ROOT, TURN
from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Bytes, Floats, StateView
from dynenvs.memory.views import matrix, vector
from dynenvs.simd.elementary import cos, sin


@inlined
def upright(w: StateView) -> float:
    """Cosine of the base's tilt."""
    return 1.0 - 2.0 * (w.q[4] * w.q[4] + w.q[5] * w.q[5])


@inlined
def observe(w: TaskWorld, observation: Floats) -> None:
    """Height, upward direction, joints, velocities, phase, command and contacts, within bounds.

    Directions and the base's velocities are in its own axes; the world's heading is not seen.  On
    terrain the height scan follows, or, where they are to be seen, the loose objects.
    """
    world, o, t = w.world, w.options[0], w.task[0]
    _, feet, objects, _ = w.constants
    nu = world.header[0].nv - ROOT - FREE_V * objects.shape[0]
    below = 0.0
    if o.terrain != FLAT:
        below = ground_height(world, o.terrain, o.slope, world.q[0], world.q[1])
        scan(world, o, observation, 15 + 2 * nu + o.legs)
    observation[0] = min(max(world.q[2] - below, 0.0), o.height_bound)
    _observe_base(world, o, observation, nu)
    for i in range(nu):
        # A joint may stand a rounding error behind its stop.
        dof = world.dofs[ROOT + i]
        observation[4 + i] = min(max(world.q[TURN + i], dof.lower), dof.upper)
        speed = min(max(world.v[ROOT + i], -o.joint_bound), o.joint_bound)
        observation[10 + nu + i] = speed
    at = 10 + 2 * nu
    angle = 2.0 * math.pi * t.phase
    observation[at] = sin(angle)
    observation[at + 1] = cos(angle)
    observation[at + 2], observation[at + 3], observation[at + 4] = t.forward, t.sideways, t.turning
    for leg in range(o.legs):
        observation[at + 5 + leg] = 0.0
    for k in range(world.status[0].touched):
        f = world.touched[k]
        if feet[f] >= 0 and world.memory[f].impulse[2] > 0.0:
            observation[at + 5 + feet[f]] = 1.0
    if o.sees_objects != 0:
        observe_objects(world, o, objects, observation, at + 5 + o.legs)


@inlined
def _observe_base(w: StateView, o: Any, observation: Floats, nu: int) -> None:
    """Entries 1 to 3, the upward direction, and the velocities from entry 4 + nu on."""
    e, x, y, z = w.q[3], w.q[4], w.q[5], w.q[6]
    # Rows of the rotation matrix are the world's axes in the base's
    a0, a1, a2 = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - e * z), 2.0 * (x * z + e * y)
    b0, b1, b2 = 2.0 * (x * y + e * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - e * x)
    c0, c1, c2 = 2.0 * (x * z - e * y), 2.0 * (y * z + e * x), 1.0 - 2.0 * (x * x + y * y)
    observation[1] = min(max(c0, -1.0), 1.0)
    observation[2] = min(max(c1, -1.0), 1.0)
    observation[3] = min(max(c2, -1.0), 1.0)
    vx, vy, vz = w.v[0], w.v[1], w.v[2]
    at = 4 + nu
    observation[at] = a0 * vx + b0 * vy + c0 * vz
    observation[at + 1] = a1 * vx + b1 * vy + c1 * vz
    observation[at + 2] = a2 * vx + b2 * vy + c2 * vz
    for k in range(PLACE):
        observation[at + k] = min(max(observation[at + k], -o.speed_bound), o.speed_bound)
        turning = min(max(w.v[PLACE + k], -o.turn_bound), o.turn_bound)
        observation[at + PLACE + k] = turning


@inlined
def describe(w: TaskWorld, r: Any, info: Bytes, at: int) -> None:
    """What `info` says but for the reward: scalars into r, arrays into `info` from byte `at` on.

    Torques [N m], mean contact forces over the control step [N], speeds, command; then the poses
    of loose objects.
    """
    world, o, t, action = w.world, w.options[0], w.task[0], w.action
    _, feet, objects, _ = w.constants
    nu = action.shape[0]
    torques = vector(info, at, nu, np.float64)
    forces = matrix(info, at + 8 * nu, o.legs, 3, np.float64)
    speeds = vector(info, at + 8 * (nu + 3 * o.legs), 6, np.float64)
    status = world.status[0]
    r.x_position, r.y_position = world.q[0], world.q[1]
    r.x_velocity, r.y_velocity = t.x_speed, t.y_speed
    r.residual, r.degraded, r.failed = status.residual, status.degraded, status.failed
    for i in range(nu):
        torques[i] = action[i] * world.dofs[ROOT + i].effort
    period = o.timestep * o.frame_skip
    for leg in range(o.legs):
        forces[leg, 0] = forces[leg, 1] = forces[leg, 2] = 0.0
    for f in range(world.header[0].nk):
        if feet[f] >= 0 and world.memory[f].listed:
            for k in range(3):
                forces[feet[f], k] += world.memory[f].total[k] / period
    speeds[0], speeds[1], speeds[2] = t.forward_speed, t.sideways_speed, t.turning_speed
    speeds[3], speeds[4], speeds[5] = t.forward, t.sideways, t.turning
    at += 8 * (nu + 3 * o.legs + 6)
    write_objects(world, objects, matrix(info, at, objects.shape[0], FREE_Q, np.float64))
