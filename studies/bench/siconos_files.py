"""Reads the test problems of Siconos: friction (.dat, .hdf5) and linear complementarity (.dat).

A friction problem is local (W, q, mu) or global: M v = H p + f and u = H^T v + w, which is local
with W = H^T M^-1 H and q = H^T M^-1 f + w.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csc_array, csr_array
from scipy.sparse.linalg import splu

from studies.bench.peers import peer

Floats = NDArray[np.float64]
DENSE, BLOCKS, SPARSE = range(3)  # how a matrix is stored
COLUMNS = 2  # how a sparse one is printed: else as triplets


class Friction(NamedTuple):
    """u = W p + q with coefficients mu; rows of each contact: normal, tangents."""

    W: csr_array
    q: Floats
    mu: Floats


class Words:
    """The words of a file, read from front to back."""

    def __init__(self, text: str) -> None:
        self.words, self.at = text.split(), 0

    def take(self, count: int) -> list[str]:
        """The next ones; raises ValueError if there are not so many."""
        found = self.words[self.at : self.at + count]
        if len(found) != count:
            raise ValueError(f"the file ends {count - len(found)} numbers too early")
        self.at += count
        return found

    def integers(self, count: int) -> list[int]:
        """The next ones as integers."""
        return [int(word) for word in self.take(count)]

    def numbers(self, count: int) -> Floats:
        """The next ones as floats."""
        return np.array(self.take(count), dtype=np.float64)


def read_friction(path: Path) -> Friction:
    """A friction problem; raises ValueError for a file that holds none."""
    if path.suffix == ".hdf5":
        return _read_hdf5(path)
    words = Words(path.read_text())
    rows = words.take(1)[0]
    if rows not in ("2", "3"):
        raise ValueError(f"no friction problem: contacts of {rows} rows")
    (contacts,) = words.integers(1)
    first = _matrix(words)
    if not path.name.lower().startswith("gfc") or "condensed" in path.name:
        return Friction(first, words.numbers(first.shape[0]), words.numbers(contacts))
    H = _matrix(words)
    f, w = words.numbers(first.shape[0]), words.numbers(int(rows) * contacts)
    return _condensed(first, H, f, w, words.numbers(contacts))


def read_lcp(path: Path) -> tuple[Floats, Floats]:
    """(A, b) of a linear complementarity problem."""
    words = Words(path.read_text())
    (n,) = words.integers(1)
    return _matrix(words).toarray(), words.numbers(n)


def _condensed(M: csr_array, H: csr_array, f: Floats, w: Floats, mu: Floats) -> Friction:
    if not len(mu):
        return Friction(csr_array((0, 0)), w, mu)
    solve = splu(csc_array(M)).solve
    dense = H.toarray()
    return Friction(csr_array(dense.T @ solve(dense)), dense.T @ solve(f) + w, mu)


def _matrix(words: Words) -> csr_array:
    kind, rows, columns = words.integers(3)
    if kind == DENSE:
        words.take(2)
        return csr_array(words.numbers(rows * columns).reshape(columns, rows).T)  # by columns
    return _blocks(words, rows, columns) if kind == BLOCKS else _sparse(words, rows, columns)


def _blocks(words: Words, rows: int, columns: int) -> csr_array:
    """Rows of blocks, each block column by column; sizes are given as their sums."""
    count, down, across = words.integers(3)
    top, left = [0, *words.integers(down)], [0, *words.integers(across)]
    filled, _ = words.integers(2)
    starts, places = words.integers(filled), words.integers(count)
    row = np.repeat(np.arange(filled - 1), np.diff(starts))
    matrix = np.zeros((rows, columns))
    for k in range(count):
        words.take(1)  # the block's number
        i, j = row[k], places[k]
        a, b = slice(top[i], top[i + 1]), slice(left[j], left[j + 1])
        shape = b.stop - b.start, a.stop - a.start
        matrix[a, b] = words.numbers(shape[0] * shape[1]).reshape(shape).T
    return csr_array(matrix)


def _sparse(words: Words, rows: int, columns: int) -> csr_array:
    """CSparse's printed form, triplets or columns."""
    (form,) = words.integers(1)
    while words.take(1)[0] != "nnz:":
        pass
    count = int(words.take(1)[0].rstrip(","))
    if form == COLUMNS:
        words.take(2)  # its norm
    i: list[int] = []
    j: list[int] = []
    x: list[float] = []
    column = -1
    while len(x) < count:
        word = words.take(1)[0]
        if word == "col":
            column = words.integers(1)[0]
            words.take(5)  # ": locations a to b"
            continue
        i.append(int(word))
        j.append(column if form == COLUMNS else words.integers(1)[0])
        x.append(float(words.take(2)[1]))
    return csr_array(coo_array((x, (i, j)), shape=(rows, columns)))


def _read_hdf5(path: Path) -> Friction:
    with peer("h5py").File(path) as file:
        if "fclib_local" in file:
            local = file["fclib_local"]
            vectors = local["vectors"]
            return Friction(_stored(local["W"]), vectors["q"][()], vectors["mu"][()])
        whole = file["fclib_global"]
        f, w, mu = (whole["vectors"][name][()] for name in ("f", "w", "mu"))
        return _condensed(_stored(whole["M"]), _stored(whole["H"]), f, w, mu)


def _stored(group: Any) -> csr_array:
    rows, columns, nz = (int(group[name][0]) for name in ("m", "n", "nz"))
    i, p, x = (group[name][()] for name in ("i", "p", "x"))
    if nz >= 0:
        return csr_array(coo_array((x, (i, p)), shape=(rows, columns)))
    kind = csc_array if nz == -1 else csr_array  # -2: rows
    return csr_array(kind((x, i, p), shape=(rows, columns)))
