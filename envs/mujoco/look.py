"""One compiled pass after each control step: what worlds show, what they earn, and who has ended.

A task brings a kernel `look(s) -> bool`, inlined here, so that one loop serves all.  It gets a
world as `Seen`, writes `s.observation`, `s.reward` and the record of `info`, leaves in `s.mark`
what it must know of the beginning of the next control step, and says whether the episode is over.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from dynenvs.envs.mujoco.bodies import Bodies
from dynenvs.jit.compiled import inlined
from dynenvs.jit.views import unowned, vector
from dynenvs.memory.layout import Bytes, Floats, Ints, Matrix, open_model, open_state
from dynenvs.memory.records import record_type
from dynenvs.simulation.progress import claim, leave

MARK = 3  # numbers in a mark


class Look(NamedTuple):
    """Of all worlds: what is read of them, and where it is told."""

    begins: Ints  # one number: whether they begin an episode, and have not moved
    mask: Bytes  # who is looked at
    options: Bytes  # the task's
    places: Ints  # the task's: numbers of coordinates or bodies
    bodies: Bodies
    torques: Matrix  # of motors on all coordinates [N m, N], shape (count, nv)
    actions: Matrix
    failed: Bytes  # whose step had no solution
    marks: Matrix
    observations: Matrix
    info: Bytes
    rewards: Floats
    over: Bytes  # who is at an end, and who is cut off
    cut: Bytes
    steps: Ints  # of each episode
    started: Bytes
    ended: Bytes  # who begins anew next
    limit: int  # of steps
    told: int  # bytes of a world's info that are known at the beginning
    timestep: float  # [s]
    dt: float  # control period [s]


class Seen(NamedTuple):
    """One world as a task's kernel sees it."""

    options: Bytes
    places: Ints
    q: Floats
    v: Floats
    stops: Floats  # impulses of joints' stops [N m s, N s], empty without any
    torques: Floats
    bodies: Bodies  # of all worlds
    i: int  # number of this one
    timestep: float
    dt: float
    action: Floats
    mark: Floats
    observation: Floats
    info: Bytes
    reward: Floats  # one number


def numbers(*names: str, pairs: tuple[str, ...] = (), places: tuple[str, ...] = ()) -> Any:
    """The record of a task's options that its kernel reads, all of them numbers.

    Args:
        names: of numbers and flags.
        pairs: of ranges.
        places: of points in space.
    """
    fields: list[tuple[Any, ...]] = [(name, "f8") for name in names]
    fields += [(name, "f8", (2,)) for name in pairs]
    return record_type([*fields, *((name, "f8", (3,)) for name in places)])


def told(*names: str | tuple[str, int]) -> Any:
    """The record of a task's info: numbers, or rows of so many."""
    return record_type([(n, "f8") if isinstance(n, str) else (n[0], "f8", (n[1],)) for n in names])


@inlined
def look_at_worlds(
    look: Any, packed: Bytes, rows: Bytes, a: Look, progress: Ints, thread: int
) -> None:
    """Look at those worlds of the mask that no other thread has taken."""
    packed, rows, a = unowned(packed), unowned(rows), unowned(a)
    n, size = a.mask.shape[0], open_model(packed).header[0].state_bytes
    i = claim(progress, thread, n)
    while i < n:
        a.over[i] = a.cut[i] = 0
        if a.mask[i] != 0:
            s = _seen(packed, vector(rows, i * size, size, np.uint8), a, i)
            over = look(s)
            if a.begins[0] != 0:
                for k in range(a.told, s.info.shape[0]):
                    s.info[k] = 0
                a.steps[i], a.started[i], a.ended[i] = 0, 1, 0
                a.rewards[i] = 0.0
            else:
                a.steps[i] += 1
                a.over[i] = 1 if over or a.failed[i] != 0 else 0
                a.cut[i] = 1 if a.steps[i] >= a.limit else 0
                a.ended[i] = max(a.over[i], a.cut[i])
        else:
            a.rewards[i] = 0.0
        i = claim(progress, thread, n)
    leave(progress, thread)


@inlined
def _seen(packed: Bytes, row: Bytes, a: Look, i: int) -> Seen:
    w = open_state(packed, row)
    size = a.info.shape[0] // a.mask.shape[0]
    return Seen(
        a.options,
        a.places,
        w.q,
        w.v,
        w.stops,
        a.torques[i],
        a.bodies,
        i,
        a.timestep,
        a.dt,
        a.actions[i],
        a.marks[i],
        a.observations[i],
        vector(a.info, i * size, size, np.uint8),
        a.rewards[i : i + 1],
    )


@inlined
def copy_to(target: Floats, start: int, source: Floats, first: int) -> int:
    """Copy from number `first` on; returns where the next ones go."""
    for k in range(first, source.shape[0]):
        target[start + k - first] = source[k]
    return int(start + source.shape[0] - first)


@inlined
def distance(a: Floats, b: Floats) -> float:
    """Between two points in space, shape (3,)."""
    x, y, z = a[0] - b[0], a[1] - b[1], a[2] - b[2]
    return math.sqrt(x * x + y * y + z * z)


@inlined
def clipped(value: float, low: float, high: float) -> float:
    """The nearest number in [low, high]."""
    return min(max(value, low), high)


@inlined
def squares(values: Floats) -> float:
    """The sum of their squares."""
    return squares_within(values, -math.inf, math.inf)


@inlined
def squares_within(values: Floats, low: float, high: float) -> float:
    """The same of numbers clipped to a range, added up in NumPy's order (up to 128 numbers).

    Every eighth number goes into the same of eight sums, as many as there are whole eights.
    """
    n, sums = values.shape[0], (0.0,) * 8
    whole = n - n % 8
    for k in range(0, whole, 8):
        sums = (
            sums[0] + _square(values[k], low, high),
            sums[1] + _square(values[k + 1], low, high),
            sums[2] + _square(values[k + 2], low, high),
            sums[3] + _square(values[k + 3], low, high),
            sums[4] + _square(values[k + 4], low, high),
            sums[5] + _square(values[k + 5], low, high),
            sums[6] + _square(values[k + 6], low, high),
            sums[7] + _square(values[k + 7], low, high),
        )
    left = (sums[0] + sums[1]) + (sums[2] + sums[3])
    total = left + ((sums[4] + sums[5]) + (sums[6] + sums[7]))
    for k in range(whole, n):
        total += _square(values[k], low, high)
    return total


@inlined
def _square(value: float, low: float, high: float) -> float:
    x = clipped(value, low, high)
    return x * x
