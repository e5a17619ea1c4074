"""The exact friction cone: Coulomb's law itself on random problems, and worlds that use it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from contact_views import empty_answer, scratch
from hypothesis import given, settings
from hypothesis import strategies as st
from scenes import G, ball, block, certified, energy, tilted_gravity
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation
from trees import Array

from dynenvs.contact.assembly.problem import ContactProblem
from dynenvs.contact.solvers.cone import COLD, FEW, NEAR, WARM_BOTH, WARM_MULTIPLIERS, solve_cones
from dynenvs.contact.solvers.cone_law import certify_cones
from dynenvs.memory.records import BLOCK, CONE, POLYGON, PYRAMID
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.parts import ModelError, free, prismatic
from dynenvs.simulation.world import World


def random_problem(
    seed: int, contacts: int, freedoms: int, mu: float
) -> tuple[Array, Array, Array]:
    """(blocks, G, bias) of contacts of a body that approaches; few freedoms: redundant contacts."""
    rng = np.random.default_rng(seed)
    J = rng.normal(size=(3 * contacts, freedoms))
    # All normals press against something that can give way: no jam, so an answer exists
    J[::3, 0] = np.abs(J[::3, 0])
    blocks = np.zeros(contacts, BLOCK)
    blocks["row"], blocks["tangents"], blocks["friction"] = 3 * np.arange(contacts), 2, mu
    return blocks, J @ J.T, J @ rng.normal(size=freedoms)


def solve(blocks: Array, matrix: Array, bias: Array) -> tuple[float, int, Array, Array]:
    """(residual, iterations, impulses, velocities), from no impulses, velocities of unit scale."""
    rows = len(bias)
    p, u = np.zeros(rows), np.zeros(rows)
    problem = ContactProblem(
        np.zeros(1, POLYGON), blocks, len(blocks), matrix, bias, rows, scale=1.0
    )
    residual, used, _ = solve_cones(problem, empty_answer(p, u), scratch(problem), COLD)
    return residual, used, p, u


def coulomb(mu: float, p: Array, u: Array, slack: float) -> None:
    """Assert Coulomb's law of every contact, row by row."""
    for pn, *pt, un, ux, uy in zip(*p.reshape(-1, 3).T, *u.reshape(-1, 3).T, strict=True):
        friction, slip = np.array(pt), np.array([ux, uy])
        assert pn >= 0.0
        assert un >= -slack
        assert pn * un <= slack * (1.0 + pn)
        assert np.linalg.norm(friction) <= mu * pn * (1 + 1e-12) + 1e-15
        if np.linalg.norm(slip) > 1e-4 and pn > 1e-4:  # it slides: full friction against the slip
            expected = -mu * pn * slip / np.linalg.norm(slip)
            np.testing.assert_allclose(friction, expected, atol=slack * (1e4 + pn))


@settings(max_examples=150)
@given(
    seed=st.integers(0, 10**6),
    contacts=st.integers(1, 6),
    freedoms=st.integers(6, 24),
    mu=st.floats(0.01, 2.0),
)
def test_answers_obey_coulombs_law(seed: int, contacts: int, freedoms: int, mu: float) -> None:
    """Every problem is certified, and the law holds without the solver's own certificate."""
    blocks, matrix, bias = random_problem(seed, contacts, freedoms, mu)
    residual, _, p, u = solve(blocks, matrix, bias)
    np.testing.assert_allclose(u, matrix @ p + bias, atol=1e-10)
    assert residual <= 1e-9
    coulomb(mu, p, u, 1e-8)


@pytest.mark.parametrize("seed", range(8))
def test_a_few_of_newtons_iterations_come_before_multipliers(seed: int) -> None:
    """Near the last impulses they suffice, and take fewer factorisations than multipliers."""
    blocks, matrix, bias = random_problem(seed, contacts=6, freedoms=18, mu=0.5)
    _, _, last, _ = solve(blocks, matrix, bias)
    bias = bias * (1.0 + 1e-3 * np.random.default_rng(seed).normal(size=len(bias)))
    used = {}
    for start in (WARM_MULTIPLIERS, WARM_BOTH):
        p, u = last.copy(), np.zeros_like(last)
        problem = ContactProblem(np.zeros(1, POLYGON), blocks, 6, matrix, bias, len(bias), 1.0)
        residual, used[start], best = solve_cones(
            problem, empty_answer(p, u), scratch(problem), start
        )
        assert residual <= 1e-9
        assert best == WARM_MULTIPLIERS
        coulomb(0.5, p, u, 1e-8)
    assert used[WARM_BOTH] <= FEW
    assert used[WARM_BOTH] < used[WARM_MULTIPLIERS]


