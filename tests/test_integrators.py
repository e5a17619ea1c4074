"""Integrators: their orders, what they make of energy, and what they cost."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trees import Array, close, derivative, random_tree

from dynenvs.dynamics.energy import totals
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model
from dynenvs.model.parts import free, revolute, spherical
from dynenvs.reference.integrators import (
    FIXED_STEP,
    INTEGRATORS,
    SCIPY,
    Euclidean,
    IntegrationError,
    TreeSystem,
    energies_along,
    simulate,
    simulate_system,
)
from dynenvs.reference.methods import METHODS

ORDERS = {
    "explicit_euler": 1,
    "semi_implicit_euler": 1,
    "implicit_euler_fixed_point": 1,
    "implicit_euler_newton": 1,
    "rk4": 4,
}


@cache
def double_pendulum() -> Model:
    """Two rods that swing in the x-z plane."""
    builder = ModelBuilder(directions=2)
    for name, parent in (("upper", "world"), ("lower", "upper")):
        builder.body(
            name,
            parent=parent,
            joint=revolute(axis=(0, 1, 0), position=(0, 0, -1.0 if parent == "upper" else 0)),
            mass=1.0,
            com=(0, 0, -0.5),
            inertia=(0.1, 0.1, 0.02),
        )
    return builder.build()


@cache
def tumbling_chain() -> Model:
    """A free body with a ball joint: quaternions twice, no gravity."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    builder.body("one", joint=free(), mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.2, 0.25))
    builder.body(
        "two",
        parent="one",
        joint=spherical(position=(0.5, 0.1, 0)),
        mass=0.5,
        com=(0, 0.3, 0.1),
        inertia=(0.05, 0.08, 0.06),
    )
    return builder.build()


def start_of(model: Model) -> tuple[Array, Array]:
    """Some motion."""
    if model is double_pendulum():
        return np.array([1.2, 0.7]), np.array([0.3, -0.5])
    return model.neutral(), np.random.default_rng(1).normal(size=model.nv)


