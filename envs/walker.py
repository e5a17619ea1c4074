"""The planar walkers' task, compiled: follow a commanded forward speed without falling.

One control step holds the torques for the control period, moves the gait clock on and gives
observation, reward terms and the reason why the episode ended.  The shells in
`planar_humanoid.py` and `planar_quadruped.py` add names, bounds and words.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.compiled import inlined, kernel
from dynenvs.contact.detect import feature_gap
from dynenvs.envs.base import FAILED_STEP, FELL, RUNNING, TIME_LIMIT, TOO_FAST
from dynenvs.envs.rewards import closeness, ease
from dynenvs.kinematics import update_poses
from dynenvs.layout import (
    Bytes,
    Floats,
    Ints,
    ModelView,
    Records,
    StateView,
    open_model,
    open_poses,
    open_state,
    open_torques,
    record_type,
)
from dynenvs.rng import uniform
from dynenvs.timestep import DONE, clear_totals, step_apart

ROOT = 2  # root coordinates: x and z

# Reward weights; they sum to 1.  Ease and steadiness count only as far as the command is followed.
W_VELOCITY, W_EASE, W_HEIGHT = 0.8, 0.1, 0.1
SPEED_SCALE = 0.4  # error of the speed, relative to the command, that leaves exp(-1)
LEAST_SCALE = 0.1  # ... but never narrower than this [m/s]
HEIGHT_SCALE = 0.15  # relative error of the hip height that leaves exp(-1)
FALL_HEIGHT = 0.7  # of the standing height

TASK = record_type(
    [
        ("generator", "u8"),
        ("steps", "i8"),
        ("phase", "f8"),  # of the gait clock, in [0, 1)
        ("command", "f8"),  # [m/s]
        ("fixed_command", "f8"),  # given by the user, or NaN: drawn at reset
        ("x", "f8"),  # hip at the end of the previous step [m]
        ("speed", "f8"),  # mean over the last control step [m/s]
        ("reward_velocity", "f8"),
        ("reward_ease", "f8"),
        ("reward_height", "f8"),
    ]
)

OPTIONS = record_type(
    [
        ("timestep", "f8"),
        ("frame_skip", "i8"),
        ("max_steps", "i8"),
        ("terminate_on_fall", "i8"),
        ("standing_height", "f8"),  # of the hip joint above the ground [m]
        ("low_command", "f8"),
        ("high_command", "f8"),
        ("slow_frequency", "f8"),  # of the gait at speed 0 [Hz]
        ("frequency_slope", "f8"),  # more of it for each m/s [Hz s/m]
        ("noise", "f8"),  # of joint angles [rad] and velocities [rad/s] at reset
        ("height_bound", "f8"),  # of the observation [m]
        ("velocity_bound", "f8"),  # [rad/s]
        ("root_velocity_bound", "f8"),  # [m/s]
    ]
)


@inlined
def gait_frequency(options: Any, command: float) -> float:
    """Cycles a second of the gait clock: longer strides and quicker ones share the speed."""
    return options.slow_frequency + options.frequency_slope * command


@kernel
def start(
    packed: Bytes,
    row: Bytes,
    buffer: Bytes,
    tasks: Records,
    options: Records,
    standing: Floats,
    feet: Ints,
) -> None:
    """A standing pose with noise, the lower foot on the ground, the command and the phase drawn.

    The generator is the task's first field; the clock starts in either double support.
    """
    m = open_model(packed)
    s, poses = open_state(m, row), open_poses(m, buffer)
    t, o = tasks[0], options[0]
    generator = tasks["generator"]
    command = uniform(generator, o.low_command, o.high_command)
    t.command = command if math.isnan(t.fixed_command) else t.fixed_command
    t.phase = 0.0 if uniform(generator, 0.0, 1.0) < 0.5 else 0.5
    for i in range(m.header[0].nq):
        s.q[i] = standing[i]
    for i in range(ROOT, m.header[0].nv):
        s.q[i] += uniform(generator, -o.noise, o.noise)
        s.v[i] = uniform(generator, -o.noise, o.noise)
    update_poses(m, s.q, poses)
    lowest = math.inf
    for f in range(m.header[0].nf):
        if feet[f] >= 0:
            lowest = min(lowest, feature_gap(m.features[f], poses))
    s.q[1] -= lowest
    t.steps = 0
    t.x = s.q[0]
    t.speed = 0.0
    t.reward_velocity = t.reward_ease = t.reward_height = 0.0


@kernel
def observe(
    packed: Bytes, row: Bytes, tasks: Records, options: Records, observation: Floats
) -> None:
    """(z, joint positions, velocities, sine and cosine of the phase, command), within bounds."""
    m = open_model(packed)
    _observe(m, open_state(m, row), tasks[0], options[0], observation)


@inlined
def _observe(m: ModelView, s: StateView, t: Any, o: Any, observation: Floats) -> None:
    nq, nv = m.header[0].nq, m.header[0].nv
    observation[0] = min(max(s.q[1], 0.0), o.height_bound)
    for i in range(ROOT, nq):
        # A joint may stand a rounding error behind its stop.
        dof = m.dofs[i]
        observation[i - 1] = min(max(s.q[i], dof.lower), dof.upper)
    for i in range(nv):
        bound = o.root_velocity_bound if i < ROOT else o.velocity_bound
        observation[nq - 1 + i] = min(max(s.v[i], -bound), bound)
    angle = 2.0 * math.pi * t.phase
    observation[nq + nv - 1] = math.sin(angle)
    observation[nq + nv] = math.cos(angle)
    observation[nq + nv + 1] = t.command


@kernel
def advance(
    packed: Bytes,
    row: Bytes,
    buffer: Bytes,
    tasks: Records,
    options: Records,
    feet: Ints,
    action: Floats,
    observation: Floats,
) -> int:
    """One control step; returns why the episode ended, RUNNING if it did not."""
    m = open_model(packed)
    s, tau = open_state(m, row), open_torques(m, buffer)
    t, o = tasks[0], options[0]
    for i in range(action.shape[0]):
        action[i] = min(max(action[i], -1.0), 1.0)
        tau[ROOT + i] = action[i] * m.dofs[ROOT + i].effort
    tau[0] = tau[1] = 0.0
    clear_totals(m, s)
    solved = True
    for _ in range(o.frame_skip):
        if solved:
            solved = step_apart(packed, row, buffer, tau, o.timestep) == DONE
    period = o.timestep * o.frame_skip
    t.steps += 1
    t.phase += period * gait_frequency(o, t.command)
    t.phase -= math.floor(t.phase)
    t.speed = (s.q[0] - t.x) / period
    t.x = s.q[0]
    _reward(s, t, o, action)
    _observe(m, s, t, o, observation)
    if not solved:
        return FAILED_STEP
    return _end(m, s, t, o, feet)


@inlined
def _reward(s: StateView, t: Any, o: Any, action: Floats) -> None:
    scale = max(LEAST_SCALE, SPEED_SCALE * abs(t.command))
    following = closeness(t.speed - t.command, scale)
    height = closeness(s.q[1] / o.standing_height - 1.0, HEIGHT_SCALE)
    t.reward_velocity = W_VELOCITY * following
    t.reward_ease = W_EASE * following * ease(action)
    t.reward_height = W_HEIGHT * following * height


@inlined
def _end(m: ModelView, s: StateView, t: Any, o: Any, feet: Ints) -> int:
    """Why the episode ends here: a fall, a velocity beyond its bound, the time limit."""
    for i in range(m.header[0].nv):
        bound = o.root_velocity_bound if i < ROOT else o.velocity_bound
        if abs(s.v[i]) > bound:
            return TOO_FAST
    if s.q[1] > o.height_bound:
        return TOO_FAST
    if o.terminate_on_fall:
        if s.q[1] < FALL_HEIGHT * o.standing_height:
            return FELL
        for f in range(m.header[0].nf):
            total = s.memory[f].total
            if feet[f] < 0 and (total[0] != 0.0 or total[2] != 0.0):
                return FELL
    return TIME_LIMIT if t.steps >= o.max_steps else RUNNING
