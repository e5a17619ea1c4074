"""Controllers, their demonstrations and what learns from them."""

from __future__ import annotations

from typing import Any

from dynenvs.agents.reference import reference_controller

__all__ = ["make_sb3_vec_env", "reference_controller"]


def __getattr__(name: str) -> Any:
    if name != "make_sb3_vec_env":
        raise AttributeError(f"module 'dynenvs.agents' has no attribute {name!r}")
    from dynenvs.agents.sb3 import make_sb3_vec_env  # stable-baselines3 brings torch: seconds

    return make_sb3_vec_env
