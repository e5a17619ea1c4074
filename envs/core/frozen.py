"""Arrays whose addresses compiled code has: nobody writes into them, or replaces them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Frozen:
    """A task, or its worlds; arrays may be replaced until they are frozen."""

    def __setattr__(self, name: str, value: Any) -> None:
        old = vars(self).get(name)
        if isinstance(old, np.ndarray) and not old.flags.writeable:
            raise AttributeError(
                f"{name} cannot be replaced, since compiled code knows where it is: set_state and "
                "change_options change what may change"
            )
        super().__setattr__(name, value)


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
