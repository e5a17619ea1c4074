"""The point of many that is farthest along a direction, four at a time in vector registers.

A loop that keeps the best so far is one that LLVM does not vectorise.  The same bits as the plain
loop's (`extremes_lowered.py`).
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray


def farthest(points: NDArray[Any], x: float, y: float, z: float) -> int:
    """Where the point begins, in a flat array (3 n,), whose x X + y Y + z Z is largest.

    Of several the first.  There is at least one point.
    """
    most, best = x * points[0] + y * points[1] + z * points[2], 0
    for i in range(3, points.shape[0], 3):
        reach = x * points[i] + y * points[i + 1] + z * points[i + 2]
        if reach > most:
            most, best = reach, i
    return best
