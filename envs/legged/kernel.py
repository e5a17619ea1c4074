"""The task of robots with a free base, compiled: follow commanded speeds without falling.

One control step holds the torques for the control period, moves the gait clock on and gives
observation, reward terms and the reason why the episode ended.  `run` does that, or starts
episodes, for many worlds (`loop.py`).
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.contact.detection.detect import feature_gap
from dynenvs.envs.core.codes import FAILED_STEP, FELL, RUNNING, TIME_LIMIT, TOO_FAST
from dynenvs.envs.core.loop import carry_out
from dynenvs.envs.core.motors import set_torques
from dynenvs.envs.legged.ground import FLAT, heading_of, local_ground, place_on_terrain
from dynenvs.envs.legged.object_placing import place_objects
from dynenvs.envs.legged.object_records import FREE_V
from dynenvs.envs.legged.readings import describe, observe, reward, upright
from dynenvs.envs.legged.records import BODY, PLACE, ROOT, TASK
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.kinematics.poses import update_poses
from dynenvs.memory.layout import (
    Bytes,
    Floats,
    Ints,
    ModelView,
    Records,
    StateView,
    open_poses,
)
from dynenvs.simulation.rng import uniform

FALL_HEIGHT = 0.6  # of the standing height
FALL_TILT = 0.5  # cosine of the base's tilt below which it has fallen


@kernel(seconds=9)
def run(
    packed: Bytes,
    options: Records,
    given: Any,
    table: Ints,
    progress: Ints,
    thread: int,
    order: int,
) -> None:
    """Carry out `order` in the worlds that no other thread has taken: `loop.carry_out`.

    given: the robot's standing pose [m, rad]; each feature's leg, BODY, ITSELF or OBJECT; OBJECT of
    each loose object, which are the model's last bodies
    """
    carry_out(
        _begin, _start, _finish, _tell, TASK, packed, options, given, table, progress,
        thread, order,
    )  # fmt: skip


@inlined
def _tell(
    packed: Bytes,
    m: ModelView,
    s: StateView,
    t: Any,
    o: Any,
    given: Any,
    action: Floats,
    observation: Floats,
    reading: Bytes,
) -> None:
    """Observation and reading of the present state."""
    observe(packed, m, s, t, o, given[1], given[2], observation)
    describe(m, s, t, o, given[1], given[2], action, reading)


@inlined
def gait_frequency(options: Any, forward: float, sideways: float) -> float:
    """Cycles a second of the gait clock: longer strides and quicker ones share the speed."""
    speed = math.sqrt(forward * forward + sideways * sideways)
    return options.slow_frequency + options.frequency_slope * speed


@inlined
def _begin(
    packed: Bytes, m: ModelView, s: StateView, buffer: Bytes, task: Records, o: Any, given: Any
) -> None:
    """A standing pose with noise, the lowest foot on the ground; command, phase and world drawn.

    On terrain also the place and the heading; loose objects last, so that nothing depends on them.
    The generator is the task's first field; the clock starts in either double support.
    """
    standing, feet, objects = given
    t, generator = task[0], task["generator"]
    t.held = 1 if t.commanded or not math.isnan(o.command[0]) else 0
    _draw_command(t, generator, o, t.commanded != 0)
    t.commanded = 0
    t.phase = 0.0 if uniform(generator, 0.0, 1.0) < 0.5 else 0.5
    s.status[0].cone = t.cone - 1 if t.cone > 0 else o.cone
    s.status[0].polygon = t.polygon - 1 if t.polygon > 0 else o.polygon
    slippery = uniform(generator, o.low_friction, o.high_friction)
    for f in range(m.header[0].nf):
        s.coefficients[f].friction = slippery * m.features[f].friction
    for b in range(1, m.header[0].nb - objects.shape[0]):
        s.mass_scale[b] = uniform(generator, o.low_mass, o.high_mass)
    for i in range(standing.shape[0]):
        s.q[i] = standing[i]
    for i in range(ROOT, standing.shape[0] - 1):
        s.q[i + 1] += uniform(generator, -o.noise, o.noise)
        s.v[i] = uniform(generator, -o.noise, o.noise)
    if o.terrain != FLAT:
        place_on_terrain(packed, s, buffer, o, generator, feet)
    else:
        poses = open_poses(m, buffer)
        update_poses(m, s.q, poses)
        lowest = math.inf
        for f in range(m.header[0].npoints):
            if feet[f] >= 0:
                lowest = min(lowest, feature_gap(m.features[f], poses))
        s.q[2] -= lowest
        place_objects(m, s, generator, objects)
    t.ground = local_ground(packed, s, o)
    t.x, t.y, t.heading = s.q[0], s.q[1], heading_of(s)
    t.x_speed = t.y_speed = 0.0
    t.forward_speed = t.sideways_speed = t.turning_speed = 0.0
    t.reward_velocity = t.reward_ease = t.reward_posture = 0.0


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
def _start(m: ModelView, s: StateView, task: Records, o: Any, action: Floats, tau: Floats) -> None:
    """The torques of a control step, and perhaps a push."""
    set_torques(m, s, task, o, action, tau)
    _push(s, task, o)


@inlined
def _finish(
    packed: Bytes,
    m: ModelView,
    s: StateView,
    task: Records,
    o: Any,
    given: Any,
    action: Floats,
    solved: bool,
) -> float:
    """The end of a control step; returns the reward."""
    t = task[0]
    for k in range(3, 6):
        s.wrench[1, k] = 0.0
    period = o.timestep * o.frame_skip
    t.steps += 1
    t.phase += period * gait_frequency(o, t.forward, t.sideways)
    t.phase -= math.floor(t.phase)
    _travel(s, t, period)
    t.ground = local_ground(packed, s, o)
    earned = reward(s, t, o, action)
    t.end = _end(m, s, t, o, given[1], given[2]) if solved else FAILED_STEP
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
def _end(m: ModelView, s: StateView, t: Any, o: Any, feet: Ints, objects: Records) -> int:
    """Why the episode ends here: a fall, a velocity beyond its bound, the time limit."""
    for i in range(m.header[0].nv - FREE_V * objects.shape[0]):  # the robot's
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
        for k in range(s.status[0].touched):
            f = s.touched[k]
            total = s.memory[f].total
            if feet[f] == BODY and (total[0] != 0.0 or total[1] != 0.0 or total[2] != 0.0):
                return FELL
    return TIME_LIMIT if t.steps >= o.max_steps else RUNNING
