"""PPO of stable-baselines3 on a vector environment of your own: the ball stays on the tray.

Half a minute on two cores; needs `pip install "dynenvs[sb3]"`.
"""

import sys
from pathlib import Path

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.evaluation import evaluate_policy

from dynenvs.agents import as_sb3

sys.path.append(str(Path(__file__).parent))
from ball_on_tray import EPISODE, BallOnTray


def main(steps: int = 150_000, seed: int = 0) -> float:
    """Train for so many steps; returns the mean return, at most 250: the ball in the middle."""
    torch.set_num_threads(1)  # the worlds have threads of their own, and the network is small
    worlds = as_sb3(BallOnTray())
    worlds.seed(seed)
    model = PPO(
        "MlpPolicy",
        worlds,
        n_steps=64,
        batch_size=1024,
        gamma=0.98,
        learning_rate=1e-3,
        policy_kwargs={"log_std_init": -1.0},
        device="cpu",
        seed=seed,
    )
    model.learn(steps)
    mean, deviation = evaluate_policy(model, as_sb3(BallOnTray(20)), n_eval_episodes=40)
    print(f"return {mean:.0f} +- {deviation:.0f} of {EPISODE}")
    return float(mean)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
