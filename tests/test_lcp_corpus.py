"""All LCP solvers on the corpus of `studies verify --scenes solvers`: solved, and honestly judged.

Oracle throughout: the natural residual summed anew in extended precision, from the definition, by
`solvers.residual`, which shares nothing with the kernels' certificate.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.console import Console
from scenes import block
from trees import Array

from dynenvs.contact.assembly.memory import warm_start
from dynenvs.contact.solvers.friction_lcp import solve_lcp_of_rows
from dynenvs.jit.compiled import kernel
from dynenvs.lcp import LcpStage, LcpStatus, solve_lcp
from dynenvs.lcp.interface import CASCADE, METHODS
from dynenvs.lcp.solve import CERTIFIED_RESIDUAL, DEGRADED_RESIDUAL
from dynenvs.memory.layout import Bytes, open_model, open_work, open_world
from studies.bench.solves import stated
from studies.verify import families, lcp_problems, solvers
from studies.verify.lcp_problems import Problem, plain
from studies.verify.recorded import from_rows, recorded

CORPUS = solvers.corpus()
BEYOND = "bimatrix games, n = 21 to 40"  # may be left unsolved
SOLVABLE = [name for name in CORPUS if name not in (BEYOND, solvers.UNSOLVABLE)]
SOLVERS = (CASCADE, *METHODS)
SLOW = {"redundant contacts, 16 to 40", "ten boxes, 40 contacts"}  # for all but Lemke's method


def right(problem: Problem, z: Array) -> bool:
    """Within the certificate's tolerance: nothing is allowed for rounding but the oracle's own."""
    speed = max(float(np.abs(problem.b).max(initial=0.0)), problem.floor) or 1.0
    oracle = 1e-17 * float((np.abs(problem.A) @ np.abs(z)).max(initial=0.0)) / speed
    return solvers.residual(problem, z) <= CERTIFIED_RESIDUAL + oracle


def test_the_residual_sees_what_is_wrong() -> None:
    """By hand: a right answer, w negative, z negative, both positive, in scaled units."""
    problem = plain([[4.0, 0.0], [0.0, 1.0]], [-2.0, 1.0])
    assert solvers.residual(problem, np.array([0.5, 0.0])) == 0.0
    assert solvers.residual(problem, np.array([0.25, 0.0])) == 0.5  # w = -1 of 2
    assert solvers.residual(problem, np.array([0.5, -0.5])) == 0.25  # z = -0.5 of 2
    assert solvers.residual(problem, np.array([0.5, 2.0])) == 1.0
    assert solvers.residual(problem, np.array([0.75, 0.0])) == 0.5
    assert solvers.residual(problem, np.array([np.nan, 0.0])) == math.inf


@pytest.mark.parametrize("family", SOLVABLE)
def test_the_cascade_certifies_every_problem(family: str) -> None:
    """Each of them has a solution."""
    for problem in CORPUS[family]:
        result = solve_lcp(problem.A, problem.b, blocks=problem.blocks, scale=problem.floor)
        assert result.certified, (result.status, result.residual)
        assert right(problem, result.z)


@pytest.mark.parametrize("family", [name for name in CORPUS if name not in SLOW])
@pytest.mark.parametrize("method", METHODS)
def test_certificates_are_honest(method: str, family: str) -> None:
    """What a solver certifies is right, and the residual that it reports is no less than the real
    one, and the real one where there is no answer."""
    for problem in CORPUS[family][::2]:
        result = solve_lcp(
            problem.A, problem.b, method=method, blocks=problem.blocks, scale=problem.floor
        )
        assert result.stage is None
        assert not result.certified or right(problem, result.z)
        real, rounding = solvers.residual(problem, result.z), solvers.allowed(problem, result.z)
        assert result.residual >= (1 - 1e-6) * real - rounding
        if real > DEGRADED_RESIDUAL:  # below, what is reported is a bound
            assert result.residual == pytest.approx(real, rel=1e-6, abs=rounding)


@pytest.mark.parametrize("method", SOLVERS)
def test_nothing_is_certified_where_there_is_no_solution(method: str) -> None:
    """By construction."""
    for problem in CORPUS[solvers.UNSOLVABLE]:
        result = solve_lcp(problem.A, problem.b, method=method, blocks=problem.blocks)
        assert result.status is LcpStatus.FAILED
        assert np.isfinite(result.z).all()


def test_murtys_family_to_twenty() -> None:
    """Lemke's method alone takes 2^n pivots; the cascade finds (1, 0, ..., 0)."""
    for n in range(1, 21):
        problem = lcp_problems.murty(n)
        result = solve_lcp(problem.A, problem.b)
        assert result.certified
        np.testing.assert_array_equal(result.z, np.eye(n)[0])
    assert result.stage is not LcpStage.LEMKE
    assert not solve_lcp(problem.A, problem.b, method="lemke").certified
    assert solve_lcp(problem.A, problem.b, method="lemke", limit=2**20).iterations == 2**20


