"""Lanes: four numbers of four worlds in one vector register, with the arithmetic of one number.

Every lane is rounded as it would be alone, so a formula on lanes gives the bits that it gives on
numbers.  Kernels that reach their arrays by `get` and `put` alone serve both: entries of flat
arrays are numbers, those of arrays of shape (n, WIDTH) are lanes.  In the interpreter lanes are
arrays of shape (WIDTH,).
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

from dynenvs.jit.compiled import inlined
from dynenvs.simd.trigonometry import sine_cosine, sines_cosines, within_reach
from dynenvs.simd.vectors import WIDTH

Lanes = NDArray[np.float64]  # shape (WIDTH,)
Floats = NDArray[np.float64]

_real: Any = types.float64
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


def get(array: Floats, i: int) -> Any:
    """Entry i: a number of a flat array, lanes of one of shape (n, WIDTH)."""
    return array[i].copy()


def put(array: Floats, i: int, x: Any) -> None:
    """array_i = x"""
    array[i] = x


def like(array: Floats, x: float) -> Any:
    """A number as an entry of such an array: in every lane."""
    return x if array.ndim == 1 else np.full(WIDTH, x)


def nil(x: Any) -> bool:
    """Whether an entry is zero, in every lane."""
    return bool(np.all(x == 0.0))


def join(a: float, b: float, c: float, d: float) -> Lanes:
    """One number of each world."""
    return np.array([a, b, c, d])


def split(x: Lanes) -> tuple[float, float, float, float]:
    """The number of each world."""
    return float(x[0]), float(x[1]), float(x[2]), float(x[3])


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
    """Address of entry i."""
    array = make_array(kind)(context, builder, value)
    if kind.ndim == 1:
        return builder.gep(array.data, [i])
    first = builder.mul(i, ir.Constant(_WORD, WIDTH))
    return builder.bitcast(builder.gep(array.data, [first]), _BLOCK.as_pointer())


def _entry(array: Any) -> Any:
    """Numba's type of an array's entries."""
    return _real if array.ndim == 1 else LANES


@type_callable(get)
def _type_get(context: Any) -> Any:
    return lambda array, i: _entry(array)


@type_callable(put)
def _type_put(context: Any) -> Any:
    return lambda array, i, x: types.void if x == _entry(array) else None


@type_callable(like)
def _type_like(context: Any) -> Any:
    return lambda array, x: _entry(array)


@type_callable(nil)
def _type_nil(context: Any) -> Any:
    return lambda x: types.boolean


@type_callable(join)
def _type_join(context: Any) -> Any:
    return lambda a, b, c, d: LANES


@type_callable(split)
def _type_split(context: Any) -> Any:
    return lambda x: types.UniTuple(_real, WIDTH) if x == LANES else None


@lower_builtin(get, types.Array, types.Integer)
def _get(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.load(_at(context, builder, sig.args[0], args[0], args[1]), align=8)


@lower_builtin(put, types.Array, types.Integer, types.Any)
def _put(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    builder.store(args[2], _at(context, builder, sig.args[0], args[0], args[1]), align=8)
    return context.get_dummy_value()


@lower_builtin(like, types.Array, types.Float)
def _like(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return args[1] if sig.return_type == _real else _repeat(builder, args[1])


@lower_builtin(nil, types.Any)
def _nil(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    zero = ir.Constant(args[0].type, None)
    other = builder.fcmp_unordered("!=", args[0], zero)
    if sig.args[0] == LANES:
        other = builder.bitcast(other, ir.IntType(WIDTH))
        return builder.icmp_unsigned("==", other, ir.Constant(ir.IntType(WIDTH), 0))
    return builder.not_(other)


@lower_builtin(join, types.Float, types.Float, types.Float, types.Float)
def _join(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    block = ir.Constant(_BLOCK, ir.Undefined)
    for lane in range(WIDTH):
        block = builder.insert_element(block, args[lane], _constant(lane))
    return block


@lower_builtin(split, LanesType)
def _split(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    values = [builder.extract_element(args[0], _constant(lane)) for lane in range(WIDTH)]
    return context.make_tuple(builder, sig.return_type, values)


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
