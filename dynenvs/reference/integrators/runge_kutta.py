"""Classical Runge-Kutta method of order four: four evaluations a step.

Stored coordinates are added up as numbers; a quaternion is brought back to length one after the
step, which keeps the order.
"""

from __future__ import annotations

from dynenvs.memory.layout import Floats
from dynenvs.reference.integrators.system import System


def runge_kutta_4(
    system: System, time: float, q: Floats, v: Floats, dt: float
) -> tuple[Floats, Floats]:
    """(q, v) at time + dt."""
    q1, v1 = system.rate(q, v), system.acceleration(time, q, v)
    q2, v2 = _slope(system, time + dt / 2, q + dt / 2 * q1, v + dt / 2 * v1)
    q3, v3 = _slope(system, time + dt / 2, q + dt / 2 * q2, v + dt / 2 * v2)
    q4, v4 = _slope(system, time + dt, q + dt * q3, v + dt * v3)
    q = system.normalised(q + dt / 6 * (q1 + 2 * q2 + 2 * q3 + q4))
    return q, v + dt / 6 * (v1 + 2 * v2 + 2 * v3 + v4)


def _slope(system: System, time: float, q: Floats, v: Floats) -> tuple[Floats, Floats]:
    return system.rate(q, v), system.acceleration(time, q, v)
