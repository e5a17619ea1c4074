"""Joints one by one: poses, motion subspaces and updates, against scipy's rotations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from trees import Array, Opened, close, minus, plus, random_q

from dynenvs.kinematics.joints import normalise
from dynenvs.memory.layout import open_model
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model
from dynenvs.model.parts import Joint, prismatic, revolute

AXIS = np.array([0.48, -0.6, 0.64])  # unit
ROTATION = Rotation.from_rotvec([0.3, -0.8, 0.5])
POSITION = np.array([0.4, -0.2, 0.7])


def one_joint(kind: str, **options: Any) -> Model:
    """A body on one joint, placed in the world at ROTATION, POSITION."""
    builder = ModelBuilder()
    joint = Joint(kind, axis=AXIS, position=POSITION, rotation=ROTATION.as_matrix(), **options)
    builder.body("body", joint=joint, mass=1.0, com=(0.1, 0.2, 0.3), inertia=(0.2, 0.3, 0.4))
    return builder.build()


def scipy_rotation(quaternion: Array) -> Rotation:
    w, x, y, z = quaternion
    return Rotation.from_quat([x, y, z, w])


def joint_transform(kind: str, q: Array) -> tuple[Rotation, Array]:
    """Rotation and translation of the joint itself, by definition."""
    zero = np.zeros(3)
    if kind == "revolute":
        return Rotation.from_rotvec(AXIS * q[0]), zero
    if kind == "prismatic":
        return Rotation.identity(), AXIS * q[0]
    if kind == "spherical":
        return scipy_rotation(q), zero
    if kind == "free":
        return scipy_rotation(q[3:]), q[:3]
    return Rotation.identity(), zero


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "spherical", "free", "fixed"])
def test_pose(kind: str) -> None:
    """R = R_joint_frame R_joint, p = p_joint_frame + R_joint_frame p_joint."""
    model = one_joint(kind)
    rng = np.random.default_rng(1)
    for _ in range(5):
        q = random_q(model, rng)
        turn, shift = joint_transform(kind, q)
        R, p = Opened(model, q).pose(1)
        close(R, (ROTATION * turn).as_matrix(), 1e-14)
        close(p, POSITION + ROTATION.apply(shift), 1e-14)


@pytest.mark.parametrize(
    ("kind", "nq", "nv"),
    [("fixed", 0, 0), ("revolute", 1, 1), ("prismatic", 1, 1), ("spherical", 4, 3), ("free", 7, 6)],
)
def test_sizes_and_neutral_configuration(kind: str, nq: int, nv: int) -> None:
    """Numbers of coordinates; at the neutral one the body is where its joint frame is."""
    model = one_joint(kind)
    assert (model.nq, model.nv) == (nq, nv)
    R, p = Opened(model, model.neutral()).pose(1)
    close(R, ROTATION.as_matrix(), 1e-14)
    close(p, POSITION, 1e-14)


def test_velocity_conventions_of_a_free_joint() -> None:
    """v: linear velocity in the joint frame's axes, angular velocity in the body's frame."""
    model = one_joint("free")
    rng = np.random.default_rng(2)
    q, v = random_q(model, rng), rng.normal(size=6)
    view = Opened(model, q, v)
    R, p = view.pose(1)
    close(view.point_velocity(1, p), ROTATION.apply(v[:3]), 1e-13)
    close(view.spin_jacobian(1) @ v, R @ v[3:], 1e-13)


def test_velocity_convention_of_a_ball_joint() -> None:
    """v: angular velocity in the body's frame; the joint's centre stands still."""
    model = one_joint("spherical")
    rng = np.random.default_rng(3)
    q, v = random_q(model, rng), rng.normal(size=3)
    view = Opened(model, q, v)
    R, p = view.pose(1)
    close(view.spin_jacobian(1) @ v, R @ v, 1e-13)
    close(view.point_velocity(1, p), np.zeros(3), 1e-14)


@pytest.mark.parametrize("angle", [0.0, 1e-300, 1e-12, 1e-8, 1e-4, 0.99e-4, 0.3, 3.0, 50.0])
def test_quaternions_turn_by_the_exponential_map(angle: float) -> None:
    """q (+) r = q exp(r): scipy's composition, unit length kept, from tiny to many turns."""
    model = one_joint("spherical")
    rng = np.random.default_rng(4)
    q = random_q(model, rng)
    axis = rng.normal(size=3)
    r = axis / np.linalg.norm(axis) * angle
    out = plus(model, q, r)
    assert np.linalg.norm(out) == pytest.approx(1.0, abs=1e-15)
    expected = (scipy_rotation(q) * Rotation.from_rotvec(r)).as_matrix()
    close(scipy_rotation(out).as_matrix(), expected, 1e-14)


