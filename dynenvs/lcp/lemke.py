"""Lemke's method, careful: the basis refactored at every pivot, twice the working precision.

Source: Cottle, Pang, Stone, The Linear Complementarity Problem, sec. 4.4 (the scheme) and 4.9
(lexicographic degeneracy resolution).  No tableau is updated, so rounding cannot pile up over the
pivots, and each basic solution is refined in twice the working precision, which decides near ties
rightly where light bodies carry heavy ones: many times the cost of `tableau.py`.  As in Lloyd, Fast
Implementation of Lemke's Algorithm for Rigid Body Contact Simulation (ICRA 2005), only the block of
basic z columns and of rows with a nonbasic w is factored.
"""

from __future__ import annotations

import math

from dynenvs.jit.compiled import inlined, kernel
from dynenvs.lcp.dense import careful_row, factorise, gather, solve_basis
from dynenvs.lcp.tableau import first_row, keep_least
from dynenvs.lcp.workspace import (
    BASIC_W,
    BASIC_Z,
    COLUMNS,
    FACTOR,
    LEX_Z,
    ORDER,
    RATIO,
    RIGHT,
    ROWS,
    STEP_W,
    STEP_Z,
    TIED,
    TIGHT,
    TRANSPOSED,
    Integers,
    Matrix,
    Vector,
    Workspace,
    integer,
)

SOLVED, RAY, PIVOT_LIMIT, SINGULAR = 0, 1, 2, 3

SMALLEST_PIVOT = 1e-15  # of the basis, relative to its largest entry
SMALLEST_STEP = 1e-10  # a basic variable that moves less than this does not block
TIE = 1e-16  # basic variables this close to 0 after the step, relative, leave together


@kernel
def _break_ties(
    A: Matrix, cover: Vector, size: int, basic: int, count: int, work: Workspace
) -> int:
    """Lexicographic rule: among the tied variables the one with the smallest row of B^-1 / step.

    Standing for the offset b + (e, e^2, ..., e^n) with e -> 0: the columns are computed one after
    the other, and only while ties remain.  Codes as in `_ratio_test`; the first `count` entries of
    TIED are the candidates.  Returns the code that leaves.
    """
    m = basic + 1
    rows = work.integers[ROWS]
    columns = work.integers[COLUMNS]
    tight = work.integers[TIGHT]
    tied = work.integers[TIED]
    x = work.vectors[LEX_Z]
    right = work.vectors[RIGHT]
    ratio = work.vectors[RATIO]
    step_z = work.vectors[STEP_Z]
    step_w = work.vectors[STEP_W]
    # A column of B^-1: that of a unit of the offset b
    for column in range(size):
        if tight[column] != 0:
            for i in range(m):
                right[i] = -1.0 if rows[i] == column else 0.0
            solve_basis(A, cover, basic, m, right, x, True, work)
        # Its entry for each candidate, over the candidate's step
        least = math.inf
        for t in range(count):
            code = tied[t]
            if code < m:
                value = x[code] if tight[column] != 0 else 0.0
                ratio[t] = -value / step_z[code]
            else:
                i = code - m
                value = 1.0 if i == column else 0.0
                if tight[column] != 0:
                    value += cover[i] * x[basic]
                    for j in range(basic):
                        value += A[i, columns[j]] * x[j]
                ratio[t] = -value / step_w[i]
            least = min(least, ratio[t])
        count = keep_least(ratio, least, count, tied)
        if count == 1:
            break
    return int(tied[0])


