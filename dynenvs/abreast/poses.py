"""Poses of all bodies of four worlds: `kinematics.update_poses`, operation by operation.

For trees whose axes are not all parallel (`header.abreast`): there R comes from the parent's.
"""

from __future__ import annotations

from typing import Any

from dynenvs.abreast.lanes import Lanes, every, get, put, sine_cosine_lanes
from dynenvs.abreast.views import AbreastView
from dynenvs.compiled import inlined, merged
from dynenvs.layout import Floats, Records
from dynenvs.records import FREE, PRISMATIC, REVOLUTE, SPHERICAL

Three = tuple[Lanes, Lanes, Lanes]


@inlined
def turned(R: Floats, i: int, x: Floats) -> Three:
    """R_i x for a vector x of the model, shape (3,)."""
    at = 9 * i
    return (
        get(R, at) * x[0] + get(R, at + 1) * x[1] + get(R, at + 2) * x[2],
        get(R, at + 3) * x[0] + get(R, at + 4) * x[1] + get(R, at + 5) * x[2],
        get(R, at + 6) * x[0] + get(R, at + 7) * x[1] + get(R, at + 8) * x[2],
    )


@inlined
def pose_bodies(bodies: Records, w: AbreastView) -> None:
    """R and p of every body from `q`, base to tips; `frame` of spherical and free joints."""
    for k in range(3):
        put(w.p, k, every(0.0))
        for c in range(3):
            put(w.R, 3 * k + c, every(1.0 if k == c else 0.0))
    for i in range(1, bodies.shape[0]):
        _place(bodies[i], i, w.q, w.R, w.p, w.frame)


@merged
def _place(body: Any, i: int, q: Floats, R: Floats, p: Floats, frame: Floats) -> None:
    up, at = body.parent, body.q_at
    dx, dy, dz = every(0.0), every(0.0), every(0.0)
    if body.offset:
        dx, dy, dz = turned(R, up, body.position)
    if body.joint == REVOLUTE:
        s, c = sine_cosine_lanes(get(q, at))
        if body.principal:
            _turn_principal(R, up, i, body.principal, body.odd, s, c)
        else:
            _turn(R, up, i, body, s, c)
    elif body.joint == SPHERICAL or body.joint == FREE:
        _times(R, up, body.rest, frame, i)
        if body.joint == FREE:
            x, y, z = get(q, at), get(q, at + 1), get(q, at + 2)
            n = 9 * i
            dx = dx + (get(frame, n) * x + get(frame, n + 1) * y + get(frame, n + 2) * z)
            dy = dy + (get(frame, n + 3) * x + get(frame, n + 4) * y + get(frame, n + 5) * z)
            dz = dz + (get(frame, n + 6) * x + get(frame, n + 7) * y + get(frame, n + 8) * z)
            at += 3
        _turn_by_quaternion(q, at, frame, R, i)
    else:
        _times(R, up, body.rest, R, i)
        if body.joint == PRISMATIC:
            x, y, z = turned(R, i, body.axis)
            along = get(q, at)
            dx, dy, dz = dx + x * along, dy + y * along, dz + z * along
    put(p, 3 * i, get(p, 3 * up) + dx)
    put(p, 3 * i + 1, get(p, 3 * up + 1) + dy)
    put(p, 3 * i + 2, get(p, 3 * up + 2) + dz)


@inlined
def _times(R: Floats, up: int, b: Floats, out: Floats, i: int) -> None:
    """out_i = R_up b for a matrix b of the model."""
    for k in range(3):
        at = 9 * up + 3 * k
        x, y, z = get(R, at), get(R, at + 1), get(R, at + 2)
        for c in range(3):
            put(out, 9 * i + 3 * k + c, x * b[0, c] + y * b[1, c] + z * b[2, c])


@inlined
def _turn_principal(R: Floats, up: int, i: int, axis: int, odd: Floats, s: Lanes, c: Lanes) -> None:
    """`rotation.turn_about_principal`."""
    a, b = (1, 2) if axis == 1 else ((2, 0) if axis == 2 else (0, 1))
    kept = axis - 1
    t = s * odd[b, a]
    for k in range(3):
        row, own = 9 * up + 3 * k, 9 * i + 3 * k
        u, v = get(R, row + a), get(R, row + b)
        put(R, own + kept, get(R, row + kept))
        put(R, own + a, u * c + v * t)
        put(R, own + b, v * c - u * t)


@inlined
def _turn(R: Floats, up: int, i: int, body: Any, s: Lanes, c: Lanes) -> None:
    """`rotation.turn_about`, column by column."""
    rest, even, odd = body.rest, body.even, body.odd
    for k in range(3):
        a0 = rest[0, k] + c * even[0, k] + s * odd[0, k]
        a1 = rest[1, k] + c * even[1, k] + s * odd[1, k]
        a2 = rest[2, k] + c * even[2, k] + s * odd[2, k]
        for r in range(3):
            at = 9 * up + 3 * r
            put(R, 9 * i + 3 * r + k, get(R, at) * a0 + get(R, at + 1) * a1 + get(R, at + 2) * a2)


@inlined
def _turn_by_quaternion(q: Floats, at: int, frame: Floats, R: Floats, i: int) -> None:
    """R_i = frame_i times the rotation of the quaternion, normalised on the way."""
    w, x, y, z = get(q, at), get(q, at + 1), get(q, at + 2), get(q, at + 3)
    s = 2.0 / (w * w + x * x + y * y + z * z)
    t00 = 1.0 - s * (y * y + z * z)
    t01 = s * (x * y - w * z)
    t02 = s * (x * z + w * y)
    t10 = s * (x * y + w * z)
    t11 = 1.0 - s * (x * x + z * z)
    t12 = s * (y * z - w * x)
    t20 = s * (x * z - w * y)
    t21 = s * (y * z + w * x)
    t22 = 1.0 - s * (x * x + y * y)
    for k in range(3):
        row = 9 * i + 3 * k
        a, b, c = get(frame, row), get(frame, row + 1), get(frame, row + 2)
        put(R, row, a * t00 + b * t10 + c * t20)
        put(R, row + 1, a * t01 + b * t11 + c * t21)
        put(R, row + 2, a * t02 + b * t12 + c * t22)