def test_a_crowd_is_answered_from_its_last_impulses() -> None:
    """Twenty contacts of nine freedoms, whose velocities have changed by a thousandth.

    Whole steps of Newton's method, with next to no weight on how far impulses of redundant
    contacts go, left 8 of 60 unanswered.
    """
    unanswered = 0
    for seed in range(60):
        blocks, matrix, bias = random_problem(seed, contacts=20, freedoms=9, mu=0.5)
        _, _, last, _ = solve(blocks, matrix, bias)
        motions = np.linalg.eigh(matrix)[1][:, -9:]
        bias = bias + 1e-3 * motions @ (motions.T @ np.random.default_rng(seed).normal(size=60))
        p, u = last.copy(), np.zeros_like(last)
        problem = ContactProblem(np.zeros(1, POLYGON), blocks, 20, matrix, bias, 60, 1.0)
        residual, _, _ = solve_cones(problem, empty_answer(p, u), scratch(problem), NEAR)
        if residual > 1e-9:
            unanswered += 1
        else:
            coulomb(0.5, p, u, 1e-8)
    assert unanswered <= 3


# Where undamped Gauss-Seidel cycles, and Newton's method with it: (contacts, seed, freedoms)
CYCLES = [(2, 211, 8), (3, 495, 7), (4, 703, 6), (5, 23, 10), (5, 37, 24), (6, 285, 6)]
CYCLES += [(6, 401, 8), (7, 479, 10), (8, 380, 6)]
CYCLES += [(2, 39, 6), (3, 462, 7), (5, 28, 6), (5, 243, 10), (5, 307, 6), (5, 383, 8), (7, 69, 10)]


@pytest.mark.parametrize(("contacts", "seed", "freedoms"), CYCLES)
def test_high_friction_does_not_cycle(contacts: int, seed: int, freedoms: int) -> None:
    """mu = 2: those that 26,400 random problems left unsolved before sweeps were damped, or enough.

    Oracle: Coulomb's law, without the solver's own certificate.
    """
    blocks, matrix, bias = random_problem(seed, contacts, freedoms, 2.0)
    residual, _, p, u = solve(blocks, matrix, bias)
    assert residual <= 1e-9
    coulomb(2.0, p, u, 1e-8)


def test_the_certificate_sees_what_is_wrong() -> None:
    """A lifting slide, friction along the slip, too much friction, a pull: none is certified."""
    block = np.zeros(1, BLOCK)
    block["tangents"], block["friction"] = 2, 0.5
    unit = np.eye(3)

    def residual(p: list[float], u: list[float]) -> float:
        return float(certify_cones(block, 1, unit, 1.0, np.array(p), np.array(u)))

    assert residual([1.0, -0.5, 0.0], [0.0, 2.0, 0.0]) < 1e-15
    assert residual([1.0, 0.3, 0.3], [0.0, 0.0, 0.0]) < 1e-15
    assert residual([0.0, 0.0, 0.0], [0.1, 2.0, 0.0]) < 1e-15
    # The convex relaxation's answer: it lifts by mu times the slip
    assert residual([1.0, -0.5, 0.0], [1.0, 2.0, 0.0]) > 0.1
    assert residual([1.0, 0.5, 0.0], [0.0, 2.0, 0.0]) > 0.1
    assert residual([1.0, -0.4, 0.0], [0.0, 2.0, 0.0]) > 0.05
    assert residual([1.0, 0.6, 0.0], [0.0, 0.0, 0.0]) > 0.05
    assert residual([-0.1, 0.0, 0.0], [0.0, 0.0, 0.0]) > 0.05
    assert residual([1.0, np.nan, 0.0], [0.0, 0.0, 0.0]) == math.inf


# Worlds


