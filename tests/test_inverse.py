"""Inverse dynamics with contact against equation 7, written out in numpy, and the forward step.

Bhargava's equation (7) as corrected, with gaps: docs/theory.md, Prescribed velocities.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from inverse_cases import (
    JAMMED,
    KINDS,
    SEEDS,
    Case,
    H,
    Terms,
    check_contact_law,
    check_motion,
    equation_7,
    every_kind,
    joint_impulse,
    random_case,
    solve,
    stepped,
    terms,
    torques,
)
from scipy.optimize import linprog
from trees import Array

from dynenvs.contact.resolve import ROUNDS
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model
from dynenvs.model.parts import prismatic
from dynenvs.simulation.inverse import InverseStatus, inverse_dynamics

# The answer itself


@every_kind
@pytest.mark.thorough
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
@pytest.mark.thorough
def test_planar_forward_step_agrees(kind: dict[str, Any]) -> None:
    """`World.step` under the torques gives the predicted velocity wherever it is unique.

    Motion and contact law are checked above: they are the forward LCP.  Where the step gives
    something else (Painleve's rods have more than one answer), it must be another solution; a step
    that was cut, since something would have ended deeper in a plane, has solved shorter ones.
    """
    others = cut = 0
    for seed in SEEDS:
        case = random_case(seed, **kind)
        result = solve(case)
        world = stepped(case, result.tau)
        scale = max(1.0, float(np.abs(result.v).max()))
        if world.diagnostics.solves > ROUNDS:
            cut += 1
        elif np.abs(world.v - result.v).max() > 1e-9 * scale:
            others += 1
            impulses = np.zeros((len(case.model.features), 3))
            for contact in world.contacts:
                impulses[contact.feature] = contact.impulse
            other = result._replace(v=world.v.copy(), impulses=impulses)
            check_motion(case, terms(case), other)
            check_contact_law(case, terms(case), other, reach=1e-3)
    assert others <= 0.15 * len(SEEDS)
    assert cut <= 0.05 * len(SEEDS)


@pytest.mark.parametrize("kind", [KINDS[2], KINDS[3], JAMMED[2]])
@pytest.mark.thorough
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


@pytest.mark.thorough
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


@pytest.mark.thorough
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


@pytest.mark.thorough
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
