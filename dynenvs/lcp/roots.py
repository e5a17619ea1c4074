"""A root of a semidefinite matrix, G = A^T A: Cholesky's factor with pivots, up to its rank.

Source: Higham, Accuracy and Stability of Numerical Algorithms (2002), section 10.3.
"""

from __future__ import annotations

import math

from dynenvs.jit.compiled import entry
from dynenvs.lcp.workspace import Matrix, Vector

RELATIVE = 1e-14  # what is left of a diagonal entry, over the entry, that is rounding


@entry
def find_root(matrix: Matrix, size: int, A: Matrix, left: Vector) -> int:
    """Fill the first rows of A, of which `size` columns count; returns how many: the rank of G.

    matrix: symmetric, semidefinite, in its leading block, shape (>= size, >= size)
    A: shape (>= rank, >= size); what has no room there is left out
    left: scratch, shape (>= size,)
    """
    for i in range(size):
        left[i] = matrix[i, i]
    rank = 0
    while rank < A.shape[0]:
        best, most = -1, RELATIVE
        # The largest share of a diagonal entry that is left: what it leaves behind is rounding
        for i in range(size):
            if matrix[i, i] > 0.0 and left[i] > most * matrix[i, i]:
                best, most = i, left[i] / matrix[i, i]
        if best < 0:
            break
        # Its row, less what the rows before have of it
        own = A[rank]
        for i in range(size):
            own[i] = matrix[best, i]
        for k in range(rank):
            row, factor = A[k], A[k, best]
            if factor != 0.0:
                for i in range(size):
                    own[i] -= factor * row[i]
        inverse = 1.0 / math.sqrt(left[best])
        for i in range(size):
            own[i] *= inverse
            left[i] -= own[i] * own[i]
        left[best] = 0.0
        rank += 1
    return rank
