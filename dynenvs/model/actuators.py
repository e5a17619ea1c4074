"""From controls of a model's actuators to joint forces."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynenvs.memory.layout import Floats
from dynenvs.model.model import Model

_GATHERED: WeakKeyDictionary[Model, tuple[Floats, ...]] = WeakKeyDictionary()


def actuator_forces(model: Model, control: ArrayLike, q: ArrayLike, v: ArrayLike) -> Floats:
    """Forces of the actuated coordinates, as `World.step` takes them.

    Each actuator's force is clip(gain . (1, l, l') clip(control) + bias . (1, l, l')), see
    `dynenvs.model.annotations.Actuator`; their sum on each joint is clipped to its effort.
    Position and velocity servos are computed at the state that is given, as MuJoCo's Euler
    integrator does.

    Args:
        model: with actuators.
        control: one number for each, in the order of `model.actuators`, shape (..., n).
        q: positions, shape (..., nq).
        v: velocities, shape (..., nv).

    Returns:
        Forces [N m or N], shape (..., nu).

    Raises:
        ValueError: wrong shape, or a control that is not a number.
    """
    given = np.asarray(control, dtype=np.float64)
    qs, vs = np.asarray(q, dtype=np.float64), np.asarray(v, dtype=np.float64)
    for name, array, size in (
        ("control", given, len(model.actuators)),
        ("q", qs, model.nq),
        ("v", vs, model.nv),
    ):
        if array.shape[-1:] != (size,):
            raise ValueError(f"{name} must have shape (..., {size}), got {array.shape}")
    if np.isnan(given).any():
        raise ValueError("control must not be NaN")
    gears, lengths, gain, bias, limits, clips = _arrays(model)
    length, speed = qs @ lengths.T, vs @ gears.T
    given = np.clip(given, limits[:, 0], limits[:, 1])
    force = (gain[:, 0] + gain[:, 1] * length + gain[:, 2] * speed) * given
    force = force + (bias[:, 0] + bias[:, 1] * length + bias[:, 2] * speed)
    force = np.clip(force, clips[:, 0], clips[:, 1])
    effort = model.effort_limit[model.actuated]
    joint: Floats = np.clip((force @ gears)[..., model.actuated], -effort, effort)
    return joint


def _arrays(model: Model) -> tuple[Floats, ...]:
    """All numbers of a model's actuators, gathered at the first call."""
    if model not in _GATHERED:
        _GATHERED[model] = (*_gears(model), *_laws(model))
    return _GATHERED[model]


def _gears(model: Model) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Of each actuator: d velocity / d v, shape (n, nv), and d length / d q, shape (n, nq)."""
    gears = np.zeros((len(model.actuators), model.nv))
    lengths = np.zeros((len(model.actuators), model.nq))
    for i, actuator in enumerate(model.actuators):
        for joint, gear in actuator.gears:
            at = model.velocity_index(joint)
            gears[i, at : at + len(gear)] += gear
            if len(gear) == 1:
                lengths[i, model.position_index(joint)] += gear[0]
    return gears, lengths


def _laws(model: Model) -> tuple[Floats, Floats, Floats, Floats]:
    """Gains and biases, shapes (n, 3), ranges of controls and forces, shapes (n, 2)."""
    n = len(model.actuators)
    return (
        np.array([a.gain for a in model.actuators], dtype=np.float64).reshape(n, 3),
        np.array([a.bias for a in model.actuators], dtype=np.float64).reshape(n, 3),
        np.array([a.control_range for a in model.actuators], dtype=np.float64).reshape(n, 2),
        np.array([a.force_range for a in model.actuators], dtype=np.float64).reshape(n, 2),
    )
