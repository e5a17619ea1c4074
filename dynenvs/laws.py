"""Laws of contact that a model or a world chooses by name.

Cones, restitution, order of impacts, and how the friction of two geoms becomes that of their pair.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from dynenvs.pairs import FRICTION_RULES
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
    return Laws(_code("cone", cone), _code("restitution", restitution), _code("impacts", impacts))


def friction_rule(name: Any) -> str:
    """The same name if there is such a rule for the friction of pairs; a ModelError lists them."""
    if not (isinstance(name, str) and name in FRICTION_RULES):
        known = ", ".join(FRICTION_RULES)
        raise ModelError(f"unknown friction {name!r}; choose from: {known}")
    return name


def _code(what: str, name: Any) -> int:
    if not (isinstance(name, str) and name in CHOICES[what]):
        known = ", ".join(CHOICES[what])
        raise ModelError(f"unknown {what} {name!r}; choose from: {known}")
    return CHOICES[what][name]


# What each world chooses


def direction_counts(most: int) -> range:
    """Numbers of friction directions that a world may choose where the model has room for `most`.

    In the plane there is nothing to choose.
    """
    return range(min(most, 4), most + 1, 2)


def cone_code(cone: Any, most: int) -> int:
    """Code of a world's cone by its name; in the plane (`most` directions 2) both are the pyramid.

    Raises:
        ModelError: there is no such cone; the choices are listed.
    """
    code = _code("cone", cone)
    return code if most > 2 else PYRAMID


def cone_name(code: int) -> str:
    """Name of a world's cone."""
    return next(name for name, own in CHOICES["cone"].items() if own == code)


def polygon_number(directions: Any, most: int) -> int:
    """Which of a model's polygons has so many directions; the model has room for `most`.

    Raises:
        ModelError: none has; the choices are listed.
    """
    counts = direction_counts(most)
    if isinstance(directions, bool) or directions not in counts:
        known = ", ".join(map(str, counts))
        raise ModelError(f"directions must be one of {known} in this model, got {directions!r}")
    return counts.index(int(directions))
