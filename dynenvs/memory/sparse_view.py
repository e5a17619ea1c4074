"""What the sparse solver works on, opened on the workspace's buffer.

A tree is a free body, or a robot with all its bodies; what stands still belongs to none.  Vectors
of velocities are ordered by trees here: entry `tree.first + k` is the tree's k-th coordinate.
A constraint is a contact (normal and tangents: 1 to 3 rows) or a joint limit in reach (1 row), and
acts on one tree or on two: side 0 and side 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynenvs.jit.compiled import inlined
from dynenvs.memory.records import CONSTRAINT, ELIMINATED, ISLAND, TREE
from dynenvs.memory.views import matrix, vector

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Records = NDArray[Any]

ROOM = 4_000_000  # words of a factor that are always enough for 300 free bodies ...
ROOM_PER_COORDINATE = 2_000  # ... and words more for each coordinate of larger scenes

TREE_BYTES, CONSTRAINT_BYTES = TREE.itemsize, CONSTRAINT.itemsize
ISLAND_BYTES, ELIMINATED_BYTES = ISLAND.itemsize, ELIMINATED.itemsize


class SparseView(NamedTuple):
    """Named views; nk constraints, nt trees, nv coordinates, wide: those of the largest tree."""

    trees: Records  # TREE, shape (nt,)
    constraints: Records  # CONSTRAINT, shape (nk,)
    islands: Records  # ISLAND, shape (nt + 1,): the last is what one contact alone joins
    members: Ints  # constraints, island by island, shape (nk,)
    trees_of: Ints  # trees, island by island, in the order of elimination, shape (nt + 2,)
    masses: Floats  # the trees' mass matrices, one after the other
    J: Floats  # Jacobian of row r of side s of constraint k in row 6 k + 3 s + r, (6 nk, wide)
    Z: Floats  # J M^-1, the same shape
    G: Floats  # J M^-1 J^T of each constraint alone, row by row, shape (nk, 9)
    W: Floats  # derivative of the impulse by the velocity, row by row, shape (nk, 9)
    bias: Floats  # right-hand side [m/s], shape (nk, 3)
    p: Floats  # impulses [N s], shape (nk, 3)
    best: Floats  # the best impulses so far, shape (nk, 3)
    held: Floats  # those after the last round that was solved, shape (nk, 3)
    kept: Floats  # what an earlier attempt ended with, shape (nk, 3)
    inelastic: Floats  # impulses of an impact without restitution, shape (nk, 3)
    trial: Floats  # impulses that the law gives at a trial velocity, shape (nk, 3)
    path: Floats  # of the interior-point method: 8 entries for each variable of the LCP, (8, *)
    eliminated: Records  # ELIMINATED, shape (nk,)
    slip: Floats  # mu times the slip, where it is held for a round [m/s], shape (nk,)
    free: Floats  # velocity without impulses, ordered by trees, shape (nv,)
    before: Floats  # of an impact: the velocity before it, shape (nv,)
    v: Floats  # the trial velocity, shape (nv,)
    off: Floats  # by which it misses what its impulses give, shape (nv,)
    step: Floats  # Newton's step, shape (nv,)
    start: Floats  # the velocity before a line search, shape (nv,)
    coordinates: Ints  # the model's coordinate of each entry, shape (nv,)
    swaps: Ints  # row that was exchanged with each one of the factor's diagonal blocks, shape (nv,)
    block: Ints  # first word of the factor's block of a row's and a column's node, or -1, (nt, nt)
    later: Ints  # nodes that each node is coupled with and that come after it, shape (nt, nt)
    laters: Ints  # how many these are, shape (nt,)
    degree: Ints  # scratch, shape (nt,)
    factor: Floats  # blocks of the factor
    # Of contacts with moments: derivatives of the impulse by the turns, and of the moments by the
    # velocity, row by row, by the number of the moments' constraint, shape (nk, 18) (or (0, 18))
    cross: Floats
    projected: Floats  # scratch of the certificate, shape (2, 3)


def factor_words(header: Any) -> int:
    """Room for the factor's blocks [words]."""
    nv = int(header.nv)
    return min(nv * nv, ROOM + ROOM_PER_COORDINATE * nv)


