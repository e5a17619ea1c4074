"""Solvers that the cascade rarely needs: a unit of their own, compiled when it first does."""

from __future__ import annotations

import numpy as np

from dynenvs.jit.compiled import unit
from dynenvs.jit.views import matrix, stack
from dynenvs.lcp.interior_point import interior_point
from dynenvs.lcp.principal_pivoting import principal_pivoting
from dynenvs.lcp.workspace import (
    BASIS,
    COVER,
    EQUILIBRATED,
    INTEGERS,
    MATRICES,
    OFFSET,
    TRIAL,
    VECTORS,
    Integers,
    Vector,
    Workspace,
)

ITERATIONS = 60


@unit(seconds=3)
def solve_by_fallback(
    matrices: Vector, vectors: Vector, integers: Integers, size: int, pivoting: int
) -> int:
    """Solve the scaled problem of a workspace into its TRIAL and BASIS; returns the pivots.

    matrices, vectors, integers: the arrays of a workspace, flat
    pivoting: 0 for the interior-point method, from COVER, else principal pivoting
    """
    # Flat arrays pass an address; here they have their shapes again
    side = vectors.shape[0] // VECTORS
    work = Workspace(
        stack(matrices, 0, MATRICES, side, side, np.float64),
        matrix(vectors, 0, VECTORS, side, np.float64),
        matrix(integers, 0, INTEGERS, side, np.int64),
    )
    scaled, offset = work.matrices[EQUILIBRATED], work.vectors[OFFSET]
    trial, basis = work.vectors[TRIAL], work.integers[BASIS]
    if pivoting != 0:
        _, pivots = principal_pivoting(scaled, offset, size, 100 + 10 * size, trial, basis, work)
        return int(pivots)
    interior_point(scaled, offset, work.vectors[COVER], size, ITERATIONS, trial, basis, work)
    return 0
