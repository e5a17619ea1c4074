"""Mechanisms, and the same in MuJoCo and Pinocchio: read off the packed model, body by body."""

from __future__ import annotations

from typing import Any

import numpy as np

from dynenvs.memory.layout import Floats
from dynenvs.memory.records import FREE, PRISMATIC, REVOLUTE
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model
from dynenvs.model.parts import Joint, free, revolute
from studies.bench.peers import peer

AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
LIMBS = {"leg": ("z", "x", "y", "y", "y", "x"), "arm": ("y", "x", "z", "y", "z", "y")}
POINT_RADIUS = 1e-3  # of the sphere that stands for a contact point in MuJoCo [m]


def chain(links: int) -> Model:
    """Links of 0.2 m and 1 kg on hinges about y and x in turns, hanging from the world."""
    builder = ModelBuilder()
    parent, position = "world", (0.0, 0.0, 0.0)
    for i in range(links):
        joint = revolute(f"joint{i}", axis=AXES["yx"[i % 2]], position=position)
        parent = _rod(builder, f"link{i}", parent, joint, 1.0, 0.2)
        position = (0.0, 0.0, -0.2)
    return builder.build()


def humanoid() -> Model:
    """A free pelvis, a torso on two hinges, legs and arms of six: 26 hinges, 32 velocities."""
    builder = ModelBuilder()
    _rod(builder, "pelvis", "world", free("root"), 10.0, 0.2)
    _rod(builder, "waist", "pelvis", _hinge("waist", "z", (0.0, 0.0, 0.1)), 1.0, 0.1)
    _rod(builder, "torso", "waist", _hinge("torso", "y", (0.0, 0.0, 0.1)), 20.0, 0.4)
    for limb, mount, x in (("leg", "pelvis", -0.1), ("arm", "torso", 0.3)):
        for side in (-1.0, 1.0):
            parent, position = mount, (0.0, 0.2 * side, x)
            for i, axis in enumerate(LIMBS[limb]):
                name = f"{limb}{side:+.0f}_{i}"
                parent = _rod(builder, name, parent, _hinge(name, axis, position), 2.0, 0.15)
                position = (0.0, 0.0, -0.15)
    return builder.build()


def _hinge(name: str, axis: str, position: tuple[float, float, float]) -> Joint:
    return revolute(f"{name}_joint", axis=AXES[axis], position=position)


def _rod(
    builder: ModelBuilder, name: str, parent: str, joint: Joint, mass: float, length: float
) -> str:
    """A body like a thick rod that hangs from its joint [kg, m]; returns its name."""
    across, along = mass * length**2 / 10, mass * length**2 / 40
    com = (0.01, -0.02, -length / 2)
    inertia = (across, 1.1 * across, along)
    builder.body(name, parent=parent, joint=joint, mass=mass, com=com, inertia=inertia)
    return name


def random_states(model: Model, count: int, seed: int = 0) -> tuple[Floats, Floats, Floats]:
    """Positions, velocities and forces, shapes (count, n): a free root upright and at rest.

    There, Pinocchio's coordinates of a free joint mean what ours do.
    """
    rng = np.random.default_rng(seed)
    q, v, tau = (rng.uniform(-1, 1, (count, n)) for n in (model.nq, model.nv, model.nv))
    if model.bodies[1].joint == FREE:
        q[:, 3:7], v[:, :6] = (1.0, 0.0, 0.0, 0.0), 0.0
    return q, v, tau


# Pinocchio


def to_pinocchio(model: Model) -> Any:
    """The model of free and hinge joints in Pinocchio."""
    pin = peer("pinocchio")
    theirs = pin.Model()
    theirs.gravity.linear = np.array(model.header.gravity)
    aligned = {"x": pin.JointModelRX, "y": pin.JointModelRY, "z": pin.JointModelRZ}
    for i, body in enumerate(model.bodies[1:], 1):
        if body.joint == FREE:
            joint = pin.JointModelFreeFlyer()
        elif body.joint == REVOLUTE:  # its quickest kind: about an axis of the frame
            name = next(n for n, axis in AXES.items() if np.allclose(axis, body.axis))
            joint = aligned[name]()
        else:
            raise ValueError(f"body {model.body_names[i]!r}: neither free nor on a hinge")
        at = theirs.addJoint(
            int(body.parent),
            joint,
            pin.SE3(np.array(body.rotation), np.array(body.position)),
            model.body_names[i],
        )
        inertia = pin.Inertia(float(body.mass), np.array(body.com), np.array(body.inertia))
        theirs.appendBodyToJoint(at, inertia, pin.SE3.Identity())
    return theirs


