"""What is seen and told of a robot with a free base: observation, reward terms, info."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dynenvs.envs.core.rewards import closeness, ease
from dynenvs.envs.legged.ground import FLAT, ground_height, scan
from dynenvs.envs.legged.object_placing import observe_objects, tell_objects
from dynenvs.envs.legged.object_records import FREE_Q, FREE_V
from dynenvs.envs.legged.records import PLACE, READING, ROOT, TURN
from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Bytes, Floats, Ints, ModelView, Records, StateView
from dynenvs.memory.views import matrix, vector

# Reward weights; they sum to 1.  Ease and posture count only as far as the command is followed.
W_VELOCITY, W_EASE, W_POSTURE = 0.8, 0.1, 0.1
# Error of a speed, relative to the command, that leaves exp(-1); the task says how narrow it may be
SPEED_SCALE = 0.4
LEAST_TURN_SCALE = 0.2  # [rad/s]
HEIGHT_SCALE = 0.15  # relative error of the base's height that leaves exp(-1)
TILT_SCALE = 0.2  # sine of its tilt that does

READING_BYTES = READING.itemsize


@inlined
def upright(s: StateView) -> float:
    """Cosine of the base's tilt."""
    return 1.0 - 2.0 * (s.q[4] * s.q[4] + s.q[5] * s.q[5])


@inlined
def observe(
    packed: Bytes,
    m: ModelView,
    s: StateView,
    t: Any,
    o: Any,
    feet: Ints,
    objects: Records,
    observation: Floats,
) -> None:
    """Height, upward direction, joints, velocities, phase, command and contacts, within bounds.

    Directions and the base's velocities are in its own axes; the world's heading is not seen.  On
    terrain the height scan follows, or, where they are to be seen, the loose objects.
    """
    nu = m.header[0].nv - ROOT - FREE_V * objects.shape[0]
    below = 0.0
    if o.terrain != FLAT:
        below = ground_height(packed, o.terrain, o.slope, s.q[0], s.q[1])
        scan(packed, s, o, observation, 15 + 2 * nu + o.legs)
    observation[0] = min(max(s.q[2] - below, 0.0), o.height_bound)
    _observe_base(s, o, observation, nu)
    for i in range(nu):
        # A joint may stand a rounding error behind its stop.
        dof = m.dofs[ROOT + i]
        observation[4 + i] = min(max(s.q[TURN + i], dof.lower), dof.upper)
        speed = min(max(s.v[ROOT + i], -o.joint_bound), o.joint_bound)
        observation[10 + nu + i] = speed
    at = 10 + 2 * nu
    angle = 2.0 * math.pi * t.phase
    observation[at] = math.sin(angle)
    observation[at + 1] = math.cos(angle)
    observation[at + 2], observation[at + 3], observation[at + 4] = t.forward, t.sideways, t.turning
    for leg in range(o.legs):
        observation[at + 5 + leg] = 0.0
    for k in range(s.status[0].touched):
        f = s.touched[k]
        if feet[f] >= 0 and s.memory[f].impulse[2] > 0.0:
            observation[at + 5 + feet[f]] = 1.0
    if o.sees_objects != 0:
        observe_objects(m, s, o, objects, observation, at + 5 + o.legs)


@inlined
def _observe_base(s: StateView, o: Any, observation: Floats, nu: int) -> None:
    """Entries 1 to 3, the upward direction, and the velocities from entry 4 + nu on."""
    w, x, y, z = s.q[3], s.q[4], s.q[5], s.q[6]
    # Rows of the rotation matrix are the world's axes in the base's
    a0, a1, a2 = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)
    b0, b1, b2 = 2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)
    c0, c1, c2 = 2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)
    observation[1] = min(max(c0, -1.0), 1.0)
    observation[2] = min(max(c1, -1.0), 1.0)
    observation[3] = min(max(c2, -1.0), 1.0)
    vx, vy, vz = s.v[0], s.v[1], s.v[2]
    at = 4 + nu
    observation[at] = a0 * vx + b0 * vy + c0 * vz
    observation[at + 1] = a1 * vx + b1 * vy + c1 * vz
    observation[at + 2] = a2 * vx + b2 * vy + c2 * vz
    for k in range(PLACE):
        observation[at + k] = min(max(observation[at + k], -o.speed_bound), o.speed_bound)
        turning = min(max(s.v[PLACE + k], -o.turn_bound), o.turn_bound)
        observation[at + PLACE + k] = turning


@inlined
def describe(
    m: ModelView,
    s: StateView,
    t: Any,
    o: Any,
    feet: Ints,
    objects: Records,
    action: Floats,
    reading: Bytes,
) -> None:
    """READING, torques [N m], mean contact forces over the control step [N], speeds, command.

    Then the poses of loose objects.
    """
    r = vector(reading, 0, 1, READING)[0]
    nu = action.shape[0]
    torques = vector(reading, READING_BYTES, nu, np.float64)
    forces = matrix(reading, READING_BYTES + 8 * nu, o.legs, 3, np.float64)
    speeds = vector(reading, READING_BYTES + 8 * (nu + 3 * o.legs), 6, np.float64)
    status = s.status[0]
    r.x_position, r.y_position = s.q[0], s.q[1]
    r.x_velocity, r.y_velocity = t.x_speed, t.y_speed
    r.reward_velocity, r.reward_ease = t.reward_velocity, t.reward_ease
    r.reward_posture = t.reward_posture
    r.residual, r.degraded, r.failed = status.residual, status.degraded, status.failed
    for i in range(nu):
        torques[i] = action[i] * m.dofs[ROOT + i].effort
    period = o.timestep * o.frame_skip
    for leg in range(o.legs):
        forces[leg, 0] = forces[leg, 1] = forces[leg, 2] = 0.0
    for f in range(m.header[0].nk):
        if feet[f] >= 0 and s.memory[f].listed:
            for k in range(3):
                forces[feet[f], k] += s.memory[f].total[k] / period
    speeds[0], speeds[1], speeds[2] = t.forward_speed, t.sideways_speed, t.turning_speed
    speeds[3], speeds[4], speeds[5] = t.forward, t.sideways, t.turning
    at = READING_BYTES + 8 * (nu + 3 * o.legs + 6)
    tell_objects(m, s, objects, matrix(reading, at, objects.shape[0], FREE_Q, np.float64))


@inlined
def reward(s: StateView, t: Any, o: Any, action: Floats) -> float:
    """The terms into the task; their sum."""
    speed = math.sqrt(t.forward * t.forward + t.sideways * t.sideways)
    dx, dy = t.forward_speed - t.forward, t.sideways_speed - t.sideways
    following = closeness(dx, max(o.least_forward_scale, SPEED_SCALE * speed))
    following *= closeness(dy, max(o.least_sideways_scale, SPEED_SCALE * speed))
    scale = max(LEAST_TURN_SCALE, SPEED_SCALE * abs(t.turning))
    following *= closeness(t.turning_speed - t.turning, scale)
    tilt = math.sqrt(max(1.0 - upright(s) * upright(s), 0.0))
    posture = closeness(tilt, TILT_SCALE)
    posture *= closeness((s.q[2] - t.ground) / o.standing_height - 1.0, HEIGHT_SCALE)
    t.reward_velocity = W_VELOCITY * following
    t.reward_ease = W_EASE * following * ease(action)
    t.reward_posture = W_POSTURE * following * posture
    return t.reward_velocity + t.reward_ease + t.reward_posture
