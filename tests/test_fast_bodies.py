"""What is fast does not pass through what is thin: it is stopped by it within the step."""

from __future__ import annotations

import numpy as np
import pytest
from solids import Solid, add_solid, pose

from dynenvs.model.builder import ModelBuilder
from dynenvs.model.parts import free
from dynenvs.simulation.world import World

BULLETS = {
    "sphere": Solid("sphere", (0.03,), np.eye(3), np.zeros(3)),
    "capsule": Solid("capsule", (0.02, 0.05), np.eye(3), np.zeros(3)),
    "box": Solid("box", (0.05, 0.04, 0.03), np.eye(3), np.zeros(3)),
}


def shot(bullet: Solid, target: str, at: list[float], v: list[float], dt: float = 1e-3) -> World:
    """A bullet that flies at a target, whose upper side is at z = 0, in empty space."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    if target == "plate":
        builder.box("target", "world", half_size=(1, 1, 0.05), position=(0, 0, -0.05))
    elif target == "field":
        builder.height_field("target", heights=np.zeros((9, 9)), half_size=(1, 1))
    elif target == "blocks":
        builder.block_field("target", heights=np.zeros((9, 9)), half_size=(1, 1))
    else:
        builder.sphere("target", "world", radius=0.03, position=(0, 0, -0.03))
    builder.body("bullet", joint=free(), density=1000.0)
    add_solid(builder, "bullet", bullet)
    world = World(builder.build(), timestep=dt)
    world.reset(pose(np.eye(3), np.array(at)))
    world.v[:3] = v
    return world


@pytest.mark.parametrize("speed", [30.0, 300.0])
@pytest.mark.parametrize("target", ["plate", "field", "blocks"])
@pytest.mark.parametrize("kind", sorted(BULLETS))
def test_it_is_stopped_by_a_plate(kind: str, target: str, speed: float) -> None:
    """From many heights above it, straight and aslant: its centre is never below."""
    for height in np.linspace(0.11, 0.11 + 1e-3 * speed, 16):
        for aslant in (0.0, 0.4):
            start, v = [0.02, 0.01, height], [aslant * speed, 0, -speed]
            world = shot(BULLETS[kind], target, start, v)
            for _ in range(int(2 * (height / (speed * world.timestep) + 1))):
                world.step()
                assert world.q[2] > 0.0, (height, aslant, world.q, world.v)
            assert world.v[2] > -0.1 * speed
            assert world.diagnostics.failed == 0


def test_two_bullets_meet() -> None:
    """At 300 m/s each: momentum and energy are those of an inelastic blow."""
    for gap in np.linspace(0.05, 1.3, 6):
        builder = ModelBuilder(gravity=(0, 0, 0))
        for name in "ab":
            builder.body(name, joint=free(), mass=1.0, inertia=(0.01, 0.01, 0.01))
            builder.sphere(f"skin {name}", name, radius=0.05)
        world = World(builder.build(), timestep=1e-3)
        world.q[7] = gap + 0.1
        world.v[0], world.v[6] = 300.0, -300.0
        world.step(steps=5)
        np.testing.assert_allclose(world.v, 0.0, atol=1e-9)


def test_what_flies_past_is_not_touched() -> None:
    """A ball that passes a sphere at a distance keeps its velocity to the last bit."""
    world = shot(BULLETS["sphere"], "sphere", [-0.5, 0.0, 0.1], [300.0, 0.0, 0.0])
    world.step(steps=10)
    assert world.v.tolist() == [300.0, 0.0, 0.0, 0.0, 0.0, 0.0]
