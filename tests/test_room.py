"""Room for contacts is made when it is needed: no bit depends on how much there was before."""

from __future__ import annotations

import copy
import pickle

import gymnasium as gym
import numpy as np
import pytest
from test_large_scenes import heap

from dynenvs.envs.legged import quadruped
from dynenvs.envs.planar import planar_humanoid
from dynenvs.model import packing, solids
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.parts import free, revolute
from dynenvs.simulation.inverse import inverse_dynamics
from dynenvs.simulation.world import World


def bowl(count: int, **options: int) -> World:
    """Boxes in two layers on a slab."""
    builder = ModelBuilder(**options)
    builder.box("slab", "world", half_size=(1, 1, 0.1), position=(0, 0, -0.1))
    for i in range(count):
        builder.body(f"b{i}", joint=free(), density=500.0)
        builder.box(f"s{i}", f"b{i}", half_size=(0.05, 0.05, 0.05))
    world = World(builder.build(), timestep=2e-3)
    for i in range(count):
        column, row = divmod(i, 2)
        world.q[7 * i : 7 * i + 3] = 0.3 * column, 0.01 * row, 0.06 + 0.11 * row
    return world


@pytest.mark.parametrize("pooled", [False, True])
def test_the_room_at_the_start_does_not_matter(
    monkeypatch: pytest.MonkeyPatch, pooled: bool
) -> None:
    """Positions, velocities and impulses, bit for bit, from one contact's room and from plenty."""
    if pooled:
        monkeypatch.setattr(solids, "SLOTS_KEPT", 0)
    worlds = []
    for start, blocks in ((1, 0), (400, 50)):
        monkeypatch.setattr(packing, "START", start)
        monkeypatch.setattr(solids, "BLOCKS", blocks)
        worlds.append(bowl(6))
    small, large = worlds
    rooms = {int(small.model.header.nc)}
    for _ in range(60):
        small.step()
        large.step()
        rooms.add(int(small.model.header.nc))
        assert small.q.tobytes() == large.q.tobytes()
        assert small.v.tobytes() == large.v.tobytes()
    assert len(rooms) > 2
    assert max(rooms) < int(large.model.header.nc)
    if pooled:
        assert int(small.model.header.nblocks) > 1
    mine, others = small.contacts, large.contacts
    assert [c[:2] for c in mine] == [c[:2] for c in others]
    assert all(np.array_equal(a.impulse, b.impulse) for a, b in zip(mine, others, strict=True))
    assert small.diagnostics == large.diagnostics


def test_copies_and_states_across_growth(monkeypatch: pytest.MonkeyPatch) -> None:
    """A state from before a world grew can be set, and one from a larger world, too."""
    monkeypatch.setattr(solids, "SLOTS_KEPT", 0)
    monkeypatch.setattr(solids, "BLOCKS", 0)
    monkeypatch.setattr(packing, "START", 1)
    world = bowl(4)
    fresh = World(world.model, timestep=world.timestep)
    before = world.get_state()
    world.step(steps=10)
    assert world.model is not fresh.model
    after = world.get_state()
    twins = [copy.copy(world), copy.deepcopy(world), pickle.loads(pickle.dumps(world))]
    fresh.set_state(after)
    for twin in [*twins, fresh]:
        twin.step(steps=10)
    world.step(steps=10)
    for twin in [*twins, fresh]:
        assert twin.q.tobytes() == world.q.tobytes()
    world.set_state(before)
    world.step(steps=20)
    assert world.q.tobytes() == twins[0].q.tobytes()


def test_blocks_are_not_lost_in_a_heap(monkeypatch: pytest.MonkeyPatch) -> None:
    """A falling heap with a pool that begins with one block: as with slots of their own."""
    own = heap(1)
    monkeypatch.setattr(solids, "SLOTS_KEPT", 0)
    monkeypatch.setattr(solids, "BLOCKS", 0)
    pooled = heap(1)
    assert int(pooled.model.header.nblocks) == 1
    for _ in range(150):
        own.step()
        pooled.step()
        assert own.q.tobytes() == pooled.q.tobytes()


@pytest.mark.parametrize("name", ["Quadruped", "PlanarHumanoid"])
def test_batches_make_room(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The same bits, whatever room a batch, or a single environment, begins with."""
    seen = []
    for start in (1, packing.START):
        monkeypatch.setattr(packing, "START", start)
        _forget_models()
        envs = gym.make_vec(f"dynenvs/{name}-v0", num_envs=5)
        single = gym.make(f"dynenvs/{name}-v0").unwrapped
        room = int(envs.unwrapped.worlds.model.header.nc)
        assert room == start or start > 1
        history = [envs.reset(seed=0)[0], single.reset(seed=4)[0]]
        rng = np.random.default_rng(0)
        for _ in range(20):
            actions = rng.uniform(-1, 1, envs.action_space.shape).astype(np.float32)
            history += [np.copy(x) for x in envs.step(actions)[:3]]
            history += [np.copy(x) for x in single.step(actions[0])[:3]]
        assert int(envs.unwrapped.worlds.model.header.nc) > room or start > 1
        seen.append(history)
        envs.close()
    _forget_models()
    for a, b in zip(*seen, strict=True):
        np.testing.assert_array_equal(a, b)


def _forget_models() -> None:
    """Models that tasks have kept are built again."""
    for module in (planar_humanoid, quadruped):
        module._model.cache_clear()


def test_inverse_dynamics_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """It gives the same torques, whatever room the model begins with."""
    answers = []
    for start in (1, 32):
        monkeypatch.setattr(packing, "START", start)
        builder = ModelBuilder()
        builder.half_space("floor")
        builder.body("base", joint=free(), mass=2.0, inertia=(0.1, 0.1, 0.1))
        builder.box("foot", "base", half_size=(0.2, 0.2, 0.1))
        hinge = revolute(axis=(0, 1, 0), position=(0, 0, 0.3))
        builder.body("arm", parent="base", joint=hinge, mass=1.0, inertia=(0.1, 0.1, 0.1))
        model = builder.build()
        q = model.neutral()
        q[2] = 0.1
        answers.append(inverse_dynamics(model, q, np.zeros(model.nv), [0.3], 0.01))
    np.testing.assert_array_equal(answers[0].tau, answers[1].tau)
    np.testing.assert_array_equal(answers[0].v, answers[1].v)
