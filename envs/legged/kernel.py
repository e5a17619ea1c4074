"""The task of robots with a free base, compiled: follow commanded speeds without falling.

How an episode begins, what happens in a control step beside the physics, and when it ends; the
reward stands in `rewards.py`, the observation in `outputs.py`.  All take one world as a
`TaskWorld`, whose `constants` are the robot's standing pose [m, rad]; each contact feature's leg,
BODY, ITSELF or OBJECT; where feet touch; the record of each loose object, which are the model's
last bodies.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np

from dynenvs.envs.core.codes import FELL, TOO_FAST
from dynenvs.envs.core.declared import end_of, observation_of, reward_of
from dynenvs.envs.core.feet import SOLE, lowest_foot
from dynenvs.envs.core.loop import Call, TaskWorld, carry_out
from dynenvs.envs.core.motors import set_torques
from dynenvs.envs.core.records import Ending, Kernels, info_record, option_record, task_record
from dynenvs.envs.legged.ground import FLAT, heading_of, local_ground, place_on_terrain
from dynenvs.envs.legged.object_placing import place_objects
from dynenvs.envs.legged.object_records import FREE_V, OBJECT
from dynenvs.envs.legged.outputs import describe, upright
from dynenvs.envs.legged.parts import PARTS, own_options
from dynenvs.envs.legged.records import (
    BODY,
    INFO_FIELDS,
    OPTION_FIELDS,
    PLACE,
    ROOT,
    TASK_FIELDS,
)
from dynenvs.envs.legged.rewards import TERMS, measure
from dynenvs.jit.compiled import entry, inlined
from dynenvs.jit.views import vector
from dynenvs.memory.layout import Bytes, Floats, Ints, Records, StateView
from dynenvs.simd.elementary import cos, sin
from dynenvs.simulation.rng import uniform

FALL_HEIGHT = 0.6  # of the standing height, below which the robot has fallen
FALL_TILT = 0.5  # cosine of the tilt, the same
SLOWEST, QUICKEST = 0.3, 10.0  # frequencies of the gait clock [Hz]

TASK = task_record(TERMS, TASK_FIELDS)
OPTIONS = option_record(TERMS, OPTION_FIELDS)
INFO = info_record(TERMS, INFO_FIELDS)


@inlined
def gait_frequency(options: Any, forward: float, sideways: float) -> float:
    """Cycles a second of the gait clock: longer strides and quicker ones share the speed."""
    speed = math.sqrt(forward * forward + sideways * sideways)
    return max(options.slow_frequency + options.frequency_slope * speed, SLOWEST)


# The start of an episode


@inlined
def begin(w: TaskWorld) -> None:
    """Standing with noise; the command, the gait's phase, friction, masses and places drawn."""
    begin_command(w)
    draw_world(w)
    stand(w)
    begin_travel(w)


@inlined
def begin_command(w: TaskWorld) -> None:
    """The command, given or drawn; the gait clock in either double support."""
    t, generator, o = w.task[0], w.task["generator"], w.options[0]
    t.held = 1 if t.commanded or not math.isnan(o.command[0]) else 0
    _draw_command(t, generator, o, t.commanded != 0)
    t.commanded = 0
    t.phase = 0.0 if uniform(generator, 0.0, 1.0) < 0.5 else 0.5


@inlined
def draw_world(w: TaskWorld) -> None:
    """The friction cones that are chosen; friction and the robot's masses drawn."""
    world, o, t, generator = w.world, w.options[0], w.task[0], w.task["generator"]
    world.status[0].cone = t.cone - 1 if t.cone > 0 else o.cone
    world.status[0].polygon = t.polygon - 1 if t.polygon > 0 else o.polygon
    slippery = uniform(generator, o.low_friction, o.high_friction)
    for f in range(world.header[0].nf):
        world.coefficients[f].friction = slippery * world.features[f].friction
    for b in range(1, world.header[0].nb - w.constants[3].shape[0]):
        world.mass_scale[b] = uniform(generator, o.low_mass, o.high_mass)


@inlined
def stand(w: TaskWorld) -> None:
    """A standing pose with noise, the lowest foot on the ground.

    On terrain also the place and the heading are drawn; loose objects last, so that nothing depends
    on them.
    """
    standing, feet, _, objects = w.constants
    world, o, generator = w.world, w.options[0], w.task["generator"]
    for i in range(standing.shape[0]):
        world.q[i] = standing[i]
    for i in range(ROOT, standing.shape[0] - 1):
        world.q[i + 1] += uniform(generator, -o.noise, o.noise)
        world.v[i] = uniform(generator, -o.noise, o.noise)
    first = vector(w.task, 0, 1, np.uint64)  # the generator, as units take it
    if o.terrain != FLAT:
        place_on_terrain(world, own_options(w), first, feet)
    else:
        world.q[2] -= lowest_foot(w)
        if objects.shape[0] > 0:
            place_objects(world, first, objects)


@inlined
def begin_travel(w: TaskWorld) -> None:
    """The place from which the first step's mean speeds are measured."""
    world, t = w.world, w.task[0]
    t.ground = local_ground(world, own_options(w))
    t.x, t.y, t.heading = world.q[0], world.q[1], heading_of(world)
    t.x_speed = t.y_speed = 0.0
    t.forward_speed = t.sideways_speed = t.turning_speed = 0.0


