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
    X: NDArray[Any], r: int, Z: NDArray[Any], k: int, low: int, high: int, factor: float
) -> None:
    """X[r, low:high] += factor * Z[k, low:high], high - low a multiple of WIDTH."""
    for c in range(low, high):
        X[r, c] += factor * Z[k, c]


def add_outer(
    X: NDArray[Any], r: int, Z: NDArray[Any], k: int, low: int, high: int, factor: float
) -> None:
    """X[r : r + WIDTH, low:high] += factor * Z[k, r : r + WIDTH] times Z[k, low:high]"""
    for i in range(r, r + WIDTH):
        add_multiple(X, i, Z, k, low, high, factor * Z[k, i])
