"""Newton's method on contact modes: the main solver of the contact problem.

The contact LCP is piecewise linear: once it is known which contacts are open, stick or slip, and
which way, what remains is one small linear system in the impulses that the modes leave free.
Solve it, let every contact whose inequalities fail take the mode of its projection on the cone,
and repeat: a semismooth Newton method (Alart and Curnier 1991; physics.md, section 4,
formulation), started from the modes of the last step.  Often the first guess is right: where whole
soles stick by it, it is tried in few unknowns (`soles.py`).

Redundant contacts (heel and toe, the corners of a sole) make the system singular.  A proximal
diagonal of 1e-9 makes it regular, and iterative refinement takes its effect out again: the
impulses of least norm among those that give the same motion come out.  An answer counts if the
LCP's own certificate says so.  Where the method cycles, or the impulses of least norm fit no cone
while others would, it goes on from the modes and impulses that a few sweeps of Gauss-Seidel
(`relax.py`) end in, or at last from those of the central path (`central_path.py`); where that does
not help, the caller has the cascade.
"""

from __future__ import annotations

import math

from dynenvs.compiled import inlined, kernel, merged
from dynenvs.contact.impulses import row_velocities
from dynenvs.contact.modes import NIL, OPEN, SLACK, certify_block, list_unknowns, update_modes
from dynenvs.contact.relax import relax
from dynenvs.contact.soles import any_sole, hold_soles
from dynenvs.layout import Floats, Ints, Records
from dynenvs.lcp.dense import (
    factorise,
    factorise_symmetric,
    substitute,
    substitute_symmetric,
)
from dynenvs.lcp.solve import WARM_RESIDUAL

HOLDS = 2  # tries of soles as wholes: one that would be pulled down parts
SWEEPS = 4  # of mode changes from the last modes
ROUNDS = 3  # of Gauss-Seidel where that does not settle, each with twice the sweeps of the last ...
PLANAR_ROUNDS = 1  # the cascade is quick there
RELAXATIONS = 12  # ... and the first with these
TRIES = 2  # sweeps of mode changes after each
REFINEMENTS = 4
PROXIMAL = 1e-9  # relative to the diagonal of G
COARSE = 1e-6  # by which an inequality must fail after one solve, in the certificate's units
EXACT = 3e-14  # defect of the equations, in the certificate's units, that needs no refinement


