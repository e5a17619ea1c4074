"""Views that own nothing, in compiled code: their types, and LLVM code that makes them."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, type_callable
from numba.np.arrayobj import make_array

from dynenvs.jit.handles_lowered import point
from dynenvs.memory.views import borrow, matrix, raw, unowned, vector


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
