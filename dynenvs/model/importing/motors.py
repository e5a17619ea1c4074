"""Actuators, keyframes and closed loops of a compiled model."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial

from dynenvs.model.annotations import NO_END, START
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.importing.bodies import BALL, FREE, HINGE, SLIDE, Bodies
from dynenvs.model.importing.compiled import (
    CONNECT,
    COUPLING,
    Source,
    any_of,
    disabled,
    is_loop,
    names,
    rotation,
)
from dynenvs.model.importing.losses import Losses

JOINT, JOINT_IN_PARENT, _CRANK, TENDON = range(4)  # transmissions, as in mjtTrn
FIXED, AFFINE = 0, 1  # gains, as in mjtGain
NO_BIAS, AFFINE_BIAS = 0, 1  # as in mjtBias
SIZES = {FREE: 6, BALL: 3, SLIDE: 1, HINGE: 1}


def driven(source: Source) -> dict[int, float]:
    """The joints that motors drive, each with the largest force of them [N m or N].

    In a URDF, which has no motors, every hinge and slide is driven, up to its effort.
    """
    m = source.m
    most: dict[int, float] = {}
    for i in range(m.nu):
        for j, gear in _gears(m, i).items():
            most[j] = most.get(j, 0.0) + _largest(m, i) * max(map(abs, gear))
    if source.urdf and not m.nu:
        most = {j: math.inf for j in range(m.njnt) if m.jnt_type[j] in (HINGE, SLIDE)}
    for j in most:
        if m.jnt_actfrclimited[j]:
            most[j] = min(most[j], float(np.abs(m.jnt_actfrcrange[j]).max()))
    return {j: force if force > 0.0 else math.inf for j, force in most.items()}


def _gears(m: Any, i: int) -> dict[int, list[float]]:
    """Of the joints that actuator i drives: a number for each coordinate; empty if unknown here."""
    kind, at, gear = int(m.actuator_trntype[i]), int(m.actuator_trnid[i, 0]), m.actuator_gear[i]
    known = m.actuator_gaintype[i] in (FIXED, AFFINE)
    known &= m.actuator_biastype[i] in (NO_BIAS, AFFINE_BIAS)
    known &= m.actuator_dyntype[i] == 0 and not disabled(m, "actuation")
    if not known:
        return {}
    if kind == JOINT or (kind == JOINT_IN_PARENT and m.jnt_type[at] in (HINGE, SLIDE)):
        simple = m.jnt_type[at] in (HINGE, SLIDE)
        # The length of a ball's or free joint's transmission is no sum of coordinates
        if not simple and (m.actuator_biastype[i] or m.actuator_gaintype[i]):
            return {}
        return {at: gear[: SIZES[int(m.jnt_type[at])]].tolist()}
    if kind == TENDON and m.tendon_num[at] and _is_fixed(m, at):
        out: dict[int, list[float]] = {}
        for w in range(m.tendon_adr[at], m.tendon_adr[at] + m.tendon_num[at]):
            j = int(m.wrap_objid[w])
            out[j] = [out.get(j, [0.0])[0] + float(gear[0] * m.wrap_prm[w])]
        return out
    return {}


def _is_fixed(m: Any, t: int) -> bool:
    """Whether a tendon's length is a sum of joint coordinates (mjWRAP_JOINT)."""
    return int(m.wrap_type[m.tendon_adr[t]]) == 1


def _largest(m: Any, i: int) -> float:
    """The largest force of an actuator, infinite if nothing limits it."""
    force = math.inf
    if m.actuator_forcelimited[i]:
        force = float(np.abs(m.actuator_forcerange[i]).max())
    constant = m.actuator_gaintype[i] == FIXED and m.actuator_biastype[i] == NO_BIAS
    if constant and _clamped(m, i):
        control = float(np.abs(m.actuator_ctrlrange[i]).max())
        force = min(force, control * abs(float(m.actuator_gainprm[i, 0])))
    return force


def _clamped(m: Any, i: int) -> bool:
    return bool(m.actuator_ctrllimited[i]) and not disabled(m, "clampctrl")


