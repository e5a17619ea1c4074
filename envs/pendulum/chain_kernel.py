"""The chain pendulum's task, compiled: bring the tip to a spot on floor or wall and press it there.

`run` carries out control steps, or starts episodes, for many worlds (`loop.py`).
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from dynenvs.envs.core.blocks import (
    ANGLE_NOISE,
    HEIGHT_NOISE,
    RATE_NOISE,
    SPEED_NOISE,
    Block,
    block,
    symmetric,
)
from dynenvs.envs.core.codes import TOO_FAST
from dynenvs.envs.core.declared import end_of, nothing, observation_of, reward_of, whole
from dynenvs.envs.core.loop import Call, TaskWorld, carry_out
from dynenvs.envs.core.motors import set_torques, write_torques
from dynenvs.envs.core.records import (
    Ending,
    Kernels,
    Part,
    RewardTerm,
    info_record,
    option_record,
    task_record,
)
from dynenvs.envs.core.rewards import closeness, effortless
from dynenvs.envs.robots import chain as robot
from dynenvs.jit.compiled import entry, inlined
from dynenvs.jit.views import vector
from dynenvs.memory.layout import Bytes, Floats, Ints, Records, StateView
from dynenvs.memory.records import record_type
from dynenvs.simd.elementary import cos, hypot, sin
from dynenvs.simulation.rng import uniform

ON_FLOOR = (0.35, 0.6)  # x of a target: beyond where a limp chain comes to rest [m]
ON_WALL = (0.4, 1.05)  # height of a target [m]
VELOCITY_BOUND = 60.0  # twice the hinges' no-load speed [rad/s]
TIP_SPEED_BOUND = 20.0  # [m/s]
APPROACH_SCALE = 0.6  # distance to the target that leaves exp(-1): shows the way from afar [m]
REACH_SCALE = 0.05  # the same for being there [m]
STILL_SCALE = 0.2  # speed of the tip that leaves exp(-1) [m/s]
PRESSED = 0.1  # share of the chain's weight that is pressure enough
MOST_PRESSURE = 10.0  # that the observation shows, in weights of the chain


@inlined
def _begin(w: TaskWorld) -> None:
    """Stretched out level away from the wall, with noise on each link's angle; a target drawn.

    Noise of the links' own angles, not the hinges': the tip stays clear of everything.
    """
    world, o, t, generator = w.world, w.options[0], w.task[0], w.task["generator"]
    angle, rate = 0.0, 0.0
    for i in range(o.links):
        tilt = -0.5 * math.pi + uniform(generator, -o.noise, o.noise)
        turn = uniform(generator, -o.noise, o.noise)
        world.q[i], world.v[i] = tilt - angle, turn - rate
        angle, rate = tilt, turn
    t.on_wall = 0 if uniform(generator, 0.0, 1.0) < o.floor_share else 1
    along = uniform(generator, 0.0, 1.0)
    if t.on_wall:
        t.target_x = o.wall - o.radius
        t.target_z = o.low + along * (o.high - o.low)
    else:
        t.target_x = o.near + along * (o.far - o.near)
        t.target_z = o.radius


@inlined
def tip_state(q: Floats, v: Floats, o: Any) -> tuple[float, float, float, float]:
    """Place (x, z) [m] and velocity [m/s] of the last ball's centre."""
    x, z, vx, vz, angle, rate = 0.0, o.pivot, 0.0, 0.0, 0.0, 0.0
    for i in range(o.links):
        angle += q[i]
        rate += v[i]
        along, down = o.spacing * sin(angle), o.spacing * cos(angle)
        x += along
        z -= down
        vx += rate * down
        vz += rate * along
    return x, z, vx, vz


@inlined
def _pressure(w: StateView, t: Any, o: Any) -> float:
    """Mean force of the last control step by which the tip presses on its target's surface [N]."""
    period = o.timestep * o.frame_skip
    if t.on_wall:
        return max(0.0, -w.memory[o.wall_feature].total[0] / period)
    return max(0.0, w.memory[o.floor_feature].total[2] / period)


