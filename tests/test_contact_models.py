"""Springs, integrated impulses and micro-collisions: what theory says of each."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scenes import G, ball, block, tilted_gravity

from dynenvs.model.model import Model
from dynenvs.reference.contact_models import Penalty, collide, simulate_microcollisions, touching
from dynenvs.reference.integrators import FIXED_STEP, INTEGRATORS, simulate


def dropped_ball(height: float = 0.5) -> tuple[Model, np.ndarray, np.ndarray]:
    """A ball of radius 0.1 m and mass 0.7 kg above the floor, at rest."""
    model = ball().model
    q = model.neutral()
    q[2] = 0.1 + height
    return model, q, np.zeros(6)


def random_L(rng: np.random.Generator) -> np.ndarray:
    """An inverse inertia at a contact: positive definite."""
    A = rng.normal(size=(3, 5))
    return A @ A.T + 0.05 * np.eye(3)


def test_touching_sees_what_the_world_sees() -> None:
    """Gap, normal and velocity of a ball above and in the floor."""
    model, q, v = dropped_ball(-0.002)
    v[:] = 0.3, 0.1, -0.5, 1.0, -2.0, 0.4
    (touch,) = touching(model, q)
    assert touch.gap == pytest.approx(-0.002)
    assert touch.axes[2] == pytest.approx([0, 0, 1])
    velocity = touch.axes.T @ (touch.jacobian @ v)
    arm = np.array([0, 0, -0.1]) + np.array([0, 0, 0.001])
    np.testing.assert_allclose(velocity, v[:3] + np.cross(v[3:], arm), atol=2e-3)
    assert touching(model, dropped_ball(0.1)[1]) == []


def test_a_linear_spring_carries_a_weight_at_its_depth() -> None:
    """At rest the depth is m g / k."""
    model, q, v = dropped_ball(0.0)
    spring = Penalty(model, stiffness=2e4, damping=200.0)
    done = simulate(model, q, v, 0.2, method="rk4", dt=1e-3, tau=spring)
    assert 0.1 - done.q[-1, 2] == pytest.approx(0.7 * G / 2e4, rel=1e-4)


@pytest.mark.parametrize("method", [m for m in INTEGRATORS if m != "lcp"])
def test_every_integrator_bears_contact_by_springs(method: str) -> None:
    """A ball set down on the floor comes to rest m g / k deep, whatever integrates it."""
    model, q, v = dropped_ball(0.0)
    setting = {"dt": 1e-3} if method in FIXED_STEP else {"tolerance": 1e-6}
    spring = Penalty(model, stiffness=2e4, damping=200.0)
    done = simulate(model, q, v, 0.1, method=method, tau=spring, **setting)
    assert 0.1 - done.q[-1, 2] == pytest.approx(0.7 * G / 2e4, rel=1e-2)
    assert done.evaluations >= 50


@pytest.mark.parametrize("e", [0.3, 0.6, 1.0])
def test_two_springs_return_e_of_the_speed(e: float) -> None:
    """e^2 k, not the source's e k, gives the velocity ratio e (hardly any gravity)."""
    model = ball(gravity=(0, 0, -1e-6)).model
    q, v = dropped_ball(0.0)[1:]
    v[2] = -2.0
    spring = Penalty(model, stiffness=5e4, damping=e, law="two_springs")
    done = simulate(model, q, v, 0.05, method="rk4", dt=1e-4, tau=spring)
    assert touching(model, done.q[-1]) == []
    assert done.v[-1, 2] == pytest.approx(2.0 * e, rel=0.01)


def test_a_nonlinear_spring_loses_more_the_faster_it_is_hit() -> None:
    """Hunt and Crossley: 1 - e is about 2/3 a v for slow impacts."""
    model, q, v = dropped_ball(0.0)
    losses = []
    for speed in (0.2, 0.4):
        v[2] = -speed
        spring = Penalty(model, stiffness=5e6, damping=0.3, law="nonlinear")
        done = simulate(model, q, v, 0.02, method="rk4", dt=5e-5, tau=spring)
        losses.append(1 - done.v[:, 2].max() / speed)
    assert losses[0] == pytest.approx(2 / 3 * 0.3 * 0.2, rel=0.25)
    assert losses[1] > 1.6 * losses[0]


