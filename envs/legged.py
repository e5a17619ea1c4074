"""The task of robots with a free base, compiled: follow commanded speeds without falling.

One control step holds the torques for the control period, moves the gait clock on and gives
observation, reward terms and the reason why the episode ended.  `run` does that, or starts
episodes, for many worlds; several threads share them out.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dynenvs.compiled import inlined, kernel
from dynenvs.contact.detect import feature_gap
from dynenvs.envs.codes import (
    BEGIN,
    FAILED_STEP,
    FELL,
    OBSERVE,
    RUNNING,
    STEP_AND_BEGIN,
    STEP_OR_BEGIN,
    TIME_LIMIT,
    TOO_FAST,
)
from dynenvs.envs.ground import FLAT, heading_of, local_ground, place_on_terrain
from dynenvs.envs.legged_readings import describe, observe, reward, upright
from dynenvs.envs.legged_records import BODY, PLACE, READING, ROOT, TASK
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
)
from dynenvs.progress import APART, claim, copy_words, leave
from dynenvs.rng import uniform
from dynenvs.timestep import DONE, clear_totals, step_apart
from dynenvs.views import vector

FALL_HEIGHT = 0.6  # of the standing height
FALL_TILT = 0.5  # cosine of the base's tilt below which it has fallen

TASK_BYTES, READING_BYTES = TASK.itemsize, READING.itemsize


@kernel
def run(
    packed: Bytes,
    options: Records,
    standing: Floats,
    feet: Ints,
    fresh: Bytes,
    rows: Bytes,
    tasks: Bytes,
    actions: Bytes,
    observations: Bytes,
    rewards: Floats,
    ends: Ints,
    readings: Bytes,
    last_observations: Bytes,
    last_readings: Bytes,
    buffers: Bytes,
    copied_observations: Bytes,
    copied_readings: Bytes,
    progress: Ints,
    chosen: Bytes,
    thread: int,
    order: int,
) -> None:
    """Carry out `order` (see `codes.py`) in the chosen worlds that no other thread has taken.

    Of the task: its options, the standing pose [m, rad], shape (nq,), each feature's leg, BODY or
    ITSELF, and a `fresh` row.  Of each of n worlds, as bytes: row, TASK, action (nu,), observation,
    reading, and the last observation and reading of an episode that STEP_AND_BEGIN followed by
    another; rewards and ends, shape (n,).  `buffers` holds a workspace for each thread.  The
    copies are the caller's: what only this thread touches stays in its core's cache.
    """
    m = open_model(packed)
    h, o = m.header[0], options[0]
    buffer = vector(buffers, thread * (h.workspace_bytes + APART), h.workspace_bytes, np.uint8)
    nu = h.nv - ROOT
    seen, told = _sizes(o, nu)
    i = claim(progress, thread, chosen.shape[0])
    while i < chosen.shape[0]:
        observation = vector(observations, 8 * i * seen, seen, np.float64)
        reading = vector(readings, i * told, told, np.uint8)
        if chosen[i]:
            row = vector(rows, i * h.state_bytes, h.state_bytes, np.uint8)
            s = open_state(m, row)
            task = vector(tasks, i * TASK_BYTES, 1, TASK)
            action = vector(actions, 8 * i * nu, nu, np.float64)
            rewards[i] = _carry_out(
                packed, m, s, buffer, task, o, standing, feet, fresh, row, action, order
            )
            ends[i] = task[0].end
            if order == STEP_AND_BEGIN and task[0].end != RUNNING:
                last = vector(last_observations, 8 * i * seen, seen, np.float64)
                last_reading = vector(last_readings, i * told, told, np.uint8)
                _tell(packed, m, s, task[0], o, feet, action, last, last_reading)
                _begin(packed, m, s, buffer, task, o, standing, feet, fresh, row, action)
            _tell(packed, m, s, task[0], o, feet, action, observation, reading)
        copy_words(observations, copied_observations, seen * i, seen)
        copy_words(readings, copied_readings, told // 8 * i, told // 8)
        i = claim(progress, thread, chosen.shape[0])
    leave(progress, thread)


@inlined
def _sizes(o: Any, nu: int) -> tuple[int, int]:
    """Entries of an observation, bytes of a reading."""
    return (
        2 * nu + 15 + o.legs + o.scan_x * o.scan_y,
        READING_BYTES + 8 * (nu + 3 * o.legs + 6),
    )


@inlined
def _tell(
    packed: Bytes,
    m: ModelView,
    s: StateView,
    t: Any,
    o: Any,
    feet: Ints,
    action: Floats,
    observation: Floats,
    reading: Bytes,
) -> None:
    """Observation and reading of the present state."""
    observe(packed, m, s, t, o, feet, observation)
    describe(m, s, t, o, feet, action, reading)


@inlined
def _carry_out(
    packed: Bytes,
    m: ModelView,
    s: StateView,
    buffer: Bytes,
    task: Records,
    o: Any,
    standing: Floats,
    feet: Ints,
    fresh: Bytes,
    row: Bytes,
    action: Floats,
    order: int,
) -> float:
    """Begin or step, as ordered; returns the reward."""
    if order == BEGIN or (order == STEP_OR_BEGIN and task[0].end != RUNNING):
        _begin(packed, m, s, buffer, task, o, standing, feet, fresh, row, action)
        return 0.0
    if order == OBSERVE:
        action[:] = 0.0  # no torque acted before this state
        return 0.0
    return _advance(packed, m, s, row, buffer, task, o, feet, action)


@inlined
def gait_frequency(options: Any, forward: float, sideways: float) -> float:
    """Cycles a second of the gait clock: longer strides and quicker ones share the speed."""
    speed = math.sqrt(forward * forward + sideways * sideways)
    return options.slow_frequency + options.frequency_slope * speed


@kernel
def _begin(
    packed: Bytes,
    m: ModelView,
    s: StateView,
    buffer: Bytes,
    task: Records,
    o: Any,
    standing: Floats,
    feet: Ints,
    fresh: Bytes,
    row: Bytes,
    action: Floats,
) -> None:
    """A standing pose with noise, the lowest foot on the ground; command, phase and world drawn.

    On terrain also the place and the heading.
    The generator is the task's first field; the clock starts in either double support.
    """
    t, generator = task[0], task["generator"]
    for k in range(row.shape[0]):
        row[k] = fresh[k]
    t.held = 1 if t.commanded or not math.isnan(o.command[0]) else 0
    _draw_command(t, generator, o, t.commanded != 0)
    t.commanded = 0
    t.phase = 0.0 if uniform(generator, 0.0, 1.0) < 0.5 else 0.5
    s.status[0].cone = t.cone - 1 if t.cone > 0 else o.cone
    s.status[0].polygon = t.polygon - 1 if t.polygon > 0 else o.polygon
    slippery = uniform(generator, o.low_friction, o.high_friction)
    for f in range(m.header[0].nf):
        s.memory[f].friction = slippery * m.features[f].friction
    for b in range(1, m.header[0].nb):
        s.mass_scale[b] = uniform(generator, o.low_mass, o.high_mass)
    for i in range(m.header[0].nq):
        s.q[i] = standing[i]
    for i in range(ROOT, m.header[0].nv):
        s.q[i + 1] += uniform(generator, -o.noise, o.noise)
        s.v[i] = uniform(generator, -o.noise, o.noise)
    if o.terrain != FLAT:
        place_on_terrain(packed, s, buffer, o, generator, feet)
    else:
        poses = open_poses(m, buffer)
        update_poses(m, s.q, poses)
        lowest = math.inf
        for f in range(m.header[0].nf):
            if feet[f] >= 0:
                lowest = min(lowest, feature_gap(m.features[f], poses))
        s.q[2] -= lowest
    t.ground = local_ground(packed, s, o)
    t.steps = 0
    t.end = RUNNING
    t.x, t.y, t.heading = s.q[0], s.q[1], heading_of(s)
    t.x_speed = t.y_speed = 0.0
    t.forward_speed = t.sideways_speed = t.turning_speed = 0.0
    t.reward_velocity = t.reward_ease = t.reward_posture = 0.0
    action[:] = 0.0


@inlined
def _draw_command(t: Any, generator: Floats, o: Any, given: bool) -> None:
    """Draw a command; keep the given one, or take the options' if there is one, instead."""
    forward = uniform(generator, o.low_command[0], o.high_command[0])
    sideways = uniform(generator, o.low_command[1], o.high_command[1])
    turning = uniform(generator, o.low_command[2], o.high_command[2])
    if not given:
        fixed = not math.isnan(o.command[0])
        t.forward = o.command[0] if fixed else forward
        t.sideways = o.command[1] if fixed else sideways
        t.turning = o.command[2] if fixed else turning


