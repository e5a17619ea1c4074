"""Bodies and joints of a compiled model.

A body with several joints becomes as many bodies, one behind the other, of which the last one has
the mass.  Where a hinge's or ball's anchor is not its body's origin, the origin is moved there (a
joint here turns about its body's origin), and a site `<body>:origin` stands where it was.

Frames agree otherwise: q and v of the model are those of MuJoCo, entry by entry.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from dynenvs.memory.layout import Floats
from dynenvs.model.annotations import NO_END
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.importing.compiled import Source, any_of, disabled, names, rotation
from dynenvs.model.importing.losses import Losses
from dynenvs.model.parts import Joint, rotation_about

FREE, BALL, SLIDE, HINGE = range(4)
ENDLESS = 1e9  # no joint gets so far [rad, m]
KINDS = {FREE: "free", BALL: "spherical", SLIDE: "prismatic", HINGE: "revolute"}


class Bodies(NamedTuple):
    """What the other parts of the import need to know of bodies."""

    names: list[str]  # of the model's body that carries what the file's body carries
    offsets: Floats  # of its origin in the file's body frame [m], shape (nbody, 3)
    joints: list[str]


class Attached(NamedTuple):
    """What joints get of actuators and tendons, by joint number."""

    efforts: dict[int, float]  # force limits of those that are actuated [N m or N]
    burdens: dict[int, tuple[float, float]]  # damping and armature besides their own
    stops: dict[int, tuple[float, float]]  # limits besides their own [rad, m]


def add_bodies(
    builder: ModelBuilder,
    source: Source,
    attached: Attached,
    losses: Losses,
) -> Bodies:
    """Add all bodies, in the file's order.

    Args:
        builder: that gets them.
        source: the compiled file.
        attached: what joints get of actuators and tendons.
        losses: that learns what is left out.
    """
    m = source.m
    own, joints = names(m, "body", m.nbody), names(m, "joint", m.njnt)
    own[0] = "world"
    offsets = np.zeros((m.nbody, 3))
    # In the file's order: parents come before what they carry
    for b in range(1, m.nbody):
        chain = range(m.body_jntadr[b], m.body_jntadr[b] + m.body_jntnum[b])
        parent = own[m.body_parentid[b]]
        at = m.body_pos[b] - offsets[m.body_parentid[b]]
        turn = rotation(m.body_quat[b])
        # No joint: it is fixed; several: a massless body for each but the last
        if not chain:
            joint = Joint("fixed", position=at, rotation=turn)
            _add_last(builder, m, b, own[b], parent, joint, offsets[b])
        for j in chain:
            joint, origin = _joint(m, j, joints[j], at, turn, offsets[b], attached)
            offsets[b] = origin
            at, turn = np.zeros(3), np.eye(3)
            if j == chain[-1]:
                _add_last(builder, m, b, own[b], parent, joint, origin)
            else:
                between = f"{own[b]}:{joints[j]}"
                builder.body(between, parent=parent, joint=joint)
                parent = between
    _note_losses(source, own, joints, losses)
    return Bodies(own, offsets, joints)


def _joint(
    mj_model: Any,
    joint: int,
    name: str,
    at: Floats,
    turn: Floats,
    before: Floats,
    attached: Attached,
) -> tuple[Joint, Floats]:
    """A joint, and where the body's origin is behind it (in the file's body frame).

    at, turn: the file's body frame in the parent's, or the frame behind the joint before
    before: the origin behind the joint before, in the file's body frame
    """
    kind = int(mj_model.jnt_type[joint])
    dof = mj_model.jnt_dofadr[joint]
    # Losses and inertia of the joint, and what actuators and tendons add to it
    damping, armature = attached.burdens.get(joint, (0.0, 0.0))
    options: dict[str, Any] = {
        "damping": 0.0
        if disabled(mj_model, "damper")
        else float(mj_model.dof_damping[dof]) + damping,
        "armature": float(mj_model.dof_armature[dof]) + armature,
        "friction": 0.0
        if disabled(mj_model, "frictionloss")
        else float(mj_model.dof_frictionloss[dof]),
        "actuated": joint in attached.efforts,
        "effort": attached.efforts.get(joint, math.inf),
    }
    # A spring, with the place where it does not pull
    if mj_model.jnt_stiffness[joint] and not disabled(mj_model, "spring"):
        options["stiffness"] = float(mj_model.jnt_stiffness[joint])
        options["reference"] = _spring_reference(mj_model, joint)
    if kind == FREE:  # its coordinates are the body's pose in the world
        return Joint("free", name, **options), np.zeros(3)
    # A hinge's or ball's anchor becomes the body's origin
    axis = np.array(mj_model.jnt_axis[joint])
    origin = np.array(mj_model.jnt_pos[joint]) if kind in (HINGE, BALL) else before
    # The origin before the first joint is the file's own: `before` is zero there.
    at = at + turn @ (origin - before)
    # MuJoCo counts from qpos0: the pose there is that of the frames
    zero = float(mj_model.qpos0[mj_model.jnt_qposadr[joint]])
    if kind == HINGE and zero:
        turn = turn @ rotation_about(axis, -zero)
    if kind == SLIDE and zero:
        at = at - zero * (turn @ axis)
    if kind in (HINGE, SLIDE):
        options["axis"] = axis
    # Stops, of the joint itself and of tendons along it
    if mj_model.jnt_limited[joint] and not disabled(mj_model, "limit"):
        lower, upper = (_end(float(end)) for end in mj_model.jnt_range[joint])
        if kind != BALL:
            options["limits"] = (lower, upper)
        elif upper < math.pi:  # else it may turn as it likes
            options["limits"] = (0.0, upper)
    if joint in attached.stops:
        (low, high), (first, last) = options.get("limits", NO_END), attached.stops[joint]
        options["limits"] = (max(low, first), min(high, last))
    return Joint(KINDS[kind], name, position=at, rotation=turn, **options), origin


def _end(limit: float) -> float:
    """A limit of a joint, infinite where it is one in name only (1e16 rad)."""
    return limit if abs(limit) < ENDLESS else math.copysign(math.inf, limit)


def _spring_reference(mj_model: Any, joint: int) -> float | list[float]:
    """Where a joint's spring does not pull, as `Joint.reference` says it."""
    at = mj_model.jnt_qposadr[joint]
    if mj_model.jnt_type[joint] in (HINGE, SLIDE):
        return float(mj_model.qpos_spring[at])
    place = [] if mj_model.jnt_type[joint] == BALL else mj_model.qpos_spring[at : at + 3].tolist()
    # The reference as a rotation vector of at most half a turn
    w, *xyz = mj_model.qpos_spring[at + len(place) : at + len(place) + 4].tolist()
    sign = -1.0 if w < 0.0 else 1.0
    sine = math.hypot(*xyz)
    scale = 2.0 * math.atan2(sine, abs(w)) / sine if sine > 0.0 else 0.0
    return [*place, *(sign * scale * x for x in xyz)]


