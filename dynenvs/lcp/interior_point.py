"""An infeasible interior-point method: predictor and corrector towards z w = 0 from z, w > 0.

Every z and w stays positive while all products z_i w_i shrink together; a dozen or two linear
systems do, whatever the number of variables.  It comes near to an answer, not to it: the caller
solves again with the basis z > w (`active_set.py`).

Source: Mehrotra, On the implementation of a primal-dual interior point method (1992), for LCPs as
in Wright, Primal-Dual Interior-Point Methods (1997), chapter 8.  Proved for monotone problems;
those of contact with friction are copositive, and it mostly works there too.
"""

from __future__ import annotations

from dynenvs.jit.compiled import inlined, kernel
from dynenvs.lcp.dense import factorise, substitute
from dynenvs.lcp.tableau import PIVOT_LIMIT, RAY, SOLVED
from dynenvs.lcp.workspace import (
    BASIC_W,
    DEFECT,
    FACTOR,
    LEX_Z,
    ORDER,
    RIGHT,
    STEP_W,
    STEP_Z,
    Integers,
    Matrix,
    Vector,
    Workspace,
)

NEAR = 1e-11  # largest defect, and product z w, at which the basis is clear
REACH = 0.995  # of the step that would bring the first variable to zero
LARGE = 1e12  # an iterate beyond this runs along a ray


@kernel
def interior_point(
    A: Matrix,
    b: Vector,
    start: Vector,
    size: int,
    limit: int,
    z: Vector,
    basis: Integers,
    work: Workspace,
) -> tuple[int, int]:
    """Solve w = A z + b >= 0, z >= 0, w'z = 0 nearly.

    Expects equilibrated data (`scaling.equilibrate`): its tolerances are absolute.

    A: shape (>= size, >= size); b: shape (>= size,)
    start: shape (>= size,), positive values that all z and w start from
    limit: greatest number of iterations
    z: shape (>= size,), receives the last iterate
    basis: shape (>= size,), receives 1 where z > w at the end, else 0
    Returns (SOLVED, RAY if the iterates run away, or PIVOT_LIMIT; number of iterations).
    """
    w, dz, dw = work.vectors[BASIC_W], work.vectors[STEP_Z], work.vectors[STEP_W]
    defect, second = work.vectors[DEFECT], work.vectors[LEX_Z]
    # From values that are clearly positive, however far off
    for i in range(size):
        z[i] = w[i] = start[i]
    status, used = PIVOT_LIMIT, 0
    while True:
        # Done where all products are small
        mean, worst = _measure(A, b, size, z, w, defect)
        if not worst > NEAR:
            status = SOLVED
            break
        if used >= limit:
            break
        used += 1
        if not (mean * size < LARGE and _factorise(A, size, z, w, work)):
            status = RAY
            break
        for i in range(size):
            # Predict: the step that would make all products zero, and how far it can go
            second[i] = 0.0
        _direction(A, size, 0.0, z, work)
        length = _longest(size, z, w, dz, dw)
        # Mehrotra's rule: what the step would leave of the products says how low to aim
        left = 0.0
        for i in range(size):
            left += (z[i] + length * dz[i]) * (w[i] + length * dw[i])
            second[i] = dz[i] * dw[i]
        share = max(left, 0.0) / (mean * size)
        # While far from w = A z + b the products must not run ahead of it
        _direction(A, size, mean * max(share * share * share, 1e-3 * (1.0 - length)), z, work)
        # Correct: towards products that are small and equal
        length = min(1.0, REACH * _longest(size, z, w, dz, dw))
        for i in range(size):
            z[i] += length * dz[i]
            w[i] += length * dw[i]
    for i in range(size):
        basis[i] = 1 if z[i] > w[i] else 0
    return status, used


@inlined
def _measure(
    A: Matrix, b: Vector, size: int, z: Vector, w: Vector, defect: Vector
) -> tuple[float, float]:
    """Mean product, and the largest of all defects A z + b - w (written) and products."""
    total, worst = 0.0, 0.0
    for i in range(size):
        value = b[i] - w[i]
        for j in range(size):
            value += A[i, j] * z[j]
        defect[i] = value
        total += z[i] * w[i]
        worst = max(worst, abs(value), z[i] * w[i])
    return total / max(size, 1), worst


@inlined
def _factorise(A: Matrix, size: int, z: Vector, w: Vector, work: Workspace) -> bool:
    """Factors of A + diag(w / z); returns whether it is regular."""
    K = work.matrices[FACTOR]
    for i in range(size):
        for j in range(size):
            K[j, i] = A[i, j]
        K[i, i] += w[i] / z[i]
    return factorise(K, size, work.integers[ORDER]) > 0.0


@inlined
def _direction(A: Matrix, size: int, target: float, z: Vector, work: Workspace) -> None:
    """Changes dz and dw that would bring the defects to 0 and the products to the target."""
    w, dz, dw = work.vectors[BASIC_W], work.vectors[STEP_Z], work.vectors[STEP_W]
    defect, second, right = work.vectors[DEFECT], work.vectors[LEX_Z], work.vectors[RIGHT]
    for i in range(size):
        right[i] = (target - second[i]) / z[i] - w[i] - defect[i]
    substitute(work.matrices[FACTOR], size, work.integers[ORDER], right, dz)
    for i in range(size):
        dw[i] = right[i] + defect[i] - w[i] / z[i] * dz[i]


@inlined
def _longest(size: int, z: Vector, w: Vector, dz: Vector, dw: Vector) -> float:
    """The longest step, up to 1 / REACH, that keeps all variables from turning negative."""
    length = 1.0 / REACH
    for i in range(size):
        if z[i] + length * dz[i] < 0.0:
            length = -z[i] / dz[i]
        if w[i] + length * dw[i] < 0.0:
            length = -w[i] / dw[i]
    return length
