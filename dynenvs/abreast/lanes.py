"""Lanes: four numbers of four worlds in one vector register, with the arithmetic of one number.

Every lane is rounded as it would be alone, so a formula on lanes gives the bits that it gives on
numbers.  Arrays of lanes are flat arrays of doubles, four to an entry.  In the interpreter lanes
are arrays of shape (4,).
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import lower_builtin, models, register_model, type_callable
from numba.np.arrayobj import make_array
from numpy.typing import NDArray

from dynenvs.compiled import inlined
from dynenvs.layout import Floats
from dynenvs.simd import WIDTH
from dynenvs.trigonometry import sine_cosine, sines_cosines, within_reach

Lanes = NDArray[np.float64]  # shape (WIDTH,)

_BLOCK = ir.VectorType(ir.DoubleType(), WIDTH)
_WORD = ir.IntType(64)


class LanesType(types.Type):
    """Numba's type of them."""

    def __init__(self) -> None:
        super().__init__(name="Lanes")


LANES = LanesType()


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _BLOCK)


def every(x: float) -> Lanes:
    """The same number in every lane."""
    return np.full(WIDTH, x)


def join(a: float, b: float, c: float, d: float) -> Lanes:
    """One number of each world."""
    return np.array([a, b, c, d])


def split(x: Lanes) -> tuple[float, float, float, float]:
    """The number of each world."""
    return float(x[0]), float(x[1]), float(x[2]), float(x[3])


def get(array: Floats, i: int) -> Lanes:
    """Entry i of an array of lanes."""
    return array[WIDTH * i : WIDTH * (i + 1)].copy()


def put(array: Floats, i: int, x: Lanes) -> None:
    """array_i = x"""
    array[WIDTH * i : WIDTH * (i + 1)] = x


@inlined
def sine_cosine_lanes(x: Lanes) -> tuple[Lanes, Lanes]:
    """Sine and cosine of an angle of each world [rad]."""
    a, b, c, d = split(x)
    if within_reach(a) and within_reach(b) and within_reach(c) and within_reach(d):
        s0, s1, s2, s3, c0, c1, c2, c3 = sines_cosines(a, b, c, d)
    else:
        s0, c0 = sine_cosine(a)
        s1, c1 = sine_cosine(b)
        s2, c2 = sine_cosine(c)
        s3, c3 = sine_cosine(d)
    return join(s0, s1, s2, s3), join(c0, c1, c2, c3)


# Compiled


def _constant(lane: int) -> Any:
    return ir.Constant(ir.IntType(32), lane)


def _repeat(builder: Any, value: Any) -> Any:
    block = builder.insert_element(ir.Constant(_BLOCK, ir.Undefined), value, _constant(0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH)
    return builder.shuffle_vector(block, ir.Constant(_BLOCK, ir.Undefined), mask)


def _at(context: Any, builder: Any, kind: Any, value: Any, i: Any) -> Any:
    array = make_array(kind)(context, builder, value)
    first = builder.mul(i, ir.Constant(_WORD, WIDTH))
    return builder.bitcast(builder.gep(array.data, [first]), _BLOCK.as_pointer())


def _define(function: Any, result: Any, arguments: tuple[Any, ...], generate: Any) -> None:
    """Type and code of a function on lanes."""

    @type_callable(function)
    def infer(context: Any) -> Any:
        return _typer(len(arguments), result)

    kinds = [types.Integer if kind is types.int64 else kind for kind in arguments]
    lower_builtin(function, *kinds)(generate)


def _typer(count: int, result: Any) -> Any:
    """Numba asks a typer for its parameters by name."""
    return (
        lambda a: result,
        lambda a, b: result,
        lambda a, b, c: result,
        lambda a, b, c, d: result,
    )[count - 1]


def _generate_join(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    block = ir.Constant(_BLOCK, ir.Undefined)
    for lane in range(WIDTH):
        block = builder.insert_element(block, args[lane], _constant(lane))
    return block


def _generate_split(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    values = [builder.extract_element(args[0], _constant(lane)) for lane in range(WIDTH)]
    return context.make_tuple(builder, sig.return_type, values)


def _generate_get(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.load(_at(context, builder, sig.args[0], args[0], args[1]), align=8)


def _generate_put(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    builder.store(args[2], _at(context, builder, sig.args[0], args[0], args[1]), align=8)
    return context.get_dummy_value()


_real = types.float64
_define(every, LANES, (_real,), lambda context, builder, sig, args: _repeat(builder, args[0]))
_define(join, LANES, (_real,) * WIDTH, _generate_join)
_define(split, types.UniTuple(_real, WIDTH), (LANES,), _generate_split)
_define(get, LANES, (types.Array, types.int64), _generate_get)
_define(put, types.void, (types.Array, types.int64, LANES), _generate_put)


def _operator(function: Any, instruction: str) -> None:
    """An operation of two lanes, or of lanes and a number."""
    cases = [(LANES, LANES), (LANES, _real), (_real, LANES)]
    signatures = [signature(LANES, *kinds) for kinds in cases]
    infer_global(function)(type("_Typing", (ConcreteTemplate,), {"cases": signatures}))

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        blocks = [
            value if kind == LANES else _repeat(builder, value)
            for kind, value in zip(sig.args, args, strict=True)
        ]
        return getattr(builder, instruction)(*blocks)

    for kinds in cases:
        lower_builtin(function, *kinds)(generate)


for _functions, _instruction in (
    ((operator.add, operator.iadd), "fadd"),
    ((operator.sub, operator.isub), "fsub"),
    ((operator.mul, operator.imul), "fmul"),
    ((operator.truediv, operator.itruediv), "fdiv"),
):
    for _function in _functions:
        _operator(_function, _instruction)
