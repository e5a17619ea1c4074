"""What docs/theory.md, Corrections to the sources says is wrong in print, and right as corrected.

Each test sets the printed equation beside the corrected one, written out in NumPy; the corrections
that the library's own functions show have tests beside those.
"""

from __future__ import annotations

import numpy as np
import pytest
from inverse_cases import H, equation_7, random_case, terms, torques
from trees import Array

from dynenvs.dynamics.crba import crba
from dynenvs.dynamics.rnea import bias_force, rnea
from dynenvs.lcp.interface import solve_lcp


def rod(rng: np.random.Generator) -> tuple[Array, Array]:
    """G of the tip of a slanted rod along (n, t), and the tip's velocity before it hits a floor."""
    angle, mass, half = rng.uniform(0.1, 1.5), 1.0, 1.0
    rows = np.array([[0.0, 1.0, half * np.cos(angle)], [1.0, 0.0, half * np.sin(angle)]])
    G = rows @ np.diag([1 / mass, 1 / mass, 3 / (mass * half**2)]) @ rows.T
    return G, np.array([-rng.uniform(0.1, 1.0), rng.uniform(-0.5, 0.5)])


def friction_impulse(G: Array, u: Array, mu: float, compression: float) -> Array:
    """Impulse along (n, t) by the LCP of one planar contact: the cone row's b is mu compression."""
    D = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, -1.0]])
    A = np.zeros((4, 4))
    A[:3, :3] = D.T @ G @ D
    A[1:3, 3] = 1.0
    A[3, :3] = mu, -1.0, -1.0
    found = solve_lcp(A, np.append(D.T @ u, mu * compression))
    assert found.certified
    impulse: Array = D @ found.z[:3]
    return impulse


def poisson_gain(G: Array, u: Array, mu: float, e: float, *, printed: bool) -> float:
    """Kinetic energy gained by an impact of Jain et al., eqs. (37)-(41) [J]."""
    compression = friction_impulse(G, u, mu, 0.0)
    returned = np.array([e * compression[0], 0.0])
    middle = u + G @ (compression + returned)
    rest = friction_impulse(G, middle, mu, 0.0 if printed else returned[0])
    p = compression + returned + rest
    return float(p @ u + p @ G @ p / 2)


def test_poissons_cone_row_knows_the_returned_impulse() -> None:
    """Jain et al., eq. (40): with 0 in the cone row some impacts gain energy, else none."""
    rng = np.random.default_rng(0)
    gains: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(200):
        G, u = rod(rng)
        mu, e = rng.uniform(0.0, 1.5), rng.uniform(0.5, 1.0)
        before = float(u @ np.linalg.solve(G, u)) / 2  # the least that such a tip can have
        for printed, found in gains.items():
            found.append(poisson_gain(G, u, mu, e, printed=printed) / before)
    assert max(gains[False]) < 1e-12
    assert sum(gain > 1e-3 for gain in gains[True]) > 4


@pytest.mark.parametrize("seed", range(4))
def test_the_velocity_without_contact(seed: int) -> None:
    """Bhargava, eq. (4): M^-1 (M v - dt (C v + g) + dt tau) is v + dt times the acceleration."""
    case = random_case(seed, planar=False)
    model, q, v, dt = case.model, case.q, case.v, 1e-2
    M, h = crba(model, q), bias_force(model, q, v)
    tau = np.random.default_rng(seed).normal(size=model.nv)
    corrected = np.linalg.solve(M, M @ v - dt * h + dt * tau)
    printed = np.linalg.solve(M, M @ v - dt * h - tau)
    a = (corrected - v) / dt
    armature = model.armature * a
    np.testing.assert_allclose(rnea(model, q, v, a) + armature, tau, atol=1e-9)
    assert np.abs(printed - corrected).max() > 1e-3


@pytest.mark.parametrize("seed", range(4))
def test_equation_7_of_the_rotation_project(seed: int) -> None:
    """Bhargava, eq. (7): M^-1 X_1 is W N; b must be N^T r, which is his tau_1* without the torque.

    As printed, b multiplies tau_1*, which has one entry a contact, by N^T M^-1 once more.
    """
    case = random_case(seed, planar=True, points=2)
    t = terms(case)
    W, r = equation_7(case, t)
    N, P, inverse = t.N.T, t.P, np.linalg.inv(t.M)
    X_1 = N - P.T @ np.linalg.solve(P @ inverse @ P.T, P @ inverse @ N)
    np.testing.assert_allclose(inverse @ X_1, W @ N, atol=1e-9)
    v_0 = case.v - H * inverse @ t.bias  # M^-1 tau* without the unknown torque
    lead = P.T @ np.linalg.solve(P @ inverse @ P.T, case.v_des - P @ v_0)
    tau_1 = N.T @ v_0 + N.T @ inverse @ lead
    np.testing.assert_allclose(tau_1, N.T @ r, atol=1e-9)
    assert tau_1.shape == (len(t.N),)  # N^T M^-1 would take case.model.nv entries
    # The motion that b and A describe is that of the equation of motion under the torques
    p = N @ np.random.default_rng(seed).random(len(t.N))
    v = v_0 + inverse @ (H * P.T @ torques(case, t, p) + p)
    np.testing.assert_allclose(v, r + W @ p, atol=1e-9)
    np.testing.assert_allclose(P @ v, case.v_des, atol=1e-9)
