"""Contact coordinates: kinematics by differences, laws of motion, and how they end."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trees import Array, derivative

from dynenvs.dynamics.energy import totals
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.parts import free
from dynenvs.reference.surfaces import (
    Bezier,
    Plane,
    SlidingContact,
    Sphere,
    Surface,
    Torus,
    hand_over,
    slide,
)
from dynenvs.reference.surfaces.contact import contact_rates, turn
from dynenvs.reference.surfaces.slide import BREAKS, EDGE, FLAT_ON_FLAT, TIME
from dynenvs.simulation.world import World

GRID = np.array([-1.0, -1 / 3, 1 / 3, 1.0])


def bowl() -> Bezier:
    """Heights .35 x^2 + .5 y^2 at the control points, out downwards (docs/reproduction.md)."""
    control = np.zeros((4, 4, 3))
    for (i, y), (j, x) in product(enumerate(GRID), enumerate(GRID)):
        control[i, j] = x, y, 0.35 * x**2 + 0.5 * y**2
    return Bezier(control)


SURFACES = {"plane": Plane(), "sphere": Sphere(0.7), "torus": Torus(1.0, 0.3), "bowl": bowl()}
PAIRS = [f"{a} on {b}" for a, b in product(SURFACES, SURFACES)]


def pair(name: str, seed: int) -> tuple[SlidingContact, Array, Array]:
    """Two surfaces with a random body, and a random state."""
    rng = np.random.default_rng(seed)
    one, two = (SURFACES[word] for word in name.split(" on "))
    contact = SlidingContact(
        one, two, mass=1.3, com=rng.normal(size=3) * 0.2, inertia=(0.25, 0.3, 0.4)
    )
    return contact, rng.uniform(0.2, 0.8, 5), rng.normal(size=5) * 0.3


@settings(max_examples=30)
@given(name=st.sampled_from(sorted(SURFACES)), u=st.tuples(*[st.floats(0.1, 0.9)] * 2))
def test_derivatives_of_surfaces(name: str, u: tuple[float, float]) -> None:
    """Every derivative is the difference of the one below it; out is where it should be."""
    surface: Surface = SURFACES[name]
    at, one, two = np.array(u), *np.eye(2)
    jet = surface.jet(at)
    for got, below, along in (
        (jet.s, "c", one),
        (jet.t, "c", two),
        (jet.ss, "s", one),
        (jet.st, "s", two),
        (jet.st, "t", one),
        (jet.tt, "t", two),
    ):
        slope = derivative(lambda h, b=below, d=along: getattr(surface.jet(at + h * d), b))
        np.testing.assert_allclose(got, slope, atol=1e-11)
    out = np.cross(jet.s, jet.t)
    center = {"sphere": 0 * jet.c, "torus": np.array([np.cos(u[0]), np.sin(u[0]), 0.0])}.get(name)
    if center is not None:
        assert out @ (jet.c - center) > 0
    else:
        assert out[2] * (1 if name == "plane" else -1) > 0


@pytest.mark.parametrize("name", PAIRS)
def test_velocity_is_the_pose_s_rate(name: str) -> None:
    """H~ qd, with the corrected signs of eq. (12), against differences of poses: below 1e-10."""
    contact, q, v = pair(name, 1)
    R = contact.pose(q).rotation
    W = R.T @ derivative(lambda h: contact.pose(q + h * v).rotation)
    spin = np.array([W[2, 1], W[0, 2], W[1, 0]])
    linear = R.T @ derivative(lambda h: contact.pose(q + h * v).position)
    expected = np.concatenate([spin, linear])
    scale = max(1.0, np.abs(expected).max())
    assert np.abs(contact.twist(q, v) - expected).max() < 1e-9 * scale
    rate = derivative(lambda h: contact.subspace(q + h * v))
    scale = max(1.0, np.abs(rate).max())
    assert np.abs(contact.subspace_rate(q, v) - rate).max() < 1e-8 * scale
    one = contact.pose(q).position + R @ contact.moving.jet(q[:2]).c
    assert np.linalg.norm(one - contact.fixed.jet(q[2:4]).c) < 1e-15  # the contact points


def test_the_printed_sign_would_be_wrong() -> None:
    """Eq. (12) with -H_psi, as printed, misses the pose's rate by much."""
    contact, q, v = pair("bowl on torus", 2)
    printed = v.copy()
    printed[4] *= -1
    R = contact.pose(q).rotation
    W = R.T @ derivative(lambda h: contact.pose(q + h * v).rotation)
    spin = np.array([W[2, 1], W[0, 2], W[1, 0]])
    assert np.abs(contact.twist(q, v)[:3] - spin).max() < 1e-8
    assert np.abs((contact.subspace(q) @ printed)[:3] - spin).max() > 0.1