@pytest.mark.parametrize("heading", [0.0, 22.5, 45.0, 71.0])
def test_sliding_distance(heading: float) -> None:
    """v^2 / (2 mu g) - v dt / 2 to 1e-9, straight on, never lifted."""
    mu, speed, steps = 0.3, 1.0, 200
    dt = speed / (mu * G * steps)
    world = block(friction=mu, timestep=dt, cone="exact")
    along = np.array([np.cos(np.radians(heading)), np.sin(np.radians(heading)), 0.0])
    world.v[:3] = speed * along
    for _ in range(steps + 20):
        world.step()
        assert abs(world.q[2] - 0.05) < 1e-12
    expected = speed**2 / (2 * mu * G) - speed * dt / 2
    np.testing.assert_allclose(world.q[:2], expected * along[:2], atol=1e-9)
    certified(world)


def tripod(mu: float, timestep: float, **options: str) -> World:
    """Three feet on a circle of 0.2 m in the plane of the centre of mass: each carries a third."""
    builder = ModelBuilder(gravity=(0, 0, -G), **options)
    builder.half_space("floor", friction=mu)
    builder.body("top", joint=free(), mass=1.5, inertia=(0.02, 0.02, 0.04))
    for i in range(3):
        angle = 2 * np.pi * i / 3
        foot = (0.2 * np.cos(angle), 0.2 * np.sin(angle), 0.0)
        builder.point(f"foot{i}", "top", foot, friction=mu)
    return World(builder.build(), timestep=timestep)


def tripod_path(mu: float, velocity: Array, spin: float, time: float) -> Array:
    """(x, y, angle) of the tripod by Coulomb's law: Newton's and Euler's equations integrated."""
    angles = 2 * np.pi * np.arange(3) / 3

    def rates(_: float, state: Array) -> Array:
        arms = 0.2 * np.array([np.cos(angles + state[2]), np.sin(angles + state[2])])
        slip = state[3:5, None] + state[5] * np.array([-arms[1], arms[0]])
        force = -mu * 1.5 * G / 3 * slip / np.linalg.norm(slip, axis=0)
        moment = (arms[0] * force[1] - arms[1] * force[0]).sum()
        return np.array([*state[3:], *force.sum(axis=1) / 1.5, moment / 0.04])

    start = np.array([0.0, 0.0, 0.0, *velocity, spin])
    path = solve_ivp(rates, (0.0, time), start, rtol=1e-10, atol=1e-12)
    return np.asarray(path.y[:3, -1])


def _gone(world: World, velocity: Array, spin: float, time: float) -> Array:
    world.v[:2], world.v[5] = velocity, spin
    world.step(steps=round(time / world.timestep))
    angle = 2 * np.arctan2(world.q[6], world.q[3])
    return np.array([*world.q[:2], angle])


@pytest.mark.parametrize("heading", [0.0, 0.4, 1.0])
def test_a_tripod_slides_and_spins(heading: float) -> None:
    """Friction that turns with every foot's slip: the error is of first order in dt.

    The pyramid of eight directions is 2 % off here, whatever the step.
    """
    mu, spin, time = 0.3, 6.0, 0.25
    velocity = np.array([np.cos(heading), np.sin(heading)])
    exact = tripod_path(mu, velocity, spin, time)
    errors = []
    for dt in (1e-3, 5e-4):
        world = tripod(mu, dt, cone="exact")
        errors.append(_gone(world, velocity, spin, time) - exact)
        assert np.abs(world.q[2]) < 1e-12
        certified(world)
    assert np.linalg.norm(errors[0]) < 3e-3
    # Richardson: what is left once the first order is gone
    assert np.linalg.norm(2 * errors[1] - errors[0]) < 1e-5


def test_no_direction_is_preferred() -> None:
    """A block that slides and spins goes the same way from every heading."""
    ends = []
    for heading in (0.0, 0.3, 0.8, 2.0):
        world = block(friction=0.3, cone="exact")
        c, s = np.cos(heading), np.sin(heading)
        world.q[[3, 6]] = np.cos(heading / 2), np.sin(heading / 2)
        world.v[[0, 1, 5]] = c, s, 4.0
        world.step(steps=600)
        ends.append([c * world.q[0] + s * world.q[1], c * world.q[1] - s * world.q[0]])
        assert np.abs(world.v).max() < 1e-12
        certified(world)
    np.testing.assert_allclose(ends, np.tile(ends[0], (4, 1)), atol=1e-8)


