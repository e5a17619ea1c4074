"""Contact problems, answers and working memory as solvers see them, from plain arrays."""

from __future__ import annotations

import numpy as np
from trees import Array

from dynenvs.contact.assembly.problem import (
    STRIPS,
    WORDS,
    ContactAnswer,
    ContactProblem,
    Scratch,
    velocity_scale,
)
from dynenvs.lcp.workspace import VECTORS
from dynenvs.memory.records import ELIMINATED, STAGES, UNKNOWN


def stated(blocks: Array, G: Array, bias: Array, polygon: Array, floor: float) -> ContactProblem:
    """The problem of all blocks and rows; floor: least velocity scale [m/s]."""
    scale = velocity_scale(polygon, blocks, len(blocks), G, bias, floor)
    return ContactProblem(polygon, blocks, len(blocks), G, bias, len(bias), scale)


def empty_answer(p: Array, u: Array) -> ContactAnswer:
    """An answer that goes into these arrays; nobody was asked so far."""
    return ContactAnswer(p, u, np.zeros(STAGES, np.int64), np.zeros(STAGES, np.int64))


def scratch(problem: ContactProblem) -> Scratch:
    """What solvers of the problem work in."""
    rows, n = problem.rows, problem.n
    variables = n * (2 + int(problem.polygon[0]["directions"]))
    return Scratch(
        np.zeros((VECTORS, max(variables, rows))), np.zeros(WORDS * n), np.zeros(rows, UNKNOWN),
        np.zeros(n, ELIMINATED), np.zeros((rows, rows)), np.zeros(rows, np.int64), np.zeros(rows),
        np.zeros(rows), np.zeros((rows, rows)), np.zeros((STRIPS, rows)),
    )  # fmt: skip