def sparse_parts(header: Any) -> list[int]:
    """Sizes of the views in bytes, in their order, for the counts in the header."""
    nt, nv = int(header.ntrees), int(header.nv)
    nk = int(header.nc + header.nlimited + header.ndry + header.nmoments)
    wide = int(header.widest)
    words = [
        nt * TREE.itemsize // 8, nk * CONSTRAINT.itemsize // 8, (nt + 1) * ISLAND.itemsize // 8, nk,
        nt + 2, nv * wide, 6 * nk * wide, 6 * nk * wide, 9 * nk, 9 * nk, 3 * nk, 3 * nk, 3 * nk,
        3 * nk, 3 * nk, 3 * nk, 3 * nk, 8 * nk * (2 + int(header.directions)),
        nk * ELIMINATED.itemsize // 8, nk,
        nv, nv, nv, nv, nv, nv, nv, nv, nt * nt, nt * nt, nt, nt, factor_words(header),
        18 * nk if header.moments else 0, 6,
    ]  # fmt: skip
    return [8 * word for word in words]


def sparse_bytes(header: Any) -> int:
    """Size of all of them."""
    return sum(sparse_parts(header)) if header.sparse else 0


@inlined
def open_sparse(header: Records, buffer: Bytes) -> SparseView:
    """Views of the sparse solver's part of a workspace, for a model's header, shape (1,)."""
    h = header[0]
    nt, nv, nk, wide = h.ntrees, h.nv, h.nc + h.nlimited + h.ndry + h.nmoments, h.widest
    at = h.sparse_at
    trees = vector(buffer, at, nt, TREE)
    at += nt * TREE_BYTES
    constraints = vector(buffer, at, nk, CONSTRAINT)
    at += nk * CONSTRAINT_BYTES
    islands = vector(buffer, at, nt + 1, ISLAND)
    at += (nt + 1) * ISLAND_BYTES
    members = vector(buffer, at, nk, np.int64)
    at += 8 * nk
    trees_of = vector(buffer, at, nt + 2, np.int64)
    at += 8 * (nt + 2)
    masses = vector(buffer, at, nv * wide, np.float64)
    at += 8 * nv * wide
    J = matrix(buffer, at, 6 * nk, wide, np.float64)
    at += 48 * nk * wide
    Z = matrix(buffer, at, 6 * nk, wide, np.float64)
    at += 48 * nk * wide
    G = matrix(buffer, at, nk, 9, np.float64)
    W = matrix(buffer, at + 72 * nk, nk, 9, np.float64)
    at += 144 * nk
    bias = matrix(buffer, at, nk, 3, np.float64)
    p = matrix(buffer, at + 24 * nk, nk, 3, np.float64)
    best = matrix(buffer, at + 48 * nk, nk, 3, np.float64)
    held = matrix(buffer, at + 72 * nk, nk, 3, np.float64)
    kept = matrix(buffer, at + 96 * nk, nk, 3, np.float64)
    inelastic = matrix(buffer, at + 120 * nk, nk, 3, np.float64)
    trial = matrix(buffer, at + 144 * nk, nk, 3, np.float64)
    at += 168 * nk
    path = matrix(buffer, at, 8, nk * (2 + h.directions), np.float64)
    at += 64 * nk * (2 + h.directions)
    eliminated = vector(buffer, at, nk, ELIMINATED)
    at += nk * ELIMINATED_BYTES
    slip = vector(buffer, at, nk, np.float64)
    at += 8 * nk
    free = vector(buffer, at, nv, np.float64)
    before = vector(buffer, at + 8 * nv, nv, np.float64)
    v = vector(buffer, at + 16 * nv, nv, np.float64)
    off = vector(buffer, at + 24 * nv, nv, np.float64)
    step = vector(buffer, at + 32 * nv, nv, np.float64)
    start = vector(buffer, at + 40 * nv, nv, np.float64)
    coordinates = vector(buffer, at + 48 * nv, nv, np.int64)
    swaps = vector(buffer, at + 56 * nv, nv, np.int64)
    at += 64 * nv
    block = matrix(buffer, at, nt, nt, np.int64)
    later = matrix(buffer, at + 8 * nt * nt, nt, nt, np.int64)
    at += 16 * nt * nt
    laters = vector(buffer, at, nt, np.int64)
    degree = vector(buffer, at + 8 * nt, nt, np.int64)
    at += 16 * nt
    words = min(nv * nv, ROOM + ROOM_PER_COORDINATE * nv)
    factor = vector(buffer, at, words, np.float64)
    at += 8 * words
    crossed = nk if h.moments else 0
    cross = matrix(buffer, at, crossed, 18, np.float64)
    projected = matrix(buffer, at + 144 * crossed, 2, 3, np.float64)
    return SparseView(
        trees, constraints, islands, members, trees_of, masses, J, Z, G, W, bias, p, best, held,
        kept, inelastic, trial, path, eliminated, slip, free, before, v, off, step, start,
        coordinates, swaps, block, later, laters, degree, factor, cross, projected,
    )  # fmt: skip
