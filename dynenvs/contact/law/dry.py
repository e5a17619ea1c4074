"""Dry friction of a joint: a row whose impulse has two bounds.

Coulomb's law for a coordinate with the friction f: it rests as long as an impulse within +-f dt can
hold it; while it moves, f dt opposes it.  With its velocity u this reads, for any rho > 0,

    p = P(p - rho u),    P(y) = min(max(y, -f dt), f dt):

an interval in place of Coulomb's cone.
"""

from __future__ import annotations

from dynenvs.jit.compiled import inlined


@inlined
def within(bound: float, y: float) -> float:
    """P(y), the impulse within the bound that is nearest to y; NaN becomes a bound."""
    return min(max(y, -bound), bound)


@inlined
def project_dry(bound: float, rho: float, p: float, u: float) -> tuple[float, float]:
    """P(p - rho u), and minus its derivative by u."""
    y = p - rho * u
    return within(bound, y), rho if abs(y) <= bound else 0.0


@inlined
def certify_dry(bound: float, g: float, p: float, u: float) -> float:
    """Natural residual |p - P(p - u / g)| g of the law [rad/s, m/s]; NaN stays.

    g: velocity that a unit of impulse gives
    """
    y = p - u / g
    nearest = y
    if y > bound:
        nearest = bound
    elif y < -bound:
        nearest = -bound
    return abs(p - nearest) * g