def add_motors(builder: ModelBuilder, source: Source, bodies: Bodies, losses: Losses) -> None:
    """Add all actuators that have a counterpart."""
    m = source.m
    called, lost = names(m, "actuator", m.nu), []
    for i in range(m.nu):
        gears = _gears(m, i)
        if not gears:
            lost.append(called[i])
            continue
        gain, bias = m.actuator_gainprm[i, :3].tolist(), m.actuator_biasprm[i, :3].tolist()
        builder.actuator(
            called[i],
            {bodies.joints[j]: gear for j, gear in gears.items()},
            gain=gain if m.actuator_gaintype[i] == AFFINE else (gain[0], 0.0, 0.0),
            bias=bias if m.actuator_biastype[i] == AFFINE_BIAS else (0.0, 0.0, 0.0),
            control_range=tuple(m.actuator_ctrlrange[i].tolist()) if _clamped(m, i) else NO_END,
            force_range=(
                tuple(m.actuator_forcerange[i].tolist()) if m.actuator_forcelimited[i] else NO_END
            ),
        )
    losses.add("actuators of this kind", lost, "they have no control and give no force")
    limited = [
        bodies.joints[j]
        for j in range(m.njnt)
        if m.jnt_actfrclimited[j] and m.jnt_actfrcrange[j].sum() != 0.0
    ]
    losses.add("unequal ends of actuatorfrcrange", limited, "the larger one limits both senses")
    for field, what in (("actuator_damping", "damping"), ("actuator_armature", "armature")):
        values = getattr(m, field, None)
        if values is not None and len(values):
            bad = np.flatnonzero(any_of(values))
            losses.add(f"{what} of actuators", [called[i] for i in bad], "their joints lack it")
    _note_tendons(m, losses)


def _note_tendons(m: Any, losses: Losses) -> None:
    """Tendons that only measure or pass on an actuator's force change nothing."""
    called = names(m, "tendon", m.ntendon)
    acting = [
        called[t]
        for t in range(m.ntendon)
        if m.tendon_limited[t]
        or m.tendon_stiffness[t]
        or m.tendon_damping[t]
        or m.tendon_frictionloss[t]
        or m.tendon_armature[t]
    ]
    losses.add("tendons", acting, "nothing pulls there")


def add_keyframes(builder: ModelBuilder, source: Source) -> None:
    """Add the keyframes, and before them "qpos0", the pose in which the file draws the robot."""
    m = source.m
    called = names(m, "key", m.nkey)
    # Controls of the actuators that were added, in their order
    kept = [i for i in range(m.nu) if _gears(m, i)]
    if START not in called:
        builder.keyframe(START, m.qpos0)
    for k, name in enumerate(called):
        builder.keyframe(name, m.key_qpos[k], m.key_qvel[k], m.key_ctrl[k][kept])


def _couple(
    builder: ModelBuilder, m: Any, name: str, joints: list[str], ends: tuple[int, int], data: Any
) -> None:
    """Joint a's distance from its first position as a polynomial of that of joint b, or nothing."""
    a, b = ends
    first = [float(m.qpos0[m.jnt_qposadr[j]]) for j in ends]
    if b < 0:
        builder.couple(name, joints[a], coefficients=[first[0] + float(data[0])])
        return
    from_here = Polynomial(data[:5])(Polynomial([-first[1], 1.0])).coef
    from_here[0] += first[0]
    coefficients = np.trim_zeros(from_here, "b").tolist() or [0.0]
    builder.couple(name, joints[a], joints[b], coefficients=coefficients)


def add_loops(builder: ModelBuilder, source: Source, bodies: Bodies, losses: Losses) -> None:
    """Add constraints of type connect and weld between bodies, and joint, as closed loops."""
    m = source.m
    called = names(m, "equality", m.neq)
    lost: list[str] = []
    off: list[str] = []
    for e in range(m.neq):
        if not is_loop(m, e):
            idle = disabled(m, "equality") or not m.eq_active0[e]
            (off if idle else lost).append(called[e])
            continue
        a, b = int(m.eq_obj1id[e]), int(m.eq_obj2id[e])
        data = m.eq_data[e]
        if int(m.eq_type[e]) == COUPLING:
            _couple(builder, m, called[e], bodies.joints, (a, b), data)
            continue
        if int(m.eq_type[e]) == CONNECT:
            places = {"position_a": data[:3], "position_b": data[3:6]}
            joint = "spherical"
        else:  # anchor in B; B's pose in A
            turn = rotation(data[6:10])
            places = {
                "position_a": data[3:6] + turn @ data[:3],
                "position_b": data[:3],
                "rotation_a": turn,
            }
            joint = "fixed"
        places["position_a"] = places["position_a"] - bodies.offsets[a]
        places["position_b"] = places["position_b"] - bodies.offsets[b]
        builder.close(called[e], bodies.names[a], bodies.names[b], joint=joint, **places)
    losses.add("equality constraints of this kind", lost, "nothing holds there")
    losses.add("inactive equality constraints", off, "they cannot be switched on")
