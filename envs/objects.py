"""Loose objects for an environment's scene: boxes, spheres and capsules, placed or drawn.

`box`, `sphere` and `capsule` give descriptions for the option `objects` of the environments whose
robots move in space.  A description is a plain dictionary, so that it can be kept in a dataset, in
Gymnasium's specs and on the command line::

    gym.make("dynenvs/Quadruped-v0", objects=[box(half_size=(0.1, 0.05, 0.03), mass=0.3, count=8,
             position=((0.5, 2.5), (-0.4, 0.4)), orientation=(0, 0, (-3.1, 3.1)))])

Wherever a number stands, a pair (low, high) may stand, too: the value is then drawn evenly.  Sizes
are a part of the model that all worlds share, so they are drawn once, by `objects_seed`; masses,
friction, places and orientations are drawn anew in each episode, by the world's own generator.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dynenvs.envs.checks import choice, got, interval, is_list, known, number, whole

Span = tuple[float, float]  # a value is drawn evenly between these two
Description = dict[str, Any]

MOST_OBJECTS = 200
SIZES = 1e-3, 10.0  # radii and half edges [m]
MASSES = 1e-3, 1e4  # [kg]
MOST_FRICTION = 10.0
FARTHEST = 100.0  # from where the robot starts [m]
ANGLES = -2.0 * math.pi, 2.0 * math.pi
DEFAULT_MASS, DEFAULT_FRICTION = 1.0, 0.8
SHARED = ("mass", "friction", "position", "orientation", "count")
SIZE_NAMES = {
    "box": ("half_size",),
    "sphere": ("radius",),
    "capsule": ("radius", "half_length"),
}


@dataclass(frozen=True)
class Loose:
    """One loose object as checked; of each quantity that episodes draw, the lowest and highest.

    Attributes:
        shape: "box", "sphere" or "capsule".
        size: as `dynenvs.model.parts.Geom` has it [m]: half edges; radius; radius and half length.
        mass: [kg].
        friction: its own coefficient.
        position: of its middle from where the robot starts, x and y [m].
        height: of its middle above the ground [m]; None lets it lie on the ground.
        orientation: roll, pitch and yaw [rad].
        index: which entry of the option `objects` it comes from.
    """

    shape: str
    size: tuple[float, float, float]
    mass: Span
    friction: Span
    position: tuple[Span, Span]
    height: Span | None
    orientation: tuple[Span, Span, Span]
    index: int

    @property
    def is_drawn(self) -> bool:
        """Whether its place is drawn."""
        spans = (*self.position, *([] if self.height is None else [self.height]))
        return any(low < high for low, high in spans)

    @property
    def radius(self) -> float:
        """Of the ball about its middle that holds it [m]."""
        return math.hypot(*self.size) if self.shape == "box" else sum(self.size)


def box(*, half_size: Any, **options: Any) -> Description:
    """A box.

    Args:
        half_size: half edges along its x, y and z, or one number for a cube [m].
        options: what all shapes have: `mass` = 1 [kg], `friction` = 0.8 (its own coefficient; that
            of a contact is the geometric mean of both sides'), `position` = (x, y) or (x, y, z) of
            its middle from where the robot starts, x forward [m] (without z it lies on the ground),
            `orientation` = (roll, pitch, yaw) [rad], `count` = 1: so many objects alike, each drawn
            by itself.
    """
    return {"shape": "box", "half_size": half_size, **options}


def sphere(*, radius: Any, **options: Any) -> Description:
    """A sphere of some radius [m]; options as for `box`."""
    return {"shape": "sphere", "radius": radius, **options}


def capsule(*, radius: Any, half_length: Any, **options: Any) -> Description:
    """A capsule along its z axis; options as for `box`.

    Args:
        radius: of the cylinder and its caps [m].
        half_length: from its middle to the centre of a cap [m].
        options: as for `box`.
    """
    return {"shape": "capsule", "radius": radius, "half_length": half_length, **options}


def read_objects(value: Any, seed: int) -> tuple[Loose, ...]:
    """The option `objects`, checked; sizes drawn.

    Args:
        value: descriptions as `box`, `sphere` and `capsule` give them, one or several; None: none.
        seed: of the sizes.

    Raises:
        ValueError: something that cannot be; names the entry and what would be right.
    """
    if value is None:
        return ()
    entries = [value] if isinstance(value, Mapping) else value
    if not is_list(entries):
        raise ValueError(
            "objects must be a list of descriptions, as dynenvs.envs.objects.box(...) gives"
            + got(value)
        )
    random = np.random.default_rng(seed)
    found: list[Loose] = []
    for index, entry in enumerate(entries):
        found += _read(entry, f"objects[{index}]", index, random)
    if len(found) > MOST_OBJECTS:
        raise ValueError(f"there can be {MOST_OBJECTS} objects at most, got {len(found)}")
    return tuple(found)


def _read(entry: Any, name: str, index: int, random: np.random.Generator) -> list[Loose]:
    """The objects that one description tells of."""
    if not isinstance(entry, Mapping):
        raise ValueError(
            f"{name} must be a description, as dynenvs.envs.objects.box(...) gives" + got(entry)
        )
    shape = choice(entry.get("shape"), f"shape of {name}", tuple(SIZE_NAMES))
    names = ("shape", *SIZE_NAMES[shape], *SHARED)
    for key in entry:
        known(key, names, f"entry of {name}, a {shape}:")
    for key in SIZE_NAMES[shape]:
        if key not in entry:
            raise ValueError(f"{name}, a {shape}, needs its {key} [m]")
    count = whole(entry.get("count", 1), f"{name}: count", 1, MOST_OBJECTS)
    sizes = _sizes(shape, entry, name)
    position, height = _place(entry.get("position", (1.0, 0.0)), f"{name}: position")
    mass = _span(entry.get("mass", DEFAULT_MASS), f"{name}: mass", *MASSES, "kg")
    rough = entry.get("friction", DEFAULT_FRICTION)
    friction = _span(rough, f"{name}: friction", 0.0, MOST_FRICTION)
    orientation = _orientation(entry.get("orientation", (0.0, 0.0, 0.0)), name)
    objects = []
    for _ in range(count):
        drawn = [low if low == high else float(random.uniform(low, high)) for low, high in sizes]
        x, y, z = (*drawn, 0.0, 0.0)[:3]
        objects.append(
            Loose(shape, (x, y, z), mass, friction, position, height, orientation, index)
        )
    if count > 1 and not objects[0].is_drawn:
        raise ValueError(
            f"{name}: {count} objects cannot lie in one place; give position a range, as "
            "((0.5, 2.0), (-0.5, 0.5))"
        )
    return objects


def _sizes(shape: str, entry: Mapping[str, Any], name: str) -> list[Span]:
    """Between what each size is drawn."""
    if shape != "box":
        return [_span(entry[key], f"{name}: {key}", *SIZES, "m") for key in SIZE_NAMES[shape]]
    half = entry["half_size"]
    if not is_list(half):
        half = (half, half, half)
    if len(half) != 3:
        raise ValueError(f"{name}: half_size must be one number, or three" + got(half))
    return [_span(one, f"{name}: half_size[{k}]", *SIZES, "m") for k, one in enumerate(half)]


def _place(value: Any, name: str) -> tuple[tuple[Span, Span], Span | None]:
    """Position and height."""
    if not (is_list(value) and len(value) in (2, 3)):
        raise ValueError(
            f"{name} must be (x, y) or (x, y, z), each a number or a pair" + got(value)
        )
    x, y = (_span(value[k], f"{name}[{k}]", -FARTHEST, FARTHEST, "m") for k in (0, 1))
    height = None if len(value) == 2 else _span(value[2], f"{name}[2]", 0.0, FARTHEST, "m")
    return (x, y), height


def _orientation(value: Any, name: str) -> tuple[Span, Span, Span]:
    """Roll, pitch and yaw."""
    if not (is_list(value) and len(value) == 3):
        raise ValueError(f"{name}: orientation must be (roll, pitch, yaw) [rad]" + got(value))
    roll, pitch, yaw = (
        _span(one, f"{name}: orientation[{k}]", *ANGLES, "rad") for k, one in enumerate(value)
    )
    return roll, pitch, yaw


def _span(value: Any, name: str, low: float, high: float, unit: str = "") -> Span:
    """A number, or a pair of them."""
    if is_list(value):
        return interval(value, name, low, high, unit)
    one = number(value, name, low, high, unit)
    return one, one