def test_contact_frames_turn_into_each_other_and_back() -> None:
    """E is involutory, E^2 = 1, not idempotent."""
    E = turn(0.3)
    np.testing.assert_allclose(E @ E, np.eye(3), atol=1e-16)
    assert np.linalg.det(E) == pytest.approx(1.0)
    assert contact_rates(Sphere(2.0).jet(np.zeros(2)))[:3].shape == (3, 2)


@pytest.mark.parametrize(
    "name",
    [
        "bowl on plane",
        "sphere on torus",
        pytest.param("torus on plane", marks=pytest.mark.thorough),
    ],
)
def test_energy_is_kept_and_the_wrench_is_purely_normal(name: str) -> None:
    contact, q, v = pair(name, 3)
    done = slide(contact, q, v, 0.1, 0.001)
    energy = [contact.energy(*state) for state in zip(done.q, done.v, strict=True)]
    assert np.ptp(energy) < 1e-8 * max(1.0, abs(energy[0]))
    for state in zip(done.q, done.v, strict=True):
        wrench = contact.wrench(*state)
        assert np.abs(wrench[:5]).max() < 1e-10 * max(1.0, abs(wrench[5]))


def bowl_on_plane() -> SlidingContact:
    """The patch of Pai, Ascher and Kry 2000, figure 2, as reconstructed."""
    return SlidingContact(
        bowl(), Plane(), mass=1.0, com=(0, 0, 0.85 / 3 + 0.3), inertia=(0.25, 0.3, 0.4)
    )


def test_bowl_falls_straight_with_an_error_of_order_five() -> None:
    """Pai, Ascher and Kry 2000, figure 2: from rest without friction the centre falls straight."""
    contact, start = bowl_on_plane(), np.array([0.7, 0.65, 0.0, 0.0, 0.3])
    errors = []
    for dt in (0.02, 0.01, 0.005):
        done = slide(contact, start, np.zeros(5), 1.0, dt)
        assert done.end == TIME
        energy = [contact.energy(*state) for state in zip(done.q, done.v, strict=True)]
        errors.append(abs(energy[-1] - energy[0]))
    centers = np.array([contact.center(q) for q in done.q])
    assert np.ptp(centers[:, :2], axis=0).max() < 1e-9
    assert np.ptp(centers[:, 2]) > 0.05
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert orders == pytest.approx([5, 5], abs=0.4)


RADIUS, BALL = 1.0, 0.2


def ball_on_ball() -> tuple[SlidingContact, Array]:
    """A small sphere near the top of a fixed one; x is up, so that no pole is met."""
    contact = SlidingContact(
        Sphere(BALL),
        Sphere(RADIUS),
        mass=1.0,
        inertia=np.full(3, 0.4 * BALL**2),
        gravity=(-9.81, 0.0, 0.0),
    )
    return contact, np.array([0.0, 0.0, 0.05, 0.0, 0.0])


def test_a_ball_leaves_a_sphere_at_two_thirds() -> None:
    """Frictionless: cos(angle) = 2/3 cos(start), found from the wrench to 1e-9."""
    contact, start = ball_on_ball()
    done = slide(contact, start, np.zeros(5), 5.0, 0.005)
    assert done.end == BREAKS
    position = contact.pose(done.q[-1]).position
    assert position[0] / np.linalg.norm(position) == pytest.approx(2 / 3 * np.cos(0.05), abs=1e-9)
    assert contact.pressure(done.q[-1], done.v[-1]) == pytest.approx(0.0, abs=1e-9)


