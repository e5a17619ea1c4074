"""Closed loops: bilateral constraints J_b v = 0, eliminated before the contact problem.

The multipliers of the loops are free variables of a mixed problem (Jain et al. 2012, eq. 34).  They
are taken out of it by a Cholesky factor of K = J_b M^-1 J_b^T, which leaves the contacts the LCP
that they always have (docs/theory.md, Elimination of loops), with

    W = M^-1 - M^-1 J_b^T K^+ J_b M^-1

in the place of M^-1: whatever solves an LCP, and its certificate, stays as it is, and contact
impulses cannot open a loop.  With M = L^T D L, Y_b = L^-T J_b^T and Y = L^-T J^T of the contact
rows, this is Y <- Y - Y_b K^+ Y_b^T D^-1 Y and nothing else.  (In the LCP itself, shifted or split
into two signs, they would enlarge it, and each pivot would repeat what is done here once.)

Redundant rows (a planar pin has five of rank two) show as vanishing pivots and are left out:
K's range is what the remaining ones span.  Entries that no coordinate can make non-zero are left
out too (K's envelope), so that a chain of hinges costs no more than its length.

Positions are closed in `closing.py`.
"""

from __future__ import annotations

import math

from dynenvs.contact.assembly.loop_rows import fill_rows
from dynenvs.jit.compiled import inlined, kernel, unit
from dynenvs.memory.layout import Floats, LoopView, ModelView, WorkView
from dynenvs.simd.vectors import WIDTH, add_outer

HELD = 0  # what the first two kernels return, unless they could not be compiled
REDUNDANT = 1e-12  # a pivot of K below this share of its diagonal entry is one of a redundant row
MOVED = 1e-10  # ... or of this share of the largest entry: a row that roundoff alone moves


@inlined
def _lightness(w: ModelView, factors: Floats, coordinate: int, kinetic: bool) -> float:
    """D^-1 of a coordinate, or what stands in its place where masses are not to count."""
    if kinetic:
        return float(factors[coordinate, coordinate])
    return 0.0 if w.dofs[coordinate].kinematic else 1.0


@kernel
def couple_loops(
    w: ModelView, factors: Floats, mask: Floats, closure: LoopView, kinetic: bool
) -> None:
    """Y = L^-T J^T, and the upper triangle of K = Y^T D^-1 Y within its envelope.

    mask: of each coordinate, 1 if it yields, else 0
    kinetic: if not, every coordinate counts the same in place of M (of kinematic bodies none)
    """
    nv, Y, K = w.header[0].nv, closure.Y, closure.K
    # Y begins as J^T, of those coordinates that yield
    for j in range(nv):
        for r in range(closure.spans[j, 0], closure.spans[j, 1]):
            Y[j, r] = closure.J[j, r] * mask[j]
    # L^-T from tips to base; each coordinate passes on only the rows that it moves
    for i in range(nv - 1 if kinetic else -1, -1, -1):
        j = w.dofs[i].parent
        while j >= 0:
            factor = factors[i, j]
            for r in range(closure.spans[i, 0], closure.spans[i, 1]):
                Y[j, r] -= factor * Y[i, r]
            j = w.dofs[j].parent
    # K = Y^T D^-1 Y, the upper triangle within its envelope
    for q in range(K.shape[0]):
        for r in range(q, closure.lasts[q] + 1):
            K[q, r] = 0.0
    for j in range(nv):
        end = closure.spans[j, 1]
        for q in range(closure.spans[j, 0], end):
            factor = Y[j, q] * _lightness(w, factors, j, kinetic)
            for r in range(q, end):
                K[q, r] += factor * Y[j, r]


@kernel
def factor_loops(closure: LoopView) -> None:
    """Cholesky's factor in K's place, row by row; redundant rows are left out."""
    K, largest = closure.K, 0.0
    # What a pivot is compared with: its diagonal entry before elimination
    for q in range(K.shape[0]):
        largest = max(largest, K[q, q])
    for q in range(K.shape[0]):
        closure.x[q] = max(K[q, q], MOVED * largest)
    # Row by row; a vanishing pivot is one of a row that those before it imply
    for q in range(K.shape[0]):
        end = closure.lasts[q] + 1
        redundant = not K[q, q] > REDUNDANT * closure.x[q]
        inverse = 0.0 if redundant else 1.0 / math.sqrt(K[q, q])
        closure.inverse[q] = inverse
        for r in range(q + 1, end):
            K[q, r] *= inverse
        for p in range(q + 1, end):
            factor = K[q, p]
            if factor != 0.0:
                for r in range(p, end):
                    K[p, r] -= factor * K[q, r]


@kernel
def substitute(closure: LoopView, x: Floats) -> None:
    """x <- K^+ x."""
    K = closure.K
    # Forward with the factor's transpose, then back; redundant rows get nothing
    for q in range(K.shape[0]):
        x[q] *= closure.inverse[q]
        for r in range(q + 1, closure.lasts[q] + 1):
            x[r] -= K[q, r] * x[q]
    for q in range(K.shape[0] - 1, -1, -1):
        total = x[q]
        for r in range(q + 1, closure.lasts[q] + 1):
            total -= K[q, r] * x[r]
        x[q] = total * closure.inverse[q]


