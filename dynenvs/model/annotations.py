"""Sites, keyframes, actuators and tendons: what a model carries beside what moves and touches.

Sites and keyframes are for those who use the model: places to measure at, named states to begin
with.  Actuators are motors whose controls become forces (`dynenvs.model.actuators`,
`dynenvs.dynamics.servos`); tendons are springs and dampers (`dynenvs.dynamics.tendons`).
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
    bounded,
    check_new,
    check_size,
    coefficient,
    number,
    positive,
    real_numbers,
    rotation3,
    truth,
    vector3,
)

Floats = NDArray[np.float64]
NO_END = (-math.inf, math.inf)
WIDEST = 3.0  # field of view of a camera [rad]
START = "qpos0"  # the keyframe at which worlds begin: MuJoCo's name of the pose of a file


@dataclass(frozen=True)
class Site:
    """A named frame fixed in a body."""

    name: str
    body: str
    position: Floats  # in the body's frame [m], shape (3,)
    rotation: Floats  # in the body's frame, shape (3, 3)


@dataclass(frozen=True)
class Eye:
    """A named place for a camera, which looks along -z of its axes, y upwards in the picture."""

    name: str
    body: str
    position: Floats  # in the body's frame [m], shape (3,)
    rotation: Floats  # in the body's frame, shape (3, 3)
    field: float  # height of the field of view [rad]
    turns: bool  # with the body; if not, it only goes with it, in the world's axes


@dataclass(frozen=True)
class Keyframe:
    """A named state."""

    name: str
    q: Floats  # shape (nq,)
    v: Floats  # shape (nv,)
    control: Floats  # of the actuators, shape (number of actuators,)


@dataclass(frozen=True)
class Segment:
    """A straight part of a path, from one site to another."""

    site_a: str
    site_b: str
    share: float  # of its length that counts: a half behind a pulley


@dataclass(frozen=True)
class Push:
    """Where an actuator pushes: force and moment per unit of its force, in the axes of a site."""

    site: str
    force: tuple[float, float, float]  # [-]
    moment: tuple[float, float, float]  # [m]


@dataclass(frozen=True)
class Actuator:
    """A motor: a control that becomes a force on one or more joints.

    With its length l = sum of gear q and velocity l' = sum of gear v over its joints, its force is

        f = clip(gain . (1, l, l') clip(control) + bias . (1, l, l'))

    and each of its coordinates gets gear f.  An actuator with a path pulls as a cord would: l is
    the length of the path, times its segments' shares.  One that pushes a site has no length, and
    the velocity l' of the site along its push.  A torque motor has gain (1, 0, 0) and bias
    (0, 0, 0), a position servo with stiffness k and damping d has gain (k, 0, 0) and bias
    (0, -k, -d).
    (MuJoCo documentation, Computation, "Actuation model", without activation states.)
    """

    name: str
    gears: tuple[tuple[str, tuple[float, ...]], ...]  # joint, and a number for each coordinate
    gain: tuple[float, float, float]
    bias: tuple[float, float, float]
    control_range: tuple[float, float]
    force_range: tuple[float, float]
    path: tuple[Segment, ...] = ()
    push: Push | None = None

    @property
    def follows(self) -> bool:
        """Whether its force depends on lengths or velocities."""
        return any(self.gain[1:] + self.bias[1:])

    @property
    def bends(self) -> bool:
        """Whether what it gives the coordinates depends on the pose."""
        return bool(self.path) or self.push is not None


@dataclass(frozen=True)
class Tendon:
    """A spring and a damper along a length, a sum of gear q over joints or that of a path."""

    name: str
    gears: tuple[tuple[str, tuple[float, ...]], ...]
    path: tuple[Segment, ...]
    stiffness: float  # [N/m]; of joints per gear squared [N m/rad]
    damping: float  # [N s/m]
    rest: tuple[float, float]  # lengths between which the spring does not pull


class AnnotationBuilder:
    """Collects sites, keyframes, actuators and tendons; the part of `ModelBuilder` for them."""

    def __init__(self) -> None:
        self._sites: dict[str, Site] = {}
        self._keyframes: dict[str, Keyframe] = {}
        self._actuators: dict[str, Actuator] = {}
        self._tendons: dict[str, Tendon] = {}
        self._eyes: dict[str, Eye] = {}

    def site(
        self, name: str, body: str, *, position: Vector = (0, 0, 0), rotation: Any = None
    ) -> Self:
        """Add a named frame, fixed in a body at `position` [m] with `rotation`, shape (3, 3)."""
        check_new(name, self._sites, "site")
        self._sites[name] = Site(
            name,
            body,
            vector3(position, f"position of site {name!r}"),
            rotation3(rotation, f"rotation of site {name!r}"),
        )
        return self

    def eye(
        self,
        name: str,
        body: str,
        *,
        position: Vector = (0, 0, 0),
        rotation: Any = None,
        field: float = math.pi / 4,
        turns: bool = True,
    ) -> Self:
        """Add a place for a camera (`render(world, camera=name)`); it looks along its -z axis.

        Args:
            name: unique among these.
            body: that it goes with, or "world".
            position: in the body's frame [m], shape (3,).
            rotation: in the body's frame, shape (3, 3).
            field: height of the field of view [rad], up to 3.
            turns: whether it turns with the body; if not, position and rotation are in the world's
                axes.
        """
        check_new(name, self._eyes, "eye")
        angle = positive(field, f"field of eye {name!r}")
        if angle > WIDEST:
            raise ModelError(f"field of eye {name!r} must be at most {WIDEST} rad, got {angle}")
        self._eyes[name] = Eye(
            name,
            body,
            vector3(position, f"position of eye {name!r}"),
            rotation3(rotation, f"rotation of eye {name!r}"),
            angle,
            truth(turns, f"eye {name!r}: turns"),
        )
        return self

    def keyframe(
        self, name: str, q: ArrayLike, v: ArrayLike | None = None, control: ArrayLike | None = None
    ) -> Self:
        """Add a named state: q of shape (nq,), v of (nv,) and control of (actuators,).

        What is None is zero.  Worlds begin at the one that is called "qpos0", and at another by
        `reset(name)`.
        """
        check_new(name, self._keyframes, "keyframe")
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
        gears: Mapping[str, float | Sequence[float]] | None = None,
        *,
        path: Sequence[tuple[str, str, float] | Segment] = (),
        push: tuple[str, Vector, Vector] | Push | None = None,
        gain: Sequence[float] = (1.0, 0.0, 0.0),
        bias: Sequence[float] = (0.0, 0.0, 0.0),
        control_range: tuple[float, float] = NO_END,
        force_range: tuple[float, float] = NO_END,
    ) -> Self:
        """Add a motor; it drives joints, or pulls along a path, or pushes a site.

        Args:
            name: unique among actuators.
            gears: for each joint that it drives, the joint force per force of the motor: a number,
                or one for each of the joint's coordinates.  The joints must be `actuated`.
            path: straight segments, each from one site to another, and the share of its length that
                counts, with its sign: a cord of force f that shortens has shares of -1.
            push: a site, and force and moment [m] on it per force of the motor, in the site's axes:
                a propeller.
            gain, bias: see `Actuator`, shapes (3,).
            control_range, force_range: to which control and force are clipped.
        """
        check_new(name, self._actuators, "actuator")
        what = f"actuator {name!r}"
        # Exactly one of three ways to act
        if [bool(gears), bool(path), push is not None].count(True) != 1:
            raise ModelError(f"{what}: gears must name a joint, or give it a path, or a push")
        self._actuators[name] = Actuator(
            name,
            _gears(gears or {}, what),
            _three(gain, f"{what}: gain"),
            _three(bias, f"{what}: bias"),
            _range(control_range, f"{what}: control_range"),
            _range(force_range, f"{what}: force_range"),
            _path(path, what),
            None if push is None else _push(push, what),
        )
        return self

    def tendon(
        self,
        name: str,
        gears: Mapping[str, float | Sequence[float]] | None = None,
        *,
        path: Sequence[tuple[str, str, float] | Segment] = (),
        stiffness: float = 0.0,
        damping: float = 0.0,
        rest: float | tuple[float, float] = 0.0,
    ) -> Self:
        """Add a spring and damper along a length.

        Args:
            name: unique among tendons.
            gears: the length is the sum of these times the joints' coordinates, of which each joint
                has one.
            path: or that of these segments, see `actuator`.
            stiffness: of the spring [N/m], implicit in a step.
            damping: [N s/m]; implicit, too.
            rest: the length at which the spring does not pull, or two, between which it does not.
        """
        check_new(name, self._tendons, "tendon")
        what = f"tendon {name!r}"
        if bool(gears) == bool(path):
            raise ModelError(f"{what}: give it either gears or a path")
        # One length, or the two between which the spring is slack
        ends = (rest, rest) if isinstance(rest, int | float | np.number) else rest
        self._tendons[name] = Tendon(
            name,
            _gears(gears or {}, what),
            _path(path, what),
            coefficient(stiffness, f"{what}: stiffness"),
            coefficient(damping, f"{what}: damping"),
            _range(ends, f"{what}: rest"),
        )
        return self

    def _add_annotations(
        self,
        sites: Sequence[Site],
        keyframes: Sequence[Keyframe],
        actuators: Sequence[Actuator],
        tendons: Sequence[Tendon],
        eyes: Sequence[Eye],
    ) -> None:
        """Add those of another model's description."""
        for site in sites:
            self.site(site.name, site.body, position=site.position, rotation=site.rotation)
        for frame in keyframes:
            self.keyframe(frame.name, frame.q, frame.v, frame.control)
        # Fields and arguments have the same names
        for actuator in actuators:
            options = dict(vars(actuator))
            self.actuator(options.pop("name"), dict(options.pop("gears")), **options)
        for tendon in tendons:
            options = dict(vars(tendon))
            self.tendon(options.pop("name"), dict(options.pop("gears")), **options)
        for eye in eyes:
            self.eye(**vars(eye))


