"""dynenvs: Gymnasium environments with hard, frictional, certified contact.

The dynamics core (Model, World, rnea, crba, aba, inverse_dynamics, solve_lcp, ...) works without
Gymnasium; importing the package registers the environments.  Names are loaded when first used,
so that the import stays fast.
"""

from __future__ import annotations

import importlib
from typing import Any

from dynenvs.registration import register_environments

__version__ = "0.1.0"

_HOMES = {
    "Model": "dynenvs.model",
    "ModelBuilder": "dynenvs.builder",
    "ModelError": "dynenvs.parts",
    "revolute": "dynenvs.parts",
    "prismatic": "dynenvs.parts",
    "spherical": "dynenvs.parts",
    "free": "dynenvs.parts",
    "fixed": "dynenvs.parts",
    "World": "dynenvs.world",
    "Worlds": "dynenvs.worlds",
    "WorldsError": "dynenvs.worlds",
    "SimulationError": "dynenvs.world",
    "frames": "dynenvs.jacobians",
    "point_jacobian": "dynenvs.jacobians",
    "point_bias": "dynenvs.jacobians",
    "rnea": "dynenvs.dynamics.rnea",
    "bias_force": "dynenvs.dynamics.rnea",
    "crba": "dynenvs.dynamics.crba",
    "aba": "dynenvs.dynamics.aba",
    "totals": "dynenvs.dynamics.energy",
    "forward_dynamics": "dynenvs.methods",
    "simulate": "dynenvs.integrators",
    "inverse_dynamics": "dynenvs.inverse",
    "load": "dynenvs.importing",
    "save": "dynenvs.importing",
    "actuator_forces": "dynenvs.actuators",
    "solve_lcp": "dynenvs.lcp",
    "render": "dynenvs.envs.viewer",
    "Viewer": "dynenvs.envs.viewer",
}
__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dynenvs' has no attribute {name!r}")
    globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])


register_environments()
