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
    A: Matrix, b: Vector, size: int, limit: int, z: Vector, basis: Integers, work: Workspace
) -> tuple[int, int]:
    """Solve w = A z + b >= 0, z >= 0, w'z = 0 nearly, from z = 0.

    Expects equilibrated data (`scaling.equilibrate`): its tolerances are absolute.

    A: shape (>= size, >= size); b: shape (>= size,)
    limit: greatest number of iterations
    z: shape (>= size,), receives the last iterate
    basis: shape (>= size,), receives 1 where z > w at the end, else 0
    Returns (SOLVED, RAY where no step descends, or PIVOT_LIMIT; number of iterations).
    """
    w, phi, step = work.vectors[BASIC_W], work.vectors[DEFECT], work.vectors[STEP_Z]
    trial = work.vectors[RATIO]
    for i in range(size):
        z[i] = 0.0
    merit = _merit(A, b, size, z, w, phi)
    status, used = PIVOT_LIMIT, 0
    while True:
        # Done where the Fischer-Burmeister function vanishes
        worst = 0.0
        for i in range(size):
            worst = max(worst, abs(phi[i]))
        if not worst > NEAR:
            status = SOLVED
            break
        if used >= limit:
            break
        used += 1
        # Newton's step, halved until it descends enough
        slope = _step(A, size, z, work)
        length = 1.0
        status = RAY
        for _ in range(HALVINGS):
            for i in range(size):
                trial[i] = z[i] + length * step[i]
            value = _merit(A, b, size, trial, w, phi)
            if value <= merit + ARMIJO * length * slope:
                status = PIVOT_LIMIT
                break
            length *= 0.5
        if status == RAY:
            break
        merit = value
        for i in range(size):
            z[i] = trial[i]
    _merit(A, b, size, z, w, phi)
    for i in range(size):
        basis[i] = 1 if z[i] > w[i] else 0
    return status, used


@inlined
def _merit(A: Matrix, b: Vector, size: int, z: Vector, w: Vector, phi: Vector) -> float:
    """Half the sum of squares of all phi, which are written, as w is."""
    total = 0.0
    for i in range(size):
        value = b[i]
        for j in range(size):
            value += A[i, j] * z[j]
        w[i] = value
        length = math.sqrt(z[i] * z[i] + value * value)
        # Without cancellation where both are positive
        positive = z[i] > 0.0 and value > 0.0
        phi[i] = (
            -2.0 * z[i] * value / (length + z[i] + value) if positive else length - z[i] - value
        )
        total += phi[i] * phi[i]
    return 0.5 * total


@inlined
def _step(A: Matrix, size: int, z: Vector, work: Workspace) -> float:
    """Newton's step, or the steepest descent where it does not descend; returns the slope."""
    K, order = work.matrices[FACTOR], work.integers[ORDER]
    w, phi, step = work.vectors[BASIC_W], work.vectors[DEFECT], work.vectors[STEP_Z]
    gradient, right = work.vectors[CORRECTION], work.vectors[RIGHT]
    for i in range(size):
        gradient[i] = 0.0
    # K by rows of the generalised Jacobian, transposed; the gradient of the merit beside it
    for i in range(size):
        length = math.sqrt(z[i] * z[i] + w[i] * w[i])
        # At 0 any point of the unit circle around (-1, -1) is in the generalised gradient
        by_z = z[i] / length - 1.0 if length > 0.0 else math.sqrt(0.5) - 1.0
        by_w = w[i] / length - 1.0 if length > 0.0 else math.sqrt(0.5) - 1.0
        for j in range(size):
            value = by_w * A[i, j]
            K[j, i] = value
            gradient[j] += value * phi[i]
        K[i, i] += by_z
        gradient[i] += by_z * phi[i]
        right[i] = -phi[i]
    slope, squares = 0.0, 0.0
    if factorise(K, size, order) > 0.0:
        substitute(K, size, order, right, step)
        for i in range(size):
            slope += gradient[i] * step[i]
            squares += step[i] * step[i]
    # Newton's step does not descend, or there is none: steepest descent
    if not slope < -DESCENT * squares:
        slope = 0.0
        for i in range(size):
            step[i] = -gradient[i]
            slope -= gradient[i] * gradient[i]
    return slope
