"""Pairs that are far apart are left out early: the same bits as if every one were looked at."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dynenvs import packing
from dynenvs.builder import ModelBuilder
from dynenvs.parts import free, revolute
from dynenvs.world import World


def scene(seed: int) -> World:
    """Balls, capsules and boxes that fall on each other, off their bodies' origins, and a chain
    that folds; some of them far from all others."""
    rng = np.random.default_rng(seed)
    builder = ModelBuilder(max_contacts=64)
    builder.half_space("floor")
    for i in range(8):
        builder.body(f"b{i}", joint=free(), mass=1.0, inertia=(0.01, 0.012, 0.014))
        at = rng.uniform(-0.05, 0.05, 3)
        if i % 3 == 0:
            builder.sphere(f"s{i}", f"b{i}", radius=0.08, position=at)
        elif i % 3 == 1:
            builder.capsule(
                f"s{i}", f"b{i}", start=at, end=at + np.array([0.15, 0, 0]), radius=0.05
            )
        else:
            builder.box(f"s{i}", f"b{i}", half_size=(0.1, 0.06, 0.08), position=at)
    for i in range(5):
        parent = f"c{i - 1}" if i else "world"
        place = (0.2, 0.0, 0.0) if i else (0.0, 0.0, 1.0)
        joint = revolute(axis=(0, 1, 0), position=place)
        builder.body(f"c{i}", parent=parent, joint=joint, mass=1.0, inertia=[0.01] * 3)
        builder.sphere(f"r{i}", f"c{i}", radius=0.07, position=(0.1, 0, 0))
    builder.self_contact(*(f"r{i}" for i in range(5)))
    world = World(builder.build(), timestep=4e-3)
    for i in range(8):
        world.q[7 * i : 7 * i + 3] = rng.uniform(-0.3, 0.3, 3) + np.array([0, 0, 0.3 + 0.2 * i])
        world.v[6 * i : 6 * i + 6] = rng.normal(size=6)
    world.q[0] = 3.0
    world.q[7] = -2.0
    return world


@pytest.mark.parametrize("seed", range(3))
def test_nothing_changes(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Bit for bit over a second, whatever touches whatever."""
    one = scene(seed)
    monkeypatch.setattr(packing, "_apart", lambda *_: math.inf)
    other = scene(seed)
    assert (other.model.features["apart"] == math.inf).all()
    touched = set()
    for _ in range(250):
        one.step()
        other.step()
        assert one.get_state().tobytes() == other.get_state().tobytes()
        touched |= {frozenset(contact.geoms) for contact in one.contacts}
    assert sum("floor" not in pair for pair in touched) >= 1


def test_a_pair_that_was_far_is_found_when_it_comes_near() -> None:
    """And is forgotten when it leaves: two boxes that meet, bounce off and fly apart."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    for name in "ab":
        builder.body(name, joint=free(), mass=1.0, inertia=(0.01, 0.01, 0.01))
        builder.box(f"skin {name}", name, half_size=(0.1, 0.1, 0.1), restitution=1.0)
    world = World(builder.build(), timestep=1e-2)
    world.q[0], world.v[0] = -2.0, 5.0
    world.step(steps=30)
    assert world.v[0] == pytest.approx(5.0, rel=1e-15)
    world.step(steps=20)
    np.testing.assert_allclose(world.v[[0, 6]], [0.0, 5.0], atol=1e-10)
    world.step(steps=100)
    np.testing.assert_allclose(world.v[[0, 6]], [0.0, 5.0], atol=1e-10)
