"""Torsional and rolling friction beside Coulomb's law, as one projection with the normal impulse.

Besides p_n and p_t a contact passes an impulse moment on: m_n about its normal and m_t along its
plane.  Each of the three frictions has a bound of its own, and opposes its own motion, the slip u_t
and the turns w_n and w_t of A against B:

    |p_t| <= mu p_n,    |m_n| <= spin p_n,    |m_t| <= roll p_n      (spin and roll are lengths).

So a ball that spins slides as far as one that does not, each coefficient is read off an experiment
of its own, and where moments are nil this is Coulomb's law.  (MuJoCo's elliptic cone bounds the sum
of squares of all three instead: what one of them uses the others lack.)

The bounds form a cone K, the product of three over one p_n, and De Saxce's correction reads

    p = P(p - rho (u + s e_n)),    s = mu |u_t| + spin |w_n| + roll |w_t|,

P being the projection on K; moments and turns in units of a length, so that all rows yield alike.
The projection's height h, its p_n, is the root of a function that bends only where a friction
begins to hold:  h - a = sum over those that slip of mu (|y| - mu h).  Guess that all slip, and
leave out those that hold at the root: that lets it only rise.

With a compression impulse r (Poisson's law of impact) h counts from -r, and K is cut off at
h = r: below, each friction is projected on its own disc there.

An impulse, a velocity and a projection have six entries here: along the normal and the tangents,
about the normal and the tangents, zero where a row is not there.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from dynenvs.jit.compiled import inlined, kernel
from dynenvs.kinematics.triples import Three
from dynenvs.memory.layout import Floats

# One friction: coefficient; y = p - rho u and its length; u and its length, the slip; and
# mu (|y| - rho |u|)
Friction = tuple[float, float, float, float, float, float, float, float]
MU, X, Y, SIZE, UX, UY, SLIP, GAIN = range(8)
Six = tuple[float, float, float, float, float, float]


class Foot(NamedTuple):
    """Where a projection ends."""

    height: float  # from the cone's tip
    N: float  # 1 + sum of mu^2 of what slips
    slides: bool
    spins: bool
    rolls: bool
    flat: bool  # on the flat face that a compression impulse makes


@inlined
def _friction(mu: float, rho: float, px: float, py: float, ux: float, uy: float) -> Friction:
    """Where it slips |y| and rho |u| nearly cancel: their difference is formed by what they have in
    common."""
    x, y = px - rho * ux, py - rho * uy
    size, slip = math.sqrt(x * x + y * y), math.sqrt(ux * ux + uy * uy)
    below = size + rho * slip
    common = px * px + py * py - 2.0 * rho * (px * ux + py * uy)
    return mu, x, y, size, ux, uy, slip, mu * common / below if below > 0.0 else 0.0


@inlined
def _part(friction: Friction, slips: bool, own: bool, rho: float) -> float:
    """What one friction adds to the height times N."""
    if slips:
        return friction[GAIN] if own else friction[MU] * friction[SIZE]
    return -rho * friction[MU] * friction[SLIP] if own else 0.0


@inlined
def _find_foot(
    base: float,
    compression: float,
    own: bool,
    rho: float,
    sliding: Friction,
    spinning: Friction,
    rolling: Friction,
) -> Foot:
    """Where the projection is, its height counted from the cone's tip."""
    on_a, on_b, on_c = True, True, True
    height, N = 0.0, 1.0
    # All slip, to begin with; those that hold at the root drop out, and the root only rises, so
    # that four rounds converge
    for _ in range(4):
        N = 1.0 + (sliding[MU] * sliding[MU] if on_a else 0.0)
        N += (spinning[MU] * spinning[MU] if on_b else 0.0) + (
            rolling[MU] * rolling[MU] if on_c else 0.0
        )
        total = base + _part(sliding, on_a, own, rho) + _part(spinning, on_b, own, rho)
        height = (total + _part(rolling, on_c, own, rho)) / N
        stay_a = on_a and sliding[SIZE] > sliding[MU] * height
        stay_b = on_b and spinning[SIZE] > spinning[MU] * height
        stay_c = on_c and rolling[SIZE] > rolling[MU] * height
        if stay_a == on_a and stay_b == on_b and stay_c == on_c:
            break
        on_a, on_b, on_c = stay_a, stay_b, stay_c
    # Below the flat face each friction has a disc of its own, of radius mu times that impulse
    if compression > 0.0 and not height > compression:
        on_a, on_b = (
            sliding[SIZE] > sliding[MU] * compression,
            spinning[SIZE] > spinning[MU] * compression,
        )
        return Foot(compression, 1.0, on_a, on_b, rolling[SIZE] > rolling[MU] * compression, True)
    return Foot(height, N, on_a, on_b, on_c, False)


@inlined
def _ray(friction: Friction, slips: bool) -> tuple[float, float]:
    """mu y / |y| where it slips."""
    if not slips or not friction[SIZE] > 0.0:
        return 0.0, 0.0
    return friction[MU] * friction[X] / friction[SIZE], friction[MU] * friction[Y] / friction[SIZE]


