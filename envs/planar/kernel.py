"""The planar walkers' task, compiled: follow a commanded forward speed without falling.

The terms of the reward, how an episode begins and ends, what happens in a control step beside the
physics; the observation stands in `parts.py`.  `run` carries out control steps, or starts
episodes, for many worlds (`loop.py`).
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from dynenvs.envs.core.codes import FELL, TOO_FAST
from dynenvs.envs.core.declared import end_of, nothing, observation_of, reward_of, whole
from dynenvs.envs.core.feet import RHYTHM, SLIP, SMOOTHNESS, SOLE, lowest_foot, write_forces
from dynenvs.envs.core.loop import Call, TaskWorld, carry_out
from dynenvs.envs.core.motors import set_torques
from dynenvs.envs.core.records import (
    Ending,
    Kernels,
    RewardTerm,
    info_record,
    option_record,
    task_record,
)
from dynenvs.envs.core.rewards import closeness, effortless
from dynenvs.envs.planar.parts import PARTS
from dynenvs.envs.planar.records import OPTION_FIELDS, OWN_INFO, ROOT, TASK_FIELDS
from dynenvs.jit.compiled import entry, inlined
from dynenvs.jit.views import matrix, vector
from dynenvs.memory.layout import Bytes, Floats, Ints, Records
from dynenvs.simulation.rng import uniform

# Error of the speed, relative to the command, that leaves exp(-1): wide enough for a hip that
# speeds up and slows down by a quarter within each stride.
SPEED_SCALE = 0.5
LEAST_SCALE = 0.1  # ... but never narrower than this [m/s]
HEIGHT_SCALE = 0.15  # relative error of the hip height that leaves exp(-1)
FALL_HEIGHT = 0.7  # of the standing height
FALL_PITCH = 1.0  # of a trunk that is free to pitch, either way [rad]


class Measured(NamedTuple):
    """What the terms of the reward are made of."""

    gate: float  # how well the command is followed, up to 1


@inlined
def _measure(w: TaskWorld) -> Measured:
    """How well the mean speed of the control step is the commanded one."""
    t = w.task[0]
    scale = max(LEAST_SCALE, SPEED_SCALE * abs(t.command))
    return Measured(closeness(t.speed - t.command, scale))


@inlined
def _height(w: TaskWorld, measured: Measured) -> float:
    """1 at the standing height."""
    return closeness(w.world.q[1] / w.options[0].standing_height - 1.0, HEIGHT_SCALE)


TERMS = (
    RewardTerm("velocity", 0.8, "the hip follows the command", whole),
    RewardTerm("ease", 0.1, "follows it without effort", effortless),
    RewardTerm("height", 0.1, "follows it at its standing height", _height),
    RHYTHM,
    SLIP,
    SMOOTHNESS,
)


@inlined
def _is_too_fast(w: TaskWorld) -> bool:
    """Whether a velocity, or the hip's height, is beyond the observation's bound."""
    world, o = w.world, w.options[0]
    for i in range(world.header[0].nv):
        bound = o.root_velocity_bound if i < ROOT else o.velocity_bound
        if abs(world.v[i]) > bound:
            return True
    return bool(world.q[1] > o.height_bound)


@inlined
def _has_fallen(w: TaskWorld) -> bool:
    """Whether the hip is low, the trunk pitched, or anything but feet touched, where that ends."""
    world, o, feet = w.world, w.options[0], w.constants[1]
    if not o.terminate_on_fall:
        return False
    if world.q[1] < FALL_HEIGHT * o.standing_height:
        return True
    if o.root > ROOT and abs(world.q[ROOT]) > FALL_PITCH:
        return True
    for k in range(world.status[0].touched):
        f = world.touched[k]
        total = world.memory[f].total
        if feet[f] < 0 and (total[0] != 0.0 or total[2] != 0.0):
            return True
    return False


ENDINGS = (Ending(TOO_FAST, _is_too_fast), Ending(FELL, _has_fallen))


@inlined
def gait_frequency(options: Any, command: float) -> float:
    """Cycles a second of the gait clock: longer strides and quicker ones share the speed."""
    return options.slow_frequency + options.frequency_slope * command


@inlined
def _begin(w: TaskWorld) -> None:
    """A standing pose with noise, the lowest foot on the ground, the command and the phase drawn.

    The generator is the task's first field; the clock starts in either double support.
    """
    standing = w.constants[0]
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
    world.q[1] -= lowest_foot(w)
    t.x = world.q[0]
    t.speed = 0.0


@inlined
def _move_on(w: TaskWorld) -> None:
    """After the physics: the clock goes on, the mean speed is worked out."""
    world, o, t = w.world, w.options[0], w.task[0]
    period = o.timestep * o.frame_skip
    t.phase += period * gait_frequency(o, t.command)
    t.phase -= math.floor(t.phase)
    t.speed = (world.q[0] - t.x) / period
    t.x = world.q[0]


@inlined
def _describe(w: TaskWorld, info: Bytes) -> None:
    """OWN_INFO; behind all scalars torques [N m] and mean contact forces [N]."""
    world, o, t, nu = w.world, w.options[0], w.task[0], w.action.shape[0]
    own = vector(info, 0, 1, OWN_INFO)[0]
    own.x_position, own.x_velocity, own.command = world.q[0], t.speed, t.command
    torques = vector(info, o.info_bytes, nu, np.float64)
    for i in range(nu):
        torques[i] = w.action[i] * world.dofs[o.root + i].effort
    write_forces(w, matrix(info, o.info_bytes + 8 * nu, o.legs, 3, np.float64))


TASK = task_record(TERMS, TASK_FIELDS)
OPTIONS = option_record(TERMS, OPTION_FIELDS)
# Torques, shape (nu,), and contact forces, (legs, 3), follow
INFO = info_record(TERMS, OWN_INFO.descr)
KERNELS = Kernels(
    _begin,
    set_torques,
    _move_on,
    reward_of(_measure, TERMS),
    end_of(ENDINGS),
    nothing,
    observation_of(PARTS),
    _describe,
)


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
    carry_out(KERNELS, TASK, call)
