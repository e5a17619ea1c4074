"""What a task of one's own in NumPy costs: steps of a batch with it and without, in turns.

python -m studies.own_task [WORLDS]
"""

from __future__ import annotations

import sys
import time
from typing import Any

import gymnasium as gym
import numpy as np

from dynenvs.envs import Outcome, make_task

ROBOT, STEPS = "dynenvs/Humanoid-v0", 100


def task(state: Any) -> Outcome:
    """Two bodies, the feet and the actions."""
    pelvis, foot = state.body("pelvis"), state.body("right_foot")
    left, right = (state.foot_forces[leg][:, 2] for leg in ("left", "right"))
    return Outcome(
        rewards={
            "alone": (left > 1.0) & (right <= 1.0),
            "effort": -0.1 * (state.actions**2).mean(axis=1),
        },
        ended=pelvis.position[:, 2] < 0.7,
        observation={"foot height": foot.position[:, 2]},
    )


def main(worlds: int = 256) -> float:
    """Print and return the speed with the task over the speed without."""
    names = {"native": ROBOT, "own task": make_task(task, ROBOT, "dynenvs/OwnTaskCost-v0")}
    batches = {k: gym.make_vec(id, num_envs=worlds, num_threads=1) for k, id in names.items()}
    shape = (STEPS, *(batches["native"].action_space.shape or ()))
    took = dict.fromkeys(names, 0.0)
    for envs in batches.values():
        envs.reset(seed=0)
    for action in np.random.default_rng(0).uniform(-1, 1, shape).astype(np.float32):
        for name, envs in batches.items():
            begin = time.perf_counter()
            envs.step(action)
            took[name] += time.perf_counter() - begin
    for name, seconds in took.items():
        print(f"{name}: {1e3 * seconds / STEPS:.2f} ms a step of {worlds} worlds, one thread")
    share = took["native"] / took["own task"]
    print(f"{share:.0%} of the native speed")
    return share


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
