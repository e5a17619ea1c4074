"""Identities that hold on every kinematic tree, whatever its joints.

Oracles: the algorithms against each other, Jacobians against motion, and finite differences.
"""

from __future__ import annotations

import numpy as np
from trees import Array, Opened, Tree, close, derivative, minus, plus, random_q

from dynenvs.dynamics.aba import aba
from dynenvs.dynamics.crba import crba
from dynenvs.dynamics.energy import totals
from dynenvs.dynamics.factor import factor_in_place
from dynenvs.dynamics.jacobians import frames
from dynenvs.dynamics.rnea import bias_force, rnea
from dynenvs.jit.views import raw
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.parts import free, revolute
from dynenvs.model.validation import borrow


def test_rnea_is_mass_matrix_times_acceleration_plus_bias(tree: Tree) -> None:
    """tau = M a + h; armature, which RNEA leaves out, is taken from M's diagonal."""
    model = tree.model
    q, v = tree.state()
    a = tree.rng.normal(size=model.nv)
    M = crba(model, q) - np.diag(model.armature)
    close(rnea(model, q, v, a), M @ a + bias_force(model, q, v), 1e-12)


def test_aba_solves_the_mass_matrix(tree: Tree) -> None:
    """a = (M + armature)^-1 (tau - h - damping v), by a dense solve."""
    model = tree.model
    q, v = tree.state()
    tau = tree.rng.normal(size=model.nv)
    rhs = tau - bias_force(model, q, v) - model.damping * v
    close(aba(model, q, v, tau), np.linalg.solve(crba(model, q), rhs), 1e-10)


def test_rnea_undoes_aba(tree: Tree) -> None:
    """RNEA of the acceleration that ABA finds gives the forces back."""
    model = tree.model
    q, v = tree.state()
    tau = 10 * tree.rng.normal(size=model.nv)
    a = aba(model, q, v, tau)
    back = rnea(model, q, v, a) + model.armature * a + model.damping * v
    scale = np.abs(crba(model, q)).max() * np.abs(a).max()
    assert np.abs(back - tau).max() <= 1e-12 * max(scale, np.abs(tau).max())


def test_mass_matrix_is_symmetric_and_positive_definite(tree: Tree) -> None:
    """M = M^T exactly, smallest eigenvalue above zero."""
    M = crba(tree.model, tree.state()[0])
    assert np.array_equal(M, M.T)
    assert np.linalg.eigvalsh(M)[0] > 0


def test_mass_matrix_is_the_sum_over_bodies(tree: Tree) -> None:
    """M = sum of m J_c^T J_c + J_w^T R I R^T J_w + armature, from point Jacobians."""
    model = tree.model
    q, _ = tree.state()
    view = Opened(model, q)
    M = np.diag(model.armature)
    for i, body in enumerate(model.bodies):
        Jc, Jw = view.point_jacobian(i, view.com(i)), view.spin_jacobian(i)
        R, _ = view.pose(i)
        M = M + body.mass * Jc.T @ Jc + Jw.T @ R @ body.inertia @ R.T @ Jw
    close(crba(model, q), M, 1e-12)


def test_kinetic_energy_is_half_v_M_v(tree: Tree) -> None:
    """T = v^T M v / 2, rotor inertia on both sides."""
    q, v = tree.state()
    close(totals(tree.model, q, v).kinetic, v @ crba(tree.model, q) @ v / 2, 1e-12)


def test_coriolis_forces_do_no_work(tree: Tree) -> None:
    """v^T (Mdot - 2 C) v = 0: half of v^T Mdot v (finite difference) is the power of C v."""
    model = tree.model
    q, v = tree.state()

    def half_v_M_v(s: float) -> float:
        return float(v @ crba(model, plus(model, q, s * v)) @ v) / 2

    coriolis = bias_force(model, q, v) - bias_force(model, q, 0 * v)
    close(v @ coriolis, derivative(half_v_M_v), 1e-8)


def test_power_balance(tree: Tree) -> None:
    """dE/dt along the true motion (finite difference) is the power of tau less the damping's."""
    model = tree.model
    q, v = tree.state()
    tau = tree.rng.normal(size=model.nv)
    a = aba(model, q, v, tau)

    def energy(s: float) -> float:
        return totals(model, plus(model, q, s * v), v + s * a).energy

    close(derivative(energy, 5e-4), v @ (tau - model.damping * v), 1e-7)


