"""Sines and cosines, four at a time in one vector register: LLVM code of `sines_cosines`."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from dynenvs.simd.trigonometry import COSINE, HIGH, LOW, SINE, TURNS, sines_cosines
from dynenvs.simd.vectors import WIDTH


def _on_four_lanes(typing_context: Any, x0: Any, x1: Any, x2: Any, x3: Any) -> Any:
    """`sine_cosine`, operation by operation, in LLVM's terms."""
    block = ir.VectorType(ir.DoubleType(), WIDTH)
    lanes = [ir.Constant(ir.IntType(64), lane) for lane in range(WIDTH)]

    def every(value: float) -> Any:
        return ir.Constant(block, [value] * WIDTH)

    def generate(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        b = builder
        x = ir.Constant(block, ir.Undefined)
        for lane, value in zip(lanes, values, strict=True):
            x = b.insert_element(x, value, lane)
        floors = ir.FunctionType(block, [block])
        floor = cgutils.get_or_insert_function(b.module, floors, "llvm.floor.v4f64")
        k = b.call(floor, [b.fadd(b.fmul(x, every(TURNS)), every(0.5))])
        r = b.fsub(b.fsub(x, b.fmul(k, every(HIGH))), b.fmul(k, every(LOW)))
        z = b.fmul(r, r)
        s, c = every(SINE[0]), every(COSINE[0])
        for i in range(1, 6):
            s = b.fadd(b.fmul(s, z), every(SINE[i]))
            c = b.fadd(b.fmul(c, z), every(COSINE[i]))
        s = b.fadd(r, b.fmul(b.fmul(r, z), s))
        half = b.fmul(every(0.5), z)
        w = b.fsub(every(1.0), half)
        rest = b.fadd(b.fsub(b.fsub(every(1.0), w), half), b.fmul(b.fmul(z, z), c))
        c = b.fadd(w, rest)
        integers = ir.VectorType(ir.IntType(32), WIDTH)
        quarter = b.fptosi(k, integers)

        def has(bit: int) -> Any:
            masked = b.and_(quarter, ir.Constant(integers, [bit] * WIDTH))
            return b.icmp_signed("!=", masked, ir.Constant(integers, [0] * WIDTH))

        odd, back = has(1), has(2)
        s, c = b.select(odd, c, s), b.select(odd, b.fneg(s), c)
        s, c = b.select(back, b.fneg(s), s), b.select(back, b.fneg(c), c)
        found = [b.extract_element(v, lane) for v in (s, c) for lane in lanes]
        return cgutils.pack_array(builder, found)

    real: Any = types.float64
    eight: Any = types.UniTuple
    return eight(real, 2 * WIDTH)(real, real, real, real), generate


_four_at_once: Any = intrinsic(_on_four_lanes)


# Numba compares the signatures of the two functions, annotations included.
@overload(sines_cosines, jit_options={"forceinline": True})
def _sines_cosines(x0, x1, x2, x3):  # type: ignore[no-untyped-def]
    return lambda x0, x1, x2, x3: _four_at_once(x0, x1, x2, x3)