def _vector(value: ArrayLike, what: str) -> Floats:
    """A copy of `value` as finite numbers, shape (n,)."""
    array = real_numbers(value)
    if array.ndim != 1 or not np.all(np.isfinite(array)):
        raise ModelError(f"{what} must be a list of finite numbers, got {value!r:.200}")
    check_size(array, what)
    return array


def _gears(
    gears: Mapping[str, float | Sequence[float]], what: str
) -> tuple[tuple[str, tuple[float, ...]], ...]:
    return tuple((name, _gear(gear, f"{what}: gear of {name!r}")) for name, gear in gears.items())


def _path(path: Sequence[tuple[str, str, float] | Segment], what: str) -> tuple[Segment, ...]:
    """Segments, their shares checked."""
    found = []
    for part in path:
        segment = part if isinstance(part, Segment) else Segment(*part)
        share = bounded(segment.share, f"{what}: share of a segment")
        found.append(Segment(segment.site_a, segment.site_b, share))
    return tuple(found)


def _push(push: tuple[str, Vector, Vector] | Push, what: str) -> Push:
    """A push, its numbers checked."""
    given = push if isinstance(push, Push) else Push(*push)  # type: ignore[arg-type]
    force, moment = _three(given.force, f"{what}: force"), _three(given.moment, f"{what}: moment")
    return Push(given.site, force, moment)


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
