"""What files say and no robot has: MuJoCo passes over much of it, or calls it by another name.

It takes two ends of a range in the wrong order for no range at all, a NaN for a number, and the
time that it needs grows with the square of the number of bodies.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from dynenvs.files import refuse_endless

MOST_BODIES = 5000  # of a file: MuJoCo reads them in two seconds, and four times as many in 20
MAY_HAVE, NOT_NEGATIVE = -math.inf, 0.0  # the least that a number may be
URDF = {  # of links and joints: their elements, the attributes of these, and the least of each
    "origin": {"xyz": MAY_HAVE, "rpy": MAY_HAVE},
    "axis": {"xyz": MAY_HAVE},
    "mass": {"value": NOT_NEGATIVE},
    "inertia": dict.fromkeys(("ixx", "iyy", "izz", "ixy", "ixz", "iyz"), MAY_HAVE),
    "sphere": {"radius": NOT_NEGATIVE},
    "cylinder": {"radius": NOT_NEGATIVE, "length": NOT_NEGATIVE},
    "capsule": {"radius": NOT_NEGATIVE, "length": NOT_NEGATIVE},
    "box": {"size": NOT_NEGATIVE},
    "mesh": {"scale": MAY_HAVE},
    "limit": {"lower": MAY_HAVE, "upper": MAY_HAVE, "effort": NOT_NEGATIVE},
    "dynamics": {"damping": NOT_NEGATIVE, "friction": NOT_NEGATIVE},
    "mimic": {"multiplier": MAY_HAVE, "offset": MAY_HAVE},
}
FILES = "meshes", "hfields", "textures", "skins"  # of a spec: what it reads from files
AUTO = 2  # mjtLimited: limited where there is a range
RANGES = (  # of a spec: its parts, what they are called, a range of theirs, and whether it counts
    ("joints", "joint", "range", "limited"),
    ("joints", "joint", "actfrcrange", "actfrclimited"),
    ("tendons", "tendon", "range", "limited"),
    ("tendons", "tendon", "actfrcrange", "actfrclimited"),
    ("actuators", "actuator", "ctrlrange", "ctrllimited"),
    ("actuators", "actuator", "forcerange", "forcelimited"),
)
WORKED_OUT = "invweight0", "aabb", "rbound", "acc0", "length0"
KINDS = {  # arrays of a compiled model begin with these: what is behind them, as messages call it
    "geom": "geom",
    "jnt": "joint",
    "site": "site",
    "body": "body",
    "actuator": "actuator",
    "tendon": "tendon",
    "eq": "equality",
    "pair": "pair",
    "cam": "camera",
    "mesh": "mesh",
    "hfield": "hfield",
    "key": "key",
}


def refuse_impossible_urdf(robot: Element) -> None:
    """Look at the numbers of a URDF's links and joints.

    Raises:
        ValueError: one is not finite, or negative and must not be; the ends of a joint's range are
            in the wrong order; a mesh has no file; or there are too many links.
    """
    links = sum(part.tag == "link" for part in robot)
    refuse_many(links, "links")
    for part in robot:
        if part.tag in ("link", "joint"):
            where = f"{part.tag} {part.get('name', '')!r}"
            for element in part.iter():
                _refuse_numbers(element, where)
            _refuse_swapped_limits(part, where)


def refuse_many(count: float, what: str) -> None:
    """Raise a ValueError if there are more bodies than MuJoCo reads in a few seconds."""
    if count > MOST_BODIES:
        raise ValueError(f"{count:.0f} {what}, more than {MOST_BODIES}: divide it into several")


def _refuse_numbers(element: Element, where: str) -> None:
    """Of one element; words that are no numbers, and wrong counts, MuJoCo tells by itself."""
    if element.tag == "mesh" and not element.get("filename", "").strip():
        raise ValueError(f"{where}: its <mesh> has no filename")
    for attribute, least in URDF.get(element.tag, {}).items():
        given = element.get(attribute, "")
        # A range may be endless, nothing else may
        endless = element.tag == "limit"
        for number in numbers(given):
            if not number >= least or (math.isinf(number) and not endless):
                right = "finite and not negative" if least == NOT_NEGATIVE else "finite"
                raise ValueError(
                    f'{where}: <{element.tag} {attribute}="{given:.60}"> must be {right}'
                )


def _refuse_swapped_limits(part: Element, where: str) -> None:
    lower, upper = limits(part) or (0.0, 0.0)
    if lower > upper:
        raise ValueError(
            f"{where}: its lower limit, {lower:g}, is above its upper one, {upper:g}; swap them"
        )


def limits(joint: Element) -> tuple[float, float] | None:
    """The ends of a URDF joint's range [rad or m]; None if it has none, or needs none."""
    limit = joint.find("limit")
    if limit is None or joint.get("type") not in ("revolute", "prismatic"):
        return None
    lower, upper = (next(numbers(limit.get(end, "0")), 0.0) for end in ("lower", "upper"))
    return lower, upper


