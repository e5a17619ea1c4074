"""Mechanisms whose motion is known in closed form, and the order of the integrator."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from trees import Array, close

from dynenvs.dynamics.aba import aba
from dynenvs.dynamics.crba import crba
from dynenvs.dynamics.energy import totals
from dynenvs.dynamics.rnea import bias_force
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model
from dynenvs.model.parts import free, prismatic, revolute
from dynenvs.simulation.world import World

G = 9.81

# Double pendulum in the x-z plane: angles from the downward vertical, the second relative to the
# first; centre of mass at C on each link, inertia I about it.
M1, M2, L1, C1, C2, I1, I2 = 1.3, 0.7, 0.9, 0.4, 0.35, 0.11, 0.05


def double_pendulum() -> Model:
    builder = ModelBuilder(gravity=(0, 0, -G))
    # Positive about -y: from down (-z) towards +x
    axis = (0, -1, 0)
    builder.body("upper", joint=revolute(axis=axis), mass=M1, com=(0, 0, -C1), inertia=(I1, I1, I1))
    builder.body(
        "lower",
        parent="upper",
        joint=revolute(axis=axis, position=(0, 0, -L1)),
        mass=M2,
        com=(0, 0, -C2),
        inertia=(I2, I2, I2),
    )
    return builder.build()


def closed_mass_matrix(q: Array) -> Array:
    """The textbook's mass matrix (e.g. Murray, Li, Sastry, section 4.2.3, example 4.3)."""
    coupling = M2 * L1 * C2 * np.cos(q[1])
    lower = I2 + M2 * C2**2
    upper = I1 + M1 * C1**2 + M2 * L1**2 + lower + 2 * coupling
    return np.array([[upper, lower + coupling], [lower + coupling, lower]])


def closed_bias(q: Array, v: Array) -> Array:
    """Coriolis and centrifugal terms of the same source, and gravity."""
    k = M2 * L1 * C2 * np.sin(q[1])
    first, second = np.sin(q[0]), np.sin(q[0] + q[1])
    coriolis = np.array([-k * (2 * v[0] + v[1]) * v[1], k * v[0] ** 2])
    lower = M2 * G * C2 * second
    return coriolis + np.array([(M1 * C1 + M2 * L1) * G * first + lower, lower])


def closed_energy(q: Array, v: Array) -> float:
    potential = -M1 * G * C1 * np.cos(q[0])
    potential -= M2 * G * (L1 * np.cos(q[0]) + C2 * np.cos(q[0] + q[1]))
    return float(v @ closed_mass_matrix(q) @ v / 2 + potential)


@pytest.mark.parametrize("seed", range(10))
def test_double_pendulum(seed: int) -> None:
    """Mass matrix, bias force, acceleration and energy against the textbook."""
    rng = np.random.default_rng(seed)
    model = double_pendulum()
    q, v, tau = rng.uniform(-3, 3, 2), rng.normal(size=2) * 3, rng.normal(size=2)
    close(crba(model, q), closed_mass_matrix(q), 1e-14)
    close(bias_force(model, q, v), closed_bias(q, v), 1e-13)
    expected = np.linalg.solve(closed_mass_matrix(q), tau - closed_bias(q, v))
    close(aba(model, q, v, tau), expected, 1e-12)
    close(totals(model, q, v).energy, closed_energy(q, v), 1e-13)


def _true_motion(q: Array, v: Array, times: Array) -> Array:
    def slope(_: float, y: Array) -> Array:
        a = np.linalg.solve(closed_mass_matrix(y[:2]), -closed_bias(y[:2], y[2:]))
        return np.concatenate([y[2:], a])

    y = solve_ivp(slope, (0, times[-1]), [*q, *v], "DOP853", times, rtol=1e-12, atol=1e-12)
    result: Array = y.y.T
    return result


