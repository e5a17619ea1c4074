"""One interface to all integrators."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dynenvs.dynamics.energy import totals
from dynenvs.memory.layout import Floats
from dynenvs.model.model import Model
from dynenvs.model.validation import finite_vector
from dynenvs.reference.integrators.cash_karp import adaptive_steps
from dynenvs.reference.integrators.euler import explicit_euler, semi_implicit_euler
from dynenvs.reference.integrators.implicit_euler import (
    implicit_euler_fixed_point,
    implicit_euler_newton,
)
from dynenvs.reference.integrators.runge_kutta import runge_kutta_4
from dynenvs.reference.integrators.system import (
    Counting,
    Force,
    IntegrationError,
    System,
    TreeSystem,
)
from dynenvs.simulation.world import World

Step = Callable[[System, float, Floats, Floats, float], tuple[Floats, Floats]]

FIXED_STEP: dict[str, Step] = {
    "explicit_euler": explicit_euler,
    "semi_implicit_euler": semi_implicit_euler,
    "implicit_euler_fixed_point": implicit_euler_fixed_point,
    "implicit_euler_newton": implicit_euler_newton,
    "rk4": runge_kutta_4,
}
SCIPY = ("RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA")  # `scipy.integrate.solve_ivp`'s names
INTEGRATORS = (*FIXED_STEP, "lcp", "cash_karp", *SCIPY)


class Trajectory(NamedTuple):
    """States at the ends of all steps, the start first."""

    t: Floats  # [s], shape (n,)
    q: Floats  # shape (n, nq)
    v: Floats  # shape (n, nv)
    evaluations: int  # of the forward dynamics
    good: int  # steps taken as begun
    bad: int  # steps that had to be shortened (adaptive methods that tell)


def simulate(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    duration: float,
    *,
    method: str = "rk4",
    dt: float | None = None,
    tolerance: float | None = None,
    tau: ArrayLike | Force | None = None,
    dynamics: str = "aba",
) -> Trajectory:
    """Move a model for a while: without contact, or with it by method "lcp".

    Args:
        model: the model.
        q: positions at the start, shape (nq,).
        v: velocities at the start, shape (nv,).
        duration: [s].
        method: one of `INTEGRATORS`: explicit_euler, semi_implicit_euler,
            implicit_euler_fixed_point, implicit_euler_newton, rk4 (all with fixed steps); lcp
            (`World.step`: contact by time stepping, constant `tau` or none, actuated coordinates
            alone); cash_karp, and scipy's RK23, RK45, DOP853, Radau, BDF, LSODA (adaptive).
        dt: step of the methods with fixed steps [s]; the last one ends at `duration`.
        tolerance: relative (scipy: absolute too) error a step of the adaptive methods.
        tau: generalized forces of all coordinates [N m, N], shape (nv,), or a function of
            (t, q, v) that returns them.
        dynamics: what computes accelerations: "aba", or one of `dynenvs.reference.methods.METHODS`.

    Raises:
        ValueError: unknown method or dynamics, a missing or superfluous dt or tolerance, wrong
            shapes, not finite, or closed loops with a method other than lcp.
        IntegrationError: a step does not converge, or the state is not finite any more.
    """
    start = finite_vector(q, model.nq, "q"), finite_vector(v, model.nv, "v")
    force: Any = tau if tau is None or callable(tau) else finite_vector(tau, model.nv, "tau")
    if method == "lcp":
        return _with_contact(model, *start, duration, dt, force)
    if model.closures.loops:
        raise ValueError(f"{method} moves the tree alone; for closed loops choose lcp")
    system = TreeSystem(model, force, dynamics)
    return simulate_system(system, *start, duration, method=method, dt=dt, tolerance=tolerance)


def simulate_system(
    system: System,
    q: Floats,
    v: Floats,
    duration: float,
    *,
    method: str = "rk4",
    dt: float | None = None,
    tolerance: float | None = None,
) -> Trajectory:
    """The same for any system that is given by its accelerations, by any method but "lcp"."""
    if method not in INTEGRATORS or method == "lcp":
        raise ValueError(f"unknown method {method!r}; choose from: {', '.join(INTEGRATORS)}")
    _check_options(method, duration, dt, tolerance)
    counting = Counting(system)
    if method in FIXED_STEP:
        assert dt is not None
        return _fixed(counting, q, v, duration, FIXED_STEP[method], dt)
    assert tolerance is not None
    if method == "cash_karp":
        return _adaptive(counting, q, v, duration, tolerance)
    return _scipy(counting, q, v, duration, method, tolerance)


def energies_along(model: Model, trajectory: Trajectory) -> Floats:
    """Kinetic plus potential energy of each state [J], shape (n,)."""
    states = zip(trajectory.q, trajectory.v, strict=True)
    return np.array([totals(model, q, v).energy for q, v in states])


def _check_options(method: str, duration: float, dt: float | None, tolerance: float | None) -> None:
    # Each method takes one of both, and needs it
    fixed = method in FIXED_STEP or method == "lcp"
    needed, other = ("dt", tolerance) if fixed else ("tolerance", dt)
    value = dt if fixed else tolerance
    if value is None or other is not None:
        raise ValueError(f"{method} takes {needed}, and no {'tolerance' if fixed else 'dt'}")
    for name, number in ((needed, value), ("duration", duration)):
        if not (math.isfinite(number) and number > 0.0):
            raise ValueError(f"{name} must be positive and finite, got {number}")


def _times(duration: float, dt: float) -> Floats:
    """Ends of equal steps; the last one is shorter if dt does not divide the duration."""
    count = math.ceil(duration / dt - 1e-9)
    times: Floats = dt * np.arange(count + 1.0)
    times[-1] = duration
    return times


def _fixed(
    system: Counting, q: Floats, v: Floats, duration: float, step: Step, dt: float
) -> Trajectory:
    times = _times(duration, dt)
    states = [(q, v)]
    for before, after in pairwise(times):
        q, v = step(system, before, q, v, after - before)
        states.append((q, v))
    return _trajectory(times, states, system, len(times) - 1, 0)


def _trajectory(
    times: Any, states: list[tuple[Floats, Floats]], system: Counting, good: int, bad: int
) -> Trajectory:
    q, v = (np.array(part) for part in zip(*states, strict=True))
    if not (np.isfinite(q).all() and np.isfinite(v).all()):
        raise IntegrationError("the state is not finite any more: the step is too long")
    return Trajectory(np.array(times), q, v, system.evaluations, good, bad)


def _flat(system: System, nq: int) -> Callable[[float, Floats], Floats]:
    """y' of y = (q, v)."""

    def derivative(time: float, y: Floats) -> Floats:
        q, v = y[:nq], y[nq:]
        return np.concatenate([system.rate(q, v), system.acceleration(time, q, v)])

    return derivative


