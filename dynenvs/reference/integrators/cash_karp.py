"""Adaptive Runge-Kutta of Cash and Karp, as Cloutier 1995 used it.

Order five with an error estimate of order four embedded; step control by Press et al., Numerical
Recipes (2nd ed.), `odeint` and `rkqs`: the largest error relative to |y| + |h y'| is kept below
the tolerance.  A step costs one evaluation and an attempt at it five.  Its counts:

* good: steps that were taken with the length they were begun with; bad: with a shorter one;
* evaluations: good + bad + 5 attempts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from dynenvs.memory.layout import Floats
from dynenvs.reference.integrators.system import IntegrationError

SAFETY, GROW, SHRINK = 0.9, -0.2, -0.25
GROW_BELOW = 1.89e-4  # (5 / SAFETY)^(1 / GROW): smaller errors let the step grow fivefold
TINY = 1e-30
FIRST_STEP = 0.01  # [s], Cloutier 1995

NODES = (0.0, 1 / 5, 3 / 10, 3 / 5, 1.0, 7 / 8)
STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (3 / 10, -9 / 10, 6 / 5),
    (-11 / 54, 5 / 2, -70 / 27, 35 / 27),
    (1631 / 55296, 175 / 512, 575 / 13824, 44275 / 110592, 253 / 4096),
)
FIFTH = np.array([37 / 378, 0.0, 250 / 621, 125 / 594, 0.0, 512 / 1771])
ERROR = FIFTH - np.array([2825 / 27648, 0.0, 18575 / 48384, 13525 / 55296, 277 / 14336, 1 / 4])
ROWS = tuple(np.array(row) for row in STAGES)

Derivative = Callable[[float, Floats], Floats]


class Step(NamedTuple):
    """An accepted step."""

    t: float  # at its end [s]
    y: Floats
    good: bool  # taken with the length that it was begun with


def cash_karp_step(
    f: Derivative, t: float, y: Floats, slope: Floats, h: float
) -> tuple[Floats, Floats]:
    """y at t + h of order five, and its estimated error, from slope = f(t, y)."""
    slopes = np.empty((6, len(y)))
    slopes[0] = slope
    for i, row in enumerate(ROWS, 1):
        slopes[i] = f(t + NODES[i] * h, y + h * (row @ slopes[:i]))
    return y + h * (FIFTH @ slopes), h * (ERROR @ slopes)


def adaptive_steps(
    f: Derivative, y: Floats, end: float, tolerance: float, first_step: float = FIRST_STEP
) -> Iterator[Step]:
    """Steps from 0 to `end` [s].

    Args:
        f: y' = f(t, y).
        y: at t = 0.
        end: [s].
        tolerance: of an entry's error a step, relative to |y| + |h y'|.
        first_step: length that the first step is begun with [s].

    Raises:
        IntegrationError: the step's length underflows.
    """
    t, h = 0.0, first_step
    while t < end:
        # One slope for all attempts at a step
        slope = f(t, y)
        scale = np.abs(y) + np.abs(h * slope) + TINY
        h = begun = min(h, end - t)
        while True:
            after, error = cash_karp_step(f, t, y, slope, h)
            worst = float(np.max(np.abs(error) / scale)) / tolerance
            if worst <= 1.0:
                break
            # A state that is not finite gives a NaN here, which shortens the step most
            shorter = SAFETY * h * worst**SHRINK if np.isfinite(worst) else 0.0
            h = max(shorter, 0.1 * h)
            if t + h == t:
                raise IntegrationError(f"the step's length underflows at t = {t:.6g} s")
        # The last step ends at the end, whatever the sum of steps has rounded to
        last = h == end - t
        t, y = (end if last else t + h), after
        yield Step(t, y, h == begun)
        h = SAFETY * h * worst**GROW if worst > GROW_BELOW else 5.0 * h
