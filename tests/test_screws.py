"""Screw joints: a nut on a thread; trees with screws are in every test of `tree` besides."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import SCREWED, TREES
from scenes import G, certified, energy
from trees import random_tree

import dynenvs
from dynenvs import screw
from dynenvs.dynamics.jacobians import frames
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.parts import Joint, ModelError, free, prismatic, revolute
from dynenvs.reference.augmented import fully_augmented
from dynenvs.simulation.world import World

LEAD = 0.3  # way along the axis in a whole turn [m]
PITCH = LEAD / (2.0 * math.pi)
MASS, INERTIA = 2.0, 0.03
RULES = ("euler", "midpoint")


def nut(rule: str = "euler", *, motors: bool = False, **options: Any) -> World:
    """A nut on a vertical thread, under gravity."""
    builder = ModelBuilder(gravity=(0, 0, -G), integrator=rule)
    joint = screw("thread", pitch=PITCH, actuated=motors, **options)
    builder.body("nut", joint=joint, mass=MASS, inertia=(1.0, 1.0, INERTIA))
    return World(builder.build(), timestep=1e-2)


@pytest.mark.parametrize("seed", range(TREES, TREES + SCREWED))
def test_a_whole_turn_moves_a_body_by_the_lead(seed: int) -> None:
    """Of the trees that all tests of `tree` have besides others; each has a screw."""
    made = random_tree(seed, 8, screws=True)
    (link, *_) = [link for link in made.links if link.kind == "screw"]
    model, (q, v) = made.model, made.state()
    before, k = frames(model, q, v), model.body_id(link.name)
    q[model.position_index(link.name)] += 2.0 * math.pi
    after = frames(model, q, v)
    np.testing.assert_allclose(after.rotations[k], before.rotations[k], atol=1e-9)
    moved = after.positions[k] - before.positions[k]
    way = 2.0 * math.pi * link.pitch * before.rotations[k] @ link.axis
    np.testing.assert_allclose(moved, way, atol=1e-9)


@pytest.mark.parametrize("rule", RULES)
def test_a_nut_falls_along_its_thread(rule: str) -> None:
    """It falls with g / (1 + I (2 pi / lead)^2 / m), and turns by 2 pi for each lead."""
    world = nut(rule)
    a = G / (1.0 + INERTIA * (2.0 * math.pi / LEAD) ** 2 / MASS)
    for k in range(1, 101):
        world.step()
        assert world.v[0] * PITCH == pytest.approx(-a * 0.01 * k, rel=1e-12)
    height = frames(world.model, world.q, world.v).positions[1, 2]
    assert height == pytest.approx(world.q[0] / (2.0 * math.pi) * LEAD, rel=1e-12)
    late = 0.5 * a * 0.01 if rule == "euler" else 0.0  # Euler's rule takes the velocity of the end
    assert height == pytest.approx(-0.5 * a - late, rel=1e-12)


def test_a_right_handed_thread_advances_as_it_turns() -> None:
    builder = ModelBuilder(gravity=(0, 0, 0))
    joint = screw(axis=(0, 0, 1), pitch=PITCH)
    builder.body("nut", joint=joint, mass=MASS, inertia=(1, 1, 1))
    model = builder.build()
    found = frames(model, [math.pi / 2], [2.0])
    np.testing.assert_allclose(found.rotations[1] @ (1, 0, 0), (0, 1, 0), atol=1e-15)
    np.testing.assert_allclose(found.positions[1], (0, 0, LEAD / 4), atol=1e-15)
    np.testing.assert_allclose(found.angular[1], (0, 0, 2), atol=1e-15)
    np.testing.assert_allclose(found.linear[1], (0, 0, 2.0 * PITCH), atol=1e-15)


@pytest.mark.parametrize("rule", RULES)
def test_friction_holds_a_nut(rule: str) -> None:
    """Self-locking: dry friction above m g pitch; below it the rest of the moment turns it."""
    moment = MASS * G * PITCH
    world = nut(rule, friction=1.01 * moment)
    world.step(steps=20)
    np.testing.assert_allclose(world.q, 0.0, atol=1e-14)
    world = nut(rule, friction=0.9 * moment)
    world.step(steps=20)
    whole = INERTIA + MASS * PITCH**2
    assert world.v[0] == pytest.approx(-0.1 * moment / whole * 0.2, rel=1e-9)
    certified(world)


@pytest.mark.parametrize("rule", RULES)
def test_limits_dampers_and_motors_act_on_the_angle(rule: str) -> None:
    moment, damping = MASS * G * PITCH, 0.5
    world = nut(rule, limits=(-1.0, 1.0))
    world.step(steps=300)
    assert world.q[0] == pytest.approx(-1.0, abs=1e-9)
    assert world.v[0] == pytest.approx(0.0, abs=1e-12)
    certified(world)
    world = nut(rule, damping=damping)
    world.step(steps=3000)
    assert world.v[0] == pytest.approx(-moment / damping, rel=1e-9)
    world = nut(rule, motors=True, effort=0.5 * moment)
    world.step(np.array([10.0]), steps=10)  # no more than the motor can give
    whole = INERTIA + MASS * PITCH**2
    assert world.v[0] == pytest.approx(-0.5 * moment / whole * 0.1, rel=1e-9)


@pytest.mark.parametrize("rule", RULES)
def test_a_nut_comes_down_on_a_plate(rule: str) -> None:
    """Contact at its foot stops the turn: the normal force is the thread's."""
    builder = ModelBuilder(gravity=(0, 0, -G), integrator=rule)
    builder.half_space("plate", friction=0.0)
    joint = screw("thread", pitch=PITCH)
    builder.body("nut", joint=joint, mass=MASS, inertia=(1.0, 1.0, INERTIA))
    builder.sphere("foot", "nut", radius=0.1, friction=0.0)
    world = World(builder.build(), timestep=1e-2)
    world.q[0] = 0.2 / PITCH
    world.step(steps=200)
    assert world.q[0] * PITCH == pytest.approx(0.1, abs=1e-9)
    (contact,) = world.contacts
    assert contact.impulse[2] == pytest.approx(MASS * G * 0.01, rel=1e-9)
    certified(world)


