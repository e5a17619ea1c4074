"""What a robot is described with: joints and geoms as plain, validated data."""

from __future__ import annotations

import math
import operator
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynenvs.memory.records import (
    BLOCK_FIELD,
    BOX,
    CAPSULE,
    CONE_GEOM,
    CONVEX,
    CYLINDER,
    ELLIPSOID,
    FIXED,
    FREE,
    HALF_SPACE,
    HEIGHT_FIELD,
    POINT,
    PRISMATIC,
    REVOLUTE,
    SCREW,
    SPHERE,
    SPHERICAL,
)
from dynenvs.spelling import shortly

Vector = Sequence[float] | NDArray[np.float64]

JOINT_TYPES = {
    "fixed": FIXED,
    "revolute": REVOLUTE,
    "prismatic": PRISMATIC,
    "spherical": SPHERICAL,
    "free": FREE,
    "screw": SCREW,
}
WORLD = "world"  # the body that carries what stands still
GEOM_TYPES = {
    "point": POINT,
    "sphere": SPHERE,
    "capsule": CAPSULE,
    "box": BOX,
    "half_space": HALF_SPACE,
    "height_field": HEIGHT_FIELD,
    "block_field": BLOCK_FIELD,
    "convex": CONVEX,
    "cylinder": CYLINDER,
    "ellipsoid": ELLIPSOID,
    "cone": CONE_GEOM,
}


# Of what a model is described with, in SI units: squares, cubes and quotients of such numbers are
# far from where floats end, and what follows from them can be counted
MOST = 1e12  # in size
LEAST = 1e-15  # of sizes, masses and times that are above zero
MOST_COUNT = 2**31 - 1


class ModelError(ValueError):
    """A model that cannot be; the message names the culprit and what would be right."""


def check_name(name: Any, what: str) -> None:
    """Raise a ModelError that says of what it is unless a name is a text."""
    if not isinstance(name, str):
        raise ModelError(f"the name of a part ({what}) must be a text, got {name!r:.200}")


def check_new(name: Any, known: Collection[str], what: str) -> None:
    """The same, and unless it is none of the known ones."""
    check_name(name, what)
    if name in known:
        raise ModelError(f"{what} {name!r} exists already; {what} names must be unique")


def vector3(value: Vector, what: str) -> NDArray[np.float64]:
    """`value` as three finite numbers, or a ModelError that names `what`."""
    array = real_numbers(value)
    if array.shape != (3,) or not np.all(np.isfinite(array)):
        raise ModelError(f"{what} must be three finite numbers, got {shortly(value)}")
    check_size(array, what)
    return array


def real_numbers(value: Any) -> NDArray[np.float64]:
    """`value` as an array; of shape (0, 0) if it is not made of numbers.

    Texts and truth values are none.
    """
    try:
        if np.asarray(value).dtype.kind not in "fiuO":
            return np.empty((0, 0))
        return np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return np.empty((0, 0))


def check_size(array: Any, what: str) -> None:
    """Raise a ModelError that names `what` if a finite number is larger than any of a model."""
    sizes = np.abs(array)
    wrong = (sizes > MOST) & (sizes < math.inf)
    if np.any(wrong):
        found = np.ravel(array)[np.ravel(wrong)][0]
        raise ModelError(f"{what} must be at most {MOST:g} in size, got {found:g}")


def number(value: Any, what: str) -> float:
    """`value` as a number, or a ModelError that names `what`."""
    array = real_numbers(value)
    if array.shape != ():
        raise ModelError(f"{what} must be a number, got {shortly(value)}")
    check_size(array, what)
    return float(array)


def bounded(value: Any, what: str) -> float:
    """`value` as a number of some sensible size, or a ModelError that names `what`."""
    found = number(value, what)
    if not abs(found) <= MOST:  # not NaN
        raise ModelError(f"{what} must be at most {MOST:g} in size, got {shortly(value)}")
    return found


def coefficient(value: Any, what: str) -> float:
    """`value` as a finite number of zero or more, or a ModelError that names `what`."""
    found = number(value, what)
    if not (found >= 0.0 and math.isfinite(found)):
        raise ModelError(f"{what} must be finite and not negative, got {shortly(value)}")
    return found


def positive(value: Any, what: str) -> float:
    """`value` as a finite number above zero, or a ModelError that names `what`."""
    found = number(value, what)
    if not (found > 0.0 and math.isfinite(found)):
        raise ModelError(f"{what} must be positive and finite, got {shortly(value)}")
    if found < LEAST:
        raise ModelError(f"{what} must be at least {LEAST:g}, got {found:g}")
    return found


