"""A root of a problem's Delassus matrix, G = A^T A, for methods whose unknowns are freedoms.

Cholesky's factor with pivots has as few rows as the rank of G, without zeros.  G = Y^T D^-1 Y, as
the trees' factors leave it, has another one: D^(-1/2) Y, with as many rows as coordinates move, and
many zeros: a contact has entries only for those that carry its two bodies.
"""

from __future__ import annotations

import math

from dynenvs.contact.assembly.problem import ContactProblem, Scratch
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.lcp.roots import find_root
from dynenvs.memory.layout import Floats


@kernel
def root_of(problem: ContactProblem, scratch: Scratch) -> int:
    """Fill the first rows of `scratch.roots` with the one that is less work; returns how many."""
    A, Y, L, rows = scratch.roots, problem.Y, problem.L, problem.rows
    rank = int(find_root(problem.G, rows, A, scratch.right))
    size, entries = 0, 0
    for j in range(problem.freedoms):
        moved = _count(Y[j], rows) if L[j, j] > 0.0 else 0
        size, entries = size + (1 if moved > 0 else 0), entries + moved
    if not (0 < size <= A.shape[0] and size * entries < rank * rank * rows):
        return rank
    size = 0
    for j in range(problem.freedoms - 1, -1, -1):  # tips first: elimination fills in less
        if L[j, j] > 0.0 and _count(Y[j], rows) > 0:
            root = math.sqrt(L[j, j])
            for r in range(rows):
                A[size, r] = root * Y[j, r]
            size += 1
    return size


@inlined
def _count(row: Floats, count: int) -> int:
    """How many of its first entries are not zero."""
    found = 0
    for r in range(count):
        found += 1 if row[r] != 0.0 else 0
    return found
