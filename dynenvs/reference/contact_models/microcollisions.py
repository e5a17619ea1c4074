"""All contact as impacts, resting ones as many small ones (Mirtich and Canny 1995; Cloutier
1995, section 6.5.3).

Velocities change as in free flight; what then approaches within a thin shell collides
(`impulse.py`), one contact after the other until none approaches, and positions follow.
An approach slower than a fall through the shell would make it is a micro-collision and bounces in
full: the body is held up by being knocked.

Cost: many impacts a second for each resting contact.
What it gives up: a resting body trembles in the shell and drifts; a stack never comes to rest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dynenvs.dynamics.crba import crba
from dynenvs.memory.layout import Floats
from dynenvs.model.model import Model
from dynenvs.model.validation import finite_vector
from dynenvs.reference.contact_models.impulse import collide
from dynenvs.reference.contact_models.touch import Touch, touching
from dynenvs.reference.integrators.system import TreeSystem

SWEEPS = 50  # over the contacts of a step
STEPS = 40  # of an impact


class Trembling(NamedTuple):
    """States at the ends of all steps, the start first."""

    t: Floats  # [s], shape (n,)
    q: Floats  # shape (n, nq)
    v: Floats  # shape (n, nv)
    impacts: int
    unconverged: int  # steps after which some contact still approached


def simulate_microcollisions(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    duration: float,
    *,
    dt: float = 1e-4,
    shell: float = 1e-4,
    restitution: float = 0.0,
) -> Trembling:
    """Move a model for a while.

    Args:
        model: the model.
        q, v: at the start, shapes (nq,) and (nv,).
        duration: [s].
        dt: of the free flight between impacts [s].
        shell: gap within which approaching bodies collide [m].
        restitution: of impacts faster than micro-collisions; features' own do not count.

    Raises:
        ValueError: wrong shapes, not finite, or nonpositive times or shell.
    """
    if not (dt > 0.0 and duration > 0.0 and shell > 0.0):
        raise ValueError(f"duration, dt and shell must be positive, got {duration}, {dt}, {shell}")
    q, v = finite_vector(q, model.nq, "q"), finite_vector(v, model.nv, "v")
    system = TreeSystem(model)
    slow = float(np.sqrt(2.0 * np.linalg.norm(model.header.gravity) * shell))
    states, impacts, unconverged = [(q, v)], 0, 0
    steps = round(duration / dt)
    for i in range(steps):
        # Free flight, then impacts of what approaches within the shell
        v = v + dt * system.acceleration(i * dt, q, v)
        touches = touching(model, q, shell)
        if touches:
            inverse: Floats = np.linalg.inv(crba(model, q)).astype(np.float64)
            v, count, converged = _knock(touches, inverse, v, slow, restitution)
            impacts += count
            unconverged += not converged
        q = system.plus(q, dt * v)
        states.append((q, v))
    q_all, v_all = (np.array(part) for part in zip(*states, strict=True))
    return Trembling(dt * np.arange(steps + 1.0), q_all, v_all, impacts, unconverged)


def _knock(
    touches: list[Touch], inverse: Floats, v: Floats, slow: float, restitution: float
) -> tuple[Floats, int, bool]:
    """Collide what approaches, sweep after sweep: velocity, number of impacts, whether none is
    left."""
    count = 0
    for _ in range(SWEEPS):
        converged = True
        for touch in touches:
            J = touch.jacobian
            u = J @ v
            if u[2] >= -1e-9:
                continue
            converged = False
            e = 1.0 if -u[2] < slow else restitution
            impact = collide(J @ inverse @ J.T, u, touch.friction, e, steps=STEPS)
            v = v + inverse @ (J.T @ impact.impulse)
            count += 1
        if converged:
            return v, count, True
    return v, count, False
