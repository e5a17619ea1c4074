"""A quadruped trots through loose bricks: 16 worlds at once, each strewn by its own seed.

    python examples/through_bricks.py [PICTURE.png]

Its expert does not see them: it stumbles over them, kicks them aside and steps on them.
"""

from __future__ import annotations

import sys
import time
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from PIL import Image

import dynenvs
from dynenvs.agents import reference_controller
from dynenvs.envs.objects import box

WORLDS = 16
SPEED = 0.6  # [m/s]
BRICKS = box(
    half_size=(0.06, 0.03, 0.02),
    mass=0.3,
    friction=0.6,
    position=((0.4, 3.4), (-0.35, 0.35)),  # drawn for each brick in each episode
    orientation=(0.0, 0.0, (-3.1, 3.1)),
    count=24,
)


class Crossed(NamedTuple):
    """What came of it."""

    through: int  # worlds whose robot stands at the end
    way: float  # that they went forward, in the mean [m]
    moved: float  # that bricks were moved by, in the mean [m]
    residual: float  # the largest of any contact problem
    degraded: int


def main(worlds: int = WORLDS, steps: int = 390, picture: str | None = None) -> Crossed:
    """Trot for so many control steps of 15 ms."""
    gym.register_envs(dynenvs)
    envs: Any = gym.make_vec(
        "dynenvs/Quadruped-v0",
        num_envs=worlds,
        objects=[BRICKS],
        command=(SPEED, 0.0, 0.0),
        max_episode_steps=steps + 1,
        render_mode="rgb_array",
        width=720,
        height=405,
    )
    expert = reference_controller(envs)
    observations, infos = envs.reset(seed=0)
    start = infos["objects"][..., :2]
    stands, residual, degraded = np.ones(worlds, bool), 0.0, 0
    begin = time.perf_counter()
    for i in range(steps):
        actions, _ = expert.predict(observations)
        observations, _, fell, _, infos = envs.step(actions)
        stands &= ~fell
        residual = max(residual, float(infos["residual"].max()))
        degraded = max(degraded, int(infos["degraded"].sum()))
        if picture is not None and i == steps // 2:
            Image.fromarray(envs.unwrapped.envs[0].render()).save(picture)
    each = worlds * steps / (time.perf_counter() - begin)
    way = float(infos["x_position"][stands].mean())
    moved = float(np.linalg.norm(infos["objects"][..., :2] - start, axis=2)[stands].mean())
    print(f"{stands.sum()} of {worlds} are through, {way:.2f} m on; bricks moved by {moved:.2f} m")
    print(f"{each:.0f} control steps a second; residual {residual:.0e}, degraded {degraded}")
    return Crossed(int(stands.sum()), way, moved, residual, degraded)


if __name__ == "__main__":
    main(picture=sys.argv[1] if len(sys.argv) > 1 else None)
