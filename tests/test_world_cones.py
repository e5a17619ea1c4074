"""Friction cones that each world chooses for itself: pyramids of several directions, or exact."""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from scenes import block, certified
from trees import Array

import dynenvs.envs  # noqa: F401
from dynenvs.memory.layout import open_world
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.parts import ModelError, prismatic
from dynenvs.simulation.timestep import DONE, step
from dynenvs.simulation.world import World

HEADINGS = np.array([0.0, 0.3, 0.8, 2.0])
KINDS: list[dict[str, Any]] = [
    {"cone": "exact"},
    {"cone": "pyramid", "directions": 4},
    {"cone": "pyramid", "directions": 6},
    {"cone": "pyramid", "directions": 8},
]
STEPS = 400


def throw(world: World, heading: float) -> None:
    """A block that slides along `heading` [rad] and spins: each corner slips its own way."""
    c, s = np.cos(heading), np.sin(heading)
    world.q[[3, 6]] = np.cos(heading / 2), np.sin(heading / 2)
    world.v[[0, 1, 5]] = c, s, 4.0


def own_axes(q: Array, heading: float) -> Array:
    """Where the block has gone, along its heading and across it [m]."""
    c, s = np.cos(heading), np.sin(heading)
    return np.array([c * q[0] + s * q[1], c * q[1] - s * q[0]])


def test_worlds_of_one_batch_have_their_own_cones() -> None:
    """One model, one workspace, sixteen worlds in turn: each as if it were alone, bit for bit.

    Oracle: models that were built with that cone.  The exact worlds go the same way from every
    heading; the fewer the directions, the further the pyramids' worlds are from them.
    """
    model = block(friction=0.3).model
    cases = [(kind, heading) for heading in HEADINGS for kind in KINDS]
    rows, buffer, tau = model.states(len(cases)), model.workspace(), np.zeros(model.nv)
    for i, (kind, heading) in enumerate(cases):
        world = World(model, timestep=1e-3, **kind)
        world.q[2] = 0.05
        throw(world, heading)
        rows[i] = world.get_state()
    for _ in range(STEPS):
        for i in range(len(cases)):
            row = rows[i : i + 1].view(np.uint8)
            assert step(open_world(model.packed, row, buffer), tau, 1e-3) == DONE
    ends = np.array([own_axes(q, h) for q, (_, h) in zip(rows["q"], cases, strict=True)])
    for i, (kind, heading) in enumerate(cases[: 2 * len(KINDS)]):
        alone = block(friction=0.3, **kind)
        throw(alone, heading)
        alone.step(steps=STEPS)
        assert (alone.q == rows["q"][i]).all()
        assert (alone.v == rows["v"][i]).all()
        certified(alone)
    exact, four, _, eight = (ends[k :: len(KINDS)] for k in range(len(KINDS)))
    np.testing.assert_allclose(exact, np.tile(exact[0], (len(HEADINGS), 1)), atol=1e-8)
    errors = [np.abs(pyramid - exact).max() for pyramid in (four, eight)]
    assert errors[0] > 2.0 * errors[1] > 1e-5


def test_the_choice_is_part_of_the_state() -> None:
    """Saved, restored, kept by a reset, changed in mid-motion."""
    model = block(friction=0.3).model
    world = World(model, timestep=1e-3, cone="exact", directions=6)
    assert (world.cone, world.directions) == ("exact", 6)
    world.reset([0, 0, 0.05, 1, 0, 0, 0], [1, 0.2, 0, 0, 0, 4])
    assert (world.cone, world.directions) == ("exact", 6)
    world.step(steps=10)
    other = World(pickle.loads(pickle.dumps(model)), timestep=1e-3)
    assert (other.cone, other.directions) == ("pyramid", 8)
    other.set_state(world.get_state())
    assert (other.cone, other.directions) == ("exact", 6)
    for each in (world, other):
        each.cone, each.directions = "pyramid", 4
        each.step(steps=10)
        assert (each.cone, each.directions) == ("pyramid", 4)
    assert world.get_state().tobytes() == other.get_state().tobytes()


