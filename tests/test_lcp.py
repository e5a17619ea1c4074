"""LCP solvers: textbook problems by name, contact problems at their worst, and honest answers.

Oracles: the published solution where there is one; else the definition itself, w = A z + b >= 0,
z >= 0, w'z = 0, which is checked here without the package's own certificate.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dynenvs.lcp import LcpResult, LcpStage, LcpStatus, solve_lcp
from dynenvs.lcp.gauss_seidel import gauss_seidel
from dynenvs.lcp.lemke import lemke
from dynenvs.lcp.solve import CERTIFIED, FAILED, solve
from dynenvs.lcp.tableau import PIVOT_LIMIT, RAY, SOLVED, tableau_lemke
from dynenvs.lcp.workspace import unpack_workspace, workspace, workspace_size
from studies.verify.lcp_problems import (
    INFEASIBLE,
    TEXTBOOK,
    Problem,
    box_stack,
    plain,
    random_contacts,
    stewart_trinkle,
)

Array = NDArray[np.float64]


def solved(problem: Problem, guess: NDArray[np.bool_] | None = None) -> LcpResult:
    return solve_lcp(problem.A, problem.b, guess=guess, blocks=problem.blocks, scale=problem.floor)


def assert_solves(problem: Problem, result: LcpResult, tolerance: float = 1e-9) -> None:
    """The definition of a solution, each row in its own natural unit (oracle: the definition)."""
    A, b = problem.A, problem.b
    w = A @ result.z + b
    speed = max(np.abs(b).max(), problem.floor) or 1.0
    impulse = np.diag(A) > 0
    z_unit, w_unit = np.full(len(b), speed), np.full(len(b), speed)
    z_unit[impulse] = speed / np.diag(A)[impulse]
    w_unit[~impulse] = (np.abs(A[~impulse][:, impulse]) * z_unit[impulse]).max(axis=1, initial=0)
    w_unit[w_unit == 0] = speed
    assert result.status is LcpStatus.CERTIFIED, (result.status, result.residual, result.stage)
    slack = tolerance + 1e-15 * (np.abs(A) @ np.abs(result.z)).max() / speed
    assert (result.z / z_unit).min(initial=0) >= -tolerance
    assert (w / w_unit).min(initial=0) >= -slack
    assert np.abs(np.minimum(result.z / z_unit, w / w_unit)).max(initial=0) <= slack


# Textbook problems


@pytest.mark.parametrize("name", TEXTBOOK)
def test_textbook(name: str) -> None:
    """Oracle: the solution by hand (none where it is not unique: then the definition)."""
    A, b, z = TEXTBOOK[name]
    problem = plain(A, b)
    result = solved(problem)
    assert_solves(problem, result)
    if z is not None:
        np.testing.assert_allclose(result.z, z, atol=1e-12)


def run_lemke(method: Any, A: Array, b: Array, limit: int) -> tuple[int, int, Array]:
    n = len(b)
    z, basis = np.zeros(n), np.zeros(n, dtype=np.int64)
    return *method(A, b, np.ones(n), n, limit, z, basis, workspace(n)), z


LEMKES = pytest.mark.parametrize("method", [tableau_lemke, lemke], ids=["tableau", "careful"])


@LEMKES
@pytest.mark.parametrize("n", [1, 2, 4, 8, 12])
def test_murty_exponential_family(method: Any, n: int) -> None:
    """Murty 1978: lower triangular, 1 and 2s; Lemke from the ray of ones takes 2^n pivots.

    Oracle: the count, and z = (1, 0, ..., 0) by hand for b = -1.
    """
    A = np.eye(n) + 2 * np.tril(np.ones((n, n)), -1)
    b = -np.ones(n)
    status, pivots, z = run_lemke(method, A, b, 2**n + 10)
    assert status == SOLVED
    assert pivots == 2**n
    np.testing.assert_array_equal(z, np.eye(n)[0])
    assert solved(plain(A, b)).status is LcpStatus.CERTIFIED  # 4096 pivots are not allowed there


@LEMKES
def test_pivot_limit_and_ray_are_reported(method: Any) -> None:
    """Oracle: the same family stopped early; an infeasible problem ends on a ray."""
    A = np.eye(10) + 2 * np.tril(np.ones((10, 10)), -1)
    assert run_lemke(method, A, -np.ones(10), 100)[0] == PIVOT_LIMIT
    assert run_lemke(method, np.array([[0.0]]), np.array([-1.0]), 100)[0] == RAY


@pytest.mark.parametrize("definite", [True, False])
def test_random_semidefinite(definite: bool) -> None:
    """P-matrices, not symmetric; or symmetric of rank n/2 (frictionless, redundant contacts).

    Oracle: what they were made from; w is unique, and z too if definite (CPS thms 3.3.7, 3.4.4).
    """
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 25))
        root, skew = rng.standard_normal((n, n if definite else n // 2)), rng.normal(size=(n, n))
        A = root @ root.T + definite * (0.3 * np.eye(n) + skew - skew.T)
        z = rng.uniform(0, 1, n) * (rng.random(n) < 0.5)
        w = rng.uniform(0, 1, n) * (z == 0)
        problem = plain(A, w - A @ z)
        result = solved(problem)
        assert_solves(problem, result)
        np.testing.assert_allclose(result.w, w, atol=1e-9)
        if definite:
            np.testing.assert_allclose(result.z, z, atol=1e-9)


# This one has the solution z = 1/3, but the ray that Lemke's method starts on has no end
BIMATRIX = ([[0, 0, 1, 2], [0, 0, 2, 1], [1, 2, 0, 0], [2, 1, 0, 0]], [-1] * 4)


def test_what_lemke_misses_others_find() -> None:
    """A game.  Oracle: the definition, by hand."""
    A, b = BIMATRIX
    assert solve_lcp(A, b, method="lemke").status is LcpStatus.FAILED
    result = solve_lcp(A, b)
    assert_solves(plain(A, b), result)
    assert result.stage is LcpStage.INTERIOR_POINT


@pytest.mark.parametrize(("A", "b"), INFEASIBLE)
def test_no_answer_is_called_a_failure(A: object, b: object) -> None:
    """Oracle: by hand, no z >= 0 gives w >= 0."""
    result = solved(plain(A, b))
    assert result.status is LcpStatus.FAILED
    assert np.isfinite(result.z).all()


# Contact problems: copositive, so there is always a solution (Anitescu and Potra 1997)

FAMILIES = {
    "planar": {"nv": 6},
    "planar, rank 3": {"nv": 3},
    "planar, W over 6 decades": {"nv": 5, "spread": 3.0},
    "spatial, 4 directions": {"nv": 6, "nd": 4},
    "spatial, 8 directions": {"nv": 6, "nd": 8},
    "frictionless directions": {"nv": 6, "nd": 4, "mu": 0.0},
}


@pytest.mark.parametrize("family", FAMILIES)
def test_random_contacts_are_certified(family: str) -> None:
    """1 to 12 contacts, repeated ones among them.  Oracle: the definition, on all 120."""
    for seed in range(120):
        rng = np.random.default_rng(seed)
        problem = random_contacts(rng, 1 + seed % 12, **FAMILIES[family])  # type: ignore[arg-type]
        assert_solves(problem, solved(problem))


DRAWS = {"seed": st.integers(0, 2**32 - 1), "contacts": st.integers(1, 8)}
DRAWS |= {"nv": st.integers(1, 8), "nd": st.sampled_from([2, 4, 8])}


@settings(max_examples=60)
@given(spread=st.floats(0, 2), **DRAWS)
def test_any_contacts_are_certified(
    seed: int, contacts: int, nv: int, nd: int, spread: float
) -> None:
    """Oracle: the existence theorem, so the definition must hold whatever is drawn."""
    problem = random_contacts(np.random.default_rng(seed), contacts, nv, nd, 1.5, spread)
    assert_solves(problem, solved(problem))


@pytest.mark.parametrize("ratio", [1e-3, 1.0, 1e3])
def test_stacked_boxes_at_rest(ratio: float) -> None:
    """Three boxes, mass ratio a layer, rank-deficient corners: certified, and nothing moves.

    Oracle: statics; the load on each layer is the weight above it.
    """
    masses = [1.0, ratio, ratio**2]
    for seed in range(20):
        problem = box_stack(np.random.default_rng(seed), masses)
        result = solved(problem)
        assert_solves(problem, result)
        for layer in range(3):
            load = result.z[4 * layer : 4 * layer + 4].sum()
            assert load == pytest.approx(sum(masses[layer:]) * problem.floor, rel=1e-9)
        assert np.abs(result.w[:12]).max() <= 2e-9 * problem.floor


@pytest.mark.parametrize("ratio", [1e-3, 1.0, 1e2])
@pytest.mark.parametrize("noise", [{"gap": 1e-12}, {"shift": 0.1}], ids=["tied", "out of line"])
def test_nearly_tied_corners(ratio: float, noise: dict[str, float]) -> None:
    """Gaps that differ by 1e-12 m/s, or boxes out of line.  Oracle: the definition."""
    for seed in range(30):
        problem = box_stack(np.random.default_rng(seed), [1.0, ratio, ratio**2], **noise)
        assert_solves(problem, solved(problem))


def test_beyond_double_precision_is_called_degraded() -> None:
    """A mass of 1e8 on 1: rounding z alone moves w by 1e-8.  Oracle: the residual, recomputed."""
    for seed in range(5):
        problem = box_stack(np.random.default_rng(seed), [1.0, 1e4, 1e8])
        result = solved(problem)
        assert result.status is LcpStatus.DEGRADED
        assert 1e-9 < result.residual <= 1e-5
        assert result.w.min() >= -1e-5 * problem.floor


def test_painleve_rod() -> None:
    """A sliding rod that jams: only velocities can jump (docs/theory.md, Existence)."""
    cosine, sine, step = 1 / math.sqrt(5), 2 / math.sqrt(5), 9.8e-3
    W = np.diag([1.0, 1.0, 3.0])
    N = np.array([[0.0, 1.0, -cosine]]).T
    T = np.array([[1.0, 0.0, sine]]).T
    v = np.array([-1.0, -step, 0.0])
    problem = stewart_trinkle(W, N, np.hstack([T, -T]), np.array([2.0]), v, np.zeros(1))
    result = solved(problem)
    assert_solves(problem, result)
    assert result.z[0] / step == pytest.approx(31.46, abs=5e-3)
    after = v + W @ (N[:, 0] * result.z[0] + T[:, 0] * (result.z[1] - result.z[2]))
    np.testing.assert_allclose(np.hstack([N, T]).T @ after, 0, atol=1e-12)
    assert 0.5 * after @ np.linalg.solve(W, after) == pytest.approx(0.297, abs=5e-4)


# Warm start


@pytest.mark.parametrize("nd", [2, 4])
def test_warm_start_gives_the_same_velocities(nd: int) -> None:
    """Oracle: the cold answer, to 1e-10; and no pivots."""
    for seed in range(60):
        problem = random_contacts(np.random.default_rng(seed), 1 + seed % 8, 6, nd)
        cold = solved(problem)
        warm = solved(problem, cold.active)
        assert (warm.stage, warm.iterations) == (LcpStage.WARM_START, 0)
        assert_solves(problem, warm)
        np.testing.assert_allclose(warm.w, cold.w, atol=1e-10 * max(1, np.abs(problem.b).max()))


def test_wrong_warm_start_changes_nothing() -> None:
    """Oracle: the cold answer, bit for bit."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        problem = random_contacts(rng, 1 + seed % 8, 6)
        cold = solved(problem)
        guess = rng.random(len(problem.b)) < 0.5
        warm = solved(problem, guess)
        if warm.stage is not LcpStage.WARM_START:
            np.testing.assert_array_equal(warm.z, cold.z)


