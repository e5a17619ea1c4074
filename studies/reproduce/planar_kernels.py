"""Cloutier's robot (1995) as compiled kernels: rectangular links in a vertical plane.

Spatial vectors of the plane are (turn; along the link, across it), in link frames at the proximal
hinges.  As in the source, the bias b comes from the recursive Newton-Euler algorithm first, and
H qdd = tau - b is then solved by

* `ABM`, the articulated-body method, eqs. (3.6) to (3.9);
* `BAD_ABM`, its bad form, which adds a child's inertia before it projects (section 4.3);
* `CRBM`, the composite-rigid-body method as sections 3.1.1 and 4.3 describe it: the mass, centre
  and moment of what each joint carries (Walker and Orin's third method), and elimination from
  the tip (eq. 4.9: H = L^T D L);
* the same method in three other orders of operations, all of which have the same answer in exact
  numbers: factors from the base (Cholesky's H = L L^T), moments carried from hinge to hinge, both.

`dynenvs.reference.methods` has the same methods for any tree; here they are fast enough for the
millions of evaluations of the source's chapter 5.
"""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np

from dynenvs.jit.compiled import entry, kernel
from dynenvs.memory.layout import Floats
from dynenvs.simd.elementary import cos, sin

ABM, CRBM, BAD_ABM, CRBM_FROM_BASE, CRBM_BY_HINGES, CRBM_BY_HINGES_FROM_BASE = range(6)
GRAVITY = 9.8  # [m/s^2], Cloutier 1995


@kernel
def _shift_up(f: Floats, length: float, s: float, c: float, out: Floats) -> None:
    """out += X^T f: a child's force (moment; along, across) in its parent's frame."""
    x, y = c * f[1] - s * f[2], s * f[1] + c * f[2]
    out[0] += f[0] + length * y
    out[1] += x
    out[2] += y


@kernel
def _to_child(a: Floats, length: float, s: float, c: float, out: Floats) -> None:
    """out = X a: a parent's motion at its child's hinge, in the child's frame."""
    across = a[2] + length * a[0]
    turn, along = a[0], a[1]
    out[0] = turn
    out[1] = c * along + s * across
    out[2] = -s * along + c * across


@kernel
def _bias(l: Floats, m: Floats, w: Floats, q: Floats, v: Floats, g: float, b: Floats) -> None:
    """b: torques of zero joint acceleration (Luh, Walker and Paul's recursion in the plane)."""
    n = q.shape[0]
    f = np.zeros((n, 3))
    a = np.zeros(3)
    turned = 0.0
    a[2] = g
    for k in range(n):
        s, c = sin(q[k]), cos(q[k])
        length = l[k - 1] if k else 0.0
        if k:
            a[1] -= length * turned * turned  # of the hinge: towards the parent's own hinge
        _to_child(a, length, s, c, a)
        turned += v[k]
        half = l[k] / 2
        along, across = a[1] - half * turned * turned, a[2] + half * a[0]
        f[k, 0] = m[k] * (l[k] ** 2 + w[k] ** 2) / 12 * a[0] + half * m[k] * across
        f[k, 1], f[k, 2] = m[k] * along, m[k] * across
    for k in range(n - 1, -1, -1):
        b[k] = f[k, 0]
        if k:
            _shift_up(f[k], l[k - 1], sin(q[k]), cos(q[k]), f[k - 1])


@kernel
def _lift(A: Floats, length: float, s: float, c: float) -> None:
    """A <- X^T A X, shape (3, 3): a child's inertia in its parent's frame."""
    column = np.zeros(3)
    for k in range(3):  # X^T A
        column[:] = 0.0
        _shift_up(A[:, k], length, s, c, column)
        for i in range(3):
            A[i, k] = column[i]
    for i in range(3):  # times X
        column[:] = 0.0
        _shift_up(A[i], length, s, c, column)
        for k in range(3):
            A[i, k] = column[k]


@kernel
def _link_inertia(l: float, m: float, w: float, out: Floats) -> None:
    half = l / 2
    out[:] = 0.0
    out[0, 0] = m * (l * l + w * w) / 12 + m * half * half
    out[1, 1] = out[2, 2] = m
    out[0, 2] = out[2, 0] = m * half


@kernel
def _articulated(
    l: Floats, m: Floats, w: Floats, q: Floats, u: Floats, bad: bool, qdd: Floats
) -> None:
    """qdd of H qdd = u, eqs. (3.6) to (3.9)."""
    n = q.shape[0]
    IA, U, p = np.zeros((n, 3, 3)), np.zeros((n, 3)), np.zeros((n, 3))
    e, D = np.zeros(n), np.zeros(n)
    part, rest = np.zeros((3, 3)), np.zeros((3, 3))
    for k in range(n - 1, -1, -1):
        _link_inertia(l[k], m[k], w[k], IA[k])
        if k < n - 1:
            s, c = sin(q[k + 1]), cos(q[k + 1])
            for i in range(3):
                p[k + 1, i] += U[k + 1, i] * e[k + 1] / D[k + 1]
                for j in range(3):
                    part[i, j] = U[k + 1, i] * U[k + 1, j] / D[k + 1]
                    rest[i, j] = IA[k + 1, i, j]
                    if not bad:
                        rest[i, j] -= part[i, j]
            _shift_up(p[k + 1], l[k], s, c, p[k])
            _lift(rest, l[k], s, c)
            if bad:
                _lift(part, l[k], s, c)
            for i in range(3):
                for j in range(3):
                    IA[k, i, j] += rest[i, j]
                    if bad:
                        IA[k, i, j] -= part[i, j]
        for i in range(3):
            U[k, i] = IA[k, i, 0]
        D[k] = U[k, 0]
        e[k] = u[k] - p[k, 0]
    a = np.zeros(3)
    for k in range(n):
        _to_child(a, l[k - 1] if k else 0.0, sin(q[k]), cos(q[k]), a)
        qdd[k] = (e[k] - U[k, 0] * a[0] - U[k, 1] * a[1] - U[k, 2] * a[2]) / D[k]
        a[0] += qdd[k]