def test_bad_choices_are_named() -> None:
    """The errors list what there is; the world stays as it was."""
    world = block(friction=0.3, directions=6)
    with pytest.raises(ModelError, match=r"'round'.*pyramid, exact"):
        world.cone = "round"
    with pytest.raises(ModelError, match=r"4, 6 in this model, got 8"):
        world.directions = 8
    with pytest.raises(ModelError, match=r"4, 6 in this model, got 5"):
        World(world.model, directions=5)
    with pytest.raises(ModelError, match=r"unknown cone None"):
        world.cone = None  # type: ignore[assignment]
    assert (world.cone, world.directions) == ("pyramid", 6)


def test_in_the_plane_there_is_nothing_to_choose() -> None:
    """Two directions are the whole cone there."""
    builder = ModelBuilder(directions=2)
    builder.half_space("floor")
    builder.body("x", joint=prismatic(axis=(1, 0, 0)))
    builder.body("z", parent="x", joint=prismatic(axis=(0, 0, 1)), mass=1.0)
    builder.point("foot", "z", (0, 0, 0))
    world = World(builder.build(), cone="exact", directions=2)
    assert (world.cone, world.directions) == ("pyramid", 2)
    with pytest.raises(ModelError, match=r"one of 2 in this model, got 4"):
        world.directions = 4


# Environments


def status(env: Any) -> Array:
    """Cones and polygons of an environment's worlds."""
    found = env.unwrapped.worlds.states["status"]
    return np.array([found["cone"], found["polygon"]]).T


def test_robots_of_one_batch_have_their_own_cones() -> None:
    """Half of them pyramids, half exact, from reset to reset; each as a single environment."""
    lying = {"terminate_on_fall": False}  # no new episode in the midst of these steps
    batch = gym.make_vec("dynenvs/Quadruped-v0", 4, directions=6, **lying)
    cones = ["pyramid", "exact", "pyramid", "exact"]
    batch.reset(seed=3, options={"cone": cones, "directions": np.array([4, 4, 8, 6])})
    np.testing.assert_array_equal(status(batch), [[0, 0], [1, 0], [0, 2], [1, 1]])
    rng = np.random.default_rng(0)
    actions = rng.uniform(-1.0, 1.0, (30, 4, 12))
    for action in actions:
        observations = batch.step(action)[0]
    single = gym.make("dynenvs/Quadruped-v0", cone="exact", directions=4, **lying)
    single.reset(seed=4)
    np.testing.assert_array_equal(status(single), [[1, 0]])
    for action in actions:
        observation = single.step(action[1])[0]
    np.testing.assert_array_equal(observation, observations[1])
    state = batch.unwrapped.get_state()
    batch.reset(seed=5)  # the choice stays ...
    np.testing.assert_array_equal(status(batch), [[0, 0], [1, 0], [0, 2], [1, 1]])
    batch.reset(seed=5, options={"cone": "pyramid"})  # ... until there is another
    np.testing.assert_array_equal(status(batch), [[0, 0], [0, 0], [0, 2], [0, 1]])
    batch.unwrapped.set_state(state)
    np.testing.assert_array_equal(status(batch), [[0, 0], [1, 0], [0, 2], [1, 1]])


def test_bad_options_of_robots_are_named() -> None:
    """Constructor and reset list what there is."""
    with pytest.raises(ValueError, match=r"'round'.*pyramid, exact"):
        gym.make("dynenvs/Quadruped-v0", cone="round")
    with pytest.raises(ValueError, match=r"4, 6, 8 in this model, got 10"):
        gym.make("dynenvs/Humanoid-v0", directions=10)
    env = gym.make("dynenvs/Quadruped-v0")
    with pytest.raises(ValueError, match=r"'glue'.*pyramid, exact"):
        env.reset(options={"cone": "glue"})
    with pytest.raises(ValueError, match=r"choose from: command, cone, directions"):
        env.reset(options={"cones": "exact"})
    batch = gym.make_vec("dynenvs/Quadruped-v0", 3)
    with pytest.raises(ValueError, match=r"cone must be one value, or 3, one a world"):
        batch.reset(options={"cone": ["exact", "pyramid"]})
