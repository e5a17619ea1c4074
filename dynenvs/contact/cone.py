"""The exact friction cone: Coulomb's law with De Saxce's correction, by a semismooth Newton method.

    K* contains (u_n + mu |u_t|, u_t),  perpendicular to  (p_n, p_t) in K,   K: |p_t| <= mu p_n

is Coulomb's law on the quadratic cone; without the correction mu |u_t| (the convex relaxation) a
sliding body would lift.  The pyramid's answer comes first: where nothing slips it is this one too,
for the pyramid lies within the cone.  Elsewhere Newton's method on Alart and Curnier's function
starts from no impulses: of many ways to share a load it comes to the same one whatever the heading,
which the pyramid's answer would not.  Where it does not settle, it starts again from the impulses
of some sweeps of projected Gauss-Seidel, and at last of damped ones, which do not cycle where
friction is high.

In the second half of an impact by Poisson's law a contact has a normal impulse r in reserve, the
share e of its compression.  What complements u_n >= 0 is only the impulse p_n on top of that, while
friction is bounded by all of it: K is cut off there,

    K_r: |p_t| <= mu (p_n + r),  p_n >= 0,        -(u_n + mu |u_t|, u_t) in the normal cone of K_r,

and De Saxce's correction says the same as before: on the rim of the flat face, p_n = 0 and
|p_t| = mu r, the normal cone is spanned by (-1, 0) and (-mu, p_t / |p_t|), so that u_t opposes p_t
and u_n >= 0; within the face nothing slips.  Without reserves K_r is K.

Sources: De Saxce and Feng, The bipotential method (1998); Alart and Curnier, A mixed formulation
for frictional contact problems prone to Newton like solution methods (1991); Acary, Cadoux,
Lemarechal and Malick, A formulation of the linear discrete Coulomb friction problem via convex
optimization (2011).
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.compiled import inlined, kernel
from dynenvs.contact.impulses import row_velocities
from dynenvs.contact.modes import OPEN, SLIP, STICK
from dynenvs.layout import Floats, Ints, Records
from dynenvs.lcp.dense import factorise, substitute
from dynenvs.lcp.solve import CERTIFIED_RESIDUAL

ITERATIONS = 20  # of Newton's method from one start
ROUNDS = 8  # of Gauss-Seidel where it does not settle, each with twice the sweeps of the last ...
SWEEPS = 25  # ... and the first with these
RELAXATIONS = 1.0, 0.5, 0.1  # part of each change that is made: less where high friction cycles
PROXIMAL = 1e-9  # relative to the diagonal of G: redundant contacts
EXACT = 1e-13  # residual, in the certificate's units, below which nothing is left to gain
GAIN = 0.5  # a certified answer is refined as long as each iteration gains this much


@kernel
def solve_cones(
    blocks: Records,
    n: int,
    G: Floats,
    bias: Floats,
    rows: int,
    scale: float,
    best: Floats,
    K: Floats,
    order: Ints,
    right: Floats,
    x: Floats,
    p: Floats,
    u: Floats,
) -> tuple[float, int]:
    """Impulses `p` and velocities `u` = G p + bias of all rows on the exact cones.

    blocks: the contacts and limits, receive their modes and slips; n: their number
    p: impulses that may be the answer already, shape (rows,)
    scale: the certificate's velocity scale [m/s]
    best, K, order, right, x: scratch
    Returns (natural residual, iterations of Newton's method).
    """
    row_velocities(G, bias, rows, p, u)
    residual = certify_cones(blocks, n, G, scale, p, u)
    if residual <= EXACT:
        return residual, 0
    for r in range(rows):
        p[r] = 0.0
    residual, iterations = _descend(blocks, n, G, bias, rows, scale, best, K, order, right, x, p, u)
    sweeps = SWEEPS
    for attempt in range(ROUNDS * len(RELAXATIONS)):
        if residual <= CERTIFIED_RESIDUAL:
            break
        if attempt % ROUNDS == 0:
            sweeps = SWEEPS
            for r in range(rows):
                p[r] = 0.0
        row_velocities(G, bias, rows, p, u)
        for _ in range(sweeps):
            _sweep(blocks, n, G, rows, RELAXATIONS[attempt // ROUNDS], p, u)
        sweeps *= 2
        residual, used = _descend(blocks, n, G, bias, rows, scale, best, K, order, right, x, p, u)
        iterations += used
    return residual, iterations


@kernel
def _descend(
    blocks: Records,
    n: int,
    G: Floats,
    bias: Floats,
    rows: int,
    scale: float,
    best: Floats,
    K: Floats,
    order: Ints,
    right: Floats,
    x: Floats,
    p: Floats,
    u: Floats,
) -> tuple[float, int]:
    """Newton's method from p; p and u end as the best that was met.  Answer as of `solve_cones`."""
    least = math.inf
    used = 0
    for iteration in range(ITERATIONS + 1):
        row_velocities(G, bias, rows, p, u)
        residual = certify_cones(blocks, n, G, scale, p, u)
        enough = least <= CERTIFIED_RESIDUAL and not residual < GAIN * least
        if residual < least:
            least = residual
            for r in range(rows):
                best[r] = p[r]
        if least <= EXACT or enough or iteration == ITERATIONS:
            break
        _linearise(blocks, n, G, bias, rows, K, right, p, u)
        if not factorise(K, rows, order) > 0.0:
            break
        substitute(K, rows, order, right, x)
        for r in range(rows):
            p[r] += x[r]
        used += 1
    for r in range(rows):
        p[r] = best[r] if least < math.inf else 0.0
    _clip(blocks, n, p)
    row_velocities(G, bias, rows, p, u)
    return certify_cones(blocks, n, G, scale, p, u), used


@inlined
def _yielding(block: Any, G: Floats) -> float:
    """Scale of a contact's tangential rows: what they yield, or, if nothing, its normal row."""
    t = block.row + 1
    g = G[t, t] if block.tangents == 1 else max(G[t, t], G[t + 1, t + 1])
    return g if g > 0.0 else float(G[t - 1, t - 1])


@kernel
def _linearise(
    blocks: Records,
    n: int,
    G: Floats,
    bias: Floats,
    rows: int,
    K: Floats,
    right: Floats,
    p: Floats,
    u: Floats,
) -> None:
    """K, transposed, and the right-hand side of Newton's equations for the change of p.

    A contact that lifts loses its impulse at once.  All equations are velocities.
    """
    for i in range(n):
        block = blocks[i]
        r = block.row
        g = G[r, r]
        block.mode = STICK
        if not (g > 0.0 and p[r] - u[r] / g > 0.0):
            block.mode = OPEN
            for k in range(r, r + 1 + (block.tangents if block.reserve == 0.0 else 0)):
                p[k] = 0.0
    row_velocities(G, bias, rows, p, u)
    for a in range(rows):
        for b in range(rows):
            K[b, a] = G[a, b]
        right[a] = -u[a]
    for i in range(n):
        block = blocks[i]
        r = block.row
        loose = block.mode == OPEN and block.reserve == 0.0
        for k in range(r, r + 1 + block.tangents):
            if loose or (block.mode == OPEN and k == r):
                for b in range(rows):
                    K[b, k] = 0.0
                K[k, k], right[k] = 1.0, 0.0
            elif G[k, k] > 0.0:
                K[k, k] += PROXIMAL * G[k, k]
            else:
                K[k, k] += PROXIMAL * G[r, r]
        if block.tangents > 0 and not loose:
            _linearise_friction(block, G, rows, K, right, p, u)


@inlined
def _linearise_friction(
    block: Any, G: Floats, rows: int, K: Floats, right: Floats, p: Floats, u: Floats
) -> None:
    """Tangential equations of a contact that slips: g (p_t - mu p_n y / |y|) = 0, y = p_t - u_t/g.

    p_n with the reserve.  With P the projection across y, d(y / |y|) = P dy / |y|.
    """
    r, t = block.row, block.row + 1
    two = block.tangents == 2
    g = _yielding(block, G)
    yx = p[t] - u[t] / g
    yy = p[t + 1] - u[t + 1] / g if two else 0.0
    size = math.sqrt(yx * yx + yy * yy)
    pressed = max(p[r] - u[r] / G[r, r], 0.0) + block.reserve
    if size <= block.friction * pressed:
        return
    block.mode = SLIP
    bound = block.friction * (max(p[r], 0.0) + block.reserve)
    cx, cy = yx / size, yy / size
    turn = bound / size
    for k in range(block.tangents):
        own = t + k
        along = cx if k == 0 else cy
        px = (1.0 if k == 0 else 0.0) - along * cx
        py = (1.0 if k == 1 else 0.0) - along * cy
        for b in range(rows):
            effect = px * G[t, b]
            if two:
                effect += py * G[t + 1, b]
            K[b, own] = turn * effect
        K[own, own] += g * (1.0 + PROXIMAL)
        K[t, own] -= g * turn * px
        if two:
            K[t + 1, own] -= g * turn * py
        K[r, own] -= g * block.friction * along
        right[own] = -g * (p[own] - block.friction * (p[r] + block.reserve) * along)


@kernel
def _sweep(
    blocks: Records, n: int, G: Floats, rows: int, part: float, p: Floats, u: Floats
) -> None:
    """One contact after the other: normal impulse, then the friction nearest to what stops it.

    The normal impulse answers u_n alone: this is Coulomb's law, not its convex relaxation.

    part: of each change that is made
    """
    for i in range(n):
        block = blocks[i]
        r, t = block.row, block.row + 1
        if not G[r, r] > 0.0:
            continue
        _add(G, rows, r, part * (max(p[r] - u[r] / G[r, r], 0.0) - p[r]), p, u)
        if block.tangents == 0:
            continue
        two = block.tangents == 2
        g = _yielding(block, G)
        x, y = p[t] - u[t] / g, p[t + 1] - u[t + 1] / g if two else 0.0
        size = math.sqrt(x * x + y * y)
        bound = block.friction * (p[r] + block.reserve)
        share = bound / size if size > bound else 1.0
        _add(G, rows, t, part * (share * x - p[t]), p, u)
        if two:
            _add(G, rows, t + 1, part * (share * y - p[t + 1]), p, u)


@inlined
def _add(G: Floats, rows: int, r: int, change: float, p: Floats, u: Floats) -> None:
    """Change one impulse, and all velocities with it."""
    p[r] += change
    for c in range(rows):
        u[c] += change * G[r, c]


@kernel
def _clip(blocks: Records, n: int, p: Floats) -> None:
    """Into the cones, from which roundoff may have led."""
    for i in range(n):
        block = blocks[i]
        r, t = block.row, block.row + 1
        p[r] = max(p[r], 0.0)
        if block.tangents > 0:
            x, y = p[t], p[t + 1] if block.tangents == 2 else 0.0
            size, bound = math.sqrt(x * x + y * y), block.friction * (p[r] + block.reserve)
            if size > bound:
                for k in range(t, t + block.tangents):
                    p[k] *= bound / size


@kernel
def certify_cones(blocks: Records, n: int, G: Floats, scale: float, p: Floats, u: Floats) -> float:
    """Natural residual of Coulomb's law on all cones, in units of `scale`; infinite for NaN.

    The largest |p - P(p - w / g)| g, with w De Saxce's corrected velocity, P the projection on
    the cone and g the contact's largest diagonal entry of G: no other choice of its rows is
    stricter, for this residual grows with g.  Writes |u_t| into `block.slip`.
    """
    worst = 0.0
    for i in range(n):
        block = blocks[i]
        r, t = block.row, block.row + 1
        block.slip = 0.0
        if not G[r, r] > 0.0:
            continue
        residual = abs(min(p[r] * G[r, r], u[r]))
        if block.tangents > 0:
            two = block.tangents == 2
            g = max(G[r, r], _yielding(block, G))
            ux, uy = u[t], u[t + 1] if two else 0.0
            block.slip = math.sqrt(ux * ux + uy * uy)
            px, py = p[t], p[t + 1] if two else 0.0
            a, x, y = _project(
                block.friction,
                block.reserve,
                p[r] - (u[r] + block.friction * block.slip) / g,
                px - ux / g,
                py - uy / g,
            )
            residual = g * max(abs(p[r] - a), max(abs(px - x), abs(py - y)))
        if not residual <= worst:
            worst = residual
    return worst / scale if worst < math.inf else math.inf


@inlined
def _project(mu: float, reserve: float, a: float, x: float, y: float) -> tuple[float, float, float]:
    """The point of |(x, y)| <= mu (a + reserve), a >= 0, that is nearest to (a, x, y)."""
    size = math.sqrt(x * x + y * y)
    height = a
    if not size <= mu * (a + reserve):  # NaN stays
        height = (a + reserve + mu * size) / (1.0 + mu * mu) - reserve
    if height < 0.0:  # the cone's own nearest point lies behind its flat face
        height = 0.0
    bound = mu * (height + reserve)
    share = bound / size if size > bound else 1.0
    return height, share * x, share * y