@entry
def inertia_by_centers(l: Floats, m: Floats, w: Floats, q: Floats, H: Annotated[Floats, 2]) -> None:
    """H, shape (n, n), by what each joint carries: mass, centre, and moment about the centre."""
    n = q.shape[0]
    mass, x, y, moment = 0.0, 0.0, 0.0, 0.0
    for k in range(n - 1, -1, -1):
        half = l[k] / 2
        if k < n - 1:
            s, c = sin(q[k + 1]), cos(q[k + 1])
            x, y = l[k] + c * x - s * y, s * x + c * y  # now from this hinge
        total = mass + m[k]
        x_all, y_all = (mass * x + m[k] * half) / total, mass * y / total
        # Parallel axes: to the new centre, and from there to the hinge
        moment += mass * ((x - x_all) ** 2 + (y - y_all) ** 2)
        moment += m[k] * ((l[k] ** 2 + w[k] ** 2) / 12 + (half - x_all) ** 2 + y_all**2)
        mass, x, y = total, x_all, y_all
        _carry_up(l, q, k, moment + mass * (x * x + y * y), -mass * y, mass * x, H)


@kernel
def _inertia_by_hinges(l: Floats, m: Floats, w: Floats, q: Floats, H: Floats) -> None:
    """The same H; moments are kept about hinges, which takes a difference on the way to the next.

    It loses no more digits than the other, but other ones.
    """
    n = q.shape[0]
    mass, x, y, moment = 0.0, 0.0, 0.0, 0.0
    for k in range(n - 1, -1, -1):
        if k < n - 1:
            s, c = sin(q[k + 1]), cos(q[k + 1])
            moment -= mass * (x * x + y * y)
            x, y = l[k] + c * x - s * y, s * x + c * y
            moment += mass * (x * x + y * y)
        half = l[k] / 2
        total = mass + m[k]
        moment += m[k] * (l[k] ** 2 + w[k] ** 2) / 12 + m[k] * half * half
        x, y = (mass * x + m[k] * half) / total, mass * y / total
        mass = total
        _carry_up(l, q, k, moment, -mass * y, mass * x, H)


@kernel
def _carry_up(
    l: Floats, q: Floats, k: int, moment: float, along: float, across: float, H: Floats
) -> None:
    """Row and column k of H: the force that turns all beyond joint k, at each joint below."""
    f, above = np.array([moment, along, across]), np.zeros(3)
    H[k, k] = moment
    for j in range(k, 0, -1):
        above[:] = 0.0
        _shift_up(f, l[j - 1], sin(q[j]), cos(q[j]), above)
        f[:] = above
        H[k, j - 1] = H[j - 1, k] = f[0]


@kernel
def _solve_from_base(H: Floats, x: Floats) -> bool:
    """x <- H^-1 x by H = L L^T, H overwritten; False if it is not positive definite."""
    n = x.shape[0]
    for j in range(n):
        for i in range(j, n):
            total = H[i, j]
            for k in range(j):
                total -= H[i, k] * H[j, k]
            if i == j:
                if not total > 0.0:
                    return False
                H[j, j] = math.sqrt(total)
            else:
                H[i, j] = total / H[j, j]
    for i in range(n):
        for k in range(i):
            x[i] -= H[i, k] * x[k]
        x[i] /= H[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            x[i] -= H[k, i] * x[k]
        x[i] /= H[i, i]
    return True


@kernel
def _solve_from_tip(H: Floats, x: Floats) -> bool:
    """x <- H^-1 x by H = L^T D L, H overwritten; False if it is not positive definite."""
    n = x.shape[0]
    for k in range(n - 1, -1, -1):
        if not H[k, k] > 0.0:
            return False
        for i in range(k):
            ratio = H[k, i] / H[k, k]
            for j in range(i + 1):
                H[i, j] -= ratio * H[k, j]
            x[i] -= ratio * x[k]
    for k in range(n):
        for i in range(k):
            x[k] -= H[k, i] * x[i]
        x[k] /= H[k, k]
    return True


@entry
def accelerate(
    l: Floats,
    m: Floats,
    w: Floats,
    q: Floats,
    v: Floats,
    tau: Floats,
    g: float,
    method: int,
    qdd: Floats,
) -> bool:
    """qdd, shape (n,); False if roundoff has made H indefinite (CRBM)."""
    n = q.shape[0]
    u = np.zeros(n)
    _bias(l, m, w, q, v, g, u)
    for k in range(n):
        u[k] = tau[k] - u[k]
    if method in (ABM, BAD_ABM):
        _articulated(l, m, w, q, u, method == BAD_ABM, qdd)
        return True
    H = np.zeros((n, n))
    if method in (CRBM, CRBM_FROM_BASE):
        inertia_by_centers(l, m, w, q, H)
    else:
        _inertia_by_hinges(l, m, w, q, H)
    done = _solve_from_tip(H, u) if method in (CRBM, CRBM_BY_HINGES) else _solve_from_base(H, u)
    for k in range(n):
        qdd[k] = u[k]
    return done


@entry
def accelerate_often(
    l: Floats, m: Floats, w: Floats, q: Floats, method: int, times: int, qdd: Floats
) -> float:
    total, zero = 0.0, np.zeros(q.shape[0])
    for _ in range(times):
        accelerate(l, m, w, q, zero, zero, GRAVITY, method, qdd)
        total += qdd[0]
    return total
