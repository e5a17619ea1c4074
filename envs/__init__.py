"""Gymnasium environments with hard, frictional, certified contact."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dynenvs.envs.legged.make_legged import make_legged

__all__ = ["make_legged"]


def __getattr__(name: str) -> Any:  # loaded when first used: importing the package stays fast
    if name != "make_legged":
        raise AttributeError(f"module 'dynenvs.envs' has no attribute {name!r}")
    from dynenvs.envs.legged.make_legged import make_legged

    return make_legged
