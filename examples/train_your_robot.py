"""From a downloaded XML to a trained policy: Gymnasium's ant learns to walk as commanded.

`make_legged` makes an environment of any robot with a free base, and PPO of stable-baselines3
trains on its compiled batch (`pip install "dynenvs[mjcf,sb3]"`).  With your own file:

    python examples/train_your_robot.py 1000000 my_robot.xml policy.zip
"""

import sys
from pathlib import Path

import gymnasium as gym
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import VecNormalize

from dynenvs.agents import make_sb3_vec_env
from dynenvs.envs import make_legged

ANT = Path(gym.__file__).parent / "envs" / "mujoco" / "assets" / "ant.xml"


def judge(model: PPO, name: str, trained: VecNormalize) -> float:
    """Mean return of twenty episodes, without noise on the actions."""
    judges = VecNormalize(make_sb3_vec_env(name, 20, seed=1_000_000), training=False)
    judges.obs_rms, judges.norm_reward = trained.obs_rms, False
    return float(evaluate_policy(model, judges, n_eval_episodes=20)[0])


def main(steps: int = 1_000_000, file: str | Path = ANT, save: str = "") -> tuple[float, float]:
    """Train for so many steps; returns the return before and after."""
    torch.set_num_threads(1)  # the worlds have threads of their own, and the network is small
    name = make_legged(file)
    worlds = VecNormalize(make_sb3_vec_env(name, 64, seed=0))
    model = PPO(
        "MlpPolicy",
        worlds,
        n_steps=64,
        batch_size=1024,
        n_epochs=5,
        learning_rate=lambda left: 1e-3 * left,  # of the steps of `learn`, the share that is left
        policy_kwargs={"log_std_init": -1.0},
        device="cpu",
        seed=0,
    )
    before = judge(model, name, worlds)
    model.learn(steps)
    after = judge(model, name, worlds)
    if save:
        model.save(save)
        worlds.save(save + ".normalize.pkl")
    print(f"{name}: return {before:.0f} before, {after:.0f} after {steps} steps")
    return before, after


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]), *sys.argv[2:4])
