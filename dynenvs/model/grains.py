"""Friction of a pair with two coefficients, along a direction of a surface and across it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dynenvs.memory.layout import Records
from dynenvs.model.parts import WORLD, Geom, ModelError, positive, unit3

# Cosine of the angle from a contact's normal to the direction, from which the next axis is taken.
# In the world it is MuJoCo's; a direction that belongs to a surface seldom points out of it
STEEP_IN_WORLD, STEEP = 0.5, 0.99
MOST_RATIO = 1000.0  # of one coefficient over the other: residuals would lose as many digits


@dataclass(frozen=True)
class Grain:
    """What a pair's rule says besides its coefficient along the direction.

    Attributes:
        across: coefficient of friction across the direction.
        direction: in the axes of the frame.  Where it is too near to a contact's normal (within 8
            degrees; in the world's frame within 60, as in MuJoCo), the frame's next axis takes its
            place, z that of y, as far as it is across the direction.
        frame: one of the pair's geoms, which stands for the body that carries it, or "world".
    """

    across: float
    direction: tuple[float, float, float]
    frame: str


class PairGrain(NamedTuple):
    """The grain of a pair of geoms, by their numbers; its first coefficient."""

    geom_a: int
    geom_b: int
    friction: float
    grain: Grain


def two_coefficients(
    friction: Any, direction: Any, frame: Any, geoms: Sequence[str], what: str
) -> tuple[float | None, Grain | None]:
    """A pair's first coefficient, and its grain if it has two.

    Args:
        friction: a coefficient, two of them, or None.
        direction, frame: of two, as `Grain` has them.
        geoms: names of the pair's geoms.
        what: names the pair in messages.

    Raises:
        ModelError: two coefficients without direction and frame, or these without two.
    """
    if friction is None or np.ndim(friction) == 0:
        if direction is not None or frame is not None:
            raise ModelError(
                f"{what}: a direction and a frame are for friction of two coefficients, "
                f"friction=(along, across), got {friction!r}"
            )
        return friction, None
    if np.shape(friction) != (2,):
        raise ModelError(f"{what}: friction must be one coefficient or two, got {friction!r:.200}")
    if direction is None or frame is None:
        raise ModelError(
            f"{what}: friction of two coefficients needs a direction for the first one, and the "
            f"direction's frame: {' or '.join(map(repr, [*geoms, WORLD]))}"
        )
    x, y, z = unit3(direction, f"{what}: direction").tolist()
    along = positive(friction[0], f"{what}: friction along the direction")
    return along, Grain(friction[1], (x, y, z), frame)


def check_grain(along: float | None, grain: Grain, geoms: Sequence[str], what: str) -> None:
    """Raise a ModelError that names what is wrong with the grain of a pair; along: as of a rule."""
    across = positive(grain.across, f"{what}: friction across the direction")
    along = positive(along, f"{what}: friction along the direction")
    if not 1.0 / MOST_RATIO <= across / along <= MOST_RATIO:
        raise ModelError(
            f"{what}: the coefficients {along:g} and {across:g} differ by more than a factor of "
            f"{MOST_RATIO:g}; choose them closer to each other"
        )
    if grain.frame not in (*geoms, WORLD):
        known = ", ".join([*geoms, WORLD])
        raise ModelError(f"{what}: unknown frame {grain.frame!r}; choose from: {known}")


def fill_grains(
    records: Records,
    features: Records,
    grains: Sequence[PairGrain],
    geoms: Sequence[Geom],
    index: Mapping[str, int],
) -> None:
    """GRAIN of every pair that has one, and its number in the pair's features.

    index: of bodies, by name
    """
    carriers = {geom.name: index[geom.body] for geom in geoms}
    for i, (a, b, along, grain) in enumerate(grains):
        record = records[i]
        direction = unit3(grain.direction, "direction")
        # Across the direction, so that no normal is near to both
        spare = np.eye(3)[(int(np.argmax(np.abs(direction))) + 1) % 3]
        spare = unit3(spare - (spare @ direction) * direction, "spare direction")
        record.body, record.steep = 0, STEEP_IN_WORLD
        if grain.frame != WORLD:
            record.body, record.steep = carriers[grain.frame], STEEP
        record.along[:], record.spare[:] = direction, spare
        record.ratio = grain.across / along
        one, other = features["geom_a"], features["geom_b"]
        features["grain"][((one == a) & (other == b)) | ((one == b) & (other == a))] = i + 1