def pinocchio_q(model: Model, q: Floats) -> Floats:
    """Positions, shape (count, nq), with quaternions in Pinocchio's order (x, y, z, w)."""
    theirs = q.copy()
    if model.bodies[1].joint == FREE:
        theirs[:, 3:7] = q[:, [4, 5, 6, 3]]
    return theirs


# MuJoCo


def to_mujoco(model: Model, timestep: float, integrator: str) -> Any:
    """The model in MuJoCo: hinges and slides, limits, damping, rotors; each contact feature a
    sphere that meets the ground alone.

    Args:
        model: its massless bodies are slides that carry one body at the same place.
        timestep: [s].
        integrator: "Euler", "implicitfast" or "RK4".
    """
    ground = ""
    if len(model.features):
        friction = float(model.features["friction"][0])
        ground = (
            f'<geom type="plane" size="100 100 1" contype="0" conaffinity="1" condim="3" '
            f'friction="{friction} 0.005 0.0001"/>'
        )
    bodies = "".join(_body_xml(model, i, "") for i in _children(model, 0))
    text = (
        '<mujoco><compiler angle="radian" autolimits="true" balanceinertia="false"/>'
        f'<option timestep="{timestep!r}" integrator="{integrator}" '
        f'gravity="{_numbers(model.header.gravity)}"/>'
        f"<worldbody>{ground}{bodies}</worldbody></mujoco>"
    )
    return peer("mujoco").MjModel.from_xml_string(text)


def _children(model: Model, i: int) -> list[int]:
    return [int(j) for j in np.flatnonzero(model.bodies["parent"] == i) if j > 0]


def _numbers(values: Any) -> str:
    return " ".join(repr(float(x)) for x in np.ravel(values))


def _joint_xml(model: Model, i: int) -> str:
    body = model.bodies[i]
    kind = {REVOLUTE: "hinge", PRISMATIC: "slide"}[int(body.joint)]
    dof = model.dofs[body.v_at]
    limits = ""
    if dof.limited:
        limits = f'range="{_numbers([dof.lower, dof.upper])}"'
    return (
        f'<joint type="{kind}" axis="{_numbers(body.axis)}" {limits} '
        f'damping="{float(dof.damping)!r}" armature="{float(dof.armature)!r}"/>'
    )


def _body_xml(model: Model, i: int, joints: str) -> str:
    """A body and what it carries; `joints` are those of a massless body that carried it."""
    body = model.bodies[i]
    if not np.allclose(body.rotation, np.eye(3)):
        raise ValueError(f"body {model.body_names[i]!r}: joint frames must not be turned")
    joints += _joint_xml(model, i)
    inner = [_body_xml(model, j, "") for j in _children(model, i) if body.mass > 0.0]
    if body.mass == 0.0:
        (child,) = _children(model, i)
        assert not model.bodies[child].position.any()
        return _body_xml(model, child, joints)
    # A body that only slides needs no inertia here; MuJoCo wants one all the same
    I = body.inertia if body.inertia.any() else np.eye(3)
    full = [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]
    spheres = "".join(
        f'<geom type="sphere" size="{max(float(f.radius), POINT_RADIUS)!r}" mass="0" condim="3" '
        f'pos="{_numbers(f.center)}" contype="1" conaffinity="0" '
        f'friction="{float(f.friction)!r} 0.005 0.0001"/>'
        for f in model.features
        if f.body_a == i
    )
    return (
        f'<body pos="{_numbers(body.position)}">{joints}'
        f'<inertial pos="{_numbers(body.com)}" mass="{float(body.mass)!r}" '
        f'fullinertia="{_numbers(full)}"/>{spheres}{"".join(inner)}</body>'
    )
