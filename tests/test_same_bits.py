"""A thousand steps give the bits that are written down: by the library and by the compiler alike.

`python tests/test_same_bits.py` writes them down anew, where a change of bits is meant.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from dynenvs.agents import reference_controller
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.parts import free, revolute
from dynenvs.simulation.world import World

FILE = Path(__file__).with_name("same_bits.json")
MACHINE = {"AMD64": "x86_64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
STEPS = 1000
ENVIRONMENTS: dict[str, dict[str, Any]] = {
    "DoublePendulum-v0": {},
    "ChainPendulum-v0": {},
    "PlanarHumanoid-v0": {},
    "PlanarQuadruped-v0": {"command": 0.7},
    "Quadruped-v0": {"terrain": "slope"},
    "Humanoid-v0": {"terrain": "stairs"},
}


def environment(name: str) -> str:
    """Observations and states of an expert's run, episode after episode."""
    env: Any = gym.make(f"dynenvs/{name}", **ENVIRONMENTS[name]).unwrapped
    expert, found = reference_controller(env), hashlib.sha256()
    observation, _ = env.reset(seed=7)
    memory = None
    for _ in range(STEPS):
        action, memory = expert.predict(observation, memory)
        observation, _, terminated, truncated, _ = env.step(action)
        found.update(observation.tobytes() + env.worlds.states[0]["q"].tobytes())
        if terminated or truncated:
            observation, memory = env.reset()[0], None
    return found.hexdigest()


def run(world: World, steps: int = STEPS) -> str:
    """Positions and velocities of a scene."""
    found = hashlib.sha256()
    for _ in range(steps):
        world.step()
        found.update(world.q.tobytes() + world.v.tobytes())
    return found.hexdigest()


def wall() -> World:
    """Bricks on each other, pushed: islands, warm starts, pyramids."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81), timestep=0.002)
    builder.half_space("floor", friction=0.6)
    for k in range(10):
        builder.body(f"brick{k}", joint=free(), mass=1.0, inertia=(0.002, 0.004, 0.005))
        builder.box(f"skin{k}", f"brick{k}", half_size=(0.1, 0.06, 0.05), friction=0.6)
    world = World(builder.build())
    for k in range(10):
        row, column = divmod(k, 3)
        world.q[7 * k : 7 * k + 3] = 0.21 * column + 0.05 * (row % 2), 0.0, 0.05 + 0.1 * row
    world.v[1] = 1.0
    return world


def heap(cone: str, integrator: str) -> World:
    """Balls, capsules and hulls that fall on each other."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81), timestep=0.004)
    builder.half_space("floor", friction=0.5)
    ends: dict[str, Any] = {"start": (0, 0, -0.06), "end": (0, 0, 0.06), "friction": 0.5}
    corners = 0.08 * np.array([[0, 0, 1.2], [1, 0, -0.5], [-0.5, 0.9, -0.5], [-0.5, -0.9, -0.5]])
    for k in range(9):
        builder.body(f"part{k}", joint=free(), mass=0.5 + 0.1 * k, inertia=(0.002,) * 3)
        if k % 3 == 0:
            builder.sphere(f"skin{k}", f"part{k}", radius=0.07, friction=0.5)
        elif k % 3 == 1:
            builder.capsule(f"skin{k}", f"part{k}", radius=0.05, **ends)
        else:
            builder.convex(f"skin{k}", f"part{k}", points=corners, friction=0.5)
    world = World(builder.build(), cone=cone, integrator=integrator)
    for k in range(9):
        world.q[7 * k : 7 * k + 3] = 0.03 * (k % 2), 0.02 * (k % 3), 0.1 + 0.17 * k
        world.v[6 * k : 6 * k + 6] = 0.3 * (k - 4)
    return world


def loop() -> World:
    """A parallelogram of three bars, closed by a pin."""
    builder = ModelBuilder(directions=2)
    turn = np.array([[1.0, 0, 0], [0, 0, 1.0], [0, -1.0, 0]])
    rod: dict[str, Any] = {"mass": 1.0, "com": (0, 0, -0.2), "inertia": (0.02, 0.02, 0.001)}
    builder.body("crank", joint=revolute(axis=(0, 1, 0)), **rod)
    builder.body("rocker", joint=revolute(axis=(0, 1, 0), position=(0.5, 0, 0)), **rod)
    hinge = revolute(axis=(0, 1, 0), position=(0, 0, -0.4))
    builder.body(
        "bar", parent="crank", joint=hinge, mass=1.0, com=(0.25, 0, 0), inertia=(0.02,) * 3
    )
    builder.close(
        "pin", "bar", "rocker", joint="spherical", position_a=(0.5, 0, 0), position_b=(0, 0, -0.4),
        rotation_a=turn, rotation_b=turn,
    )  # fmt: skip
    world = World(builder.build(), timestep=0.002)
    world.q[:] = 0.9, 0.9, -0.9
    return world


CASES: dict[str, Callable[[], str]] = {
    **{name: partial(environment, name) for name in ENVIRONMENTS},
    "wall": lambda: run(wall()),
    "heap of exact cones": lambda: run(heap("exact", "euler"), 400),
    "heap by the midpoint rule": lambda: run(heap("pyramid", "midpoint"), 400),
    "loop": lambda: run(loop()),
}


@pytest.mark.parametrize("name", CASES)
def test_the_bits_are_those_that_are_written_down(name: str) -> None:
    known = json.loads(FILE.read_text())
    if MACHINE not in known:
        pytest.skip(f"nothing is written down for {MACHINE}")
    assert CASES[name]() == known[MACHINE][name]


if __name__ == "__main__":
    written = json.loads(FILE.read_text()) if FILE.exists() else {}
    written[MACHINE] = {name: case() for name, case in CASES.items()}
    FILE.write_text(json.dumps(written, indent=2) + "\n")