@kernel
def push(w: ModelView, factors: Floats, closure: LoopView, v: Floats, kinetic: bool) -> None:
    """v += M^-1 J^T x = L^-1 D^-1 Y x; `kinetic` as of `couple_loops`."""
    # Y x, then D^-1 and L^-1 from base to tips
    for j in range(w.header[0].nv):
        total = 0.0
        for r in range(closure.spans[j, 0], closure.spans[j, 1]):
            total += closure.Y[j, r] * closure.x[r]
        total *= _lightness(w, factors, j, kinetic)
        k = w.dofs[j].parent if kinetic else -1
        while k >= 0:
            total -= factors[j, k] * closure.change[k]
            k = w.dofs[k].parent
        closure.change[j] = total
        v[j] += total


@unit("loops", seconds=2.5)
def hold_loops(w: WorkView, q: Floats) -> int:
    """Take from `w.v_free` what would open a loop at q.  Needs poses, axes and factors `w.L`.

    Twice, for what rounding left of the first time.  Leaves the loops' rows and their factors.
    """
    closure = w.closure
    fill_rows(w, q, w.pose, w.S, closure)
    couple_loops(w, w.L, w.free_dof_mask, closure, True)
    factor_loops(closure)
    # K x = -J v_free, and its push
    for _ in range(2):
        for r in range(w.header[0].ne):
            closure.x[r] = 0.0
        for j in range(w.header[0].nv):
            for r in range(closure.spans[j, 0], closure.spans[j, 1]):
                closure.x[r] -= closure.J[j, r] * w.v_free[j]
        substitute(closure, closure.x)
        push(w, w.L, closure, w.v_free, True)
    return HELD


@unit("loops", seconds=1.5)
def respect_loops(w: WorkView, rows: int) -> int:
    """Contact rows whose impulses open no loop: `w.Y` and `w.G` anew, after `hold_loops`.

    A row that the loops hold still would be left with roundoff: it becomes exactly zero, and is
    dropped as any row that no coordinate moves.  The inner loops run along the contact rows.
    """
    closure = w.closure
    T, Y = closure.T, w.Y
    _gather(w, closure, rows)
    _substitute_all(closure, rows)
    # Y <- Y - Y_b K^+ Y_b^T D^-1 Y
    for j in range(w.header[0].nv):
        for r in range(closure.spans[j, 0], closure.spans[j, 1]):
            factor = closure.Y[j, r]
            if factor != 0.0:
                for k in range(rows):
                    Y[j, k] -= factor * T[r, k]
    # What is left of a row's own entry of G tells whether the loops hold it still
    for r in range(rows):
        total = 0.0
        for j in range(w.header[0].nv):
            total += Y[j, r] * Y[j, r] * w.L[j, j]
        if not total > REDUNDANT * w.G[r, r]:
            for j in range(w.header[0].nv):
                Y[j, r] = 0.0
    _couple_anew(w, rows)
    return HELD


@kernel
def _couple_anew(w: WorkView, rows: int) -> None:
    """G of the rows as they are now; it is symmetric."""
    G, Y, padded = w.G, w.Y, (rows + WIDTH - 1) // WIDTH * WIDTH
    for r in range(padded):
        for k in range(r // WIDTH * WIDTH, padded):
            G[r, k] = 0.0
    for j in range(w.header[0].nv):
        for block in range(0, padded, WIDTH):
            moved = False
            for r in range(block, block + WIDTH):
                moved = moved or Y[j, r] != 0.0
            if moved:
                add_outer(G, block, Y, j, block, padded, w.L[j, j])
    for r in range(rows):
        for k in range(r):
            G[r, k] = G[k, r]


@kernel
def _gather(w: WorkView, closure: LoopView, rows: int) -> None:
    """T = Y_b^T D^-1 Y: how the contact rows are coupled with the loops."""
    for r in range(closure.K.shape[0]):
        for k in range(rows):
            closure.T[r, k] = 0.0
    for j in range(closure.J.shape[0]):
        for r in range(closure.spans[j, 0], closure.spans[j, 1]):
            factor = closure.Y[j, r] * w.L[j, j]
            if factor != 0.0:
                for k in range(rows):
                    closure.T[r, k] += factor * w.Y[j, k]


@kernel
def _substitute_all(closure: LoopView, rows: int) -> None:
    """T <- K^+ T, all contact rows at once."""
    K, T = closure.K, closure.T
    # Forward, with the factor's transpose
    for q in range(K.shape[0]):
        for k in range(rows):
            T[q, k] *= closure.inverse[q]
        for r in range(q + 1, closure.lasts[q] + 1):
            for k in range(rows):
                T[r, k] -= K[q, r] * T[q, k]
    # Back
    for q in range(K.shape[0] - 1, -1, -1):
        for r in range(q + 1, closure.lasts[q] + 1):
            for k in range(rows):
                T[q, k] -= K[q, r] * T[r, k]
        for k in range(rows):
            T[q, k] *= closure.inverse[q]
