"""Corrections of positions: they move parts as little as they must, and never far at once."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from dynenvs import ModelBuilder, World, free, prismatic, revolute
from dynenvs.contact.project import LEVER, MOST_TURN
from dynenvs.dynamics.jacobians import frames

NOTHING = (0.0, 0.0, 0.0)
MASSES, SPIN = {"base": 2.0, "left": 1.0, "right": 3.0}, 0.02
LENGTH, RADIUS, OVERLAP = 0.4, 0.1, 1e-3


def pinching() -> World:
    """A floating body with two arms, whose ends overlap by a millimetre; all at rest in space."""
    builder = ModelBuilder(gravity=NOTHING, integrator="midpoint")
    builder.body("base", joint=free("float"), mass=MASSES["base"], inertia=(SPIN,) * 3)
    for name, x in (("left", -0.2), ("right", 0.2)):
        builder.body(
            name,
            parent="base",
            joint=revolute(f"{name} shoulder", axis=(0, 1, 0), position=(x, 0, 0)),
            mass=MASSES[name],
            com=(0, 0, -LENGTH),
            inertia=(SPIN,) * 3,
        )
        builder.sphere(f"{name} end", name, radius=RADIUS, position=(0, 0, -LENGTH))
    builder.self_contact("left end", "right end")
    world = World(builder.build(), timestep=5e-3)

    def between(angle: float) -> float:
        x, z = -0.2 - LENGTH * math.sin(angle), -LENGTH * math.cos(angle)
        return math.hypot(x - 0.2, z + LENGTH) - (2 * RADIUS - OVERLAP)

    world.q[7] = brentq(between, -1.0, 0.0)
    return world


def places(world: World) -> tuple[np.ndarray, np.ndarray]:
    """Centres of mass in the x-z plane, shape (3, 2), and angles about y."""
    found = frames(world.model, world.q)
    R = found.rotations[1:]
    arm = np.array([[0, 0, 0], [0, 0, -LENGTH], [0, 0, -LENGTH]])
    centers = found.positions[1:] + np.einsum("bij,bj->bi", R, arm)
    return centers[:, [0, 2]], np.arctan2(R[:, 0, 2], R[:, 0, 0])


def test_what_floats_alone_is_corrected_without_momentum() -> None:
    """Sum of m r x dr + I dphi of a correction between limbs is zero, as for inner impulses.

    The base once stayed as it was while the arms were pushed apart.
    """
    world = pinching()
    before, angles = places(world)
    world.step()
    after, turned = places(world)
    masses = np.array(list(MASSES.values()))
    arms, moved, spins = before - masses @ before / masses.sum(), after - before, turned - angles
    orbits = masses * (arms[:, 1] * moved[:, 0] - arms[:, 0] * moved[:, 1])
    assert np.linalg.norm(after[1] - after[2]) == pytest.approx(2 * RADIUS, abs=1e-6)
    assert abs(spins[0]) > 1e-4
    assert abs(orbits.sum() + SPIN * spins.sum()) < 0.02 * np.abs(orbits).sum()
    np.testing.assert_allclose(masses @ moved, 0.0, atol=1e-15)


@pytest.mark.parametrize("integrator", ["euler", "midpoint"])
def test_near_an_axis_a_correction_takes_its_time(integrator: str) -> None:
    """Half a millimetre, a millimetre from the axis, asks for half a radian: not in one step."""
    builder = ModelBuilder(gravity=NOTHING, integrator=integrator)
    builder.half_space("floor")
    hinge = revolute("hinge", axis=(0, 1, 0), position=(0, 0, 0.1))
    builder.body("wheel", joint=hinge, mass=1.0, inertia=(SPIN,) * 3)
    builder.sphere("tyre", "wheel", radius=0.1005, position=(1e-3, 0, 0))
    world = World(builder.build(), timestep=5e-3)
    for _ in range(60):
        last = world.q[0]
        world.step()
        assert abs(world.q[0] - last) < MOST_TURN + 5.1e-4 / LEVER
    assert -1e-3 * math.sin(world.q[0]) == pytest.approx(5e-4, abs=1e-8)
    np.testing.assert_allclose(world.v, 0.0, atol=1e-12)


@pytest.mark.parametrize("start", [0.003, 0.005])
@pytest.mark.parametrize("gap", [1e-5, 2e-5])
def test_a_link_that_touches_near_its_axis_is_not_carried_back(start: float, gap: float) -> None:
    """A tip on an upright arm meets the ground beside the top of its circle, where its lever ends.

    Seen from the start it falls by nothing.  It was 1e-5 m deep, and a turn by as much as the
    step's own lifted it out: the arm stood where it had been, against its motor, and had its speed.
    """
    builder = ModelBuilder(gravity=NOTHING, timestep=2e-3)
    builder.half_space("ground", position=(0, 0, 0.08))
    builder.body("arm", joint=revolute(axis=(0, 1, 0)), mass=1.0, inertia=(0.01,) * 3)
    height = 0.1 + 0.1 * start**2 / 2 + gap
    builder.sphere("tip", "arm", radius=0.02, position=(0, 0, height))
    world = World(builder.build(), audit_every=1)
    world.reset([start], [10.0])
    world.step([5.0])
    assert world.q[0] == pytest.approx(math.acos(0.1 / height), abs=5e-4)
    told = world.diagnostics
    assert told.gained == told.beyond == told.degraded == 0


@pytest.mark.parametrize("seed", [23, 28])
def test_what_another_edge_has_entered_is_lifted(seed: int) -> None:
    """Two arms of round hulls thrash at each other: in a step other edges come to cross.

    The slot of the old crossing has the new one's depth then, and nobody lifted it: the step was
    halved three times and taken with hulls deeper in each other than they were (`sunk`).
    """
    rng = np.random.default_rng(seed)
    builder = ModelBuilder(gravity=NOTHING, timestep=2e-3)
    for side in (0, 1):
        for i in (0, 1):
            name, parent = f"{side} {i}", f"{side} 0" if i else "world"
            place = (0.0, 0.0, 0.25) if i else (0.0, 0.15 * side, 0.0)
            axis = rng.normal(size=3) if i else np.eye(3)[int(rng.integers(3))]
            joint = revolute(axis=axis, position=place)
            builder.body(name, parent=parent, joint=joint, density=300.0)
            points = rng.normal(size=(30, 3))
            points /= np.linalg.norm(points, axis=1)[:, None]
            builder.convex(name, name, points=points * (0.07, 0.07, 0.12) + (0, 0, 0.12))
    builder.self_contact("0 0", "0 1", "1 0", "1 1")
    world = World(builder.build())
    for k in range(70):
        if k % 5 == 0:
            tau = rng.uniform(-1, 1, 4) * 12.0
        world.step(tau)
    assert world.diagnostics.sunk == 0


def test_what_a_stop_does_not_let_turn_is_lifted_by_the_others() -> None:
    """The tip of a light hand at its stop is in the ground: the heavy carriage lifts it.

    The smallest correction turns the hand alone, beyond its stop; cut there, and asked for again
    and again, it lifted nothing.
    """
    builder = ModelBuilder(gravity=NOTHING)
    builder.half_space("ground")
    rail = prismatic("lift", axis=(0, 0, 1), position=(0, 0, 0.5))
    builder.body("carriage", joint=rail, mass=10.0)
    wrist = revolute("wrist", axis=(0, 1, 0), limits=(0.0, 1.0))
    builder.body("hand", parent="carriage", joint=wrist, mass=0.1, inertia=(1e-4,) * 3)
    builder.sphere("tip", "hand", radius=0.05, position=(0.2, 0, -0.45 - 1e-5))
    world = World(builder.build(), timestep=2e-3)
    world.step()
    np.testing.assert_allclose(world.q, [1e-5, 0.0], atol=1e-12)


def test_what_is_only_lifted_may_be_lifted_further() -> None:
    """Two points half a millimetre apart, 2 and 1 um in the ground: lifting the first lifts both.

    By hand: the smallest correction for the first alone, mass m, inertia I at a lever r.  Both
    met exactly took a turn of 2 mrad, and lifted the foot by 0.2 mm.
    """
    builder, mass, inertia, lever = ModelBuilder(gravity=NOTHING), 2.0, 0.01, 0.1
    builder.box("ground", "world", half_size=(1, 1, 0.5), position=(0, 0, -0.5))
    rail = prismatic("lift", axis=(0, 0, 1), position=(0, 0, 0.5))
    builder.body("carriage", joint=rail, mass=0.5 * mass)
    pitch = revolute("pitch", axis=(0, 1, 0))
    builder.body("foot", parent="carriage", joint=pitch, mass=0.5 * mass, inertia=(inertia,) * 3)
    for name, x, depth in (("toe", lever, 2e-6), ("nail", lever + 5e-4, 1e-6)):
        builder.sphere(name, "foot", radius=0.05, position=(x, 0, -0.45 - depth))
    world = World(builder.build(), timestep=2e-3)
    world.step()
    pull = 2e-6 / (1.0 / mass + lever**2 / inertia)
    np.testing.assert_allclose(world.q, [pull / mass, -pull * lever / inertia], rtol=1e-4)
    assert world.certificate().deepest < 1e-9
