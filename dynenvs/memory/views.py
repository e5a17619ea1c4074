"""Views that own nothing: typed windows on a byte buffer, made inside kernels.

Numba counts references of every array that it slices, with an atomic instruction each time; a
step opens and passes some hundred views.  A window borrows its buffer instead (its meminfo is
null), so that opening and passing it is free.  It must not outlive the kernel that made it.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, type_callable
from numba.np.arrayobj import make_array
from numpy.typing import NDArray

from dynenvs.jit.compiled import inlined
from dynenvs.jit.handles import point


def vector(buffer: NDArray[np.uint8], start: int, rows: int, kind: Any) -> NDArray[Any]:
    """Elements of dtype `kind` from byte `start` on, shape (rows,)."""
    return buffer[start : start + rows * np.dtype(kind).itemsize].view(kind)


def matrix(
    buffer: NDArray[np.uint8], start: int, rows: int, columns: int, kind: Any
) -> NDArray[Any]:
    """Elements of dtype `kind` from byte `start` on, shape (rows, columns), row by row."""
    size = rows * columns * np.dtype(kind).itemsize
    return buffer[start : start + size].view(kind).reshape(rows, columns)


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


def _borrow(context: Any, builder: Any, result: Any, buffer: Any, start: Any, shape: Any) -> Any:
    """LLVM code for an array struct of type `result` that points into `buffer`."""
    address = builder.ptrtoint(buffer.data, ir.IntType(64))
    return point(context, builder, result, builder.add(address, start), shape)


def _type(function: Any, dimensions: int) -> None:
    """Tell numba what a view's type is, and how it is made.

    Directly: an overload would be compiled for itself first, and its lines inlined at every call.
    """

    @type_callable(function)
    def infer(context: Any) -> Any:
        def of_vector(buffer: Any, start: Any, rows: Any, kind: Any) -> Any:
            result = types.Array(kind.dtype, 1, "C")
            return result(buffer, types.int64, types.int64, kind)

        def of_matrix(buffer: Any, start: Any, rows: Any, columns: Any, kind: Any) -> Any:
            result = types.Array(kind.dtype, 2, "C")
            return result(buffer, types.int64, types.int64, types.int64, kind)

        return of_vector if dimensions == 1 else of_matrix

    whole = [types.Integer] * (1 + dimensions)

    @lower_builtin(function, types.Array, *whole, types.Any)
    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        source = make_array(sig.args[0])(context, builder, args[0])
        shape = list(args[2 : 2 + dimensions])
        return _borrow(context, builder, sig.return_type, source, args[1], shape)


@type_callable(raw)
def _type_raw(context: Any) -> Any:
    def infer(view: Any, size: Any) -> Any:
        return types.Array(types.uint8, 1, "C")(view, types.int64)

    return infer


@lower_builtin(raw, types.Array, types.Integer)
def _raw(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    source = make_array(sig.args[0])(context, builder, args[0])
    zero = ir.Constant(ir.IntType(64), 0)
    return _borrow(context, builder, sig.return_type, source, zero, [args[1]])


@type_callable(borrow)
def _type_borrow(context: Any) -> Any:
    def infer(address: Any, rows: Any, kind: Any) -> Any:
        return types.Array(kind.dtype, 1, "C")(types.int64, types.int64, kind)

    return infer


@lower_builtin(borrow, types.Integer, types.Integer, types.Any)
def _from_address(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return point(context, builder, sig.return_type, args[0], [args[1]])


@type_callable(unowned)
def _type_unowned(context: Any) -> Any:
    def infer(value: Any) -> Any:
        return value

    return infer


@lower_builtin(unowned, types.Any)
def _unowned(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return _without_owner(context, builder, sig.args[0], args[0])


def _without_owner(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """LLVM code for the same value, its arrays without owners."""
    if isinstance(kind, types.Array):
        array = make_array(kind)(context, builder, value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        array.parent = cgutils.get_null_value(array.parent.type)
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        parts: Any = kind
        for k, part in enumerate(parts):
            item = _without_owner(context, builder, part, builder.extract_value(value, k))
            value = builder.insert_value(value, item, k)
    return value


_type(vector, 1)
_type(matrix, 2)


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
