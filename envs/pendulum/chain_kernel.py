"""The chain pendulum's task, compiled: bring the tip to a spot on floor or wall and press it there.

`run` carries out control steps, or starts episodes, for many worlds (`loop.py`).
"""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np

from dynenvs.envs.core.codes import FAILED_STEP, RUNNING, TIME_LIMIT, TOO_FAST
from dynenvs.envs.core.loop import Call, TaskWorld, carry_out
from dynenvs.envs.core.motors import set_torques, write_torques
from dynenvs.envs.core.records import RewardTerm, info_record, option_record, task_record
from dynenvs.envs.core.rewards import closeness, ease
from dynenvs.jit.compiled import entry, inlined
from dynenvs.memory.layout import Bytes, Floats, Ints, Records, StateView
from dynenvs.memory.views import vector
from dynenvs.simd.elementary import cos, hypot, sin
from dynenvs.simulation.rng import uniform

TERMS = (
    RewardTerm("approach", 0.1, "the tip comes nearer from afar"),
    RewardTerm("reach", 0.4, "it is at the target"),
    RewardTerm("press", 0.3, "there, and presses"),
    RewardTerm("still", 0.1, "there, and rests"),
    RewardTerm("ease", 0.1, "there, and without effort"),
)
APPROACH_SCALE = 0.6  # distance to the target that leaves exp(-1): shows the way from afar [m]
REACH_SCALE = 0.05  # the same for being there [m]
STILL_SCALE = 0.2  # speed of the tip that leaves exp(-1) [m/s]
PRESSED = 0.1  # share of the chain's weight that is pressure enough
MOST_PRESSURE = 10.0  # that the observation shows, in weights of the chain

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
INFO = info_record(
    TERMS,
    [
        ("tip_distance", "f8"),  # to the target [m]
        ("pressure", "f8"),  # on the target's surface [N]
    ],
)
INFO_BYTES = INFO.itemsize


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
    carry_out(_begin, set_torques, _finish, _write, TASK, call)


@inlined
def _finish(w: TaskWorld, solved: bool) -> float:
    """The end of a control step; returns the reward."""
    t = w.task[0]
    t.steps += 1
    t.end = _end(w.world, t, w.options[0]) if solved else FAILED_STEP
    return _reward(w)


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
    t.reward_approach = t.reward_reach = t.reward_press = t.reward_still = t.reward_ease = 0.0


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


@inlined
def _write(w: TaskWorld, observation: Floats, info: Bytes) -> None:
    """Observation and reading of the present state."""
    _observe(w, observation)
    _describe(w, info)


@inlined
def _observe(w: TaskWorld, observation: Floats) -> None:
    """(hinge positions, velocities, tip, its velocity, target, pressure), within bounds."""
    world, o, t = w.world, w.options[0], w.task[0]
    n = o.links
    for i in range(n):
        # A hinge may stand a rounding error behind its stop
        dof = world.dofs[i]
        observation[i] = min(max(world.q[i], dof.lower), dof.upper)
        observation[n + i] = _clipped(world.v[i], o.velocity_bound)
    x, z, vx, vz = tip_state(world.q, world.v, o)
    reach = n * o.spacing
    observation[2 * n] = min(max(x, -reach), o.wall)
    observation[2 * n + 1] = min(max(z, 0.0), o.pivot + reach)
    observation[2 * n + 2] = _clipped(vx, o.tip_speed_bound)
    observation[2 * n + 3] = _clipped(vz, o.tip_speed_bound)
    observation[2 * n + 4] = t.target_x
    observation[2 * n + 5] = t.target_z
    observation[2 * n + 6] = min(_pressure(world, t, o) / o.weight, MOST_PRESSURE)


@inlined
def _describe(w: TaskWorld, info: Bytes) -> None:
    """INFO, tip and target [m], contact force on the tip [N] and torques [N m]."""
    world, o, t = w.world, w.options[0], w.task[0]
    r = vector(info, 0, 1, INFO)[0]
    places = vector(info, INFO_BYTES, 6, np.float64)
    torques = vector(info, INFO_BYTES + 48, w.action.shape[0], np.float64)
    status = world.status[0]
    x, z, _, _ = tip_state(world.q, world.v, o)
    r.tip_distance = hypot(x - t.target_x, z - t.target_z)
    r.pressure = _pressure(world, t, o)
    r.reward_approach, r.reward_reach = t.reward_approach, t.reward_reach
    r.reward_press = t.reward_press
    r.reward_still, r.reward_ease = t.reward_still, t.reward_ease
    r.residual, r.degraded, r.failed = status.residual, status.degraded, status.failed
    places[0], places[1] = x, z
    places[2], places[3] = t.target_x, t.target_z
    period = o.timestep * o.frame_skip
    floor, wall = world.memory[o.floor_feature].total, world.memory[o.wall_feature].total
    places[4], places[5] = (floor[0] + wall[0]) / period, (floor[2] + wall[2]) / period
    write_torques(world, w.action, torques)


@inlined
def _reward(w: TaskWorld) -> float:
    """The terms into the task; their sum."""
    world, o, t = w.world, w.options[0], w.task[0]
    x, z, vx, vz = tip_state(world.q, world.v, o)
    distance = hypot(x - t.target_x, z - t.target_z)
    near = closeness(distance, REACH_SCALE)
    press = min(_pressure(world, t, o) / (PRESSED * o.weight), 1.0)
    t.reward_approach = o.weight_approach * closeness(distance, APPROACH_SCALE)
    t.reward_reach = o.weight_reach * near
    t.reward_press = o.weight_press * near * press
    t.reward_still = o.weight_still * near * closeness(hypot(vx, vz), STILL_SCALE)
    t.reward_ease = o.weight_ease * near * ease(w.action)
    total = t.reward_approach + t.reward_reach + t.reward_press
    return total + t.reward_still + t.reward_ease


@inlined
def _end(w: StateView, t: Any, o: Any) -> int:
    """Why the episode ends here: a velocity beyond its bound, the time limit."""
    _, _, vx, vz = tip_state(w.q, w.v, o)
    if max(abs(vx), abs(vz)) > o.tip_speed_bound:
        return TOO_FAST
    for i in range(o.links):
        if abs(w.v[i]) > o.velocity_bound:
            return TOO_FAST
    return TIME_LIMIT if t.steps >= o.max_steps else RUNNING
