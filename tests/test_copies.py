"""Copies of worlds and models: independent, and with the same future, bit for bit."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scenes import block

from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model
from dynenvs.model.parts import revolute
from dynenvs.simulation.world import World


def pickled(thing: Any) -> Any:
    return pickle.loads(pickle.dumps(thing))


COPIES = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": pickled}
every_way = pytest.mark.parametrize("way", COPIES.values(), ids=COPIES)


def sliding() -> World:
    """In the middle of its contacts: impulses, active sets and a warm start to be remembered."""
    world = block((0.12, 0.1, 0.08), timestep=2e-3, cone="exact")
    world.friction[:] = 0.3
    world.mass_scale[1] = 1.5
    world.wrenches[1, 4] = 0.5
    world.v[:] = [1.0, -0.3, 0.0, 1.0, 2.0, -1.0]
    world.step(steps=60)
    assert world.contacts
    return world


@every_way
def test_a_copied_world_has_the_same_future(way: Callable[[Any], Any]) -> None:
    """Every field of the state and the diagnostics, after 200 more steps of both."""
    world = sliding()
    twin = way(world)
    assert type(twin) is World
    assert twin.timestep == world.timestep
    assert twin.get_state().tobytes() == world.get_state().tobytes()
    for _ in range(200):
        world.step()
        twin.step()
        assert twin.get_state().tobytes() == world.get_state().tobytes()
    assert twin.diagnostics == world.diagnostics
    assert [c[:2] for c in twin.contacts] == [c[:2] for c in world.contacts]


@every_way
def test_a_copied_world_is_independent(way: Callable[[Any], Any]) -> None:
    """Steps and writes of one leave the other alone, both ways; and the copy moves."""
    world = sliding()
    kept = world.get_state().tobytes()
    twin = way(world)
    twin.v[0] = 2.0
    before = twin.q.copy()
    twin.step(steps=20)
    assert not np.array_equal(twin.q, before)
    assert world.get_state().tobytes() == kept
    there = twin.get_state().tobytes()
    world.step(steps=20)
    world.friction[:] = 0.9
    assert twin.get_state().tobytes() == there
    twin.set_state(world.get_state())  # of the same model
    assert twin.get_state().tobytes() == world.get_state().tobytes()


@every_way
def test_what_a_subclass_adds_is_copied(way: Callable[[Any], Any]) -> None:
    world = Counting(sliding().model)
    world.count = 3
    assert way(world).count == 3


class Counting(World):
    """A world with something of its own."""

    count = 0


@every_way
def test_the_last_forces_are_copied(way: Callable[[Any], Any]) -> None:
    builder = ModelBuilder().body("arm", joint=revolute(), mass=1.0, inertia=(0.1, 0.1, 0.1))
    world = World(builder.build())
    world.step([0.25])
    assert way(world).tau == pytest.approx([0.25])


@every_way
def test_a_copied_model_makes_the_same_world(way: Callable[[Any], Any]) -> None:
    """Same bytes, still read-only, same steps."""
    world = sliding()
    model = way(world.model)
    assert isinstance(model, Model)
    assert model.packed.tobytes() == world.model.packed.tobytes()
    with pytest.raises(ValueError, match="read-only"):
        model.packed[0] = 1
    twin = World(model, timestep=world.timestep)
    twin.set_state(world.get_state())
    twin.step(steps=50)
    world.step(steps=50)
    assert twin.get_state().tobytes() == world.get_state().tobytes()
