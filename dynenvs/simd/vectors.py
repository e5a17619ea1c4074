"""Sums along rows of memory in whole vector registers.

LLVM vectorises a loop only where it can show that no index wraps around and no two arrays overlap,
and then prepares for long rows; those of a contact problem have 4 to 24 entries.  Here the four
additions of a block are one instruction by construction.  Each entry is rounded as it would be
alone: the same bits as the plain loop's (`vectors_lowered.py`).
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

WIDTH = 4  # entries of a block


def add_multiple(
    target: NDArray[Any],
    row: int,
    source: NDArray[Any],
    source_row: int,
    low: int,
    high: int,
    factor: float,
) -> None:
    """target[r, low:high] += factor * source[k, low:high], high - low a multiple of WIDTH."""
    for c in range(low, high):
        target[row, c] += factor * source[source_row, c]


def add_outer(
    target: NDArray[Any],
    row: int,
    source: NDArray[Any],
    source_row: int,
    low: int,
    high: int,
    factor: float,
) -> None:
    """The outer product of two parts of row k = source_row, Z = source, r = row:

    target[r : r + WIDTH, low:high] += factor * Z[k, r : r + WIDTH] times Z[k, low:high]
    """
    for i in range(row, row + WIDTH):
        add_multiple(target, i, source, source_row, low, high, factor * source[source_row, i])
