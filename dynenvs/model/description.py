"""Description: all that a model was built from, as plain data.

A model's packed buffer is for kernels.  This is what a reader, or a file
(`dynenvs.model.importing.saved`), needs to make the same model again, bit for bit.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dynenvs.kinematics.joints import JOINT_NQ, JOINT_NV
from dynenvs.model.annotations import Actuator, Eye, Floats, Keyframe, Site, Tendon
from dynenvs.model.closures import Loop
from dynenvs.model.pairs import PairRule
from dynenvs.model.parts import JOINT_TYPES, Body, Geom, ModelError
from dynenvs.model.visuals import Visual

ZEROS = {  # of each joint's positions
    "fixed": (),
    "revolute": (0.0,),
    "prismatic": (0.0,),
    "screw": (0.0,),
    "spherical": (1.0, 0.0, 0.0, 0.0),
    "free": (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0),
}


@dataclass(frozen=True)
class Rule:
    """What was said of a pair of geoms."""

    geom_a: str
    geom_b: str
    rule: PairRule


@dataclass(frozen=True)
class Description:
    """The parts of a model, in the order in which they were added."""

    options: Mapping[str, Any] = field(default_factory=dict)  # arguments of `ModelBuilder`
    bodies: tuple[Body, ...] = ()
    geoms: tuple[Geom, ...] = ()
    loops: tuple[Loop, ...] = ()
    rules: tuple[Rule, ...] = ()
    self_contacts: tuple[tuple[str, ...], ...] = ()
    sites: tuple[Site, ...] = ()
    keyframes: tuple[Keyframe, ...] = ()
    actuators: tuple[Actuator, ...] = ()
    visuals: tuple[Visual, ...] = ()
    tendons: tuple[Tendon, ...] = ()
    eyes: tuple[Eye, ...] = ()


def checked(described: Description) -> Description:
    """The same description if its sites, visuals, keyframes, actuators and tendons fit.

    Velocities and controls that a keyframe leaves out become zeros.

    Raises:
        ModelError: one names a body or joint that is not there, or has the wrong size.
    """
    _check_names(described)
    # What is fixed to a body must name one
    names = {"world", *(body.name for body in described.bodies)}
    fixed = [(f"site {site.name!r}", site.body) for site in described.sites]
    fixed += [(f"eye {eye.name!r}", eye.body) for eye in described.eyes]
    fixed += [(f"visual {visual.name!r}", visual.body) for visual in described.visuals]
    for what, body in fixed:
        if body not in names:
            known = ", ".join(sorted(names))
            raise ModelError(f"{what}: unknown body {body!r}; known: {known}")
    _check_covered(described)
    moving = [body for body in described.bodies if body.joint.type != "fixed"]
    joints = {body.joint.name or body.name: body.joint for body in moving}
    _check_places(described)
    # What drives or pulls a joint must name one that moves, with as many gears as it has
    for actuator in described.actuators:
        for name, gear in actuator.gears:
            what = f"actuator {actuator.name!r}"
            _check_gear(what, name, gear, joints)
            if not joints[name].actuated:
                raise ModelError(
                    f"{what}: joint {name!r} has actuated=False, so that nothing drives it"
                )
    for tendon in described.tendons:
        for name, gear in tendon.gears:
            _check_gear(f"tendon {tendon.name!r}", name, gear, joints)
            if len(gear) != 1:
                raise ModelError(f"tendon {tendon.name!r}: joint {name!r} has no single coordinate")
    kinds = [JOINT_TYPES[body.joint.type] for body in described.bodies]
    nq, nv = sum(JOINT_NQ[kind] for kind in kinds), sum(JOINT_NV[kind] for kind in kinds)
    frames = tuple(_filled(one, nq, nv, len(described.actuators)) for one in described.keyframes)
    return replace(described, keyframes=frames)


def _check_names(described: Description) -> None:
    """Raise a ModelError if a name would do more than be shown, where a terminal shows it."""
    kinds: dict[str, Sequence[Any]] = {
        "body": described.bodies,
        "joint": [body.joint for body in described.bodies],
        "geom": described.geoms,
        "loop": described.loops,
        "site": described.sites,
        "keyframe": described.keyframes,
        "actuator": described.actuators,
        "visual": described.visuals,
        "tendon": described.tendons,
        "eye": described.eyes,
    }
    for kind, parts in kinds.items():
        for part in parts:
            if any(unicodedata.category(character) == "Cc" for character in part.name or ""):
                raise ModelError(f"{kind} {part.name!r}: names must have no control characters")


def _check_covered(described: Description) -> None:
    """Raise a ModelError if a visual mesh stands for a geom that is not there."""
    geoms = {geom.name for geom in described.geoms}
    for visual in described.visuals:
        for name in visual.instead_of:
            if name not in geoms:
                raise ModelError(f"visual {visual.name!r}: instead_of: unknown geom {name!r}")


def _check_gear(what: str, name: str, gear: tuple[float, ...], joints: dict[str, Any]) -> None:
    """Raise a ModelError unless the joint is there and has as many coordinates."""
    if name not in joints:
        raise ModelError(f"{what}: unknown joint {name!r}; known joints: {', '.join(joints)}")
    count = JOINT_NV[JOINT_TYPES[joints[name].type]]
    if len(gear) != count:
        raise ModelError(f"{what}: joint {name!r} needs {count} gears, got {len(gear)}")


def _check_places(described: Description) -> None:
    """Raise a ModelError if an actuator or a tendon names a site that is not there."""
    sites = {site.name for site in described.sites}
    named = [
        (f"{what} {part.name!r}", name)
        for what, parts in (("actuator", described.actuators), ("tendon", described.tendons))
        for part in parts
        for segment in part.path
        for name in (segment.site_a, segment.site_b)
    ]
    for actuator in described.actuators:
        if actuator.push is not None:
            named.append((f"actuator {actuator.name!r}", actuator.push.site))
    for what, name in named:
        if name not in sites:
            raise ModelError(f"{what}: unknown site {name!r}; known: {', '.join(sorted(sites))}")


def extended(frame: Keyframe, bodies: Sequence[Body], motors: int) -> Keyframe:
    """A model's keyframe after these bodies, and so many actuators, were added to the model.

    They are at zero: without a turn, at rest, without control.  What the keyframe leaves out, it
    still leaves out.
    """
    zeros = [ZEROS[body.joint.type] for body in bodies]
    speeds = sum(JOINT_NV[JOINT_TYPES[body.joint.type]] for body in bodies)
    return replace(
        frame,
        q=np.concatenate([frame.q, *zeros]),
        v=np.pad(frame.v, (0, speeds if len(frame.v) else 0)),
        control=np.pad(frame.control, (0, motors if len(frame.control) else 0)),
    )


def _filled(frame: Keyframe, nq: int, nv: int, count: int) -> Keyframe:
    """The keyframe with zeros where it says nothing."""
    v = frame.v if len(frame.v) else np.zeros(nv)
    control = frame.control if len(frame.control) else np.zeros(count)
    sized: tuple[tuple[str, Floats, int], ...]
    sized = ("q", frame.q, nq), ("v", v, nv), ("control", control, count)
    for what, values, size in sized:
        if len(values) != size:
            raise ModelError(
                f"keyframe {frame.name!r}: {what} must have {size} entries, got {len(values)}"
            )
    return replace(frame, v=v, control=control)