@pytest.mark.parametrize("angle", [0.0, 1e-13, 1e-9, 1e-4, 1.0, 3.0, np.pi - 1e-9, np.pi - 1e-4])
def test_difference_is_the_rotation_vector(angle: float) -> None:
    """q1 (-) q0 = log(q0^-1 q1) up to half a turn, whatever the quaternions' signs."""
    model = one_joint("spherical")
    rng = np.random.default_rng(5)
    q0 = random_q(model, rng)
    axis = rng.normal(size=3)
    r = axis / np.linalg.norm(axis) * angle
    x, y, z, w = (scipy_rotation(q0) * Rotation.from_rotvec(r)).as_quat()
    for sign in (1, -1):
        out = minus(model, sign * np.array([w, x, y, z]), q0)
        np.testing.assert_allclose(out, r, rtol=1e-12, atol=1e-14)


def test_normalise() -> None:
    """Quaternions get unit length and keep their direction; other coordinates stay."""
    model = one_joint("free")
    q = random_q(model, np.random.default_rng(6))
    scaled = q.copy()
    scaled[3:] *= 1.7
    normalise(open_model(model.packed), scaled)
    close(scaled, q, 1e-15)


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_dh_chain(kind: str) -> None:
    """Rot_z(theta) Trans_z(d) Trans_x(a) Rot_x(alpha), multiplied out for a chain of three."""
    rng = np.random.default_rng(7)
    rows = [dict(zip(("a", "alpha", "d", "theta"), rng.normal(size=4), strict=True)) for _ in "123"]
    builder = ModelBuilder()
    joint = revolute() if kind == "revolute" else prismatic()
    parent = "world"
    for i, row in enumerate(rows):
        builder.dh_link(f"l{i}", parent=parent, joint=joint, mass=1.0, inertia=(1, 1, 1), **row)
        parent = f"l{i}"
    builder.body("tool", parent=parent, mass=0.1)
    model = builder.build()
    q = rng.normal(size=3)
    A = np.eye(4)
    for row, coordinate in zip(rows, q, strict=True):
        theta = row["theta"] + (coordinate if kind == "revolute" else 0.0)
        d = row["d"] + (coordinate if kind == "prismatic" else 0.0)
        ct, st, ca, sa = np.cos(theta), np.sin(theta), np.cos(row["alpha"]), np.sin(row["alpha"])
        A = A @ np.array(
            [
                [ct, -st * ca, st * sa, row["a"] * ct],
                [st, ct * ca, -ct * sa, row["a"] * st],
                [0, sa, ca, d],
                [0, 0, 0, 1],
            ]
        )
    R, p = Opened(model, q).pose(model.body_id("tool"))
    close(R, A[:3, :3], 1e-14)
    close(p, A[:3, 3], 1e-14)


def test_axis_is_scaled_to_unit_length() -> None:
    """An axis of any length means its direction: the angle stays an angle."""
    builder = ModelBuilder()
    builder.body("b", joint=revolute(axis=(0, 0, 7.0)), mass=1.0, inertia=(1, 1, 1))
    R, _ = Opened(builder.build(), np.array([0.5])).pose(1)
    close(R, Rotation.from_rotvec([0, 0, 0.5]).as_matrix(), 1e-15)