def test_what_sticks_is_the_pyramids_answer_bit_for_bit() -> None:
    """A block holds on a slope: nothing slips, so both cones are one."""
    worlds = [
        block(gravity=tilted_gravity(0.3, 0.5), cone=cone, timestep=2e-3)
        for cone in ("pyramid", "exact")
    ]
    for world in worlds:
        world.step(steps=500)
    assert (worlds[0].q == worlds[1].q).all()
    certified(worlds[1])


def test_a_thrown_sphere_rolls_at_five_sevenths() -> None:
    """Straight on along 0.4 rad, whatever it took to stop the slip."""
    world = ball(friction=0.3, cone="exact")
    along = np.array([np.cos(0.4), np.sin(0.4)])
    world.v[:2] = along
    world.step(steps=400)
    np.testing.assert_allclose(world.v[:2], 5 / 7 * along, atol=1e-12)
    certified(world)


@pytest.mark.parametrize("seed", range(3))
def test_a_tumbling_box_loses_energy_and_rests(seed: int) -> None:
    """Dropped, spun and thrown: impulses in the cone, against the slip; certified to the end."""
    rng = np.random.default_rng(seed)
    world = block((0.12, 0.1, 0.08), friction=0.4, timestep=2e-3, cone="exact")
    x, y, z, w = Rotation.random(random_state=rng).as_quat()
    world.q[2:] = [0.4, w, x, y, z]
    world.v[:] = [1.5, -0.3, 0.0, *rng.normal(size=3) * 3]
    before = energy(world)
    for _ in range(1000):
        world.step()
        now = energy(world)
        assert now <= before + 1e-6
        before = now
        for contact in world.contacts:
            normal = contact.impulse @ contact.normal
            friction = contact.impulse - normal * contact.normal
            assert normal >= 0.0
            assert np.linalg.norm(friction) <= 0.4 * normal * (1 + 1e-9) + 1e-13
    np.testing.assert_allclose(world.v, 0.0, atol=1e-9)
    certified(world)


def test_in_the_plane_both_cones_are_one() -> None:
    """Two directions are the whole cone there: no second solve."""
    builder = ModelBuilder(directions=2, cone="exact")
    builder.half_space("floor")
    builder.body("x", joint=prismatic(axis=(1, 0, 0)))
    builder.body("z", parent="x", joint=prismatic(axis=(0, 0, 1)), mass=1.0)
    builder.point("foot", "z", (0, 0, 0))
    assert builder.build().header.cone == PYRAMID
    assert block(cone="exact").model.header.cone == CONE
    assert block().model.header.cone == PYRAMID


def test_an_unknown_cone_is_named() -> None:
    """The error lists what there is."""
    with pytest.raises(ModelError, match=r"'round'.*pyramid, exact"):
        ModelBuilder(cone="round")


@pytest.mark.parametrize("directions", [4, 6, 8, 10, 14, 16, 32])
def test_any_even_number_of_directions(directions: int) -> None:
    """A sphere on an oblique slope slips as Coulomb says: the first direction follows the slip."""
    slope, mu = 0.5, 0.08
    world = ball(friction=mu, gravity=tilted_gravity(slope, 0.3), directions=directions)
    world.step(steps=200)
    a = G * (np.sin(slope) - mu * np.cos(slope))
    expected = a * 0.2 * np.array([np.cos(0.3), np.sin(0.3), 0.0])
    np.testing.assert_allclose(world.v[:3], expected, atol=1e-9)
    certified(world)


def test_more_directions_come_nearer_to_the_cone() -> None:
    """Where feet slip in different directions, a pyramid's error falls with its directions."""
    velocity, spin, time = np.array([1.0, 0.2]), 6.0, 0.2
    exact = _gone(tripod(0.3, 1e-3, cone="exact"), velocity, spin, time)
    errors = [
        np.linalg.norm(_gone(tripod(0.3, 1e-3, directions=n), velocity, spin, time) - exact)
        for n in (4, 8, 16, 32)
    ]
    assert errors[3] < errors[2] < errors[1] < errors[0]
    assert errors[3] < 0.1 * errors[0]
