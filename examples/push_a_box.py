"""The humanoid pushes a box over the floor: its expert walks, and we steer it by what it sees.

    python examples/push_a_box.py [PICTURE.png]

The expert knows nothing of the box.  The environment shows where the box is, in the robot's axes;
commands that turn and side-step towards it keep it ahead, so that it is pushed on and on.
"""

import sys
from typing import Any

import gymnasium as gym
import numpy as np
from PIL import Image

import dynenvs  # noqa: F401  registers the environments
from dynenvs.agents import reference_controller
from dynenvs.envs.objects import box

BOX = box(half_size=(0.3, 0.4, 0.4), mass=10.0, friction=0.3, position=(0.7, 0.0))


def steer(place: Any) -> tuple[float, float, float]:
    """The command that goes for what stands at `place`, seen from the robot [m]."""
    x, y, _ = place
    return 0.5, float(np.clip(2.0 * y, -0.2, 0.2)), float(np.clip(np.arctan2(y, x), -0.4, 0.4))


def main(steps: int = 1000, picture: str | None = None) -> tuple[float, bool, dict[str, Any]]:
    """Push for so many steps of 15 ms; how far the box went [m], whether the robot fell, `info`."""
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
    return way, fell, info


if __name__ == "__main__":
    main(picture=sys.argv[1] if len(sys.argv) > 1 else None)