@inlined
def _draw_command(t: Any, generator: Floats, o: Any, commanded: bool) -> None:
    """Draw a command, unless the episode was begun with one or the options fix it."""
    forward = uniform(generator, o.low_command[0], o.high_command[0])
    sideways = uniform(generator, o.low_command[1], o.high_command[1])
    turning = uniform(generator, o.low_command[2], o.high_command[2])
    if not commanded:
        fixed = not math.isnan(o.command[0])
        t.forward = o.command[0] if fixed else forward
        t.sideways = o.command[1] if fixed else sideways
        t.turning = o.command[2] if fixed else turning


# A control step


@inlined
def start_step(w: TaskWorld, tau: Floats) -> None:
    """The torques of a control step, and perhaps a push."""
    set_torques(w, tau)
    _push(w)


@inlined
def move_on(w: TaskWorld) -> None:
    """After the physics: the push ends, the clock goes on, mean speeds are worked out."""
    world, o, t = w.world, w.options[0], w.task[0]
    for k in range(3, 6):
        world.wrench[1, k] = 0.0
    period = o.timestep * o.frame_skip
    t.phase += period * gait_frequency(o, t.forward, t.sideways)
    t.phase -= math.floor(t.phase)
    _travel(world, t, period)
    t.ground = local_ground(world, own_options(w))


@inlined
def redraw_command(w: TaskWorld) -> None:
    """Another command, where it is drawn and its time has come."""
    o, t = w.options[0], w.task[0]
    if o.command_steps > 0 and t.held == 0 and t.steps % o.command_steps == 0:
        _draw_command(t, w.task["generator"], o, False)


@inlined
def _push(w: TaskWorld) -> None:
    """Now and then a horizontal impulse on the base in a drawn direction, spread over the step."""
    world, task, o = w.world, w.task, w.options[0]
    if o.push_steps > 0 and task[0].steps % o.push_steps == o.push_steps - 1:
        angle = uniform(task["generator"], 0.0, 2.0 * math.pi)
        force = o.push_impulse / (o.timestep * o.frame_skip)
        world.wrench[1, 3] = force * cos(angle)
        world.wrench[1, 4] = force * sin(angle)


@inlined
def _travel(w: StateView, t: Any, period: float) -> None:
    """Mean velocities over the control step, in world axes and in the mean heading."""
    now = heading_of(w)
    turned = now - t.heading
    turned -= 2.0 * math.pi * math.floor(turned / (2.0 * math.pi) + 0.5)
    mean = t.heading + 0.5 * turned
    c, si = cos(mean), sin(mean)
    t.x_speed, t.y_speed = (w.q[0] - t.x) / period, (w.q[1] - t.y) / period
    t.forward_speed = c * t.x_speed + si * t.y_speed
    t.sideways_speed = c * t.y_speed - si * t.x_speed
    t.turning_speed = turned / period
    t.x, t.y, t.heading = w.q[0], w.q[1], now


# The end of an episode


@inlined
def is_too_fast(w: TaskWorld) -> bool:
    """Whether a velocity of the robot, or its height, is beyond the observation's bound."""
    world, o = w.world, w.options[0]
    for i in range(world.header[0].nv - FREE_V * w.constants[3].shape[0]):  # the robot's
        bound = o.joint_bound
        if i < ROOT:
            bound = o.speed_bound if i < PLACE else o.turn_bound
        if abs(world.v[i]) > bound:
            return True
    return bool(world.q[2] - w.task[0].ground > o.height_bound)


@inlined
def has_fallen(w: TaskWorld) -> bool:
    """Whether the base is low or tilted, or anything but feet touched, where a fall is an end."""
    if not w.options[0].terminate_on_fall:
        return False
    if w.world.q[2] - w.task[0].ground < FALL_HEIGHT * w.options[0].standing_height:
        return True
    return upright(w.world) < FALL_TILT or is_on_its_body(w)


@inlined
def is_on_its_body(w: TaskWorld) -> bool:
    """Whether anything but a foot has touched the ground in this control step."""
    world, feet = w.world, w.constants[1]
    for k in range(world.status[0].touched):
        f = world.touched[k]
        total = world.memory[f].total
        if feet[f] == BODY and (total[0] != 0.0 or total[1] != 0.0 or total[2] != 0.0):
            return True
    return False


ENDINGS = (Ending(TOO_FAST, is_too_fast), Ending(FELL, has_fallen))
KERNELS = Kernels(
    begin,
    start_step,
    move_on,
    reward_of(measure, TERMS),
    end_of(ENDINGS),
    redraw_command,
    observation_of(PARTS),
    describe,
)


@entry(seconds=14)
def run(
    packed: Bytes,
    options: Annotated[Records, OPTIONS],
    constants: tuple[Floats, Ints, Annotated[Records, SOLE], Annotated[Records, OBJECT]],
    table: Annotated[Ints, 2],
    progress: Ints,
    thread: int,
    order: int,
) -> None:
    """Carry out `order` in the worlds that no other thread has taken (`loop.py`)."""
    call = Call(packed, options, constants, table, progress, thread, order)
    carry_out(KERNELS, TASK, call)
