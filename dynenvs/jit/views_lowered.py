"""Views that own nothing, in compiled code: their types, and LLVM code that makes them."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import lower_builtin, type_callable

from dynenvs.jit.lowering import address_of, point, without_owner, word
from dynenvs.jit.views import borrow, matrix, raw, stack, unowned, vector


def _borrow(context: Any, builder: Any, sig: Any, buffer: Any, start: Any, shape: Any) -> Any:
    """LLVM code for an array of the signature's result that points into its first argument."""
    address = builder.add(address_of(context, builder, sig.args[0], buffer), start)
    return point(context, builder, sig.return_type, address, shape)


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

        def of_stack(
            buffer: Any, start: Any, count: Any, rows: Any, columns: Any, kind: Any
        ) -> Any:
            result = types.Array(kind.dtype, 3, "C")
            return result(buffer, *[types.int64] * 4, kind)

        return (of_vector, of_matrix, of_stack)[dimensions - 1]

    whole = [types.Integer] * (1 + dimensions)

    @lower_builtin(function, types.Array, *whole, types.Any)
    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _borrow(context, builder, sig, args[0], args[1], args[2 : 2 + dimensions])


@type_callable(raw)
def _type_raw(context: Any) -> Any:
    def infer(view: Any, size: Any) -> Any:
        return types.Array(types.uint8, 1, "C")(view, types.int64)

    return infer


@lower_builtin(raw, types.Array, types.Integer)
def _raw(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return _borrow(context, builder, sig, args[0], word(0), [args[1]])


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
    return without_owner(context, builder, sig.args[0], args[0])


_type(vector, 1)
_type(matrix, 2)
_type(stack, 3)
