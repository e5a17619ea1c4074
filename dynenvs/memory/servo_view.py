"""Views of what a step knows of a model's servos: of its parts of the packed buffers."""

from __future__ import annotations

import numpy as np

from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Bytes, Floats, Ints, ModelView, Records, StateView
from dynenvs.memory.records import GEAR, SERVO, SERVO_WORK
from dynenvs.memory.views import raw, vector


@inlined
def open_drive(m: ModelView, s: StateView) -> Floats:
    """Force of the actuators on each coordinate in the last driven step [N m, N], shape (nv,).

    Of models with servos alone.
    """
    h = m.header[0]
    return vector(raw(s.status, h.state_bytes), h.drive_at, h.nv, np.float64)


@inlined
def open_saturated(m: ModelView, s: StateView) -> Ints:
    """Which limit each actuator, then each coordinate's motor was at (-1 or 1; 0: none).

    Shape (nservos + nv,), of models with servos alone.
    """
    h = m.header[0]
    return vector(raw(s.status, h.state_bytes), h.saturated_at, h.nservos + h.nv, np.int64)


@inlined
def open_servos(m: ModelView, packed: Bytes, buffer: Bytes) -> tuple[Records, Records, Records]:
    """SERVO of every actuator, GEAR of every coordinate that they drive, and their SERVO_WORK."""
    h = m.header[0]
    return (
        vector(packed, h.servos_at, h.nservos, SERVO),
        vector(packed, h.gears_at, h.ngears, GEAR),
        vector(buffer, h.servo_work_at, h.nservos, SERVO_WORK),
    )


@inlined
def open_driven(m: ModelView, buffer: Bytes) -> tuple[Floats, Floats, Floats]:
    """Of models with servos: whether controls act (1 or 0), all forces, and scratch, (1,), 2 (nv,).

    The forces are those of the step's beginning, what is not the actuators' included.
    """
    h = m.header[0]
    at = h.driven_at
    return (
        vector(buffer, at, 1, np.float64),
        vector(buffer, at + 8, h.nv, np.float64),
        vector(buffer, at + 8 + 8 * h.nv, h.nv, np.float64),
    )