def test_point_velocity_is_the_derivative_of_its_position(tree: Tree) -> None:
    """J v and the velocity kernel against a finite difference of the material point's position."""
    model = tree.model
    q, v = tree.state()
    body = len(model.bodies) - 1
    local = tree.rng.normal(size=3)

    def position(s: float) -> np.ndarray:
        R, p = Opened(model, plus(model, q, s * v)).pose(body)
        return p + R @ local

    view = Opened(model, q, v)
    close(view.point_velocity(body, position(0.0)), derivative(position), 1e-9)
    J = view.point_jacobian(body, position(0.0))
    close(J @ v, view.point_velocity(body, position(0.0)), 1e-13)


def test_bias_acceleration_is_the_derivative_of_the_jacobian(tree: Tree) -> None:
    """Jdot v of a material point: finite difference of J along the flow of v, times v."""
    model = tree.model
    q, v = tree.state()
    body = len(model.bodies) - 1
    local = tree.rng.normal(size=3)

    def velocity(s: float) -> np.ndarray:
        view = Opened(model, plus(model, q, s * v))
        R, p = view.pose(body)
        return view.point_jacobian(body, p + R @ local) @ v

    view = Opened(model, q, v)
    R, p = view.pose(body)
    close(view.bias_acceleration(body, p + R @ local), derivative(velocity), 1e-8)


def test_integrate_and_difference_are_inverse(tree: Tree) -> None:
    """(q (+) d) (-) q = d for turns below pi, and q0 (+) (q1 (-) q0) = q1 up to quaternion sign."""
    model = tree.model
    q0, d = tree.state()
    d *= 0.9 * np.pi / max(1.0, np.linalg.norm(d))
    close(minus(model, plus(model, q0, d), q0), d, 1e-12)
    q1 = random_q(model, tree.rng)
    there = plus(model, q0, minus(model, q1, q0))
    for i in range(1, len(model.bodies)):
        for one, other in zip(Opened(model, there).pose(i), Opened(model, q1).pose(i), strict=True):
            close(one, other, 1e-11)


def test_gravity_force_is_the_slope_of_the_potential(tree: Tree) -> None:
    """h(q, 0)_j = d PE / dq_j in the tangent space, by finite differences."""
    model = tree.model
    q, _ = tree.state()
    slope = [
        derivative(lambda s, e=e: totals(model, plus(model, q, s * e)).potential)
        for e in np.eye(model.nv)
    ]
    close(bias_force(model, q, np.zeros(model.nv)), slope, 1e-9)


def test_external_wrench_acts_through_the_jacobian(tree: Tree) -> None:
    """RNEA and ABA see J_w^T moment + J_c^T force of a wrench at each centre of mass."""
    model = tree.model
    q, v = tree.state()
    a = tree.rng.normal(size=model.nv)
    wrenches = tree.rng.normal(size=(len(model.bodies), 6))
    view = Opened(model, q)
    force = sum(
        view.spin_jacobian(i).T @ wrenches[i, :3]
        + view.point_jacobian(i, view.com(i)).T @ wrenches[i, 3:]
        for i in range(1, len(model.bodies))
    )
    change = rnea(model, q, v, a) - rnea(model, q, v, a, wrenches=wrenches)
    close(change, force, 1e-10)
    tau = tree.rng.normal(size=model.nv)
    close(aba(model, q, v, tau, wrenches=wrenches), aba(model, q, v, tau + force), 1e-10)


def test_sparse_factors_reproduce_the_mass_matrix(tree: Tree) -> None:
    """L^T D L = M, L has entries on ancestors only, and solves invert M."""
    model = tree.model
    q, x = tree.state()
    view, M = Opened(model, q), crba(model, q)
    packed = view.factor(M)
    D = 1.0 / np.diag(packed)
    L = np.tril(packed, -1) + np.eye(model.nv)
    close(L.T @ np.diag(D) @ L, M, 1e-13)
    for i in range(model.nv):
        ancestors, j = {i}, int(model.dofs[i].parent)
        while j >= 0:
            ancestors.add(j)
            j = int(model.dofs[j].parent)
        assert set(np.flatnonzero(L[i])) <= ancestors
    solution = view.solve(packed, x)
    backward = np.abs(M @ solution - x).max() / (np.abs(M).max() * np.abs(solution).max())
    assert backward < 1e-14


