"""Controllers, their demonstrations and what learns from them."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dynenvs.agents.experts.reference import reference_controller

# Loaded when first used: experts bring the core, stable-baselines3 brings torch
_HOMES = {
    "Equivariant": "dynenvs.agents.learn.equivariant",
    "as_sb3": "dynenvs.agents.sb3",
    "make_sb3_vec_env": "dynenvs.agents.sb3",
    "load_policy": "dynenvs.agents.policy_file",
    "reference_controller": "dynenvs.agents.experts.reference",
}

# Threads of torch that wait for each other sleep, if torch is imported after this.  They spin
# otherwise, and beside any other work on the cores training takes up to thirty times as long.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

__all__ = ["Equivariant", "as_sb3", "load_policy", "make_sb3_vec_env", "reference_controller"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dynenvs.agents' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
