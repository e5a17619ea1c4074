"""Coulomb's law on friction pyramids, as a certificate: the natural residual of its LCP.

The LCP (`friction_lcp.py`) need not be written out for it: the variables of a block follow from its
impulses and velocities.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.contact.assembly.problem import NIL, ContactAnswer, ContactProblem
from dynenvs.contact.law.dry import certify_dry
from dynenvs.contact.solvers.modes import OPEN, sector, split, strongest
from dynenvs.jit.compiled import entry, inlined
from dynenvs.memory.layout import Floats, Records


@entry
@inlined
def certify_pyramids(problem: ContactProblem, answer: ContactAnswer) -> float:
    """Natural residual of all blocks; infinite for NaN.  Writes their slips."""
    worst = 0.0
    for i in range(problem.n):
        block = problem.blocks[i]
        residual = certify_block(
            problem.polygon, block, problem.G, problem.scale, answer.p, answer.u
        )
        if not residual <= worst:
            worst = residual
        if block.mode == OPEN:
            block.slip = 0.0
    return worst if worst < math.inf else math.inf


@inlined
def certify_block(
    polygon: Records, block: Any, G: Floats, scale: float, p: Floats, u: Floats
) -> float:
    """A block's part of the LCP's natural residual (`lcp.scaling.certificate`), in its units.

    The LCP's variables follow from p and u: the two directions next to the tangential impulse carry
    it, and sigma is the least that bounds the slip.  Writes sigma into `block.slip`.
    """
    r, t = block.row, block.row + 1
    g = G[r, r]
    block.slip = 0.0
    if not g > 0.0:
        # The normal impulse and its gap
        return 0.0  # no variable of the LCP
    if block.dry != 0:
        return certify_dry(block.compression, g, p[r], u[r]) / scale
    worst = abs(min(p[r] * g, u[r])) / scale
    if block.tangents == 0:
        return worst
    # The tangential impulse as a sum of two neighbouring directions
    two = block.tangents == 2
    x, y = p[t], p[t + 1] if two else 0.0
    slip_x, slip_y = u[t], u[t + 1] if two else 0.0
    sigma = strongest(polygon, slip_x, slip_y)
    block.slip = sigma
    directions = polygon[0].directions
    k = sector(polygon, x, y) if two else (0 if x >= 0.0 else 1)
    after = k + 1 if two and k + 1 < directions else 0
    a, b = split(polygon, k, x, y) if two else (abs(x), 0.0)
    # Directions without impulse hold: sigma bounds the slip along each
    for d, impulse in ((k, a), (after, b)):
        c, s = polygon[0].cosines[d], polygon[0].sines[d]
        coupling = _coupling(polygon, G, t, two, d)
        if impulse != 0.0 and coupling > NIL * g:
            slip = c * slip_x + s * slip_y + sigma
            worst = max(worst, abs(min(impulse * coupling, slip)) / scale)
    # The bound that is left is an impulse, sigma a velocity: compared in the strictest unit
    left = block.friction * (p[r] + block.compression) - a - b
    unit = NIL * g
    if left * unit < sigma:  # else it is sigma that is the lesser, whatever their units
        unit = g / block.friction  # the greatest of the scales' inverses: sigma's row
        for d in range(directions // 2):
            coupling = _coupling(polygon, G, t, two, d)
            if coupling > NIL * g:
                unit = min(unit, coupling)
    return max(worst, abs(min(sigma, left * unit)) / scale)


@inlined
def _coupling(polygon: Records, G: Floats, tangent: int, two: bool, direction: int) -> float:
    """Velocity along `direction` by a unit of impulse along it."""
    c, s = polygon[0].cosines[direction], polygon[0].sines[direction]
    coupling = c * c * G[tangent, tangent]
    if two:
        coupling += 2.0 * c * s * G[tangent, tangent + 1] + s * s * G[tangent + 1, tangent + 1]
    return float(coupling)
