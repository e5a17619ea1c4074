"""Inverse dynamics with contact against equation 7, written out in numpy, and the forward step.

physics.md, section 1, 002 (7, as corrected) and section 4 (gaps, redistribution).
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.optimize import linprog, nnls
from trees import Array, Opened, plus, random_inertia

from dynenvs.builder import ModelBuilder
from dynenvs.dynamics.crba import crba
from dynenvs.dynamics.rnea import bias_force
from dynenvs.envs.robots import planar_humanoid
from dynenvs.inverse import InverseResult, InverseStatus, inverse_dynamics
from dynenvs.lcp import LcpStatus, solve_lcp
from dynenvs.model import Model
from dynenvs.parts import free, prismatic, revolute
from dynenvs.world import World

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
        gap.append(float(n @ (center - feature.target)) - feature.radius)
        normal.append(n)
        J.append(opened.point_jacobian(feature.body_a, center - feature.radius * n))
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
    """The forward model after one step of the control period under these torques."""
    world = World(case.model, timestep=H)
    world.q, world.v = case.q, case.v
    world.step(tau)
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


# The answer itself


@every_kind
def test_tracks_and_obeys_mechanics(kind: dict[str, Any]) -> None:
    """P v+ = v_des, the equation of motion, no torque on the base, the contact law."""
    tracked, touching = 0, 0
    for seed in SEEDS:
        case = random_case(seed, **kind)
        t, result = terms(case), solve(case)
        assert result.status != InverseStatus.UNSOLVED
        assert result.tau.shape == (case.model.nu,)
        miss = np.abs(result.v[case.model.actuated] - case.v_des).max()
        assert result.violation == miss
        if result.status == InverseStatus.TRACKED:
            tracked += 1
            assert miss <= 1e-12
        check_motion(case, t, result)
        check_contact_law(case, t, result)
        touching += bool(np.any(result.impulses))
    assert tracked >= 0.8 * len(SEEDS)
    assert touching >= 0.5 * len(SEEDS)


@pytest.mark.parametrize("kind", [KINDS[0], KINDS[1], *JAMMED[:2]])
def test_planar_forward_step_agrees(kind: dict[str, Any]) -> None:
    """`World.step` under the torques gives the predicted velocity wherever it is unique.

    Motion and contact law are checked above: they are the forward LCP.  Where the step gives
    something else (Painleve's rods have more than one answer), it must be another solution.
    """
    others = 0
    for seed in SEEDS:
        case = random_case(seed, **kind)
        result = solve(case)
        world = stepped(case, result.tau)
        scale = max(1.0, float(np.abs(result.v).max()))
        if np.abs(world.v - result.v).max() > 1e-9 * scale:
            others += 1
            impulses = np.zeros((len(case.model.features), 3))
            for contact in world.contacts:
                impulses[contact.feature] = contact.impulse
            other = result._replace(v=world.v.copy(), impulses=impulses)
            check_motion(case, terms(case), other)
            check_contact_law(case, terms(case), other, reach=1e-3)
    assert others <= 0.15 * len(SEEDS)


@pytest.mark.parametrize("kind", [KINDS[2], KINDS[3], JAMMED[2]])
def test_spatial_forward_step_agrees(kind: dict[str, Any]) -> None:
    """The same where feet stick or are free: sliding ones see another friction pyramid.

    (Its first direction is turned along the slip that each of the two problems predicts.)
    """
    agreed, compared = 0, 0
    for seed in range(120):
        case = random_case(seed, **kind)
        t, result = terms(case), solve(case)
        velocity = np.einsum("fkj,j->fk", t.J, result.v)
        slip = velocity - np.einsum("fk,fk->f", t.normal, velocity)[:, None] * t.normal
        loaded = np.einsum("fk,fk->f", t.normal, result.impulses) > 0.0
        if np.linalg.norm(slip[loaded], axis=1).max(initial=0.0) > 1e-8:
            continue
        compared += 1
        agreed += np.abs(stepped(case, result.tau).v - result.v).max() <= 1e-9
    assert compared >= 20
    assert agreed >= 0.75 * compared  # jammed bodies have many answers


# Equation 7 in numpy


def modes(case: Case, t: Terms) -> list[Array]:
    """All solutions v+ of a planar equation 7 with one feature: one a contact mode."""
    W, r = equation_7(case, t)
    tangent = np.cross([0.0, 1.0, 0.0], t.normal[0])
    n, d, mu, gap = t.N[0], tangent @ t.J[0], t.friction[0], t.gap[0] / H
    found = []
    if n @ r + gap >= 0:
        found.append(r)
    G = np.array([[n @ W @ n, n @ W @ d], [d @ W @ n, d @ W @ d]])
    stick = np.linalg.solve(G, -np.array([n @ r + gap, d @ r]))
    if stick[0] >= 0 and abs(stick[1]) <= mu * stick[0]:
        found.append(r + W @ (stick[0] * n + stick[1] * d))
    for sign in (1, -1):  # slides this way, friction the other
        edge = n - sign * mu * d
        p = -(n @ r + gap) / (n @ W @ edge)
        v = r + W @ edge * p
        if p >= 0 and sign * (d @ v) >= 0:
            found.append(v)
    return found


def test_one_contact_by_enumeration() -> None:
    """With one contact point v+ and tau are one of equation 7's few solutions, to 1e-9."""
    compared = 0
    for seed in range(150):
        case = random_case(seed, planar=True)
        if len(case.model.features) > 1:
            continue
        t, result = terms(case), solve(case)
        found = modes(case, t)
        distances = [np.abs(v - result.v).max() for v in found]
        scale = max(1.0, float(np.abs(result.v).max()))
        assert min(distances) <= 1e-9 * scale, seed
        if len(found) == 1 and found[0] is not None:
            compared += 1
        tau = torques(case, t, joint_impulse(t, result.impulses))
        np.testing.assert_allclose(result.tau, tau, atol=1e-7 * max(1.0, np.abs(tau).max()))
    assert compared >= 20


REACH = 0.05  # features farther off are left out of the linear programmes [m]


def feasible(case: Case, t: Terms) -> bool:
    """Whether a planar equation 7 has a solution: one linear programme a combination of modes."""
    W, r = equation_7(case, t)
    tangent = np.einsum("fk,fkj->fj", np.cross([0.0, 1.0, 0.0], t.normal), t.J)
    near = np.flatnonzero(t.gap < REACH)
    n, d, mu = t.N[near], tangent[near], t.friction[near]
    gap = t.gap[near] / H
    count = len(near)
    basis = np.vstack([n, d])  # of the impulses (normal, tangential)
    response = basis @ W @ basis.T
    free_n, free_d = n @ r + gap, d @ r
    for combination in itertools.product("osrl", repeat=count):  # open, stick, right, left
        eq, upper, eq_b, upper_b = [], [], [], []
        for i, mode in enumerate(combination):
            row_n, row_d = response[i], response[count + i]
            e_n, e_d = np.eye(2 * count)[i], np.eye(2 * count)[count + i]
            if mode == "o":
                upper.append(-row_n)
                upper_b.append(free_n[i])
                eq += [e_n, e_d]
                eq_b += [0.0, 0.0]
                continue
            eq.append(row_n)
            eq_b.append(-free_n[i])
            if mode == "s":
                eq.append(row_d)
                eq_b.append(-free_d[i])
                upper += [e_d - mu[i] * e_n, -e_d - mu[i] * e_n]
                upper_b += [0.0, 0.0]
            else:
                sign = 1.0 if mode == "r" else -1.0
                eq.append(e_d + sign * mu[i] * e_n)
                eq_b.append(0.0)
                upper.append(-sign * row_d)
                upper_b.append(sign * free_d[i])
        low = [0.0] * count + [None] * count
        bounds = list(zip(low, [None] * (2 * count), strict=True))
        answer = linprog(
            np.zeros(2 * count),
            np.array(upper) if upper else None,
            upper_b if upper else None,
            np.array(eq),
            eq_b,
            bounds,
        )
        if answer.status == 0:
            return True
    return False


def test_soft_exactly_where_nothing_can_be_tracked() -> None:
    """TRACKED where some combination of contact modes solves equation 7, SOFT where none does."""
    statuses = []
    for seed in range(400):
        case = random_case(seed, planar=True, planes=3, push=3.0)
        t = terms(case)
        if not 2 <= np.count_nonzero(t.gap < REACH) <= 3:
            continue
        result = solve(case)
        expected = InverseStatus.TRACKED if feasible(case, t) else InverseStatus.SOFT
        assert result.status == expected, seed
        statuses.append(result.status)
        if len(statuses) >= 40 and statuses.count(InverseStatus.SOFT) >= 6:
            break
    assert statuses.count(InverseStatus.SOFT) >= 5
    assert statuses.count(InverseStatus.TRACKED) >= 30


def test_soft_tracking_reports_its_violation() -> None:
    """Soft answers obey mechanics, miss by what they say, and miss little."""
    misses = []
    for seed in range(150):
        case = random_case(seed, planar=True, planes=4)
        result = solve(case)
        if result.status == InverseStatus.SOFT:
            t = terms(case)
            check_motion(case, t, result)
            check_contact_law(case, t, result)
            miss = np.abs(result.v[case.model.actuated] - case.v_des).max()
            assert result.violation == miss > 1e-9
            misses.append(miss)
    assert len(misses) >= 8
    assert np.isfinite(misses).all()


def _press(height: float) -> Model:
    """A trunk on (x, z) rails, one leg down to the floor and one up to the ceiling."""
    builder = ModelBuilder(directions=2)
    builder.half_space("floor")
    builder.half_space("ceiling", position=(0, 0, height), normal=(0, 0, -1))
    builder.body("slide", joint=prismatic("x", axis=(1, 0, 0), actuated=False))
    lift = prismatic("z", axis=(0, 0, 1), actuated=False)
    builder.body("trunk", parent="slide", joint=lift, mass=5.0)
    for name, sign in (("down", -1), ("up", 1)):
        joint = prismatic(name, axis=(0, 0, sign))
        builder.body(name, parent="trunk", joint=joint, mass=0.5)
        builder.point(f"{name}_tip", name, (0, 0, sign * height / 2))
    return builder.build()


def test_a_robot_between_floor_and_ceiling_cannot_stretch() -> None:
    """Pushing both legs out is infeasible: soft, and the legs do not move; pulling in is fine."""
    model = _press(1.0)
    q = model.neutral()
    q[1] = 0.5
    out = inverse_dynamics(model, q, np.zeros(4), [0.1, 0.1], H)
    assert out.status == InverseStatus.SOFT
    assert out.v[2] + out.v[3] == pytest.approx(0.0, abs=1e-9)
    assert out.violation == pytest.approx(0.1, abs=1e-4)
    back = inverse_dynamics(model, q, np.zeros(4), [-0.1, -0.1], H)
    assert back.status == InverseStatus.TRACKED
    shift = inverse_dynamics(model, q, np.zeros(4), [-0.1, 0.1], H)
    assert shift.status == InverseStatus.TRACKED
    assert shift.v[1] == pytest.approx(-0.1, abs=1e-12)


def _arm(floor: bool = True, limits: tuple[float, float] = (-np.inf, np.inf)) -> Model:
    """A fully actuated vertical slide whose tip is half a metre below it."""
    builder = ModelBuilder(directions=2)
    if floor:
        builder.half_space("floor")
    joint = prismatic("slide", axis=(0, 0, 1), limits=limits)
    builder.body("arm", joint=joint, mass=2.0)
    builder.point("tip", "arm", (0, 0, -0.5))
    return builder.build()


def test_a_fixed_arm_cannot_be_driven_into_the_floor() -> None:
    """Where no unactuated coordinate yields, w_n = N v_des + gap/h < 0 has no solution: soft."""
    model = _arm()
    result = inverse_dynamics(model, [0.5], [0.0], [-0.3], H)
    assert result.status == InverseStatus.SOFT
    assert result.v[0] >= -1e-6
    assert result.violation == pytest.approx(0.3, abs=1e-5)
    free_fall = inverse_dynamics(model, [0.503], [0.0], [-0.3], H)
    assert free_fall.status == InverseStatus.TRACKED


def test_a_joint_cannot_be_driven_through_its_stop() -> None:
    """The same for a joint limit on an actuated coordinate."""
    model = _arm(floor=False, limits=(0.0, 1.0))
    result = inverse_dynamics(model, [0.0], [0.0], [-0.3], H)
    assert result.status == InverseStatus.SOFT
    assert result.v[0] >= -1e-6


# Redistribution


def least_torque(case: Case, t: Terms, result: InverseResult) -> float:
    """Least effort norm at this v+ in these contact modes, by non-negative least squares."""
    model = case.model
    velocity = np.einsum("fkj,j->fk", t.J, result.v)
    v_n = np.einsum("fk,fk->f", t.normal, velocity)
    v_t = velocity - v_n[:, None] * t.normal
    tangent = np.cross([0.0, 1.0, 0.0], t.normal)
    edges = []
    for f in np.flatnonzero(v_n + t.gap / H <= 1e-7):
        slip = float(v_t[f] @ tangent[f])
        signs = (1, -1) if abs(slip) < 1e-7 else (-np.sign(slip),)
        edges += [(t.normal[f] + s * t.friction[f] * tangent[f]) @ t.J[f] for s in signs]
    force = t.M @ (result.v - case.v) / H + t.bias
    base = np.setdiff1d(np.arange(model.nv), model.actuated)
    if not edges:
        return effort_norm(model, force[model.actuated])
    C = np.array(edges).T / H
    effort = model.effort_limit[model.actuated]
    weight = 1e4 * np.abs(C).max() / np.abs(C[model.actuated] / effort[:, None]).max()
    rows = np.vstack([C[model.actuated] / effort[:, None], weight * C[base] / np.abs(C).max()])
    goal = np.concatenate([force[model.actuated] / effort, weight * force[base] / np.abs(C).max()])
    alpha, _ = nnls(rows, goal)
    np.testing.assert_allclose(C[base] @ alpha, force[base], atol=1e-4 * np.abs(force).max())
    return effort_norm(model, (force - C @ alpha)[model.actuated])


@pytest.mark.parametrize("kind", [KINDS[0], KINDS[1], JAMMED[0]])
def test_torques_are_of_least_norm(kind: dict[str, Any]) -> None:
    """No more than any LCP vertex solution's at the same v+, and as small as NNLS can make them."""
    compared = 0
    for seed in SEEDS:
        case = random_case(seed, **kind)
        t, result = terms(case), solve(case)
        if result.status != InverseStatus.TRACKED or not np.any(result.impulses):
            continue
        own = effort_norm(case.model, result.tau)
        least = least_torque(case, t, result)
        assert own <= least * (1 + 1e-3) + 1e-6, seed
        W, r = equation_7(case, t)
        A, b = planar_lcp(W, r, t)
        vertex = solve_lcp(A, b, scale=9.81 * H)
        if vertex.status != LcpStatus.CERTIFIED:
            continue
        n = len(t.N)
        tangent = np.cross([0.0, 1.0, 0.0], t.normal)
        p_t = vertex.z[n : 3 * n].reshape(n, 2) @ [1.0, -1.0]
        p = joint_impulse(t, vertex.z[:n, None] * t.normal + p_t[:, None] * tangent)
        if np.abs(r + W @ p - result.v).max() > 1e-8:
            continue  # another of several motions
        other = effort_norm(case.model, torques(case, t, p))
        assert own <= other * (1 + 1e-6) + 1e-9, seed
        compared += 1
    assert compared >= 15


def test_standing_shares_the_load() -> None:
    """The standing humanoid: less torque than a vertex of the LCP asks, at the same motion."""
    model = planar_humanoid.build()
    q = np.concatenate([np.zeros(2), np.tile(planar_humanoid.STANDING, 2)])
    q[1] -= features_of(model, q).gap.min()
    case = Case(model, q, np.zeros(model.nv), np.zeros(model.nu), True)
    t, result = terms(case), solve(case)
    assert result.status == InverseStatus.TRACKED
    np.testing.assert_allclose(result.v, 0.0, atol=1e-12)
    check_motion(case, t, result)
    check_contact_law(case, t, result)
    W, r = equation_7(case, t)
    A, b = planar_lcp(W, r, t)
    n = len(t.N)
    z = solve_lcp(A, b, scale=9.81 * H).z
    tangent = np.cross([0.0, 1.0, 0.0], t.normal)
    p_t = z[n : 3 * n].reshape(n, 2) @ [1.0, -1.0]
    p = joint_impulse(t, z[:n, None] * t.normal + p_t[:, None] * tangent)
    assert effort_norm(model, result.tau) < 0.99 * effort_norm(model, torques(case, t, p))
    assert effort_norm(model, result.tau) <= least_torque(case, t, result) * (1 + 1e-3)
    # Both legs alike
    np.testing.assert_allclose(result.tau[:3], result.tau[3:], atol=1e-6)


def test_load_cost_unloads_a_foot() -> None:
    """Two feet of one robot: a cost on one shifts the load, at the same motion."""
    builder = ModelBuilder(directions=2)
    builder.half_space("floor")
    builder.body("slide", joint=prismatic("x", axis=(1, 0, 0), actuated=False))
    lift = prismatic("z", axis=(0, 0, 1), actuated=False)
    builder.body("trunk", parent="slide", joint=lift, mass=5.0)
    for name, x in (("left", -0.2), ("right", 0.2)):
        builder.body(name, parent="trunk", joint=prismatic(name, axis=(0, 0, -1)), mass=0.5)
        builder.point(f"{name}_tip", name, (x, 0, -0.5))
    model = builder.build()
    q = model.neutral()
    q[1] = 0.5
    even = inverse_dynamics(model, q, np.zeros(4), [0, 0], H)
    assert even.impulses[0, 2] == pytest.approx(even.impulses[1, 2], rel=1e-6)
    assert even.impulses[:, 2].sum() == pytest.approx(6.0 * 9.81 * H, rel=1e-9)
    skewed = inverse_dynamics(model, q, np.zeros(4), [0, 0], H, load_cost=[10.0, 0.0])
    assert skewed.impulses[0, 2] < 0.3 * skewed.impulses[1, 2]
    assert skewed.impulses[:, 2].sum() == pytest.approx(6.0 * 9.81 * H, rel=1e-9)
    np.testing.assert_allclose(skewed.v, even.v, atol=1e-12)


# Without contact


def _chain(rng: np.random.Generator) -> Model:
    """Three actuated hinges with damping and rotors on a fixed base."""
    builder = ModelBuilder()
    parent, position = "world", (0.0, 0.0, 0.0)
    for k in range(3):
        mass = rng.uniform(0.3, 2.0)
        joint = revolute(
            f"j{k}", axis=rng.normal(size=3), position=position, damping=0.3, armature=0.02
        )
        builder.body(
            f"b{k}",
            parent=parent,
            joint=joint,
            mass=mass,
            com=rng.normal(size=3) * 0.1,
            inertia=random_inertia(rng, mass),
        )
        parent, position = f"b{k}", (0.0, 0.1, -0.3)
    return builder.build()


def test_fully_actuated_pendulum() -> None:
    """Without unactuated coordinates: tau = M^ (v_des - v) / h + bias, and the step obeys."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        model = _chain(rng)
        q, v, v_des = rng.normal(size=(3, 3))
        case = Case(model, q, v, v_des, False)
        result = solve(case)
        M = crba(model, q) + np.diag(H * model.damping)
        bias = bias_force(model, q, v) + model.damping * v
        assert result.status == InverseStatus.TRACKED
        expected = M @ (v_des - v) / H + bias
        np.testing.assert_allclose(result.tau, expected, rtol=1e-10, atol=1e-9)
        np.testing.assert_allclose(result.v, v_des, rtol=0, atol=1e-14)
        np.testing.assert_allclose(stepped(case, result.tau).v, v_des, atol=1e-12)


def test_airborne_robot() -> None:
    """Far from the ground the base obeys gravity and the internal motion: equation 7 without p."""
    for seed in range(20):
        case = random_case(seed, planar=bool(seed % 2))
        case.q[1 if case.planar else 2] += 5.0
        t, result = terms(case), solve(case)
        _, r = equation_7(case, t)
        np.testing.assert_allclose(result.v, r, atol=1e-11 * max(1.0, np.abs(r).max()))
        assert not np.any(result.impulses)
        scale = max(1.0, np.abs(result.tau).max())
        np.testing.assert_allclose(
            result.tau, torques(case, t, np.zeros(case.model.nv)), atol=1e-9 * scale
        )


# The edge


def test_equal_arguments_give_equal_bits() -> None:
    """The answer depends on the arguments alone."""
    case = random_case(3, planar=True, points=2)
    first = solve(case)
    solve(random_case(4, planar=True, points=2))
    again = solve(case)
    assert first.tau.tobytes() == again.tau.tobytes()
    assert first.v.tobytes() == again.v.tobytes()
    assert first.impulses.tobytes() == again.impulses.tobytes()


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("v_des", {"v_des": [np.nan]}),
        ("v_des", {"v_des": [0.0, 0.0]}),
        ("q", {"q": [np.inf]}),
        ("v", {"v": [0.0, 1.0]}),
        ("period", {"period": 0.0}),
        ("period", {"period": np.nan}),
        ("lookahead", {"lookahead": np.nan}),
        ("lookahead", {"lookahead": -0.01}),
        ("lookahead", {"lookahead": 0.02}),
        ("load_cost", {"load_cost": [1.0, 2.0]}),
        ("load_cost", {"load_cost": [-1.0]}),
    ],
)
def test_bad_arguments_are_named(name: str, change: dict[str, Any]) -> None:
    """A ValueError that names the argument."""
    arguments: dict[str, Any] = {"q": [1.0], "v": [0.0], "v_des": [0.0], "period": H, **change}
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        inverse_dynamics(_arm(), **arguments)
