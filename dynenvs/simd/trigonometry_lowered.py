"""Sines and cosines, four at a time in one vector register: LLVM code of `sines_cosines`."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic, overload

from dynenvs.jit.lowering import (
    call_on_register,
    every,
    gathered,
    integer_registers,
    lanes_of,
    packed,
    registers,
)
from dynenvs.simd.trigonometry import COSINE, HIGH, LOW, SINE, TURNS, sines_cosines
from dynenvs.simd.vectors import WIDTH


def _on_four_lanes(typing_context: Any, x0: Any, x1: Any, x2: Any, x3: Any) -> Any:
    """`sine_cosine`, operation by operation, in LLVM's terms."""
    block, integers = registers(WIDTH), integer_registers(WIDTH)

    def all_lanes(value: float) -> Any:
        return every(block, value)

    def generate(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        b = builder
        # x = k quarter turns and a rest r of at most an eighth, by a quarter turn in two parts
        x = gathered(b, block, values)
        turns = b.fadd(b.fmul(x, all_lanes(TURNS)), all_lanes(0.5))
        k = call_on_register(b, "llvm.floor.v4f64", turns)
        r = b.fsub(b.fsub(x, b.fmul(k, all_lanes(HIGH))), b.fmul(k, all_lanes(LOW)))
        # Sine and cosine of the rest by polynomials in its square
        z = b.fmul(r, r)
        s, c = all_lanes(SINE[0]), all_lanes(COSINE[0])
        for i in range(1, 6):
            s = b.fadd(b.fmul(s, z), all_lanes(SINE[i]))
            c = b.fadd(b.fmul(c, z), all_lanes(COSINE[i]))
        s = b.fadd(r, b.fmul(b.fmul(r, z), s))
        # 1 - z / 2 with what its rounding lost, then the rest of the series
        half = b.fmul(all_lanes(0.5), z)
        w = b.fsub(all_lanes(1.0), half)
        rest = b.fadd(b.fsub(b.fsub(all_lanes(1.0), w), half), b.fmul(b.fmul(z, z), c))
        c = b.fadd(w, rest)
        # Back by k quarter turns: an odd number swaps the two, two of them change the signs
        quarter = b.fptosi(k, integers)

        def has(bit: int) -> Any:
            masked = b.and_(quarter, every(integers, bit))
            return b.icmp_signed("!=", masked, every(integers, 0))

        odd, back = has(1), has(2)
        s, c = b.select(odd, c, s), b.select(odd, b.fneg(s), c)
        s, c = b.select(back, b.fneg(s), s), b.select(back, b.fneg(c), c)
        return packed(builder, lanes_of(b, s, WIDTH) + lanes_of(b, c, WIDTH))

    real: Any = types.float64
    eight: Any = types.UniTuple
    return eight(real, 2 * WIDTH)(real, real, real, real), generate


_four_at_once: Any = intrinsic(_on_four_lanes)


# Numba compares the signatures of the two functions, annotations included.
@overload(sines_cosines, jit_options={"forceinline": True})
def _sines_cosines(x0, x1, x2, x3):  # type: ignore[no-untyped-def]
    return lambda x0, x1, x2, x3: _four_at_once(x0, x1, x2, x3)
