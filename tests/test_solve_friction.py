"""`solve_friction`: Coulomb's law on problems from anywhere, by hand, by NumPy, by worlds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scenes import ball, block
from scipy.sparse import csr_array
from trees import Array

from dynenvs import bias_force, crba, free, point_jacobian, solve_friction, solve_lcp
from dynenvs.contact.friction import FrictionResult, FrictionStage
from dynenvs.lcp import LcpStatus
from dynenvs.model.builder import ModelBuilder
from dynenvs.simulation.world import World

CONES = ["exact", "pyramid"]
SLACK = 1e-8  # certified to 1e-9 of the largest |q|, of the contact's cone


def random_problem(seed: int, contacts: int, freedoms: int, size: int = 3) -> tuple[Array, Array]:
    """(W, q) of contacts of a body; all normals press against something that can give way."""
    rng = np.random.default_rng(seed)
    J = rng.normal(size=(size * contacts, freedoms))
    J[::size, 0] = np.abs(J[::size, 0])
    inverse = np.diag(rng.uniform(0.1, 10.0, freedoms))
    return J @ inverse @ J.T, J @ rng.normal(size=freedoms)


def obeys_coulomb(W: Array, q: Array, mu: Array, p: Array) -> None:
    """Assert the law of each contact from the impulses alone: cone, no approach, dissipation."""
    n = len(mu)
    u, p = (W @ p + q).reshape(n, -1), p.reshape(n, -1)
    speed, weight = np.abs(q).max(), np.diag(W).reshape(n, -1).max(axis=1)
    slack, slip = SLACK * (1.0 + mu) * speed, np.linalg.norm(u[:, 1:], axis=1)
    assert np.all(p[:, 0] >= 0.0)
    assert np.all(np.abs(np.minimum(u[:, 0], weight * p[:, 0])) <= SLACK * speed)
    push = np.linalg.norm(p[:, 1:], axis=1)
    assert np.all(weight * (push - mu * p[:, 0]) <= slack)
    # What slips is braked by all of its friction: no other push within the cone takes more power
    power = np.sum(p[:, 1:] * u[:, 1:], axis=1)
    assert np.all(power + mu * p[:, 0] * slip <= slack * (slip + push + mu * p[:, 0]))


@pytest.mark.parametrize("cone", CONES)
def test_a_block_sticks_slips_or_lifts_off(cone: str) -> None:
    """By hand, W = 1: it falls on the ground at 1 m/s and slides at 0.4, then at 0.6 m/s."""
    sticks = solve_friction(np.eye(3), [-1.0, 0.4, 0.0], [0.5], cone=cone)
    np.testing.assert_allclose(sticks.p, [1.0, -0.4, 0.0], atol=1e-15)
    np.testing.assert_allclose(sticks.u, 0.0, atol=1e-15)
    slips = solve_friction(np.eye(3), [-1.0, 0.0, -0.6], [0.5], cone=cone)
    np.testing.assert_allclose(slips.p, [1.0, 0.0, 0.5], atol=1e-15)
    np.testing.assert_allclose(slips.u, [0.0, 0.0, -0.1], atol=1e-15)
    lifts = solve_friction(np.eye(3), [0.1, 0.4, 0.2], [0.5], cone=cone)
    np.testing.assert_array_equal(lifts.p, 0.0)
    np.testing.assert_array_equal(lifts.u, [0.1, 0.4, 0.2])
    assert sticks.certified
    assert slips.certified
    assert lifts.certified


def test_friction_opposes_the_slip_on_the_exact_cone_and_stays_in_the_pyramid() -> None:
    """By hand: slip along (0.6, 0.8); the pyramid with four directions pushes along its corner."""
    q = [-1.0, 0.6, 0.8]
    exact = solve_friction(np.eye(3), q, [0.5])
    np.testing.assert_allclose(exact.p, [1.0, -0.3, -0.4], atol=1e-12)
    pyramid = solve_friction(np.eye(3), q, [0.5], cone="pyramid", directions=4)
    # On the edge p_x + p_y = -0.5 the slip is along its normal: u_x = u_y
    np.testing.assert_allclose(pyramid.p, [1.0, -0.15, -0.35], atol=1e-12)


def test_a_ball_ends_up_rolling() -> None:
    """By hand: a sphere that slides at v without spin rolls on at 5/7 v if friction lets it.

    W of its lowest point: 1/m along the normal, 1/m + r^2/I = 3.5/m along the tangents.
    """
    mass, v = 0.7, 2.0
    W = np.diag([1.0, 3.5, 3.5]) / mass
    answer = solve_friction(W, [-1.0, v, 0.0], [5.0])
    assert answer.certified
    np.testing.assert_allclose(answer.u, 0.0, atol=1e-14)
    assert v + answer.p[1] / mass == pytest.approx(5.0 / 7.0 * v, abs=1e-12)


@pytest.mark.parametrize("mu", [0.05, 0.7, 5.0])
@pytest.mark.parametrize("freedoms", [6, 12])
def test_random_problems_obey_coulombs_law(freedoms: int, mu: float) -> None:
    """Of one body and of two; eight contacts are redundant.  Oracle: `obeys_coulomb`."""
    for seed in range(20):
        contacts = 1 + seed % 8
        W, q = random_problem(seed, contacts, freedoms)
        answer = solve_friction(W, q, np.full(contacts, mu))
        assert answer.certified, (seed, answer.residual)
        obeys_coulomb(W, q, np.full(contacts, mu), answer.p)
        np.testing.assert_allclose(answer.u, W @ answer.p + q, atol=1e-9 * (1 + abs(q).max()))


@pytest.mark.parametrize("cone", CONES)
@pytest.mark.parametrize("mu", [1e2, 1e4])
def test_very_rough_contacts_stick(cone: str, mu: float) -> None:
    """Oracle: the linear system of contacts that all press and stick."""
    for seed in range(10):
        W, _ = random_problem(seed, 2, 12)
        pressed = np.random.default_rng(seed).normal(size=6)
        pressed[::3] = 1.0 + np.abs(pressed[::3])
        answer = solve_friction(W, -W @ pressed, np.full(2, mu), cone=cone)
        assert answer.certified, (seed, answer.residual)
        np.testing.assert_allclose(answer.p, pressed, atol=1e-9)


@pytest.mark.parametrize("mu", [1e3, 1e6, 1e12])
def test_no_certificate_is_wrong_however_rough_contacts_are(mu: float) -> None:
    """The residual of the exact cone alone let contacts sink where mu is 1e9."""
    for seed in range(5):
        W, q = random_problem(seed, 2, 12)
        answer = solve_friction(W, q, np.full(2, mu))
        if answer.certified:
            obeys_coulomb(W, q, np.full(2, mu), answer.p)
        W, q = np.eye(3), np.array([-1.0, 0.3, 0.4])
        answer = solve_friction(W, q, [mu])
        assert answer.residual > 0.1 or np.allclose(answer.p, -q, atol=1e-6)


@pytest.mark.parametrize("directions", [4, 8, 16])
def test_pyramids_solve_their_lcp(directions: int) -> None:
    """Oracle: Stewart and Trinkle's LCP, written out here; z from p by its definition."""
    angles = 2 * np.pi * np.arange(directions) / directions
    D = np.stack([np.cos(angles), np.sin(angles)])
    for seed in range(10):
        W, q = random_problem(seed, 4, 6)
        answer = solve_friction(W, q, np.full(4, 0.6), cone="pyramid", directions=directions)
        assert answer.certified
        p, u = answer.p.reshape(4, 3), (W @ answer.p + q).reshape(4, 3)
        assert np.all(p[:, 0] >= 0.0)
        assert np.all(u[:, 0] >= -1e-8)
        assert np.all(p[:, 0] * u[:, 0] <= 1e-8)
        # In the polygon: below each of its edges; braked by all of it where it slips
        edges = D + np.roll(D, -1, axis=1)
        across = p[:, 1:] @ edges / np.sum(edges * D, axis=0)
        assert np.all(across <= 0.6 * p[:, :1] + 1e-8)
        sigma = np.max(-u[:, 1:] @ D, axis=1)
        power = np.sum(p[:, 1:] * u[:, 1:], axis=1)
        np.testing.assert_allclose(power, -0.6 * p[:, 0] * sigma, atol=1e-7)