@pytest.mark.parametrize("method", FIXED_STEP)
@pytest.mark.parametrize("model", [double_pendulum(), tumbling_chain()], ids=["plane", "space"])
def test_order_of_fixed_steps(method: str, model: Model) -> None:
    """The end state's error against a tight reference falls by 2^order when dt is halved."""
    q, v = start_of(model)
    exact = simulate(model, q, v, 0.5, method="DOP853", tolerance=1e-12)
    dt = 0.05 if ORDERS[method] == 4 else 0.004
    errors = []
    for step in (dt, dt / 2):
        end = simulate(model, q, v, 0.5, method=method, dt=step)
        errors.append(np.abs(end.v[-1] - exact.v[-1]).max() + np.abs(end.q[-1] - exact.q[-1]).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(ORDERS[method], abs=0.3)


@pytest.mark.parametrize("method", ["cash_karp", *SCIPY])
@pytest.mark.parametrize("model", [double_pendulum(), tumbling_chain()], ids=["plane", "space"])
def test_adaptive_methods_come_near_each_other(method: str, model: Model) -> None:
    q, v = start_of(model)
    exact = simulate(model, q, v, 0.5, method="DOP853", tolerance=1e-12)
    found = simulate(model, q, v, 0.5, method=method, tolerance=1e-7)
    close(found.q[-1], exact.q[-1], 1e-4)
    close(found.v[-1], exact.v[-1], 1e-4)


def test_order_of_the_embedded_pair() -> None:
    """One Cash-Karp step: error of order six locally; its estimate of order five."""
    from dynenvs.reference.integrators.cash_karp import cash_karp_step

    def f(t: float, y: Array) -> Array:
        return np.array([y[1], -np.sin(y[0]) + 0.1 * t])

    def step(h: float) -> tuple[Array, Array]:
        y = np.array([1.0, 0.5])
        return cash_karp_step(f, 0.0, y, f(0.0, y), h)

    def fine(h: float) -> Array:
        y, parts = np.array([1.0, 0.5]), 16
        for k in range(parts):
            t = k * h / parts
            y, _ = cash_karp_step(f, t, y, f(t, y), h / parts)
        return y

    true = [np.abs(step(h)[0] - fine(h)).max() for h in (0.8, 0.4)]
    told = [np.abs(step(h)[1]).max() for h in (0.2, 0.1)]
    assert np.log2(true[0] / true[1]) == pytest.approx(6, abs=0.7)
    assert np.log2(told[0] / told[1]) == pytest.approx(5, abs=0.5)


def test_energy_behaviour() -> None:
    """Explicit Euler gains, implicit Euler loses, RK4 holds; semi-implicit Euler in between."""
    model = double_pendulum()
    q, v = start_of(model)
    change, span = {}, {}
    for method in FIXED_STEP:
        energy = energies_along(model, simulate(model, q, v, 4.0, method=method, dt=4e-3))
        change[method] = energy[-len(energy) // 4 :].mean() - energy[0]
        span[method] = np.ptp(energy)
    assert change["explicit_euler"] > 0.5
    assert change["implicit_euler_newton"] < -0.5
    assert change["implicit_euler_fixed_point"] == pytest.approx(change["implicit_euler_newton"])
    assert abs(change["semi_implicit_euler"]) < 0.5 * change["explicit_euler"]
    assert span["rk4"] < 1e-4


def test_semi_implicit_euler_is_symplectic_with_a_constant_mass_matrix() -> None:
    """A pendulum's energy swings with the step's length and does not drift in a hundred periods."""
    system = Euclidean(lambda t, q, v: -np.sin(q))
    done = simulate_system(
        system, np.array([1.0]), np.zeros(1), 700.0, method="semi_implicit_euler", dt=0.05
    )
    energy = done.v[:, 0] ** 2 / 2 - np.cos(done.q[:, 0])
    tenth = len(energy) // 10
    assert np.ptp(energy) < 0.05
    assert abs(energy[-tenth:].mean() - energy[:tenth].mean()) < 1e-3


def test_momentum_is_kept_in_free_flight() -> None:
    """RK4: to its order; quaternions stay of length one."""
    model = tumbling_chain()
    q, v = start_of(model)
    end = simulate(model, q, v, 1.0, method="rk4", dt=2e-3)
    close(totals(model, end.q[-1], end.v[-1]).momentum, totals(model, q, v).momentum, 1e-9)
    close(np.linalg.norm(end.q[-1][3:7]), 1.0, 1e-15)


@settings(max_examples=15)
@given(seed=st.integers(0, 2**32 - 1))
def test_rate_is_the_slope_of_plus(seed: int) -> None:
    """qdot of every joint type: d/dh q (+) h v at zero; and plus keeps quaternions' length."""
    tree = random_tree(seed)
    q, v = tree.state()
    system = TreeSystem(tree.model)
    close(system.rate(q, v), derivative(lambda h: system.plus(q, h * v)), 1e-9)
    moved = system.plus(q, v)
    close(system.normalised(moved), moved, 1e-14)


@pytest.mark.parametrize("method", FIXED_STEP)
def test_evaluations_are_counted(method: str) -> None:
    q, v = start_of(double_pendulum())
    done = simulate(double_pendulum(), q, v, 0.1, method=method, dt=0.01)
    assert (done.good, done.bad, len(done.t)) == (10, 0, 11)
    each = {"rk4": 4, "explicit_euler": 1, "semi_implicit_euler": 1}.get(method)
    if each:
        assert done.evaluations == 10 * each
    else:
        assert done.evaluations >= 30


def test_cash_karp_counts_as_it_says() -> None:
    """evaluations = steps + 5 attempts, and an attempt more for each shortening."""
    q, v = start_of(double_pendulum())
    done = simulate(double_pendulum(), q, v, 3.0, method="cash_karp", tolerance=1e-6)
    steps = done.good + done.bad
    assert steps == len(done.t) - 1
    assert done.bad > 0
    assert done.evaluations >= 6 * steps + 5 * done.bad
    assert (done.evaluations - 6 * steps) % 5 == 0


def test_contact_steps_are_the_world_s() -> None:
    """A ball that falls comes to rest on the floor by method "lcp", and falls through by others."""
    builder = ModelBuilder()
    builder.half_space("floor")
    builder.body("ball", joint=free(), mass=1.0, inertia=(0.1, 0.1, 0.1))
    builder.sphere("skin", "ball", radius=0.5)
    model = builder.build()
    q = model.neutral()
    q[2] = 1.0
    assert simulate(model, q, np.zeros(6), 1.0, method="lcp", dt=0.01).q[-1, 2] == pytest.approx(
        0.5, abs=1e-9
    )
    assert simulate(model, q, np.zeros(6), 1.0, method="rk4", dt=0.01).q[-1, 2] < -3.0


def test_lcp_without_contact_is_semi_implicit_euler() -> None:
    model = double_pendulum()
    q, v = start_of(model)
    one, two = (
        simulate(model, q, v, 0.5, method=m, dt=0.01, tau=np.array([0.1, 0.2]))
        for m in ("lcp", "semi_implicit_euler")
    )
    close(one.q, two.q, 1e-12)


@pytest.mark.parametrize("dynamics", METHODS)
def test_any_dynamics_can_be_integrated(dynamics: str) -> None:
    tree = random_tree(5)
    q, v = tree.state()
    options = {"method": "rk4", "dt": 0.002}
    found = simulate(tree.model, q, v, 0.004, dynamics=dynamics, **options)
    expected = simulate(tree.model, q, v, 0.004, **options)
    close(found.v[-1], expected.v[-1], 1e-10)


def test_stiff_forces_need_newton() -> None:
    """A spring that the fixed point cannot follow; Newton's method damps it as it should."""
    system = Euclidean(lambda t, q, v: -1e6 * q - 10.0 * v)
    start = np.array([1.0]), np.array([0.0])
    with (
        pytest.raises(IntegrationError, match="take a shorter step or implicit_euler_newton"),
        np.errstate(over="ignore", invalid="ignore"),
    ):
        simulate_system(system, *start, 0.1, method="implicit_euler_fixed_point", dt=0.01)
    end = simulate_system(system, *start, 0.1, method="implicit_euler_newton", dt=0.01)
    assert abs(end.q[-1, 0]) < 1e-6


def test_a_diverging_motion_is_reported() -> None:
    system = Euclidean(lambda t, q, v: 1e6 * v**3)
    with (
        pytest.raises(IntegrationError, match="not finite"),
        np.errstate(over="ignore", invalid="ignore"),
    ):
        simulate_system(system, np.ones(1), np.ones(1), 1.0, method="explicit_euler", dt=0.1)


def test_errors_say_what_would_be_right() -> None:
    model = double_pendulum()
    q = np.zeros(2)
    with pytest.raises(ValueError, match="unknown method 'leapfrog'; choose from: explicit_euler"):
        simulate(model, q, q, 1.0, method="leapfrog")
    with pytest.raises(ValueError, match="rk4 takes dt, and no tolerance"):
        simulate(model, q, q, 1.0, method="rk4", tolerance=1e-3)
    with pytest.raises(ValueError, match="cash_karp takes tolerance, and no dt"):
        simulate(model, q, q, 1.0, method="cash_karp", dt=0.1)
    with pytest.raises(ValueError, match="dt must be positive and finite, got -1"):
        simulate(model, q, q, 1.0, method="rk4", dt=-1)
    with pytest.raises(ValueError, match="unknown dynamics 'guess'; choose from: aba, kkt"):
        simulate(model, q, q, 1.0, dt=0.1, dynamics="guess")
    with pytest.raises(ValueError, match="lcp takes constant forces"):
        simulate(model, q, q, 1.0, method="lcp", dt=0.1, tau=lambda t, q, v: q)
    assert set(FIXED_STEP) < set(INTEGRATORS)
