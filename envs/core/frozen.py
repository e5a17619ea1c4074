"""Arrays of a task whose addresses compiled code has: nobody is to write into them by mistake."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def freeze(task: Any, *more: NDArray[Any]) -> None:
    """Have all arrays of a task, and these, refuse to be written into: kernels index with them."""
    for array in (*vars(task).values(), *more):
        if isinstance(array, np.ndarray):
            array.flags.writeable = False


def overwrite(array: NDArray[Any], begin: NDArray[Any]) -> None:
    """Write over the beginning of a frozen array."""
    array.flags.writeable = True
    array[: len(begin)] = begin
    array.flags.writeable = False
