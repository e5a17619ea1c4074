"""The race on Siconos' files: each of its formats, written by hand here, read and solved."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from trees import Array

from studies.bench.race import Settings
from studies.bench.siconos import FOLDER, ROWS, cases, symmetric
from studies.bench.siconos_files import Friction, read_friction, read_lcp

# u = W p + q of two contacts in the plane; M v = H p + f and u = H^T v + w give the same
W = np.array([[2.0, 0.5, 1.0, 0.0], [0.5, 3.0, 0.0, 0.0], [1.0, 0.0, 2.0, 0.2], [0.0, 0.0, 0.2, 1]])
Q, MU = np.array([-1.0, 0.2, -0.5, 0.1]), np.array([0.3, 0.4])
M, F = np.diag([2.0, 4.0, 0.5]), np.array([1.0, -2.0, 3.0])
H = np.array([[1.0, 0.0, 2.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 1.0, 1.0, 1.0]])

h5py = pytest.importorskip("h5py")


def row(values: Array) -> str:
    return " ".join(f"{x:.24e}" for x in np.ravel(values))


def dense(matrix: Array) -> str:
    """By columns."""
    size = "\n".join(map(str, matrix.shape))
    return f"0\n{size}\n{matrix.shape[0]}\t{matrix.shape[1]}\n{row(matrix.T)}\n"


def blocks(matrix: Array) -> str:
    """All blocks of two by two, each by columns."""
    down, across = (n // 2 for n in matrix.shape)
    lines = [f"1\n{matrix.shape[0]}\n{matrix.shape[1]}\n{down * across}\n{down}\n{across}"]
    lines += [" ".join(str(2 * k + 2) for k in range(n)) for n in (down, across)]
    lines += [f"{down + 1} {down * across}", " ".join(str(across * k) for k in range(down + 1))]
    lines.append(" ".join(str(k % across) for k in range(down * across)))
    for k in range(down * across):
        i, j = 2 * (k // across), 2 * (k % across)
        lines += [str(k), row(matrix[i : i + 2, j : j + 2].T)]
    return "\n".join(lines) + "\n"


def columns(matrix: Array) -> str:
    """CSparse's columns."""
    down, across = matrix.shape
    count = np.count_nonzero(matrix)
    lines = [f"2\n{down}\n{across}\n2\nCSparse Version 3.1.9, May 4, 2016.  Copyright (c) ..."]
    lines.append(f"{down}-by-{across}, nzmax: {count} nnz: {count}, 1-norm: 7")
    for j in range(across):
        lines.append(f"    col {j} : locations 0 to 1")
        lines += [f"      {i} : {matrix[i, j]!s}" for i in range(down) if matrix[i, j]]
    return "\n".join(lines) + "\n"


def triplets(matrix: Array) -> str:
    """CSparse's triplets."""
    down, across = matrix.shape
    found = list(zip(*np.nonzero(matrix), strict=True))
    lines = [f"2\n{down}\n{across}\n1\nCSparse Version 3.1.9, May 4, 2016.  Copyright (c) ..."]
    lines.append(f"triplet: {down}-by-{across}, nzmax: {len(found)} nnz: {len(found)}")
    return "\n".join([*lines, *(f"    {i} {j} : {matrix[i, j]!s}" for i, j in found)]) + "\n"


def is_local(problem: Friction) -> None:
    np.testing.assert_allclose(problem.W.toarray(), W, atol=1e-15)
    np.testing.assert_array_equal(problem.q, Q)
    np.testing.assert_array_equal(problem.mu, MU)


def is_condensed(problem: Friction) -> None:
    inverse = np.diag(1.0 / np.diag(M))
    np.testing.assert_allclose(problem.W.toarray(), H.T @ inverse @ H, atol=1e-15)
    np.testing.assert_allclose(problem.q, H.T @ inverse @ F + Q, atol=1e-15)


@pytest.mark.parametrize("written", [dense, blocks, columns, triplets])
def test_local_problems_in_each_format(written: Callable[[Array], str], tmp_path: Path) -> None:
    file = tmp_path / "local.dat"
    file.write_text(f"2\n2\n{written(W)}{row(Q)}\n{row(MU)}\n1")
    is_local(read_friction(file))