def whole(value: Any, what: str) -> int:
    """`value` as a whole number, or a ModelError that names `what`."""
    try:
        count = None if isinstance(value, bool | np.bool_) else operator.index(value)
    except TypeError:
        count = None
    if count is None:
        raise ModelError(f"{what} must be a whole number, got {shortly(value)}")
    if abs(count) > MOST_COUNT:
        raise ModelError(f"{what} must be at most {MOST_COUNT} in size, got {count!s:.60}")
    return count


def truth(value: Any, what: str) -> bool:
    """`value` as True or False, or a ModelError that names `what`."""
    if not isinstance(value, bool | np.bool_):
        raise ModelError(f"{what} must be True or False, got {shortly(value)}")
    return bool(value)


def inertia_matrix(value: Any, body: str) -> NDArray[np.float64]:
    """Principal moments, shape (3,), or a matrix, shape (3, 3), as a matrix [kg m^2]."""
    array = real_numbers(value)
    if array.shape not in ((3,), (3, 3)):
        raise ModelError(
            f"body {body!r}: inertia must be 3 or 3 x 3 numbers [kg m^2], got {shortly(value)}"
        )
    return np.diag(array) if array.shape == (3,) else array


def unit3(value: Vector, what: str) -> NDArray[np.float64]:
    """`value` scaled to length one, or a ModelError that names `what`."""
    array = vector3(value, what)
    largest = float(np.abs(array).max())
    if largest < 1e-12:
        raise ModelError(f"{what} must not be zero, got {shortly(value)}")
    array /= largest  # before squaring, which could overflow
    return array / np.linalg.norm(array)


def rotation3(value: Any, what: str) -> NDArray[np.float64]:
    """A proper rotation matrix, shape (3, 3), or a ModelError that names `what`."""
    array = np.eye(3) if value is None else real_numbers(value)
    proper = array.shape == (3, 3) and np.abs(array).max() <= 2.0  # NaN is not, either
    proper = proper and np.allclose(array @ array.T, np.eye(3), atol=1e-9)
    if not proper or np.linalg.det(array) < 0:
        raise ModelError(f"{what} must be a 3 x 3 rotation matrix (R R^T = 1, det R = 1)")
    return array


def rotation_about(axis: NDArray[np.float64], angle: float) -> NDArray[np.float64]:
    """Rotation by an angle about a unit axis (Rodrigues' formula)."""
    x, y, z = axis
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + math.sin(angle) * K + (1 - math.cos(angle)) * K @ K)


def rotation_to(axis: NDArray[np.float64]) -> NDArray[np.float64]:
    """A rotation whose third column is the unit vector `axis`."""
    helper = np.eye(3)[int(np.argmin(np.abs(axis)))]
    x = np.cross(helper, axis)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(axis, x), axis])


