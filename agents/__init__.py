"""Controllers, their demonstrations and what learns from them."""

from dynenvs.agents.reference import reference_controller

__all__ = ["reference_controller"]
