"""Kinematics for users: poses, spatial velocities, point Jacobians and their bias accelerations."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dynenvs.jit.compiled import entry
from dynenvs.jit.views import raw, vector
from dynenvs.kinematics.poses import add_point_row, point_bias_acceleration, update_kinematics
from dynenvs.memory.layout import (
    Bytes,
    Floats,
    Matrices,
    Matrix,
    WorkView,
    WorldView,
    open_work,
    open_world,
)
from dynenvs.model.model import Model
from dynenvs.model.validation import borrow, finite_vector


class Frames(NamedTuple):
    """Poses and velocities of all bodies, the world first; world axes."""

    rotations: Floats  # body to world, shape (nb, 3, 3)
    positions: Floats  # of the body's origin [m], shape (nb, 3)
    angular: Floats  # angular velocity [rad/s], shape (nb, 3)
    linear: Floats  # velocity of the body's origin [m/s], shape (nb, 3)


@entry
def read_frames(
    w: WorkView, rows: Bytes, R: Annotated[Floats, 4], p: Matrices, omega: Matrices, v: Matrices
) -> None:
    """Poses and velocities of all bodies of some worlds, as `Frames`, with one entry a world.

    rows: their states, one after the other
    """
    h = w.header[0]
    # One workspace serves all worlds, one after the other
    for k in range(p.shape[0]):
        row = vector(rows, k * h.state_bytes, h.state_bytes, np.uint8)
        world = open_world(w, row, w)
        w.answer[0].poses_valid = 0
        update_kinematics(world)
        for i in range(h.nb):
            pose, twist = w.pose[i], w.body[i].v
            origin = w.pose[w.bodies[i].root].p
            x, y, z = pose.p[0] - origin[0], pose.p[1] - origin[1], pose.p[2] - origin[2]
            for r in range(3):
                p[k, i, r] = pose.p[r]
                omega[k, i, r] = twist[r]
                for c in range(3):
                    R[k, i, r, c] = pose.R[r, c]
            # The velocity is that of the tree's origin, moved to the body's
            v[k, i, 0] = twist[3] + twist[1] * z - twist[2] * y
            v[k, i, 1] = twist[4] + twist[2] * x - twist[0] * z
            v[k, i, 2] = twist[5] + twist[0] * y - twist[1] * x


def frames(model: Model, q: ArrayLike, v: ArrayLike | None = None) -> Frames:
    """Poses and velocities of all bodies.

    Args:
        model: the model.
        q: positions, shape (nq,).
        v: velocities, shape (nv,); zero if None.

    Raises:
        ValueError: wrong shape, or not finite.
    """
    w = borrow(model, q, v)
    nb = len(model.body_names)
    result = Frames(np.zeros((nb, 3, 3)), np.zeros((nb, 3)), np.zeros((nb, 3)), np.zeros((nb, 3)))
    row = raw(w.status, model.header.state_bytes)
    read_frames(open_work(w, w), row, *(array[np.newaxis] for array in result))
    return result


@entry
def _point(w: WorldView, body: int, local: Floats, J: Matrix, bias: Floats) -> None:
    update_kinematics(w)
    pose = w.pose[body]
    point, axis = w.body[0].v, w.body[0].f  # the world's own are free
    for r in range(3):
        point[r] = pose.p[r]
        for c in range(3):
            point[r] += pose.R[r, c] * local[c]
    # A row for each axis of the world
    for r in range(3):
        for c in range(3):
            axis[c] = 1.0 if c == r else 0.0
        add_point_row(w, body, point, axis, 1.0, J[r])
    point_bias_acceleration(w, body, point, bias)


def point_jacobian(
    model: Model, q: ArrayLike, body: str, point: ArrayLike = (0.0, 0.0, 0.0)
) -> Floats:
    """J with velocity = J v of a point fixed in a body, world axes, shape (3, nv).

    Args:
        model: the model.
        q: positions, shape (nq,).
        body: name of the body.
        point: in the body's frame [m], shape (3,).

    Raises:
        KeyError: unknown body.
        ValueError: wrong shape, or not finite.
    """
    return _jacobian_and_bias(model, q, None, body, point)[0]


def point_bias(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    body: str,
    point: ArrayLike = (0.0, 0.0, 0.0),
) -> Floats:
    """Jdot v: acceleration of the point at zero joint acceleration [m/s^2], shape (3,).

    Arguments and errors as for `point_jacobian`; v: velocities, shape (nv,).
    """
    return _jacobian_and_bias(model, q, v, body, point)[1]


def _jacobian_and_bias(
    model: Model, q: ArrayLike, v: ArrayLike | None, body: str, point: ArrayLike
) -> tuple[Floats, Floats]:
    w = borrow(model, q, v)
    J, bias = np.zeros((3, model.nv)), np.zeros(3)
    local = finite_vector(point, 3, "point")
    _point(w, model.body_id(body), local, J, bias)
    return J, bias
