"""What the joints of a tree move: every coordinate some inertia, and in planar models in the plane.

And that kinematic bodies can be.  All of it is checked on the description, before a model is made.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynenvs.kinematics.joints import JOINT_NV
from dynenvs.model.joint_constants import joint_placement
from dynenvs.model.parts import JOINT_TYPES, Body, ModelError, rotation_about, unit3

Floats = NDArray[np.float64]

SINGULAR = 1e-13  # least eigenvalue, relative, of a mass matrix that can be inverted
SURE = 1e-9  # ... and so much that rounding cannot have made it up, in 5000 coordinates
OUT_OF_PLANE = 1e-9  # sine of an angle
AT_ONCE = 64  # bodies whose parts of the mass matrix are worked out together


class _Frame:
    """A body of the tree in some configuration.

    Its Jacobians have columns for the coordinates between it and the root alone: with all of the
    tree's, a robot of some thousand links takes minutes.
    """

    def __init__(self, columns: NDArray[np.intp]) -> None:
        self.columns = columns  # the numbers of these coordinates
        self.rotation = np.eye(3)
        self.turning = np.zeros((3, len(columns)))  # Jacobian of its angular velocity, world axes
        self.moving = np.zeros((3, len(columns)))  # ... and of its origin's velocity


class _Part(NamedTuple):
    """Of a body in the mass matrix: left^T right."""

    columns: NDArray[np.intp]  # shape (k,)
    left: Floats  # shape (6, k)
    right: Floats  # shape (6, k)


def check_inertia(bodies: list[Body]) -> None:
    """Raise a ModelError that names the joint if the mass matrix is singular whatever the pose.

    It is where some motion of the joints moves no mass and turns no inertia: of a point mass on a
    free joint, or a thin rod that a joint turns about itself.  One configuration, drawn at random,
    stands for all: the determinant is an analytic function of the coordinates.

    bodies: parents first; of kinematic ones the inertia does not matter
    """
    rng = np.random.default_rng(0)
    known = [
        replace(body, mass=1.0, inertia=np.eye(3)) if body.kinematic else body for body in bodies
    ]
    for tree in _trees(known):  # they share no inertia: the matrix has a block for each
        _check_tree(tree, rng)


def _trees(bodies: list[Body]) -> list[list[Body]]:
    """The bodies of each tree, parents first."""
    trees: dict[str, list[Body]] = {}
    of: dict[str, list[Body]] = {}
    for body in bodies:
        of[body.name] = of.get(body.parent) or trees.setdefault(body.name, [])
        of[body.name].append(body)
    return list(trees.values())


def _check_tree(bodies: list[Body], rng: np.random.Generator) -> None:
    M, sizes, owners = mass_matrix(bodies, rng)
    if not owners:
        return
    # First what nothing at all moves, then combinations that cancel
    moved = np.diag(M) > SINGULAR * sizes
    if moved.all():
        scale = np.sqrt(np.diag(M))
        scaled = M / np.outer(scale, scale)
        if _is_surely_definite(scaled):
            return
        values, vectors = np.linalg.eigh(scaled)
        if values[0] > SINGULAR:
            return
        worst = int(np.abs(vectors[:, 0]).argmax())
    else:
        worst = int(moved.argmin())
    # The message names the joint that takes the largest part in the motion
    body = owners[worst]
    raise ModelError(
        f"body {body.name!r}: its {body.joint.type} joint allows a motion that nothing has inertia "
        "against, as of a point mass that turns, or a thin rod about itself; give the body a "
        "moment of inertia about every axis that it can turn about, give the joint an armature, or "
        "use a joint without that motion (three prismatic ones for a point mass)"
    )


def _is_surely_definite(matrix: Floats) -> bool:
    """Whether its least eigenvalue is far above SINGULAR: eigenvalues take 20 times as long."""
    try:
        np.linalg.cholesky(matrix - SURE * np.eye(len(matrix)))
    except np.linalg.LinAlgError:
        return False
    return True


def mass_matrix(bodies: list[Body], rng: np.random.Generator) -> tuple[Floats, Floats, list[Body]]:
    """Mass matrix of a tree, armature included, in a random configuration.

    Returns it; of each coordinate the inertia that there would be if bodies had their largest
    moment about every axis, beside which rounding is to be seen; and each coordinate's body.
    """
    owners = [body for body in bodies for _ in range(JOINT_NV[JOINT_TYPES[body.joint.type]])]
    n = len(owners)
    sizes = np.array([float(body.joint.armature) for body in owners])
    M = np.diag(sizes) if n else np.zeros((0, 0))
    # From the root on: each body's Jacobian, and its part of the matrix
    frames = {"world": _Frame(np.zeros(0, dtype=np.intp))}
    by_name = {body.name: body for body in bodies}
    at = 0
    parts: list[_Part] = []
    for body in bodies:
        frame = _placed(body, frames[body.parent], by_name.get(body.parent), at, rng)
        at += JOINT_NV[JOINT_TYPES[body.joint.type]]
        frames[body.name] = frame
        arm = frame.rotation @ body.com
        center = frame.moving - _cross(arm) @ frame.turning
        inertia = frame.rotation @ body.inertia @ frame.rotation.T
        left = np.vstack([body.mass * center, frame.turning])
        parts.append(_Part(frame.columns, left, np.vstack([center, inertia @ frame.turning])))
        if len(parts) == AT_ONCE or body is bodies[-1]:
            _add_parts(M, parts)
            parts.clear()
        # As if every axis had the largest moment: what rounding is measured against
        largest = float(np.abs(body.inertia).max())
        sizes[frame.columns] += body.mass * (center**2).sum(axis=0)
        sizes[frame.columns] += largest * (frame.turning**2).sum(axis=0)
    return M, sizes, owners


def _add_parts(M: Floats, parts: list[_Part]) -> None:
    """Add those of some bodies at once: a sum for each takes most of the time of a long chain."""
    columns = np.unique(np.concatenate([part.columns for part in parts]))
    left, right = (np.zeros((6 * len(parts), len(columns))) for _ in range(2))
    for i, part in enumerate(parts):
        own = np.searchsorted(columns, part.columns)
        left[6 * i : 6 * i + 6, own] = part.left
        right[6 * i : 6 * i + 6, own] = part.right
    M[np.ix_(columns, columns)] += left.T @ right


def _placed(
    body: Body, above: _Frame, parent: Body | None, at: int, rng: np.random.Generator
) -> _Frame:
    """A body's frame behind its joint, whose coordinates are drawn; `at`: the first of them."""
    joint = body.joint
    rotation, position = joint_placement(joint, parent, body.name)
    own = JOINT_NV[JOINT_TYPES[joint.type]]
    frame = _Frame(np.append(above.columns, np.arange(at, at + own)))
    arm = above.rotation @ position
    frame.rotation = above.rotation @ rotation
    at = len(above.columns)  # the joint's own columns come last
    frame.turning[:, :at] = above.turning
    frame.moving[:, :at] = above.moving - _cross(arm) @ above.turning
    axis = frame.rotation @ unit3(joint.axis, f"axis of the joint of {body.name!r}")
    # The joint's own motion; angles are drawn, so that nothing is special about the pose
    if joint.type == "prismatic":
        step = rng.uniform(0.1, 1.0) * axis
        frame.moving[:, :at] -= _cross(step) @ above.turning
        frame.moving[:, at] += axis
    elif joint.type == "revolute":
        frame.rotation = rotation_about(axis, rng.uniform(0.3, 1.3)) @ frame.rotation
        frame.turning[:, at] += axis
    elif joint.type == "screw":
        angle = rng.uniform(0.3, 1.3)
        step = joint.pitch * angle * axis
        frame.rotation = rotation_about(axis, angle) @ frame.rotation
        frame.moving[:, :at] -= _cross(step) @ above.turning
        frame.turning[:, at] += axis
        frame.moving[:, at] += joint.pitch * axis
    elif joint.type in ("spherical", "free"):
        if joint.type == "free":
            frame.moving[:, at : at + 3] += np.eye(3)
            at += 3
        helper = rng.standard_normal(3)
        frame.rotation = rotation_about(helper / np.linalg.norm(helper), 1.0) @ frame.rotation
        frame.turning[:, at : at + 3] += frame.rotation
    return frame


