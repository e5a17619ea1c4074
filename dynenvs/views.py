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
from numba.extending import intrinsic, overload
from numba.np.arrayobj import make_array
from numpy.typing import NDArray


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


def _borrow(context: Any, builder: Any, result: Any, buffer: Any, start: Any, shape: Any) -> Any:
    """LLVM code for an array struct of type `result` that points into `buffer`."""
    array = make_array(result)(context, builder)
    itemsize = context.get_abi_sizeof(context.get_data_type(result.dtype))
    address = builder.ptrtoint(buffer.data, ir.IntType(64))
    data = builder.inttoptr(builder.add(address, start), array.data.type)
    size = ir.Constant(ir.IntType(64), itemsize)
    strides = [size] if len(shape) == 1 else [builder.mul(shape[1], size), size]
    array.data = data
    array.shape = cgutils.pack_array(builder, shape)
    array.strides = cgutils.pack_array(builder, strides)
    array.itemsize = size
    count = shape[0] if len(shape) == 1 else builder.mul(shape[0], shape[1])
    array.nitems = count
    array.meminfo = cgutils.get_null_value(array.meminfo.type)
    array.parent = cgutils.get_null_value(array.parent.type)
    return array._getvalue()


def _make(dimensions: int) -> Any:
    @intrinsic
    def borrow(
        typing_context: Any, buffer: Any, start: Any, rows: Any, columns: Any, kind: Any
    ) -> Any:
        result = types.Array(kind.dtype, dimensions, "C")
        signature = result(buffer, types.int64, types.int64, types.int64, kind)

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            source = make_array(sig.args[0])(context, builder, args[0])
            shape = [args[2]] if dimensions == 1 else [args[2], args[3]]
            return _borrow(context, builder, sig.return_type, source, args[1], shape)

        return signature, generate

    return borrow


@intrinsic
def _borrow_bytes(typing_context: Any, view: Any, size: Any) -> Any:
    result = types.Array(types.uint8, 1, "C")

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        source = make_array(sig.args[0])(context, builder, args[0])
        zero = ir.Constant(ir.IntType(64), 0)
        return _borrow(context, builder, sig.return_type, source, zero, [args[1]])

    return result(view, types.int64), generate


_bytes: Any = _borrow_bytes
_borrow_vector = _make(1)
_borrow_matrix = _make(2)


# Numba compares the signatures of the two functions, annotations included.
@overload(vector, inline="always")
def _vector(buffer, start, rows, kind):  # type: ignore[no-untyped-def]
    return lambda buffer, start, rows, kind: _borrow_vector(buffer, start, rows, 0, kind)


@overload(matrix, inline="always")
def _matrix(buffer, start, rows, columns, kind):  # type: ignore[no-untyped-def]
    return lambda buffer, start, rows, columns, kind: _borrow_matrix(
        buffer, start, rows, columns, kind
    )


@overload(raw, inline="always")
def _raw(view, size):  # type: ignore[no-untyped-def]
    return lambda view, size: _bytes(view, size)
