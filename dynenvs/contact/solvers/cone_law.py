"""Coulomb's law on the exact cone, with De Saxce's correction, as a certificate.

    K* contains (u_n + mu |u_t|, u_t),  perpendicular to  (p_n, p_t) in K,   K: |p_t| <= mu p_n

is Coulomb's law on the quadratic cone; without the correction mu |u_t| (the convex relaxation) a
sliding body would lift.

In the second half of an impact by Poisson's law a contact has a compression impulse r, the
share e of what compression took.  What complements u_n >= 0 is only the impulse p_n on top of that,
while friction is bounded by all of it: K is cut off there,

    K_r: |p_t| <= mu (p_n + r),  p_n >= 0,        -(u_n + mu |u_t|, u_t) in the normal cone of K_r,

and De Saxce's correction says the same as before: on the rim of the flat face, p_n = 0 and
|p_t| = mu r, the normal cone is spanned by (-1, 0) and (-mu, p_t / |p_t|), so that u_t opposes p_t
and u_n >= 0; within the face nothing slips.  Without such impulses K_r is K.

Source: De Saxce and Feng, The bipotential method (1998).
"""

from __future__ import annotations

import math
from typing import Annotated, Any

from dynenvs.contact.assembly.problem import ContactAnswer, ContactProblem, row_velocities
from dynenvs.contact.law.dry import certify_dry
from dynenvs.contact.law.moments import Six, certify_moments
from dynenvs.jit.compiled import entry, inlined
from dynenvs.kinematics.triples import Three
from dynenvs.memory.layout import Floats, Matrix, Records
from dynenvs.memory.records import BLOCK


@inlined
def yielding(G: Floats, row: int, tangent: int, count: int) -> float:
    """Scale of a friction's rows, from `tangent` on: what they yield, or, if nothing, `row`."""
    g = G[tangent, tangent] if count == 1 else max(G[tangent, tangent], G[tangent + 1, tangent + 1])
    return g if g > 0.0 else float(G[row, row])


@inlined
def rows_of(block: Any) -> int:
    """How many rows a block has."""
    return int(1 + block.tangents + block.moments)


@inlined
def six(block: Any, vector: Floats) -> Six:
    """A contact's entries of a vector of the rows, as of `dynenvs.contact.law.moments`."""
    r, m = block.row, block.row + 1 + block.tangents
    rolls = block.moments == 3
    return (
        vector[r],
        vector[r + 1] if block.tangents > 0 else 0.0,
        vector[r + 2] if block.tangents > 1 else 0.0,
        vector[m] if block.moments > 0 else 0.0,
        vector[m + 1] if rolls else 0.0,
        vector[m + 2] if rolls else 0.0,
    )


@inlined
def coefficients(block: Any) -> Three:
    """Of sliding, torsional and rolling friction."""
    return block.friction, block.spin, block.roll


@entry
def certify_cones(
    blocks: Annotated[Records, BLOCK], count: int, G: Matrix, scale: float, p: Floats, u: Floats
) -> float:
    """Natural residual of Coulomb's law on all cones, in units of `scale`; infinite for NaN.

    The largest |p - P(p - w / g)| g, with w De Saxce's corrected velocity, P the projection on
    the cone and g the contact's largest diagonal entry of G: no other choice of its rows is
    stricter, for this residual grows with g.  Writes |u_t| into `block.slip`.
    """
    worst = 0.0
    for i in range(count):
        block = blocks[i]
        r, t = block.row, block.row + 1
        block.slip = 0.0
        if not G[r, r] > 0.0:
            continue
        # Without friction the law is complementarity alone
        residual = abs(min(p[r] * G[r, r], u[r]))
        if block.dry != 0:
            residual = certify_dry(block.compression, G[r, r], p[r], u[r])
        elif block.moments > 0:
            residual = _certify_moments(block, G, p, u)
        elif block.tangents > 0:
            two = block.tangents == 2
            # The strictest of the scales that its rows could have
            g = max(G[r, r], yielding(G, r, t, block.tangents))
            ux, uy = u[t], u[t + 1] if two else 0.0
            block.slip = math.sqrt(ux * ux + uy * uy)
            px, py = p[t], p[t + 1] if two else 0.0
            # The nearest point of the cone to where De Saxce's corrected velocity would lead
            a, x, y = _project(
                block.friction,
                block.compression,
                p[r] - (u[r] + block.friction * block.slip) / g,
                px - ux / g,
                py - uy / g,
            )
            residual = g * max(abs(p[r] - a), max(abs(px - x), abs(py - y)))
        # Written so that NaN counts as the worst
        if not residual <= worst:
            worst = residual
    return worst / scale if worst < math.inf else math.inf


@inlined
def _certify_moments(block: Any, G: Floats, p: Floats, u: Floats) -> float:
    g, v = 0.0, six(block, u)
    for k in range(block.row, block.row + rows_of(block)):
        g = max(g, G[k, k])
    block.slip = math.sqrt(v[1] * v[1] + v[2] * v[2])
    return float(certify_moments(coefficients(block), block.compression, g, six(block, p), v))


@inlined
def certify_answer(problem: ContactProblem, answer: ContactAnswer) -> float:
    """The velocities that the impulses give, and the natural residual of both."""
    p, u = answer.p, answer.u
    row_velocities(problem, p, u)
    return certify_cones(problem.blocks, problem.n, problem.G, problem.scale, p, u)


@inlined
def _project(
    mu: float, compression: float, normal: float, x: float, y: float
) -> tuple[float, float, float]:
    """The point of |(x, y)| <= mu (a + compression), a >= 0, that is nearest to (a, x, y)."""
    size = math.sqrt(x * x + y * y)
    height = normal
    if not size <= mu * (normal + compression):  # NaN stays
        height = (normal + compression + mu * size) / (1.0 + mu * mu) - compression
    if height < 0.0:  # the cone's own nearest point lies behind its flat face
        height = 0.0
    bound = mu * (height + compression)
    share = bound / size if size > bound else 1.0
    return height, share * x, share * y