def test_factor_of_limbs_short_and_long() -> None:
    """Rows in blocks and rows by their own entries: factors of M, whatever stood between those."""
    builder = ModelBuilder()
    builder.body("trunk", joint=free(), mass=1.0, inertia=(1, 1, 1))
    for limb in range(12):
        parent = "trunk"
        for k in range(2 + limb):
            joint = revolute(axis=np.eye(3)[k % 3], position=(0.1, 0.02 * limb, -0.1))
            name = f"{limb} {k}"
            builder.body(name, parent=parent, joint=joint, mass=0.2, inertia=(0.1, 0.1, 0.1))
            parent = name
    model = builder.build()
    assert 0 < np.count_nonzero(model.dofs["whole"]) < model.nv
    q = random_q(model, np.random.default_rng(0))
    M = crba(model, q)
    own = np.eye(model.nv, dtype=bool)
    for i, parent in enumerate(model.dofs["parent"]):
        own[i] |= own[parent] if parent >= 0 else False
    L = np.where(own, M, np.nan)
    assert factor_in_place(Opened(model, q).m.dofs, L)
    L[~own] = 0.0
    D = np.diag(1.0 / np.diag(L))
    np.fill_diagonal(L, 1.0)
    close(L.T @ D @ L, M, 1e-13)


def test_factor_refuses_an_indefinite_matrix() -> None:
    """A mass matrix that is not positive definite is reported, not inverted."""
    builder = ModelBuilder()
    builder.body("arm", joint=revolute(), mass=1.0, inertia=(1, 1, 1))
    model = builder.build()
    from dynenvs.dynamics.factor import factor

    view = Opened(model, np.zeros(1))
    for bad in (-1.0, 0.0, np.nan):
        assert not factor(view.m, np.array([[bad]]), np.zeros((1, 1)))


def test_momentum_is_the_sum_over_bodies(tree: Tree) -> None:
    """Linear: mass times the centre's velocity; angular about the world's origin, body by body."""
    model = tree.model
    q, v = tree.state()
    result = totals(model, q, v)
    view = Opened(model, q, v)
    angular, linear = np.zeros(3), np.zeros(3)
    for i, body in enumerate(model.bodies):
        R, _ = view.pose(i)
        p = body.mass * (view.point_jacobian(i, view.com(i)) @ v)
        linear += p
        angular += np.cross(view.com(i), p) + R @ body.inertia @ R.T @ view.spin_jacobian(i) @ v
    close(result.momentum, np.concatenate([angular, linear]), 1e-12)
    drift = derivative(lambda s: totals(model, plus(model, q, s * v)).center_of_mass)
    close(result.momentum[3:], result.mass * drift, 1e-9)


def test_featherstones_branches_leave_zeros() -> None:
    """lambda = [0,1,2,1,4,4] (Featherstone 2024): H is zero on {2,3} x {4,5,6} and at (5,6)."""
    builder = ModelBuilder()
    rng = np.random.default_rng(4)
    for i, parent in enumerate([0, 1, 2, 1, 4, 4], 1):
        builder.body(
            f"b{i}",
            parent=f"b{parent}" if parent else "world",
            joint=revolute(axis=rng.normal(size=3), position=rng.normal(size=3)),
            mass=1.0,
            com=rng.normal(size=3),
            inertia=(0.1, 0.1, 0.1),
        )
    model = builder.build()
    order = [model.velocity_index(f"b{i}") for i in range(1, 7)]
    H = crba(model, rng.normal(size=6))[np.ix_(order, order)]
    zero = np.zeros((6, 6), dtype=bool)
    zero[1:3, 3:6] = True
    zero[4, 5] = True
    assert np.array_equal(H == 0.0, zero | zero.T)


def test_algorithms_do_not_depend_on_what_the_last_call_left_behind(tree: Tree) -> None:
    """Workspaces are kept from call to call: with rubbish in them the bits are the same."""
    model, rng = tree.model, tree.rng
    q, v = tree.state()
    tau = rng.normal(size=model.nv)

    def answers() -> list[Array]:
        found = totals(model, q, v)
        return [
            aba(model, q, v, tau),
            rnea(model, q, v, tau),
            crba(model, q),
            *frames(model, q, v),
            found.momentum,
            found.center_of_mass,
        ]

    first = answers()
    raw(borrow(model, q).pose, int(model.header.workspace_bytes))[:] = (
        255  # not a number, wherever it is read as one
    )
    for once, again in zip(first, answers(), strict=True):
        assert np.array_equal(once, again)