def test_kostrevas_example_cycles_without_a_rule() -> None:
    """Pivoting on the negative entry nearest to 0 goes round six bases; the least index ends."""
    A, b, z = lcp_problems.TEXTBOOK["Kostreva 1979, cycling"]
    seen: list[tuple[bool, ...]] = []
    basis = np.zeros(3, dtype=bool)
    while tuple(basis) not in seen:
        seen.append(tuple(basis))
        K = np.where(basis, np.array(A, dtype=float), -np.eye(3))
        basic = np.linalg.solve(K, -np.array(b, dtype=float)).round(12)
        assert basic.min() < 0  # not the answer
        basis[np.where(basic < 0, basic, -np.inf).argmax()] ^= True
    assert seen[seen.index(tuple(basis)) :] == seen[1:]
    assert len(seen) == 7
    result = solve_lcp(A, b, method="principal_pivoting")
    assert result.certified
    assert result.iterations < 10
    np.testing.assert_allclose(result.z, z, atol=1e-14)


@pytest.mark.parametrize("n", [3, 8, 20, 40])
def test_newtons_method_takes_newtons_steps(n: int) -> None:
    """Ten or so, whatever the size: by steepest descent, to which it falls back, hundreds."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        B, S = rng.normal(size=(2, n, n))
        A = B @ B.T + 0.1 * np.eye(n) + S - S.T
        result = solve_lcp(A, rng.normal(size=n), method="semismooth_newton")
        assert result.certified
        assert result.iterations <= 20


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 20), degenerate=st.booleans())
@example(seed=131233, n=5, degenerate=False)  # rounding once left nothing to end a step
def test_p_matrices_by_all_methods(seed: int, n: int, degenerate: bool) -> None:
    """Every solver with a proof certifies them, and they agree: there is one answer (CPS 3.3.7)."""
    problem = lcp_problems.p_matrix(np.random.default_rng(seed), n, degenerate)
    first = solve_lcp(problem.A, problem.b)
    assert first.stage is LcpStage.LEMKE
    for method in ("lemke", "careful_lemke", "principal_pivoting", "interior_point"):
        result = solve_lcp(problem.A, problem.b, method=method)
        assert result.certified
        assert right(problem, result.z)
        size = np.abs(np.linalg.inv(problem.A)).sum()
        np.testing.assert_allclose(result.z, first.z, atol=1e-8 * size)


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 30))
def test_copositive_problems(seed: int, n: int) -> None:
    """Strictly copositive: there is an answer, and Lemke's method finds it (CPS 4.4.9)."""
    problem = lcp_problems.copositive(np.random.default_rng(seed), n)
    for method in ("lemke", "cascade"):
        assert right(problem, solve_lcp(problem.A, problem.b, method=method).z)


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 25))
def test_redundant_and_unsolvable_problems(seed: int, n: int) -> None:
    """Half the rank is missing; or a row that cannot become positive."""
    problem = lcp_problems.low_rank(np.random.default_rng(seed), n)
    result = solve_lcp(problem.A, problem.b)
    assert result.certified
    assert right(problem, result.z)
    problem = lcp_problems.infeasible(np.random.default_rng(seed), n)
    assert solve_lcp(problem.A, problem.b).status is LcpStatus.FAILED


