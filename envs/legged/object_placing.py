"""Loose objects in a compiled environment: where an episode puts them, and what is seen of them."""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np

from dynenvs.envs.legged.object_records import FREE_Q, FREE_V, OBJECT
from dynenvs.envs.legged.records import OWN_OPTIONS
from dynenvs.jit.compiled import inlined, unit
from dynenvs.kinematics.rotation import write_quaternion
from dynenvs.memory.layout import Floats, Records, StateView
from dynenvs.memory.records import BOX
from dynenvs.simulation.rng import uniform

PLACED = 0
Objects = Annotated[Records, OBJECT]
TRIES = 100  # of a drawn place, to find one that is free
APART = 0.005  # between drawn objects [m]


@unit("objects", seconds=3)
def place_objects(
    w: StateView, generator: Annotated[Floats, np.dtype(np.uint64)], objects: Objects
) -> int:
    """Put all objects where an episode begins, at rest: first those that have a place of their own.

    Drawn places are free of the robot and of the other objects; where none is found after TRIES,
    the object starts above everything that has been placed, and falls.  Returns PLACED.
    """
    count = objects.shape[0]
    first = w.header[0].nq - FREE_Q * count
    for drawn in range(2):
        for k in range(count):
            one = objects[k]
            if one.drawn == drawn:
                _draw_pose(w, generator, one, first + FREE_Q * k)
                tries = 1
                while drawn and tries < TRIES and not _is_free(w, objects, first, k):
                    _draw_pose(w, generator, one, first + FREE_Q * k)
                    tries += 1
                if drawn and not _is_free(w, objects, first, k):
                    _lift(w, objects, first, k)
    for k in range(count):
        _draw_body(w, generator, objects[k], w.header[0].nb - count + k)
    return PLACED


@inlined
def _draw_pose(w: StateView, generator: Floats, one: Any, at: int) -> None:
    """Place and orientation into the coordinates from `at` on."""
    for i in range(3):
        w.q[at + i] = uniform(generator, one.low_position[i], one.high_position[i])
    roll = uniform(generator, one.low_turn[0], one.high_turn[0])
    pitch = uniform(generator, one.low_turn[1], one.high_turn[1])
    yaw = uniform(generator, one.low_turn[2], one.high_turn[2])
    write_quaternion(w.q, at + 3, roll, pitch, yaw)
    lowest = _lowest_middle(w, one, at)
    w.q[at + 2] = lowest if one.lying else max(lowest, w.q[at + 2])


@inlined
def _lowest_middle(w: StateView, one: Any, at: int) -> float:
    """Height of the middle of an object that lies on level ground, turned as it is [m]."""
    x, y, z = _upward(w, at)
    lowest: float = one.extent[0] + abs(z) * one.extent[1]
    if one.kind == BOX:
        lowest = abs(x) * one.extent[0] + abs(y) * one.extent[1] + abs(z) * one.extent[2]
    return lowest


@inlined
def _upward(w: StateView, at: int) -> tuple[float, float, float]:
    """The upward direction in the axes of the free body whose coordinates begin at `at`."""
    e, x, y, z = w.q[at + 3], w.q[at + 4], w.q[at + 5], w.q[at + 6]
    return 2.0 * (x * z - e * y), 2.0 * (y * z + e * x), 1.0 - 2.0 * (x * x + y * y)


@inlined
def _is_free(w: StateView, objects: Records, first: int, k: int) -> bool:
    """Whether object k keeps clear of the robot and of all objects that have been placed."""
    at, one = first + FREE_Q * k, objects[k]
    x, y = w.q[at], w.q[at + 1]
    if x * x + y * y < one.away * one.away:
        return False
    for j in range(objects.shape[0]):
        if _is_placed(objects, j, k):
            to = first + FREE_Q * j
            dx, dy, dz = x - w.q[to], y - w.q[to + 1], w.q[at + 2] - w.q[to + 2]
            reach = one.radius + objects[j].radius + APART
            if dx * dx + dy * dy + dz * dz < reach * reach:
                return False
    return True


