"""Sums along rows in whole vector registers: LLVM code of the functions in `vectors.py`."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic, overload

from dynenvs.jit.lowering import fields_of, gathered, loop, registers, word
from dynenvs.simd.vectors import WIDTH, add_multiple, add_outer


def _make(rows: int) -> Any:
    """Code for so many rows of X at once."""

    @intrinsic
    def add(
        typing_context: Any,
        matrix: Any,
        row: Any,
        source: Any,
        source_row: Any,
        low: Any,
        high: Any,
        factor: Any,
    ) -> Any:
        def generate(context: Any, builder: Any, sig: Any, values: Any) -> Any:
            block = registers(WIDTH)
            # Where the rows begin, and the factor of each, in all lanes
            first, columns = _row(context, builder, sig.args[0], values[0], values[1])
            z_row, _ = _row(context, builder, sig.args[2], values[2], values[3])
            targets, factors = [first], [values[6]]
            for _ in range(1, rows):
                targets.append(builder.gep(targets[-1], [columns]))
            if rows > 1:
                for i in range(rows):
                    at = builder.gep(z_row, [builder.add(values[1], word(i))])
                    factors.append(builder.fmul(values[6], builder.load(at)))
                factors = factors[1:]
            factors = [gathered(builder, block, [factor] * WIDTH) for factor in factors]
            # Register by register: one load of Z serves all rows
            with loop(builder, values[4], values[5], WIDTH) as (c, _):
                z = builder.load(_at(builder, block, z_row, c), align=8)
                for target, factor in zip(targets, factors, strict=True):
                    at = _at(builder, block, target, c)
                    x = builder.load(at, align=8)
                    builder.store(builder.fadd(x, builder.fmul(factor, z)), at, align=8)
            return context.get_dummy_value()

        whole = types.int64
        return types.void(matrix, whole, source, whole, whole, whole, types.float64), generate

    return add


def _row(context: Any, builder: Any, kind: Any, value: Any, row: Any) -> tuple[Any, Any]:
    """Address of the first entry of an array's row, and the number of its columns."""
    array = fields_of(context, builder, kind, value)
    columns = builder.extract_value(array.shape, 1)
    return builder.gep(array.data, [builder.mul(row, columns)]), columns


def _at(builder: Any, block: Any, row: Any, column: Any) -> Any:
    """Address of the block at entry `column` of a row."""
    return builder.bitcast(builder.gep(row, [column]), block.as_pointer())


_one_row: Any = _make(1)
_four_rows: Any = _make(WIDTH)


# Numba compares the signatures of the two functions, annotations included.
@overload(add_multiple, jit_options={"forceinline": True})
def _add_multiple(target, row, source, source_row, low, high, factor):  # type: ignore[no-untyped-def]
    return lambda target, row, source, source_row, low, high, factor: _one_row(
        target, row, source, source_row, low, high, factor
    )


@overload(add_outer, jit_options={"forceinline": True})
def _add_outer(target, row, source, source_row, low, high, factor):  # type: ignore[no-untyped-def]
    return lambda target, row, source, source_row, low, high, factor: _four_rows(
        target, row, source, source_row, low, high, factor
    )
