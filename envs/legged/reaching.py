"""Where a limb's joints must be for a point at its end to be where it is wanted.

The sum of squares of what a point and two directions p miss, |A p - b|^2 / 2, and of how far the
joints are from where they are wanted, is minimised within the joints' limits by Newton's method
with exact derivatives: for a hinge i before a joint j, the second derivative of p is a_i x dp/dq_j.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dynenvs.memory.layout import Floats

MOST_STEPS = 40
FLAT = 1e-9  # of the gradient, relative to the goal's weight, from which on a limb has arrived
SMALLEST_STEP = 1e-9  # of joints [rad]
LITTLE = 1e-12  # share of the cost by which a step must lower it to go on
LEAST_DAMPING, MOST_DAMPING = 1e-8, 1e3  # of the goal's weight; with the most, a point is a corner


class Reach(NamedTuple):
    """A point at the end of a limb, and two directions there, at some positions of its joints."""

    point: Floats  # place [m] and directions [-], shape (9,)
    rates: Floats  # their change with each joint [m/rad or -], shape (n, 9)
    axes: Floats  # of hinges [-], zero of slides, shape (n, 3)


class Goal(NamedTuple):
    """What is wanted of the point and the joints: |A p - b|^2 + |weight (x - middle)|^2."""

    A: Floats  # shape (m, 9)
    b: Floats  # shape (m,)
    weight: float
    middle: Floats  # shape (n,)

    def cost(self, reach: Reach, x: Floats) -> float:
        """Half of the sum of squares."""
        miss, bend = self.A @ reach.point - self.b, self.weight * (x - self.middle)
        return 0.5 * float(miss @ miss + bend @ bend)

    def slope(self, reach: Reach, x: Floats) -> tuple[Floats, Floats]:
        """Gradient and second derivatives, shapes (n,) and (n, n)."""
        pull = self.A.T @ (self.A @ reach.point - self.b)
        lever = reach.rates @ self.A.T
        gradient = reach.rates @ pull + self.weight**2 * (x - self.middle)
        # pull . (a_i x r_j) for i <= j
        turned = crossed(reach.rates.reshape(-1, 3, 3), pull.reshape(3, 3)).sum(axis=1)
        bent = np.triu(reach.axes @ turned.T)
        bent += np.triu(bent, 1).T
        return gradient, lever @ lever.T + bent + self.weight**2 * np.eye(len(x))


def crossed(a: Floats, b: Floats) -> Floats:
    """a x b along the last axis, in a third of `np.cross`'s time for few vectors."""
    ax, ay, az = a[..., 0], a[..., 1], a[..., 2]
    bx, by, bz = b[..., 0], b[..., 1], b[..., 2]
    return np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=-1)


def reach_for(
    goal: Goal, reach_at: Callable[[Floats], Reach], x: Floats, lower: Floats, upper: Floats
) -> tuple[Floats, float]:
    """Positions of a limb's joints near a start for a goal, and half the sum of squares left.

    Args:
        goal: what is wanted.
        reach_at: the point for positions of the joints, shape (n,).
        x: the start, shape (n,).
        lower, upper: limits, shape (n,).
    """
    reach, damping = reach_at(x), LEAST_DAMPING
    cost = goal.cost(reach, x)
    for _ in range(MOST_STEPS):
        gradient, curve = goal.slope(reach, x)
        held = ((x <= lower) & (gradient > 0.0)) | ((x >= upper) & (gradient < 0.0))
        free = np.flatnonzero(~held)
        scale = float(np.abs(goal.A).max() ** 2)
        if not len(free) or float(np.abs(gradient[free]).max()) < FLAT * scale:
            break
        values, ways = np.linalg.eigh(curve[np.ix_(free, free)])
        found = False
        while not found and damping < MOST_DAMPING:
            step = np.zeros(len(x))
            # Downhill along ways of negative curvature, too
            stiffness = np.maximum(np.abs(values), 1e-12 * scale) + damping * scale
            step[free] = -ways @ (ways.T @ gradient[free] / stiffness)
            there = np.clip(x + step, lower, upper)
            tried = reach_at(there)
            found = goal.cost(tried, there) < cost
            damping = max(damping / 30.0, LEAST_DAMPING) if found else damping * 30.0
        if not found:
            break
        moved, before = float(np.abs(there - x).max()), cost
        x, reach, cost = there, tried, goal.cost(tried, there)
        if moved < SMALLEST_STEP or before - cost < LITTLE * before:
            break
    return x, cost