@pytest.mark.parametrize("rule", RULES)
def test_a_press_is_closed_by_its_screw(rule: str) -> None:
    """A screw drives a slide through a loop: a turn moves it by the lead, without slack."""
    builder = ModelBuilder(gravity=(0, 0, 0), integrator=rule)
    builder.body("screw", joint=screw("drive", pitch=PITCH), mass=1.0, inertia=(1, 1, INERTIA))
    builder.body("ram", joint=prismatic("ram", axis=(0, 0, 1), position=(0.2, 0, 0)), mass=MASS,
                 inertia=(1, 1, 1))  # fmt: skip
    # A hinge about z between them carries the ram along and lets the screw turn
    builder.close("collar", "ram", "screw", joint="revolute", position_a=(-0.2, 0, 0))
    world = World(builder.build(), timestep=1e-2)
    whole = INERTIA + (1.0 + MASS) * PITCH**2
    world.step(np.array([0.3, 0.0]), steps=50)
    assert world.v[0] == pytest.approx(0.3 / whole * 0.5, rel=1e-9)
    assert world.q[1] == pytest.approx(PITCH * world.q[0], abs=1e-9)
    assert world.diagnostics.opened < 1e-9


@pytest.mark.thorough
def test_a_thrown_arm_with_screws_keeps_its_energy() -> None:
    """The midpoint rule, on a free body with two screws and a hinge: to the second order."""
    worst = []
    for dt in (2e-3, 1e-3):
        builder = ModelBuilder(gravity=(0, 0, -G), integrator="midpoint")
        parent = "world"
        joints = (free(), screw(axis=(0, 1, 0), pitch=0.1, position=(0.2, 0, 0)),
                  revolute(axis=(1, 0, 0), position=(0.2, 0, 0)),
                  screw(axis=(1, 0, 1), pitch=-0.2, position=(0, 0.2, 0)))  # fmt: skip
        for k, joint in enumerate(joints):
            builder.body(f"{k}", parent=parent, joint=joint, mass=1.0, com=(0.1, 0, 0.05),
                         inertia=(0.02, 0.03, 0.04))  # fmt: skip
            parent = f"{k}"
        world = World(builder.build(), timestep=dt)
        world.v[:] = np.random.default_rng(5).normal(size=world.model.nv)
        start, off = energy(world), 0.0
        for _ in range(round(0.5 / dt)):
            world.step()
            off = max(off, abs(energy(world) - start))
        worst.append(off)
    assert worst[0] < 2e-4
    assert worst[0] / worst[1] == pytest.approx(4.0, rel=0.15)