def _cross(vector: Floats) -> Floats:
    x, y, z = vector
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def check_kinematic(bodies: list[Body]) -> None:
    """Raise a ModelError that names the first kinematic body that cannot be.

    bodies: parents first
    """
    by_name = {body.name: body for body in bodies}
    for body in bodies:
        joint, what = body.joint, f"kinematic body {body.name!r}"
        # Bodies that are fixed to one another count as one
        above = by_name.get(body.parent)
        while above is not None and above.joint.type == "fixed":
            above = by_name.get(above.parent)
        if not body.kinematic:
            continue
        # It must move, stand on what is moved likewise, and have nothing that would do nothing
        if joint.type == "fixed":
            raise ModelError(f"{what} needs a joint along which it moves; without one it is fixed")
        if above is not None and not above.kinematic:
            raise ModelError(
                f"{what} is carried by {above.name!r}, which is none: it can stand in the world or "
                "on kinematic bodies"
            )
        unlimited = not np.isfinite(joint.limits).any() and np.isinf(joint.effort)
        if not unlimited or joint.damping or joint.armature:
            raise ModelError(
                f"joint of {what}: limits, effort, damping and armature would do nothing, for its "
                "velocity is what it is set to; leave them out"
            )


def check_plane(bodies: list[Body]) -> None:
    """Raise a ModelError that names the first joint by which a body can leave the x-z plane."""
    turns = {"world": np.eye(3)}
    by_name = {body.name: body for body in bodies}
    for body in bodies:
        joint = body.joint
        rotation, _ = joint_placement(joint, by_name.get(body.parent), body.name)
        turns[body.name] = turns[body.parent] @ rotation
        axis = turns[body.name] @ unit3(joint.axis, f"axis of the joint of {body.name!r}")
        # Hinges across the plane, slides in it
        across = float(np.hypot(axis[0], axis[2]))
        stays = {
            "fixed": True,
            "revolute": across < OUT_OF_PLANE,
            "prismatic": abs(axis[1]) < OUT_OF_PLANE,
        }
        if not stays.get(joint.type, False):
            raise ModelError(
                f"body {body.name!r}: directions=2 is for contact in the x-z plane, which its "
                f"{joint.type} joint leaves: across the plane there would be no friction; choose "
                "directions=4 or more, or hinges about y and slides in the plane"
            )
