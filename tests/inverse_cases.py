"""Random robots for inverse dynamics with contact, and equation 7 written out in numpy.

Bhargava's equation (7) as corrected, with gaps: docs/theory.md, Prescribed velocities.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from trees import Array, Opened, plus, random_inertia

from dynenvs.dynamics.rnea import bias_force
from dynenvs.memory.layout import open_world
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model
from dynenvs.model.parts import free, prismatic, revolute
from dynenvs.simulation.inverse import InverseResult, inverse_dynamics
from dynenvs.simulation.timestep import DONE, step
from dynenvs.simulation.world import World

H = 0.01  # control period [s]


class Case(NamedTuple):
    """A model, a state and desired actuated velocities."""

    model: Model
    q: Array
    v: Array
    v_des: Array
    planar: bool


# Random robots


Planes = list[tuple[Array, Array]]  # (point, normal) of each half space


def _planar_model(
    rng: np.random.Generator, feet: int, pitch: bool, points: int, planes: Planes
) -> Model:
    """A trunk on unactuated (x, z) or (x, z, pitch) joints and legs of two or three hinges."""
    builder = _ground(ModelBuilder(directions=2), rng, planes)
    builder.body("slide", joint=prismatic("x", axis=(1, 0, 0), actuated=False))
    mass = rng.uniform(2, 10)
    inertia = random_inertia(rng, mass)
    if pitch:
        builder.body("lift", parent="slide", joint=prismatic("z", axis=(0, 0, 1), actuated=False))
        joint = revolute("pitch", axis=(0, 1, 0), actuated=False)
        builder.body("trunk", parent="lift", joint=joint, mass=mass, inertia=inertia)
    else:
        joint = prismatic("z", axis=(0, 0, 1), actuated=False)
        builder.body("trunk", parent="slide", joint=joint, mass=mass, inertia=inertia)
    for leg in range(feet):
        _leg(builder, rng, f"leg{leg}", (rng.uniform(-0.3, 0.3), 0.0, 0.0), (0, 1, 0), points)
    return builder.build()


def _ground(builder: ModelBuilder, rng: np.random.Generator, planes: Planes) -> ModelBuilder:
    for k, (point, normal) in enumerate(planes):
        friction = rng.uniform(0.3, 1.0)
        builder.half_space(f"plane{k}", position=point, normal=normal, friction=friction)
    return builder


def _leg(
    builder: ModelBuilder,
    rng: np.random.Generator,
    name: str,
    position: Any,
    axis: Any,
    points: int,
) -> None:
    parent = "trunk"
    for k in range(int(rng.integers(2, 4))):
        mass = rng.uniform(0.3, 2.0)
        joint = revolute(
            f"{name}_{k}",
            axis=axis if axis is not None else rng.normal(size=3),
            position=position,
            effort=rng.uniform(10, 100),
            armature=rng.uniform(0, 0.05),
            damping=rng.uniform(0, 0.5),
        )
        builder.body(
            f"{name}{k}",
            parent=parent,
            joint=joint,
            mass=mass,
            com=(0, 0, -0.1),
            inertia=random_inertia(rng, mass),
        )
        parent, position = f"{name}{k}", (0.0, 0.0, -0.25)
    for k in range(points):
        tip = (rng.uniform(-0.1, 0.1), 0.0 if axis is not None else rng.uniform(-0.1, 0.1), -0.25)
        friction = rng.uniform(0.3, 1.0)
        if rng.random() < 0.5:
            builder.point(f"{name}_p{k}", parent, tip, friction=friction)
        else:
            builder.sphere(f"{name}_p{k}", parent, radius=0.02, position=tip, friction=friction)


def _spatial_model(rng: np.random.Generator, feet: int, points: int, planes: Planes) -> Model:
    """A free trunk and legs of two or three hinges about random axes."""
    builder = _ground(ModelBuilder(directions=8), rng, planes)
    mass = rng.uniform(2, 10)
    builder.body("trunk", joint=free(), mass=mass, inertia=random_inertia(rng, mass))
    for leg in range(feet):
        _leg(builder, rng, f"leg{leg}", rng.uniform(-0.3, 0.3, 3), None, points)
    return builder.build()


def random_case(
    seed: int,
    *,
    planar: bool,
    points: int = 1,
    planes: int = 1,
    push: float = 1.0,
) -> Case:
    """A robot that moves at random on the floor, or jammed between random planes.

    points: contact points at the end of each leg
    planes: the first is the floor, the others have random normals; the robot nearly touches each
    push: scale of the desired accelerations
    """
    rng = np.random.default_rng(seed)
    normals = [np.array([0.0, 0.0, 1.0])]
    for _ in range(planes - 1):
        normal = rng.normal(size=3) * (1, 0 if planar else 1, 1)
        normals.append(normal / np.linalg.norm(normal))
    feet, pitch = int(rng.integers(1, 4)), bool(rng.random() < 0.5)
    start = rng.bit_generator.state

    def build(at: list[Array]) -> Model:
        rng.bit_generator.state = start
        places = list(zip(at, normals, strict=True))
        if planar:
            return _planar_model(rng, feet, pitch, points, places)
        return _spatial_model(rng, feet, points, places)

    # First with all planes through the origin: then each is moved to where the robot is.
    model = build([np.zeros(3)] * planes)
    q = plus(model, model.neutral(), rng.uniform(-0.7, 0.7, model.nv))
    gaps = features_of(model, q).gap
    at = []
    for k, normal in enumerate(normals):
        own = model.features["geom_b"] == model.geom_id(f"plane{k}")
        at.append(normal * (gaps[own].min() - rng.choice([0.0, 1e-4, 3e-3, -1e-5])))
    model = build(at)
    rng = np.random.default_rng(seed + 10**6)
    v = rng.normal(size=model.nv) * rng.choice([0.0, 0.1, 1.0])
    change = H * push * rng.normal(size=model.nu) * rng.choice([1.0, 5.0, 30.0])
    return Case(model, q, v, v[model.actuated] + change, planar)


class Touch(NamedTuple):
    """Geometry of all contact features, the ground being fixed half spaces."""

    gap: Array  # [m], shape (nf,)
    normal: Array  # shape (nf, 3)
    J: Array  # of the contact point, world axes, shape (nf, 3, nv)


def features_of(model: Model, q: Array) -> Touch:
    """Gaps, normals and point Jacobians of all features."""
    opened = Opened(model, q)
    gap, normal, J = [], [], []
    for feature in model.features:
        assert feature.body_b == 0
        R, p = opened.pose(feature.body_a)
        center, n = p + R @ feature.center, feature.target_normal
        height = float(n @ (center - feature.target))
        gap.append(height - feature.radius)
        normal.append(n)
        # Of a foot's corners in three dimensions it is the plane's point below
        reach = height if feature.corner else feature.radius
        J.append(opened.point_jacobian(feature.body_a, center - reach * n))
    return Touch(np.array(gap), np.array(normal), np.array(J))


# Equation 7 in numpy


class Terms(NamedTuple):
    """What the equations are made of, from public functions and point Jacobians."""

    M: Array  # with armature and h times damping
    bias: Array  # with damping
    P: Array
    J: Array  # of the contact points, world axes, shape (nf, 3, nv)
    normal: Array  # shape (nf, 3)
    N: Array  # rows n^T J, shape (nf, nv)
    gap: Array  # that may be closed within the step
    friction: Array


def terms(case: Case) -> Terms:
    """M^, bias, selection and contact rows of a case at the start of the period."""
    model = case.model
    opened = Opened(model, case.q, case.v)
    M = np.diag(model.armature + H * model.damping)
    for i, body in enumerate(model.bodies[1:], 1):
        R, _ = opened.pose(i)
        J, W = opened.point_jacobian(i, opened.com(i)), opened.spin_jacobian(i)
        M += body.mass * J.T @ J + W.T @ R @ body.inertia @ R.T @ W
    touch = features_of(model, case.q)
    # Features of one group are lifted together by the deepest's depth
    group = model.features["group"]
    depth = np.array([min(0.0, touch.gap[group == g].min()) for g in group])
    return Terms(
        M,
        bias_force(model, case.q, case.v) + model.damping * case.v,
        np.eye(model.nv)[model.actuated],
        touch.J,
        touch.normal,
        np.einsum("fk,fkj->fj", touch.normal, touch.J),
        touch.gap - depth,
        model.features["friction"].copy(),
    )


def equation_7(case: Case, t: Terms) -> tuple[Array, Array]:
    """(A~, r): response of the unactuated coordinates, and velocity without contact."""
    W = np.linalg.inv(t.M)
    G = t.P @ W @ t.P.T
    K = W @ t.P.T @ np.linalg.inv(G)
    v0 = case.v - H * W @ t.bias
    return W - K @ t.P @ W, v0 + K @ (case.v_des - t.P @ v0)


def torques(case: Case, t: Terms, p: Array) -> Array:
    """tau of equation 7 for impulses in joint space, shape (nv,)."""
    W = np.linalg.inv(t.M)
    v0 = case.v - H * W @ t.bias
    tau: Array = np.linalg.solve(t.P @ W @ t.P.T, case.v_des - t.P @ (v0 + W @ p)) / H
    return tau


def planar_lcp(W: Array, r: Array, t: Terms) -> tuple[Array, Array]:
    """A and b of equation 7 in a plane, z = [p_n; p_d (both ways, by contact); sigma]."""
    n = len(t.N)
    tangent = np.cross([0.0, 1.0, 0.0], t.normal)
    T = np.einsum("fk,fkj->fj", tangent, t.J)
    B = np.stack([T, -T], axis=1).reshape(2 * n, -1)
    E = np.kron(np.eye(n), np.ones((2, 1)))
    A = np.block(
        [
            [t.N @ W @ t.N.T, t.N @ W @ B.T, np.zeros((n, n))],
            [B @ W @ t.N.T, B @ W @ B.T, E],
            [np.diag(t.friction), -E.T, np.zeros((n, n))],
        ]
    )
    return A, np.concatenate([t.N @ r + t.gap / H, B @ r, np.zeros(n)])


def joint_impulse(t: Terms, impulses: Array) -> Array:
    """J^T p of impulses on the features in world axes, shape (nf, 3)."""
    p: Array = np.einsum("fkj,fk->j", t.J, impulses)
    return p


# Checks that any answer must pass


def check_motion(case: Case, t: Terms, result: InverseResult) -> None:
    """Equation of motion to 1e-9, with torques on actuated coordinates only."""
    force = t.M @ (result.v - case.v) / H + t.bias - joint_impulse(t, result.impulses) / H
    scale = max(1.0, float(np.abs(force).max()), float(np.abs(t.bias).max()))
    np.testing.assert_allclose(force, t.P.T @ result.tau, atol=1e-9 * scale, rtol=0)


def check_contact_law(case: Case, t: Terms, result: InverseResult, reach: float = np.inf) -> None:
    """Unilateral contact with gaps, Coulomb's cone, friction against the slip.

    reach: features farther off [m] are only asked to carry nothing if they part
    """
    p_n = np.einsum("fk,fk->f", t.normal, result.impulses)
    p_t = result.impulses - p_n[:, None] * t.normal
    velocity = np.einsum("fkj,j->fk", t.J, result.v)
    v_n = np.einsum("fk,fk->f", t.normal, velocity)
    v_t = velocity - v_n[:, None] * t.normal
    w_n = v_n + t.gap / H
    unit = max(1e-3, float(p_n.max()))
    assert p_n.min() >= -1e-15
    assert w_n[t.gap <= reach].min(initial=0.0) >= -1e-9
    assert np.all(np.linalg.norm(p_t, axis=1) <= t.friction * p_n + 1e-9 * unit)
    np.testing.assert_allclose(p_n * w_n, 0.0, atol=1e-9 * unit)
    slip = np.linalg.norm(v_t, axis=1)
    least = 1.0 if case.planar else np.cos(np.pi / 8)  # of the pyramid
    power = -np.einsum("fk,fk->f", p_t, v_t)
    slides = slip > 1e-6
    assert np.all(power[slides] >= (least * t.friction * p_n * slip)[slides] - 1e-9 * unit)


def effort_norm(model: Model, tau: Array) -> float:
    """Norm of the torques over their limits."""
    return float(np.linalg.norm(tau / model.effort_limit[model.actuated]))


def stepped(case: Case, tau: Array) -> World:
    """The forward model after one step of the control period under these torques.

    By the kernel: `World.step` would clip them to effort limits, which inverse dynamics leaves to
    its caller.
    """
    world = World(case.model, timestep=H)
    world.q, world.v = case.q, case.v
    state, forces = world.get_state().reshape(1), np.zeros(case.model.nv)
    forces[case.model.actuated] = tau
    w = open_world(case.model.packed, state.view(np.uint8), case.model.workspace())
    assert step(w, forces, H) == DONE
    world.set_state(state[0])
    return world


def solve(case: Case, **options: Any) -> InverseResult:
    """`inverse_dynamics` of a case."""
    return inverse_dynamics(case.model, case.q, case.v, case.v_des, H, **options)


KINDS = [
    pytest.param({"planar": True}, id="planar"),
    pytest.param({"planar": True, "points": 2}, id="planar soles"),
    pytest.param({"planar": False}, id="spatial"),
    pytest.param({"planar": False, "points": 3}, id="spatial soles"),
]

JAMMED = [
    pytest.param({"planar": True, "planes": 3, "push": 3.0}, id="planar, 3 planes"),
    pytest.param({"planar": True, "planes": 4}, id="planar, 4 planes"),
    pytest.param({"planar": False, "planes": 4}, id="spatial, 4 planes"),
]
every_kind = pytest.mark.parametrize("kind", [*KINDS, *JAMMED])
SEEDS = range(60)
