"""Explicit and semi-implicit Euler (docs/theory.md, Orders and energy).

    explicit:       q+ = q (+) dt v,    v+ = v + dt a(t, q, v)
    semi-implicit:  v+ = v + dt a(t, q, v),    q+ = q (+) dt v+

Both are of order one and cost one evaluation a step.  The explicit one gains energy without end.
The semi-implicit one is symplectic where the mass matrix is constant: its energy then swings about
the start's.  In joint coordinates, where M and the bias depend on the state, it drifts too, by an
amount of order dt and of either sign (docs/reproduction.md, figure 4 of Bhargava's report).
"""

from __future__ import annotations

from dynenvs.memory.layout import Floats
from dynenvs.reference.integrators.system import System


def explicit_euler(
    system: System, time: float, q: Floats, v: Floats, dt: float
) -> tuple[Floats, Floats]:
    """(q, v) at time + dt."""
    a = system.acceleration(time, q, v)
    return system.plus(q, dt * v), v + dt * a


def semi_implicit_euler(
    system: System, time: float, q: Floats, v: Floats, dt: float
) -> tuple[Floats, Floats]:
    """(q, v) at time + dt."""
    v = v + dt * system.acceleration(time, q, v)
    return system.plus(q, dt * v), v
