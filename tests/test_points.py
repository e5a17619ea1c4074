"""Contact points of bodies against all that has a volume."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dynenvs.model.builder import ModelBuilder
from dynenvs.model.parts import free
from dynenvs.simulation.world import World

CUBE = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))


def ground(builder: ModelBuilder, kind: str, body: str = "world") -> None:
    """A shape whose top is the body's origin, level there."""
    if kind == "box":
        builder.box("ground", body, half_size=(1, 1, 0.5), position=(0, 0, -0.5))
    elif kind == "sphere":
        builder.sphere("ground", body, radius=1.0, position=(0, 0, -1))
    elif kind == "capsule":
        builder.capsule("ground", body, start=(-1, 0, -1), end=(1, 0, -1), radius=1.0)
    else:
        builder.convex("ground", body, points=CUBE - [0, 0, 1])


@pytest.mark.parametrize("kind", ["box", "sphere", "capsule", "hull"])
def test_a_point_comes_to_rest_on_every_shape(kind: str) -> None:
    """Let fall from 10 cm: it ends on top of it."""
    builder = ModelBuilder()
    ground(builder, kind)
    builder.body("probe", joint=free(), mass=1.0, inertia=(0.01, 0.01, 0.01))
    builder.point("tip", "probe", position=(0, 0, 0))
    world = World(builder.build())
    world.q[2] = 0.1
    world.step(steps=200)
    assert world.q[2] == pytest.approx(0.0, abs=1e-9)
    assert np.abs(world.v).max() < 1e-9


@pytest.mark.parametrize("kind", ["box", "hull"])
def test_a_table_stands_on_its_points(kind: str) -> None:
    """On a shape that is carried itself: it neither creeps nor sinks."""
    builder = ModelBuilder()
    builder.half_space("floor")
    builder.body("block", joint=free(), mass=20.0, inertia=(1.0, 1.0, 1.0))
    ground(builder, kind, "block")
    builder.body("table", joint=free(), mass=2.0, inertia=(0.1, 0.1, 0.1))
    for k, (x, y) in enumerate(itertools.product((-0.3, 0.3), repeat=2)):
        builder.point(f"foot {k}", "table", position=(x, y, -0.4))
    world = World(builder.build())
    top = 1.0 if kind == "box" else 2.0
    start = [0, 0, top, 1, 0, 0, 0, 0.1, 0.2, top + 0.4, 1, 0, 0, 0]
    world.reset(start)
    world.step(steps=300)
    np.testing.assert_allclose(world.q, start, atol=1e-9)


def test_points_meet_each_other_on_request_alone() -> None:
    """They have nothing to meet with."""
    builder = ModelBuilder()
    for name in "ab":
        builder.body(name, joint=free(), mass=1.0, inertia=(1.0, 1.0, 1.0))
        builder.point(f"tip of {name}", name, position=(0, 0, 0))
    assert len(builder.build().features) == 0
    assert len(builder.pair("tip of a", "tip of b").build().features) == 1
