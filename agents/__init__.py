"""Controllers, their demonstrations and what learns from them."""

from __future__ import annotations

import importlib
import os
from typing import Any

from dynenvs.agents.experts.reference import reference_controller

_OF_SB3 = "as_sb3", "make_sb3_vec_env"  # stable-baselines3 brings torch: seconds

# Threads of torch that wait for each other sleep, if torch is imported after this.  They spin
# otherwise, and beside any other work on the cores training takes up to thirty times as long.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

__all__ = [*_OF_SB3, "reference_controller"]


def __getattr__(name: str) -> Any:
    if name not in _OF_SB3:
        raise AttributeError(f"module 'dynenvs.agents' has no attribute {name!r}")
    return getattr(importlib.import_module("dynenvs.agents.sb3"), name)