def _add_last(
    builder: ModelBuilder,
    mj_model: Any,
    body: int,
    name: str,
    parent: str,
    joint: Joint,
    origin: Floats,
) -> None:
    """Add the body that has the mass, and a site where its origin was."""
    mass = float(mj_model.body_mass[body])
    # Principal moments, turned into the body's axes; a massless body has none
    turn = rotation(mj_model.body_iquat[body])
    inertia = turn @ np.diag(mj_model.body_inertia[body]) @ turn.T
    builder.body(
        name,
        parent=parent,
        joint=joint,
        mass=mass,
        com=mj_model.body_ipos[body] - origin,
        inertia=(inertia + inertia.T) / 2 if mass > 0.0 else None,
        lift=float(mj_model.body_gravcomp[body]) if mass > 0.0 else 0.0,
    )
    if origin.any():
        builder.site(f"{name}:origin", name, position=-origin)


def _note_losses(source: Source, own: list[str], joints: list[str], losses: Losses) -> None:
    m = source.m

    def where(flags: Any, called: list[str]) -> list[str]:
        return [called[i] for i in np.flatnonzero(flags)]

    of_dof = [joints[j] for j in m.dof_jntid]
    soft = (m.jnt_limited != 0) & unusual(m.jnt_solref, m.jnt_solimp)
    losses.add("solref and solimp of limits", where(soft, joints), "limits are hard stops")
    losses.add(
        "margins of limits",
        where((m.jnt_limited != 0) & (m.jnt_margin != 0), joints),
        "stops act where the limit is",
    )
    through = (m.jnt_actgravcomp != 0) & (m.jnt_actfrclimited != 0) & bool(m.ngravcomp)
    losses.add(
        "actuatorgravcomp of joints with actuatorfrcrange",
        where(through, joints),
        "what carries the weight is not limited",
    )
    losses.add("mocap bodies", where(m.body_mocapid >= 0, own), "they stand still")
    for field, what in (
        ("dof_dampingpoly", "nonlinear damping of joints"),
        ("jnt_stiffnesspoly", "nonlinear stiffness of joints"),
        ("jnt_springyield", "yielding springs of joints"),
    ):
        values = getattr(m, field, None)
        if values is not None and len(values):
            bad = any_of(values)
            called = of_dof if field.startswith("dof") else joints
            losses.add(what, list(dict.fromkeys(where(bad, called))), "only the linear part acts")


def unusual(solref: Any, solimp: Any) -> Any:
    """Which parameters of soft constraints are not MuJoCo's defaults."""
    usual = np.isclose(solref, (0.02, 1.0)).all(axis=1)
    return ~(usual & np.isclose(solimp, (0.9, 0.95, 0.001, 0.5, 2.0)).all(axis=1))
