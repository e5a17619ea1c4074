"""Limits of balls: what turns about several axes ends at the limit, in both contact engines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scenes import certified
from trees import Array

from dynenvs import ModelBuilder, World, spherical
from dynenvs.memory.layout import Floats
from dynenvs.model.model import Model

ENGINES = {"rows": 0.0, "islands": 0.01}  # dry friction in a joint chooses the second [N m]
INERTIA = (0.01, 0.012, 0.008)


def lean(q: Floats) -> float:
    """By how much a ball is turned [rad]; q: its quaternion."""
    return float(2.0 * np.arctan2(np.linalg.norm(q[1:]), abs(q[0])))


def turned(q: Floats, r: Array) -> Array:
    """The quaternion q turned by a rotation vector in its own axes."""
    a, u = q[0], q[1:]
    half = 0.5 * float(np.linalg.norm(r))
    c, s = np.cos(half), 0.5 * np.sinc(half / np.pi) * r
    return np.concatenate([[a * c - u @ s], a * s + c * u + np.cross(u, s)])


def pendulum(limit: float, friction: float, floor: bool = False, **options: Any) -> Model:
    """On a ball; its bob may meet a floor on the way."""
    builder = ModelBuilder(**options)
    joint = spherical("ball", limits=(0, limit), friction=friction)
    builder.body("bob", joint=joint, mass=1.0, com=(0, 0, -0.5), inertia=INERTIA)
    if floor:
        builder.half_space("floor", position=(0, 0, -0.545))
        builder.sphere("bob", "bob", radius=0.05, position=(0.02, 0, -0.5), friction=0.5)
    return builder.build()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("limit", [0.05, 0.2, 0.5])
@pytest.mark.parametrize("rule", ["euler", "midpoint"])
def test_a_ball_ends_at_its_limit(engine: str, limit: float, rule: str) -> None:
    """Swung and spun at some 10 rad/s: within at the end of a step, or at its middle."""
    world = World(pendulum(limit, ENGINES[engine], integrator=rule), timestep=5e-3)
    for seed in range(6):
        world.reset(None, 4.0 * np.random.default_rng(seed).normal(size=3))
        for _ in range(150):
            world.step()
            ahead = 2.5e-3 if rule == "midpoint" else 0.0  # to the middle of the next step [s]
            assert lean(turned(world.q, ahead * world.v)) <= limit + 1e-9
        assert world.diagnostics.degraded == 0


@pytest.mark.parametrize("engine", ENGINES)
def test_a_ball_ends_at_its_limit_beside_contact(engine: str) -> None:
    """The bob is pressed into the corner between the limit and a floor."""
    world = World(pendulum(0.5, ENGINES[engine], floor=True), timestep=5e-3)
    start = np.array([np.cos(0.2), 0.0, np.sin(0.2), 0.0])
    for seed in range(6):
        world.reset(start, 4.0 * np.random.default_rng(seed).normal(size=3))
        for _ in range(150):
            world.step()
            assert lean(world.q) <= 0.5 + 1e-9
        certified(world)


@pytest.mark.parametrize("engine", ENGINES)
def test_two_balls_end_at_their_limits(engine: str) -> None:
    """A pendulum of two, the upper one of which is thrown about by the lower one."""
    builder = ModelBuilder()
    for name, parent, place in (("a", "world", 0.0), ("b", "a", -0.5)):
        joint = spherical(name, limits=(0, 0.4), position=(0, 0, place), friction=ENGINES[engine])
        builder.body(name, parent=parent, joint=joint, mass=1.0, com=(0, 0, -0.3), inertia=INERTIA)
    world = World(builder.build(), timestep=5e-3)
    for seed in range(6):
        world.reset(None, 6.0 * np.random.default_rng(seed).normal(size=6))
        for _ in range(150):
            world.step()
            assert max(lean(world.q[:4]), lean(world.q[4:])) <= 0.4 + 1e-9


@pytest.mark.parametrize("engine", ENGINES)
def test_a_ball_beyond_its_limit_comes_back_without_a_kick(engine: str) -> None:
    """Put at 0.7 of 0.5 rad: it is led back, and no velocity with it."""
    world = World(pendulum(0.5, ENGINES[engine], gravity=(0, 0, 0)), timestep=5e-3)
    world.reset((np.cos(0.35), np.sin(0.35), 0, 0))
    last = lean(world.q)
    for _ in range(100):
        world.step()
        assert lean(world.q) <= last + 1e-12
        assert np.abs(world.v).max() < 1e-9
        last = lean(world.q)
    assert last == pytest.approx(0.5, abs=1e-9)
