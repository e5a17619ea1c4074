"""Sites, keyframes and actuators: what a model carries beside what moves and touches.

The step knows none of them.  They are for those who use the model: places to measure at, named
states to begin with, and motors whose controls become joint forces (`dynenvs.model.actuators`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynenvs.model.parts import (
    ModelError,
    Vector,
    check_size,
    number,
    real_numbers,
    rotation3,
    vector3,
)

Floats = NDArray[np.float64]
NO_END = (-math.inf, math.inf)
START = "qpos0"  # the keyframe at which worlds begin: MuJoCo's name of the pose of a file


@dataclass(frozen=True)
class Site:
    """A named frame fixed in a body."""

    name: str
    body: str
    position: Floats  # in the body's frame [m], shape (3,)
    rotation: Floats  # in the body's frame, shape (3, 3)


@dataclass(frozen=True)
class Keyframe:
    """A named state."""

    name: str
    q: Floats  # shape (nq,)
    v: Floats  # shape (nv,)
    control: Floats  # of the actuators, shape (number of actuators,)


@dataclass(frozen=True)
class Actuator:
    """A motor: a control that becomes a force on one or more joints.

    With its length l = sum of gear q and velocity l' = sum of gear v over its joints, its force is

        f = clip(gain . (1, l, l') clip(control) + bias . (1, l, l'))

    and each of its coordinates gets gear f.  A torque motor has gain (1, 0, 0) and bias (0, 0, 0),
    a position servo with stiffness k and damping d has gain (k, 0, 0) and bias (0, -k, -d).
    (MuJoCo documentation, Computation, "Actuation model", without activation states.)
    """

    name: str
    gears: tuple[tuple[str, tuple[float, ...]], ...]  # joint, and a number for each coordinate
    gain: tuple[float, float, float]
    bias: tuple[float, float, float]
    control_range: tuple[float, float]
    force_range: tuple[float, float]


class AnnotationBuilder:
    """Collects sites, keyframes and actuators; the part of `ModelBuilder` for them."""

    def __init__(self) -> None:
        self._sites: dict[str, Site] = {}
        self._keyframes: dict[str, Keyframe] = {}
        self._actuators: dict[str, Actuator] = {}

    def site(
        self, name: str, body: str, *, position: Vector = (0, 0, 0), rotation: Any = None
    ) -> Self:
        """Add a named frame, fixed in a body at `position` [m] with `rotation`, shape (3, 3)."""
        _new(name, self._sites, "site")
        self._sites[name] = Site(
            name,
            body,
            vector3(position, f"position of site {name!r}"),
            rotation3(rotation, f"rotation of site {name!r}"),
        )
        return self

    def keyframe(
        self, name: str, q: ArrayLike, v: ArrayLike | None = None, control: ArrayLike | None = None
    ) -> Self:
        """Add a named state: q of shape (nq,), v of (nv,) and control of (actuators,).

        What is None is zero.  Worlds begin at the one that is called "qpos0", and at another by
        `reset(name)`.
        """
        _new(name, self._keyframes, "keyframe")
        self._keyframes[name] = Keyframe(
            name,
            _vector(q, f"q of keyframe {name!r}"),
            _vector([] if v is None else v, f"v of keyframe {name!r}"),
            _vector([] if control is None else control, f"control of keyframe {name!r}"),
        )
        return self

    def actuator(
        self,
        name: str,
        gears: Mapping[str, float | Sequence[float]],
        *,
        gain: Sequence[float] = (1.0, 0.0, 0.0),
        bias: Sequence[float] = (0.0, 0.0, 0.0),
        control_range: tuple[float, float] = NO_END,
        force_range: tuple[float, float] = NO_END,
    ) -> Self:
        """Add a motor.

        Args:
            name: unique among actuators.
            gears: for each joint that it drives, the joint force per force of the motor: a number,
                or one for each of the joint's coordinates.  The joints must be `actuated`.
            gain, bias: see `Actuator`, shapes (3,).
            control_range, force_range: to which control and force are clipped.
        """
        _new(name, self._actuators, "actuator")
        what = f"actuator {name!r}"
        if not gears:
            raise ModelError(f"{what}: gears must name a joint")
        self._actuators[name] = Actuator(
            name,
            tuple(
                (joint, _gear(gear, f"{what}: gear of {joint!r}")) for joint, gear in gears.items()
            ),
            _three(gain, f"{what}: gain"),
            _three(bias, f"{what}: bias"),
            _range(control_range, f"{what}: control_range"),
            _range(force_range, f"{what}: force_range"),
        )
        return self

    def _add_annotations(
        self, sites: Sequence[Site], keyframes: Sequence[Keyframe], actuators: Sequence[Actuator]
    ) -> None:
        """Add those of another model's description."""
        for site in sites:
            self.site(site.name, site.body, position=site.position, rotation=site.rotation)
        for frame in keyframes:
            self.keyframe(frame.name, frame.q, frame.v, frame.control)
        for actuator in actuators:
            options = dict(vars(actuator))
            self.actuator(options.pop("name"), dict(options.pop("gears")), **options)


def _new(name: str, known: Mapping[str, Any], what: str) -> None:
    if name in known:
        raise ModelError(f"{what} {name!r} exists already; {what} names must be unique")


def _vector(value: ArrayLike, what: str) -> Floats:
    """A copy of `value` as finite numbers, shape (n,)."""
    array = real_numbers(value)
    if array.ndim != 1 or not np.all(np.isfinite(array)):
        raise ModelError(f"{what} must be a list of finite numbers, got {value!r:.200}")
    check_size(array, what)
    return array


def _gear(value: Any, what: str) -> tuple[float, ...]:
    return tuple(_vector(np.atleast_1d(value), what).tolist())


def _three(value: Any, what: str) -> tuple[float, float, float]:
    x, y, z = vector3(value, what).tolist()
    return x, y, z


def _range(value: Any, what: str) -> tuple[float, float]:
    try:
        lower, upper = value
    except (TypeError, ValueError):
        raise ModelError(f"{what} must be two numbers, got {value!r}") from None
    lower, upper = number(lower, what), number(upper, what)
    if not lower <= upper:
        raise ModelError(f"{what}: {lower} is not below {upper}")
    return lower, upper
