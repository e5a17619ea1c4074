"""The double pendulum's task, compiled: swing up and stay there.

`run` carries out control steps, or starts episodes, for many worlds (`loop.py`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dynenvs.envs.core.codes import FAILED_STEP, RUNNING, TIME_LIMIT, TOO_FAST
from dynenvs.envs.core.loop import carry_out
from dynenvs.envs.core.motors import set_torques, tell_torques
from dynenvs.envs.core.rewards import closeness, ease
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.memory.layout import (
    Bytes,
    Floats,
    Ints,
    ModelView,
    Records,
    StateView,
)
from dynenvs.memory.records import record_type
from dynenvs.memory.views import vector
from dynenvs.simulation.rng import uniform

# Reward weights; they sum to 1.  Stillness and ease count only as far as both links are up.
W_UPRIGHT, W_STILL, W_EASE = 0.7, 0.2, 0.1
STILL_SCALE = 2.0  # speed of the joints together that leaves exp(-1) [rad/s]

TASK = record_type(
    [
        ("generator", "u8"),
        ("steps", "i8"),
        ("end", "i8"),  # why the episode ended, or RUNNING
        ("reward_upright", "f8"),
        ("reward_still", "f8"),
        ("reward_ease", "f8"),
    ]
)

OPTIONS = record_type(
    [
        ("timestep", "f8"),
        ("frame_skip", "i8"),
        ("max_steps", "i8"),
        ("noise", "f8"),  # of angles [rad] and velocities [rad/s] at reset
        ("motors", "i8"),
        ("upper_length", "f8"),  # [m]
        ("lower_length", "f8"),
        ("velocity_bound", "f8"),  # [rad/s]
    ]
)

# What `info` says of a world; its torques, shape (nu,), follow.
READING = record_type(
    [
        ("tip_height", "f8"),
        ("reward_upright", "f8"),
        ("reward_still", "f8"),
        ("reward_ease", "f8"),
        ("residual", "f8"),
        ("degraded", "i8"),
        ("failed", "i8"),
    ]
)
TASK_BYTES, READING_BYTES = TASK.itemsize, READING.itemsize


@kernel(seconds=3)
def run(
    packed: Bytes,
    options: Records,
    given: Any,
    table: Ints,
    progress: Ints,
    thread: int,
    order: int,
) -> None:
    """Carry out `order` in the worlds that no other thread has taken: `loop.carry_out`."""
    carry_out(
        _begin, set_torques, _finish, _tell, TASK, packed, options, given, table, progress,
        thread, order,
    )  # fmt: skip


@inlined
def _begin(
    packed: Bytes, m: ModelView, s: StateView, buffer: Bytes, task: Records, o: Any, given: Any
) -> None:
    """Hanging at rest with noise on angles and velocities."""
    t, generator = task[0], task["generator"]
    for i in range(m.header[0].nv):
        s.q[i] = uniform(generator, -o.noise, o.noise)
        s.v[i] = uniform(generator, -o.noise, o.noise)
    t.reward_upright = t.reward_still = t.reward_ease = 0.0


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
    t.steps += 1
    t.end = _end(m, s, t, o) if solved else FAILED_STEP
    return _reward(s, t, action)


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
    _observe(m, s, o, observation)
    _describe(m, s, t, o, action, reading)


@inlined
def _observe(m: ModelView, s: StateView, o: Any, observation: Floats) -> None:
    """(cosine and sine of each angle, velocities), within bounds."""
    nv = m.header[0].nv
    for i in range(nv):
        observation[2 * i] = math.cos(s.q[i])
        observation[2 * i + 1] = math.sin(s.q[i])
        observation[2 * nv + i] = min(max(s.v[i], -o.velocity_bound), o.velocity_bound)


@inlined
def _describe(m: ModelView, s: StateView, t: Any, o: Any, action: Floats, reading: Bytes) -> None:
    """READING and torques [N m]."""
    r = vector(reading, 0, 1, READING)[0]
    torques = vector(reading, READING_BYTES, action.shape[0], np.float64)
    status = s.status[0]
    r.tip_height = -o.upper_length * math.cos(s.q[0]) - o.lower_length * math.cos(s.q[0] + s.q[1])
    r.reward_upright, r.reward_still = t.reward_upright, t.reward_still
    r.reward_ease = t.reward_ease
    r.residual, r.degraded, r.failed = status.residual, status.degraded, status.failed
    tell_torques(m, action, torques)


@inlined
def _reward(s: StateView, t: Any, action: Floats) -> float:
    """The terms into the task; their sum."""
    # Of either link 0 hanging, 1 upright; the product leaves nothing to one that hangs.
    up = 0.25 * (1.0 - math.cos(s.q[0])) * (1.0 - math.cos(s.q[0] + s.q[1]))
    t.reward_upright = W_UPRIGHT * up
    t.reward_still = W_STILL * up * closeness(math.hypot(s.v[0], s.v[1]), STILL_SCALE)
    t.reward_ease = W_EASE * up * ease(action)
    return t.reward_upright + t.reward_still + t.reward_ease


@inlined
def _end(m: ModelView, s: StateView, t: Any, o: Any) -> int:
    """Why the episode ends here: a velocity beyond its bound, the time limit."""
    for i in range(m.header[0].nv):
        if abs(s.v[i]) > o.velocity_bound:
            return TOO_FAST
    return TIME_LIMIT if t.steps >= o.max_steps else RUNNING