@kernel
def _ratio_test(A: Matrix, cover: Vector, size: int, basic: int, work: Workspace) -> int:
    """The basic variable that reaches 0 first: code j < k = basic for the z at column j, k for z_0,
    and k + 1 + i for w_i; -1 if none does (a ray).  z_0 is preferred, as it ends the method.
    """
    m = basic + 1
    tight = work.integers[TIGHT]
    tied = work.integers[TIED]
    basic_z = work.vectors[BASIC_Z]
    basic_w = work.vectors[BASIC_W]
    step_z = work.vectors[STEP_Z]
    step_w = work.vectors[STEP_W]
    # How far until the first variable is zero; steps of roundoff block nothing
    largest = 1.0
    scale = 1.0
    for j in range(m):
        largest = max(largest, abs(step_z[j]))
        scale = max(scale, abs(basic_z[j]))
    blocking = -SMALLEST_STEP * largest
    length = math.inf
    for j in range(m):
        if step_z[j] < blocking:
            length = min(length, max(basic_z[j], 0.0) / -step_z[j])
    for i in range(size):
        if tight[i] == 0 and step_w[i] < blocking:
            length = min(length, max(basic_w[i], 0.0) / -step_w[i])
    if not length < math.inf:
        return -1
    # What ends there: z_0 first, else ties are broken
    slack = TIE * scale
    count = integer(0)
    if step_z[basic] < blocking and _ends(basic_z[basic], step_z[basic], length, slack):
        return basic
    for j in range(basic):
        if step_z[j] < blocking and _ends(basic_z[j], step_z[j], length, slack):
            tied[count] = j
            count += 1
    for i in range(size):
        if tight[i] == 0 and step_w[i] < blocking and _ends(basic_w[i], step_w[i], length, slack):
            tied[count] = m + i
            count += 1
    if count == 1:
        return int(tied[0])
    return _break_ties(A, cover, size, basic, count, work)


@inlined
def _ends(value: float, step: float, length: float, slack: float) -> bool:
    """Whether a basic variable ends at 0: the one that gave the length, whatever rounding says."""
    return value + length * step <= slack or max(value, 0.0) / -step <= length


@kernel
def _replace_row(rows: Integers, count: int, old: int, new: int) -> None:
    """Put row `new` at the place of `old` among the first `count` rows."""
    for i in range(count):
        if rows[i] == old:
            rows[i] = new
            break


@kernel
def _exchange(
    leaving: int, entering: int, is_z: bool, basic: int, work: Workspace
) -> tuple[int, bool, int, int]:
    """Exchange the entering and the leaving variable (code of `_ratio_test`) in the basis.

    Returns the next entering variable, the complement of the one that left (its index, whether
    it is a z), and the new numbers k of basic z's and m of rows; m = k when z_0 has left.
    """
    m = basic + 1
    rows = work.integers[ROWS]
    columns = work.integers[COLUMNS]
    tight = work.integers[TIGHT]
    # A w leaves: its row becomes tight, and its z is next
    if leaving > basic:  # w_i leaves
        row = leaving - m
        tight[row] = 1
        if is_z:
            columns[basic] = entering
            rows[m] = row
            return row, True, basic + 1, m + 1
        _replace_row(rows, m, entering, row)
        tight[entering] = 0
        return row, True, basic, m
    # A z leaves, or z_0: its w is next, and z_0 has none
    index = columns[leaving] if leaving < basic else -1
    if is_z:
        if leaving < basic:
            columns[leaving] = entering
            return index, False, basic, m
        columns[basic] = entering
        return index, False, basic + 1, m
    # The number of columns shrinks: the last takes the place of the one that left
    if leaving < basic:
        columns[leaving] = columns[basic - 1]
        basic -= 1
    _replace_row(rows, m, entering, rows[m - 1])
    tight[entering] = 0
    return index, False, basic, m - 1


@kernel
def _directions(
    A: Matrix,
    b: Vector,
    cover: Vector,
    size: int,
    basic: int,
    entering: int,
    is_z: bool,
    work: Workspace,
) -> None:
    """Rates of all basic variables as z_entering (or w_entering) grows; the basic w's values."""
    m = basic + 1
    rows = work.integers[ROWS]
    columns = work.integers[COLUMNS]
    tight = work.integers[TIGHT]
    right = work.vectors[RIGHT]
    basic_z = work.vectors[BASIC_Z]
    step_z = work.vectors[STEP_Z]
    basic_w = work.vectors[BASIC_W]
    step_w = work.vectors[STEP_W]
    transposed = work.matrices[TRANSPOSED]
    # The column of what enters: of a z from A, of a w a unit vector
    for i in range(m):
        if is_z:
            right[i] = -transposed[entering, rows[i]]
        else:
            right[i] = 1.0 if rows[i] == entering else 0.0
    solve_basis(A, cover, basic, m, right, step_z, True, work)
    # Of all w's: in whole registers this takes less than to pick the basic ones
    for i in range(size):
        step_w[i] = cover[i] * step_z[basic]
    if is_z:
        for i in range(size):
            step_w[i] += transposed[entering, i]
    for j in range(basic):
        column, step = columns[j], step_z[j]
        for i in range(size):
            step_w[i] += transposed[column, i] * step
    # Values of the basic w's, each summed in twice the working precision
    for i in range(size):
        if tight[i] == 0:
            basic_w[i] = careful_row(A, cover, columns, basic, m, i, b[i], 1.0, basic_z)


