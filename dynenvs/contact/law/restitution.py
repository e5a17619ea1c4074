"""Restitution gains no energy: how far an impact goes from its inelastic end to its elastic one.

Impulses p that lead from the velocities u- to u+ do the work p.(u- + u+) / 2 [J].  On the way from
those of compression alone, which lose energy, by d to those with full restitution it is a quadratic

    f(y) = f(0) + y d.u_c + y^2 (f(1) - f(0) - d.u_c),

with the velocities u_c after compression.  Both ends obey the laws' inequalities, and so does what
lies between.
"""

from __future__ import annotations

import math

from dynenvs.jit.compiled import inlined

BELOW = 1.0 - 1e-12  # of the way to where no energy is gained: not even by rounding


@inlined
def share_without_gain(inelastic: float, slope: float, elastic: float) -> float:
    """The part y of the way, at most 1, where f(y) = 0: all that compression lost is given back.

    inelastic, slope, elastic: f(0), d.u_c and f(1) > 0 [J]
    """
    if not inelastic < 0.0:
        return 0.0
    # The root in the form in which nothing cancels where f is nearly straight
    bend = max(elastic - inelastic - slope, 0.0)
    root = -2.0 * inelastic / (slope + math.sqrt(slope * slope - 4.0 * bend * inelastic))
    return min(root * BELOW, 1.0)
