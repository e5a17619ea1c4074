"""The options by which worlds are disturbed, checked and packed for the kernels.

All are off by default; what they do to a world is in `disturbance.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dynenvs.envs.checks import choice, got, interval, is_list, number, real_numbers, whole
from dynenvs.envs.core.blocks import Block
from dynenvs.envs.core.disturbance_records import DISTURBANCE, MOST_DELAY
from dynenvs.memory.layout import Bytes, Floats
from dynenvs.model.model import Model

CONTROLS = ("torque", "position")
MOST_SCALE = 100.0  # of observation noise
MOST_STIFFNESS, MOST_DAMPING = 1e5, 1e4  # of PD motors [N m/rad], [N m s/rad]
FACTORS = (0.1, 10.0)  # of friction and mass
LEAST_MASS = 0.1  # share of its mass that a payload leaves to the trunk
MOST_PAYLOAD, MOST_OFFSET = 1000.0, 0.5  # [kg], [m]


@dataclass(frozen=True)
class Motors:
    """PD motors of `control="position"`: torque = stiffness error - damping velocity.

    Attributes:
        stiffness: [N m/rad], shape (nu,).
        damping: [N m s/rad], shape (nu,).
        reach: how far from the standing pose the action 1 asks a joint to be [rad], shape (nu,).
    """

    stiffness: Floats
    damping: Floats
    reach: Floats


def read_delay(value: Any) -> tuple[int, int]:
    """The option `action_delay`, a number or a range of them, as a range.

    Raises:
        ValueError: no whole numbers within [0, MOST_DELAY], or the greater one first.
    """
    if not is_list(value):
        delay = whole(value, "action_delay", 0, MOST_DELAY)
        return delay, delay
    low, high = interval(value, "action_delay", 0, MOST_DELAY, "control steps")
    return whole(low, "action_delay[0]", 0, MOST_DELAY), whole(
        high, "action_delay[1]", 0, MOST_DELAY
    )


def read_motors(
    model: Model, given: dict[str, Any], usual: tuple[float, float, float], control: str
) -> Motors | None:
    """The options of PD motors; None where actions are torques.

    Args:
        model: the robot.
        given: `stiffness`, `damping` and `action_scale` as the user has them, None for the usual.
        usual: stiffness [1/rad] and damping [s/rad] over torque limits, and reach [rad].
        control: one of CONTROLS.

    Raises:
        ValueError: an option out of its range, or without `control="position"`.
    """
    if choice(control, "control", CONTROLS) == "torque":
        for name, value in given.items():
            if value is not None:
                raise ValueError(f'{name} is for control="position" only: leave it out here')
        return None
    limits = model.effort_limit[model.actuated]
    stiffness = _each_motor(
        given["stiffness"], "stiffness", usual[0] * limits, MOST_STIFFNESS, "N m/rad"
    )
    damping = _each_motor(given["damping"], "damping", usual[1] * limits, MOST_DAMPING, "N m s/rad")
    reach = np.full(len(limits), usual[2])
    return Motors(
        stiffness,
        damping,
        _each_motor(given["action_scale"], "action_scale", reach, 2.0 * math.pi, "rad"),
    )


def _each_motor(value: Any, name: str, usual: Floats, most: float, unit: str) -> Floats:
    """A number for each motor, from one for all, from one for each, or from None."""
    if value is None:
        return usual
    if not is_list(value):
        return np.full(len(usual), number(value, name, 0.0, most, unit))
    numbers = real_numbers(value, usual.shape, name)
    for k, one in enumerate(numbers.tolist()):
        number(one, f"{name}[{k}]", 0.0, most, unit)
    return numbers


def read_payload(value: Any, mass: float, least: float) -> tuple[float, float]:
    """The option `payload_range` [kg].

    Args:
        value: as the user has it.
        mass: of the trunk [kg].
        least: factor on it that `mass_range` may draw.

    Raises:
        ValueError: no range, or one that takes away more than the trunk weighs.
    """
    low, high = interval(value, "payload_range", -MOST_PAYLOAD, MOST_PAYLOAD, "kg")
    room = max(least - LEAST_MASS, 0.0) * mass
    if low < -room:
        raise ValueError(
            f"payload_range may take at most {room:.3g} kg from the trunk" + got(value)
        )
    return low, high


def read_offset(value: Any, planar: bool) -> Floats:
    """The option `com_offset`: one bound for all axes or three [m], shape (3,).

    Raises:
        ValueError: another shape, a bound out of range, or one along y of a planar robot.
    """
    if not is_list(value):
        bounds = np.full(3, number(value, "com_offset", 0.0, MOST_OFFSET, "m"))
        if planar:
            bounds[1] = 0.0
        return bounds
    bounds = real_numbers(value, (3,), "com_offset")
    for k, bound in enumerate(bounds.tolist()):
        number(bound, f"com_offset[{k}]", 0.0, MOST_OFFSET, "m")
    if planar and bounds[1] > 0.0:
        raise ValueError("com_offset[1] is along y, and a planar robot has no y" + got(value))
    return bounds


def trunk_fields(
    model: Model, body: int, payload: Any, offset: Any, mass_range: tuple[float, float]
) -> dict[str, Any]:
    """The options `payload_range` and `com_offset` as fields of DISTURBANCE.

    Args:
        model: the robot.
        body: number of its trunk.
        payload, offset: as the user has them.
        mass_range: factors that may be drawn on the trunk's mass.

    Raises:
        ValueError: an option out of its range.
    """
    mass = float(model.bodies["mass"][body])
    low, high = read_payload(payload, mass, mass_range[0])
    planar = bool(model.header.planar)
    return {
        "trunk": body,
        "low_payload": low,
        "high_payload": high,
        "offset": read_offset(offset, planar),
    }


def pack(
    asked: dict[str, Any],
    blocks: Sequence[Block],
    scale: float,
    motors: Motors | None,
    pose: Floats,
    limits: Floats,
) -> Bytes:
    """What the kernels read, as `DisturbanceView` opens it.

    Args:
        asked: fields of DISTURBANCE; others are as nothing asks for them.
        blocks: of the observation.
        scale: of their noise.
        motors: where actions are targets of position.
        pose: joint positions that the action 0 asks for, shape (nu,).
        limits: of the motors' torques, shape (nu,).
    """
    record = _undisturbed()
    for name, value in asked.items():
        record[name] = value
    record["noisy"], record["positions"] = scale > 0.0, motors is not None
    gains = np.zeros((4, len(limits)))
    if motors is not None:
        gains[:] = motors.stiffness / limits, motors.damping / limits, pose, motors.reach
    seen = [
        np.concatenate([getattr(block, name) for block in blocks])
        for name in ("noise", "low", "high")
    ]
    parts = [record, scale * seen[0], *seen[1:], gains]
    return np.concatenate([np.ascontiguousarray(part).reshape(-1).view(np.uint8) for part in parts])


def tell_clean(packed: Bytes) -> None:
    """Let the kernels tell the observation without noise even where the noise is zero."""
    packed[: DISTURBANCE.itemsize].view(DISTURBANCE)["noisy"] = True


def disturbs(packed: Bytes) -> bool:
    """Whether what `pack` gave asks for anything."""
    record = packed[: DISTURBANCE.itemsize].view(DISTURBANCE)
    nothing = _undisturbed()
    nothing["trunk"] = record["trunk"]
    return record.tobytes() != nothing.tobytes()


def _undisturbed() -> np.ndarray[Any, Any]:
    """One record of DISTURBANCE that asks for nothing."""
    record: np.ndarray[Any, Any] = np.zeros(1, DISTURBANCE)
    for what in ("strength", "mass", "friction"):
        record[f"low_{what}"] = record[f"high_{what}"] = 1.0
    return record
