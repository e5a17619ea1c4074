"""Actuators and keyframes of a compiled model."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from dynenvs.model.annotations import NO_END, START, Push, Segment
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.importing.bodies import BALL, FREE, HINGE, SLIDE, Bodies
from dynenvs.model.importing.compiled import (
    Source,
    any_of,
    disabled,
    names,
)
from dynenvs.model.importing.losses import Losses
from dynenvs.model.importing.tendons import joint_sum, straight_path

JOINT, JOINT_IN_PARENT, _CRANK, TENDON, AT_SITE = range(5)  # transmissions, as in mjtTrn
FIXED, AFFINE = 0, 1  # gains, as in mjtGain
NO_BIAS, AFFINE_BIAS = 0, 1  # as in mjtBias
LAST_GROUP = 30  # of actuators, that can be disabled
SIZES = {FREE: 6, BALL: 3, SLIDE: 1, HINGE: 1}


def driven(source: Source) -> dict[int, float]:
    """The joints that motors drive, each with the largest force of them [N m or N].

    In a URDF, which has no motors, every hinge and slide is driven, up to its effort.
    """
    m = source.m
    most: dict[int, float] = {}
    # Motors at a joint add up
    for i in range(m.nactuator):
        for j, gear in _gears(m, i).items():
            most[j] = most.get(j, 0.0) + _largest(m, i) * max(map(abs, gear))
    # A URDF has limits of effort in place of motors
    if source.urdf and not m.nactuator:
        most = {j: math.inf for j in range(m.njnt) if m.jnt_type[j] in (HINGE, SLIDE)}
    # A joint's own limit counts, too
    for j in most:
        if m.jnt_actfrclimited[j]:
            most[j] = min(most[j], float(np.abs(m.jnt_actfrcrange[j]).max()))
    return {j: force if force > 0.0 else math.inf for j, force in most.items()}


def carried_by_joints(source: Source) -> dict[int, tuple[float, float]]:
    """Damping and armature that actuators at hinges and slides add to these, by joint number."""
    m = source.m
    found: dict[int, tuple[float, float]] = {}
    for i in range(m.nactuator):
        if _is_simple(m, i):
            j, gear = int(m.actuator_trnid[i, 0]), float(m.actuator_gear[i, 0])
            square = gear * gear  # infinite where ** would raise an error of its own
            damping, armature = found.get(j, (0.0, 0.0))
            damping += square * float(m.actuator_damping[i])
            found[j] = damping, armature + square * float(m.actuator_armature[i])
    return found


def _is_simple(mj_model: Any, actuator: int) -> bool:
    """Whether an actuator is at a hinge or a slide."""
    at_joint = int(mj_model.actuator_trntype[actuator]) in (JOINT, JOINT_IN_PARENT)
    return at_joint and int(mj_model.jnt_type[mj_model.actuator_trnid[actuator, 0]]) in (
        HINGE,
        SLIDE,
    )


def _is_disabled(mj_model: Any, actuator: int) -> bool:
    """Whether the file switches `actuator` off, as one of a group or as all are."""
    group = int(mj_model.actuator_group[actuator])
    off = 0 <= group <= LAST_GROUP and bool(int(mj_model.opt.disableactuator) >> group & 1)
    return off or disabled(mj_model, "actuation")


def _is_known(mj_model: Any, actuator: int) -> bool:
    """Whether `actuator` acts, by a law that is known here."""
    known = mj_model.actuator_gaintype[actuator] in (FIXED, AFFINE)
    known &= mj_model.actuator_biastype[actuator] in (NO_BIAS, AFFINE_BIAS)
    known &= mj_model.actuator_dyntype[actuator] == 0 and mj_model.actuator_plugin[actuator] < 0
    return bool(known) and not _is_disabled(mj_model, actuator)


def _gears(mj_model: Any, actuator: int) -> dict[int, list[float]]:
    """Of the joints that `actuator` drives: a number for each coordinate; empty if unknown here."""
    kind, at, gear = (
        int(mj_model.actuator_trntype[actuator]),
        int(mj_model.actuator_trnid[actuator, 0]),
        mj_model.actuator_gear[actuator],
    )
    # Laws that are not known here are losses
    if not _is_known(mj_model, actuator):
        return {}
    if kind == JOINT or (kind == JOINT_IN_PARENT and mj_model.jnt_type[at] in (HINGE, SLIDE)):
        simple = mj_model.jnt_type[at] in (HINGE, SLIDE)
        # The length of a ball's or free joint's transmission is no sum of coordinates
        if not simple and (
            mj_model.actuator_biastype[actuator] or mj_model.actuator_gaintype[actuator]
        ):
            return {}
        return {at: gear[: SIZES[int(mj_model.jnt_type[at])]].tolist()}
    if kind == TENDON:
        return {j: [float(gear[0]) * share] for j, share in joint_sum(mj_model, at).items()}
    return {}


def _path(mj_model: Any, actuator: int, sites: list[str]) -> list[Segment]:
    """The path along which `actuator` pulls; empty if it does not, or bends around geoms."""
    if not _is_known(mj_model, actuator) or mj_model.actuator_trntype[actuator] != TENDON:
        return []
    gear = float(mj_model.actuator_gear[actuator, 0])
    path = straight_path(mj_model, int(mj_model.actuator_trnid[actuator, 0]), sites)
    return [replace(part, share=gear * part.share) for part in path]


def _push(mj_model: Any, actuator: int, sites: list[str]) -> Push | None:
    """Where `actuator` pushes a site, by itself, not towards another one."""
    # One site alone: with a second one it would be a cord
    if (
        not _is_known(mj_model, actuator)
        or mj_model.actuator_trntype[actuator] != AT_SITE
        or mj_model.actuator_trnid[actuator, 1] >= 0
    ):
        return None
    force, moment = (
        mj_model.actuator_gear[actuator, :3].tolist(),
        mj_model.actuator_gear[actuator, 3:].tolist(),
    )
    return Push(sites[int(mj_model.actuator_trnid[actuator, 0])], tuple(force), tuple(moment))


def _kept(mj_model: Any) -> list[int]:
    """The actuators that the model has."""
    sites = names(mj_model, "site", mj_model.nsite)
    return [
        i
        for i in range(mj_model.nactuator)
        if _gears(mj_model, i) or _path(mj_model, i, sites) or _push(mj_model, i, sites) is not None
    ]


def _largest(mj_model: Any, actuator: int) -> float:
    """The largest force of an actuator, infinite if nothing limits it."""
    force = max(map(abs, _forces(mj_model, actuator)))
    constant = (
        mj_model.actuator_gaintype[actuator] == FIXED
        and mj_model.actuator_biastype[actuator] == NO_BIAS
    )
    # A motor's force is its gain times its control, if that is bounded
    if constant:
        control = max(map(abs, _controls(mj_model, actuator)))
        gain = abs(float(mj_model.actuator_gainprm[actuator, 0]))
        force = min(force, control * gain) if gain else 0.0
    return force


def _controls(mj_model: Any, actuator: int) -> tuple[float, float]:
    """The range to which an actuator's control is clipped."""
    at = int(mj_model.actuator_ctrladr[actuator])
    if not mj_model.actuator_ctrllimited[at] or disabled(mj_model, "clampctrl"):
        return NO_END
    low, high = mj_model.actuator_ctrlrange[at].tolist()
    return low, high