@inlined
def _advance(
    packed: Bytes,
    m: ModelView,
    s: StateView,
    row: Bytes,
    buffer: Bytes,
    task: Records,
    o: Any,
    feet: Ints,
    action: Floats,
) -> float:
    """One control step; returns the reward."""
    t = task[0]
    tau = open_torques(m, buffer)
    for i in range(ROOT):
        tau[i] = 0.0
    for i in range(action.shape[0]):
        action[i] = min(max(action[i], -1.0), 1.0)
        tau[ROOT + i] = action[i] * m.dofs[ROOT + i].effort
    clear_totals(m, s)
    _push(s, task, o)
    solved = True
    for _ in range(o.frame_skip):
        if solved:
            solved = step_apart(packed, row, buffer, tau, o.timestep) == DONE
    for k in range(3, 6):
        s.wrench[1, k] = 0.0
    period = o.timestep * o.frame_skip
    t.steps += 1
    t.phase += period * gait_frequency(o, t.forward, t.sideways)
    t.phase -= math.floor(t.phase)
    _travel(s, t, period)
    t.ground = local_ground(packed, s, o)
    earned = reward(s, t, o, action)
    t.end = _end(m, s, t, o, feet) if solved else FAILED_STEP
    if o.command_steps > 0 and t.held == 0 and t.steps % o.command_steps == 0:
        _draw_command(t, task["generator"], o, False)
    return earned


