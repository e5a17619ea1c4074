"""What an integrator sees of a mechanical system: accelerations, and how its positions move."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from dynenvs.dynamics.aba import aba
from dynenvs.kinematics.joints import integrate, normalise
from dynenvs.memory.layout import Floats, open_model
from dynenvs.memory.records import FREE, SPHERICAL
from dynenvs.model.model import Model
from dynenvs.model.validation import finite_vector
from dynenvs.reference.methods import METHODS, forward_dynamics

Force = Callable[[float, Floats, Floats], Floats]  # (t [s], q, v) to generalized forces (nv,)


class IntegrationError(ArithmeticError):
    """A step that does not converge, a step size of zero, or a state that is not finite."""


class System(Protocol):
    """A mechanical system qdot = rate(q, v), vdot = acceleration(t, q, v).

    `rate` is the derivative of the stored coordinates, of shape (nq,); `plus` moves along the
    manifold that they live on (unit quaternions) exactly, for a tangent vector of shape (nv,).
    """

    def acceleration(self, time: float, q: Floats, v: Floats) -> Floats:
        """Shape (nv,)."""
        ...

    def rate(self, q: Floats, v: Floats) -> Floats:
        """qdot, shape (nq,)."""
        ...

    def plus(self, q: Floats, step: Floats) -> Floats:
        """q (+) step, shape (nq,)."""
        ...

    def normalised(self, q: Floats) -> Floats:
        """The point of the manifold next to q, shape (nq,)."""
        ...


class Euclidean:
    """A system whose positions are plain numbers, with qdot = v.

    Args:
        acceleration: (t [s], q, v) to vdot.
    """

    def __init__(self, acceleration: Force) -> None:
        self.acceleration = acceleration

    def rate(self, q: Floats, v: Floats) -> Floats:
        """qdot = v."""
        return v

    def plus(self, q: Floats, step: Floats) -> Floats:
        """q + step."""
        return q + step

    def normalised(self, q: Floats) -> Floats:
        """q itself."""
        return q


class TreeSystem:
    """A model without contact.

    Args:
        model: the model.
        tau: generalized forces of all coordinates [N m, N], shape (nv,); a function of
            (t, q, v) that returns them; or none.
        dynamics: "aba" (compiled), or one of `dynenvs.reference.methods.METHODS`.

    Raises:
        ValueError: unknown dynamics, or forces of another shape or not finite.
    """

    def __init__(
        self, model: Model, tau: Floats | Force | None = None, dynamics: str = "aba"
    ) -> None:
        if dynamics != "aba" and dynamics not in METHODS:
            known = ", ".join(["aba", *METHODS])
            raise ValueError(f"unknown dynamics {dynamics!r}; choose from: {known}")
        self.model, self.dynamics = model, dynamics
        self._force: Force
        if callable(tau):
            self._force = tau
        else:
            constant = np.zeros(model.nv) if tau is None else finite_vector(tau, model.nv, "tau")
            self._force = lambda t, q, v: constant
        self._view = open_model(model.packed)
        self._turns = [
            (int(body.q_at) + (3 if body.joint == FREE else 0), int(body.v_at + body.nv) - 3)
            for body in model.bodies[1:]
            if body.joint in (SPHERICAL, FREE)
        ]

    def acceleration(self, time: float, q: Floats, v: Floats) -> Floats:
        """vdot, shape (nv,)."""
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            raise IntegrationError(
                f"the state is not finite at t = {time:.6g} s: the step is too long"
            )
        # Quaternions are added up as numbers by some methods: they have lost their length
        q, tau = self.normalised(q), self._force(time, q, v)
        if self.dynamics == "aba":
            return aba(self.model, q, v, tau)
        return forward_dynamics(self.model, q, v, tau, method=self.dynamics)

    def rate(self, q: Floats, v: Floats) -> Floats:
        """qdot: v itself but for quaternions, whose rate is half of q times (0; omega)."""
        out = np.empty(self.model.nq)
        # What has no quaternion moves with its velocity
        for body in self.model.bodies[1:]:
            plain = {SPHERICAL: 0, FREE: 3}.get(int(body.joint), int(body.nv))
            q_at, v_at = int(body.q_at), int(body.v_at)
            out[q_at : q_at + plain] = v[v_at : v_at + plain]
        for q_at, v_at in self._turns:
            w, x, y, z = q[q_at : q_at + 4]
            a, b, c = v[v_at : v_at + 3]
            out[q_at] = -(x * a + y * b + z * c) / 2
            out[q_at + 1] = (w * a + y * c - z * b) / 2
            out[q_at + 2] = (w * b + z * a - x * c) / 2
            out[q_at + 3] = (w * c + x * b - y * a) / 2
        return out

    def plus(self, q: Floats, step: Floats) -> Floats:
        """q (+) step, quaternions by the exponential map."""
        out = np.empty(self.model.nq)
        integrate(self._view, q, step, 1.0, out)
        return out

    def normalised(self, q: Floats) -> Floats:
        """q with quaternions of length one."""
        if not self._turns:
            return q
        out = q.copy()
        normalise(self._view, out)
        return out


class Counting:
    """A system that counts how often its acceleration is evaluated."""

    def __init__(self, system: System) -> None:
        self.system, self.evaluations = system, 0
        self.rate, self.plus, self.normalised = system.rate, system.plus, system.normalised

    def acceleration(self, time: float, q: Floats, v: Floats) -> Floats:
        """vdot of the system."""
        self.evaluations += 1
        return self.system.acceleration(time, q, v)
