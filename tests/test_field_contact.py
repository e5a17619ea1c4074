"""Solids that rest, roll and fall on fields: no creep, no depth, slots that stay, momentum kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scenes import G, certified
from scipy.spatial.transform import Rotation
from solids import Solid, add_solid, few_of, pose, read_gaps
from test_block_field import BREADTH
from test_contact_geometry import hills
from test_solid_contact import inertia, rests
from trees import Array

from dynenvs.dynamics.energy import totals
from dynenvs.envs.legged.humanoid import HumanoidEnv
from dynenvs.envs.legged.quadruped import QuadrupedEnv
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.parts import free
from dynenvs.simulation.world import World

LYING = Rotation.from_euler("y", 90, degrees=True).as_matrix()


def on_blocks(heights: Array, solid: Solid, mu: float = 0.6, dt: float = 2e-3) -> World:
    """A free solid on fixed blocks."""
    builder = ModelBuilder(gravity=(0, 0, -G))
    half = (0.5 * BREADTH * heights.shape[0], 0.5 * BREADTH * heights.shape[1])
    builder.block_field("field", heights=heights, half_size=half, friction=mu)
    builder.body("m", joint=free(), mass=2.0, inertia=inertia(2.0, solid))
    add_solid(builder, "m", solid, friction=mu)
    world = World(builder.build(), timestep=dt)
    world.reset(pose(solid.R, solid.p))
    return world


def touching(world: World) -> frozenset[tuple[int, int]]:
    """Ids of the contacts that carry."""
    loaded = (c for c in world.contacts if np.linalg.norm(c.impulse) > 1e-9)
    return frozenset((c.feature, c.slot) for c in loaded)


def step_up() -> Array:
    """Level, but for two columns 8 cm high with a pit between them."""
    heights = np.zeros((5, 4))
    heights[1] = heights[3] = 0.08
    return heights


def test_a_log_rests_across_two_columns() -> None:
    """Its ends hang over: it is carried by rims alone, three or four of them."""
    log = Solid("capsule", (0.05, 0.6), LYING, np.array([0.01, 0.1, 0.13]))
    world = on_blocks(step_up(), log)
    rests(world, 500)
    assert len(touching(world)) >= 2


def test_a_log_keeps_its_slots_while_it_rolls() -> None:
    """Along rims, over joints between blocks: the same ones step after step."""
    log = Solid("capsule", (0.05, 0.6), LYING, np.array([0.01, -0.4, 0.13]))
    world = on_blocks(step_up(), log)
    world.v[1], world.v[5] = 0.8, -0.8 / 0.05  # about the log
    seen = set()
    for _ in range(400):
        world.step()
        seen.add(touching(world))
        assert min(c.gap for c in world.contacts) > -1e-9
    assert world.q[1] > 0.1
    assert len(seen) == 1, seen
    certified(world)


@pytest.mark.parametrize("ground", ["hills", "blocks"])
@pytest.mark.parametrize("kind", ["sphere", "capsule", "box"])
def test_a_free_field_and_a_solid_keep_their_momentum(ground: str, kind: str) -> None:
    """Both move: what one gains in a step the other loses, linear and angular, to roundoff.

    Their moments of inertia are equal about all axes: free rotation is exact.
    """
    size = {"sphere": (0.1,), "capsule": (0.05, 0.2), "box": (0.15, 0.1, 0.05)}[kind]
    builder = ModelBuilder(gravity=(0, 0, 0))
    builder.body("b", joint=free(), mass=3.0, inertia=(0.5, 0.5, 0.5))
    if ground == "hills":
        builder.height_field("field", "b", heights=hills(), half_size=(1, 1))
    else:
        heights = np.zeros((6, 6))
        heights[3:] = 0.08
        builder.block_field("field", "b", heights=heights, half_size=(0.9, 0.9))
    builder.body("a", joint=free(), mass=1.0, inertia=(0.02, 0.02, 0.02))
    R = Rotation.from_euler("xyz", [0.2, 1.3, 0.4]).as_matrix()
    add_solid(builder, "a", Solid(kind, size, R, np.zeros(3)))
    world = World(builder.build(), timestep=2e-3)
    turn = Rotation.from_euler("xyz", [0.1, -0.2, 0.3]).as_matrix()
    world.reset(np.concatenate([pose(turn, np.zeros(3)), pose(turn @ R, turn @ [0, 0.1, 0.4])]))
    world.v[2], world.v[6:9] = 0.3, turn @ [0.4, 0.2, -2.0]
    world.v[3:6], world.v[9:12] = [0.2, 0.1, -0.3], [1.0, -0.5, 0.7]
    start, speed = totals(world.model, world.q, world.v).momentum.copy(), world.v.copy()
    met = 0
    for _ in range(300):
        before = totals(world.model, world.q, world.v).momentum.copy()
        world.step()
        after = totals(world.model, world.q, world.v).momentum
        np.testing.assert_allclose(after, before, atol=1e-12)
        met += len(touching(world)) > 0
    end = totals(world.model, world.q, world.v).momentum
    np.testing.assert_allclose(end, start, atol=1e-11)
    assert met > 0
    assert np.abs(world.v - speed).max() > 0.1
    certified(world)


def deepest(env: Any) -> float:
    """The least gap of all that can touch [m]."""
    return float(read_gaps(env.model, np.array(env.worlds.states["q"][0])).min())


@pytest.mark.parametrize("terrain", ["rough", "stairs"])
@pytest.mark.parametrize("robot", [QuadrupedEnv, HumanoidEnv])
@pytest.mark.parametrize("seed", few_of(6, 1))
def test_a_robot_that_tumbles_stays_above_ground(robot: Any, terrain: str, seed: int) -> None:
    """Random torques, falls and all: every part of it, every step; certified throughout."""
    env = robot(terrain=terrain, terminate_on_fall=False)
    env.reset(seed=seed)
    rng = np.random.default_rng(seed)
    worst = 0.0
    for _ in range(300):
        action = rng.uniform(-1, 1, env.action_space.shape).astype(np.float32)
        *_, truncated, info = env.step(action)
        assert not truncated, info
        worst = min(worst, deepest(env))
        assert np.isfinite(env.worlds.states["q"][0]).all()
    status = env.worlds.states["status"][0]
    assert (status["failed"], status["degraded"], status["overflow"]) == (0, 0, 0)
    assert worst > -1e-3