def test_a_saved_model_keeps_its_screws(tmp_path: Path) -> None:
    world = nut()
    dynenvs.save(world.model, tmp_path / "model.json")
    other = World(dynenvs.load(tmp_path / "model.json"), timestep=1e-2)
    for one in (world, other):
        one.step(steps=20)
    np.testing.assert_array_equal(other.q, world.q)


def test_it_is_explained() -> None:
    """Screws leave the plane; in deep trees they are not refined."""
    assert not dynenvs.explain(nut().model).planar.taken
    builder, parent = ModelBuilder(), "world"
    for k in range(12):
        joint = screw(pitch=0.1, axis=(0, 1, 0), position=(0.1, 0, 0))
        builder.body(f"{k}", parent=parent, joint=joint, mass=1.0, inertia=(1, 1, 1))
        parent = f"{k}"
    told = dynenvs.explain(builder.build())
    assert not told.refinement.taken
    assert "screws" in told.refinement.why


WRONG = {
    "not finite": (screw(pitch=math.inf), "pitch must be finite"),
    "no number": (screw(pitch="fine"), "pitch"),  # type: ignore[arg-type]
    "of a hinge": (Joint("revolute", pitch=0.1), "a pitch is for screws, not for a revolute joint"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named(name: str) -> None:
    joint, message = WRONG[name]
    with pytest.raises(ModelError, match=f"joint 'nut': .*{message}"):
        ModelBuilder().body("nut", joint=joint, mass=1.0, inertia=(1, 1, 1))


def test_a_worm_turns_a_wheel() -> None:
    """A screw's angle is coupled with a hinge's: twelve turns for one."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    builder.body("worm", joint=screw("worm", pitch=PITCH), mass=MASS, inertia=(1, 1, INERTIA))
    builder.body("wheel", joint=revolute("wheel", axis=(1, 0, 0)), mass=1.0, inertia=(0.5, 1, 1))
    builder.couple("gear", "worm", "wheel", coefficients=(0.0, 12.0))
    world = World(builder.build(), timestep=1e-2)
    world.step(np.array([0.2, 0.0]), steps=50)
    whole = INERTIA + MASS * PITCH**2 + 0.5 / 12.0**2
    assert world.v[0] == pytest.approx(0.2 / whole * 0.5, rel=1e-9)
    assert world.q[0] == pytest.approx(12.0 * world.q[1], abs=1e-12)


def test_freed_bodies_know_none() -> None:
    builder = ModelBuilder()
    builder.body("nut", joint=screw(pitch=0.1), mass=1.0, inertia=(1, 1, 1))
    with pytest.raises(ModelError, match="a fully-augmented model has no screws"):
        fully_augmented(builder.build(), builder)


def test_in_the_plane_there_are_none() -> None:
    builder = ModelBuilder(directions=2)
    builder.half_space("floor")
    builder.body("nut", joint=screw(axis=(0, 1, 0), pitch=0.1), mass=1.0, inertia=(1, 1, 1))
    builder.sphere("nut", "nut", radius=0.1)
    with pytest.raises(ModelError, match="its screw joint leaves"):
        builder.build()
