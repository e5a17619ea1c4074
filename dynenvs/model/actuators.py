"""From controls of a model's actuators to joint forces."""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynenvs.memory.layout import Floats
from dynenvs.model.model import Model


class _Arrays(NamedTuple):
    """All numbers of a model's n actuators."""

    speeds: Floats  # d velocity / d v, shape (n, nv)
    lengths: Floats  # d length / d q, shape (n, nq)
    gears: Floats  # joint force of each actuated coordinate per force, shape (n, nu)
    gain: Floats  # shape (3, n)
    bias: Floats
    controls: Floats  # ranges, shape (2, n)
    forces: Floats
    effort: Floats  # shape (nu,)
    follow: bool  # whether a force depends on the state


_GATHERED: WeakKeyDictionary[Model, _Arrays] = WeakKeyDictionary()


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
        ValueError: wrong shape, or a control that is not a number; or an actuator pulls along a
            path or pushes a site, whose forces are no joint forces: give `World.step` the control.
    """
    # Leading axes broadcast: shapes are checked by their last axis alone
    given = np.asarray(control, dtype=np.float64)
    qs, vs = np.asarray(q, dtype=np.float64), np.asarray(v, dtype=np.float64)
    for name, array, size in (
        ("control", given, len(model.actuators)),
        ("q", qs, model.nq),
        ("v", vs, model.nv),
    ):
        if array.shape[-1:] != (size,):
            raise ValueError(f"{name} must have shape (..., {size}), got {array.shape}")
    # What depends on the pose has no constant gears
    bent = next((one.name for one in model.actuators if one.bends), None)
    if bent is not None:
        raise ValueError(
            f"actuator {bent!r} gives the coordinates what the pose says, no joint forces: give "
            "World.step the control"
        )
    if np.isnan(given).any():
        raise ValueError("control must not be NaN")
    a = _arrays(model)
    # Control, law, force: clipped before and after
    given = _clipped(given, *a.controls)
    force = a.gain[0] * given + a.bias[0]
    if a.follow:
        length, speed = qs @ a.lengths.T, vs @ a.speeds.T
        force = force + (a.gain[1] * length + a.gain[2] * speed) * given
        force = force + (a.bias[1] * length + a.bias[2] * speed)
    shape = np.broadcast_shapes(given.shape[:-1], qs.shape[:-1], vs.shape[:-1])
    force = np.broadcast_to(force, (*shape, given.shape[-1]))
    return _clipped(_clipped(force, *a.forces) @ a.gears, -a.effort, a.effort)


def steady_laws(model: Model) -> tuple[Floats, Floats]:
    """What makes joint forces of controls where no force follows the state.

    Returns:
        Of each of n actuators its gain, its bias, and the ranges of its control and its force,
        shape (n, 6); the joint force of each actuated coordinate per force, shape (n, nu).
    """
    a = _arrays(model)
    rows = a.gain[0], a.bias[0], *a.controls, *a.forces
    return np.stack(rows, axis=1), a.gears


def _clipped(values: Floats, low: Floats, high: Floats) -> Floats:
    """np.clip, in a third of its time for few numbers."""
    out: Floats = np.minimum(np.maximum(values, low), high)
    return out


def _arrays(model: Model) -> _Arrays:
    """All numbers of a model's actuators, gathered at the first call."""
    if model not in _GATHERED:
        speeds, lengths = _gears(model)
        gain, bias, controls, forces = (law.T.copy() for law in _laws(model))
        gears, effort = speeds[:, model.actuated].copy(), model.effort_limit[model.actuated]
        follow = bool(gain[1:].any() or bias[1:].any())
        _GATHERED[model] = _Arrays(
            speeds, lengths, gears, gain, bias, controls, forces, effort, follow
        )
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
