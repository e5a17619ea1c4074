"""A model in one state, as the books draw it: bodies, joints and inertias in body frames.

This is what all methods of the layer start from.  Bodies are numbered from the base; a body's
index is its place in the lists, the world is `parent` -1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dynenvs.dynamics.springs import stretch
from dynenvs.memory.layout import open_model
from dynenvs.memory.records import FREE, PRISMATIC, REVOLUTE, SCREW, SPHERICAL
from dynenvs.model.model import Model
from dynenvs.model.validation import finite_vector
from dynenvs.reference.methods.scalars import DOUBLE, Array, Scalars
from dynenvs.reference.methods.spatial import (
    cross_matrix,
    motion_cross,
    motion_transform,
    rigid_inertia,
)


@dataclass(frozen=True)
class Tree:
    """Bodies in a state.  Velocities, accelerations and forces are in body frames.

    Attributes:
        parent: index of each body's parent, -1 for the world, shape (n,).
        dofs: which coordinates each body's joint has, n slices of range(nv).
        rotation, position: body frames in their parents', of shapes (3, 3) and (3,) [m].
        X: motion transforms from parent to body, each of shape (6, 6).
        S: motion subspaces, each of shape (6, number of the joint's coordinates).
        inertia: rigid inertias, each of shape (6, 6).
        velocity: spatial velocities, each of shape (6,).
        product: velocity-product accelerations Sdot v + velocity x S v, each of shape (6,).
        mass, center, moments: mass distribution: [kg], com [m] and inertia about it.
        base: acceleration of the world, (0; -gravity), which makes gravity inertial, shape (6,).
        tau: generalized forces, damping included, shape (nv,).
        armature: rotor inertia, shape (nv,).
        dof_parent: the next coordinate towards the root or -1, shape (nv,).
        scalars: the number type.
    """

    parent: list[int]
    dofs: list[slice]
    rotation: list[Array]
    position: list[Array]
    X: list[Array]
    S: list[Array]
    inertia: list[Array]
    velocity: list[Array]
    product: list[Array]
    mass: list[float]
    center: list[Array]
    moments: list[Array]
    base: Array
    tau: Array
    armature: Array
    dof_parent: list[int]
    scalars: Scalars

    @property
    def nv(self) -> int:
        """Number of coordinates."""
        return len(self.tau)

    def from_parent(self, body: int, values: list[Array], world: Array) -> Array:
        """X_i times the parent's entry of `values`; `world` for a body on the world."""
        above = world if self.parent[body] < 0 else values[self.parent[body]]
        return self.X[body] @ above


def _pulls(model: Model, positions: Array, scalars: Scalars) -> Array:
    """Forces against which the joints' springs pull, K (q - r), shape (nv,).

    Balls' rotation vectors are doubles, whatever the number type.
    """
    long = positions[model.dofs["q_at"]] - scalars.array(model.dofs["reference"])
    m, q = open_model(model.packed), positions.astype(np.float64)
    for j in np.flatnonzero(model.stiffness):
        if model.bodies[model.dofs[j].body].nv > 1:
            long[j] = scalars.number(stretch(m, q, int(j)))
    return scalars.array(model.stiffness) * long


def tree_of(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    scalars: Scalars = DOUBLE,
    *,
    state: Callable[[ArrayLike], Array] | None = None,
) -> Tree:
    """The model's bodies in the state (q, v) under tau; every number as given, exactly.

    Args:
        model: the model.
        q: positions, shape (nq,).
        v: velocities, shape (nv,).
        tau: generalized forces of all coordinates [N m, N], shape (nv,).
        scalars: the number type to compute with.
        state: makes the numbers that depend on the state; `scalars.array` if None.

    Raises:
        ValueError: wrong shape, or not finite.
    """
    # Numbers of the state may be of another kind: studies count what depends on them
    numbers = state or scalars.array
    positions = numbers(finite_vector(q, model.nq, "q"))
    speeds = numbers(finite_vector(v, model.nv, "v"))
    forces = numbers(finite_vector(tau, model.nv, "tau"))
    bodies = model.bodies[1:]
    tree = Tree(
        parent=[int(body.parent) - 1 for body in bodies],
        dofs=[slice(int(body.v_at), int(body.v_at + body.nv)) for body in bodies],
        rotation=[],
        position=[],
        X=[],
        S=[],
        inertia=[rigid_inertia(b.mass, b.com, b.inertia, scalars) for b in bodies],
        velocity=[],
        product=[],
        mass=[float(body.mass) for body in bodies],
        center=[np.array(body.com) for body in bodies],
        moments=[np.array(body.inertia) for body in bodies],
        base=scalars.array([0.0, 0.0, 0.0, *(-model.header.gravity)]),
        tau=forces - scalars.array(model.damping) * speeds - _pulls(model, positions, scalars),
        armature=scalars.array(model.armature),
        dof_parent=[int(dof.parent) for dof in model.dofs],
        scalars=scalars,
    )
    # Placed and moved with their parents, from the root on: parents come first
    rest = scalars.zeros(6)
    for i, body in enumerate(bodies):
        R, p, S, rate = _joint(body, positions, speeds, scalars)
        tree.rotation.append(R)
        tree.position.append(p)
        tree.X.append(motion_transform(R, p, scalars))
        tree.S.append(S)
        moving = S @ speeds[tree.dofs[i]]
        velocity = tree.from_parent(i, tree.velocity, rest) + moving
        tree.velocity.append(velocity)
        tree.product.append(motion_cross(velocity, scalars) @ moving + rate)
    return tree


def _joint(body: Any, q: Array, v: Array, scalars: Scalars) -> tuple[Array, Array, Array, Array]:
    """Rotation and position in the parent, motion subspace S, and Sdot v in the body's frame."""
    turn, shift = scalars.array(np.eye(3)), scalars.zeros(3)
    S, rate = scalars.zeros(6, int(body.nv)), scalars.zeros(6)
    at = int(body.q_at)
    axis = scalars.array(body.axis)
    if body.joint == REVOLUTE:
        turn = _about(axis, q[at], scalars)
        S[:3, 0] = axis
    elif body.joint == PRISMATIC:
        shift = axis * q[at]
        S[3:, 0] = axis
    elif body.joint == SCREW:
        turn, shift = _about(axis, q[at], scalars), scalars.number(body.pitch) * axis * q[at]
        S[:3, 0], S[3:, 0] = axis, scalars.number(body.pitch) * axis
    elif body.joint == SPHERICAL:
        turn = _quaternion_matrix(q[at : at + 4], scalars)
        S[:3] = scalars.array(np.eye(3))
    elif body.joint == FREE:
        # Linear velocity in the joint's frame, which stands still: its S turns under the body
        shift, turn = q[at : at + 3], _quaternion_matrix(q[at + 3 : at + 7], scalars)
        S[3:, :3] = turn.T
        S[:3, 3:] = scalars.array(np.eye(3))
        first = int(body.v_at)
        linear, spin = turn.T @ v[first : first + 3], v[first + 3 : first + 6]
        rate[3:] = -(cross_matrix(spin, scalars) @ linear)
    R = scalars.array(body.rotation)
    return R @ turn, scalars.array(body.position) + R @ shift, S, rate


def _about(axis: Array, angle: Any, scalars: Scalars) -> Array:
    """Rotation about a unit axis (Rodrigues' formula)."""
    s, c = scalars.sine(angle), scalars.cosine(angle)
    across = cross_matrix(axis, scalars)
    one = scalars.number(1.0)
    return scalars.array(np.eye(3)) + s * across + (one - c) * (across @ across)


def _quaternion_matrix(quaternion: Array, scalars: Scalars) -> Array:
    """Rotation matrix of a unit quaternion (w, x, y, z)."""
    w, u = quaternion[0], quaternion[1:]
    across = cross_matrix(u, scalars)
    two = scalars.number(2.0)
    return scalars.array(np.eye(3)) + two * (w * across + across @ across)
