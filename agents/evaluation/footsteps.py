"""Footsteps in a recorded episode, and the table of the worst figures over many episodes."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

LIFTED = 1e-3  # a foot that rises less between two loads never left the ground [m]


def stances(loaded: NDArray[np.bool_], lowest: NDArray[np.float64]) -> Iterator[tuple[int, int]]:
    """First and last loaded step of each stance of one foot.

    Loads between which the foot never rose above LIFTED belong to one stance: a foot that creeps
    in tiny hops is found out.

    Args:
        loaded: whether the foot carried load, at the end of each step, shape (steps,).
        lowest: height of its lowest point [m], shape (steps,).
    """
    steps = np.flatnonzero(loaded)
    if len(steps) == 0:
        return
    first = last = int(steps[0])
    for at in map(int, steps[1:]):
        if at > last + 1 and float(lowest[last + 1 : at].max()) > LIFTED:
            yield first, last
            first = at
        last = at
    yield first, last


def worst_row(
    table: Table, name: str, values: list[float], form: str, scale: float = 1.0, sign: int = 1
) -> None:
    """Add a row: the worst of one value a seed (the largest times `sign`), its seed, the mean."""
    array = np.array(values, dtype=float) * scale
    unknown = np.isnan(array)
    seed = int(np.argmax(unknown) if unknown.any() else np.argmax(sign * array))
    mean = float(np.nanmean(array)) if not unknown.all() else math.nan
    table.add_row(name, form.format(array[seed]), str(seed), form.format(mean))
