"""Slots that the end of a step has found are taken over at the next start: no bit changes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from dynenvs import Model, ModelBuilder, World, Worlds, free, revolute
from dynenvs.memory.layout import Floats

STEPS = 120


def heap(seed: int) -> Model:
    """Hulls, cylinders and boxes that fall on each other and on a table; an arm that stirs them."""
    rng, builder = np.random.default_rng(seed), ModelBuilder()
    builder.box("table", "world", half_size=(1, 1, 0.1), position=(0, 0, -0.1))
    builder.body(
        "arm",
        parent="world",
        joint=revolute("stir", axis=(0, 0, 1)),
        mass=2.0,
        inertia=(0.1, 0.1, 0.1),
    )
    builder.convex("arm", "arm", points=rng.uniform(-0.1, 0.1, (12, 3)) * (3, 1, 1) + (0.3, 0, 0.1))
    for k in range(5):
        builder.body(f"b{k}", joint=free(), mass=1.0, inertia=(0.01, 0.01, 0.01))
        if k % 2:
            builder.cylinder(f"b{k}", f"b{k}", radius=0.08, half_length=0.05)
        else:
            builder.convex(f"b{k}", f"b{k}", points=rng.uniform(-0.1, 0.1, (14, 3)))
    return builder.build()


def start(seed: int) -> tuple[Floats, Floats]:
    """Positions and velocities."""
    rng = np.random.default_rng(seed)
    q, v = [np.zeros(1)], [np.array([3.0])]
    for k in range(5):
        x, y, z, w = Rotation.random(rng=rng).as_quat()
        q.append(np.array([*rng.uniform(-0.25, 0.25, 2), 0.2 + 0.2 * k, w, x, y, z]))
        v.append(rng.normal(0.0, 1.0, 6))
    return np.concatenate(q), np.concatenate(v)


@pytest.mark.parametrize("seed", range(3))
def test_a_world_that_knows_nothing_steps_alike(seed: int) -> None:
    """It has the state alone: what the other one knows of the last step's end, it finds anew."""
    model = heap(seed)
    world = World(model, timestep=0.004)
    world.reset(*start(seed))
    touched = 0
    for _ in range(STEPS):
        fresh = World(model, timestep=0.004)
        fresh.set_state(world.get_state())
        world.step()
        fresh.step()
        assert world.get_state().tobytes() == fresh.get_state().tobytes()
        touched += len(world.contacts)
    assert touched > STEPS
    assert world.diagnostics.failed == 0


def test_worlds_that_take_turns_do_not_mix_what_they_know() -> None:
    """Copies of one world and others beside it, in one workspace: all step as alone."""
    model, seeds = heap(0), [0, 0, 1, 0, 2]
    worlds = Worlds(model, len(seeds), timestep=0.004, threads=1)
    starts = [start(seed) for seed in seeds]
    worlds.reset(np.array([q for q, _ in starts]), np.array([v for _, v in starts]))
    alone = []
    for q, v in starts:
        alone.append(World(model, timestep=0.004))
        alone[-1].reset(q, v)
    for _ in range(STEPS):
        worlds.step()
        for world in alone:
            world.step()
    assert np.array_equal(worlds.q, [world.q for world in alone])
    assert np.array_equal(worlds.v, [world.v for world in alone])
