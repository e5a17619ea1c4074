"""What LLVM code of our own is written with: arrays, numbers, vector registers, loops.

For the files `..._lowered.py`, beside numba's public functions (`intrinsic`, `overload`,
`lower_builtin`).  `context` and `builder` are what numba gives to a function that makes LLVM code.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from numba import types

from dynenvs.jit.private import cgutils, ir

WORD: Any = ir.IntType(64)


def word(value: int) -> Any:
    """A constant integer."""
    return ir.Constant(WORD, value)


def registers(lanes: int) -> Any:
    """The type of a vector register of so many floats."""
    return ir.VectorType(ir.DoubleType(), lanes)


def integer_registers(lanes: int) -> Any:
    """The type of a vector register of so many integers of 32 bits."""
    return ir.VectorType(ir.IntType(32), lanes)


def words(lanes: int) -> Any:
    """The type of a vector register of so many integers."""
    return ir.VectorType(WORD, lanes)


def kept(builder: Any, value: Any) -> Any:
    """The address of a variable with this value to begin with."""
    return cgutils.alloca_once_value(builder, value)


def shuffled(builder: Any, one: Any, other: Any, lanes: Sequence[int]) -> Any:
    """A vector register of lanes of two others, those of the second after those of the first."""
    kind = ir.VectorType(ir.IntType(32), len(lanes))
    return builder.shuffle_vector(one, other, ir.Constant(kind, list(lanes)))


def every(kind: Any, value: float) -> Any:
    """A vector register with the same constant in all lanes."""
    return ir.Constant(kind, [value] * kind.count)


def gathered(builder: Any, kind: Any, values: Sequence[Any]) -> Any:
    """A vector register of these values."""
    made = ir.Constant(kind, ir.Undefined)
    for lane, value in enumerate(values):
        made = builder.insert_element(made, value, word(lane))
    return made


def lanes_of(builder: Any, register: Any, lanes: int) -> list[Any]:
    """The values in a vector register."""
    return [builder.extract_element(register, word(lane)) for lane in range(lanes)]


def call_on_register(builder: Any, name: str, register: Any) -> Any:
    """One of LLVM's own functions, such as `llvm.floor.v4f64`, of a vector register."""
    kind = ir.FunctionType(register.type, [register.type])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [register])


def packed(builder: Any, values: Sequence[Any]) -> Any:
    """Values of one type as a tuple."""
    return cgutils.pack_array(builder, values)


def loop(builder: Any, low: Any, high: Any, step: int) -> AbstractContextManager[tuple[Any, Any]]:
    """A loop over low, low + step, ..., below high; yields the index first."""
    made: AbstractContextManager[tuple[Any, Any]] = cgutils.for_range_slice(
        builder, low, high, word(step), WORD
    )
    return made


def fields_of(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """An array's fields (`data`, `shape`, ...), `kind` being numba's type of it."""
    return context.make_array(kind)(context, builder, value)


def address_of(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """The address of an array's first entry, as an integer."""
    return builder.ptrtoint(fields_of(context, builder, kind, value).data, WORD)


def point(context: Any, builder: Any, kind: Any, address: Any, shape: Sequence[Any]) -> Any:
    """An array of numba's type `kind` that points to an address and owns nothing."""
    made = context.make_array(kind)(context, builder)
    size = word(context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    made.data = builder.inttoptr(address, made.data.type)
    strides = [size]
    for length in reversed(shape[1:]):
        strides.insert(0, builder.mul(length, strides[0]))
    made.shape = cgutils.pack_array(builder, shape)
    made.strides = cgutils.pack_array(builder, strides)
    made.itemsize = size
    made.nitems = shape[0]
    for length in shape[1:]:
        made.nitems = builder.mul(made.nitems, length)
    _disown(made)
    return made._getvalue()


def without_owner(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """The same array, or tuple with arrays in it, whose arrays own nothing."""
    if isinstance(kind, types.Array):
        array = fields_of(context, builder, kind, value)
        _disown(array)
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        parts: Any = kind
        for k, part in enumerate(parts):
            item = without_owner(context, builder, part, builder.extract_value(value, k))
            value = builder.insert_value(value, item, k)
    return value


def _disown(array: Any) -> None:
    array.meminfo = cgutils.get_null_value(array.meminfo.type)
    array.parent = cgutils.get_null_value(array.parent.type)
