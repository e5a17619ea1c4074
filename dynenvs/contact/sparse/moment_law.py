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
"""

from __future__ import annotations

import math

from dynenvs.jit.compiled import inlined, kernel
from dynenvs.kinematics.triples import Three
from dynenvs.memory.layout import Floats
from dynenvs.memory.sparse_view import SparseView

# One friction: coefficient; y = p - rho u and its length; u and its length, the slip; and
# mu (|y| - rho |u|)
Friction = tuple[float, float, float, float, float, float, float, float]
MU, X, Y, SIZE, UX, UY, SLIP, GAIN = range(8)


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
def _frictions(
    scene: SparseView, i: int, rho: float, u: Three, w: Three
) -> tuple[Friction, Friction, Friction]:
    """Sliding, torsional and rolling friction of contact i; zeros where a row is not there."""
    c, p = scene.constraints[i], scene.p[i]
    d, q = scene.constraints[c.moments], scene.p[c.moments]
    one, two, rolls = c.tangents > 0, c.tangents > 1, d.rows == 3
    return (
        _friction(
            c.friction if one else 0.0, rho, p[1] if one else 0.0, p[2] if two else 0.0,
            u[1] if one else 0.0, u[2] if two else 0.0,
        ),
        _friction(d.friction, rho, q[0], 0.0, w[0], 0.0),
        _friction(
            d.roll if rolls else 0.0, rho, q[1] if rolls else 0.0, q[2] if rolls else 0.0,
            w[1] if rolls else 0.0, w[2] if rolls else 0.0,
        ),
    )  # fmt: skip


@inlined
def _part(f: Friction, slips: bool, own: bool, rho: float) -> float:
    """What one friction adds to the height times N."""
    if slips:
        return f[GAIN] if own else f[MU] * f[SIZE]
    return -rho * f[MU] * f[SLIP] if own else 0.0


@inlined
def _find_height(
    base: float, own: bool, rho: float, a: Friction, b: Friction, c: Friction
) -> tuple[float, float, bool, bool, bool]:
    """The projection's height, N = 1 + sum of mu^2 of what slips, and which of the three does."""
    on_a, on_b, on_c = True, True, True
    height, N = 0.0, 1.0
    for _ in range(4):
        N = 1.0 + (a[MU] * a[MU] if on_a else 0.0)
        N += (b[MU] * b[MU] if on_b else 0.0) + (c[MU] * c[MU] if on_c else 0.0)
        total = base + _part(a, on_a, own, rho) + _part(b, on_b, own, rho)
        height = (total + _part(c, on_c, own, rho)) / N
        stay_a = on_a and a[SIZE] > a[MU] * height
        stay_b = on_b and b[SIZE] > b[MU] * height
        stay_c = on_c and c[SIZE] > c[MU] * height
        if stay_a == on_a and stay_b == on_b and stay_c == on_c:
            break
        on_a, on_b, on_c = stay_a, stay_b, stay_c
    return height, N, on_a, on_b, on_c


@inlined
def _ray(f: Friction, slips: bool) -> tuple[float, float]:
    """mu y / |y| where it slips."""
    if not slips or not f[SIZE] > 0.0:
        return 0.0, 0.0
    return f[MU] * f[X] / f[SIZE], f[MU] * f[Y] / f[SIZE]


@inlined
def _rate(f: Friction, own: bool) -> tuple[float, float]:
    """Derivative of s by the slip of one friction."""
    if not own or not f[SLIP] > 0.0:
        return 0.0, 0.0
    return f[MU] * f[UX] / f[SLIP], f[MU] * f[UY] / f[SLIP]