@dataclass(frozen=True)
class Joint:
    """How a body moves in its parent; make it with `revolute`, `prismatic`, `screw`, ...

    Position limits are hard stops.  The effort limit is what the motor can give: `World.step` clips
    the actuator forces to it.  The velocity limit is a datum of the motor for controllers and for
    the ranges of observations: nothing in the simulation enforces it, as nothing in a real motor
    stops a joint that is pushed faster.
    """

    type: str
    name: str | None = None
    axis: Vector = (0.0, 0.0, 1.0)  # unit, in the joint frame
    position: Vector = (0.0, 0.0, 0.0)  # of the joint frame in the parent's frame [m]
    rotation: Any = None  # of the joint frame in the parent's frame, shape (3, 3)
    # [rad] or [m]; of a ball (0, the largest angle by which it may turn), less than pi
    limits: tuple[float, float] = (-math.inf, math.inf)
    velocity: float = math.inf  # limit [rad/s] or [m/s], not enforced
    effort: float = math.inf  # limit [N m] or [N] of each coordinate's motor
    damping: float = 0.0  # [N m s/rad] or [N s/m]
    armature: float = 0.0  # reflected rotor inertia [kg m^2] or [kg]
    actuated: bool = True
    stiffness: float = 0.0  # of a spring [N m/rad] or [N/m]; of a free joint both, in numbers
    # Where the spring does not pull: a position [rad] or [m]; of a ball a rotation vector [rad], of
    # a free joint a position and such a vector, shapes (3,) and (6,); or 0.0: the neutral pose
    reference: float | Sequence[float] = 0.0
    # Dry: what holds each coordinate at rest, at most, and opposes its motion [N m] or [N]
    friction: float = 0.0
    pitch: float = 0.0  # of a screw: how far it moves along its axis as it turns [m/rad]

    def check(self, body: str) -> None:
        """Raise a ModelError that names the joint if it cannot be."""
        name = f"joint {self.name or body!r}"
        if self.type not in JOINT_TYPES:
            choices = ", ".join(JOINT_TYPES)
            raise ModelError(f"{name}: unknown joint type {self.type!r}; choose from: {choices}")
        # Stops in order, then what must not be negative
        try:
            lower, upper = self.limits
        except (TypeError, ValueError):
            raise ModelError(
                f"{name}: limits must be two numbers [rad or m], got {self.limits!r}"
            ) from None
        lower, upper = (number(limit, f"{name}: each of limits") for limit in (lower, upper))
        if not lower < upper:
            raise ModelError(f"{name}: lower limit {lower} is not below upper limit {upper}")
        self._check_ball_limits(name, lower, upper)
        pitch = number(self.pitch, f"{name}: pitch")
        if not math.isfinite(pitch):
            raise ModelError(f"{name}: pitch must be finite [m/rad], got {self.pitch}")
        check_size(pitch, f"{name}: pitch")
        if pitch != 0.0 and self.type != "screw":
            raise ModelError(f"{name}: a pitch is for screws, not for a {self.type} joint")
        coefficient(self.damping, f"{name}: damping")
        coefficient(self.armature, f"{name}: armature")
        coefficient(self.stiffness, f"{name}: stiffness")
        coefficient(self.friction, f"{name}: friction")
        size = {"spherical": 3, "free": 6}.get(self.type)
        given = real_numbers(self.reference)
        if given.shape not in ((), (size,)):
            right = "a number" if size is None else f"0.0 or {size} numbers"
            raise ModelError(f"{name}: reference must be {right}, got {self.reference!r}")
        if not np.isfinite(given).all() or (size and not given.ndim and given != 0.0):
            right = "finite" if size is None or given.ndim else f"0.0 or {size} numbers"
            raise ModelError(f"{name}: reference must be {right}, got {self.reference}")
        check_size(given, f"{name}: reference")
        if self.stiffness and self.type == "fixed":
            raise ModelError(f"{name}: a fixed joint has no stiffness")
        for what, value in (("velocity", self.velocity), ("effort", self.effort)):
            if not number(value, f"{name}: {what} limit") > 0.0:
                raise ModelError(f"{name}: {what} limit must be positive, got {value}")

    def _check_ball_limits(self, name: str, lower: float, upper: float) -> None:
        """Raise a ModelError unless the limits are none, or those of a joint's coordinate."""
        single = self.type in ("revolute", "prismatic", "screw")
        if single or (math.isinf(lower) and math.isinf(upper)):
            return
        if self.type != "spherical":
            raise ModelError(f"{name}: a {self.type} joint has no limits")
        if lower != 0.0 or not upper < math.pi:
            raise ModelError(
                f"{name}: limits of a ball are 0.0 and the largest angle by which it may turn, "
                f"less than pi, got {self.limits}"
            )


def revolute(name: str | None = None, axis: Vector = (0, 0, 1), **options: Any) -> Joint:
    """A hinge about `axis`; options are the fields of `Joint`."""
    return Joint("revolute", name, axis, **options)


def prismatic(name: str | None = None, axis: Vector = (0, 0, 1), **options: Any) -> Joint:
    """A slide along `axis`; options are the fields of `Joint`."""
    return Joint("prismatic", name, axis, **options)


def screw(
    name: str | None = None, axis: Vector = (0, 0, 1), *, pitch: float, **options: Any
) -> Joint:
    """A nut on a thread: turns about `axis`, and moves along it by `pitch` [m] for each radian.

    Its coordinate is the angle: limits are in rad, motors and dampers act by moments.  A positive
    pitch is a right-handed thread; pitch is the lead over 2 pi.  Options are the fields of `Joint`.
    """
    return Joint("screw", name, axis, pitch=pitch, **options)


def spherical(name: str | None = None, **options: Any) -> Joint:
    """A ball joint: unit quaternion, angular velocity in the body's frame."""
    return Joint("spherical", name, **options)


def free(name: str | None = None, **options: Any) -> Joint:
    """Six free coordinates, not actuated by default."""
    options.setdefault("actuated", False)
    return Joint("free", name, **options)


def fixed(**options: Any) -> Joint:
    """Welded to the parent."""
    return Joint("fixed", **options)


