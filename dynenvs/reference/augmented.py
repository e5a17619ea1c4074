"""The fully-augmented model: every body free, every joint of the tree a bilateral constraint.

Dynamics in minimal coordinates (and with loops on top: the tree-augmented model,
`ModelBuilder.close`) has a coordinate for each freedom; here each body has six, and the joints are
rows J_b V = 0, which the multipliers of Jain et al. 2012, eq. (34) enforce.  Both describe the same
motion: given the velocity products a_os = dJ/dt theta' of the tree as a force (see `carried`), the
velocities of a step are equal from the same state (docs/theory.md, Fully augmented form).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from dynenvs.dynamics.jacobians import frames, point_bias
from dynenvs.memory.layout import Floats
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.closures import Closures, Loop
from dynenvs.model.model import Model
from dynenvs.model.parts import Body, ModelError, free, rotation3, rotation_to, unit3, vector3
from dynenvs.simulation.world import World


def fully_augmented(tree: Model, parts: ModelBuilder, *, sparse: bool = True) -> Model:
    """The same scene with free bodies and bilateral joints.

    Args:
        tree: the model in minimal coordinates.
        parts: the builder that made it.
        sparse: whether the zeros of the constraints' matrices are left out; False computes with all
            of them, as a solver does that knows nothing of the chain.

    Returns a model with the same bodies, geoms and contact features, in the same order.

    Raises:
        ModelError: a joint is a screw, or has a stop, spring, damping or armature, which free
            bodies do not have; a body lacks mass or a moment of inertia, which free ones need.
    """
    bodies, geoms, contacts = parts.sorted_parts()
    for body in bodies:
        if not (body.mass > 0.0 and np.linalg.eigvalsh(body.inertia)[0] > 0.0):
            raise ModelError(f"body {body.name!r} turns without inertia or moves without mass")
    # Each joint becomes a loop between two bodies that were freed
    by_name = {body.name: body for body in bodies}
    loops = list(tree.closures.loops)
    loops += [
        _hinge(body, by_name.get(body.parent)) for body in bodies if body.joint.type != "free"
    ]
    freed = [
        body if body.joint.type == "free" else replace(body, joint=free(), parent="world")
        for body in bodies
    ]
    return Model(
        freed,
        geoms,
        contacts,
        gravity=parts.gravity,
        options=parts.contact_options,
        max_contacts=parts.max_contacts,
        closures=Closures(tuple(loops), sparse),
    )


def _hinge(body: Body, parent: Body | None) -> Loop:
    """The tree's joint of a body as a constraint; its z axis is the joint's axis."""
    joint = body.joint
    if joint.type == "screw":
        raise ModelError(f"joint of {body.name!r}: a fully-augmented model has no screws")
    resisted = joint.damping or joint.armature or joint.stiffness
    if resisted or np.isfinite(joint.limits).any():
        raise ModelError(
            f"joint of {body.name!r}: a fully-augmented model has no springs, damping, armature or "
            "limits"
        )
    rotation = rotation3(joint.rotation, f"rotation of the joint of {body.name!r}")
    position = vector3(joint.position, f"position of the joint of {body.name!r}")
    if parent is not None:  # joints attach behind the parent's tip
        position = parent.tip_rotation @ position + parent.tip_position
        rotation = parent.tip_rotation @ rotation
    # A loop's axis is z: its frame is turned until z is the joint's
    axis = np.eye(3)
    if joint.type in ("revolute", "prismatic"):
        axis = rotation_to(unit3(joint.axis, f"axis of the joint of {body.name!r}"))
    return Loop(
        f"joint of {body.name}",
        joint.type,
        body.name,
        body.parent,
        np.zeros(3),
        position,
        axis,
        rotation @ axis,
    )


def freed_state(tree: Model, q: ArrayLike, v: ArrayLike) -> tuple[Floats, Floats]:
    """Positions, shape (7 nb,), and velocities, shape (6 nb,), of the freed bodies.

    Args:
        tree: the model in minimal coordinates; its bodies that are free have no frame of their own.
        q, v: its state, shapes (nq,) and (nv,).
    """
    found = frames(tree, q, v)
    turns = Rotation.from_matrix(found.rotations[1:])
    quaternions = np.roll(turns.as_quat(), 1, axis=1)  # w first
    spins = turns.inv().apply(found.angular[1:])  # body axes
    positions = np.hstack([found.positions[1:], quaternions])
    return positions.ravel(), np.hstack([found.linear[1:], spins]).ravel()


def carried(tree: Model, q: ArrayLike, v: ArrayLike) -> Floats:
    """-M a_os: the velocity products as wrenches on the freed bodies, shape (nb, 6).

    (moment; force) at the centres of mass, world axes.  With them the velocity that a step of the
    freed bodies ends with is J theta', J at the step's start, where without them it would be
    J theta' + dt a_os: only then do both models put the same question to their contacts.
    """
    found = frames(tree, q, v)
    wrenches = np.zeros((len(tree.body_names), 6))
    for i, name in enumerate(tree.body_names[1:], 1):
        body, R, omega = tree.bodies[i], found.rotations[i], found.angular[i]
        start = point_bias(tree, q, v, name)
        turn = np.zeros(3)  # angular part: a(r) - a(0) - omega x (omega x r) = turn x r
        for k in range(3):
            r = R[:, k]
            rest = point_bias(tree, q, v, name, np.eye(3)[k]) - start
            turn += 0.5 * np.cross(r, rest - np.cross(omega, np.cross(omega, r)))
        wrenches[i, :3] = -R @ body.inertia @ R.T @ turn
        wrenches[i, 3:] = -body.mass * (start + np.cross(turn, R @ body.com))
    return wrenches


def tree_twists(tree: Model, q: ArrayLike, v: ArrayLike) -> Floats:
    """Velocities (of the origin; angular) that J(q) v gives the bodies, world axes, (nb, 6)."""
    found = frames(tree, q, v)
    return np.hstack([found.linear[1:], found.angular[1:]])


def freed_twists(world: World, q: ArrayLike) -> Floats:
    """The same of the freed bodies after a step from q: what the step's problem was solved by.

    The velocity that the step left is turned into the joints' new directions already: that turn
    (see `dynenvs.contact.assembly.loops`) is taken back.
    """
    model = world.model
    curve = world._handle.closure.curve
    v = (world.v - curve).reshape(-1, 6)
    spins = np.einsum("nij,nj->ni", frames(model, q).rotations[1:], v[:, 3:])
    return np.hstack([v[:, :3], spins])
