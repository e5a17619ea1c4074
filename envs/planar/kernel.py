"""The planar walkers' task, compiled: follow a commanded forward speed without falling.

One control step holds the torques for the control period, moves the gait clock on and gives
observation, reward terms and the reason why the episode ended.  `run` does that, or starts
episodes, for many worlds (`loop.py`).
"""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np

from dynenvs.contact.detection.detect import feature_gap
from dynenvs.envs.core.codes import FAILED_STEP, FELL, RUNNING, TIME_LIMIT, TOO_FAST
from dynenvs.envs.core.feet import SOLE, reward_gait
from dynenvs.envs.core.loop import Call, TaskWorld, carry_out
from dynenvs.envs.core.motors import set_torques
from dynenvs.envs.core.rewards import closeness, ease
from dynenvs.envs.planar.records import INFO, OPTIONS, ROOT, TASK
from dynenvs.jit.compiled import entry, inlined
from dynenvs.kinematics.poses import update_poses
from dynenvs.memory.layout import Bytes, Floats, Ints, Records
from dynenvs.memory.views import matrix, vector
from dynenvs.simd.elementary import cos, sin
from dynenvs.simulation.rng import uniform

# Error of the speed, relative to the command, that leaves exp(-1): wide enough for a hip that
# speeds up and slows down by a quarter within each stride.
SPEED_SCALE = 0.5
LEAST_SCALE = 0.1  # ... but never narrower than this [m/s]
HEIGHT_SCALE = 0.15  # relative error of the hip height that leaves exp(-1)
FALL_HEIGHT = 0.7  # of the standing height
FALL_PITCH = 1.0  # of a trunk that is free to pitch, either way [rad]

INFO_BYTES = INFO.itemsize


@entry(seconds=18)
def run(
    packed: Bytes,
    options: Annotated[Records, OPTIONS],
    constants: tuple[Floats, Ints, Annotated[Records, SOLE]],
    table: Annotated[Ints, 2],
    progress: Ints,
    thread: int,
    order: int,
) -> None:
    """Carry out `order` in the worlds that no other thread has taken (`loop.py`).

    constants: the standing pose [m, rad], shape (nq,), each feature's leg or -1, where feet touch
    """
    call = Call(packed, options, constants, table, progress, thread, order)
    carry_out(_begin, set_torques, _finish, _write, TASK, call)


@inlined
def gait_frequency(options: Any, command: float) -> float:
    """Cycles a second of the gait clock: longer strides and quicker ones share the speed."""
    return options.slow_frequency + options.frequency_slope * command


@inlined
def _begin(w: TaskWorld) -> None:
    """A standing pose with noise, the lowest foot on the ground, the command and the phase drawn.

    The generator is the task's first field; the clock starts in either double support.
    """
    standing, feet, _ = w.constants
    world, o, t, generator = w.world, w.options[0], w.task[0], w.task["generator"]
    drawn = uniform(generator, o.low_command, o.high_command)
    if not t.commanded:
        t.command = drawn if math.isnan(o.command) else o.command
    t.commanded = 0
    t.phase = 0.0 if uniform(generator, 0.0, 1.0) < 0.5 else 0.5
    for i in range(world.header[0].nq):
        world.q[i] = standing[i]
    for i in range(ROOT, world.header[0].nv):
        world.q[i] += uniform(generator, -o.noise, o.noise)
        world.v[i] = uniform(generator, -o.noise, o.noise)
    poses = world.pose
    update_poses(world, world.q, poses)
    lowest = math.inf
    for f in range(world.header[0].npoints):
        if feet[f] >= 0:
            lowest = min(lowest, feature_gap(world.features[f], poses))
    world.q[1] -= lowest
    t.x = world.q[0]
    t.speed = 0.0
    t.reward_velocity = t.reward_ease = t.reward_height = 0.0
    t.reward_rhythm = t.reward_slip = t.reward_smoothness = 0.0


@inlined
def _finish(w: TaskWorld, solved: bool) -> float:
    """The end of a control step; returns the reward."""
    world, o, t = w.world, w.options[0], w.task[0]
    period = o.timestep * o.frame_skip
    t.steps += 1
    t.phase += period * gait_frequency(o, t.command)
    t.phase -= math.floor(t.phase)
    t.speed = (world.q[0] - t.x) / period
    t.x = world.q[0]
    t.end = _end(w) if solved else FAILED_STEP
    return _reward(w)


@inlined
def _write(w: TaskWorld, observation: Floats, info: Bytes) -> None:
    """The observation and the `info` of the present state."""
    _observe(w, observation)
    _describe(w, info)


