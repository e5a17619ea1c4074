"""The solver stages of `solve.py` for a contact problem in plain arrays: `solve_island`.

The same solvers in the same order.  Each stage's answer is certified in the same way, on velocities
summed in twice the working precision, and the best one is kept.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from dynenvs.contact.assembly.problem import (
    STRIPS,
    WORDS,
    ContactAnswer,
    ContactProblem,
    Scratch,
)
from dynenvs.contact.solvers.cone import COLD, solve_cones
from dynenvs.contact.solvers.cone_law import certify_cones
from dynenvs.contact.solvers.friction_lcp import choose_modes, pivot
from dynenvs.contact.solvers.interior_point import from_inside
from dynenvs.contact.solvers.newton import newton
from dynenvs.contact.solvers.pyramid_law import certify_pyramids
from dynenvs.jit.compiled import prepare
from dynenvs.lcp.proof import careful_w
from dynenvs.lcp.solve import CERTIFIED_RESIDUAL, WARM_RESIDUAL
from dynenvs.lcp.workspace import VECTORS, workspace
from dynenvs.memory.layout import Floats
from dynenvs.memory.records import (
    CONE,
    CONES,
    ELIMINATED,
    KEPT,
    LEMKE,
    MODES,
    PATH,
    PYRAMID,
    STAGES,
    SWEEPS,
    UNKNOWN,
    VARIABLE,
)

FEW = 300  # variables of an LCP up to which Lemke's method is tried: it takes minutes beyond
NOBODY = -1


class Found(NamedTuple):
    """The best answer to a problem: impulses of its rows, their residual, and whose they are."""

    p: Floats
    residual: float
    stage: int


class Search:
    """One problem's search for an answer, stage by stage.

    problem: its blocks' modes are overwritten
    law: PYRAMID or CONE
    `best` is the best answer, `iterations` the systems solved and pivots made so far.
    """

    def __init__(self, problem: ContactProblem, law: int) -> None:
        rows, n = problem.rows, problem.n
        self.problem, self.law = problem, law
        self.counts = np.zeros((2, STAGES), np.int64)
        self.answer = ContactAnswer(np.zeros(rows), problem.bias.copy(), *self.counts)
        self.variables = n * (2 + int(problem.polygon[0]["directions"]))
        self.few = self.variables <= FEW
        size = max(rows, self.variables if self.few else 0)
        # Lemke's method has no room where it would never end
        self.work = workspace(self.variables if self.few else 0)
        self.scratch = Scratch(
            np.zeros((VECTORS, max(rows, self.variables))), np.zeros(WORDS * n),
            np.zeros(rows, UNKNOWN), np.zeros(n, ELIMINATED), np.zeros((size, size)),
            np.zeros(size, np.int64), np.zeros(size), np.zeros(size), np.zeros((rows, rows)),
            np.zeros((STRIPS, rows)),
        )  # fmt: skip
        self.best = Found(np.zeros(rows), math.inf, NOBODY)
        self.iterations = 0

    def guess(self, impulses: Floats) -> bool:
        """Begin with these impulses; returns whether they hold, or lead to what does."""
        self.answer.p[:] = impulses
        self._keep(KEPT)
        # On exact cones an inexact guess is worth more as a start for their own method than for
        # modes
        if self.law == CONE and self.best.residual > WARM_RESIDUAL:
            self.cones()
            return self.best.residual <= CERTIFIED_RESIDUAL
        _call(choose_modes, self.problem, self.answer)
        return self.best.residual <= WARM_RESIDUAL

    def pyramids(self, guessed: bool) -> None:
        """Newton's method on modes, from those of the guess if there is one; then the path."""
        residual, used = _call(newton, self.problem, self.answer, self.scratch, not guessed)
        self.iterations += used
        self._keep(SWEEPS if self.answer.solved[SWEEPS] else MODES)
        if not residual <= WARM_RESIDUAL:
            modes = np.zeros(self.problem.n, np.int64)
            _, used = _call(from_inside, self.problem, self.answer, self.scratch, modes)
            self.iterations += used
            self._keep(PATH)

    def pivots(self) -> None:
        """Lemke's method, where the problem is small enough."""
        if self.few:
            variables = np.zeros(self.variables, VARIABLE)
            arguments = self.problem, self.answer, self.scratch, variables, self.work
            _, _, used = _call(pivot, *arguments)
            self.iterations += used
            self._keep(LEMKE)

    def cones(self) -> None:
        """The exact cone's own method, from the last answer."""
        _, used, _ = _call(solve_cones, self.problem, self.answer, self.scratch, COLD)
        self.iterations += used
        self._keep(CONES)

    def _keep(self, stage: int) -> None:
        """Certify the last answer, and keep it if it is the best."""
        residual = certify(self.problem, self.answer, self.law)
        if residual < self.best.residual:
            self.best = Found(self.answer.p.copy(), residual, stage)


def solve_island(problem: ContactProblem, law: int, guess: Floats | None) -> tuple[Found, int]:
    """The best answer to a problem, and how many systems were solved and pivots made for it.

    Args:
        problem: its blocks' modes are overwritten.
        law: PYRAMID or CONE.
        guess: impulses of the rows to start from, shape (rows,).
    """
    way = Search(problem, law)
    if guess is not None and way.guess(guess):
        return way.best, way.iterations
    way.pyramids(guess is not None)
    # An answer of the pyramids is only where the search on cones begins
    if law == CONE and way.best.residual > WARM_RESIDUAL:
        way.cones()
    if way.best.residual > CERTIFIED_RESIDUAL:
        way.pivots()
        # A better start for cones: Lemke's answer is exact
        if law == CONE and way.few and way.best.residual > CERTIFIED_RESIDUAL:
            way.cones()
    return way.best, way.iterations


def certify(problem: ContactProblem, answer: ContactAnswer, law: int) -> float:
    """Natural residual of the impulses `answer.p`; infinite for NaN.  Writes `answer.u`."""
    _call(careful_w, problem.G, problem.bias, problem.rows, answer.p, answer.u)
    if law == PYRAMID:
        return float(_call(certify_pyramids, problem, answer))
    laws = problem.blocks, problem.n, problem.G, problem.scale, answer.p, answer.u
    return max(float(_call(certify_cones, *laws)), _miss_along_normals(problem, answer))


def _miss_along_normals(problem: ContactProblem, answer: ContactAnswer) -> float:
    """Natural residual of u_n >= 0, p_n >= 0, u_n p_n = 0; infinite for NaN.

    The cone's own sees but a part 1 / mu of it where friction is high: nearly any impulse is
    inside, and nearly any velocity suits it.
    """
    rows = problem.blocks["row"]
    g = np.diag(problem.G)[rows]
    moved = g > 0.0
    off = np.abs(np.minimum(answer.p[rows] * g, answer.u[rows]))[moved]
    worst = float(np.max(off, initial=0.0)) / problem.scale
    return worst if worst < math.inf else math.inf


def _call(kernel: Any, *arguments: Any) -> Any:
    prepare("the solvers of contact problems", [kernel], ())
    return kernel(*arguments)