def world_of_balls() -> World:
    """The same two spheres for the LCP, and a wall far below."""
    builder = ModelBuilder(gravity=(-9.81, 0.0, 0.0))
    builder.sphere("globe", "world", radius=RADIUS, friction=0.0)
    builder.half_space("floor", position=(-3.0, 0, 0), normal=(1, 0, 0), friction=0.0)
    builder.body("ball", joint=free(), mass=1.0, inertia=np.full(3, 0.4 * BALL**2))
    builder.sphere("skin", "ball", radius=BALL, friction=0.0)
    return World(builder.build(), timestep=1e-3)


def test_the_motion_is_handed_over_to_the_lcp() -> None:
    """Same pose, velocity and energy; the ball then flies off the sphere and lands on the floor."""
    contact, start = ball_on_ball()
    done = slide(contact, start, np.zeros(5), 5.0, 0.005)
    world = world_of_balls()
    hand_over(contact, done.q[-1], done.v[-1], world, "ball")
    energy = totals(world.model, world.q, world.v).energy
    assert energy == pytest.approx(contact.energy(done.q[-1], done.v[-1]), abs=1e-12)
    assert np.linalg.norm(world.q[:3]) == pytest.approx(RADIUS + BALL, abs=1e-12)
    away = []
    for _ in range(200):
        world.step()
        away.append(np.linalg.norm(world.q[:3]) - RADIUS - BALL)
    assert np.all(np.diff(away) > -1e-9)  # it does not touch the sphere again
    assert away[-1] > 0.01
    for _ in range(800):
        world.step()
    assert world.q[0] == pytest.approx(-3.0 + BALL, abs=1e-6)


def test_the_lcp_alone_lets_go_at_the_same_place() -> None:
    """Sliding by time stepping from the same start: within its first order of 2/3."""
    contact, start = ball_on_ball()
    world = world_of_balls()
    hand_over(contact, start, np.zeros(5), world, "ball")
    left = None
    for _ in range(3000):
        world.step()
        if np.linalg.norm(world.q[:3]) > RADIUS + BALL + 1e-5:
            left = world.q[0] / np.linalg.norm(world.q[:3])
            break
    assert left == pytest.approx(2 / 3 * np.cos(0.05), abs=0.02)


def test_a_chart_s_edge_is_found() -> None:
    """A bowl thrown along the plane slides until its patch ends, to roundoff."""
    contact = bowl_on_plane()
    done = slide(contact, np.array([0.5, 0.5, 0, 0, 0.0]), np.array([5.0, 0, 0, 0, 0]), 1.0, 0.01)
    assert done.end == EDGE
    assert 0.0 < contact.moving.margin(done.q[-1, :2]) < 1e-12


def test_flat_on_flat_is_found() -> None:
    """A plane on a plane has no contact point: the motion ends where it starts."""
    contact = SlidingContact(Plane(), Plane(), mass=1.0, com=(0, 0, -0.1), inertia=(0.1, 0.1, 0.1))
    done = slide(contact, np.zeros(5), np.zeros(5), 1.0, 0.01)
    assert (done.end, len(done.t)) == (FLAT_ON_FLAT, 1)


def test_errors_say_what_would_be_right() -> None:
    contact, start = ball_on_ball()
    rest = np.zeros(5)
    with pytest.raises(ValueError, match=r"control must be finite with shape \(4, 4, 3\)"):
        Bezier(np.zeros((3, 3, 3)))
    with pytest.raises(ValueError, match="tube must be positive and less than ring"):
        Torus(1.0, 2.0)
    with pytest.raises(ValueError, match="radius must be positive"):
        Sphere(-1.0)
    with pytest.raises(ValueError, match=r"q must have shape \(5,\)"):
        slide(contact, np.zeros(4), rest, 1.0, 0.1)
    with pytest.raises(ValueError, match="unknown method 'lcp'; choose from: explicit_euler"):
        slide(contact, start, rest, 1.0, 0.1, method="lcp")
    with pytest.raises(ValueError, match="duration and dt must be positive"):
        slide(contact, start, rest, 1.0, 0.0)
    heavier = SlidingContact(Sphere(BALL), Sphere(RADIUS), mass=2.0, inertia=np.full(3, 0.016))
    with pytest.raises(ValueError, match="'ball' has another mass in the world"):
        hand_over(heavier, start, rest, world_of_balls(), "ball")
