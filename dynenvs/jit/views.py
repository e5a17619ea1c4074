"""Views that own nothing: typed windows on a byte buffer, made inside kernels.

Numba counts references of every array that it slices, with an atomic instruction each time; a
step opens and passes some hundred views.  A window borrows its buffer instead (its meminfo is
null), so that opening and passing it is free.  It must not outlive the kernel that made it.  Nor
does it bring errors along, as numba's `reshape` does, in which the folder stands where numba was
installed: two builds of the library would differ.  `views_lowered.py` has the code that LLVM makes
of the functions here.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynenvs.jit.compiled import inlined


def vector(buffer: NDArray[Any], start: int, rows: int, kind: Any) -> NDArray[Any]:
    """Elements of dtype `kind` from byte `start` of a flat array on, shape (rows,)."""
    size = rows * np.dtype(kind).itemsize
    return buffer.view(np.uint8)[start : start + size].view(kind)


def matrix(buffer: NDArray[Any], start: int, rows: int, columns: int, kind: Any) -> NDArray[Any]:
    """Elements of dtype `kind` from byte `start` on, shape (rows, columns), row by row."""
    return vector(buffer, start, rows * columns, kind).reshape(rows, columns)


def stack(
    buffer: NDArray[Any], start: int, count: int, rows: int, columns: int, kind: Any
) -> NDArray[Any]:
    """Elements of dtype `kind` from byte `start` on, shape (count, rows, columns)."""
    return vector(buffer, start, count * rows * columns, kind).reshape(count, rows, columns)


def raw(view: NDArray[Any], size: int) -> NDArray[np.uint8]:
    """The `size` bytes from a view's first element on."""
    return np.ctypeslib.as_array((ctypes.c_uint8 * int(size)).from_address(view.ctypes.data))


def borrow(address: int, rows: int, kind: Any) -> NDArray[Any]:
    """Elements of dtype `kind` from an address in memory on, shape (rows,)."""
    size = int(rows) * np.dtype(kind).itemsize
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(int(address))).view(kind)


def unowned(value: Any) -> Any:
    """The same array, or tuple with arrays in it, as borrowed windows.

    Kernels that Python calls do this first: else each read of such an argument counts a reference.
    """
    return value


@inlined
def words(view: NDArray[Any], count: int) -> NDArray[np.float64]:
    """The first `count` words of an array of records or numbers, flat."""
    return vector(raw(view, 8 * count), 0, count, np.float64)


@inlined
def copy_words(
    source: NDArray[np.uint8], target: NDArray[np.uint8], first: int, count: int
) -> None:
    """Copy `count` 8-byte words from number `first` on."""
    words = vector(source, 8 * first, count, np.int64)
    copy = vector(target, 8 * first, count, np.int64)
    for k in range(count):
        copy[k] = words[k]
