"""Laws that a model or a world chooses by name.

Cones, restitution, order of impacts, how the friction of two geoms becomes that of their pair, and
the integrator.
"""

from __future__ import annotations

import numbers
from typing import Any, NamedTuple

from dynenvs.memory.records import (
    CONE,
    EULER,
    MIDPOINT,
    NEWTON,
    POISSON,
    PYRAMID,
    SEQUENTIAL,
    SIMULTANEOUS,
)
from dynenvs.model.pairs import FRICTION_RULES
from dynenvs.model.parts import ModelError, whole
from dynenvs.spelling import shortly

CHOICES = {
    "cone": {"pyramid": PYRAMID, "exact": CONE},
    "restitution": {"newton": NEWTON, "poisson": POISSON},
    "impacts": {"simultaneous": SIMULTANEOUS, "sequential": SEQUENTIAL},
    "integrator": {"euler": EULER, "midpoint": MIDPOINT},
}


class ContactOptions(NamedTuple):
    """How contact is solved: numbers and codes, as in the model's header."""

    directions: int  # of friction, of each contact's pyramid
    cone: int
    restitution: int
    impacts: int
    integrator: int


def contact_options(
    directions: Any, cone: str, restitution: str, impacts: str, integrator: str
) -> ContactOptions:
    """The same from names; a ModelError lists the choices."""
    count = whole(directions, "directions")
    if count not in range(2, 65, 2):
        raise ModelError(f"directions must be even and from 2 to 64, got {directions}")
    return ContactOptions(
        count,
        _code("cone", cone),
        _code("restitution", restitution),
        _code("impacts", impacts),
        _code("integrator", integrator),
    )


def integrator_code(name: Any, bounces: bool) -> int:
    """Code of an integrator by its name.

    Args:
        name: "euler" or "midpoint".
        bounces: whether the model has parts with restitution.

    Raises:
        ModelError: no such integrator (the choices are listed), or it knows no restitution.
    """
    code = _code("integrator", name)
    if code == MIDPOINT and bounces:
        raise ModelError(
            'integrator="midpoint" knows no restitution, and parts of this model bounce: build it '
            'with restitution 0, or choose integrator="euler"'
        )
    return code


def integrator_name(code: int) -> str:
    """Name of an integrator."""
    return next(name for name, own in CHOICES["integrator"].items() if own == code)


def friction_rule(name: Any) -> str:
    """The same name if there is such a rule for the friction of pairs; a ModelError lists them."""
    if not (isinstance(name, str) and name in FRICTION_RULES):
        known = ", ".join(FRICTION_RULES)
        raise ModelError(f"unknown friction {name!r}; choose from: {known}")
    return name


def _code(what: str, name: Any) -> int:
    if not (isinstance(name, str) and name in CHOICES[what]):
        known = ", ".join(CHOICES[what])
        raise ModelError(f"unknown {what} {shortly(name)}; choose from: {known}")
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
    is_number = isinstance(directions, numbers.Real) and not isinstance(directions, bool)
    if not (is_number and directions in counts):
        known = ", ".join(map(str, counts))
        raise ModelError(
            f"directions must be one of {known} in this model, got {shortly(directions)}"
        )
    return counts.index(int(directions))
