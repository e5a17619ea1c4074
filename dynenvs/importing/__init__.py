"""Models from files: MJCF and URDF (through the mujoco package), and dynenvs' own plain files."""

from __future__ import annotations

from dynenvs.importing.load import load
from dynenvs.importing.losses import NotCarriedOver
from dynenvs.importing.saved import save

__all__ = ["NotCarriedOver", "load", "save"]
