"""Integrators behind one interface, `simulate`, for motion without contact; and with contact
the time stepping of `dynenvs.World`, which is semi-implicit Euler with an LCP in it.

Hard contact has impulses, at which no rate of velocity exists: the methods that ask for
accelerations cannot bear it, and only time stepping does.  They do bear contact by springs:
give `simulate` a `dynenvs.reference.contact_models.Penalty` as `tau`.
"""

from __future__ import annotations

from dynenvs.reference.integrators.simulate import (
    FIXED_STEP,
    INTEGRATORS,
    SCIPY,
    Trajectory,
    energies_along,
    simulate,
    simulate_system,
)
from dynenvs.reference.integrators.system import Euclidean, IntegrationError, System, TreeSystem

__all__ = [
    "FIXED_STEP",
    "INTEGRATORS",
    "SCIPY",
    "Euclidean",
    "IntegrationError",
    "System",
    "Trajectory",
    "TreeSystem",
    "energies_along",
    "simulate",
    "simulate_system",
]
