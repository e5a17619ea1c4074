"""What an answer's residual is at most in exact arithmetic: the rounding of its own sum included.

`scaling.certificate` sums w = A z + b in working precision.  Where z is so large that A z swallows
b, that sum is rounding alone, and may happen to be zero: of skew matrices one in thirty then looked
solved at z = 1e17.  So no answer is certified before it has passed here.
"""

from __future__ import annotations

import math

from dynenvs.jit.compiled import entry, inlined
from dynenvs.lcp.dense import add_product
from dynenvs.lcp.workspace import DEFECT, RIGHT, W_SCALE, Z_SCALE, Matrix, Vector, Workspace

ROUNDOFF = 2.0**-53
UNDERFLOW = 1e-320  # what a product may lose to numbers too small to be normal, generously


@entry
def proven_residual(
    A: Matrix, b: Vector, size: int, z: Vector, tolerance: float, quick: bool, work: Workspace
) -> float:
    """An upper bound of the exact natural residual of z; up to `tolerance`, of its backward error.

    The backward error: set those z_i to zero that are small beside their w_i (both in natural
    scales), call the result z'.  Then z' solves exactly, with no rounding anywhere, a problem whose
    b_i differs from the given one by no more than the bound, in units of w_i.

    The error of a sum w in working precision is at most gamma_n (|A| |z| + |b|), with
    gamma_n = n u / (1 - n u); in twice the working precision u |w| + gamma_n^2 (|A| |z| + |b|)
    (Ogita, Rump, Oishi, Accurate Sum and Dot Product, 2005, prop. 5.5).  It is counted, twice over,
    as part of the residual.

    A: shape (>= size, >= size); b, z: shape (>= size,)
    quick: sum in working precision those rows that are within the tolerance even so: the bound is
        then not as tight
    work: with the problem's natural scales in Z_SCALE and W_SCALE
    Returns the bound; infinity if anything is not finite, scales included.
    """
    z_scale, unit = work.vectors[Z_SCALE], work.vectors[RIGHT]
    _strict_units(A, b, size, work.vectors[W_SCALE], work.vectors[DEFECT], unit)
    worst, strays = 0.0, 0.0
    gamma = 2.0 * (size + 2) * ROUNDOFF
    # w, and what its sum may have rounded
    for i in range(size):
        w, magnitude = b[i], abs(b[i])
        for j in range(size):
            product = A[i, j] * z[j]
            w += product
            magnitude += abs(product)
        bound = gamma * magnitude
        # Worth summing again with twice the digits
        if not quick or not bound < 0.1 * tolerance * unit[i]:
            w = _careful_sum(A, b, size, z, i)
            bound = 2.0 * ROUNDOFF * abs(w) + gamma * gamma * magnitude
        bound += size * UNDERFLOW
        if not abs(w) + abs(z[i]) + magnitude + z_scale[i] + unit[i] < math.inf:
            return math.inf
        # Positive: its w must vanish
        if z[i] > 0.0 and z[i] / z_scale[i] > w / unit[i]:
            worst = max(worst, (abs(w) + bound) / unit[i])
            continue
        # Zero, or as good as zero: w must not be negative
        worst = max(worst, (bound - w) / unit[i], abs(z[i]) / z_scale[i])
        if z[i] != 0.0:  # setting it to zero moves every w
            moved = 0.0
            for j in range(size):
                moved = max(moved, abs(A[j, i] * z[i]) / unit[j])
            strays += moved
    return worst + strays if worst <= tolerance else worst


@inlined
def _strict_units(
    A: Matrix, b: Vector, size: int, w_scale: Vector, z_unit: Vector, w_unit: Vector
) -> None:
    """Units of w that no tiny diagonal entry makes large.

    The natural scale of an impulse z_j is s / A_jj, whatever it does to other rows.  In contact,
    A_jj is the largest entry of its column, or not far from it.  Elsewhere it may be rounding
    alone, 1e-15 beside entries of size one, and rows that are measured by such an impulse would all
    seem to be met.  So here a row without a positive diagonal is measured by s, like b itself, if
    it has an entry of b or a negative diagonal (no row of a contact's friction has).  The others
    are measured by impulses in units of what they do to the rows that have a unit already.

    z_unit: shape (>= size,), scratch; w_unit: shape (>= size,), receives the units
    """
    # One velocity scale: every impulse row has it
    speed = math.inf
    for i in range(size):
        if A[i, i] > 0.0:
            speed = w_scale[i]
    for i in range(size):
        w_unit[i] = w_scale[i] if A[i, i] > 0.0 else min(w_scale[i], speed)
        z_unit[i] = 0.0
    # Units of impulses, by what they do to rows that have a unit
    for k in range(size):
        if A[k, k] != 0.0 or b[k] != 0.0:
            rate = 1.0 / w_unit[k]
            for j in range(size):
                z_unit[j] = max(z_unit[j], abs(A[k, j]) * rate)
    for j in range(size):
        z_unit[j] = 1.0 / z_unit[j] if z_unit[j] > 0.0 else math.inf
    # Rows without one: by the impulses that act on them
    for i in range(size):
        if A[i, i] == 0.0 and b[i] == 0.0:
            row = 0.0
            for j in range(size):
                if A[i, j] != 0.0 and A[j, j] > 0.0:  # most entries are zeros
                    row = max(row, abs(A[i, j]) * z_unit[j])
            w_unit[i] = min(w_scale[i], row) if row > 0.0 else w_scale[i]


@inlined
def _careful_sum(A: Matrix, b: Vector, size: int, z: Vector, row: int) -> float:
    """w_i as if in twice the working precision, rounded once."""
    total, low = b[row], 0.0
    for j in range(size):
        total, low = add_product(total, low, A[row, j], z[j])
    return float(total + low)


@entry
def careful_w(A: Matrix, b: Vector, size: int, z: Vector, w: Vector) -> None:
    """w = A z + b, each sum as if in twice the working precision.

    A: shape (>= size, >= size); b, z, w: shape (>= size,)
    """
    for i in range(size):
        w[i] = _careful_sum(A, b, size, z, i)
