"""Random scenes of one to three boxes that bounce, slide and rub: every contact problem is solved.

Sizes, masses, friction to 2, restitution to 0.3, its law, poses and velocities are drawn.
"""

from __future__ import annotations

import numpy as np
import pytest

from dynenvs.model.builder import ModelBuilder
from dynenvs.model.parts import free
from dynenvs.simulation.world import World

STEPS, TIMESTEP = 150, 0.005  # [s]
# Of seeds 1,000 to 7,000 and 100,000 to 163,000 some of those whose exact cones were left degraded,
# or without an answer (1540 to 3956), before multipliers took over where Newton's method fails;
# and one on pyramids, which the careful Lemke solves from its second covering vector only
HARD = [1000742, 1540, 3956, 1076, 1103, 1353, 2045, 2676, 3109, 3621, 3821, 3710, 148062, 143328]


def scene(seed: int, cone: str) -> World:
    """Boxes above each other in the air, turned and moving."""
    rng = np.random.default_rng([77, seed])
    builder = ModelBuilder(restitution=str(rng.choice(["newton", "poisson"])))
    mu, e = rng.uniform(0, 2), rng.uniform(0, 0.3)
    builder.half_space("ground", friction=float(mu), restitution=float(e))
    count = int(rng.integers(1, 4))
    for i in range(count):
        cube = rng.random() >= 0.7
        size = np.full(3, rng.uniform(0.05, 0.2)) if cube else rng.uniform(0.05, 0.25, 3)
        builder.body(f"b{i}", joint=free(), density=float(10 ** rng.uniform(2, 3.5)))
        mu, e = rng.uniform(0, 2), rng.uniform(0, 0.3)
        builder.box(
            f"g{i}", f"b{i}", half_size=tuple(size), friction=float(mu), restitution=float(e)
        )
    world = World(builder.build(), timestep=TIMESTEP, cone=cone)
    q, height = world.q.reshape(-1, 7), 0.3
    for i in range(count):
        q[i, :3] = [*rng.uniform(-0.2, 0.2, 2), height]
        height += rng.uniform(0.45, 0.9)
        turn = rng.normal(size=4)
        if rng.random() < 0.3:
            turn = np.array([1.0, 0, 0, 0])
        q[i, 3:] = turn / np.linalg.norm(turn)
    world.v[:] = (rng.normal(size=(count, 6)) * [2.0, 2, 2, 1, 1, 1]).ravel()
    return world


def solve_all(seeds: list[int], cone: str) -> None:
    """Step each scene; no answer is degraded, none is missing."""
    for seed in seeds:
        world = scene(seed, cone)
        world.step(steps=STEPS)
        found = world.diagnostics
        assert (found.degraded, found.failed) == (0, 0), f"seed {seed}: {found}"


@pytest.mark.parametrize("cone", ["pyramid", "exact"])
def test_hard_scenes_are_solved(cone: str) -> None:
    solve_all(HARD, cone)


@pytest.mark.slow
@pytest.mark.parametrize("cone", ["pyramid", "exact"])
def test_two_thousand_scenes_are_solved(cone: str) -> None:
    solve_all(list(range(400_000, 402_000)), cone)
