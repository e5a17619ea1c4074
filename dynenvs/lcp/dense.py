"""LU factorisation with partial pivoting of small matrices, and solves with a basis of an LCP.

Source: Golub and Van Loan, Matrix Computations, alg. 3.4.1 and sec. 3.5.3 (refinement).  Written
out, because BLAS sums differ from machine to machine.
"""

from __future__ import annotations

from dynenvs.jit.compiled import inlined, kernel
from dynenvs.lcp.workspace import (
    COLUMNS,
    CORRECTION,
    DEFECT,
    FACTOR,
    ORDER,
    ROWS,
    UNFACTORED,
    Integers,
    Matrix,
    Vector,
    Workspace,
)


@kernel
def factorise(matrix: Matrix, size: int, order: Integers) -> float:
    """Overwrite the transpose of a square matrix K by K's factors: P K = L U, L of unit diagonal.

    Above the diagonal stands L^T, below it U^T, on it the inverses of U's: so the inner loops here
    and in `substitute` run along rows of memory.

    matrix: K^T in its leading block, shape (>= size, >= size)
    order: shape (>= size,), receives which row of K came to each place
    Returns the smallest pivot divided by the largest entry: 0 for a singular block, and the
    factors are then useless.
    """
    # The largest entry: pivots are compared with it
    largest = 0.0
    for i in range(size):
        order[i] = i
        for j in range(size):
            largest = max(largest, abs(matrix[i, j]))
    smallest = largest
    for p in range(0, size, 2):
        pivot = _pivot(matrix, p, size, order)
        if not pivot > 0.0:  # written so that NaN stops here too
            return 0.0
        smallest = min(smallest, pivot)
        if p + 1 == size:
            break
        factor = matrix[p + 1, p]
        for j in range(p + 1, size):
            matrix[p + 1, j] -= factor * matrix[p, j]
        pivot = _pivot(matrix, p + 1, size, order)
        if not pivot > 0.0:
            return 0.0
        smallest = min(smallest, pivot)
        # Both pivots at once: each entry of the rest is loaded and stored half as often.
        for i in range(p + 2, size):
            f = matrix[i, p]
            g = matrix[i, p + 1] - f * matrix[p, p + 1]
            matrix[i, p + 1] = g
            if f != 0.0 or g != 0.0:  # cone rows are mostly zeros
                for j in range(p + 2, size):
                    matrix[i, j] -= f * matrix[p, j] + g * matrix[p + 1, j]
    return smallest / largest if size > 0 else 1.0


@inlined
def _pivot(matrix: Matrix, row: int, size: int, order: Integers) -> float:
    """Bring the largest entry of `row` to the diagonal, invert it, scale the rest by it.

    Returns its magnitude.
    """
    # Partial pivoting, along the row: the transpose is what is stored
    best = row
    largest = abs(matrix[row, row])
    for j in range(row + 1, size):
        if abs(matrix[row, j]) > largest:
            best, largest = j, abs(matrix[row, j])
    if best != row:
        order[row], order[best] = order[best], order[row]
        for i in range(size):
            kept = matrix[i, row]
            matrix[i, row] = matrix[i, best]
            matrix[i, best] = kept
    inverse = 1.0 / matrix[row, row]
    matrix[row, row] = inverse
    for j in range(row + 1, size):
        matrix[row, j] *= inverse
    return float(largest)


@kernel
def substitute(factors: Matrix, size: int, order: Integers, right: Vector, x: Vector) -> None:
    """Solve K x = right with the factors of K from `factorise`; `right` and `x` must differ.

    right, x: shape (>= size,)
    """
    # Rows in the order that pivoting gave
    for i in range(size):
        x[i] = right[order[i]]
    # By columns of L and U: the updates of one do not wait for each other, as those of a sum would.
    for j in range(size):
        value = x[j]
        if value != 0.0:
            for i in range(j + 1, size):
                x[i] -= factors[j, i] * value
    for j in range(size - 1, -1, -1):
        value = x[j] * factors[j, j]
        x[j] = value
        for i in range(j):
            x[i] -= factors[j, i] * value


@kernel
def factorise_symmetric(matrix: Matrix, size: int) -> None:
    """Overwrite a positive definite leading block by L (unit diagonal, below), D^-1 and D L^T.

    matrix: shape (>= size, >= size), only its upper triangle is read.  A pivot that rounding has
        made zero or negative gives way to nothing: its unknown stays zero.
    """
    # Two columns at a time; symmetric, so the triangle below is only written
    for k in range(0, size, 2):
        first = _invert(matrix, k)
        if k + 1 == size:
            break
        factor = matrix[k, k + 1] * first
        matrix[k + 1, k] = factor
        for j in range(k + 1, size):
            matrix[k + 1, j] -= factor * matrix[k, j]
        second = _invert(matrix, k + 1)
        # Both pivots at once: each entry of the rest is loaded and stored half as often.
        for i in range(k + 2, size):
            f, g = matrix[k, i] * first, matrix[k + 1, i] * second
            matrix[i, k], matrix[i, k + 1] = f, g
            if f != 0.0 or g != 0.0:
                for j in range(i, size):
                    matrix[i, j] -= f * matrix[k, j] + g * matrix[k + 1, j]


