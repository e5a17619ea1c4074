"""Scenes of many loose parts: quickly built, small, and the same bits however slots lie."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from trees import Array

from dynenvs.memory.records import BUDGET
from dynenvs.model import pairs, solids
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model
from dynenvs.model.parts import ModelError, free
from dynenvs.simulation.world import World


def towers(count: int, high: int = 5) -> Model:
    """Towers of boxes on the ground, so many boxes in all."""
    builder = ModelBuilder(max_contacts=64)
    builder.half_space("ground")
    for i in range(count):
        builder.body(f"b{i}", joint=free(), density=600.0)
        builder.box(f"g{i}", f"b{i}", half_size=(0.1, 0.05, 0.05))
    return builder.build()


def calls(count: int) -> int:
    """Of functions of Python, to build towers of so many boxes."""
    made = 0

    def note(frame: Any, event: str, _: Any) -> None:
        nonlocal made
        made += event == "call"

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        towers(count)
    finally:
        sys.setprofile(before)
    return made


def test_python_does_nothing_once_a_pair() -> None:
    """Twice the boxes, twice the calls, where pairs and their slots are four times as many."""
    towers(3)  # what a first call needs is there
    assert calls(200) < 2.1 * calls(100)


def test_two_hundred_boxes_lie_small() -> None:
    model = towers(200)
    h = model.header
    assert (int(h.np), int(h.npoints)) == (200 * 199 // 2, 1600)
    assert h.model_bytes < 12e6  # 137 MB
    assert h.state_bytes < 4e6  # 61 MB
    assert h.workspace_bytes < 80e6  # 211 MB
    assert h.nblocks > 0
    with pytest.raises(ModelError, match=r"World\.contacts"):
        _ = model.candidates


def heap(seed: int) -> World:
    """Twelve balls, capsules and boxes that fall on a slab and on each other."""
    rng = np.random.default_rng(seed)
    builder = ModelBuilder(max_contacts=64)
    builder.half_space("floor")
    builder.box("slab", "world", half_size=(0.4, 0.4, 0.05), position=(0, 0, 0.05))
    for i in range(12):
        builder.body(f"b{i}", joint=free(), mass=1.0, inertia=(0.01, 0.012, 0.014))
        at = rng.uniform(-0.05, 0.05, 3)
        if i % 3 == 0:
            builder.sphere(f"s{i}", f"b{i}", radius=0.08, position=at)
        elif i % 3 == 1:
            end = at + np.array([0.15, 0, 0])
            builder.capsule(f"s{i}", f"b{i}", start=at, end=end, radius=0.05)
        else:
            builder.box(f"s{i}", f"b{i}", half_size=(0.1, 0.06, 0.08), position=at)
    world = World(builder.build(), timestep=4e-3)
    for i in range(12):
        place = rng.uniform(-0.25, 0.25, 3) + np.array([0, 0, 0.4 + 0.15 * i])
        world.q[7 * i : 7 * i + 3] = place
        x, y, z, w = Rotation.random(random_state=100 * seed + i).as_quat()
        world.q[7 * i + 3 : 7 * i + 7] = w, x, y, z
        world.v[6 * i : 6 * i + 6] = rng.normal(size=6)
    return world


def sideways(seed: int) -> World:
    """Six boxes that are thrown about in a narrow place without gravity: pairs come and go."""
    rng = np.random.default_rng(seed)
    builder = ModelBuilder(gravity=(0, 0, 0), max_contacts=64)
    for i in range(6):
        builder.body(f"b{i}", joint=free(), density=500.0)
        builder.box(f"s{i}", f"b{i}", half_size=(0.1, 0.06, 0.08), restitution=0.5)
    world = World(builder.build(), timestep=5e-3)
    for i in range(6):
        at = 0.8 * np.array([np.cos(i), np.sin(i), 0.1 * (i % 2)])
        world.q[7 * i : 7 * i + 3] = at
        world.v[6 * i : 6 * i + 3] = -1.2 * at + 0.1 * rng.normal(size=3)
    return world


@pytest.mark.parametrize("scene", [heap, sideways])
@pytest.mark.parametrize("seed", range(2))
def test_a_pool_of_slots_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, scene: Callable[[int], World], seed: int
) -> None:
    """Positions, velocities and contacts, bit for bit; and blocks are given back."""
    one = scene(seed)
    assert one.model.header.nblocks == 0
    monkeypatch.setattr(solids, "SLOTS_KEPT", 0)
    other = scene(seed)
    assert other.model.header.nblocks > 0
    used = []
    for _ in range(250):
        one.step()
        other.step()
        assert one.q.tobytes() == other.q.tobytes()
        assert one.v.tobytes() == other.v.tobytes()
        used.append(int((other.get_state()["owners"] >= 0).sum()))
    mine, others = one.contacts, other.contacts
    assert [c[:2] for c in mine] == [c[:2] for c in others]
    for a, b in zip(mine, others, strict=True):
        np.testing.assert_array_equal(a.impulse, b.impulse)
    assert max(used) > 0
    if scene is sideways:
        assert used[-1] < max(used)


def test_a_pool_is_part_of_the_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """A state that is set again has the same future, to the last byte."""
    monkeypatch.setattr(solids, "SLOTS_KEPT", 0)
    world = heap(3)
    world.step(steps=120)
    state = world.get_state()
    futures = []
    for _ in range(2):
        world.set_state(state)
        world.step(steps=60)
        futures.append(world.get_state().tobytes())
    assert futures[0] == futures[1]


def balls(count: int, rng: np.random.Generator) -> Array:
    """Places of balls in a dense heap, in the air, shape (count, 3)."""
    side = int(np.ceil(count ** (1 / 3)))
    grid = np.stack(np.meshgrid(*[np.arange(side)] * 3), axis=-1).reshape(-1, 3)[:count]
    return 0.25 * grid + 0.02 * rng.normal(size=(count, 3)) + np.array([0, 0, 0.3])


def test_many_balls_share_slots_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """One slot a pair, and the same motion as with a point feature each."""
    worlds = []
    for most in (pairs.ROUND_PAIRS, 0):
        monkeypatch.setattr(pairs, "ROUND_PAIRS", most)
        monkeypatch.setattr(solids, "PAIRS_KEPT", most)
        rng = np.random.default_rng(0)
        builder = ModelBuilder(max_contacts=80)
        builder.half_space("floor")
        for i in range(20):
            builder.body(f"b{i}", joint=free(), density=500.0)
            builder.sphere(f"s{i}", f"b{i}", radius=0.1)
        world = World(builder.build(), timestep=4e-3)
        for i, at in enumerate(balls(20, rng)):
            world.q[7 * i : 7 * i + 3] = at
        worlds.append(world)
    assert [int(world.model.header.np) for world in worlds] == [0, 190]
    for _ in range(60):
        for world in worlds:
            world.step()
    np.testing.assert_allclose(worlds[0].q, worlds[1].q, atol=1e-9)
    assert len(worlds[0].contacts) == len(worlds[1].contacts) > 10


def thrown_together(budget: int = BUDGET, cone: str = "pyramid") -> World:
    """Twenty-seven boxes, turned, that fly at each other just above the floor."""
    rng = np.random.default_rng(4)
    builder = ModelBuilder()
    builder.half_space("floor", friction=0.6)
    for i in range(27):
        builder.body(f"b{i}", joint=free(), density=600.0)
        builder.box(f"g{i}", f"b{i}", half_size=(0.05, 0.06, 0.07), friction=0.6)
    world = World(builder.build(), timestep=0.002, budget=budget, cone=cone)
    q, v = world.q.reshape(-1, 7), world.v.reshape(-1, 6)
    at = np.stack(np.unravel_index(np.arange(27), (3, 3, 3)), axis=1) - 1.0
    q[:, :3] = 0.19 * at + [0, 0, 0.4]
    q[:, 3:] = Rotation.random(27, random_state=4).as_quat(scalar_first=True)
    v[:, :3] = -2.0 * at + rng.uniform(-0.2, 0.2, (27, 3))
    return world


@pytest.mark.parametrize("cone", ["pyramid", "exact"])
@pytest.mark.thorough
def test_many_boxes_thrown_together_are_solved(cone: str) -> None:
    """No step of a heap that collapses ends above a residual of 1e-6 (1e-3 before)."""
    world = thrown_together(cone=cone)
    world.step(steps=300)
    found = world.diagnostics
    assert found.failed == 0
    assert found.residual < 1e-6
    assert found.degraded < 15  # of some 300 solutions
    # Large islands were solved, not avoided: the one goes on as the last step did
    assert found.stages.path.solved + found.stages.multipliers.solved > 100


def test_a_budget_bounds_the_work() -> None:
    """Little work gives worse answers, which are counted, with their residuals; more mends them."""
    poor, rich = thrown_together(budget=3), thrown_together()
    for world in (poor, rich):
        world.step(steps=150)
    assert poor.diagnostics.degraded > 20
    assert poor.diagnostics.residual > 1e-9
    assert poor.diagnostics.failed == 0
    assert np.isfinite(poor.q).all()
    assert rich.diagnostics.degraded < poor.diagnostics.degraded / 5
    poor.reset()
    assert poor.budget == 3
    poor.budget = 300
    assert poor.budget == 300


@pytest.mark.parametrize("wrong", [0, -1, 2.5, True, float("nan"), "many"])
def test_a_budget_that_is_none_is_refused(wrong: object) -> None:
    world = World(towers(1))
    with pytest.raises(ValueError, match="budget counts factorisations"):
        world.budget = wrong  # type: ignore[assignment]
