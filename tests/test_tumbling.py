"""Solids that tumble over the ground and each other end each step above it, and robots, too.

Depths are those of the certificate, which knows nothing of the contacts' slots.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from solids import add_shape, few_of

from dynenvs import ModelBuilder, World, free
from dynenvs.contact.held import LARGE

KINDS = ("sphere", "capsule", "box", "hull", "cylinder", "ellipsoid", "cone")
STEPS = 200
TOUCHES = 1e-9  # depth that a step may add [m]


def tumbling(kinds: tuple[str, ...], seed: int) -> World:
    """Solids thrown on the ground one after the other, each with a fast spin."""
    rng = np.random.default_rng(seed)
    builder, q, v = ModelBuilder().half_space("floor"), [], []
    for number, kind in enumerate(kinds):
        name = f"{kind} {number}"
        builder.body(name, joint=free(), density=1000.0)
        size = rng.uniform(0.05, 0.2, 3)
        points = rng.normal(size=(16, 3)) * size / 2 if kind == "hull" else size
        add_shape(builder, name, kind, size, points)
        turn = Rotation.random(random_state=rng).as_quat()
        q += [*rng.uniform(-0.15, 0.15, 2), 0.4 + 0.5 * number, *turn]
        v += [*rng.normal(size=3), *rng.normal(size=3) * 10]
    world = World(builder.build(), timestep=0.005)
    world.reset(q, v)
    return world


def added(world: World, step: Callable[[], object], steps: int) -> np.ndarray:
    """By how much each step ends deeper than it began [m], shape (steps,)."""
    deeper, before = np.zeros(steps), world.certificate().deepest
    for k in range(steps):
        step()
        depth = world.certificate().deepest
        deeper[k], before = depth - before, depth
    return deeper


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", few_of(20, 2))
def test_a_solid_that_tumbles_stays_above_the_ground(kind: str, seed: int) -> None:
    """Corrections of positions once ended at 1e-7 m, by their size, whatever they left."""
    world = tumbling((kind,), seed)
    deeper = added(world, lambda: world.step(np.zeros(0)), STEPS)
    assert world.diagnostics.failed == world.diagnostics.degraded == 0
    assert deeper.max() < TOUCHES
    assert world.diagnostics.sunk == 0


@pytest.mark.parametrize("seed", few_of(60, 6))
def test_solids_that_tumble_over_each_other_stay_apart(seed: int) -> None:
    kinds = np.random.default_rng(1000 + seed).choice(KINDS, 4)
    world = tumbling(tuple(str(kind) for kind in kinds), seed)
    deeper = added(world, lambda: world.step(np.zeros(0)), STEPS)
    assert world.diagnostics.failed == world.diagnostics.degraded == 0
    # Where three things are wedged no small turn may part them all at once: that is counted
    assert np.count_nonzero(deeper > TOUCHES) <= min(1, world.diagnostics.sunk)
    assert deeper.max() < 2 * LARGE


# Each has had a step that ended deeper, before its kind was mended or while it was
EDGES = 48, 67, 112, 188, 194, 227, 252, 395, 446, 671, 702, 724


@pytest.mark.parametrize("seed", EDGES)
def test_lines_that_roll_over_an_edge_stay_above_it(seed: int) -> None:
    """Two cylinders let down across a ridge, the lower one with a spin.

    Its line's way over the edge bends, and pulls to where another point touches buried that one:
    steps ended 1e-7 to 8e-6 m deeper.
    """
    rng, q = np.random.default_rng(seed), []
    builder = ModelBuilder(cone="exact", timestep=0.002)
    ridge = Rotation.from_euler("y", np.pi / 4).as_matrix()
    builder.box("ridge", "world", half_size=(0.2, 1.0, 0.2), rotation=ridge, friction=0.5)
    for k in range(2):
        r, h = rng.uniform(0.03, 0.12), rng.uniform(0.05, 0.15)
        builder.body(f"c{k}", joint=free(), density=1000.0)
        builder.cylinder(f"c{k}", f"c{k}", radius=r, half_length=h, friction=0.5)
        turn = Rotation.from_euler("z", rng.uniform(-1, 1))
        turn *= Rotation.from_euler("y", np.pi / 2 + rng.uniform(-0.2, 0.2))
        q += [0, 0, 0.42 + 0.3 * k, *turn.as_quat(scalar_first=True)]
    world = World(builder.build())
    world.reset(q)
    world.v[5] = rng.uniform(10, 30)
    deeper = added(world, world.step, 250)
    assert world.diagnostics.degraded == 0
    assert deeper.max() < TOUCHES


GROUNDS = "ridge", "floor", "log", "slab"


def rolling(seed: int) -> World:
    """Up to three solids of any kind let down on a ground, some of them with a spin."""
    rng, q, v = np.random.default_rng(seed), [], []
    cone, ground = str(rng.choice(["exact", "pyramid"])), str(rng.choice(GROUNDS))
    builder = ModelBuilder(cone=cone, timestep=float(rng.choice([0.001, 0.002, 0.005])))
    top = {"ridge": 0.283, "floor": 0.0, "log": 0.2, "slab": 0.1}[ground]
    if ground == "ridge":
        turned = Rotation.from_euler("y", np.pi / 4).as_matrix()
        builder.box("ridge", "world", half_size=(0.2, 1.0, 0.2), rotation=turned)
    elif ground == "floor":
        builder.half_space("floor")
    elif ground == "log":
        turned = Rotation.from_euler("x", np.pi / 2).as_matrix()
        builder.cylinder("log", "world", radius=0.2, half_length=1.0, rotation=turned)
    else:
        builder.box("slab", "world", half_size=(0.1, 0.1, 0.1))
    for number in range(int(rng.integers(1, 4))):
        name, kind = f"b{number}", str(rng.choice(KINDS))
        size = rng.uniform(0.03, 0.15, 3)
        builder.body(name, joint=free(), density=1000.0)
        add_shape(builder, name, kind, size, rng.normal(size=(16, 3)) * size / 2)
        turn = Rotation.from_euler("zy", [rng.uniform(-1, 1), np.pi / 2 + rng.uniform(-0.2, 0.2)])
        if rng.random() < 0.3:
            turn = Rotation.random(rng=rng)
        height = top + 0.16 + 0.33 * number
        q += [*rng.uniform(-0.02, 0.02, 2), height, *turn.as_quat(scalar_first=True)]
        v += [0, 0, 0, *(rng.normal(size=3) * rng.choice([0, 3, 15]))]
    world = World(builder.build())
    world.reset(q, v)
    while world.certificate().deepest > TOUCHES:  # higher up, then
        for number in range(len(q) // 7):
            q[7 * number + 2] += 0.05 * (number + 1)
        world.reset(q, v)
    return world


@pytest.mark.parametrize("seed", few_of(1000, 60))
def test_solids_of_any_kind_roll_over_any_ground(seed: int) -> None:
    """Steps ended up to 1e-5 m deeper in one of fifty of these scenes, which nothing counted."""
    world = rolling(seed)
    deeper = added(world, world.step, 150)
    assert world.diagnostics.failed == 0
    assert np.count_nonzero(deeper > TOUCHES) <= world.diagnostics.sunk


@pytest.mark.parametrize("robot", ["Humanoid-v0", "Quadruped-v0", "PlanarHumanoid-v0"])
def test_robots_that_fall_stay_above_the_ground(robot: str) -> None:
    env: Any = gymnasium.make(f"dynenvs/{robot}").unwrapped
    rng, seen, deeper = np.random.default_rng(0), World(env.model), 0.0

    def depth() -> float:
        seen.reset(env.world.q, env.world.v)
        return seen.certificate().deepest

    env.reset(seed=0)
    for k in range(120):
        before = depth()
        ended, cut = env.step(rng.uniform(-1.0, 1.0, env.action_space.shape))[2:4]
        deeper = max(deeper, depth() - before)
        if ended or cut:
            env.reset(seed=k)
    assert deeper < TOUCHES