@kernel
def project_moments(
    scene: SparseView, i: int, rho: float, u: Three, w: Three, held: float, out: Floats,
    moment: Floats,
) -> None:  # fmt: skip
    """P of contact i and of its moments into `out` and `moment`, shapes (3,), and W.

    u, w: velocities and turns of its rows; held: s if it is to be taken as given, negative if it
    follows from them.  W, minus the derivative, goes to `scene.W` of both and to `scene.cross`.
    """
    j, own = scene.constraints[i].moments, held < 0.0
    W, V, C = scene.W[i], scene.W[j], scene.cross[j]
    for k in range(9):
        W[k] = V[k] = C[k] = C[9 + k] = 0.0
    for k in range(3):
        out[k] = moment[k] = 0.0
    a, b, c = _frictions(scene, i, rho, u, w)
    base = scene.p[i, 0] - rho * u[0] - (0.0 if own else rho * held)
    height, N, on_a, on_b, on_c = _find_height(base, own, rho, a, b, c)
    if not height > 0.0:
        return
    (a1, a2), (b1, _), (c1, c2) = _ray(a, on_a), _ray(b, on_b), _ray(c, on_c)
    out[0] = height
    out[1], out[2] = (a1 * height, a2 * height) if on_a else (a[X], a[Y])
    moment[0] = b1 * height if on_b else b[X]
    moment[1], moment[2] = (c1 * height, c2 * height) if on_c else (c[X], c[Y])
    (s1, s2), (s3, _), (s4, s5) = _rate(a, own), _rate(b, own), _rate(c, own)
    n = rho / N
    rates = (n, n * (a1 + s1), n * (a2 + s2), n * (b1 + s3), n * (c1 + s4), n * (c2 + s5))
    shares = (1.0, a1, a2, b1, c1, c2)
    for r in range(3):
        for k in range(3):
            W[3 * r + k] = shares[r] * rates[k]
            C[3 * r + k] = shares[r] * rates[3 + k]
            C[9 + 3 * r + k] = shares[3 + r] * rates[k]
            V[3 * r + k] = shares[3 + r] * rates[3 + k]
    _add_own(W, a, on_a, rho, height, scene.constraints[i].tangents)
    if not on_b:
        V[0] += rho
    _add_own(V, c, on_c, rho, height, scene.constraints[j].rows - 1)


@inlined
def _add_own(W: Floats, f: Friction, slips: bool, rho: float, height: float, rows: int) -> None:
    """What turns of y do within a friction of the last two rows, or what holds there."""
    if rows > 0 and not slips:
        W[4] += rho
        W[8] += rho if rows > 1 else 0.0
    elif rows > 1 and f[SIZE] > 0.0:
        bend = rho * f[MU] * height / f[SIZE]
        x, y = f[X] / f[SIZE], f[Y] / f[SIZE]
        W[4] += bend * (1.0 - x * x)
        W[5] -= bend * x * y
        W[7] -= bend * x * y
        W[8] += bend * (1.0 - y * y)


@kernel
def certify_moments(scene: SparseView, i: int, u: Three, w: Three) -> float:
    """Natural residual of the law at contact i and its moments [m/s]; NaN stays.

    As `dynenvs.contact.solvers.cone_law.certify_cones`: the largest |p - P(p - w / g)| g.  Writes
    the slip, and what turns add to s, into the constraint.
    """
    c = scene.constraints[i]
    d = scene.constraints[c.moments]
    g = 0.0
    for r in range(3):
        if r < c.rows:
            g = max(g, scene.G[i, 4 * r])
        if r < d.rows:
            g = max(g, scene.G[c.moments, 4 * r])
    out, moment = scene.projected[0], scene.projected[1]
    project_moments(scene, i, 1.0 / g, u, w, -1.0, out, moment)
    c.slip = math.sqrt(u[1] * u[1] + u[2] * u[2])
    c.turning = d.friction * abs(w[0])
    if d.rows == 3:
        c.turning += d.roll * math.sqrt(w[1] * w[1] + w[2] * w[2])
    worst = 0.0
    for r in range(3):
        missed = abs(scene.p[i, r] - out[r]) if r < c.rows else 0.0
        if not missed <= worst:
            worst = missed
        missed = abs(scene.p[c.moments, r] - moment[r]) if r < d.rows else 0.0
        if not missed <= worst:
            worst = missed
    return g * worst
