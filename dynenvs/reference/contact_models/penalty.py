"""Springs and dampers where bodies overlap (Cloutier 1995, sections 6.4.1 and 6.5.1).

Depth d, its rate dd, normal force f >= 0 by one of three laws:

* "linear":     f = k d + c dd                      (spring and damper)
* "nonlinear":  f = k d^(3/2) (1 + a dd)            (Hunt and Crossley 1975)
* "two_springs": f = k d while d grows, e^2 k d while it shrinks (Moore and Wilhelms 1988;
  Cloutier's e k gives a velocity ratio of sqrt(e): docs/theory.md, Corrections to the sources)

Friction is Coulomb's with its jump smoothed: f_t = -mu f v_t / max(|v_t|, s), so that what ought to
stick creeps, at about s times the load over its limit.

Cost: one evaluation of the dynamics a stage, but steps must resolve sqrt(m / k).
What it gives up: bodies overlap by f / k, energy depends on the step, nothing sticks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dynenvs.memory.layout import Floats
from dynenvs.model.model import Model
from dynenvs.reference.contact_models.touch import Touch, touching


@dataclass(frozen=True)
class Penalty:
    """Generalized forces of contact by springs; pass it to `simulate` as `tau`.

    Attributes:
        model: the model.
        stiffness: k [N/m], or [N/m^1.5] of the nonlinear law.
        damping: c [N s/m] (linear), a [s/m] (nonlinear); of two springs, the restitution e.
        law: one of `LAWS`.
        slip: s, below which friction is viscous [m/s].

    Raises:
        ValueError: unknown law, or a parameter out of range.
    """

    model: Model
    stiffness: float
    damping: float = 0.0
    law: str = "linear"
    slip: float = 1e-3

    def __post_init__(self) -> None:
        if self.law not in LAWS:
            raise ValueError(f"unknown law {self.law!r}; choose from: {', '.join(LAWS)}")
        if not (self.stiffness > 0.0 and self.damping >= 0.0 and self.slip > 0.0):
            raise ValueError(
                "stiffness and slip must be positive, damping not negative; got "
                f"{self.stiffness}, {self.slip}, {self.damping}"
            )

    def __call__(self, time: float, q: Floats, v: Floats) -> Floats:
        """Generalized forces of all contacts, shape (nv,)."""
        tau = np.zeros(self.model.nv)
        for touch in touching(self.model, q):
            tau += touch.jacobian.T @ self.force(touch, touch.jacobian @ v)
        return tau

    def force(self, touch: Touch, velocity: Floats) -> Floats:
        """Force along (t1, t2, n) for a relative `velocity` along them [N], shape (3,)."""
        normal = max(0.0, LAWS[self.law](self.stiffness, self.damping, -touch.gap, -velocity[2]))
        speed = float(np.hypot(velocity[0], velocity[1]))
        drag = touch.friction * normal / max(speed, self.slip)
        return np.array([-drag * velocity[0], -drag * velocity[1], normal])


def _linear(stiffness: float, damping: float, depth: float, rate: float) -> float:
    return stiffness * depth + damping * rate


def _nonlinear(stiffness: float, damping: float, depth: float, rate: float) -> float:
    return float(stiffness * depth**1.5 * (1.0 + damping * rate))


def _two_springs(stiffness: float, restitution: float, depth: float, rate: float) -> float:
    return stiffness * depth * (1.0 if rate > 0.0 else restitution * restitution)


LAWS: dict[str, Callable[[float, float, float, float], float]] = {
    "linear": _linear,
    "nonlinear": _nonlinear,
    "two_springs": _two_springs,
}