@inlined
def _push(s: StateView, task: Records, o: Any) -> None:
    """Now and then a horizontal impulse on the base in a drawn direction, spread over the step."""
    if o.push_steps > 0 and task[0].steps % o.push_steps == o.push_steps - 1:
        angle = uniform(task["generator"], 0.0, 2.0 * math.pi)
        force = o.push_impulse / (o.timestep * o.frame_skip)
        s.wrench[1, 3] = force * math.cos(angle)
        s.wrench[1, 4] = force * math.sin(angle)


@inlined
def _travel(s: StateView, t: Any, period: float) -> None:
    """Mean velocities over the control step, in world axes and in the mean heading."""
    now = heading_of(s)
    turned = now - t.heading
    turned -= 2.0 * math.pi * math.floor(turned / (2.0 * math.pi) + 0.5)
    mean = t.heading + 0.5 * turned
    c, si = math.cos(mean), math.sin(mean)
    t.x_speed, t.y_speed = (s.q[0] - t.x) / period, (s.q[1] - t.y) / period
    t.forward_speed = c * t.x_speed + si * t.y_speed
    t.sideways_speed = c * t.y_speed - si * t.x_speed
    t.turning_speed = turned / period
    t.x, t.y, t.heading = s.q[0], s.q[1], now


@inlined
def _end(m: ModelView, s: StateView, t: Any, o: Any, feet: Ints) -> int:
    """Why the episode ends here: a fall, a velocity beyond its bound, the time limit."""
    for i in range(m.header[0].nv):
        bound = o.joint_bound
        if i < ROOT:
            bound = o.speed_bound if i < PLACE else o.turn_bound
        if abs(s.v[i]) > bound:
            return TOO_FAST
    if s.q[2] - t.ground > o.height_bound:
        return TOO_FAST
    if o.terminate_on_fall:
        if s.q[2] - t.ground < FALL_HEIGHT * o.standing_height or upright(s) < FALL_TILT:
            return FELL
        for f in range(m.header[0].nf):
            total = s.memory[f].total
            if feet[f] == BODY and (total[0] != 0.0 or total[1] != 0.0 or total[2] != 0.0):
                return FELL
    return TIME_LIMIT if t.steps >= o.max_steps else RUNNING
