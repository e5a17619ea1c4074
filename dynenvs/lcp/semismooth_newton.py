"""Newton's method on the Fischer-Burmeister function: semismooth, with a line search.

z solves the LCP if and only if every phi(z_i, w_i) = sqrt(z_i^2 + w_i^2) - z_i - w_i is 0.  The
equations are not smooth where both are 0, but Newton's method with an element of the generalised
Jacobian converges quadratically to regular solutions, and their sum of squares is smooth and serves
the line search.  Near an answer the caller solves again with the basis z > w (`active_set.py`).

Source: De Luca, Facchinei, Kanzow, A semismooth equation approach to the solution of nonlinear
complementarity problems (1996).
"""

from __future__ import annotations

import math

from dynenvs.jit.compiled import inlined, kernel
from dynenvs.lcp.dense import factorise, substitute
from dynenvs.lcp.tableau import PIVOT_LIMIT, RAY, SOLVED
from dynenvs.lcp.workspace import (
    BASIC_W,
    CORRECTION,
    DEFECT,
    FACTOR,
    ORDER,
    RATIO,
    RIGHT,
    STEP_Z,
    Integers,
    Matrix,
    Vector,
    Workspace,
)

NEAR = 1e-12  # largest phi at which an answer is near enough
DESCENT = 1e-8  # of the squared length of a step, by which Newton's must descend to be taken
ARMIJO = 1e-4  # part of the predicted decrease that a step must bring
HALVINGS = 40


@kernel
def semismooth_newton(
    A: Matrix, b: Vector, n: int, limit: int, z: Vector, basis: Integers, work: Workspace
) -> tuple[int, int]:
    """Solve w = A z + b >= 0, z >= 0, w'z = 0 nearly, from z = 0.

    Expects equilibrated data (`scaling.equilibrate`): its tolerances are absolute.

    A: shape (>= n, >= n); b: shape (>= n,)
    limit: greatest number of iterations
    z: shape (>= n,), receives the last iterate
    basis: shape (>= n,), receives 1 where z > w at the end, else 0
    Returns (SOLVED, RAY where no step descends, or PIVOT_LIMIT; number of iterations).
    """
    w, phi, step = work.vectors[BASIC_W], work.vectors[DEFECT], work.vectors[STEP_Z]
    trial = work.vectors[RATIO]
    for i in range(n):
        z[i] = 0.0
    merit = _merit(A, b, n, z, w, phi)
    status, used = PIVOT_LIMIT, 0
    while True:
        # Done where the Fischer-Burmeister function vanishes
        worst = 0.0
        for i in range(n):
            worst = max(worst, abs(phi[i]))
        if not worst > NEAR:
            status = SOLVED
            break
        if used >= limit:
            break
        used += 1
        # Newton's step, halved until it descends enough
        slope = _step(A, n, z, work)
        length = 1.0
        status = RAY
        for _ in range(HALVINGS):
            for i in range(n):
                trial[i] = z[i] + length * step[i]
            value = _merit(A, b, n, trial, w, phi)
            if value <= merit + ARMIJO * length * slope:
                status = PIVOT_LIMIT
                break
            length *= 0.5
        if status == RAY:
            break
        merit = value
        for i in range(n):
            z[i] = trial[i]
    _merit(A, b, n, z, w, phi)
    for i in range(n):
        basis[i] = 1 if z[i] > w[i] else 0
    return status, used


@inlined
def _merit(A: Matrix, b: Vector, n: int, z: Vector, w: Vector, phi: Vector) -> float:
    """Half the sum of squares of all phi, which are written, as w is."""
    total = 0.0
    for i in range(n):
        value = b[i]
        for j in range(n):
            value += A[i, j] * z[j]
        w[i] = value
        size = math.sqrt(z[i] * z[i] + value * value)
        # Without cancellation where both are positive
        positive = z[i] > 0.0 and value > 0.0
        phi[i] = -2.0 * z[i] * value / (size + z[i] + value) if positive else size - z[i] - value
        total += phi[i] * phi[i]
    return 0.5 * total


@inlined
def _step(A: Matrix, n: int, z: Vector, work: Workspace) -> float:
    """Newton's step, or the steepest descent where it does not descend; returns the slope."""
    K, order = work.matrices[FACTOR], work.integers[ORDER]
    w, phi, step = work.vectors[BASIC_W], work.vectors[DEFECT], work.vectors[STEP_Z]
    gradient, right = work.vectors[CORRECTION], work.vectors[RIGHT]
    for i in range(n):
        gradient[i] = 0.0
    for i in range(n):
        size = math.sqrt(z[i] * z[i] + w[i] * w[i])
        # At 0 any point of the unit circle around (-1, -1) is in the generalised gradient
        by_z = z[i] / size - 1.0 if size > 0.0 else math.sqrt(0.5) - 1.0
        by_w = w[i] / size - 1.0 if size > 0.0 else math.sqrt(0.5) - 1.0
        for j in range(n):
            value = by_w * A[i, j]
            K[j, i] = value
            gradient[j] += value * phi[i]
        K[i, i] += by_z
        gradient[i] += by_z * phi[i]
        right[i] = -phi[i]
    slope, squares = 0.0, 0.0
    if factorise(K, n, order) > 0.0:
        substitute(K, n, order, right, step)
        for i in range(n):
            slope += gradient[i] * step[i]
            squares += step[i] * step[i]
    if not slope < -DESCENT * squares:
        slope = 0.0
        for i in range(n):
            step[i] = -gradient[i]
            slope -= gradient[i] * gradient[i]
    return slope