def test_same_problem_same_bits() -> None:
    """In any order, and after others."""
    problems = [some for family in SOLVABLE if family not in SLOW for some in CORPUS[family][:3]]
    for method in SOLVERS:
        first = [solve_lcp(p.A, p.b, method=method, blocks=p.blocks).z for p in problems]
        again = [solve_lcp(p.A, p.b, method=method, blocks=p.blocks).z for p in problems[::-1]]
        for a, b in zip(first, again[::-1], strict=True):
            np.testing.assert_array_equal(a, b)


# Recorded problems


def test_every_walker_was_recorded() -> None:
    """With its expert and without; the plane's problems and those in space have pyramids."""
    found = recorded()
    for name in ("PlanarHumanoid", "PlanarQuadruped", "Quadruped", "Humanoid"):
        for actor in ("expert", "random actions"):
            assert len(found[f"{name}-v0, {actor}"]) == 12
    sizes = [len(problem.b) for some in found.values() for problem in some]
    assert max(sizes) >= 60


@kernel
def _lemke(packed: Bytes, row: Bytes, buffer: Bytes, count: int, rows: int) -> int:
    """Compiled code reaches it only."""
    w = open_world(packed, row, buffer)
    n, _ = warm_start(w, count, rows, 0.005)
    return int(solve_lcp_of_rows(w, n, rows, 0.05))


def test_recorded_rows_give_the_steps_lcp() -> None:
    """Oracle: the LCP that the step's own Lemke is given, entry by entry."""
    world = block(friction=0.4, timestep=0.005)
    world.v[:3] = 0.3, 0.2, -0.1
    row = world.get_state().reshape(1).view(np.uint8)
    problem = stated(world.model, row, np.zeros(world.model.nv), 0.005)
    assert problem is not None
    m = open_model(world.model.packed)
    w = open_work(m, problem.buffer)
    contacts = w.contacts[: problem.contacts]
    G = w.G[: problem.rows, : problem.rows].copy()
    ours = from_rows(
        G, w.bias_row[: problem.rows].copy(), contacts["tangents"], contacts["friction"],
        int(m.header[0]["directions"]), 0.05,
    )  # fmt: skip
    _lemke(world.model.packed, row.copy(), problem.buffer, problem.contacts, problem.rows)
    n = len(ours.b)
    np.testing.assert_allclose(ours.A, w.A[:n, :n], atol=1e-13)
    np.testing.assert_allclose(ours.b, w.b[:n], atol=1e-14)
    np.testing.assert_array_equal(ours.blocks, w.variables["block"][:n])


# The table


def _small() -> dict[str, list[Problem]]:
    textbook = [plain(A, b) for A, b, _ in lcp_problems.TEXTBOOK.values()]
    return {"textbook": textbook[:2], solvers.UNSOLVABLE: lcp_problems.unsolvable()[:2]}


def test_what_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One table, JSON without NaN, a page with its picture."""
    monkeypatch.setattr(solvers, "corpus", _small)
    page = tmp_path / "page.md"
    console = Console(record=True, width=80)
    rows, found = families.verify("solvers", console, out=tmp_path, page=page)
    assert rows == []
    assert solvers.missed(found) == 0
    scores = json.loads((tmp_path / "verify.json").read_text())["solvers"]
    assert [s["solved"] for s in scores if s["solver"] == CASCADE] == [2, 0]
    assert next(s["residual"] for s in scores if s["family"] == solvers.UNSOLVABLE) is None
    text = page.read_text()
    assert "| textbook | 2/2, " in text
    assert "![Solved problems and times](page-solvers.png)" in text
    assert (tmp_path / "page-solvers.png").stat().st_size > 5000
    assert "textbook" in console.export_text()


def test_a_wrong_certificate_is_a_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver that certifies zeros: counted as wrong, not as solved."""

    def liar(problem: Problem) -> solvers.Answer:
        return solvers.Answer(np.zeros(len(problem.b)), True, 1e-6, 1)

    monkeypatch.setattr(solvers, "corpus", _small)
    monkeypatch.setattr(solvers, "METHODS", {})
    monkeypatch.setattr(solvers, "_by", lambda *options: liar)
    found, _ = solvers.scores(Console(quiet=True))
    ours = [score for score in found if score.solver == CASCADE]
    assert [(score.solved, score.wrong) for score in ours] == [(0, 2), (0, 2)]
    assert solvers.missed(ours) == 2
