"""Projected Gauss-Seidel sweeps over contacts: modes to start from where Newton's method cycles.

Source: Jourdan, Alart, Jean, A Gauss-Seidel like algorithm to solve frictional contact problems
(1998).  One contact after the other takes the impulse that would be its own if the others kept
theirs, normal first, then the point of its friction polygon nearest to the one that stops it.  A
few sweeps are cheap and come near; Newton's method on the modes that they end in is exact.
"""

from __future__ import annotations

from typing import Any

from dynenvs.contact.assembly.problem import ContactAnswer, ContactProblem
from dynenvs.contact.law.dry import within
from dynenvs.contact.solvers.modes import OPEN, SLIP, STICK, nearest, nearest_mode
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.memory.layout import Floats, Records


@kernel
def relax(problem: ContactProblem, answer: ContactAnswer, sweeps: int) -> None:
    """Sweep over the blocks from impulses p with velocities u; updates both, and the modes."""
    polygon, G, rows, p, u = problem.polygon, problem.G, problem.rows, answer.p, answer.u
    for _ in range(sweeps):
        for i in range(problem.n):
            block = problem.blocks[i]
            r = block.row
            g = G[r, r]
            if not g > 0.0:
                continue  # nothing moves here
            if block.dry != 0:
                block.mode, _, _ = nearest_mode(polygon, block, G, p, u)
                _move(G, rows, r, within(block.compression, p[r] - u[r] / g), p, u)
                continue
            # Open and opening: nothing to do, and friction has none either
            if p[r] == 0.0 and u[r] >= 0.0:
                block.mode = OPEN
                continue
            # The normal impulse, then friction within its bound
            normal = max(0.0, p[r] - u[r] / g)
            _move(G, rows, r, normal, p, u)
            block.mode = STICK if normal > 0.0 else OPEN
            if block.tangents == 1:
                _relax_line(block, G, rows, p, u)
            elif block.tangents == 2:
                _relax_polygon(polygon, block, G, rows, p, u)


@inlined
def _move(
    G: Floats, rows: int, row: int, impulse: float, impulses: Floats, velocities: Floats
) -> None:
    """Give `row` this impulse."""
    change = impulse - impulses[row]
    impulses[row] = impulse
    if change != 0.0:
        for c in range(rows):
            velocities[c] += change * G[row, c]


@inlined
def _relax_line(block: Any, G: Floats, rows: int, impulses: Floats, velocities: Floats) -> None:
    t = block.row + 1
    bound = block.friction * impulses[block.row]
    g = G[t, t] if G[t, t] > 0.0 else G[t - 1, t - 1]
    x = impulses[t] - velocities[t] / g
    if block.mode != OPEN and abs(x) > bound:
        block.mode = SLIP if x > 0.0 else SLIP + 1
    _move(G, rows, t, min(max(x, -bound), bound), impulses, velocities)


@inlined
def _relax_polygon(
    polygon: Records, block: Any, G: Floats, rows: int, impulses: Floats, velocities: Floats
) -> None:
    t = block.row + 1
    x, y = 0.0, 0.0
    if block.mode != OPEN:
        g = max(G[t, t], G[t + 1, t + 1])
        if not g > 0.0:
            g = G[t - 1, t - 1]
        bound = block.friction * impulses[block.row]
        block.mode, x, y = nearest(
            polygon, bound, impulses[t] - velocities[t] / g, impulses[t + 1] - velocities[t + 1] / g
        )
    # Both at once: one pass along the rows
    along, across = x - impulses[t], y - impulses[t + 1]
    impulses[t], impulses[t + 1] = x, y
    if along != 0.0 or across != 0.0:
        for c in range(rows):
            velocities[c] += along * G[t, c] + across * G[t + 1, c]
