"""Laws of contact that a model chooses by name: friction cone, restitution, order of impacts."""

from __future__ import annotations

from typing import NamedTuple

from dynenvs.parts import ModelError
from dynenvs.records import CONE, NEWTON, POISSON, PYRAMID, SEQUENTIAL, SIMULTANEOUS

CHOICES = {
    "cone": {"pyramid": PYRAMID, "exact": CONE},
    "restitution": {"newton": NEWTON, "poisson": POISSON},
    "impacts": {"simultaneous": SIMULTANEOUS, "sequential": SEQUENTIAL},
}


class Laws(NamedTuple):
    """Codes of the laws, as in the model's header."""

    cone: int
    restitution: int
    impacts: int


def laws(cone: str, restitution: str, impacts: str) -> Laws:
    """Codes of the laws' names; a ModelError lists the choices."""
    codes = []
    given = {"cone": cone, "restitution": restitution, "impacts": impacts}
    for what, name in given.items():
        if name not in CHOICES[what]:
            known = ", ".join(CHOICES[what])
            raise ModelError(f"unknown {what} {name!r}; choose from: {known}")
        codes.append(CHOICES[what][name])
    return Laws(*codes)
