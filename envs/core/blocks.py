"""The parts of an observation, declared once: the space, the slices and the tables follow.

A task lists them with the kernels that write them (`Task.parts`).  The bounds of
the observation space are theirs, `observation_slices` says where each of them is, and a test holds
the "Observation Space" tables in the environments' docstrings against them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynenvs.memory.layout import Floats

# Standard deviations of what sensors and estimators of legged robots say: those with which
# legged_gym trains (Rudin et al., Learning to Walk in Minutes, CoRL 2021), whose uniform noise of
# 0.01 rad, 1.5 rad/s, 0.2 rad/s, 0.1 m/s and 0.05 has these.
ANGLE_NOISE = 0.006  # of a joint [rad]
RATE_NOISE = 0.9  # of a joint [rad/s]
TURN_NOISE = 0.12  # of a body [rad/s]
SPEED_NOISE = 0.06  # of a body [m/s]
UPWARD_NOISE = 0.03  # of the upward direction, and of a tilt [rad]
HEIGHT_NOISE = 0.01  # of a body above the ground, and of where the tip of an arm is [m]
SCAN_NOISE = 0.03  # of a height in a scan, and of where an object is [m]


class Block(NamedTuple):
    """Consecutive entries of an observation that belong together.

    `block` makes one from bounds that may be single numbers.
    """

    name: str
    low: Floats  # bounds of each entry, shape (size,)
    high: Floats
    unit: str  # "-" for none; several entries of different units have them between commas
    meaning: str
    noise: Floats  # standard deviation of each entry at `observation_noise=1`, shape (size,)

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
    name: str,
    low: ArrayLike,
    high: ArrayLike,
    unit: str,
    meaning: str,
    size: int | None = None,
    *,
    noise: float = 0.0,
) -> Block:
    """A block of `size` entries, or of as many as it has bounds.

    Args:
        name: by which users find it in `observation_slices`.
        low, high: bounds, each one number for all entries or one an entry, shape (size,).
        unit: of all entries, or of one after the other: "m/s, rad/s"; "-" for none.
        meaning: what the entries are, for people.
        size: how many; not needed where a bound has one number an entry.
        noise: standard deviation that the option `observation_noise` scales; 0 where a robot would
            know the entries without a sensor.

    Raises:
        ValueError: bounds and units of another size, or a lower bound above its upper one.
    """
    count = max(np.size(low), np.size(high)) if size is None else size
    lows, highs = (np.broadcast_to(np.array(x, float), count).copy() for x in (low, high))
    made = Block(name, lows, highs, unit, meaning, np.full(count, float(noise)))
    if len(made.units) != count:
        raise ValueError(f"block {name!r} has {count} entries, but {len(made.units)} units")
    if not (lows <= highs).all():
        raise ValueError(f"block {name!r}: a lower bound is above its upper one")
    return made


def symmetric(
    name: str, bound: float, unit: str, meaning: str, size: int = 1, *, noise: float = 0.0
) -> Block:
    """A block of entries that all lie in [-bound, bound]; see `block`."""
    return block(name, -bound, bound, unit, meaning, size, noise=noise)


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


def check_seen(blocks: Sequence[Block], seen: NDArray[Any]) -> None:
    """Refuse states of which something beyond its bounds is observed.

    Positions and velocities are clipped, commands and targets are not: what draws them obeys their
    bounds, and so must a state from outside.

    Args:
        blocks: the observation's.
        seen: observations, shape (n, entries), in the type that users get.

    Raises:
        ValueError: the first one; the words name its block.
    """
    low = np.concatenate([one.low for one in blocks]).astype(seen.dtype)
    high = np.concatenate([one.high for one in blocks]).astype(seen.dtype)
    wrong = np.argwhere(~((low <= seen) & (seen <= high)))
    if len(wrong):
        i, k = wrong[0].tolist()
        name = next(name for name, part in slices_of(blocks).items() if part.start <= k < part.stop)
        raise ValueError(
            f"state of world {i}: {name!r} would be observed as {seen[i, k]}; "
            f"it must be from {low[k]} to {high[k]}"
        )
