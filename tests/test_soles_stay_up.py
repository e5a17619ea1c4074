"""Feet of many points: a correction of positions that leaves a redundant one a little too deep."""

from __future__ import annotations

import numpy as np

from dynenvs import Model, ModelBuilder, World, free, revolute

SEED = 18  # of 25, in which this was seen


def walker(rng: np.random.Generator) -> Model:
    """Two legs of five joints, on feet of fourteen small balls."""
    builder = ModelBuilder()
    builder.half_space("floor", friction=0.8)
    builder.body("trunk", joint=free(), mass=8.0, inertia=(0.2, 0.2, 0.1))
    pitch, roll = (0, 1, 0), (1, 0, 0)
    for side in (-1, 1):
        parent, hip = "trunk", (0.0, 0.1 * side, -0.1)
        ways = [(pitch, hip), (roll, (0, 0, 0)), (pitch, (0, 0, -0.3)), (pitch, (0, 0, -0.3))]
        for k, (axis, at) in enumerate([*ways, (roll, (0, 0, 0))]):
            joint = revolute(f"{side}j{k}", axis=axis, position=at, damping=0.1)
            link = f"{side}l{k}"
            builder.body(link, parent=parent, joint=joint, mass=0.6, inertia=(4e-3, 4e-3, 2e-3))
            parent = link
        for i, (x, y) in enumerate(rng.uniform(-1, 1, (14, 2)) * (0.1, 0.04)):
            builder.sphere(f"{side}s{i}", parent, radius=0.005, position=(x, y, -0.035))
    return builder.build()


def test_a_foot_does_not_sink_in_step_by_step() -> None:
    """All of a correction was taken back, in every step, for a point that it left 1e-9 m deep."""
    model = walker(np.random.default_rng(SEED))
    rng, goal = np.random.default_rng(SEED), np.zeros(model.nu)
    world = World(model, timestep=0.002)
    world.q[2] = 0.737
    for step in range(400):
        if step % 20 == 0:
            goal = rng.normal(0.0, 1.0, model.nu)
        servo = 150.0 * (goal - world.q[7:]) - 4.0 * world.v[6:]
        world.step(np.clip(servo, -80.0, 80.0))
        assert world.certificate().deepest < 1e-6  # 1e-4
    assert world.diagnostics.degraded == 0