@kernel
def _start(
    A: Matrix, b: Vector, cover: Vector, size: int, z: Vector, basis: Integers, work: Workspace
) -> int:
    """Clear the results, copy A to TRANSPOSED, and let z_0 enter the basis of all w's.

    Returns the row of the w that leaves, the last of those with the least b_i / cover_i (the last,
    because among equals its perturbation e^i is the smallest); -1 if b >= 0.
    """
    tight = work.integers[TIGHT]
    # Everything starts at zero but z_0, which is as large as the worst b_i needs
    first = first_row(b, cover, size, z, basis)
    for i in range(size):
        tight[i] = 0
    # One transpose, so that columns are read along rows of memory
    if first >= 0:
        tight[first] = 1
        work.integers[ROWS, 0] = first
        transposed = work.matrices[TRANSPOSED]
        for i in range(size):
            for j in range(size):
                transposed[i, j] = A[j, i]
    return first


@kernel
def lemke(
    A: Matrix,
    b: Vector,
    cover: Vector,
    size: int,
    limit: int,
    z: Vector,
    basis: Integers,
    work: Workspace,
) -> tuple[int, int]:
    """Solve w = A z + b >= 0, z >= 0, w'z = 0 by Lemke's scheme I from the ray of `cover`.

    Expects equilibrated data (`scaling.equilibrate`): its tolerances are absolute.

    A: shape (>= size, >= size); b: shape (>= size,); cover: shape (>= size,), positive
    limit: greatest number of pivots
    z: shape (>= size,), receives the answer (of the last basis if there is none)
    basis: shape (>= size,), receives 1 where z is basic at the end, else 0
    Returns (SOLVED, RAY, PIVOT_LIMIT or SINGULAR; number of pivots).
    """
    rows = work.integers[ROWS]
    columns = work.integers[COLUMNS]
    basic_z = work.vectors[BASIC_Z]
    right = work.vectors[RIGHT]
    entering = _start(A, b, cover, size, z, basis, work)
    if entering < 0:
        return SOLVED, 0
    # The basis: the k z's at `columns`, z_0, and the w's of all rows but the m in `rows`.
    k, m, is_z = integer(0), integer(1), entering >= 0
    pivots = 1
    status = -1
    while True:
        # Values of the basic variables, from a factor of the basis anew
        gather(A, cover, k, m, work)
        if factorise(work.matrices[FACTOR], m, work.integers[ORDER]) < SMALLEST_PIVOT:
            status = SINGULAR
            break
        for i in range(m):
            right[i] = -b[rows[i]]
        solve_basis(A, cover, k, m, right, basic_z, True, work)
        if m == k:
            status = SOLVED
            break
        if pivots >= limit:
            status = PIVOT_LIMIT
            break
        # The entering variable grows until a basic one is zero, which leaves
        _directions(A, b, cover, size, k, entering, is_z, work)
        leaving = _ratio_test(A, cover, size, k, work)
        if leaving < 0:
            status = RAY
            break
        pivots += 1
        entering, is_z, k, m = _exchange(leaving, entering, is_z, k, work)
    # The answer, where the basis has one
    for j in range(k):
        basis[columns[j]] = 1
        z[columns[j]] = basic_z[j] if status != SINGULAR else 0.0
    return status, pivots
