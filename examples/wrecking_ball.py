"""A wrecking ball against a wall of bricks: a hundred hard contacts at once.

    python examples/wrecking_ball.py [PICTURE.png]

The ball hangs on a rope of one hinge.  Everything that touches is solved together, what does not is
not; `World.diagnostics` says how, and how many answers were degraded: the best after bounded work.
"""

import sys
import time

import numpy as np
from PIL import Image

import dynenvs
from dynenvs import ModelBuilder, World, free, revolute
from dynenvs.simulation.diagnostics import Diagnostics

BRICK = (0.1, 0.05, 0.05)  # half edges [m]
WIDTH, ROWS = 4, 4
ROPE = 1.2  # from the hinge to the ball's centre [m]


def build() -> World:
    """The wall stands along x; the ball is drawn back along y."""
    builder = ModelBuilder()
    builder.half_space("floor", friction=0.6)
    builder.body("rope", joint=revolute(axis=(1, 0, 0), position=(0.5, 0.0, 1.5)))
    builder.sphere("ball", "rope", radius=0.12, position=(0, 0, -ROPE), mass=10.0)
    for i in range(WIDTH * ROWS):
        builder.body(f"brick {i}", joint=free(), density=1800.0)
        builder.box(f"brick {i}", f"brick {i}", half_size=BRICK, friction=0.6)
    world = World(builder.build(), timestep=0.002)
    world.q[0] = 0.9  # [rad]
    bricks = world.q[1:].reshape(-1, 7)
    row, column = np.divmod(np.arange(WIDTH * ROWS), WIDTH)
    # By a quarter of a brick: by a half the rows' ends would lie on their edges
    bricks[:, 0] = (column + 0.25 * (row % 2)) * 2 * BRICK[0]
    bricks[:, 2] = (2 * row + 1) * BRICK[2]
    return world


def main(seconds: float = 1.5, picture: str | None = None) -> tuple[float, Diagnostics]:
    """Let it swing; returns how far the furthest brick flew [m], and the solver's counters."""
    world = build()
    start = world.q[1:].reshape(-1, 7)[:, :3].copy()
    begin, steps = time.perf_counter(), round(seconds / world.timestep)
    world.step(steps=steps)
    each = (time.perf_counter() - begin) / steps
    flown = np.linalg.norm(world.q[1:].reshape(-1, 7)[:, :3] - start, axis=1).max()
    print(f"{1e3 * each:.2f} ms a step; the furthest brick is {flown:.2f} m from its place")
    print(world.diagnostics)
    if picture is not None:
        Image.fromarray(dynenvs.render(world, look_at=(0.4, 0.1, 0.3), distance=2.5)).save(picture)
    return float(flown), world.diagnostics


if __name__ == "__main__":
    main(picture=sys.argv[1] if len(sys.argv) > 1 else None)
