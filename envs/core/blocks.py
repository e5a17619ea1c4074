"""The parts of an observation, declared once: the space, the slices and the tables follow.

A task lists its blocks in the order in which its kernel writes them (`Task.blocks`).  The bounds of
the observation space are theirs, `observation_slices` says where each of them is, and a test holds
the "Observation Space" tables in the environments' docstrings against them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import gymnasium as gym
import numpy as np
from numpy.typing import ArrayLike

from dynenvs.memory.layout import Floats


class Block(NamedTuple):
    """Consecutive entries of an observation that belong together.

    `block` makes one from bounds that may be single numbers.
    """

    name: str
    low: Floats  # bounds of each entry, shape (size,)
    high: Floats
    unit: str  # "-" for none; several entries of different units have them between commas
    meaning: str

    @property
    def size(self) -> int:
        """Number of entries."""
        return len(self.low)

    @property
    def units(self) -> tuple[str, ...]:
        """The unit of each entry, shape (size,)."""
        units = tuple(self.unit.split(", "))
        return units * self.size if len(units) == 1 else units


def block(
    name: str, low: ArrayLike, high: ArrayLike, unit: str, meaning: str, size: int | None = None
) -> Block:
    """A block of `size` entries, or of as many as it has bounds.

    Args:
        name: by which users find it in `observation_slices`.
        low, high: bounds, each one number for all entries or one an entry, shape (size,).
        unit: of all entries, or of one after the other: "m/s, rad/s"; "-" for none.
        meaning: what the entries are, for people.
        size: how many; not needed where a bound has one number an entry.

    Raises:
        ValueError: bounds and units of another size, or a lower bound above its upper one.
    """
    count = max(np.size(low), np.size(high)) if size is None else size
    lows, highs = (np.broadcast_to(np.array(x, float), count).copy() for x in (low, high))
    made = Block(name, lows, highs, unit, meaning)
    if len(made.units) != count:
        raise ValueError(f"block {name!r} has {count} entries, but {len(made.units)} units")
    if not (lows <= highs).all():
        raise ValueError(f"block {name!r}: a lower bound is above its upper one")
    return made


def symmetric(name: str, bound: float, unit: str, meaning: str, size: int = 1) -> Block:
    """A block of entries that all lie in [-bound, bound]; see `block`."""
    return block(name, -bound, bound, unit, meaning, size)


def slices_of(blocks: Sequence[Block]) -> dict[str, slice]:
    """Where each block is in the observation, by its name.

    Raises:
        ValueError: two blocks have the same name.
    """
    slices: dict[str, slice] = {}
    at = 0
    for one in blocks:
        if one.name in slices:
            raise ValueError(f"two blocks are called {one.name!r}")
        slices[one.name] = slice(at, at + one.size)
        at += one.size
    return slices


def space_of(blocks: Sequence[Block]) -> gym.spaces.Box:
    """The observation space of the blocks, one after the other."""
    low = np.concatenate([one.low for one in blocks])
    high = np.concatenate([one.high for one in blocks])
    return gym.spaces.Box(low, high, dtype=np.float64)
