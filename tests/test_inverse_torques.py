"""Torques of inverse dynamics: of least norm where contact leaves a choice; without contact.

See docs/theory.md, Torque distribution.
"""

from __future__ import annotations

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
    effort_norm,
    equation_7,
    features_of,
    joint_impulse,
    planar_lcp,
    random_case,
    solve,
    stepped,
    terms,
    torques,
)
from scipy.optimize import nnls
from trees import random_inertia

from dynenvs.dynamics.crba import crba
from dynenvs.dynamics.rnea import bias_force
from dynenvs.envs.robots import planar_humanoid
from dynenvs.lcp import LcpStatus, solve_lcp
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model
from dynenvs.model.parts import prismatic, revolute
from dynenvs.simulation.inverse import InverseResult, InverseStatus, inverse_dynamics

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
@pytest.mark.thorough
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


@pytest.mark.thorough
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