@inlined
def _is_placed(objects: Records, j: int, k: int) -> bool:
    """Whether object j has been placed before object k, whose place is drawn."""
    return bool(objects[j].drawn == 0 or j < k)


@inlined
def _lift(w: StateView, objects: Records, first: int, k: int) -> None:
    """Take object k above the robot and above all objects that have been placed."""
    top = objects[k].above
    for j in range(objects.shape[0]):
        if _is_placed(objects, j, k):
            top = max(top, w.q[first + FREE_Q * j + 2] + objects[j].radius)
    w.q[first + FREE_Q * k + 2] = top + objects[k].radius + APART


@inlined
def _draw_body(w: StateView, generator: Floats, one: Any, body: int) -> None:
    """Mass and friction of an object; a contact's coefficient is the geometric mean of two."""
    w.mass_scale[body] = uniform(generator, one.low_mass, one.high_mass)
    factor = math.sqrt(uniform(generator, one.low_friction, one.high_friction))
    for f in range(w.header[0].nf):
        if w.features[f].body_a == body or w.features[f].body_b == body:
            w.coefficients[f].friction *= factor


@unit("objects", seconds=2)
def observe_objects(
    w: StateView,
    options: Annotated[Records, OWN_OPTIONS],
    objects: Objects,
    out: Floats,
    at: int,
) -> int:
    """What is seen of all objects, in the base's axes, into out[at] and those after it.

    Of each: place from the base's, first and second axis, velocity, angular velocity.  Returns
    where they end.
    """
    o = options[0]
    count = objects.shape[0]
    q_at, v_at = w.header[0].nq - FREE_Q * count, w.header[0].nv - FREE_V * count
    base = _matrix(w.q, 3)
    for k in range(count):
        i, j = q_at + FREE_Q * k, v_at + FREE_V * k
        R = _matrix(w.q, i + 3)
        place = (w.q[i] - w.q[0], w.q[i + 1] - w.q[1], w.q[i + 2] - w.q[2])
        _put(out, at, _into(base, place), o.object_bound)
        _put(out, at + 3, _into(base, (R[0], R[3], R[6])), 1.0)
        _put(out, at + 6, _into(base, (R[1], R[4], R[7])), 1.0)
        _put(out, at + 9, _into(base, (w.v[j], w.v[j + 1], w.v[j + 2])), o.speed_bound)
        x, y, z = w.v[j + 3], w.v[j + 4], w.v[j + 5]
        turning = (
            R[0] * x + R[1] * y + R[2] * z,
            R[3] * x + R[4] * y + R[5] * z,
            R[6] * x + R[7] * y + R[8] * z,
        )
        _put(out, at + 12, _into(base, turning), o.turn_bound)
        at += 15
    return at


@inlined
def _matrix(q: Floats, at: int) -> Any:
    """The rotation matrix, row by row, of the quaternion q[at:at + 4]."""
    w, x, y, z = q[at], q[at + 1], q[at + 2], q[at + 3]
    return (
        1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y),
        2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x),
        2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y),
    )  # fmt: skip


@inlined
def _into(R: Any, a: Any) -> Any:
    """A vector in the axes of a body, R^T a."""
    return (
        R[0] * a[0] + R[3] * a[1] + R[6] * a[2],
        R[1] * a[0] + R[4] * a[1] + R[7] * a[2],
        R[2] * a[0] + R[5] * a[1] + R[8] * a[2],
    )


@inlined
def _put(out: Floats, at: int, a: Any, bound: float) -> None:
    """Three numbers, within their bound."""
    out[at] = min(max(a[0], -bound), bound)
    out[at + 1] = min(max(a[1], -bound), bound)
    out[at + 2] = min(max(a[2], -bound), bound)


@inlined
def write_objects(w: StateView, objects: Records, poses: Floats) -> None:
    """Places and quaternions of all objects in the world, shape (objects, 7)."""
    first = w.header[0].nq - FREE_Q * objects.shape[0]
    for k in range(objects.shape[0]):
        for i in range(FREE_Q):
            poses[k, i] = w.q[first + FREE_Q * k + i]
