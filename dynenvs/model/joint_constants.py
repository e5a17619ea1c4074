"""Constant parts of a body's rotation, worked out once when a model is packed.

A revolute joint turns its body by rest + cos(q) even + sin(q) odd (Rodrigues' formula); see BODY in
`dynenvs.memory.records`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynenvs.model.parts import JOINT_TYPES, Body, Joint, rotation3, vector3


class Axis(NamedTuple):
    """What the axes from the root to a body have in common."""

    parallel: bool
    axis: NDArray[np.float64] | None  # in the world; None if nothing turns yet
    rotation: NDArray[np.float64]  # of the body with all coordinates at zero


def is_y(axis: NDArray[np.float64]) -> bool:
    """Whether a unit vector lies along the y axis."""
    return bool(abs(axis[0]) < 1e-15 and abs(axis[2]) < 1e-15)


def principal(body: Any) -> int:
    """Which of its parent's axes a revolute body turns about: 1, 2, 3; 0 for any other."""
    if body.joint != JOINT_TYPES["revolute"] or (body.rotation != np.eye(3)).any():
        return 0
    # Rounded, the largest entry of an axis that is nearly a unit vector is one, too
    return int(np.argmax(body.axis != 0.0)) + 1 if np.count_nonzero(body.axis) == 1 else 0


def is_in_plane(body: Any) -> bool:
    """Whether a body's rotation leaves the y axis in its place, at any angle."""
    y = np.array([0.0, 1.0, 0.0])
    parts = (body.rest, y), (body.even, np.zeros(3)), (body.odd, np.zeros(3))
    fixed = all((part[1] == row).all() and (part[:, 1] == row).all() for part, row in parts)
    return bool(body.parallel) and fixed


def moves_in_plane(body: Any, axis: Axis) -> bool:
    """Whether a body turns about the world's y axis and slides across it, if those above it do.

    axis: of the body, as `fill_turn` returns it
    """
    in_plane = axis.parallel and (axis.axis is None or is_y(axis.axis))
    if body.joint == JOINT_TYPES["prismatic"]:
        in_plane = in_plane and abs((axis.rotation @ body.axis)[1]) < 1e-15
    return bool(in_plane)


def first_out_of_plane(bodies: Any) -> int:
    """Index of the first body that does not move in the x-z plane, or 0 if all do.

    bodies: BODY records, filled; they are not written to
    """
    axes = [Axis(True, None, np.eye(3))]
    for i, body in enumerate(bodies.copy()[1:], 1):
        axes.append(fill_turn(body, axes[body.parent]))
        if not moves_in_plane(body, axes[i]):
            return i
    return 0


def fill_turn(body: Any, above: Axis) -> Axis:
    """Constant parts of a body's rotation (Rodrigues' formula): in the world, if all axes from the
    root on are parallel, otherwise in its parent's frame."""
    kind, rotation = body.joint, np.array(body.rotation)
    zero = above.rotation @ rotation
    axis = zero @ body.axis
    parallel = above.parallel and kind not in map(JOINT_TYPES.get, ("spherical", "free", "screw"))
    if kind == JOINT_TYPES["revolute"]:
        # A tree's common axis points to the positive side: along +y, not -y, in planar models
        side = math.copysign(1.0, float(axis[np.argmax(np.abs(axis))]))
        common = side * axis if above.axis is None else above.axis
        parallel = parallel and float(np.linalg.norm(np.cross(axis, common))) < 1e-15
    else:
        common = above.axis
    body.parallel = parallel
    if parallel:
        body.sign = 0.0 if common is None else math.copysign(1.0, float(axis @ common))
        if common is None:
            body.rest[:] = zero
        else:
            _fill_parts(body, common, zero, left=True)
    elif kind in (JOINT_TYPES["revolute"], JOINT_TYPES["screw"]):
        _fill_parts(body, np.array(body.axis), rotation, left=False)
    else:
        body.rest[:] = rotation
    return Axis(parallel, common, zero)


def _fill_parts(
    body: Any, axis: NDArray[np.float64], rotation: NDArray[np.float64], *, left: bool
) -> None:
    """rest + cos(q) even + sin(q) odd = a turn by q about `axis`, left or right of `rotation`."""
    x, y, z = axis
    along = np.outer(axis, axis)
    parts = along, np.eye(3) - along, np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    for place, part in zip((body.rest, body.even, body.odd), parts, strict=True):
        place[:] = part @ rotation if left else rotation @ part


def joint_placement(
    joint: Joint, parent: Body | None, name: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Joint frame in the parent body's frame (behind the parent's tip)."""
    rotation = rotation3(joint.rotation, f"rotation of the joint of {name!r}")
    position = vector3(joint.position, f"position of the joint of {name!r}")
    if parent is None:
        return rotation, position
    return (
        parent.tip_rotation @ rotation,
        parent.tip_rotation @ position + parent.tip_position,
    )
