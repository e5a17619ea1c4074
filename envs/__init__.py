"""Gymnasium environments with hard, frictional, certified contact."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dynenvs.envs.core.own_task import Outcome, make_task
    from dynenvs.envs.legged.make_legged import make_legged

__all__ = ["Outcome", "make_legged", "make_task"]

_PLACES = {
    "Outcome": "core.own_task",
    "make_legged": "legged.make_legged",
    "make_task": "core.own_task",
}


def __getattr__(name: str) -> Any:  # loaded when first used: importing the package stays fast
    if name not in _PLACES:
        raise AttributeError(f"module 'dynenvs.envs' has no attribute {name!r}")
    return getattr(import_module(f"dynenvs.envs.{_PLACES[name]}"), name)
