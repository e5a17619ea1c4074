"""The same random trees in Pinocchio, an independent code, at 1e-10.

Built from the links' descriptions, not from the packed model.  Conventions differ in three ways:
quaternions are (x, y, z, w) there, a free joint's linear velocity is in the body's axes there and
in the joint frame's here, and fixed joints and Denavit-Hartenberg frames are composed by hand.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from trees import Array, Link, Opened, Tree, close

from dynenvs.dynamics.aba import aba
from dynenvs.dynamics.crba import crba
from dynenvs.dynamics.energy import totals
from dynenvs.dynamics.rnea import rnea

pin: Any = pytest.importorskip("pinocchio")


def _dh(a: float = 0.0, alpha: float = 0.0, d: float = 0.0, theta: float = 0.0) -> Any:
    """Rot_z(theta) Trans_z(d) Trans_x(a) Rot_x(alpha)."""

    def turn(axis: str, angle: float) -> Any:
        return pin.SE3(pin.utils.rotate(axis, angle), np.zeros(3))

    def shift(*x: float) -> Any:
        return pin.SE3(np.eye(3), np.array(x))

    return turn("z", theta) * shift(0, 0, d) * shift(a, 0, 0) * turn("x", alpha)


class Twin(NamedTuple):
    """A tree in Pinocchio, and where its coordinates and bodies are."""

    tree: Tree
    model: Any
    data: Any
    joints: dict[str, int]  # Pinocchio's joint of each moving link
    frames: dict[str, tuple[int, Any]]  # joint and placement of each link's body frame

    def pairs(self) -> list[tuple[Link, Any, Any]]:
        """(link, our body record, Pinocchio's joint) of each moving link."""
        ours = self.tree.model
        return [
            (link, ours.bodies[ours.body_id(link.name)], self.model.joints[self.joints[link.name]])
            for link in self.tree.links
            if link.kind != "fixed"
        ]

    def q(self, q: Array) -> Array:
        """Our positions as Pinocchio's."""
        out = np.zeros(self.model.nq)
        for link, body, joint in self.pairs():
            part = q[body.q_at : body.q_at + joint.nq]
            if link.kind in ("spherical", "free"):
                part = np.concatenate([part[:-4], part[-3:], part[-4:-3]])
            out[joint.idx_q : joint.idx_q + joint.nq] = part
        return out

    def velocity_map(self, q: Array) -> Array:
        """T with v_theirs = T v_ours."""
        T = np.zeros((self.model.nv, self.model.nv))
        for link, body, joint in self.pairs():
            block = np.eye(joint.nv)
            if link.kind == "free":
                w, x, y, z = q[body.q_at + 3 : body.q_at + 7]
                block[:3, :3] = pin.Quaternion(w, x, y, z).matrix().T
            rows, columns = slice(joint.idx_v, joint.idx_v + joint.nv), body.v_at
            T[rows, columns : columns + joint.nv] = block
        return T

    def velocity_map_drift(self, v: Array, T: Array) -> Array:
        """Tdot v: d/dt (R^T xdot) has -w x (R^T xdot) beside R^T xddot."""
        out, theirs = np.zeros(self.model.nv), T @ v
        for link, _, joint in self.pairs():
            if link.kind == "free":
                at = joint.idx_v
                out[at : at + 3] = -np.cross(theirs[at + 3 : at + 6], theirs[at : at + 3])
        return out


def _joint_model(link: Link) -> Any:
    if link.kind == "revolute":
        return pin.JointModelRevoluteUnaligned(link.axis)
    if link.kind == "prismatic":
        return pin.JointModelPrismaticUnaligned(link.axis)
    if link.kind == "screw":
        return pin.JointModelHelicalUnaligned(link.axis, link.pitch)
    simple = {
        "spherical": pin.JointModelSpherical,
        "free": pin.JointModelFreeFlyer,
        "dh_revolute": pin.JointModelRZ,
        "dh_prismatic": pin.JointModelPZ,
    }
    return simple[link.kind]()


def twin(tree: Tree) -> Twin:
    """The tree in Pinocchio, joints added depth first as its algorithms expect."""
    model = pin.Model()
    model.gravity.linear = np.array(tree.model.header.gravity)
    joints: dict[str, int] = {}
    # Joint and placement of the frame that children attach to, and of the body frame
    tips: dict[str, tuple[int, Any]] = {"world": (0, pin.SE3.Identity())}
    frames: dict[str, tuple[int, Any]] = {}

    def add(link: Link) -> None:
        at, placement = tips[link.parent]
        frame = tip = pin.SE3.Identity()
        if link.kind == "fixed":
            frame = tip = placement * pin.SE3(link.rotation, link.position)
        else:
            if link.kind == "dh_revolute":  # the joint turns before the row's product
                tip = _dh(**link.dh)
            elif link.kind == "dh_prismatic":
                # Rot_z(theta) first, so that the joint slides along the turned z
                placement = placement * _dh(theta=link.dh["theta"])
                tip = _dh(**{**link.dh, "theta": 0.0})
            else:
                placement = placement * pin.SE3(link.rotation, link.position)
            at = model.addJoint(at, _joint_model(link), placement, link.name)
            joints[link.name] = at
        inertia = pin.Inertia(link.mass, link.com, link.inertia)
        model.appendBodyToJoint(at, inertia, tip)
        tips[link.name], frames[link.name] = (at, tip), (at, frame)
        for child in tree.links:
            if child.parent == link.name:
                add(child)

    for link in tree.links:
        if link.parent == "world":
            add(link)
    return Twin(tree, model, model.createData(), joints, frames)


def test_poses_agree(tree: Tree) -> None:
    """Rotation and position of each link's far end, DH rows composed as transforms."""
    other, view_q = twin(tree), tree.state()[0]
    pin.forwardKinematics(other.model, other.data, other.q(view_q))
    view = Opened(tree.model, view_q)
    for link in tree.links:
        if link.kind.startswith("dh_"):
            continue  # their body frame is our choice; their children's poses are compared
        joint, placement = other.frames[link.name]
        world = other.data.oMi[joint] * placement
        R, p = view.pose(tree.model.body_id(link.name))
        close(R, world.rotation, 1e-12)
        close(p, world.translation, 1e-12)


def test_inverse_dynamics_agrees(tree: Tree) -> None:
    """RNEA: tau_ours = T^T tau_theirs, a_theirs = T a + Tdot v."""
    other = twin(tree)
    q, v = tree.state()
    a = tree.rng.normal(size=tree.model.nv)
    T = other.velocity_map(q)
    theirs = pin.rnea(
        other.model, other.data, other.q(q), T @ v, T @ a + other.velocity_map_drift(v, T)
    )
    close(rnea(tree.model, q, v, a), T.T @ theirs)


def test_mass_matrix_agrees(tree: Tree) -> None:
    """CRBA: M_ours = T^T M_theirs T, plus armature."""
    other = twin(tree)
    q, _ = tree.state()
    T = other.velocity_map(q)
    upper = np.triu(pin.crba(other.model, other.data, other.q(q)))
    M = upper + np.triu(upper, 1).T
    close(crba(tree.model, q), T.T @ M @ T + np.diag(tree.model.armature))


def test_forward_dynamics_agrees(tree: Tree) -> None:
    """ABA, with armature as Pinocchio's own; damping as a force."""
    other = twin(tree)
    q, v = tree.state()
    tau = tree.rng.normal(size=tree.model.nv)
    T = other.velocity_map(q)
    armature = np.zeros(tree.model.nv)
    for link, _, joint in other.pairs():
        armature[joint.idx_v : joint.idx_v + joint.nv] = link.armature
    other.model.armature = armature
    drift = other.velocity_map_drift(v, T)
    # Their armature multiplies a_theirs = T a + Tdot v, ours a alone.
    force = np.linalg.solve(T.T, tau - tree.model.damping * v) + armature * drift
    data = other.model.createData()
    theirs = pin.aba(other.model, data, other.q(q), T @ v, force)
    close(aba(tree.model, q, v, tau), np.linalg.solve(T, theirs - drift))


def test_totals_agree(tree: Tree) -> None:
    """Centre of mass, energies and momentum (theirs about the centre of mass)."""
    other = twin(tree)
    q, v = tree.state()
    T = other.velocity_map(q)
    model, data, their_q, their_v = other.model, other.data, other.q(q), T @ v
    ours = totals(tree.model, q, v)
    close(ours.mass, pin.computeTotalMass(model))
    com = pin.centerOfMass(model, data, their_q, their_v).copy()
    close(ours.center_of_mass, com)
    close(ours.potential, pin.computePotentialEnergy(model, data, their_q))
    rotor = v @ (tree.model.armature * v) / 2
    close(ours.kinetic - rotor, pin.computeKineticEnergy(model, data, their_q, their_v))
    h = pin.computeCentroidalMomentum(model, data, their_q, their_v)
    close(ours.momentum[3:], h.linear)
    close(ours.momentum[:3], h.angular + np.cross(com, h.linear))