def _adaptive(
    system: Counting, q: Floats, v: Floats, duration: float, tolerance: float
) -> Trajectory:
    nq, good = len(q), 0
    times, states = [0.0], [(q, v)]
    steps = adaptive_steps(_flat(system, nq), np.concatenate([q, v]), duration, tolerance)
    for step in steps:
        step.y[:nq] = system.normalised(step.y[:nq])
        times.append(step.t)
        states.append((step.y[:nq], step.y[nq:]))
        good += step.good
    return _trajectory(times, states, system, good, len(times) - 1 - good)


def _scipy(
    system: Counting, q: Floats, v: Floats, duration: float, method: str, tolerance: float
) -> Trajectory:
    from scipy.integrate import solve_ivp

    nq = len(q)
    done = solve_ivp(
        _flat(system, nq),
        (0.0, duration),
        np.concatenate([q, v]),
        method=method,
        rtol=tolerance,
        atol=tolerance,
    )
    if not done.success:
        raise IntegrationError(f"{method}: {done.message}")
    states = [(system.normalised(y[:nq]), y[nq:]) for y in done.y.T]
    return _trajectory(done.t, states, system, len(done.t) - 1, 0)


def _with_contact(
    model: Model, q: Floats, v: Floats, duration: float, dt: float | None, tau: Any
) -> Trajectory:
    if callable(tau):
        raise ValueError("lcp takes constant forces tau, not a function")
    _check_options("lcp", duration, dt, None)
    assert dt is not None
    passive = np.setdiff1d(np.arange(model.nv), model.actuated)
    if tau is not None and np.any(tau[passive]):
        raise ValueError(f"lcp takes forces of actuated coordinates only; {passive} are not")
    times = _times(duration, dt)
    world = World(model, timestep=dt)
    world.reset(q, v)
    states = [(q, v)]
    for before, after in pairwise(times):
        world.timestep = float(after - before)
        world.step(None if tau is None else tau[model.actuated])
        states.append((world.q.copy(), world.v.copy()))
    q_all, v_all = (np.array(part) for part in zip(*states, strict=True))
    return Trajectory(times, q_all, v_all, len(times) - 1, len(times) - 1, 0)