def test_order_of_variables_does_not_matter() -> None:
    """Oracle: symmetric positive semidefinite problems have one w (CPS theorem 3.4.4)."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        root = rng.standard_normal((10, 4))
        A, b = root @ root.T, root @ rng.standard_normal(4) + np.abs(rng.standard_normal(10))
        order = rng.permutation(10)
        there = solve_lcp(A[np.ix_(order, order)], b[order])
        np.testing.assert_allclose(solve_lcp(A, b).w[order], there.w, atol=1e-9)


def test_guess_is_read_only_when_asked_and_capacity_may_exceed_the_problem() -> None:
    """The kernel on part of larger arrays, scratch full of rubbish.  Oracle: the friendly edge."""
    problem = random_contacts(np.random.default_rng(3), 3, 6)
    n, capacity = len(problem.b), 40
    A, b = np.full((capacity, capacity), np.nan), np.full(capacity, np.nan)
    A[:n, :n], b[:n] = problem.A, problem.b
    guess, block = np.full(capacity, 7), np.zeros(capacity, dtype=np.int64)
    z = np.full(capacity, np.nan)
    buffer = np.full(workspace_size(capacity), np.nan)
    work = unpack_workspace(buffer, capacity)  # views that borrow it
    status, _, _, _ = solve(A, b, n, 0.0, guess, False, block, z, work)
    assert status == CERTIFIED
    np.testing.assert_array_equal(z[:n], solved(problem).z)
    np.testing.assert_array_equal(guess[:n] != 0, solved(problem).active)
    assert np.isnan(z[n:]).all()


def test_gauss_seidel_converges_on_separate_blocks() -> None:
    """One variable a block: projected Gauss-Seidel.  Oracle: the known z of a P-matrix problem."""
    A = np.array([[2.0, 1.0], [1.0, 2.0]])
    b, z = np.array([-5.0, -6.0]), np.zeros(2)
    basis = np.zeros(2, dtype=np.int64)
    status, sweeps = gauss_seidel(A, b, 2, np.arange(2), 100, 1e-14, z, basis, workspace(2))
    assert status == SOLVED
    assert 2 < sweeps < 100
    np.testing.assert_allclose(z, [4 / 3, 7 / 3], atol=1e-12)


def test_kernel_fails_cleanly_on_nan() -> None:
    """The friendly edge refuses it, a kernel must end.  Oracle: status FAILED and z = 0."""
    A, b, z = np.eye(3), np.array([-1.0, np.nan, 1.0]), np.ones(3)
    guess, block = np.zeros(3, dtype=np.int64), np.arange(3)
    status, residual, _, _ = solve(A, b, 3, 0.0, guess, False, block, z, workspace(3))
    assert (status, residual) == (FAILED, math.inf)
    np.testing.assert_array_equal(z, np.zeros(3))


# Wrong input


@pytest.mark.parametrize(
    ("A", "b", "options", "message"),
    [
        ([[1.0, 2.0]], [1.0], {}, r"A has shape \(1, 2\)"),
        ([[1.0]], [1.0, 2.0], {}, r"b has shape \(2,\); expected \(1,\)"),
        ([[np.nan]], [1.0], {}, r"A\[0, 0\] is nan"),
        ([[1.0]], [np.inf], {}, r"b\[0\] is inf"),
        (10**400, 10**400, {}, "A must be an array of real numbers"),
        ([[1.0]], [10**400], {}, "b must be an array of real numbers"),
        ([[{}]], [1.0], {}, "A must be an array of real numbers"),
        ([[1.0]], [1.0], {"guess": [True, False]}, "guess has shape"),
        ([[1.0]], [1.0], {"blocks": [-1]}, "blocks"),
        ([[1.0]], [1.0], {"scale": -1.0}, "scale is -1.0"),
        ([[1.0]], [1.0], {"method": "simplex"}, "unknown method 'simplex'; choose from: cascade"),
        ([[1.0]], [1.0], {"method": "lemke", "guess": [True]}, "guess is for the cascade"),
        ([[1.0]], [1.0], {"limit": 5}, "limit is for a method alone"),
        ([[1.0]], [1.0], {"method": "lemke", "limit": 0}, "limit is 0; expected a whole number"),
        ([[1.0]], [1.0], {"method": "lemke", "limit": 2.5}, "limit is 2.5; expected a whole"),
    ],
)
def test_wrong_input_raises(A: object, b: object, options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        solve_lcp(A, b, **options)  # type: ignore[arg-type]


def test_nothing_to_solve() -> None:
    """No contacts is the commonest case of all.  Oracle: an empty, certified answer."""
    result = solve_lcp(np.zeros((0, 0)), np.zeros(0))
    assert (result.status, result.z.shape) == (LcpStatus.CERTIFIED, (0,))
