"""The contact problem in rows, its answer, and what solvers work in: one small view for each.

Velocities of all rows are u = G p + bias, with the Delassus matrix G = J M^-1 J^T; each block
(a contact, or a joint limit) has its rows and its law.  Every solver has the shape

    solve(problem, answer, scratch) -> residual, ...
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from dynenvs.jit.compiled import entry, inlined
from dynenvs.memory.layout import Floats, Ints, Matrix, Records, WorkView, WorldView, open_lcp
from dynenvs.memory.records import BLOCK, ELIMINATED, POLYGON, UNKNOWN

# Coupling over the normal one, up to which an impulse along a direction does nothing
NIL = 1e-14
WORDS = 42  # of `Scratch.laws` for each block
STRIPS = 12  # of `Scratch.strips`
NO_MATRIX = np.zeros((0, 0))


class ContactProblem(NamedTuple):
    """Contacts and limits as rows: velocities u = G p + bias, and the law of each block."""

    polygon: Annotated[
        Records, POLYGON
    ]  # the base of the friction pyramids; exact cones do not look at it
    blocks: Annotated[
        Records, BLOCK
    ]  # rows, friction and compression impulse of each, its mode, and its slip
    n: int  # how many blocks there are
    G: Matrix  # Delassus matrix J M^-1 J^T [1/kg], shape (>= rows, >= rows)
    bias: Floats  # velocities without impulses [m/s]
    rows: int
    scale: float  # the certificate's velocity scale [m/s]
    freedoms: int = 0  # G = Y^T D^-1 Y, with so many entries of D; 0 where that is not known
    Y: Matrix = NO_MATRIX  # shape (>= freedoms, >= rows)
    L: Matrix = NO_MATRIX  # D^-1 on its diagonal, shape (>= freedoms, >= freedoms)


class ContactAnswer(NamedTuple):
    """Impulses of the rows, the velocities that they give, and which solvers found them."""

    p: Floats  # [N s]
    u: Floats  # G p + bias [m/s]
    called: Ints  # how often each solver stage was, shape (STAGES,)
    solved: Ints  # how often it found the answer


class Scratch(NamedTuple):
    """Working memory of the solvers."""

    vectors: Matrix  # shape (>= 10, >= the LCP's variables)
    laws: Floats  # shape (WORDS n,)
    unknowns: Annotated[Records, UNKNOWN]  # shape (>= rows,)
    eliminated: Annotated[Records, ELIMINATED]  # shape (>= n,)
    K: Matrix  # shape (>= rows, >= rows)
    order: Ints  # shape (>= rows,)
    right: Floats  # shape (>= rows,)
    x: Floats  # shape (>= rows,)
    roots: Matrix  # A with G = A^T A (`dynenvs.contact.solvers.roots`), shape (>= rank, >= rows)
    strips: Matrix  # some columns of A, shape (STRIPS, >= rank)


@inlined
def open_problem(
    w: WorkView, polygon: Records, count: int, rows: int, scale: float
) -> ContactProblem:
    """The problem that stands in a workspace: its first `count` blocks and their rows."""
    freedoms = w.header[0].nv if w.answer[0].rooted != 0 else 0
    return ContactProblem(
        polygon, w.blocks, count, w.G, w.bias_row, rows, scale, freedoms, w.Y, w.L
    )


@inlined
def open_answer(w: WorldView) -> ContactAnswer:
    """Where a world's answer goes."""
    return ContactAnswer(w.impulse_row, w.v_row, w.status[0].called, w.status[0].solved)


@inlined
def open_scratch(w: WorkView) -> Scratch:
    """What solvers work in, within the workspace."""
    lcp = open_lcp(w)
    return Scratch(
        lcp.vectors, w.laws, w.unknowns, w.eliminated, w.A, w.active, w.b, w.z, w.roots, w.strips
    )


@inlined
def row_velocities(problem: ContactProblem, p: Floats, u: Floats) -> None:
    """u = G p + bias [m/s], row by row of the symmetric G."""
    for r in range(problem.rows):
        u[r] = problem.bias[r]
    for r in range(problem.rows):
        impulse = p[r]
        if impulse != 0.0:
            for c in range(problem.rows):
                u[c] += impulse * problem.G[r, c]


@inlined
def least_speed(header: Records, dt: float) -> float:
    """The least velocity scale of the certificate, g dt [m/s]."""
    g = header[0].gravity
    return dt * math.sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2])


@entry
@inlined
def velocity_scale(
    polygon: Annotated[Records, POLYGON],
    blocks: Annotated[Records, BLOCK],
    count: int,
    G: Matrix,
    bias: Floats,
    floor: float,
) -> float:
    """The certificate's velocity scale: largest right-hand side of an LCP variable, or `floor`."""
    scale = floor
    for i in range(count):
        block = blocks[i]
        r, t = block.row, block.row + 1
        if not G[r, r] > 0.0:
            continue
        # Approach, then turns, then the slip along each direction of friction
        scale = max(scale, abs(bias[r]))
        for k in range(t + block.tangents, t + block.tangents + block.moments):
            scale = max(scale, abs(bias[k]))
        if block.tangents == 1:
            if G[t, t] > NIL * G[r, r]:
                scale = max(scale, abs(bias[t]))
        elif block.tangents == 2:
            for d in range(polygon[0].directions // 2):  # the others are their exact opposites
                along = polygon[0].cosines[d] * bias[t] + polygon[0].sines[d] * bias[t + 1]
                scale = max(scale, abs(along))
    return scale if scale > 0.0 else 1.0