def test_penalty_friction_creeps_where_it_should_stick() -> None:
    """At half the friction angle: speed tan(theta) s / mu, where the LCP stands still."""
    slope = np.arctan(0.25)
    model = block(gravity=tilted_gravity(slope), friction=0.5).model
    q = model.neutral()
    q[2] = 0.05
    spring = Penalty(model, stiffness=2e4, damping=300.0, slip=5e-3)
    done = simulate(model, q, np.zeros(6), 0.1, method="rk4", dt=5e-4, tau=spring)
    assert done.v[-1, 0] == pytest.approx(5e-3 * np.tan(slope) / 0.5, rel=0.02)


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), e=st.floats(0.0, 1.0))
def test_a_frictionless_impact_is_newton_s(seed: int, e: float) -> None:
    """Poisson's hypothesis without friction: u_n+ = -e u_n."""
    rng = np.random.default_rng(seed)
    L, u = random_L(rng), rng.normal(size=3)
    u[2] = -abs(u[2]) - 0.01
    impact = collide(L, u, 0.0, e)
    assert impact.velocity[2] == pytest.approx(-e * u[2], abs=1e-10)
    np.testing.assert_allclose(impact.velocity, u + L @ impact.impulse, atol=1e-10)
    assert impact.impulse[:2] == pytest.approx([0, 0])


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), e=st.floats(0.0, 1.0), friction=st.floats(0.0, 2.0))
def test_impacts_obey_the_laws(seed: int, e: float, friction: float) -> None:
    """No approach after, impulse in the cone, p = (1 + e) p_c, no energy made."""
    rng = np.random.default_rng(seed)
    L, u = random_L(rng), rng.normal(size=3)
    u[2] = -abs(u[2]) - 0.01
    impact = collide(L, u, friction, e)
    p = impact.impulse
    assert impact.velocity[2] >= -1e-12
    assert np.hypot(p[0], p[1]) <= friction * p[2] * (1 + 1e-9)
    assert p[2] == pytest.approx((1 + e) * impact.compression)
    np.testing.assert_allclose(impact.velocity, u + L @ p, atol=1e-9 * np.abs(u).max())
    inertia = np.linalg.inv(L)
    energy = [w @ inertia @ w / 2 for w in (u, u + L @ p)]
    assert energy[1] <= energy[0] * (1 + 1e-3) + 1e-12


def test_a_sticking_impact_ends_without_slip() -> None:
    """Much friction: a point mass stops dead, a slow slip stays stopped through restitution."""
    impact = collide(np.eye(3), np.array([0.3, 0.1, -1.0]), 2.0, 0.5)
    np.testing.assert_allclose(impact.velocity, [0, 0, 0.5], atol=1e-9)
    np.testing.assert_allclose(impact.impulse, [-0.3, -0.1, 1.5], atol=1e-9)


def test_a_sliding_impact_keeps_its_heading() -> None:
    """A point mass that slides through: u_t falls by mu (1 + e) u_n."""
    impact = collide(np.eye(3), np.array([3.0, 4.0, -1.0]), 0.5, 0.2)
    speed = 5.0 - 0.5 * 1.2
    np.testing.assert_allclose(impact.velocity, [0.6 * speed, 0.8 * speed, 0.2], atol=1e-9)


def test_microcollisions_hold_a_ball_up() -> None:
    """It trembles within the shell and never sinks."""
    model, q, v = dropped_ball(0.01)
    done = simulate_microcollisions(model, q, v, 0.3, dt=5e-4, shell=1e-4)
    late = done.q[300:, 2] - 0.1
    assert late.min() > -2e-4
    assert late.max() < 2e-3
    assert done.impacts > 10


def test_errors_say_what_would_be_right() -> None:
    model, q, v = dropped_ball()
    with pytest.raises(ValueError, match="unknown law 'rubber'; choose from: linear, nonlinear"):
        Penalty(model, 1.0, law="rubber")
    with pytest.raises(ValueError, match="stiffness and slip must be positive"):
        Penalty(model, -1.0)
    with pytest.raises(ValueError, match="restitution between 0 and 1"):
        collide(np.eye(3), np.zeros(3), 0.5, 2.0)
    with pytest.raises(ValueError, match="duration, dt and shell must be positive"):
        simulate_microcollisions(model, q, v, 1.0, dt=0.0)