@dataclass(frozen=True)
class Geom:
    """A shape on a body that touches others and is drawn.

    `size`: (radius, 0, 0) of a sphere; (radius, half length, 0) of a capsule along its local z;
    half edges of a box; (radius, half length, 0) of a cylinder along its local z, and of a cone,
    whose base looks down and whose apex is at z = half length; half axes of an ellipsoid.
    A half space is solid below its local z = 0, a height field below its
    `heights` [m] at a regular grid, shape (nx, ny), that spans +-size[:2]; a block field is made of
    upright blocks, nx by ny, with flat tops at `heights`, that together span the same.
    A convex solid is the hull of its `corners` (its `size` is how far they reach from its origin).
    """

    name: str
    body: str
    type: str
    size: NDArray[np.float64]
    position: NDArray[np.float64]
    rotation: NDArray[np.float64]
    friction: float
    restitution: float
    collide: bool
    color: tuple[int, int, int] | None = None
    heights: NDArray[np.float64] | None = None
    mass: float | None = None  # that it adds to its body [kg]
    density: float | None = None  # of which it does [kg/m^3]
    # With which its surface runs along it, as a belt does, in the body's frame [m/s]; None: never
    surface_velocity: NDArray[np.float64] | None = None
    torsional_friction: float = 0.0  # bound of the moment about the normal, over its force [m]
    rolling_friction: float = 0.0  # bound of the moment along the contact's plane [m]
    corners: NDArray[np.float64] | None = None  # of a convex solid, its axes [m], shape (n, 3)
    hidden: bool = False  # whether it is there to touch alone, and not drawn where others are

    @property
    def kind(self) -> int:
        """Number of the geom type, as kernels know it."""
        return GEOM_TYPES[self.type]

    @property
    def bounding_radius(self) -> float:
        """Of the sphere about its position that holds a solid [m]."""
        if self.type in ("box", "cylinder", "cone"):
            return float(np.linalg.norm(self.size))
        return float(self.size.max() if self.type == "ellipsoid" else self.size.sum())


@dataclass(frozen=True)
class Body:
    """A rigid body as described: its parent, its joint and its mass distribution."""

    name: str
    parent: str
    joint: Joint
    mass: float
    com: NDArray[np.float64]
    inertia: NDArray[np.float64]
    # Frame that children attach to, in the body frame (a Denavit-Hartenberg link's far end)
    tip_rotation: NDArray[np.float64] = field(default_factory=lambda: np.eye(3))
    tip_position: NDArray[np.float64] = field(default_factory=lambda: np.zeros(3))
    # Of its geoms that have neither mass nor density of their own [kg/m^3]
    density: float | None = None
    # Whether mass, com or inertia was given, not to be computed from geoms
    explicit: bool = False
    # Whether its velocity is prescribed: nothing that touches it changes it
    kinematic: bool = False
    # Share of its weight that something carries: 1 in balance, more pulls it up
    lift: float = 0.0


def carried(bodies: Sequence[Body]) -> list[bool]:
    """Whether each body moves on a kinematic one by joints.

    bodies: parents first
    """
    rides = {WORLD: False}
    for body in bodies:
        rides[body.name] = body.kinematic or rides[body.parent]
    return [rides[body.name] and not body.kinematic for body in bodies]


def check_mass(name: str, mass: float, inertia: NDArray[np.float64]) -> None:
    """Raise a ModelError unless mass and inertia belong to some rigid body."""
    if not (math.isfinite(mass) and mass >= 0.0):
        raise ModelError(f"body {name!r}: mass must be finite and not negative, got {mass}")
    if mass > MOST or 0.0 < mass < LEAST:
        raise ModelError(
            f"body {name!r}: mass must be zero or from {LEAST:g} to {MOST:g} kg, got {mass:g}"
        )
    if inertia.shape != (3, 3) or not np.all(np.isfinite(inertia)):
        raise ModelError(f"body {name!r}: inertia must be 3 or 3 x 3 finite numbers [kg m^2]")
    if np.abs(inertia).max() > MOST**3:
        raise ModelError(f"body {name!r}: inertia must be at most {MOST**3:g} kg m^2 in size")
    if not np.allclose(inertia, inertia.T, atol=1e-12 + 1e-9 * np.abs(inertia).max()):
        raise ModelError(f"body {name!r}: inertia is not symmetric")
    moments = np.linalg.eigvalsh(inertia)
    slack = 1e-9 * max(1e-12, float(np.abs(moments).max()))
    if moments[0] < -slack:
        raise ModelError(f"body {name!r}: inertia has a negative principal moment {moments[0]:.3g}")
    if moments[0] + moments[1] < moments[2] - slack:
        raise ModelError(
            f"body {name!r}: principal moments {moments.round(9).tolist()} break the triangle "
            "inequality: the largest must not exceed the sum of the others"
        )
    if mass == 0.0 and moments[2] > 0.0:
        raise ModelError(f"body {name!r}: has inertia but no mass")
