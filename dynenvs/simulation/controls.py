"""What worlds are given in a step: checked, and put where the step finds it.

Where no force of a model's actuators follows the state, controls become joint forces before a call;
else the step makes the forces, anew in each time step (`dynenvs.dynamics.servos`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynenvs.jit.compiled import bind, entry, inlined
from dynenvs.memory.layout import Bytes, Floats, Ints, Matrix, WorkView
from dynenvs.model.actuators import steady_laws
from dynenvs.model.model import Model

Flags = NDArray[np.bool_]
Check = Callable[[Any, tuple[int, ...], str, Flags | None], Floats]


@inlined
def is_finite(values: Matrix, chosen: Bytes) -> bool:
    """Whether all numbers in the rows of `chosen` are finite."""
    for i in range(values.shape[0]):
        for k in range(values.shape[1]):
            if chosen[i] != 0 and not math.isfinite(values[i, k]):
                return False
    return True


@entry(seconds=0.5)
def _put_forces(forces: Matrix, chosen: Bytes, motors: Ints, limit: Floats, tau: Matrix) -> bool:
    """Within limits into `tau`, shape (count, nv); False, and nothing done, if not all finite."""
    if not is_finite(forces, chosen):
        return False
    for i in range(forces.shape[0]):
        for k in range(motors.shape[0]):
            if chosen[i] != 0:
                tau[i, motors[k]] = min(max(forces[i, k], -limit[k]), limit[k])
    return True


@entry(seconds=0.5)
def _put_controls(
    control: Matrix,
    chosen: Bytes,
    laws: Matrix,
    gears: Matrix,
    motors: Ints,
    limit: Floats,
    tau: Matrix,
) -> bool:
    """The same of forces that actuators make of controls and do not follow the state.

    laws: of each of n actuators its gain, bias, and ranges of control and force, shape (n, 6)
    gears: of each force on each actuated coordinate, shape (n, nu)
    """
    if not is_finite(control, chosen):
        return False
    for i in range(control.shape[0]):
        if chosen[i] == 0:
            continue
        for j in range(motors.shape[0]):
            # Each actuator's law, then its share in every coordinate; clipped before and after
            total = 0.0
            for k in range(control.shape[1]):
                law = laws[k]
                force = law[0] * min(max(control[i, k], law[2]), law[3]) + law[1]
                total += min(max(force, law[4]), law[5]) * gears[k, j]
            tau[i, motors[j]] = min(max(total, -limit[j]), limit[j])
    return True


@entry(seconds=0.5)
def _put_servos(
    control: Matrix, chosen: Bytes, motors: Ints, tau: Matrix, controls: Matrix
) -> bool:
    """Controls of actuators of which some are servos: the step will make their forces.

    Into `controls`, as `Inputs` has them, and nothing into `tau`; False, and nothing done, if not
    all finite.
    """
    if not is_finite(control, chosen):
        return False
    for i in range(control.shape[0]):
        controls[i, 0] = 1.0
        for k in range(control.shape[1]):
            controls[i, 1 + k] = control[i, k]
        for k in range(motors.shape[0]):
            if chosen[i] != 0:
                tau[i, motors[k]] = 0.0
    return True


def put_controls(w: WorkView, controls: Floats) -> None:
    """A world's row of `Inputs.controls` into a workspace of a model with servos."""
    w.servo_work["control"] = controls[1:]
    w.driven[0] = controls[0]


class Inputs:
    """Forces or controls of worlds; its arrays are made once, for a step takes microseconds.

    Args:
        model: what the worlds are.
        tau: where forces of all coordinates go, shape (count, nv).
        lead: what shapes that are given begin with: (count,), or () of a single world.

    Attributes:
        controls: of each world, where the model has servos: 1 where controls act, else 0; then its
            controls; shape (count, 1 + nservos).
    """

    def __init__(self, model: Model, tau: Floats, lead: tuple[int, ...]) -> None:
        self._model, self._tau = model, tau
        count = len(tau)
        self.controls = np.zeros((count, 1 + int(model.header.nservos)))
        self._has_servos = bool(model.header.nservos)
        self._chosen, self._takes_all = np.ones(count, np.uint8), True
        self._forces = np.zeros((count, model.nu))
        self._control = np.zeros((count, len(model.actuators)))
        self._shapes = {"tau": (*lead, model.nu), "control": (*lead, len(model.actuators))}
        self._put: Callable[[], bool] | None = None
        self._put_control: Callable[[], bool] | None = None

    def take(
        self,
        tau: ArrayLike | None,
        control: ArrayLike | None,
        chosen: Flags | None,
        check: Check,
    ) -> None:
        """Forces, controls, or neither.

        Args:
            tau: shape (..., nu).
            control: shape (..., actuators).
            chosen: which worlds, shape (count,); all if None.
            check: gives what is no array of floats its form, or raises; given the shape, the name
                and `chosen`.

        Raises:
            ValueError: what `check` raises; both are given, or controls of no actuators.
        """
        # Which take part is written only when it has changed
        if chosen is not None or not self._takes_all:
            self._takes_all = chosen is None
            self._chosen[:] = True if chosen is None else chosen
        if self._has_servos:
            self.controls[:] = 0.0
        if control is not None and tau is not None:
            raise ValueError(
                "give either tau or control: actuators make the forces of their controls"
            )
        if control is None:
            self._take_forces(tau, chosen, check)
        else:
            self._take_control(control, chosen, check)

    def _take_forces(self, tau: ArrayLike | None, chosen: Flags | None, check: Check) -> None:
        if tau is None:
            self._forces[:] = 0.0
        else:
            self._fill(self._forces, tau, "tau", chosen, check)
        if self._put is None:
            motors, limit = self._motors()
            self._put = bind(_put_forces, self._forces, self._chosen, motors, limit, self._tau)
        if not self._put():
            raise self._refused(tau, "tau", chosen, check)

    def _take_control(self, control: ArrayLike, chosen: Flags | None, check: Check) -> None:
        if not self._model.actuators:
            raise ValueError(
                "the model has no actuators that controls could be of: give forces, or add some "
                "(ModelBuilder.actuator)"
            )
        self._fill(self._control, control, "control", chosen, check)
        if self._put_control is None:
            given, motors, limit = (self._control, self._chosen), *self._motors()
            if self._has_servos:
                self._put_control = bind(_put_servos, *given, motors, self._tau, self.controls)
            else:
                laws = steady_laws(self._model)
                self._put_control = bind(_put_controls, *given, *laws, motors, limit, self._tau)
        if not self._put_control():
            raise self._refused(control, "control", chosen, check)

    def _motors(self) -> tuple[Ints, Floats]:
        """Numbers and limits of the actuated coordinates, shape (nu,)."""
        return self._model.actuated, self._model.effort_limit[self._model.actuated]

    def _fill(
        self, array: Floats, value: ArrayLike, name: str, chosen: Flags | None, check: Check
    ) -> None:
        shape = self._shapes[name]
        if type(value) is np.ndarray and value.shape == shape and value.dtype.char in "fd":
            array[...] = value
        else:
            array[...] = check(value, shape, name, chosen)

    def _refused(self, value: Any, name: str, chosen: Flags | None, check: Check) -> ValueError:
        """What `check` says of numbers that are not all finite."""
        try:
            check(value, self._shapes[name], name, chosen)
        except ValueError as error:
            return error
        return ValueError(f"{name} must be finite")