def test_contacts_in_the_plane_have_two_rows() -> None:
    """Both cones are the same there; oracle: `obeys_coulomb`."""
    for seed in range(20):
        W, q = random_problem(seed, 5, 3, size=2)
        for cone in CONES:
            answer = solve_friction(W, q, np.full(5, 0.4), cone=cone)
            assert answer.certified, (seed, cone)
            obeys_coulomb(W, q, np.full(5, 0.4), answer.p)


@pytest.mark.parametrize("cone", CONES)
def test_without_friction_it_is_the_lcp_of_the_normals(cone: str) -> None:
    """Oracle: `solve_lcp`; contacts with friction beside them."""
    W, q = random_problem(3, 4, 12)
    answer = solve_friction(W, q, np.zeros(4), cone=cone)
    normal = solve_lcp(W[::3, ::3], q[::3])
    np.testing.assert_allclose(answer.p[::3], normal.z, atol=1e-12)
    np.testing.assert_array_equal(answer.p.reshape(4, 3)[:, 1:], 0.0)
    mixed = np.array([0.0, 0.5, 0.0, 0.9])
    beside = solve_friction(W, q, mixed)
    assert beside.certified
    obeys_coulomb(W, q, mixed, beside.p)


@pytest.mark.parametrize("mass", [1e-6, 1e6])
@pytest.mark.parametrize("speed", [1e-6, 1e6])
@pytest.mark.parametrize("cone", CONES)
def test_units_do_not_matter(cone: str, speed: float, mass: float) -> None:
    """Another unit of mass or time changes the impulses' numbers by its factor alone."""
    W, q = random_problem(11, 2, 6)
    mu = np.array([0.4, 0.8])
    plain = solve_friction(W, q, mu, cone=cone)
    other = solve_friction(W / mass, speed * q, mu, cone=cone)
    assert plain.certified
    assert other.certified
    np.testing.assert_allclose(other.p / (mass * speed), plain.p, atol=1e-9)