@inlined
def _invert(matrix: Matrix, index: int) -> float:
    """Replace a pivot by its inverse, or by zero if it is not positive; returns that."""
    pivot = matrix[index, index]
    inverse = 1.0 / pivot if pivot > 0.0 else 0.0
    matrix[index, index] = inverse
    return inverse


@kernel
def substitute_symmetric(factors: Matrix, size: int, right: Vector, x: Vector) -> None:
    """Solve K x = right with the factors of K from `factorise_symmetric`; shape (>= size,)."""
    # Forward, then D^-1, then back
    for i in range(size):
        x[i] = right[i]
    for k in range(size):
        value = x[k] * factors[k, k]
        x[k] = value
        for i in range(k + 1, size):
            x[i] -= factors[k, i] * value
    for i in range(size - 1, -1, -1):
        value = x[i]
        for k in range(i):
            x[k] -= factors[i, k] * value


@kernel
def multiply(matrix: Matrix, rows: int, columns: int, x: Vector, out: Vector) -> None:
    """out = matrix x, shapes (>= rows, >= columns), (>= columns,), (>= rows,).

    Each sum runs in order; four of them run side by side, since each waits for its last addition.
    """
    # Four rows at a time
    whole = rows - rows % 4
    for i in range(0, whole, 4):
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for j in range(columns):
            value = x[j]
            a += matrix[i, j] * value
            b += matrix[i + 1, j] * value
            c += matrix[i + 2, j] * value
            d += matrix[i + 3, j] * value
        out[i], out[i + 1], out[i + 2], out[i + 3] = a, b, c, d
    for i in range(whole, rows):
        total = 0.0
        for j in range(columns):
            total += matrix[i, j] * x[j]
        out[i] = total


@kernel
def add_product(high: float, low: float, a: float, x: float) -> tuple[float, float]:
    """Add a x to the sum high + low as if in twice the working precision; returns the new sum.

    (Ogita, Rump, Oishi, Accurate Sum and Dot Product, 2005, alg. 5.3, with Dekker's product.)
    """
    # Dekker: each factor in two halves of 26 bits, whose products are exact
    product = a * x
    split = 134217729.0 * a  # 2^27 + 1
    a_high = split - (split - a)
    a_low = a - a_high
    split = 134217729.0 * x
    x_high = split - (split - x)
    x_low = x - x_high
    error = a_low * x_low - (((product - a_high * x_high) - a_low * x_high) - a_high * x_low)
    # Knuth's sum, with what it rounds away
    total = high + product
    part = total - high
    return total, low + (error + ((high - (total - part)) + (product - part)))


@kernel
def gather(A: Matrix, cover: Vector, count: int, size: int, work: Workspace) -> None:
    """Copy a basis, transposed: A at its ROWS and COLUMNS, then perhaps the cover column.

    `size` rows and `count` columns of A; the cover column comes in if size = count + 1.  To
    FACTOR, where it will be overwritten by its factors, and to UNFACTORED.

    A: shape (>= n, >= n); cover: shape (>= n,), not read if size = count
    """
    rows = work.integers[ROWS]
    columns = work.integers[COLUMNS]
    basis, kept = work.matrices[FACTOR], work.matrices[UNFACTORED]
    for j in range(size):
        column = columns[j] if j < count else 0
        for i in range(size):
            value = A[rows[i], column] if j < count else cover[rows[i]]
            basis[j, i] = value
            kept[j, i] = value


@kernel
def careful_row(
    A: Matrix,
    cover: Vector,
    columns: Integers,
    count: int,
    size: int,
    row: int,
    start: float,
    sign: float,
    x: Vector,
) -> float:
    """start + sign (`row` of A at the first `count` columns, and perhaps the cover) x.

    The cover counts if size = count + 1.
    x: shape (>= size,).  Summed as if in twice the working precision, then rounded once.
    """
    total, low = start, 0.0
    for j in range(count):
        total, low = add_product(total, low, sign * A[row, columns[j]], x[j])
    if size > count:
        total, low = add_product(total, low, sign * cover[row], x[count])
    return total + low


@kernel
def solve_basis(
    A: Matrix,
    cover: Vector,
    count: int,
    size: int,
    right: Vector,
    x: Vector,
    careful: bool,
    work: Workspace,
) -> None:
    """Solve basis x = right for the basis of `gather`, factored, with iterative refinement.

    A, cover, count, size: as for `gather`; right, x: shape (>= size,), different arrays
    careful: refine three times with defects in twice the working precision, instead of once
    """
    rows = work.integers[ROWS]
    columns = work.integers[COLUMNS]
    order = work.integers[ORDER]
    factors, basis = work.matrices[FACTOR], work.matrices[UNFACTORED]
    defect = work.vectors[DEFECT]
    correction = work.vectors[CORRECTION]
    # A first solution, then what it misses, solved for with the same factors
    substitute(factors, size, order, right, x)
    for _ in range(3 if careful else 1):
        for i in range(size):
            defect[i] = right[i]
            if careful:
                defect[i] = careful_row(A, cover, columns, count, size, rows[i], right[i], -1.0, x)
        for j in range(size if not careful else 0):
            value = x[j]
            for i in range(size):
                defect[i] -= basis[j, i] * value
        substitute(factors, size, order, defect, correction)
        for i in range(size):
            x[i] += correction[i]
