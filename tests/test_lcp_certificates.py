"""No false certificate: thousands of random problems of all kinds, each judged exactly.

`python tests/test_lcp_certificates.py SEED COUNT` runs as many as one likes.
"""

from __future__ import annotations

import sys
import time
from collections import Counter

import numpy as np
import pytest
from lcp_random import Random, draw, false_certificate, is_solvable

from dynenvs.lcp import LcpStatus, solve_lcp
from dynenvs.lcp.interface import METHODS
from dynenvs.lcp.proof import careful_w

# Each was called certified: A z + b swallows b at z = 1e17; and a tiny diagonal entry made the
# unit of another row so large that w = -1.6, -7e2 and -0.8 looked like nothing
SWALLOWED = (
    [[0, -1.934, 1.185], [1.934, 0, -0.4026], [-1.185, 0.4026, 0]],
    [-0.088, 1.09, -1.13],
)
UNSOLVABLE = (
    SWALLOWED,
    ([[1e-12, 0, 0], [-1, 0, 0], [1, 0, 0]], [-1e-12, 0, -1]),
    ([[1e-12, 0], [-1, 0]], [0, -1]),
    ([[1.5e-8, 2e6], [-7.6e5, -1.2e6]], [-1978, 389]),
    ([[-2.34, -0.74], [1.57, 2.8e-10]], [0.587, -0.931]),
)


def survey(seed: int, count: int) -> tuple[Counter[str], Counter[str], list[str]]:
    """Draw problems and judge the certified ones.

    Returns how many there were of each kind, how many were certified, and what was wrong.
    """
    drawn: Counter[str] = Counter()
    certified: Counter[str] = Counter()
    wrong = []
    for i in range(count):
        problem = draw(np.random.default_rng([seed, i]))
        result = solve_lcp(problem.A, problem.b)
        drawn[problem.kind] += 1
        if result.certified:
            certified[problem.kind] += 1
            fault = false_certificate(problem, result.z, result.active)
            if fault:
                wrong.append(f"[{seed}, {i}] {problem.kind}, n = {len(problem.b)}: {fault}")
    return drawn, certified, wrong


@pytest.mark.parametrize(("A", "b"), UNSOLVABLE)
@pytest.mark.parametrize("method", ["cascade", *METHODS])
def test_what_has_no_solution_is_not_certified(A: object, b: object, method: str) -> None:
    """Oracle: rational arithmetic finds none."""
    matrix, vector = np.array(A, dtype=float), np.array(b, dtype=float)
    assert not is_solvable(matrix, vector, np.zeros(len(vector), dtype=np.bool_))
    assert solve_lcp(A, b, method=method).status is LcpStatus.FAILED


def test_no_false_certificate_of_thousands() -> None:
    """Oracle: `lcp_random.false_certificate`, exact.  Nor may everything be refused."""
    drawn, certified, wrong = survey(0, 2500)
    assert wrong == []
    for kind in drawn:
        if kind == "contacts":
            assert certified[kind] == drawn[kind]
        elif not kind.startswith("no solution"):
            assert certified[kind] > 0.2 * drawn[kind], kind


@pytest.mark.slow
def test_no_false_certificate_of_many_thousands() -> None:
    """The same, a minute long."""
    assert survey(1, 50_000)[2] == []


def test_the_judge_sees_what_is_wrong() -> None:
    """By hand."""
    nothing = np.zeros(1, dtype=np.bool_)
    one = Random("one", np.array([[2.0]]), np.array([-1.0]), None, True)
    assert false_certificate(one, np.array([0.5]), nothing) is None
    assert "residual" in str(false_certificate(one, np.array([0.5 + 1e-8]), nothing))
    none = Random("none", np.array([[0.0]]), np.array([-1e-10]), None, True)
    assert "residual" in str(false_certificate(none, np.array([0.0]), nothing))
    far = Random("far", np.array([[0.0, 0.0], [0.0, 1.0]]), np.array([-1e-10, -1.0]), None, True)
    basis = np.array([False, True])
    assert "rational" in str(false_certificate(far, np.array([0.0, 1.0]), basis))
    known = one._replace(solvable=False)
    assert "no solution" in str(false_certificate(known, np.array([0.5]), nothing))


def test_w_is_summed_with_care() -> None:
    """Oracle: by hand, 1e17 + 1 - 1e17 = 1, which working precision takes for 0."""
    A, w = np.array([[1.0, 1.0, -1.0]] * 3), np.zeros(3)
    careful_w(A, np.zeros(3), 3, np.array([1e17, 1.0, 1e17]), w)
    np.testing.assert_array_equal(w, 1.0)


if __name__ == "__main__":
    start = time.time()
    found, sure, faults = survey(int(sys.argv[1]), int(sys.argv[2]))
    for name in sorted(found):
        print(f"{name:28s} {found[name]:8d} certified {sure[name]:8d}")
    print(f"{sum(found.values())} problems, {sum(sure.values())} certified, {len(faults)} of them")
    print(f"falsely, {time.time() - start:.0f} s", *faults, sep="\n")