@inlined
def _clipped(value: float, bound: float) -> float:
    return min(max(value, -bound), bound)


class Measured(NamedTuple):
    """What the terms are made of."""

    gate: float  # 1 where the tip is at the target
    distance: float  # of the tip from it [m]
    speed: float  # of the tip [m/s]


@inlined
def _measure(w: TaskWorld) -> Measured:
    """Where the tip is, and how fast."""
    t = w.task[0]
    x, z, vx, vz = tip_state(w.world.q, w.world.v, w.options[0])
    distance = hypot(x - t.target_x, z - t.target_z)
    return Measured(closeness(distance, REACH_SCALE), distance, hypot(vx, vz))


@inlined
def _approach(w: TaskWorld, measured: Measured) -> float:
    """1 at the target, exp(-1) at APPROACH_SCALE."""
    return closeness(measured.distance, APPROACH_SCALE)


@inlined
def _press(w: TaskWorld, measured: Measured) -> float:
    """Pressure on the target's surface over what is enough, up to 1."""
    o = w.options[0]
    return min(_pressure(w.world, w.task[0], o) / (PRESSED * o.weight), 1.0)


@inlined
def _still(w: TaskWorld, measured: Measured) -> float:
    """1 where the tip rests."""
    return closeness(measured.speed, STILL_SCALE)


TERMS = (
    RewardTerm("approach", 0.1, "the tip comes nearer from afar", _approach, is_gated=False),
    RewardTerm("reach", 0.4, "it is at the target", whole),
    RewardTerm("press", 0.3, "there, and presses", _press),
    RewardTerm("still", 0.1, "there, and rests", _still),
    RewardTerm("ease", 0.1, "there, and without effort", effortless),
)


def _hinges(task: Any) -> list[Block]:
    stops = [robot.BASE_STOP] + [robot.STOP] * (task.links - 1)
    order = "first, and to the next link"
    turn, count = VELOCITY_BOUND, task.links
    return [
        block("hinge angles", np.negative(stops), stops, "rad", order, noise=ANGLE_NOISE),
        symmetric("hinge velocities", turn, "rad/s", "in their order", count, noise=RATE_NOISE),
    ]


@inlined
def _write_hinges(w: TaskWorld, out: Floats, at: int) -> int:
    """Within their stops: a hinge may stand a rounding error behind one."""
    world, o = w.world, w.options[0]
    for i in range(o.links):
        dof = world.dofs[i]
        out[at + i] = min(max(world.q[i], dof.lower), dof.upper)
        out[at + o.links + i] = _clipped(world.v[i], o.velocity_bound)
    return int(at + 2 * o.links)


def _tip(task: Any) -> list[Block]:
    low, high = (-robot.LENGTH, 0.0), (robot.WALL, robot.PIVOT + robot.LENGTH)
    speed, along = TIP_SPEED_BOUND, "along x and z"
    return [
        block("tip", low, high, "m", "x and z of its centre", noise=HEIGHT_NOISE),
        symmetric("tip velocity", speed, "m/s", along, 2, noise=SPEED_NOISE),
    ]


@inlined
def _write_tip(w: TaskWorld, out: Floats, at: int) -> int:
    o = w.options[0]
    x, z, vx, vz = tip_state(w.world.q, w.world.v, o)
    reach = o.links * o.spacing
    out[at] = min(max(x, -reach), o.wall)
    out[at + 1] = min(max(z, 0.0), o.pivot + reach)
    out[at + 2] = _clipped(vx, o.tip_speed_bound)
    out[at + 3] = _clipped(vz, o.tip_speed_bound)
    return at + 4


def _target(task: Any) -> list[Block]:
    low, high = (ON_FLOOR[0], 0.0), (robot.WALL, ON_WALL[1])
    pressure = "force on the target's surface over weight"
    return [
        block("target", low, high, "m", "x and z of the tip's centre there"),
        block("pressure", 0, MOST_PRESSURE, "-", pressure),
    ]


