"""Cloutier's robot (1995, figure 5.1): rectangular links hinged in a vertical plane.

Links of length l, width w and mass m, moment m (l^2 + w^2) / 12, hinged at the middles of their
short edges; relative angles, zero along the horizontal.  Its dynamics: `planar_kernels.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dynenvs.memory.layout import Floats
from dynenvs.reference.integrators.cash_karp import adaptive_steps
from studies.reproduce.planar_kernels import (
    GRAVITY,
    accelerate,
    accelerate_often,
    inertia_by_centers,
)


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
        accelerate_often(*self._parts, q, method, times, np.empty(len(q)))

    def inertia(self, q: Floats) -> Floats:
        """H [kg m^2], shape (n, n)."""
        H = np.zeros((len(q), len(q)))
        inertia_by_centers(*self._parts, q, H)
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
