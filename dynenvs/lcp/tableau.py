"""Lemke's method with lexicographic pivoting on a dictionary that each pivot updates.

Source: Cottle, Pang, Stone, The Linear Complementarity Problem, sec. 2.2 (pivotal algebra), 4.4
(the scheme) and 4.9 (lexicographic degeneracy resolution).  Fast, but rounding errors pile up over
the pivots: the answer is to be solved again with its basis (`active_set.py`) and certified, and
where light bodies carry heavy ones `lemke.py` is to be used.

The dictionary states each basic variable by the nonbasic ones, y_i = q_i + sum_j T_ij x_j: half of
the usual tableau.  B^-1, of which the lexicographic rule compares rows, stands in it too: in the
columns of the nonbasic w's (those of the basic ones are unit vectors).
"""

from __future__ import annotations

import math

from dynenvs.jit.compiled import inlined, kernel
from dynenvs.lcp.workspace import (
    BASIC_W,
    BASIC_Z,
    COLUMNS,
    FACTOR,
    ORDER,
    RATIO,
    ROWS,
    STEP_W,
    TIED,
    TIGHT,
    Integers,
    Matrix,
    Vector,
    Workspace,
    integer,
)

SOLVED, RAY, PIVOT_LIMIT = 0, 1, 2

# Where w_i and z_i stand in the dictionary: column c, or -1 - r for row r
W_PLACES, Z_PLACES = ORDER, TIGHT

SMALLEST_PIVOT = 1e-10  # relative to the column: a basic variable that moves less does not block
TIE = 1e-12  # of ratios, relative to the largest basic variable


@inlined
def exchange(
    tableau: Matrix, q: Vector, rows: int, width: int, row: int, column: int, pivot_row: Vector
) -> None:
    """Basic variable `row` and nonbasic variable `column` change places.

    tableau: dictionary, shape (>= rows, >= width); q: basic variables' values, shape (>= rows,)
    pivot_row: scratch, shape (>= width,)
    """
    inverse = 1.0 / tableau[row, column]
    for j in range(width):
        value = -tableau[row, j] * inverse
        pivot_row[j] = value
        tableau[row, j] = value
    pivot_row[column] = inverse
    tableau[row, column] = inverse
    value = -q[row] * inverse
    q[row] = value
    for i in range(rows):
        factor = tableau[i, column]
        if i == row or factor == 0.0:  # cone rows are mostly zeros
            continue
        tableau[i, column] = 0.0
        q[i] += factor * value
        for j in range(width):
            tableau[i, j] += factor * pivot_row[j]


