"""The humanoid pushes a box over the floor: its expert walks, and we steer it by what it sees.

    python examples/push_a_box.py [PICTURE.png]

The expert knows nothing of the box.  The environment shows where the box is, in the robot's axes;
commands that turn and side-step towards it keep it ahead, so that it is pushed on and on.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from PIL import Image

import dynenvs
from dynenvs.agents import reference_controller
from dynenvs.envs.objects import box

SPEED = 0.5  # [m/s]
BOX = box(half_size=(0.3, 0.4, 0.4), mass=10.0, friction=0.3, position=(0.7, 0.0))
SIDEWAYS, TURN = 2.0, 1.0  # from the box's place to commands [1/s]


class Pushed(NamedTuple):
    """What came of it."""

    way: float  # of the box over the floor [m]
    fell: bool
    residual: float  # the largest of any contact problem
    degraded: int


def steer(place: Any) -> tuple[float, float, float]:
    """The command that goes for what stands at `place`, seen from the robot [m]."""
    x, y, _ = place
    sideways = float(np.clip(SIDEWAYS * y, -0.2, 0.2))
    return SPEED, sideways, float(np.clip(TURN * np.arctan2(y, x), -0.4, 0.4))


def main(steps: int = 1000, picture: str | None = None) -> Pushed:
    """Push for so many control steps of 15 ms."""
    gym.register_envs(dynenvs)
    env: Any = gym.make(
        "dynenvs/Humanoid-v0",
        objects=[BOX],
        observe_objects=True,
        max_episode_steps=steps,
        render_mode="rgb_array",
        width=720,
        height=405,
    )
    expert = reference_controller(env)
    observation, info = env.reset(seed=0)
    start, fell = info["objects"][0, :2], False
    box_place = env.unwrapped.observation_slices["object 0 place"]
    for i in range(steps):
        env.unwrapped.set_command(steer(observation[box_place]))
        observation, _, fell, _, info = env.step(expert.predict(observation)[0])
        if picture is not None and i == steps // 2:
            Image.fromarray(env.render()).save(picture)
        if fell:
            break
    way = float(np.hypot(*(info["objects"][0, :2] - start)))
    print(f"the box went {way:.2f} m; residual {info['residual']:.0e}, fell: {fell}")
    return Pushed(way, fell, info["residual"], info["degraded"])


if __name__ == "__main__":
    main(picture=sys.argv[1] if len(sys.argv) > 1 else None)
