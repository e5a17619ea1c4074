"""The contact problem written out as an LCP, and solved by Lemke's method (Stewart-Trinkle, Tan).

For each contact the normal impulse, one impulse for each friction direction and the slip bound
sigma, all made of the rows' Delassus matrix and right-hand sides:

    w_n = N^T v+ + gap/dt,   w_d = B^T v+ + E sigma,   w_sigma = mu (p_n + r) - E^T p_d,

with a compression impulse r in the second half of an impact by Poisson's law, else none.  A
dry joint has one direction, z = p + b from its lower bound on, and w_sigma = 2 b - z.
This is the reference; most problems are solved by Newton's method on modes and certified in the
same units (`pyramid_law.py`).  Sources: docs/theory.md, Friction pyramid, and docs/theory.md, The
LCP.
"""

from __future__ import annotations

from typing import Annotated, Any

from dynenvs.contact.assembly.problem import (
    NIL,
    ContactAnswer,
    ContactProblem,
    Scratch,
    open_answer,
    open_problem,
    open_scratch,
    row_velocities,
)
from dynenvs.contact.law.dry import within
from dynenvs.contact.solvers.modes import OPEN, nearest_mode
from dynenvs.contact.solvers.pyramid_law import certify_pyramids
from dynenvs.jit.compiled import entry, inlined, kernel, unit
from dynenvs.lcp.solve import solve_by_lemke
from dynenvs.lcp.workspace import Workspace, integer
from dynenvs.memory.layout import Floats, Records, WorldView, open_lcp, polygon_of
from dynenvs.memory.records import DIRECTION, NORMAL, SLACK, VARIABLE


@unit("seldom", seconds=13)
def solve_lcp_of_rows(w: WorldView, count: int, rows: int, scale: float) -> int:
    """Solve the LCP of a workspace's first `count` blocks; returns the status.

    scale: the certificate's velocity scale [m/s]
    Writes impulses and velocities of the rows, the blocks' modes and slips, and to `w.answer`.
    """
    problem = open_problem(w, polygon_of(w), count, rows, scale)
    report, work = w.answer[0], open_lcp(w)
    answer, scratch = open_answer(w), open_scratch(w)
    status, report.residual, pivots = pivot(problem, answer, scratch, w.variables, work)
    report.pivots += pivots
    return int(status)


@entry
def pivot(
    problem: ContactProblem,
    answer: ContactAnswer,
    scratch: Scratch,
    variables: Annotated[Records, VARIABLE],
    work: Workspace,
) -> tuple[int, float, int]:
    """Write the LCP out and solve it by Lemke's method.

    scratch: its K, order, right and x with room for all variables; variables: VARIABLE, likewise
    Returns (CERTIFIED, DEGRADED or FAILED; natural residual; pivots).
    """
    A, b, z, active = scratch.K, scratch.right, scratch.x, scratch.order
    n = list_variables(problem, variables)
    fill(problem, variables, n, A, b)
    status, residual, pivots = solve_by_lemke(A, b, n, problem.scale, active, z, work)
    _collect(problem, answer, variables, n, z)
    return status, residual, pivots


@kernel
def list_variables(problem: ContactProblem, variables: Records) -> int:
    """List the LCP's variables of all blocks; returns their number."""
    n = integer(0)
    for i in range(problem.n):
        n = _list_block(problem, i, variables, n)
    return n


@inlined
def _list_block(problem: ContactProblem, index: int, variables: Records, count: int) -> int:
    """Variables of a block after `count` others, but for those that nothing moves (A_kk = 0)."""
    h, block, G = problem.polygon[0], problem.blocks[index], problem.G
    if not G[block.row, block.row] > 0.0:
        return count
    # A dry joint: how far it is above its lower bound, and the slack to the upper one
    if block.dry != 0:
        count = _add(variables, count, DIRECTION, index, block.row, 1.0, 0.0)
        return _add(variables, count, SLACK, index, 0, 0.0, 0.0)
    count = _add(variables, count, NORMAL, index, block.row, 1.0, 0.0)
    slack = False
    # Directions along which no impulse moves anything have no variable
    for k in range(h.directions if block.tangents > 0 else 0):
        t = block.row + 1
        c, s = h.cosines[k], h.sines[k]
        self_coupling = c * c * G[t, t]
        if s != 0.0:
            self_coupling += 2 * c * s * G[t, t + 1] + s * s * G[t + 1, t + 1]
        if self_coupling > NIL * G[block.row, block.row]:
            count = _add(variables, count, DIRECTION, index, t, c, s)
            slack = True
    return _add(variables, count, SLACK, index, 0, 0.0, 0.0) if slack else count