@inlined
def _write_target(w: TaskWorld, out: Floats, at: int) -> int:
    t, o = w.task[0], w.options[0]
    out[at], out[at + 1] = t.target_x, t.target_z
    out[at + 2] = min(_pressure(w.world, t, o) / o.weight, MOST_PRESSURE)
    return at + 3


PARTS = (Part(_hinges, _write_hinges), Part(_tip, _write_tip), Part(_target, _write_target))


@inlined
def _is_too_fast(w: TaskWorld) -> bool:
    """Whether the tip's velocity or a hinge's is beyond its bound."""
    o = w.options[0]
    _, _, vx, vz = tip_state(w.world.q, w.world.v, o)
    is_beyond = max(abs(vx), abs(vz)) > o.tip_speed_bound
    for i in range(o.links):
        if abs(w.world.v[i]) > o.velocity_bound:
            is_beyond = True
    return bool(is_beyond)


ENDINGS = (Ending(TOO_FAST, _is_too_fast),)
OWN_INFO = record_type(
    [
        ("tip_distance", "f8"),  # to the target [m]
        ("pressure", "f8"),  # on the target's surface [N]
    ]
)


@inlined
def _describe(w: TaskWorld, info: Bytes) -> None:
    """OWN_INFO; behind all scalars tip and target [m], contact force on the tip [N], torques."""
    world, o, t = w.world, w.options[0], w.task[0]
    own = vector(info, 0, 1, OWN_INFO)[0]
    places = vector(info, o.info_bytes, 6, np.float64)
    torques = vector(info, o.info_bytes + 48, w.action.shape[0], np.float64)
    x, z, _, _ = tip_state(world.q, world.v, o)
    own.tip_distance = hypot(x - t.target_x, z - t.target_z)
    own.pressure = _pressure(world, t, o)
    places[0], places[1] = x, z
    places[2], places[3] = t.target_x, t.target_z
    period = o.timestep * o.frame_skip
    floor, wall = world.memory[o.floor_feature].total, world.memory[o.wall_feature].total
    places[4], places[5] = (floor[0] + wall[0]) / period, (floor[2] + wall[2]) / period
    write_torques(world, w.action, torques)


TASK = task_record(
    TERMS,
    [
        ("on_wall", "i8"),  # whether the target is on the wall, else on the floor
        ("target_x", "f8"),  # of the tip's centre, touching [m]
        ("target_z", "f8"),
    ],
)

OPTIONS = option_record(
    TERMS,
    [
        ("links", "i8"),
        ("spacing", "f8"),  # length of a link [m]
        ("radius", "f8"),  # of a ball [m]
        ("weight", "f8"),  # of the chain [N]
        ("pivot", "f8"),  # height [m]
        ("wall", "f8"),  # its x [m]
        ("floor_share", "f8"),  # of the targets: 1 for all on the floor, 0 for all on the wall
        ("near", "f8"),  # targets on the floor: least and greatest x [m]
        ("far", "f8"),
        ("low", "f8"),  # targets on the wall: lowest and highest [m]
        ("high", "f8"),
        ("floor_feature", "i8"),  # the tip's contact features
        ("wall_feature", "i8"),
        ("velocity_bound", "f8"),  # of hinges [rad/s]
        ("tip_speed_bound", "f8"),  # [m/s]
    ],
)

# What `info` says of a world; tip (x, z), target (x, z), contact force on the tip (x, z) and
# torques, shape (nu,), follow.
INFO = info_record(TERMS, OWN_INFO.descr)
KERNELS = Kernels(
    _begin,
    set_torques,
    nothing,
    reward_of(_measure, TERMS),
    end_of(ENDINGS),
    nothing,
    observation_of(PARTS),
    _describe,
)


@entry(seconds=10)
def run(
    packed: Bytes,
    options: Annotated[Records, OPTIONS],
    constants: tuple[()],
    table: Annotated[Ints, 2],
    progress: Ints,
    thread: int,
    order: int,
) -> None:
    """Carry out `order` in the worlds that no other thread has taken (`loop.py`)."""
    call = Call(packed, options, constants, table, progress, thread, order)
    carry_out(KERNELS, TASK, call)