def _forces(mj_model: Any, actuator: int) -> tuple[float, float]:
    """The range to which an actuator's force is clipped; its tendon's too, if it pulls alone."""
    low, high = (
        mj_model.actuator_forcerange[actuator].tolist()
        if mj_model.actuator_forcelimited[actuator]
        else NO_END
    )
    # A tendon's limit bounds the sum of its actuators: of one it is its own
    if mj_model.actuator_trntype[actuator] == TENDON and _pullers(
        mj_model, mj_model.actuator_trnid[actuator, 0]
    ) == [actuator]:
        t = mj_model.actuator_trnid[actuator, 0]
        if mj_model.tendon_actfrclimited[t]:
            least, most = mj_model.tendon_actfrcrange[t].tolist()
            low, high = (min(max(end, least), most) for end in (low, high))
    return low, high


def _pullers(mj_model: Any, tendon: int) -> list[int]:
    """The actuators of `tendon` that act."""
    those = np.flatnonzero(
        (mj_model.actuator_trntype == TENDON) & (mj_model.actuator_trnid[:, 0] == tendon)
    )
    return [i for i in those.tolist() if not _is_disabled(mj_model, i)]


def add_motors(builder: ModelBuilder, source: Source, bodies: Bodies, losses: Losses) -> None:
    """Add all actuators that have a counterpart."""
    m = source.m
    # Actuators in the file's order, those that are known
    called = names(m, "actuator", m.nactuator)
    sites, kept = names(m, "site", m.nsite), _kept(m)
    for i in kept:
        gain, bias = m.actuator_gainprm[i, :3].tolist(), m.actuator_biasprm[i, :3].tolist()
        builder.actuator(
            called[i],
            {bodies.joints[j]: gear for j, gear in _gears(m, i).items()},
            path=_path(m, i, sites),
            push=_push(m, i, sites),
            gain=gain if m.actuator_gaintype[i] == AFFINE else (gain[0], 0.0, 0.0),
            bias=bias if m.actuator_biastype[i] == AFFINE_BIAS else (0.0, 0.0, 0.0),
            control_range=_controls(m, i),
            force_range=_forces(m, i),
        )
    _note_actuators(m, called, kept, losses)
    limited = [
        bodies.joints[j]
        for j in range(m.njnt)
        if m.jnt_actfrclimited[j] and m.jnt_actfrcrange[j].sum() != 0.0
    ]
    losses.add("unequal ends of actuatorfrcrange", limited, "the larger one limits both senses")
    # Limits that have no counterpart
    called = names(m, "tendon", m.ntendon)
    shared = [
        called[t] for t in range(m.ntendon) if m.tendon_actfrclimited[t] and len(_pullers(m, t)) > 1
    ]
    losses.add(
        "actuatorfrcrange of tendons with several actuators", shared, "it does not limit them"
    )


