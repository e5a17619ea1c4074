"""Train with plain stable-baselines3: no dynenvs command, sixty-four worlds in one VecEnv.

Half a minute; needs `pip install "dynenvs[sb3]"`.  Longer training: `dynenvs train --help`.
"""

import sys

from stable_baselines3 import PPO
from stable_baselines3.common.evaluation import evaluate_policy

from dynenvs.agents import make_sb3_vec_env


def main(steps: int = 100_000) -> float:
    """Train, and return the mean return of twenty episodes."""
    worlds = make_sb3_vec_env("dynenvs/PlanarHumanoid-v0", 64, seed=0)
    model = PPO("MlpPolicy", worlds, n_steps=64, batch_size=1024, n_epochs=5, device="cpu", seed=0)
    model.learn(steps)
    judges = make_sb3_vec_env("dynenvs/PlanarHumanoid-v0", 20, seed=1000)
    mean, deviation = evaluate_policy(model, judges, n_eval_episodes=20)
    print(f"return {mean:.1f} +- {deviation:.1f} after {model.num_timesteps} steps")
    return float(mean)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
