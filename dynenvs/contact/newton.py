"""Newton's method on contact modes: the main solver of the contact problem.

The contact LCP is piecewise linear: once it is known which contacts are open, stick or slip, and
which way, what remains is one small linear system in the impulses that the modes leave free.
Solve it, let every contact whose inequalities fail take the mode of its projection on the cone,
and repeat: a semismooth Newton method (Alart and Curnier 1991; physics.md, section 4,
formulation), started from the modes of the last step.  Often the first guess is right.

Redundant contacts (heel and toe, the corners of a sole) make the system singular.  A proximal
diagonal of 1e-9 makes it regular, and iterative refinement takes its effect out again: the
impulses of least norm among those that give the same motion come out.  An answer counts if the
LCP's own certificate says so; where the method cycles, the caller has the cascade.
"""

from __future__ import annotations

import math

from dynenvs.compiled import inlined, kernel, merged
from dynenvs.contact.modes import OPEN, certify_block, list_unknowns, update_modes
from dynenvs.layout import Floats, Ints, Records
from dynenvs.lcp.dense import (
    factorise,
    factorise_symmetric,
    substitute,
    substitute_symmetric,
)

SWEEPS = 8  # of mode changes from the last modes, and as many from all open
REFINEMENTS = 4
PROXIMAL = 1e-9  # relative to the diagonal of G
EXACT = 3e-15  # defect of the equations, in the certificate's units, that needs no refinement


@kernel
def newton(
    header: Records,
    blocks: Records,
    n: int,
    G: Floats,
    bias: Floats,
    rows: int,
    floor: float,
    unknowns: Records,
    K: Floats,
    order: Ints,
    right: Floats,
    x: Floats,
    p: Floats,
    u: Floats,
) -> tuple[float, int]:
    """Impulses `p` and velocities `u` = G p + bias of all rows, shape (rows,).

    blocks: modes to start from, receives those of the answer and its slips; n: their number
    G, bias: shapes (rows, rows), (rows,) or larger; floor: least velocity scale [m/s]
    unknowns, K, order, right, x: scratch
    Returns (natural residual of the LCP, infinite if the modes did not settle; sweeps).
    """
    scale = _velocity_scale(header, blocks, n, G, bias, floor)
    for sweep in range(1, 2 * SWEEPS + 1):
        if sweep == SWEEPS + 1:  # it cycles: once more from the other end
            for i in range(n):
                blocks[i].mode = OPEN
        k, symmetric = list_unknowns(header, blocks, n, unknowns)
        if symmetric:
            _gather_symmetric(unknowns, k, G, K)
            factorise_symmetric(K, k)
        else:
            _gather(unknowns, k, G, K)
            if not factorise(K, k, order) > 0.0:
                return math.inf, sweep
        for r in range(rows):
            p[r] = 0.0
            u[r] = bias[r]
        for _ in range(REFINEMENTS if k > 0 else 0):
            if not _defect(unknowns, k, u, right) > EXACT * scale:
                break
            if symmetric:
                substitute_symmetric(K, k, right, x)
            else:
                substitute(K, k, order, right, x)
            _add_impulses(unknowns, k, x, p)
            _velocities(G, bias, rows, p, u)
        if update_modes(header, blocks, n, G, scale, p, u) == 0:
            if _clip(blocks, n, p):
                _velocities(G, bias, rows, p, u)
            return _certify(header, blocks, n, G, scale, p, u), sweep
    return math.inf, 2 * SWEEPS


@merged
def _velocity_scale(
    header: Records, blocks: Records, n: int, G: Floats, bias: Floats, floor: float
) -> float:
    """The certificate's velocity scale: largest right-hand side of an LCP variable, or `floor`."""
    scale = floor
    for i in range(n):
        block = blocks[i]
        r, t = block.row, block.row + 1
        if not G[r, r] > 0.0:
            continue
        scale = max(scale, abs(bias[r]))
        if block.tangents == 1:
            if G[t, t] > 1e-14 * G[r, r]:
                scale = max(scale, abs(bias[t]))
        elif block.tangents == 2:
            for d in range(header[0].directions):
                along = header[0].cosines[d] * bias[t] + header[0].sines[d] * bias[t + 1]
                scale = max(scale, abs(along))
    return scale if scale > 0.0 else 1.0


@merged
def _gather(unknowns: Records, k: int, G: Floats, K: Floats) -> None:
    """K: the equations' velocities for a unit of each unknown, and the proximal diagonal."""
    for a in range(k):
        equation = unknowns[a]
        e, combined = equation.equation, equation.combined
        for b in range(k):
            unknown = unknowns[b]
            column = unknown.column
            value = G[e, column]
            if combined:
                value = equation.ec * value + equation.es * G[e + 1, column]
            for part in range(2):
                factor = unknown.c if part == 0 else unknown.s
                if factor != 0.0:
                    entry = G[e, column + 1 + part]
                    if combined:
                        entry = equation.ec * entry + equation.es * G[e + 1, column + 1 + part]
                    value += factor * entry
            K[a, b] = value
        own = unknowns[a].column
        K[a, a] += PROXIMAL * G[own, own]


@merged
def _gather_symmetric(unknowns: Records, k: int, G: Floats, K: Floats) -> None:
    """The same where nothing slips: the upper triangle of rows and columns of G."""
    for a in range(k):
        own = unknowns[a].column
        for b in range(a, k):
            K[a, b] = G[own, unknowns[b].column]
        K[a, a] += PROXIMAL * K[a, a]


@merged
def _defect(unknowns: Records, k: int, u: Floats, right: Floats) -> float:
    """right = -(velocities that must vanish); returns the largest."""
    worst = 0.0
    for a in range(k):
        equation = unknowns[a]
        value = u[equation.equation]
        if equation.combined:
            value = equation.ec * value + equation.es * u[equation.equation + 1]
        right[a] = -value
        worst = max(worst, abs(value))
    return worst


@merged
def _add_impulses(unknowns: Records, k: int, x: Floats, p: Floats) -> None:
    for a in range(k):
        unknown = unknowns[a]
        r = unknown.column
        p[r] += x[a]
        if unknown.c != 0.0:
            p[r + 1] += unknown.c * x[a]
        if unknown.s != 0.0:
            p[r + 2] += unknown.s * x[a]


@merged
def _velocities(G: Floats, bias: Floats, rows: int, p: Floats, u: Floats) -> None:
    """u = G p + bias, row by row of the symmetric G."""
    for r in range(rows):
        u[r] = bias[r]
    for r in range(rows):
        impulse = p[r]
        if impulse != 0.0:
            for c in range(rows):
                u[c] += impulse * G[r, c]


@inlined
def _clip(blocks: Records, n: int, p: Floats) -> bool:
    """No contact pulls, not even by roundoff; returns whether any did."""
    clipped = False
    for i in range(n):
        r = blocks[i].row
        if p[r] < 0.0:
            clipped = True
            for k in range(r, r + 1 + blocks[i].tangents):
                p[k] = 0.0
    return clipped


@merged
def _certify(
    header: Records, blocks: Records, n: int, G: Floats, scale: float, p: Floats, u: Floats
) -> float:
    """Natural residual of the whole problem; infinite for NaN."""
    worst = 0.0
    for i in range(n):
        block = blocks[i]
        residual = certify_block(header, block, G, scale, p, u)
        if not residual <= worst:
            worst = residual
        if block.mode == OPEN:
            block.slip = 0.0
    return worst if worst < math.inf else math.inf