@kernel
def newton(
    polygon: Records,
    blocks: Records,
    n: int,
    G: Floats,
    bias: Floats,
    rows: int,
    scale: float,
    mixed: bool,
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
    G, bias: shapes (rows, rows), (rows,) or larger; scale: see `velocity_scale` [m/s]
    mixed: the modes to start from are not worth a try: start with Gauss-Seidel
    unknowns, K, order, right, x: scratch
    Returns (natural residual of the LCP, infinite if the modes did not settle; sweeps).
    """
    residual, sweeps, relaxations = math.inf, 0, RELAXATIONS
    # Of a walk's guesses nearly all are right; this one costs a fraction of what follows
    soles = any_sole(blocks, n)  # without, not even the call is worth its time
    while (
        soles
        and sweeps < HOLDS
        and hold_soles(polygon, blocks, n, G, bias, rows, EXACT * scale, K, right, x, p, u)
    ):
        sweeps += 1
        if update_modes(polygon, blocks, n, G, SLACK * scale, p, u) == 0:
            residual = _certify(polygon, blocks, n, G, bias, rows, scale, p, u)
            break
    if not mixed and not residual <= WARM_RESIDUAL:
        residual, sweeps = settle(
            polygon, blocks, n, G, bias, rows, scale, SWEEPS, False, unknowns, K, order, right, x,
            p, u,
        )  # fmt: skip
    for attempt in range(ROUNDS if polygon[0].directions > 2 else PLANAR_ROUNDS):
        if residual <= WARM_RESIDUAL:
            break
        if attempt == 0:
            for r in range(rows):
                p[r], u[r] = 0.0, bias[r]
        relax(polygon, blocks, n, G, rows, relaxations, p, u)
        relaxations *= 2
        residual, used = settle(
            polygon, blocks, n, G, bias, rows, scale, TRIES, True, unknowns, K, order, right, x,
            p, u,
        )  # fmt: skip
        sweeps += used
    return residual, sweeps


@kernel
def settle(
    polygon: Records,
    blocks: Records,
    n: int,
    G: Floats,
    bias: Floats,
    rows: int,
    scale: float,
    most: int,
    near: bool,
    unknowns: Records,
    K: Floats,
    order: Ints,
    right: Floats,
    x: Floats,
    p: Floats,
    u: Floats,
) -> tuple[float, int]:
    """Change modes until they hold, `most` times at most; arguments and answer as of `newton`.

    near: p is near to an answer and suits the modes: the first impulses are to be near to it, not
        of least norm.
    """
    for sweep in range(1, most + 1):
        k, symmetric = list_unknowns(polygon, blocks, n, unknowns)
        if not _factorise(unknowns, k, symmetric, G, rows, x, order, K):
            return math.inf, sweep
        for r in range(rows):
            p[r] = p[r] if near and sweep == 1 else 0.0
        row_velocities(G, bias, rows, p, u)
        solves = 0
        settled = False
        # Modes that are far from right show after one solve; the others are judged by exact values
        for least, slack in ((1, COARSE), (REFINEMENTS, SLACK)):
            while solves < least and _defect(unknowns, k, u, right) > EXACT * scale:
                if symmetric:
                    substitute_symmetric(K, k, right, x)
                else:
                    substitute(K, k, order, right, x)
                _add_impulses(unknowns, k, x, p)
                row_velocities(G, bias, rows, p, u)
                solves += 1
            settled = update_modes(polygon, blocks, n, G, slack * scale, p, u) == 0
            if not settled:
                break
        if settled:
            return _certify(polygon, blocks, n, G, bias, rows, scale, p, u), sweep
    return math.inf, most


@inlined
def velocity_scale(
    polygon: Records, blocks: Records, n: int, G: Floats, bias: Floats, floor: float
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
            if G[t, t] > NIL * G[r, r]:
                scale = max(scale, abs(bias[t]))
        elif block.tangents == 2:
            for d in range(polygon[0].directions // 2):  # the others are their exact opposites
                along = polygon[0].cosines[d] * bias[t] + polygon[0].sines[d] * bias[t + 1]
                scale = max(scale, abs(along))
    return scale if scale > 0.0 else 1.0


@inlined
def _factorise(
    unknowns: Records,
    k: int,
    symmetric: bool,
    G: Floats,
    rows: int,
    effects: Floats,
    order: Ints,
    K: Floats,
) -> bool:
    """Factors of the system of the unknowns, in K; returns whether it has one solution."""
    if symmetric:
        _gather_symmetric(unknowns, k, G, order, K)
        factorise_symmetric(K, k)
        return True
    _gather(unknowns, k, G, rows, effects, K)
    return factorise(K, k, order) > 0.0


@merged
def _gather(unknowns: Records, k: int, G: Floats, rows: int, effects: Floats, K: Floats) -> None:
    """K, transposed: the equations' velocities for a unit of each unknown, and the proximal part.

    effects: scratch of shape (rows,), the rows' velocities for a unit of one unknown
    """
    for b in range(k):
        unknown = unknowns[b]
        r, c, s = unknown.column, unknown.c, unknown.s
        for i in range(rows):
            effects[i] = G[r, i]
        if c != 0.0:
            for i in range(rows):
                effects[i] += c * G[r + 1, i]
        if s != 0.0:
            for i in range(rows):
                effects[i] += s * G[r + 2, i]
        for a in range(k):
            equation = unknowns[a]
            e = equation.equation
            K[b, a] = effects[e]
            if equation.combined:
                K[b, a] = equation.ec * effects[e] + equation.es * effects[e + 1]
        K[b, b] += PROXIMAL * G[r, r]


@merged
def _gather_symmetric(unknowns: Records, k: int, G: Floats, columns: Ints, K: Floats) -> None:
    """The same where nothing slips: the upper triangle of rows and columns of G."""
    for a in range(k):
        columns[a] = unknowns[a].column
    for a in range(k):
        own = columns[a]
        for b in range(a, k):
            K[a, b] = G[own, columns[b]]
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


@kernel
def _certify(
    polygon: Records,
    blocks: Records,
    n: int,
    G: Floats,
    bias: Floats,
    rows: int,
    scale: float,
    p: Floats,
    u: Floats,
) -> float:
    """Natural residual of the whole problem, once no contact pulls; infinite for NaN."""
    if _clip(blocks, n, p):
        row_velocities(G, bias, rows, p, u)
    worst = 0.0
    for i in range(n):
        block = blocks[i]
        residual = certify_block(polygon, block, G, scale, p, u)
        if not residual <= worst:
            worst = residual
        if block.mode == OPEN:
            block.slip = 0.0
    return worst if worst < math.inf else math.inf