def test_global_order_of_the_integrator_is_one() -> None:
    """Steps halved: the errors of state and energy after 1 s halve, order 1.0 +- 0.1."""
    model = double_pendulum()
    q, v = np.array([1.0, 0.5]), np.array([0.3, -0.2])
    truth = _true_motion(q, v, np.array([0.0, 1.0]))[-1]
    state_errors, energy_errors = [], []
    for k in range(5):
        dt = 2e-3 / 2**k
        world = World(model, timestep=dt)
        world.reset(q, v)
        world.step(steps=round(1.0 / dt))
        state_errors.append(np.linalg.norm(np.concatenate([world.q, world.v]) - truth))
        energy_errors.append(abs(totals(model, world.q, world.v).energy - closed_energy(q, v)))
    for errors in (state_errors, energy_errors):
        orders = np.log2(np.array(errors[:-1]) / errors[1:])
        np.testing.assert_allclose(orders[-3:], 1.0, atol=0.1)


def test_energy_of_a_pendulum_does_not_drift() -> None:
    """Constant mass matrix: semi-implicit Euler is symplectic, its energy only oscillates."""
    builder = ModelBuilder(gravity=(0, 0, -G))
    builder.body("bob", joint=revolute(axis=(0, 1, 0)), mass=1.0, com=(0, 0, -1.0))
    world = World(builder.build(), timestep=1e-3)
    world.reset([2.0])
    start = totals(world.model, world.q, world.v).energy
    errors = np.empty(6000)
    for i in range(6000):  # a minute
        world.step(steps=10)
        errors[i] = totals(world.model, world.q, world.v).energy - start
    assert np.abs(errors).max() < 0.02 * G
    assert abs(errors[-1000:].mean() - errors[:1000].mean()) < 1e-3 * G


def test_energy_of_a_double_pendulum_over_a_minute() -> None:
    """M(q) changes, so the scheme is not symplectic: a drift, small and of first order in dt."""
    model = double_pendulum()
    start = closed_energy(np.array([1.0, 0.5]), np.zeros(2))
    worst = []
    for dt in (1e-3, 5e-4):
        world = World(model, timestep=dt)
        world.reset([1.0, 0.5])
        errors = []
        for _ in range(600):
            world.step(steps=round(0.1 / dt))
            errors.append(closed_energy(world.q, world.v) - start)
        worst.append(np.abs(errors).max())
    swing = M1 * G * C1 + M2 * G * (L1 + C2)
    assert worst[0] < 0.05 * swing
    assert worst[0] / worst[1] == pytest.approx(2.0, rel=0.1)


def test_small_oscillations_have_the_schemes_period() -> None:
    """Semi-implicit Euler turns a harmonic oscillator by 2 asin(w dt / 2) a step, exactly."""
    mass, arm, inertia = 0.8, 0.6, 0.07
    builder = ModelBuilder(gravity=(0, 0, -G))
    builder.body(
        "bob", joint=revolute(axis=(0, 1, 0)), mass=mass, com=(0, 0, -arm), inertia=[inertia] * 3
    )
    dt, steps = 2e-3, 5000
    frequency = np.sqrt(mass * G * arm / (inertia + mass * arm**2))
    turn = 2 * np.arcsin(frequency * dt / 2)
    world = World(builder.build(), timestep=dt)
    world.reset([1e-6])
    angles = [1e-6]
    for _ in range(steps):
        world.step()
        angles.append(float(world.q[0]))
    # q_k of v+ = v - w^2 dt q, q+ = q + dt v+, from rest
    k = np.arange(steps + 1)
    expected = 1e-6 * np.cos((k + 0.5) * turn) / np.cos(turn / 2)
    np.testing.assert_allclose(angles, expected, atol=1e-6 * 1e-8)


