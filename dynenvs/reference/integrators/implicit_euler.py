"""Implicit Euler: v+ = v + dt a(t + dt, q (+) dt v+, v+), q+ = q (+) dt v+, of order one.

Two ways to the root v+: a fixed point, whose iteration converges where dt |da/dv+| < 1 (one
evaluation each), and Newton's method with differences for derivatives (nv + 1 evaluations each),
which bears stiff forces too.  Loses energy.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dynenvs.memory.layout import Floats
from dynenvs.reference.integrators.system import IntegrationError, System

TOLERANCE = 1e-12  # of v+, relative to its largest entry or one
FIXED_POINTS, NEWTON_STEPS = 200, 30  # iterations
DIFFERENCE = 1e-7  # of the derivatives


def implicit_euler_fixed_point(
    system: System, time: float, q: Floats, v: Floats, dt: float
) -> tuple[Floats, Floats]:
    """(q, v) at time + dt; IntegrationError where the iteration does not contract."""
    after = v + dt * system.acceleration(time, q, v)
    for _ in range(FIXED_POINTS):
        before, after = (
            after,
            v + dt * system.acceleration(time + dt, system.plus(q, dt * after), after),
        )
        if not np.isfinite(after).all():
            break
        if _small(after - before, after):
            return system.plus(q, dt * after), after
    raise IntegrationError(
        f"no fixed point in {FIXED_POINTS} iterations at t = {time:.6g} s, dt = {dt:.3g} s; "
        "take a shorter step or implicit_euler_newton"
    )


def implicit_euler_newton(
    system: System, time: float, q: Floats, v: Floats, dt: float
) -> tuple[Floats, Floats]:
    """(q, v) at time + dt; IntegrationError where Newton's method does not converge."""

    def residual(x: Floats) -> Floats:
        return x - v - dt * system.acceleration(time + dt, system.plus(q, dt * x), x)

    x = v + dt * system.acceleration(time, q, v)
    for _ in range(NEWTON_STEPS):
        r = residual(x)
        step = np.array(np.linalg.solve(_jacobian(residual, x, r), r), dtype=np.float64)
        x = x - step
        if _small(step, x):
            return system.plus(q, dt * x), x
    raise IntegrationError(
        f"Newton's method does not converge at t = {time:.6g} s, dt = {dt:.3g} s; "
        "take a shorter step"
    )


def _jacobian(residual: Callable[[Floats], Floats], x: Floats, r: Floats) -> Floats:
    columns = []
    for j in range(len(x)):
        shifted = x.copy()
        shifted[j] += DIFFERENCE * max(1.0, abs(x[j]))
        columns.append((residual(shifted) - r) / (shifted[j] - x[j]))
    return np.column_stack(columns)


def _small(change: Floats, value: Floats) -> bool:
    return bool(np.abs(change).max() <= TOLERANCE * max(1.0, np.abs(value).max()))
