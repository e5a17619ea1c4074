"""Natural scales of an LCP: the units in which its residual is measured, and equilibration.

For w = A z + b >= 0, z >= 0, w'z = 0 an *impulse row* has A_ii > 0: w_i is a velocity, z_i an
impulse.  A *cone row* has A_ii = 0 (friction pyramid): there z_i is a velocity, w_i an impulse.
"""

from __future__ import annotations

import math

import numpy as np

from dynenvs.jit.compiled import inlined, kernel
from dynenvs.jit.views import vector
from dynenvs.lcp.dense import add_product
from dynenvs.lcp.workspace import Integers, Matrix, Vector

# A float's bits: sign, exponent, fraction
FRACTION_BITS = 52
EXPONENT_OF_1 = 1023
FRACTION_OF_SQRT2 = 0x6A09E667F3BCD


@inlined
def natural_scales(
    A: Matrix, b: Vector, size: int, floor: float, z_scale: Vector, w_scale: Vector
) -> float:
    """Scale of every z_i and w_i, from one velocity scale s = max(max|b|, floor) (1 if that is 0).

    Impulse rows: w_scale = s, z_scale = s / A_ii.  Cone rows: w_scale = max_j |A_ij| z_scale_j and
    z_scale = min_j w_scale_j / |A_ji|, j over the impulse rows (s for an empty row or column).

    A: shape (>= size, >= size); b, z_scale, w_scale: shape (>= size,)
    floor: in the unit of b, 0 for none
    Returns s.
    """
    # One velocity for the whole problem
    s = floor
    for i in range(size):
        s = max(s, abs(b[i]))
    if s == 0.0:
        s = 1.0
    # Impulse rows by their own diagonal entry
    for i in range(size):
        if A[i, i] > 0.0:
            w_scale[i] = s
            z_scale[i] = s / A[i, i]
    # Cone rows by the impulses that bound them and the velocities that they shift
    for i in range(size):
        if not A[i, i] > 0.0:
            row = 0.0
            column = 0.0
            for j in range(size):
                if A[j, j] > 0.0:
                    row = max(row, abs(A[i, j]) * z_scale[j])
                    column = max(column, abs(A[j, i]))
            w_scale[i] = row if row > 0.0 else s
            z_scale[i] = s / column if column > 0.0 else s
    return s


@kernel
def certificate(
    A: Matrix, b: Vector, size: int, z: Vector, z_scale: Vector, w_scale: Vector, careful: bool
) -> float:
    """Natural residual max_i |min(z_i / z_scale_i, w_i / w_scale_i)| with w = A z + b.

    (Cottle, Pang, Stone, The Linear Complementarity Problem, sec. 5.10: it is 0 exactly at the
    solutions.)  Not-a-number or infinite anywhere gives infinity.  Rounding of the sum w is not
    counted: `proof.proven_residual` does that.

    A: shape (>= size, >= size); b, z, z_scale, w_scale: shape (>= size,)
    careful: sum w as if in twice the working precision, so that only z's own error is seen
    """
    worst = 0.0
    for i in range(size):
        w = b[i]
        if careful:
            low = 0.0
            for j in range(size):
                w, low = add_product(w, low, A[i, j], z[j])
            w += low
        else:
            for j in range(size):
                w += A[i, j] * z[j]
        # Sums of magnitudes: NaN and infinity fail the same test
        both = abs(w) + abs(z[i])
        if not both < math.inf:
            return math.inf
        worst = max(worst, abs(min(z[i] / z_scale[i], w / w_scale[i])))
    return worst


@inlined
def _round_to_power(bits: Integers, index: int) -> None:
    """Round a number > 0 to the nearest power of two (within a factor sqrt 2).

    bits: numbers seen as integers, of FRACTION_BITS of fraction under those of the exponent
    """
    fraction = bits[index] & ((1 << FRACTION_BITS) - 1)
    bits[index] += ((1 << FRACTION_BITS) if fraction > FRACTION_OF_SQRT2 else 0) - fraction


@inlined
def _invert_root(bits: Integers, index: int) -> None:
    """Replace x > 0 by the power of two nearest to 1 / sqrt(x), within a factor sqrt 2."""
    exponent = (bits[index] >> FRACTION_BITS) - EXPONENT_OF_1
    bits[index] = (EXPONENT_OF_1 - ((exponent + 1) >> 1)) << FRACTION_BITS


@inlined
def equilibrate(
    A: Matrix, b: Vector, size: int, unit: Vector, matrix: Matrix, offset: Vector
) -> float:
    """Symmetric equilibration: matrix = D A D and offset = D b / beta, beta = max|D b| (or 1).

    D_ii = unit_i is 1 / sqrt(A_ii) on impulse rows, so that the diagonal becomes 1 whatever the
    masses, and 1 / max_j |A_ij| unit_j on cone rows, so that their largest entry becomes 1.
    All of them, and beta, are rounded to powers of two: then scaling adds no rounding error, and
    the scaled problem is exactly the given one in other units.  Its solution y is z = beta D y.

    A, matrix: shape (>= size, >= size); b, unit, offset: shape (>= size,)
    Returns beta.
    """
    bits = vector(unit, 0, size, np.int64)
    # Impulse rows first: cone rows are scaled by them
    for i in range(size):
        if A[i, i] > 0.0:
            unit[i] = A[i, i]
            _invert_root(bits, i)
    for i in range(size):
        if not A[i, i] > 0.0:
            largest = 0.0
            for j in range(size):
                if A[j, j] > 0.0:
                    largest = max(largest, abs(A[i, j]) * unit[j])
            unit[i] = 1.0
            if largest > 0.0:
                unit[i] = 1.0 / largest
                _round_to_power(bits, i)
    # The scaled problem
    largest = 0.0
    for i in range(size):
        offset[i] = unit[i] * b[i]
        largest = max(largest, abs(offset[i]))
        for j in range(size):
            matrix[i, j] = unit[i] * A[i, j] * unit[j]
    if not largest > 0.0:
        return 1.0
    # Its largest entry, rounded to a power of two in place
    first = offset[0]
    offset[0] = largest
    _round_to_power(vector(offset, 0, 1, np.int64), 0)
    beta = float(offset[0])
    offset[0] = first
    inverse = 1.0 / beta  # of a power of two: exact
    for i in range(size):
        offset[i] *= inverse
    return beta