def test_large_oscillation_has_the_elliptic_period() -> None:
    """T = 4 K(sin^2(amplitude / 2)) / w for a released pendulum, to first order in dt."""
    from scipy.special import ellipk

    builder = ModelBuilder(gravity=(0, 0, -G))
    builder.body("bob", joint=revolute(axis=(0, 1, 0)), mass=1.0, com=(0, 0, -1.0))
    amplitude, dt = 2.0, 1e-4
    world = World(builder.build(), timestep=dt)
    world.reset([amplitude])
    crossings = []
    for _ in range(80000):
        before = float(world.q[0])
        world.step()
        if before > 0 >= world.q[0]:
            crossings.append(world.time - dt * world.q[0] / (world.q[0] - before))
    period = 4 * ellipk(np.sin(amplitude / 2) ** 2) / np.sqrt(G)
    np.testing.assert_allclose(np.diff(crossings), period, rtol=1e-6)


def test_free_fall_and_flight_are_exact() -> None:
    """v = v0 + g n dt, x = x0 + v0 n dt + g dt^2 n (n + 1) / 2: the scheme's own parabola."""
    builder = ModelBuilder(gravity=(0.3, -0.2, -G))
    builder.body("stone", joint=free(), mass=2.0, inertia=(0.1, 0.2, 0.25))
    dt, n = 3e-3, 700
    world = World(builder.build(), timestep=dt)
    v0, g = np.array([1.0, -2.0, 5.0]), np.array([0.3, -0.2, -G])
    world.reset([0.1, 0.2, 3.0, 1, 0, 0, 0], [*v0, 0.5, -1.0, 2.0])
    world.step(steps=n)
    np.testing.assert_allclose(world.v[:3], v0 + g * n * dt, rtol=1e-13)
    flown = v0 * n * dt + g * dt**2 * n * (n + 1) / 2
    np.testing.assert_allclose(world.q[:3], np.array([0.1, 0.2, 3.0]) + flown, rtol=1e-12)
    assert world.time == pytest.approx(n * dt, rel=1e-12)


def test_spin_about_a_principal_axis_is_constant() -> None:
    """No torque, principal axis: omega constant and the angle omega t, to roundoff."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    builder.body("top", joint=free(), mass=1.0, inertia=(0.3, 0.2, 0.1))
    world = World(builder.build(), timestep=1e-2)
    world.v[5] = 3.0
    world.step(steps=1000)
    np.testing.assert_allclose(world.v, [0, 0, 0, 0, 0, 3.0], atol=1e-14)
    sign = np.sign(world.q[3] * np.cos(15.0))
    expected = np.array([np.cos(15.0), 0, 0, np.sin(15.0)]) * sign
    np.testing.assert_allclose(world.q[3:], expected, atol=1e-12)


def test_symmetric_top_precesses() -> None:
    """Euler's equations of a symmetric top: the transverse spin turns at w_z (I_z - I_x) / I_x.

    Nothing pushes: what is left are parts of free turns, which are of second order.
    """
    builder = ModelBuilder(gravity=(0, 0, 0))
    builder.body("top", joint=free(), mass=1.0, inertia=(0.2, 0.2, 0.3))
    errors = []
    for dt in (1e-3, 5e-4):
        world = World(builder.build(), timestep=dt)
        world.v[3:] = 0.5, 0.0, 4.0
        world.step(steps=round(1.0 / dt))
        rate = 4.0 * (0.3 - 0.2) / 0.2
        truth = [0.5 * np.cos(rate), 0.5 * np.sin(rate), 4.0]
        errors.append(np.abs(world.v[3:] - truth).max())
    assert errors[0] < 1e-6
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


def test_damping_and_armature_are_implicit() -> None:
    """One slider: v+ = (m + armature) v / (m + armature + dt d), implicit damping exactly."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    builder.body("car", joint=prismatic(armature=0.5, damping=40.0), mass=1.5)
    world = World(builder.build(), timestep=0.1)
    world.v[0] = 2.0
    world.step(steps=5)
    assert world.v[0] == pytest.approx(2.0 * (2.0 / (2.0 + 0.1 * 40.0)) ** 5, rel=1e-13)