@kernel
def tableau_lemke(
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

    Expects equilibrated data (`scaling.equilibrate`).

    A: shape (>= size, >= size); b: shape (>= size,); cover: shape (>= size,), positive
    limit: greatest number of pivots
    z: shape (>= size,), receives the answer (of the last basis if there is none)
    basis: shape (>= size,), receives 1 where z is basic at the end, else 0
    Returns (SOLVED, RAY or PIVOT_LIMIT; number of pivots).
    """
    # Opened once: each view that is opened in a kernel takes its time
    T, q = work.matrices[FACTOR], work.vectors[BASIC_Z]
    scratch, rates, ratio = work.vectors[STEP_W], work.vectors[BASIC_W], work.vectors[RATIO]
    rows, columns, tied = work.integers[ROWS], work.integers[COLUMNS], work.integers[TIED]
    places_w, places_z = work.integers[W_PLACES], work.integers[Z_PLACES]
    # The tableau of the first basis: every w, and z_0 for the one that is worst
    leaving = first_row(b, cover, size, z, basis)
    if leaving < 0:
        return SOLVED, 0
    for i in range(size):
        rows[i], columns[i] = i, size + i
        places_w[i], places_z[i] = -1 - i, i
    columns[size] = 2 * size
    _enter_cover(A, b, cover, size, leaving, T, q)
    entering = integer(size)  # column of z_0, of code 2 n; w_i has code i, z_i code n + i
    pivots, status = 1, PIVOT_LIMIT
    while True:
        # The complement of what left enters, and the first variable to reach zero leaves
        entering = _follow(leaving, entering, size, rows, columns, places_w, places_z)
        if entering < 0:
            status = SOLVED
            break
        if pivots >= limit:
            break
        count = _ratio_test(T, q, size, entering, rows, rates, tied)
        if count > 1:
            _break_ties(T, size, count, places_w, rates, ratio, tied)
        if count == 0:
            status = RAY
            break
        leaving = tied[0]
        exchange(T, q, size, size + 1, leaving, entering, scratch)
        pivots += 1
    # The z of the last basis
    for i in range(size):
        if size <= rows[i] < 2 * size:
            z[rows[i] - size] = max(q[i], 0.0)
            basis[rows[i] - size] = 1
    return status, pivots


@inlined
def first_row(b: Vector, cover: Vector, size: int, z: Vector, basis: Integers) -> int:
    """Clear the results; row of the w that leaves as z_0 enters, -1 if b >= 0.

    The last of those with the least b_i / cover_i: among equals its perturbation e^i is the least.
    """
    row = integer(-1)
    least = 0.0
    for i in range(size):
        z[i] = 0.0
        basis[i] = 0
        if b[i] < 0.0 and b[i] / cover[i] <= least:
            least = b[i] / cover[i]
            row = i
    return row


@inlined
def _enter_cover(
    A: Matrix, b: Vector, cover: Vector, size: int, row: int, tableau: Matrix, q: Vector
) -> None:
    """The dictionary w = b + A z + cover z_0 after z_0 and w_r have changed places."""
    inverse = 1.0 / cover[row]
    for j in range(size):
        tableau[row, j] = -A[row, j] * inverse
    tableau[row, size], q[row] = inverse, -b[row] * inverse
    for i in range(size):
        if i != row:
            factor = cover[i]
            for j in range(size):
                tableau[i, j] = A[i, j] + factor * tableau[row, j]
            tableau[i, size], q[i] = factor * inverse, b[i] + factor * q[row]


@inlined
def _follow(
    leaving: int,
    entering: int,
    size: int,
    rows: Integers,
    columns: Integers,
    places_w: Integers,
    places_z: Integers,
) -> int:
    """Note that row `leaving` and column `entering` have been exchanged.

    Returns the column of the complement of what has left, -1 if that was z_0.
    """
    left, came = rows[leaving], columns[entering]
    rows[leaving], columns[entering] = came, left
    if came < size:
        places_w[came] = -1 - leaving
    elif came < 2 * size:
        places_z[came - size] = -1 - leaving
    complement = -1
    if left < size:
        places_w[left] = entering
        complement = places_z[left]
    elif left < 2 * size:
        places_z[left - size] = entering
        complement = places_w[left - size]
    return complement


@inlined
def _ratio_test(
    tableau: Matrix,
    q: Vector,
    size: int,
    entering: int,
    rows: Integers,
    rates: Vector,
    tied: Integers,
) -> int:
    """Rows of the basic variables that reach 0 first as the entering one grows, to `tied`.

    z_0, which ends the method, comes alone.  Returns their number; 0: none does (a ray).
    """
    # Rates of the basic variables, and what is small beside them
    largest, scale = 1.0, 1.0
    for i in range(size):
        rates[i] = -tableau[i, entering]
        largest = max(largest, abs(rates[i]))
        scale = max(scale, abs(q[i]))
    blocking = SMALLEST_PIVOT * largest
    # How far the entering one can grow
    least = math.inf
    for i in range(size):
        if rates[i] > blocking:
            least = min(least, max(q[i], 0.0) / rates[i])
    count = integer(0)
    for i in range(size):
        # In values, not in ratios: what is left of it after the step
        if rates[i] > blocking and q[i] - least * rates[i] <= TIE * scale:
            if rows[i] == 2 * size:
                tied[0] = i
                count = 1
                break
            tied[count] = i
            count += 1
    return count


@kernel
def _break_ties(
    tableau: Matrix,
    size: int,
    count: int,
    places: Integers,
    rates: Vector,
    ratio: Vector,
    tied: Integers,
) -> None:
    """Lexicographic rule: among the tied rows the one with the smallest row of B^-1 / rate.

    Standing for the offset b + (e, e^2, ..., e^n) with e -> 0.  The first `count` entries of `tied`
    are the candidates; the choice comes first there.
    """
    # Columns of B^-1 one after the other, while ties remain
    for k in range(size):
        place = places[k]  # of w_k, which the perturbation lets start at -e^k
        least = math.inf
        for t in range(count):
            i = tied[t]
            entry = tableau[i, place] if place >= 0 else -1.0 if i == -1 - place else 0.0
            ratio[t] = -entry / rates[i]
            least = min(least, ratio[t])
        count = keep_least(ratio, least, count, tied)
        if count == 1:
            break


@inlined
def keep_least(ratio: Vector, least: float, count: int, tied: Integers) -> int:
    """Those of the first `count` entries of `tied` that have the least ratio; their number."""
    kept = 0
    for t in range(count):
        if ratio[t] <= least + 1e-11 * max(1.0, abs(least)):
            tied[kept] = tied[t]
            kept += 1
    return kept
