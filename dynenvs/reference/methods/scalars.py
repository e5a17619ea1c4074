"""Number types that the methods of this layer compute with: doubles, or any other real numbers.

The methods are written once, on NumPy arrays.  With doubles they are what a user calls; with
numbers of fifty digits (`studies/reproduce/digits.py`) they estimate their own errors; with
numbers that count (`studies/reproduce/counting.py`) they tell what they cost.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[Any]  # of doubles, or of objects of another number type


class Scalars(NamedTuple):
    """A number type and the functions that the methods need of it."""

    name: str
    number: Callable[[Any], Any]  # from a double, exactly
    sine: Callable[[Any], Any]
    cosine: Callable[[Any], Any]
    root: Callable[[Any], Any]  # square root
    dtype: Any = object

    def array(self, values: ArrayLike) -> Array:
        """`values` as an array of these numbers."""
        given = np.asarray(values, dtype=np.float64)
        if self.dtype is np.float64:
            return given.copy()
        made = np.empty(given.shape, dtype=object)
        for index in np.ndindex(given.shape):
            made[index] = self.number(given[index])
        return made

    def zeros(self, *shape: int) -> Array:
        """An array of zeros."""
        return self.array(np.zeros(shape))


DOUBLE = Scalars("double", float, math.sin, math.cos, math.sqrt, np.float64)
