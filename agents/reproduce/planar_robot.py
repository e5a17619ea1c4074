"""Source 003's robot: rectangular links in a vertical plane, and its dynamics as compiled kernels.

Links of length l, width w and mass m, moment m (l^2 + w^2) / 12, hinged at the middles of their
short edges; relative angles, zero along the horizontal.  Spatial vectors of the plane are
(turn; along the link, across it), in link frames at the proximal hinges.  As there, the bias b
comes from the recursive Newton-Euler algorithm first, and H qdd = tau - b is then solved by

* the composite-rigid-body method with Cholesky factors (`CRBM`),
* the articulated-body method (`ABM`), and
* its bad form, which adds a child's inertia before it projects (`BAD_ABM`).

`dynenvs.methods` has the same methods for any tree; here they are fast enough for the millions of
evaluations of section 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dynenvs.compiled import kernel
from dynenvs.integrators.cash_karp import adaptive_steps
from dynenvs.layout import Floats

ABM, CRBM, BAD_ABM = range(3)
GRAVITY = 9.8  # [m/s^2], source 003


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
        s, c = math.sin(q[k]), math.cos(q[k])
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
            _shift_up(f[k], l[k - 1], math.sin(q[k]), math.cos(q[k]), f[k - 1])


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
            s, c = math.sin(q[k + 1]), math.cos(q[k + 1])
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
        _to_child(a, l[k - 1] if k else 0.0, math.sin(q[k]), math.cos(q[k]), a)
        qdd[k] = (e[k] - U[k, 0] * a[0] - U[k, 1] * a[1] - U[k, 2] * a[2]) / D[k]
        a[0] += qdd[k]


@kernel
def inertia_of_joints(l: Floats, m: Floats, w: Floats, q: Floats, H: Floats) -> None:
    """H, shape (n, n), by composite bodies: mass, centre and moment about the hinge."""
    n = q.shape[0]
    mass, x, y, moment = 0.0, 0.0, 0.0, 0.0
    f = np.zeros(3)
    for k in range(n - 1, -1, -1):
        if k < n - 1:
            # Parallel axes: from the child's hinge to its centre, and to this hinge
            s, c = math.sin(q[k + 1]), math.cos(q[k + 1])
            moment -= mass * (x * x + y * y)
            x, y = l[k] + c * x - s * y, s * x + c * y
            moment += mass * (x * x + y * y)
        half = l[k] / 2
        total = mass + m[k]
        moment += m[k] * (l[k] ** 2 + w[k] ** 2) / 12 + m[k] * half * half
        x, y = (mass * x + m[k] * half) / total, mass * y / total
        mass = total
        f[0], f[1], f[2] = moment, -mass * y, mass * x
        H[k, k] = moment
        for j in range(k, 0, -1):
            above = np.zeros(3)
            _shift_up(f, l[j - 1], math.sin(q[j]), math.cos(q[j]), above)
            f[:] = above
            H[k, j - 1] = H[j - 1, k] = f[0]


@kernel
def _cholesky_solve(H: Floats, x: Floats) -> bool:
    """x <- H^-1 x, H overwritten; False if it is not positive definite."""
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
    if method != CRBM:
        _articulated(l, m, w, q, u, method == BAD_ABM, qdd)
        return True
    H = np.zeros((n, n))
    inertia_of_joints(l, m, w, q, H)
    done = _cholesky_solve(H, u)
    for k in range(n):
        qdd[k] = u[k]
    return done


@kernel
def _accelerate_often(
    l: Floats, m: Floats, w: Floats, q: Floats, method: int, times: int, qdd: Floats
) -> float:
    total, zero = 0.0, np.zeros(q.shape[0])
    for _ in range(times):
        accelerate(l, m, w, q, zero, zero, GRAVITY, method, qdd)
        total += qdd[0]
    return total


@dataclass(frozen=True)
class PlanarRobot:
    """A chain of links: lengths [m], masses [kg] and widths [m], each of shape (n,)."""

    lengths: Floats
    masses: Floats
    widths: Floats

    @classmethod
    def regular(cls, links: int, length: float, mass: float, width: float) -> PlanarRobot:
        """Equal links."""
        return cls(*(np.full(links, float(value)) for value in (length, mass, width)))

    @property
    def _parts(self) -> tuple[Floats, Floats, Floats]:
        return self.lengths, self.masses, self.widths

    def acceleration(self, q: Floats, v: Floats, tau: Floats, method: int) -> Floats:
        """qdd [rad/s^2], shape (n,); ArithmeticError where H is not positive definite."""
        qdd = np.empty(len(q))
        if not accelerate(*self._parts, q, v, tau, GRAVITY, method, qdd):
            raise ArithmeticError("the joint-space inertia is not positive definite")
        return qdd

    def accelerate_often(self, q: Floats, method: int, times: int) -> None:
        """Evaluate at rest so many times, in compiled code: for taking the time."""
        _accelerate_often(*self._parts, q, method, times, np.empty(len(q)))

    def inertia(self, q: Floats) -> Floats:
        """H [kg m^2], shape (n, n)."""
        H = np.zeros((len(q), len(q)))
        inertia_of_joints(*self._parts, q, H)
        return H

    def energy(self, q: Floats, v: Floats) -> float:
        """Kinetic plus potential energy [J], zero at rest as low as the robot reaches."""
        angle, turned, x, y = np.cumsum(q), np.cumsum(v), np.zeros(2), np.zeros(2)
        total, reach = 0.0, float(self.lengths.sum())
        for k, (l, m, w) in enumerate(zip(*self._parts, strict=True)):
            along = np.array([np.cos(angle[k]), np.sin(angle[k])])
            across = turned[k] * np.array([-along[1], along[0]])
            center, speed = x + l / 2 * along, y + l / 2 * across
            moment = m * (l * l + w * w) / 12
            total += m * speed @ speed / 2 + moment * turned[k] ** 2 / 2
            total += m * GRAVITY * (center[1] + reach)
            x, y = x + l * along, y + l * across
        return float(total)


@dataclass
class Run:
    """A simulated motion and its counts."""

    t: list[float]
    y: list[Floats]  # (q, v)
    good: int = 0
    bad: int = 0
    evaluations: int = 0


def simulate_robot(
    robot: PlanarRobot,
    q: Floats,
    seconds: float,
    tolerance: float,
    method: int,
    *,
    tau: Floats | None = None,
    limit: int = 500_000,
    tick: Callable[[float], None] = lambda done: None,
) -> Run:
    """Move from rest by Cash-Karp steps.

    Args:
        robot: the robot.
        q: angles at the start [rad], shape (n,).
        seconds: how long [s].
        tolerance: of a step.
        method: ABM, CRBM or BAD_ABM.
        tau: constant torques [N m], shape (n,); none if None.
        limit: evaluations after which the integration counts as failed.
        tick: told the done part of the time after each step.

    Raises:
        ArithmeticError: indefinite inertia, a step of length zero, or the limit.
    """
    n = len(q)
    forces = np.zeros(n) if tau is None else tau
    run = Run([0.0], [np.concatenate([q, np.zeros(n)])])

    def derivative(t: float, y: Floats) -> Floats:
        run.evaluations += 1
        if run.evaluations > limit:
            raise ArithmeticError(f"more than {limit} evaluations, at t = {t:.6g} s")
        v = y[n:]
        return np.concatenate([v, robot.acceleration(y[:n], v, forces, method)])

    for step in adaptive_steps(derivative, run.y[0], seconds, tolerance):
        run.t.append(step.t)
        run.y.append(step.y)
        run.good += step.good
        run.bad += not step.good
        tick(step.t / seconds)
    return run
