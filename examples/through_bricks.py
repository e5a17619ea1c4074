"""A quadruped trots through loose bricks: 16 worlds at once, each strewn by its own seed.

    python examples/through_bricks.py [PICTURE.png]

Its expert does not see them: it stumbles over them, kicks them aside and steps on them.
"""

import sys
from typing import Any

import gymnasium as gym
import numpy as np
from PIL import Image

import dynenvs  # noqa: F401  registers the environments
from dynenvs.agents import reference_controller
from dynenvs.envs.objects import box

BRICKS = box(
    half_size=(0.06, 0.03, 0.02),
    mass=0.3,
    friction=0.6,
    position=((0.4, 3.4), (-0.35, 0.35)),  # drawn for each brick in each episode
    orientation=(0.0, 0.0, (-3.1, 3.1)),
    count=24,
)


def main(worlds: int = 16, steps: int = 390, picture: str | None = None) -> dict[str, float]:
    """Trot for so many control steps of 15 ms; what came of it, in the mean of those that stand."""
    envs: Any = gym.make_vec(
        "dynenvs/Quadruped-v0",
        num_envs=worlds,
        objects=[BRICKS],
        command=(0.6, 0.0, 0.0),
        max_episode_steps=steps + 1,
        render_mode="rgb_array",
        width=720,
        height=405,
    )
    expert = reference_controller(envs)
    observations, infos = envs.reset(seed=0)
    start, stands = infos["objects"][..., :2], np.ones(worlds, bool)
    worst = {"residual": 0.0, "degraded": 0.0}  # of the contact problems of all worlds
    for i in range(steps):
        observations, _, fell, _, infos = envs.step(expert.predict(observations)[0])
        stands &= ~fell
        worst = {name: max(value, float(infos[name].max())) for name, value in worst.items()}
        if picture is not None and i == steps // 2:
            Image.fromarray(envs.unwrapped.envs[0].render()).save(picture)
    way = float(infos["x_position"][stands].mean())
    moved = float(np.linalg.norm(infos["objects"][..., :2] - start, axis=2)[stands].mean())
    print(f"{stands.sum()} of {worlds} are through, {way:.2f} m on; bricks moved by {moved:.2f} m")
    print(f"residual {worst['residual']:.0e}, {worst['degraded']:.0f} degraded solutions")
    return {"through": float(stands.sum()), "way": way, "moved": moved, **worst}


if __name__ == "__main__":
    main(picture=sys.argv[1] if len(sys.argv) > 1 else None)
