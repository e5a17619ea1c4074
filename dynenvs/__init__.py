"""dynenvs: Gymnasium environments with hard, frictional, certified contact.

The dynamics core (Model, World, rnea, crba, aba, inverse_dynamics, solve_lcp, ...) works without
Gymnasium; importing the package registers the environments.  Names are loaded when first used,
so that the import stays fast.
"""

from __future__ import annotations

import importlib
from typing import Any

from dynenvs.registration import register_environments
from dynenvs.version import __version__

_HOMES = {
    "Model": "dynenvs.model.model",
    "ModelBuilder": "dynenvs.model.builder",
    "ModelError": "dynenvs.model.parts",
    "revolute": "dynenvs.model.parts",
    "prismatic": "dynenvs.model.parts",
    "screw": "dynenvs.model.parts",
    "spherical": "dynenvs.model.parts",
    "free": "dynenvs.model.parts",
    "fixed": "dynenvs.model.parts",
    "World": "dynenvs.simulation.world",
    "Worlds": "dynenvs.simulation.worlds",
    "WorldsError": "dynenvs.simulation.worlds",
    "SimulationError": "dynenvs.simulation.world",
    "frames": "dynenvs.dynamics.jacobians",
    "point_jacobian": "dynenvs.dynamics.jacobians",
    "point_bias": "dynenvs.dynamics.jacobians",
    "rnea": "dynenvs.dynamics.rnea",
    "bias_force": "dynenvs.dynamics.rnea",
    "crba": "dynenvs.dynamics.crba",
    "aba": "dynenvs.dynamics.aba",
    "totals": "dynenvs.dynamics.energy",
    "forward_dynamics": "dynenvs.reference.methods",
    "simulate": "dynenvs.reference.integrators",
    "inverse_dynamics": "dynenvs.simulation.inverse",
    "load": "dynenvs.model.importing",
    "save": "dynenvs.model.importing",
    "save_packed": "dynenvs.simulation.packed",
    "explain": "dynenvs.model.explain",
    "actuator_forces": "dynenvs.model.actuators",
    "solve_friction": "dynenvs.contact.friction",
    "solve_lcp": "dynenvs.lcp",
    "render": "dynenvs.envs.render.viewer",
    "Viewer": "dynenvs.envs.render.viewer",
    "view": "dynenvs.viewer.view",
    "Recorder": "dynenvs.viewer.recording",
}
__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dynenvs' has no attribute {name!r}")
    globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])


register_environments()
