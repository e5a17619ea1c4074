"""The coupling of constraint rows over a tree, and the vector sums that it is made of."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dynenvs.contact.assembly.rows import couple
from dynenvs.jit.compiled import kernel
from dynenvs.memory.layout import DOF
from dynenvs.simd.vectors import WIDTH, add_multiple, add_outer

Array = NDArray[np.float64]


@kernel
def _multiple(X: Array, r: int, Z: Array, k: int, low: int, high: int, factor: float) -> None:
    add_multiple(X, r, Z, k, low, high, factor)


@kernel
def _outer(X: Array, r: int, Z: Array, k: int, low: int, high: int, factor: float) -> None:
    add_outer(X, r, Z, k, low, high, factor)


@pytest.mark.parametrize("high", [-WIDTH, 0, WIDTH, 3 * WIDTH])
def test_vector_sums_are_those_of_the_plain_loops(high: int) -> None:
    """To the last bit, and nothing beside the span changes."""
    rng = np.random.default_rng(high % 7)
    X, Z = rng.normal(size=(9, 16)), rng.normal(size=(5, 16))
    for compiled, plain in ((_multiple, add_multiple), (_outer, add_outer)):
        got, wanted = X.copy(), X.copy()
        compiled(got, 4, Z, 2, 0, high, 0.3)
        plain(wanted, 4, Z, 2, 0, high, 0.3)
        np.testing.assert_array_equal(got, wanted)


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 14))
@settings(max_examples=200)
def test_coupling_is_that_of_the_mass_matrix(seed: int, nv: int, rows: int) -> None:
    """G = J W J^T, exactly symmetric; rows on random branches, some coordinates do not yield."""
    rng = np.random.default_rng(seed)
    dofs = np.zeros(nv, DOF)
    dofs["parent"] = [rng.integers(-1, j) if j else -1 for j in range(nv)]
    L = rng.normal(size=(nv, nv))  # the upper triangle is not to be read
    unit = np.eye(nv)
    for j in range(nv):
        L[j, j] = rng.uniform(0.1, 2.0)
        above, i = [], dofs["parent"][j]
        while i >= 0:
            above.append(i)
            i = dofs["parent"][i]
        for i in range(j):
            L[j, i] = unit[j, i] = rng.normal() if i in above else 0.0
    free_dof_mask = rng.integers(0, 2, nv).astype(np.float64)
    # As `_prescribe` has it: what does not yield is coupled with nothing
    for j in np.flatnonzero(free_dof_mask == 0.0):
        L[j, :j] = unit[j, :j] = 0.0
        L[j + 1 :, j] = unit[j + 1 :, j] = 0.0
    padded = -(-rows // WIDTH) * WIDTH
    J = np.full((padded, nv), np.nan)  # nor are rows beyond the last
    first, after = np.full(nv, padded), np.zeros(nv, np.int64)
    for r in range(rows):
        J[r] = 0.0
        j = rng.integers(nv)
        while j >= 0:
            J[r, j] = rng.normal()
            first[j], after[j] = min(first[j], r), r + 1
            j = dofs["parent"][j]
    Y, G = np.full((nv, padded), np.nan), np.full((padded, padded), np.nan)
    couple(dofs.view(np.recarray), J, L, rows, free_dof_mask, first, after, Y, G)
    half = np.linalg.solve(unit.T, (J[:rows] * free_dof_mask).T)
    np.testing.assert_allclose(Y[:, :rows], half, rtol=1e-9, atol=1e-9 * abs(half).max())
    wanted = half.T @ np.diag(np.diag(L)) @ half
    np.testing.assert_allclose(
        G[:rows, :rows], wanted, rtol=1e-9, atol=1e-9 * max(1.0, abs(wanted).max())
    )
    np.testing.assert_array_equal(G[:rows, :rows], G[:rows, :rows].T)
    assert (G[:rows, rows:] == 0.0).all()