def numbers(text: str) -> Iterator[float]:
    """Those of the words of a text that are numbers."""
    for word in text.split():
        try:
            yield float(word)
        except ValueError:
            continue


def refuse_impossible_spec(spec: Any) -> None:
    """Look at a parsed file, URDF or MJCF, before it is compiled.

    spec: mujoco.MjSpec

    Raises:
        ValueError: a mass or a moment of inertia is negative or no number, the ends of a range are
            in the wrong order, or a file that it names is a pipe or a device.
    """
    for parts in FILES:
        for part in getattr(spec, parts):
            for folder in ("", spec.meshdir, spec.texturedir):
                refuse_endless(Path(spec.modelfiledir, folder, part.file))
    for body in spec.bodies:
        if not body.explicitinertial:
            continue
        moments = body.inertia if math.isnan(body.fullinertia[0]) else np.zeros(3)
        for what, values in (("mass", [body.mass]), ("diaginertia", moments)):
            # Not the other way round: NaN must not pass
            if not all(value >= 0.0 for value in values):
                given = ", ".join(f"{value:g}" for value in values)
                raise ValueError(
                    f"body {body.name!r}: {what} must be finite and not negative, got {given}"
                )
    for parts, kind, ends, limited in RANGES:
        for i, part in enumerate(getattr(spec, parts)):
            low, high = getattr(part, ends)
            if int(getattr(part, limited)) == AUTO and low > high:
                raise ValueError(
                    f"{kind} {part.name or i!r}: the lower end of its {ends}, {low:g}, is above "
                    f"the upper one, {high:g}; swap them"
                )


def refuse_infinite(mj_model: Any, names: Any) -> None:
    """Make sure that all numbers of a compiled model are finite; ends of ranges may be endless.

    Args:
        mj_model: mujoco.MjModel.
        names: as `compiled.names`.

    Raises:
        ValueError: one is not; it names the part of the file that has it.
    """
    for prefix, kind in KINDS.items():
        for field in _fields(mj_model, prefix):
            rows = np.asarray(getattr(mj_model, field))
            wrong = np.isnan(rows) if field.endswith("range") else ~np.isfinite(rows)
            bad = wrong.reshape(len(rows), -1).any(axis=1)
            if bad.any():
                name = names(mj_model, kind, len(rows))[int(bad.argmax())]
                what = field.removeprefix(f"{prefix}_")
                raise ValueError(f"{kind} {name!r}: a number of its {what} is not finite")


def _fields(mj_model: Any, prefix: str) -> list[str]:
    """Arrays of numbers, a row for each part of a kind; what MuJoCo works out itself left out."""
    count = int(getattr(mj_model, f"n{prefix}"))
    if count == 0:
        return []
    found = []
    for field in dir(mj_model):
        if field.startswith(f"{prefix}_") and not field.endswith(WORKED_OUT):
            rows = getattr(mj_model, field)
            if isinstance(rows, np.ndarray) and rows.dtype.kind == "f" and len(rows) == count:
                found.append(field)
    return found