@pytest.mark.parametrize("cone", CONES)
def test_a_world_gives_the_same_answer(cone: str) -> None:
    """A tripod that slides and turns: its loads, so its motion too, are determined."""
    feet = [(0.2, 0.0), (-0.1, 0.15), (-0.1, -0.2)]
    builder = ModelBuilder(cone=cone)
    builder.half_space("floor", friction=0.6)
    builder.body("tripod", joint=free(), mass=1.5, inertia=(0.02, 0.03, 0.04))
    for i, (x, y) in enumerate(feet):
        builder.sphere(f"foot {i}", "tripod", radius=0.05, position=(x, y, -0.1), friction=0.6)
    model, dt = builder.build(), 0.002
    world = World(model, timestep=dt)
    world.q[2] = 0.15
    point = point_jacobian(model, world.q, "tripod")
    J = np.concatenate(
        [point_jacobian(model, world.q, "tripod", (x, y, -0.15))[[2, 0, 1]] for x, y in feet]
    )
    world.v[:] = np.linalg.lstsq(
        np.concatenate([point, J]), np.concatenate([[0.5, 0.0, 0.0], slide(feet)]), rcond=None
    )[0]
    M = crba(model, world.q)
    loose = world.v - dt * np.linalg.solve(M, bias_force(model, world.q, world.v))
    W = J @ np.linalg.solve(M, J.T)
    if cone == "pyramid":  # a world turns each one's edges along its slip: a ball below
        world, W, J, loose, M = rolling(dt)
    answer = solve_friction(W, J @ loose, np.full(len(W) // 3, 0.6), cone=cone)
    assert answer.certified
    world.step()
    np.testing.assert_allclose(world.v, loose + np.linalg.solve(M, J.T @ answer.p), atol=1e-9)


def slide(feet: list[tuple[float, float]]) -> Array:
    """Velocities (z, x, y) of feet that slide at 0.5 m/s along x and turn at 1.5 rad/s."""
    return np.array([(0.0, 0.5 - 1.5 * y, 1.5 * x) for x, y in feet]).ravel()


def rolling(dt: float) -> tuple[World, Array, Array, Array, Array]:
    """(world, W, J, velocities without contact, mass matrix) of a ball that slides along x."""
    world = ball(friction=0.6, timestep=dt)
    J = point_jacobian(world.model, world.q, "ball", (0.0, 0.0, -0.1))[[2, 0, 1]]
    world.v[:] = np.linalg.lstsq(
        np.concatenate([J, point_jacobian(world.model, world.q, "ball")]),
        np.array([0.0, 0.7, 0.0, 0.7, 0.0, 0.0]),
        rcond=None,
    )[0]
    M = crba(world.model, world.q)
    loose = world.v - dt * np.linalg.solve(M, bias_force(world.model, world.q, world.v))
    return world, J @ np.linalg.solve(M, J.T), J, loose, M


def test_the_box_that_rests_stays() -> None:
    """Redundant corners: their shares are open, the motion is not.  Oracle: a world's step."""
    world = block(friction=0.5, timestep=0.005)
    corners = [(x, y, -0.05) for x in (-0.2, 0.2) for y in (-0.15, 0.15)]
    J = np.concatenate(
        [point_jacobian(world.model, world.q, "block", c)[[2, 0, 1]] for c in corners]
    )
    M = crba(world.model, world.q)
    loose = -0.005 * np.linalg.solve(M, bias_force(world.model, world.q, world.v))
    answer = solve_friction(J @ np.linalg.solve(M, J.T), J @ loose, np.full(4, 0.5))
    assert answer.certified
    world.step()
    np.testing.assert_allclose(loose + np.linalg.solve(M, J.T @ answer.p), world.v, atol=1e-12)
    assert answer.p[::3].sum() == pytest.approx(2.0 * 9.81 * 0.005, rel=1e-6)


def test_islands_and_sparse_operators() -> None:
    """Two problems beside each other, one row of contacts after the other, or interleaved."""
    (W, q), (V, r) = random_problem(1, 2, 6), random_problem(2, 2, 6)
    mu = np.array([0.3, 0.9, 0.5, 0.7])
    alone = [solve_friction(W, q, mu[[0, 2]]), solve_friction(V, r, mu[[1, 3]])]
    both, free_ = np.zeros((12, 12)), np.zeros(12)
    first, second = np.r_[0:3, 6:9], np.r_[3:6, 9:12]
    both[np.ix_(first, first)], both[np.ix_(second, second)] = W, V
    free_[first], free_[second] = q, r
    for operator in (both, csr_array(both)):
        answer = solve_friction(operator, free_, mu)
        np.testing.assert_array_equal(answer.p[first], alone[0].p)
        np.testing.assert_array_equal(answer.p[second], alone[1].p)
        assert answer.residual == max(one.residual for one in alone)
        assert answer.certified


@pytest.mark.parametrize("cone", CONES)
def test_a_guess_saves_work_and_changes_nothing(cone: str) -> None:
    """An answer given back is kept; a wrong guess leads to the same velocities."""
    W, q = random_problem(5, 2, 12)
    plain = solve_friction(W, q, [0.5, 0.5], cone=cone)
    again = solve_friction(W, q, [0.5, 0.5], cone=cone, guess=plain.p)
    assert again.stage is FrictionStage.KEPT
    assert again.iterations == 0
    np.testing.assert_array_equal(again.p, plain.p)
    wrong = solve_friction(W, q, [0.5, 0.5], cone=cone, guess=1e3 * np.ones(6))
    assert wrong.certified
    np.testing.assert_allclose(wrong.p, plain.p, atol=1e-9)


def not_solved(answer: FrictionResult) -> None:
    assert not answer.certified
    assert answer.status is LcpStatus.FAILED
    assert answer.residual > 0.1


@pytest.mark.parametrize("mu", [0.0, 0.5])
@pytest.mark.parametrize("cone", CONES)
def test_what_has_no_answer_is_not_certified(cone: str, mu: float) -> None:
    """A body between two jaws that close, and one that nothing moves and that is run into."""
    J = np.vstack([np.eye(3), -np.eye(3)])
    not_solved(solve_friction(J @ J.T, [-1.0, 0, 0, -1.0, 0, 0], [mu, mu], cone=cone))
    not_solved(solve_friction(np.zeros((3, 3)), [-1.0, 0.0, 0.0], [mu], cone=cone))
    assert solve_friction(np.zeros((3, 3)), [1.0, 0.0, 0.0], [mu], cone=cone).certified


def test_no_contacts_at_all() -> None:
    answer = solve_friction(np.zeros((0, 0)), [], [])
    assert answer.certified
    assert answer.p.shape == answer.u.shape == (0,)


W0, Q0 = np.eye(3), [-1.0, 0.2, 0.0]


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        ((np.eye(4), Q0, [0.5]), {}, r"W has shape \(4, 4\); expected \(3, 3\)"),
        ((W0[0], Q0, [0.5]), {}, "W has shape"),
        ((W0, Q0[:1], [0.5]), {}, r"q has shape \(1,\); expected \(3,\), or \(2,\) in the plane"),
        ((W0, [Q0], [0.5]), {}, "q has shape"),
        ((W0, Q0, 0.5), {}, "mu has shape"),
        ((W0, Q0, [-0.5]), {}, r"mu\[0\] is -0.5; a coefficient of friction is not negative"),
        ((W0, Q0, [np.inf]), {}, r"mu\[0\] is inf; every entry must be finite"),
        ((W0, [0, np.nan, 0], [0.5]), {}, r"q\[1\] is nan"),
        ((np.diag([1, 1, np.nan]), Q0, [0.5]), {}, r"W\[2, 2\] is nan"),
        ((W0 + np.eye(3, k=1), Q0, [0.5]), {}, r"W\[0, 1\] is 1.0 and W\[1, 0\] is 0.0; .*symm"),
        ((-W0, Q0, [0.5]), {}, r"W\[0, 0\] is -1.0; W must be positive semidefinite"),
        ((2 * np.ones((3, 3)) - np.eye(3), Q0, [0.5]), {}, "not positive semidefinite: .* of -1"),
        (("W", Q0, [0.5]), {}, "W must be a matrix of real numbers"),
        ((W0, "q", [0.5]), {}, "q must be an array of real numbers"),
        (([[10**400]], Q0, [0.5]), {}, "W must be a matrix of real numbers"),
        ((W0, [10**400, 0, 0], [0.5]), {}, "q must be an array of real numbers"),
        ((W0, Q0, [0.5]), {"cone": "square"}, "unknown cone 'square'; choose from: exact, pyramid"),
        ((W0, Q0, [0.5]), {"directions": 5}, "directions is 5; expected an even number"),
        ((W0, Q0, [0.5]), {"directions": 66}, "directions is 66"),
        ((W0, Q0, [0.5]), {"scale": -1.0}, "scale is -1.0"),
        ((W0, Q0, [0.5]), {"guess": [0.0]}, r"guess has shape \(1,\); expected \(3,\)"),
    ],
)
def test_errors_say_what_would_be_right(
    arguments: tuple[Any, ...], options: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        solve_friction(*arguments, **options)
    assert "\n" not in str(caught.value)
