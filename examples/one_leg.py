"""The humanoid learns to stand on one leg: a task of your own by one function, and PPO.

    python examples/one_leg.py [STEPS [POLICY.zip]]

docs/one-leg.md explains it.  It needs `pip install "dynenvs[sb3]"`.
"""

import sys
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3 import PPO

from dynenvs.agents import make_sb3_vec_env
from dynenvs.envs import Outcome, make_task


def one_leg(state: Any) -> Outcome:
    """Stand still on the left foot, the right one lifted by 10 cm."""
    pelvis, right = state.body("pelvis"), state.body("right_foot")
    lift = right.position[:, 2] - state.body("left_foot").position[:, 2]
    upright = np.clip(state.body("torso").rotation[:, 2, 2], 0.0, 1.0)
    moves = (pelvis.velocity**2).sum(axis=1) + 0.2 * (pelvis.angular_velocity**2).sum(axis=1)
    still = np.exp(-4.0 * moves)
    on_left = (state.foot_forces["right"][:, 2] < 1.0) & (state.foot_forces["left"][:, 2] > 1.0)
    return Outcome(
        rewards={
            "upright": 0.3 * upright * still,
            "lift": 0.7 * upright * still * on_left * np.clip(lift / 0.1, 0.0, 1.0),
            "effort": -0.05 * (state.actions**2).mean(axis=1),
        },
        ended=pelvis.position[:, 2] < 0.75,
        observation={"lift": lift},
    )


def main(steps: int = 3_000_000, file: str = "one_leg.zip") -> float:
    """Train for so many steps; the time on the left foot in 6 s, the mean of 16 robots [s]."""
    torch.set_num_threads(1)  # the worlds have threads of their own, and the network is small
    name = make_task(one_leg, "dynenvs/Humanoid-v0", command=(0.0, 0.0, 0.0), control="position")
    rollout: dict[str, Any] = {"n_steps": 32, "batch_size": 1024, "n_epochs": 5, "gamma": 0.98}
    rollout |= {"learning_rate": 4e-4, "device": "cpu", "seed": 0}
    network = {"net_arch": [128, 128], "log_std_init": -1.0}
    worlds = make_sb3_vec_env(name, 128, seed=0)
    model = PPO("MlpPolicy", worlds, policy_kwargs=network, **rollout)
    model.learn(steps).save(file)
    envs: Any = gym.make_vec(name, num_envs=16)
    (seen, _), held = envs.reset(seed=1000), 0.0
    for _ in range(400):
        seen, *_ = envs.step(model.predict(seen, deterministic=True)[0])
        left, right = (envs.unwrapped.world.foot_forces[leg][:, 2] for leg in ("left", "right"))
        held += 0.015 * float(((left > 1.0) & (right < 1.0)).mean())
    return held


if __name__ == "__main__":
    print(f"{main(*map(int, sys.argv[1:2]), *sys.argv[2:3]):.2f} of 6 s on the left foot alone")
