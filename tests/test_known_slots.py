"""Slots of what can touch within a step, found once: the next start takes over those of its end."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from dynenvs import Model, ModelBuilder, World, Worlds, free, revolute
from dynenvs.memory.layout import Floats

STEPS = 120


def heap(seed: int) -> Model:
    """Solids of four kinds that fall on each other and on a table; an arm that stirs them."""
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
        if k == 1:
            builder.cylinder(f"b{k}", f"b{k}", radius=0.08, half_length=0.05)
        elif k == 2:
            builder.box(f"b{k}", f"b{k}", half_size=(0.08, 0.07, 0.06))
        elif k == 3:
            builder.capsule(f"b{k}", f"b{k}", start=(-0.06, 0, 0), end=(0.06, 0, 0), radius=0.05)
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


SOLIDS: dict[str, dict[str, Any]] = {
    "box": {"half_size": (0.1, 0.1, 0.1)},
    "capsule": {"start": (-0.1, 0, 0), "end": (0.1, 0, 0), "radius": 0.1},
    "convex": {"points": 0.1 * np.array(list(itertools.product((-1, 1), repeat=3)))},
    "cylinder": {"radius": 0.1, "half_length": 0.1},
}


@pytest.mark.parametrize("kind", SOLIDS)
@pytest.mark.parametrize(("gap", "shows"), [(0.015, False), (0.0005, True)])
def test_what_cannot_touch_within_the_step_has_no_slots(kind: str, gap: float, shows: bool) -> None:
    """A solid at rest above two tiles, which lie side by side: both are near, as far as that goes.

    It falls by 0.1 mm in a step.  What is apart when it begins is not looked at for seams, either.
    """
    builder = ModelBuilder()
    for k in range(2):
        builder.box(f"tile {k}", "world", half_size=(0.2, 0.2, 0.1), position=(0.4 * k, 0, -0.1))
    builder.body("solid", joint=free(), density=500.0)
    getattr(builder, kind)("solid", "solid", **SOLIDS[kind])
    world = World(builder.build(), timestep=0.003)
    world.reset(q=[0.15, 0.0, 0.1 + gap, 1.0, 0.0, 0.0, 0.0])
    world.step()
    w, h = world._handle, world._handle.header[0]
    at_start = w.near[: w.answer["near"][0]]
    at_end = w.near[h["nnear"] :][: w.answer["near_after"][0]]
    assert len(at_start) == len(at_end) == 2
    slots = [*at_start["slots"], *at_end["slots"]]
    assert [count > 0 for count in slots] == [shows] * 4