def _note_actuators(mj_model: Any, called: list[str], kept: list[int], losses: Losses) -> None:
    """Actuators that are left out, and what is left out of the others."""
    off = [i for i in range(mj_model.nactuator) if _is_disabled(mj_model, i)]
    lost = [called[i] for i in range(mj_model.nactuator) if i not in kept and i not in off]
    losses.add("actuators of this kind", lost, "they have no control and give no force")
    losses.add("disabled actuators", [called[i] for i in off], "they have no control")
    late = [called[i] for i in kept if mj_model.actuator_delay[i] != 0.0]
    losses.add("delays of actuators", late, "controls act at once")
    for field, what in (
        ("actuator_damping", "damping"),
        ("actuator_dampingpoly", "nonlinear damping"),
        ("actuator_armature", "armature"),
    ):
        values = getattr(mj_model, field, None)
        if values is not None and len(values):
            bad = np.flatnonzero(any_of(values))
            if what != "nonlinear damping":
                bad = np.array(
                    [i for i in bad.tolist() if not _is_simple(mj_model, i)], dtype=np.int64
                )
            losses.add(f"{what} of actuators", [called[i] for i in bad], "their joints lack it")


def add_keyframes(builder: ModelBuilder, source: Source) -> None:
    """Add the keyframes, and before them "qpos0", the pose in which the file draws the robot."""
    m = source.m
    called = names(m, "key", m.nkey)
    # Controls of the actuators that were added, in their order
    kept = [int(m.actuator_ctrladr[i]) for i in _kept(m)]
    if START not in called:
        builder.keyframe(START, m.qpos0)
    for k, name in enumerate(called):
        builder.keyframe(name, m.key_qpos[k], m.key_qvel[k], m.key_ctrl[k][kept])
