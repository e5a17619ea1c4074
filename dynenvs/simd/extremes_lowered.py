"""The farthest of many points, four at a time in vector registers: LLVM code of `farthest`."""

from __future__ import annotations

import math
from typing import Any

from numba import types
from numba.extending import intrinsic, overload

from dynenvs.jit.lowering import (
    every,
    fields_of,
    gathered,
    kept,
    lanes_of,
    loop,
    registers,
    shuffled,
    word,
    words,
)
from dynenvs.simd.extremes import farthest
from dynenvs.simd.vectors import WIDTH

BLOCK = 3 * WIDTH  # numbers of WIDTH points


def _of_points(typing_context: Any, points: Any, x: Any, y: Any, z: Any) -> Any:
    """`farthest`: WIDTH points a round, each lane with its best, then these, then what is left."""
    block, places = registers(WIDTH), words(WIDTH)

    def generate(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        b = builder
        array = fields_of(context, b, sig.args[0], values[0])
        size = b.extract_value(array.shape, 0)
        whole = b.sub(size, b.srem(size, word(BLOCK)))
        n = values[1:]

        def reach(parts: Any, way: Any) -> Any:
            first = b.fadd(b.fmul(way[0], parts[0]), b.fmul(way[1], parts[1]))
            return b.fadd(first, b.fmul(way[2], parts[2]))

        def load(at: Any, kind: Any) -> Any:
            return b.load(b.bitcast(b.gep(array.data, [at]), kind.as_pointer()), align=8)

        # In each lane the best of every fourth point, and where it begins
        ways = [gathered(b, block, [value] * WIDTH) for value in n]
        offsets = [word(3 * lane) for lane in range(WIDTH)]
        most = kept(b, every(block, -math.inf))
        best = kept(b, gathered(b, places, offsets))
        with loop(b, word(0), whole, BLOCK) as (c, _):
            one, two, three = (load(b.add(c, word(k * WIDTH)), block) for k in range(3))
            xs = shuffled(b, shuffled(b, one, two, (0, 3, 6, 0)), three, (0, 1, 2, 5))
            ys = shuffled(b, shuffled(b, one, two, (1, 4, 7, 0)), three, (0, 1, 2, 6))
            zs = shuffled(b, shuffled(b, one, two, (2, 5, 0, 0)), three, (0, 1, 4, 7))
            reached = reach((xs, ys, zs), ways)
            here = gathered(b, places, [b.add(c, offset) for offset in offsets])
            better = b.fcmp_ordered(">", reached, b.load(most))
            b.store(b.select(better, here, b.load(best)), best)
            b.store(b.select(better, reached, b.load(most)), most)
        # The first of the best
        heights = lanes_of(b, b.load(most), WIDTH)
        starts = lanes_of(b, b.load(best), WIDTH)
        top, at = heights[0], starts[0]
        for height, start in zip(heights[1:], starts[1:], strict=True):
            before = b.and_(b.fcmp_ordered("==", height, top), b.icmp_signed("<", start, at))
            better = b.or_(b.fcmp_ordered(">", height, top), before)
            top, at = b.select(better, height, top), b.select(better, start, at)
        most, best = kept(b, top), kept(b, at)
        with loop(b, whole, size, 3) as (c, _):
            parts = [b.load(b.gep(array.data, [b.add(c, word(k))])) for k in range(3)]
            reached = reach(parts, n)
            better = b.fcmp_ordered(">", reached, b.load(most))
            b.store(b.select(better, c, b.load(best)), best)
            b.store(b.select(better, reached, b.load(most)), most)
        return b.load(best)

    real: Any = types.float64
    return types.int64(points, real, real, real), generate


_of: Any = intrinsic(_of_points)


# Numba compares the signatures of the two functions, annotations included.
@overload(farthest, jit_options={"forceinline": True})
def _farthest(points, x, y, z):  # type: ignore[no-untyped-def]
    return lambda points, x, y, z: _of(points, x, y, z)
