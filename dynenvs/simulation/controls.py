"""Controls of actuators: checked, and put where a step finds them.

Where no force of a model's actuators follows the state, controls become joint forces before a call;
else the step makes the forces, anew in each time step (`dynenvs.dynamics.servos`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dynenvs.memory.layout import Bytes, Floats, open_work
from dynenvs.model.actuators import actuator_forces
from dynenvs.model.model import Model


def check_alone(tau: ArrayLike | None, model: Model) -> None:
    """Raise a ValueError where controls come with forces, or there are no actuators."""
    if tau is not None:
        raise ValueError("give either tau or control: actuators make the forces of their controls")
    if not model.actuators:
        raise ValueError(
            "the model has no actuators that controls could be of: give forces, or add some "
            "(ModelBuilder.actuator)"
        )


def idle(model: Model, count: int) -> Floats:
    """Of each world, 1 where controls act, else 0; then its controls; (count, 1 + nservos)."""
    return np.zeros((count, 1 + int(model.header.nservos)))


def put(model: Model, buffer: Bytes, row: Floats) -> None:
    """One world's row of `idle` into a workspace of a model with servos."""
    w = open_work(model.packed, buffer)
    w.servo_work["control"] = row[1:]
    w.driven[0] = row[0]


def take(model: Model, control: Floats, controls: Floats) -> Floats | None:
    """Let controls act in the step, or make forces of them.

    Args:
        model: with actuators.
        control: of each world, shape (count, actuators).
        controls: rows of `idle`, for those worlds; written where the model has servos.

    Returns:
        Joint forces, shape (count, nu); None where the step will make them.
    """
    if model.header.nservos:
        controls[:, 0], controls[:, 1:] = 1.0, control
        return None
    return actuator_forces(model, control, np.zeros(model.nq), np.zeros(model.nv))