@inlined
def _observe(w: TaskWorld, observation: Floats) -> None:
    """(z, joint angles, velocities, sine and cosine of the phase, command), within bounds.

    Where the root pitches, its pitch and pitch rate follow; last, whether each foot carries load.
    """
    world, o, t = w.world, w.options[0], w.task[0]
    nq, nv = world.header[0].nq, world.header[0].nv
    observation[0] = min(max(world.q[1], 0.0), o.height_bound)
    at = 1 - o.root
    for i in range(o.root, nq):
        # A joint may stand a rounding error behind its stop.
        dof = world.dofs[i]
        observation[at + i] = min(max(world.q[i], dof.lower), dof.upper)
    at += nq
    for i in range(ROOT):
        observation[at + i] = min(max(world.v[i], -o.root_velocity_bound), o.root_velocity_bound)
    at += ROOT - o.root
    for i in range(o.root, nv):
        observation[at + i] = min(max(world.v[i], -o.velocity_bound), o.velocity_bound)
    at += nv
    angle = 2.0 * math.pi * t.phase
    observation[at] = sin(angle)
    observation[at + 1] = cos(angle)
    observation[at + 2] = t.command
    if o.root > ROOT:
        turns = math.floor(world.q[ROOT] / (2.0 * math.pi) + 0.5)
        observation[at + 3] = min(max(world.q[ROOT] - 2.0 * math.pi * turns, -math.pi), math.pi)
        observation[at + 4] = min(max(world.v[ROOT], -o.velocity_bound), o.velocity_bound)
        at += 2
    feet = w.constants[1]
    for leg in range(o.legs):
        observation[at + 3 + leg] = 0.0
    for k in range(world.status[0].touched):
        f = world.touched[k]
        if feet[f] >= 0 and world.memory[f].impulse[2] > 0.0:
            observation[at + 3 + feet[f]] = 1.0


@inlined
def _describe(w: TaskWorld, info: Bytes) -> None:
    """INFO, torques [N m] and mean contact forces over the control step [N]."""
    world, o, t, feet = w.world, w.options[0], w.task[0], w.constants[1]
    r = vector(info, 0, 1, INFO)[0]
    nu = w.action.shape[0]
    torques = vector(info, INFO_BYTES, nu, np.float64)
    forces = matrix(info, INFO_BYTES + 8 * nu, o.legs, 3, np.float64)
    status = world.status[0]
    r.x_position, r.x_velocity, r.command = world.q[0], t.speed, t.command
    r.reward_velocity, r.reward_ease = t.reward_velocity, t.reward_ease
    r.reward_height = t.reward_height
    r.reward_rhythm, r.reward_slip = t.reward_rhythm, t.reward_slip
    r.reward_smoothness = t.reward_smoothness
    r.residual, r.degraded, r.failed = status.residual, status.degraded, status.failed
    for i in range(nu):
        torques[i] = w.action[i] * world.dofs[o.root + i].effort
    period = o.timestep * o.frame_skip
    for leg in range(o.legs):
        forces[leg, 0] = forces[leg, 1] = forces[leg, 2] = 0.0
    for f in range(world.header[0].nk):
        if feet[f] >= 0 and world.memory[f].listed:
            for k in range(3):
                forces[feet[f], k] += world.memory[f].total[k] / period


@inlined
def _reward(w: TaskWorld) -> float:
    """The terms into the task; their sum."""
    world, o, t = w.world, w.options[0], w.task[0]
    scale = max(LEAST_SCALE, SPEED_SCALE * abs(t.command))
    following = closeness(t.speed - t.command, scale)
    height = closeness(world.q[1] / o.standing_height - 1.0, HEIGHT_SCALE)
    t.reward_velocity = o.weight_velocity * following
    t.reward_ease = o.weight_ease * following * ease(w.action)
    t.reward_height = o.weight_height * following * height
    total = t.reward_velocity + t.reward_ease + t.reward_height
    return total + reward_gait(w, w.constants[2], following)


@inlined
def _end(w: TaskWorld) -> int:
    """Why the episode ends here: a fall, a velocity beyond its bound, the time limit."""
    world, o, t, feet = w.world, w.options[0], w.task[0], w.constants[1]
    for i in range(world.header[0].nv):
        bound = o.root_velocity_bound if i < ROOT else o.velocity_bound
        if abs(world.v[i]) > bound:
            return TOO_FAST
    if world.q[1] > o.height_bound:
        return TOO_FAST
    if o.terminate_on_fall:
        if world.q[1] < FALL_HEIGHT * o.standing_height:
            return FELL
        if o.root > ROOT and abs(world.q[ROOT]) > FALL_PITCH:
            return FELL
        for k in range(world.status[0].touched):
            f = world.touched[k]
            total = world.memory[f].total
            if feet[f] < 0 and (total[0] != 0.0 or total[2] != 0.0):
                return FELL
    return TIME_LIMIT if t.steps >= o.max_steps else RUNNING