@inlined
def _add(
    variables: Records, count: int, kind: int, block: int, row: int, cosine: float, sine: float
) -> int:
    variable = variables[count]
    variable.kind, variable.block, variable.row = kind, block, row
    variable.c, variable.s = cosine, sine
    return count + 1


@kernel
def fill(problem: ContactProblem, variables: Records, count: int, A: Floats, b: Floats) -> None:
    """A and b of the LCP from the rows' Delassus matrix and right-hand sides."""
    blocks, G, bias = problem.blocks, problem.G, problem.bias
    for i in range(count):
        row = variables[i]
        # What compression impulses add to the friction bound; the rest of it stands in A
        if row.kind == SLACK:
            block = blocks[row.block]
            b[i] = block.compression * (2.0 if block.dry != 0 else block.friction)
        # Velocity along the row's direction, while dry joints push with their lower bounds
        else:
            b[i] = row.c * bias[row.row]
            if row.s != 0.0:
                b[i] += row.s * bias[row.row + 1]
            b[i] -= _pull_of_bounds(row, problem)
        for j in range(count):
            A[i, j] = _entry(row, variables[j], blocks, G)


@inlined
def _pull_of_bounds(row: Any, problem: ContactProblem) -> float:
    """Velocity of a variable's row by the bounds from which dry joints' impulses are counted."""
    total, G = 0.0, problem.G
    for i in range(problem.n):
        block = problem.blocks[i]
        if block.dry != 0 and G[block.row, block.row] > 0.0:
            total += row.c * G[row.row, block.row] * block.compression
            if row.s != 0.0:
                total += row.s * G[row.row + 1, block.row] * block.compression
    return total


@inlined
def _entry(first: Any, second: Any, blocks: Records, G: Floats) -> float:
    """A_ij of two variables."""
    # A slack meets its own block's variables alone
    if first.kind == SLACK or second.kind == SLACK:
        if first.kind == second.kind or first.block != second.block:
            return 0.0
        if second.kind == SLACK:
            return 1.0 if first.kind == DIRECTION else 0.0
        return blocks[first.block].friction if second.kind == NORMAL else -1.0
    # d_i^T G d_j over the one or two rows of either direction
    r, c = first.row, second.row
    value = first.c * second.c * G[r, c]
    if first.s != 0.0:
        value += first.s * second.c * G[r + 1, c]
    if second.s != 0.0:
        value += first.c * second.s * G[r, c + 1]
        if first.s != 0.0:
            value += first.s * second.s * G[r + 1, c + 1]
    return float(value)


@inlined
def _collect(
    problem: ContactProblem, answer: ContactAnswer, variables: Records, count: int, z: Floats
) -> None:
    """Impulses of the rows from the LCP's variables, their velocities, and the blocks' modes."""
    p, u = answer.p, answer.u
    for r in range(problem.rows):
        p[r] = 0.0
    # A dry joint's variable counts from its lower bound
    for i in range(problem.n):
        block = problem.blocks[i]
        if block.dry != 0 and problem.G[block.row, block.row] > 0.0:
            p[block.row] = -block.compression
    for k in range(count):
        variable = variables[k]
        if variable.kind != SLACK:
            impulse = max(z[k], 0.0)  # rounding may have left a trace of a pull
            p[variable.row] += variable.c * impulse
            if variable.s != 0.0:
                p[variable.row + 1] += variable.s * impulse
    row_velocities(problem, p, u)
    choose_modes(problem, answer)
    certify_pyramids(problem, answer)


@entry
def choose_modes(problem: ContactProblem, answer: ContactAnswer) -> None:
    """Modes of all blocks that suit impulses p and their velocities u."""
    p, u = answer.p, answer.u
    for i in range(problem.n):
        block = problem.blocks[i]
        g = problem.G[block.row, block.row]
        block.mode = OPEN
        if block.dry != 0:
            p[block.row] = within(block.compression, p[block.row])  # rounding
        # Pressed, or held: its impulse, as a velocity, is the larger one of the pair
        if (block.dry != 0 and g > 0.0) or p[block.row] * g > u[block.row]:
            block.mode, _, _ = nearest_mode(problem.polygon, block, problem.G, p, u)
