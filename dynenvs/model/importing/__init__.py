"""Models from files: MJCF and URDF (through the mujoco package), and dynenvs' own plain files."""

from __future__ import annotations

from dynenvs.model.importing.load import load
from dynenvs.model.importing.losses import NotCarriedOver
from dynenvs.model.importing.saved import save

__all__ = ["NotCarriedOver", "load", "save"]
