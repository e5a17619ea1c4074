"""Train with plain stable-baselines3: no dynenvs command, sixty-four worlds in one VecEnv.

A quadruped that trots, in two minutes on two cores; needs `pip install "dynenvs[sb3]"`.  Longer
training, of the other robots too: `dynenvs train --help`.

What makes it work: observations and rewards that are normalized, many worlds, a learning rate that
falls, and noise on the actions that is wide while a gait is sought and narrow after that.  The gait
found under wide noise needs that noise and falls without it; narrow noise teaches it to do without.
"""

import sys

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import VecNormalize

from dynenvs.agents import make_sb3_vec_env
from dynenvs.agents.evaluation.evaluate import references

ENV = "dynenvs/PlanarQuadruped-v0"


def main(seeking: int = 400_000, refining: int = 400_000, seed: int = 0) -> float:
    """Train for so many steps; returns the score of 20 episodes: 0 stands, 1 is the expert."""
    torch.set_num_threads(1)  # the worlds have threads of their own, and the network is small
    worlds = VecNormalize(make_sb3_vec_env(ENV, 64, seed=seed))
    model = PPO(
        "MlpPolicy",
        worlds,
        n_steps=64,
        batch_size=1024,
        n_epochs=5,
        learning_rate=lambda left: 1e-3 * left,  # of the steps of `learn`, the share that is left
        max_grad_norm=1.0,
        policy_kwargs={"log_std_init": -1.0},
        device="cpu",
        seed=seed,
    )
    model.learn(seeking)
    with torch.no_grad():
        model.policy.log_std.fill_(-2.0)
    model.learn(refining)

    judges = VecNormalize(make_sb3_vec_env(ENV, 20, seed=1_000_000), training=False)
    judges.obs_rms, judges.norm_reward = worlds.obs_rms, False
    mean, deviation = evaluate_policy(model, judges, n_eval_episodes=20)
    score = references(ENV, 20).score(float(mean))
    print(f"return {mean:.0f} +- {deviation:.0f}: it scores {score:.2f}, where 1 is the expert")
    return score


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
