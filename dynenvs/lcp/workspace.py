"""The solvers' working memory: three arrays, made once (or carved out of a caller's flat buffer).

Numba's compile and call times grow with the number of arrays passed, so all scratch vectors are
rows of one array and all scratch matrices are slabs of another; the constants below name them.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynenvs.jit.compiled import inlined, kernel
from dynenvs.jit.views import matrix, stack

Vector = NDArray[np.float64]
Matrix = Annotated[NDArray[np.float64], 2]
Integers = NDArray[np.int64]

# Slabs of `matrices`.
EQUILIBRATED, FACTOR, UNFACTORED, TRANSPOSED, BLOCK_MATRIX, MATRICES = 0, 1, 2, 3, 4, 5

# Rows of `vectors`: first those of one solver of a basis (free again when it returns) ...
BASIC_Z, STEP_Z, BASIC_W, STEP_W, RIGHT, DEFECT, CORRECTION, LEX_Z, RATIO = range(9)
# ... then those of block Gauss-Seidel ...
BLOCK_VECTOR, BLOCK_Z, COVER = 9, 10, 11
# ... and those of the cascade.
UNIT, OFFSET, Z_SCALE, W_SCALE, TRIAL, ANSWER, VECTORS = 12, 13, 14, 15, 16, 17, 18

# Rows of `integers`, in the same order.
ROWS, COLUMNS, ORDER, TIGHT, TIED = 0, 1, 2, 3, 4
MEMBERS, BLOCK_BASIS = 5, 6
BASIS, INTEGERS = 7, 8


class Workspace(NamedTuple):
    """Scratch arrays of the LCP kernels for problems of up to `capacity` variables.

    matrices: float64, shape (MATRICES, capacity + 1, capacity + 1)
    vectors: float64, shape (VECTORS, capacity + 1)
    integers: int64, shape (INTEGERS, capacity + 1)
    """

    matrices: Annotated[NDArray[np.float64], 3]
    vectors: Matrix
    integers: Annotated[Integers, 2]


@kernel
def integer(value: int) -> int:
    """The same number, of a type that numba does not specialise on.

    A counter that starts as a literal and is passed on makes numba compile the callee once for
    the literal and once for the variable, and so on down the calls: six copies instead of one.
    """
    return value + 0  # a bare `value` would keep the literal type


@kernel
def workspace_size(capacity: int) -> int:
    """Length of the flat float64 buffer that `unpack_workspace` needs for `capacity` variables."""
    side = capacity + 1
    return MATRICES * side * side + (VECTORS + INTEGERS) * side


@inlined
def unpack_workspace(buffer: Vector, capacity: int) -> Workspace:
    """Carve a workspace out of a flat buffer, without allocating; the contents need no clearing.

    buffer: float64, at least `workspace_size(capacity)` long; one per thread
    Returns views that borrow it: keep it.  The integers reuse the same eight-byte words.
    """
    side = capacity + 1
    first = MATRICES * side * side
    second = first + VECTORS * side
    return Workspace(
        stack(buffer, 0, MATRICES, side, side, np.float64),
        matrix(buffer, 8 * first, VECTORS, side, np.float64),
        matrix(buffer, 8 * second, INTEGERS, side, np.int64),
    )


def workspace(capacity: int) -> Workspace:
    """Allocate the workspace for problems of up to `capacity` variables.

    Raises ValueError for a negative capacity.
    """
    if capacity < 0:
        raise ValueError(f"capacity is {capacity}; it counts variables, so it must be 0 or more")
    side = capacity + 1
    return Workspace(
        np.zeros((MATRICES, side, side)),
        np.zeros((VECTORS, side)),
        np.zeros((INTEGERS, side), dtype=np.int64),
    )
