"""Kinematics for users, against finite differences along the flow and the world's own motion."""

from __future__ import annotations

import numpy as np
import pytest

from dynenvs import ModelBuilder, fixed, frames, free, point_bias, point_jacobian, revolute
from dynenvs.kinematics.joints import integrate
from dynenvs.memory.layout import open_model
from dynenvs.model.model import Model


def _arm() -> tuple[Model, np.ndarray, np.ndarray]:
    builder = ModelBuilder()
    builder.body("base", joint=free(), mass=2.0, inertia=(0.2, 0.3, 0.4))
    builder.body(
        "upper",
        parent="base",
        joint=revolute(axis=(0.3, 1.0, -0.2), position=(0.1, 0.2, -0.3)),
        mass=1.0,
        inertia=(0.1, 0.1, 0.05),
    )
    builder.body("tool", parent="upper", joint=fixed(position=(0.0, 0.1, -0.5)), mass=0.2)
    model = builder.build()
    rng = np.random.default_rng(5)
    q = model.neutral() + 0.3 * rng.normal(size=model.nq)
    q[3:7] /= np.linalg.norm(q[3:7])
    return model, q, rng.normal(size=model.nv)


def _moved(model: Model, q: np.ndarray, v: np.ndarray, dt: float) -> np.ndarray:
    out = np.zeros(model.nq)
    integrate(open_model(model.packed), q, v, dt, out)
    return out


@pytest.mark.parametrize("body", ["base", "upper", "tool"])
def test_jacobian_gives_the_points_velocity(body: str) -> None:
    """J v is the finite difference of the point's position along v."""
    model, q, v = _arm()
    point = np.array([0.1, -0.2, 0.3])
    i, step = model.body_id(body), 1e-6

    def place(at: np.ndarray) -> np.ndarray:
        pose = frames(model, at)
        return pose.positions[i] + pose.rotations[i] @ point

    change = place(_moved(model, q, v, step)) - place(_moved(model, q, v, -step))
    assert point_jacobian(model, q, body, point) @ v == pytest.approx(change / (2 * step), abs=1e-8)


@pytest.mark.parametrize("body", ["base", "upper", "tool"])
def test_bias_is_jdot_v(body: str) -> None:
    """At zero joint acceleration the point accelerates by the change of J v along the flow."""
    model, q, v = _arm()
    point = np.array([0.1, -0.2, 0.3])
    step = 1e-6
    after = point_jacobian(model, _moved(model, q, v, step), body, point) @ v
    before = point_jacobian(model, _moved(model, q, v, -step), body, point) @ v
    found = point_bias(model, q, v, body, point)
    assert found == pytest.approx((after - before) / (2 * step), abs=1e-7)


def test_velocities_agree_with_the_jacobian() -> None:
    """A body's linear velocity is that of its origin; the world rests."""
    model, q, v = _arm()
    found = frames(model, q, v)
    for name in ("base", "upper", "tool"):
        expected = point_jacobian(model, q, name) @ v
        assert found.linear[model.body_id(name)] == pytest.approx(expected, abs=1e-12)
    assert not found.linear[0].any()
    assert not found.angular[0].any()


def test_wrong_arguments_are_named() -> None:
    """Unknown bodies and bad points raise errors that say so."""
    model, q, _ = _arm()
    with pytest.raises(KeyError, match="unknown body 'hand'"):
        point_jacobian(model, q, "hand")
    with pytest.raises(ValueError, match="point"):
        point_jacobian(model, q, "tool", (0.0, np.nan, 0.0))