@inlined
def _rate(friction: Friction, own: bool) -> tuple[float, float]:
    """Derivative of s by the slip of one friction."""
    if not own or not friction[SLIP] > 0.0:
        return 0.0, 0.0
    return friction[MU] * friction[UX] / friction[SLIP], friction[MU] * friction[UY] / friction[
        SLIP
    ]


@inlined
def _point(
    foot: Foot, compression: float, sliding: Friction, spinning: Friction, rolling: Friction
) -> Six:
    """The projection itself."""
    h = foot.height
    if not h > 0.0:
        return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    (a1, a2), (b1, _), (c1, c2) = (
        _ray(sliding, foot.slides),
        _ray(spinning, foot.spins),
        _ray(rolling, foot.rolls),
    )
    return (
        0.0 if foot.flat else h - compression,
        a1 * h if foot.slides else sliding[X],
        a2 * h if foot.slides else sliding[Y],
        b1 * h if foot.spins else spinning[X],
        c1 * h if foot.rolls else rolling[X],
        c2 * h if foot.rolls else rolling[Y],
    )


@kernel
def project_moments(
    mu: Three, compression: float, rho: float, p: Six, u: Six, held: float, derivative: Floats
) -> Six:
    """P(p - rho (u + s e_n)), and in D, row by row, shape (36,), minus its derivative by u.

    mu: coefficients of sliding, torsional and rolling friction, the last two over the length in
        units of which moments and turns are
    held: s if it is to be taken as given; negative if it follows from u
    """
    own = held < 0.0
    a = _friction(mu[0], rho, p[1], p[2], u[1], u[2])
    b = _friction(mu[1], rho, p[3], 0.0, u[3], 0.0)
    c = _friction(mu[2], rho, p[4], p[5], u[4], u[5])
    base = p[0] + compression - rho * u[0] - (0.0 if own else rho * held)
    foot = _find_foot(base, compression, own, rho, a, b, c)
    for k in range(36):
        derivative[k] = 0.0
    h = foot.height
    # The height's own change, what y's turns do in each friction, and what holds
    if h > 0.0:
        if not foot.flat:
            _add_height(foot, own, rho, a, b, c, derivative)
        _add_own(derivative, 1, a, foot.slides, rho, h)
        if not foot.spins:
            derivative[21] += rho
        _add_own(derivative, 4, c, foot.rolls, rho, h)
    return _point(foot, compression, a, b, c)


@inlined
def _add_height(
    foot: Foot,
    own: bool,
    rho: float,
    sliding: Friction,
    spinning: Friction,
    rolling: Friction,
    derivative: Floats,
) -> None:
    """What changes with the projection's height."""
    (a1, a2), (b1, _), (c1, c2) = (
        _ray(sliding, foot.slides),
        _ray(spinning, foot.spins),
        _ray(rolling, foot.rolls),
    )
    (s1, s2), (s3, _), (s4, s5) = _rate(sliding, own), _rate(spinning, own), _rate(rolling, own)
    n = rho / foot.N
    rates = (n, n * (a1 + s1), n * (a2 + s2), n * (b1 + s3), n * (c1 + s4), n * (c2 + s5))
    shares = (1.0, a1, a2, b1, c1, c2)
    # A product of two vectors: how the point moves with the height, and the height with u
    for r in range(6):
        for k in range(6):
            derivative[6 * r + k] += shares[r] * rates[k]


@inlined
def _add_own(
    derivative: Floats, row: int, friction: Friction, slips: bool, rho: float, height: float
) -> None:
    """What turns of y do within a friction of rows `row` and row + 1, or what holds there."""
    at = 7 * row
    if not slips:
        derivative[at] += rho
        derivative[at + 7] += rho
    elif friction[SIZE] > 0.0:
        # Across y alone: along it the bound holds its length
        bend = rho * friction[MU] * height / friction[SIZE]
        x, y = friction[X] / friction[SIZE], friction[Y] / friction[SIZE]
        derivative[at] += bend * (1.0 - x * x)
        derivative[at + 1] -= bend * x * y
        derivative[at + 6] -= bend * x * y
        derivative[at + 7] += bend * (1.0 - y * y)


@kernel
def certify_moments(mu: Three, compression: float, g: float, p: Six, u: Six) -> float:
    """Natural residual g max |p - P(p - (u + s e_n) / g)| of the law [m/s]; NaN stays.

    As `dynenvs.contact.solvers.cone_law.certify_cones`.  g: the largest velocity that a unit of
    impulse gives a row
    """
    rho = 1.0 / g
    a = _friction(mu[0], rho, p[1], p[2], u[1], u[2])
    b = _friction(mu[1], rho, p[3], 0.0, u[3], 0.0)
    c = _friction(mu[2], rho, p[4], p[5], u[4], u[5])
    foot = _find_foot(p[0] + compression - rho * u[0], compression, True, rho, a, b, c)
    q = _point(foot, compression, a, b, c)
    worst = 0.0
    for r in range(6):
        missed = abs(p[r] - q[r])
        if not missed <= worst:
            worst = missed
    return g * worst


@inlined
def turning(mu: Three, u: Six) -> float:
    """What turns add to s [m/s]."""
    return mu[1] * abs(u[3]) + mu[2] * math.sqrt(u[4] * u[4] + u[5] * u[5])