@pytest.mark.parametrize("written", [dense, columns, triplets])
def test_global_problems_are_condensed(written: Callable[[Array], str], tmp_path: Path) -> None:
    file = tmp_path / "GFC2D.dat"
    file.write_text(f"2\n2\n{written(M)}{written(H)}{row(F)}\n{row(Q)}\n{row(MU)}\n")
    is_condensed(read_friction(file))


def test_hdf5(tmp_path: Path) -> None:
    """Triplets, and columns."""

    def store(group: Any, name: str, matrix: Array, nz: int) -> None:
        places, x = np.nonzero(matrix.T), matrix.T[np.nonzero(matrix.T)]
        ends = np.searchsorted(places[0], np.arange(matrix.shape[1] + 1))
        stored = {"m": matrix.shape[:1], "n": matrix.shape[1:], "nz": [nz], "i": places[1], "x": x}
        for key, value in {**stored, "p": places[0] if nz >= 0 else ends}.items():
            group[f"{name}/{key}"] = np.asarray(value)

    for name, nz in (("a.hdf5", 0), ("b.hdf5", -1)):
        with h5py.File(tmp_path / name, "w") as file:
            store(file.create_group("fclib_local"), "W", W, nz)
            file["fclib_local/vectors/q"], file["fclib_local/vectors/mu"] = Q, MU
        is_local(read_friction(tmp_path / name))
    with h5py.File(tmp_path / "c.hdf5", "w") as file:
        whole = file.create_group("fclib_global")
        store(whole, "M", M, 0)
        store(whole, "H", H, 0)
        for key, value in {"f": F, "w": Q, "mu": MU}.items():
            whole[f"vectors/{key}"] = value
    is_condensed(read_friction(tmp_path / "c.hdf5"))


def test_lcp(tmp_path: Path) -> None:
    file = tmp_path / "lcp.dat"
    file.write_text(f"3\n{dense(H[:, :3])}{row(F)}\n")
    A, b = read_lcp(file)
    np.testing.assert_array_equal(A, H[:, :3])
    np.testing.assert_array_equal(b, F)


def test_what_is_cut_off_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "short.dat"
    file.write_text(f"2\n2\n{dense(W)}{row(Q)}\n0.3")
    with pytest.raises(ValueError, match="the file ends 1 numbers too early"):
        read_friction(file)


def test_symmetric_part() -> None:
    skew = W.copy()
    skew[0, 1] += 0.3
    found, gap = symmetric(Friction(csr_array(skew), Q, MU))
    assert gap == pytest.approx(0.1)
    assert found.W[0, 1] == found.W[1, 0] == pytest.approx(0.65)


def test_the_race(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two problems, one that is too large and one that is none; an LCP without an answer."""
    friction = tmp_path / "numerics/src/FrictionContact/test/data"
    lcp = tmp_path / "numerics/src/LCP/test/data"
    friction.mkdir(parents=True)
    lcp.mkdir(parents=True)
    (friction / "a.dat").write_text(f"2\n2\n{dense(W)}{row(Q)}\n{row(MU)}\n")
    (friction / "b.dat").write_text("1000\n0.0\n")
    (friction / "c.dat").write_text(f"2\n4\n{dense(np.eye(8))}{row(np.ones(8))}\n{row(np.ones(4))}")
    (lcp / "a.dat").write_text(f"1\n{dense(np.eye(1))}-2.0\n")
    (lcp / "b.dat").write_text(f"1\n{dense(-np.eye(1))}-2.0\n")
    monkeypatch.setenv(FOLDER, str(tmp_path))
    monkeypatch.setenv(ROWS, "4")
    first, second = (case.measure(Settings(), print) for case in cases(Settings()))
    assert [row.facts["status"] for row in first.rows] == ["certified"]
    assert [line.split(":")[0] for line in first.skipped] == ["b.dat", "c.dat"]
    assert "8 rows; DYNENVS_SICONOS_ROWS allows 4" in first.skipped[1]
    assert [row.facts["status"] for row in second.rows] == ["certified", "failed"]
    assert second.notes == ["Certified: 1 of 2."]


def test_without_the_files_it_says_how_to_get_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FOLDER, raising=False)
    found = [case.measure(Settings(), print) for case in cases(Settings())]
    assert not any(result.rows for result in found)
    assert "set DYNENVS_SICONOS to a clone of github.com/siconos/siconos" in found[0].skipped[0]
