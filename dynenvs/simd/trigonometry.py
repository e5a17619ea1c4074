"""Sines and cosines: one angle, and four at a time in one vector register.

A step needs those of all joints four times over, and the C library's take longer than the rotations
that are made of them.
"""

from __future__ import annotations

import math
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from dynenvs.jit.compiled import inlined
from dynenvs.simd.vectors import WIDTH

Eight = tuple[float, float, float, float, float, float, float, float]

REACH = 1e5  # quarter turns up to which the reduction of the argument is exact enough
TURNS = 0.6366197723675814  # 2 / pi
HIGH, LOW = 1.57079632673412561417, 6.07710050650619224932e-11  # pi / 2 in two parts
SINE = (  # fdlibm's __kernel_sin, highest power first
    1.58969099521155010221e-10, -2.50507602534068634195e-08, 2.75573137070700676789e-06,
    -1.98412698298579493134e-04, 8.33333333332248946124e-03, -1.66666666666666324348e-01,
)  # fmt: skip
COSINE = (  # fdlibm's __kernel_cos
    -1.13596475577881948265e-11, 2.08757232129817482790e-09, -2.75573143513906633035e-07,
    2.48015872894767294178e-05, -1.38888888888741095749e-03, 4.16666666666666019037e-02,
)  # fmt: skip


@inlined
def within_reach(x: float) -> bool:
    """Whether the angle x [rad] is a number near enough to be reduced here."""
    return -REACH < x * TURNS < REACH


@inlined
def sine_cosine(x: float) -> tuple[float, float]:
    """(sin x, cos x), to 2e-16 and the same bits on every machine; x in rad.

    Argument reduction to [-pi/4, pi/4] by Cody and Waite, in two parts, then the polynomials of
    fdlibm's `__kernel_sin` and `__kernel_cos`; the C library beyond its reach.
    """
    if not within_reach(x):
        return math.sin(x), math.cos(x)
    k = math.floor(x * TURNS + 0.5)
    r = (x - k * HIGH) - k * LOW
    z = r * r
    s, c = SINE[0], COSINE[0]
    for i in range(1, 6):
        s, c = s * z + SINE[i], c * z + COSINE[i]
    s = r + r * z * s
    half = 0.5 * z
    w = 1.0 - half
    c = w + (((1.0 - w) - half) + z * z * c)
    if k & 1:
        s, c = c, -s
    if k & 2:
        s, c = -s, -c
    return s, c


def sines_cosines(x0: float, x1: float, x2: float, x3: float) -> Eight:
    """Sines, then cosines, of four angles within reach [rad]: the same bits as one by one."""
    found = [sine_cosine(x) for x in (x0, x1, x2, x3)]
    (s0, c0), (s1, c1), (s2, c2), (s3, c3) = found
    return s0, s1, s2, s3, c0, c1, c2, c3


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
