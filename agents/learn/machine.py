"""What a training run stood on."""

from __future__ import annotations

import importlib.metadata
from typing import Any

from dynenvs.agents.machine import describe, load

PACKAGES = ("dynenvs", "numpy", "numba", "torch", "stable-baselines3")


def machine() -> dict[str, Any]:
    """Processor, cores, load at the beginning, versions."""
    described = describe()
    described["versions"] = {
        "python": described["versions"]["python"],
        **{name: importlib.metadata.version(name) for name in PACKAGES},
    }
    return {**described, "load": load()}
