"""RLlib's PPO on a native vector environment of dynenvs: all worlds of a runner in one call.

RLlib pins its own Gymnasium, so it wants an environment of its own:

    python -m venv rllib && . rllib/bin/activate
    pip install torch "ray[rllib]>=2.55" dynenvs
    python train_with_rllib.py planar-humanoid

The score is 0 for standing still and 1 for the expert, as everywhere in dynenvs.
"""

from __future__ import annotations

import argparse
import time

import gymnasium as gym
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.connectors.env_to_module import MeanStdFilter
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig

from dynenvs.agents.evaluation.evaluate import references

WORLDS, FRAGMENT = 128, 64  # worlds of a runner, and steps of each between two lessons
# Ids, and options of the environment: a quadruped learns faster by targets than by torques
ROBOTS: dict[str, tuple[str, dict[str, str]]] = {
    "planar-humanoid": ("dynenvs/PlanarHumanoid-v0", {}),
    "planar-quadruped": ("dynenvs/PlanarQuadruped-v0", {"control": "position"}),
}


def settings(robot: str, runners: int, steps: int) -> PPOConfig:
    """RLlib's configuration; `runners` 0 simulates in this process."""
    batch = WORLDS * FRAGMENT * max(runners, 1)
    env_id, options = ROBOTS[robot]
    return (
        PPOConfig()
        .environment(f"dynenvs:{env_id}", env_config=options)  # "dynenvs:" lets runners import it
        .env_runners(
            num_env_runners=runners,
            num_envs_per_env_runner=WORLDS,
            rollout_fragment_length=FRAGMENT,
            gym_env_vectorize_mode=gym.VectorizeMode.VECTOR_ENTRY_POINT,
            create_env_on_local_worker=True,  # evaluation is there
            # observations less their running mean, over their standard deviation
            env_to_module_connector=lambda env=None, spaces=None, device=None: MeanStdFilter(),
        )
        .training(
            train_batch_size_per_learner=batch,
            minibatch_size=2048,
            num_epochs=5,
            lr=[[0, 1e-3], [steps, 0.0]],
            gamma=0.99,
            lambda_=0.95,
            clip_param=0.2,
            vf_clip_param=1e6,
            vf_loss_coeff=0.001,  # returns are some tens: the policy's gradient is to count
            entropy_coeff=0.0,
            use_kl_loss=False,
            grad_clip=1.0,
        )
        .evaluation(
            evaluation_num_env_runners=0,
            evaluation_duration=100,
            evaluation_duration_unit="episodes",
            evaluation_config={"explore": False},
        )
        .rl_module(
            model_config=DefaultModelConfig(
                fcnet_hiddens=[64, 64], fcnet_activation="tanh", vf_share_layers=False
            )
        )
    )


def main(robot: str = "planar-humanoid", steps: int = 1_300_000, runners: int = 0) -> float:
    """Train, and print how far it has come; returns the score."""
    algorithm = settings(robot, runners, steps).build_algo()
    begin, done = time.perf_counter(), 0
    while done < steps:
        found = algorithm.train()["env_runners"]
        done = int(found["num_env_steps_sampled_lifetime"])
        mean, took = found.get("episode_return_mean", float("nan")), time.perf_counter() - begin
        print(f"{done:>9,} steps, {took:5.0f} s, return {mean:.1f}", flush=True)
    mean = algorithm.evaluate()["env_runners"]["episode_return_mean"]
    score = references(ROBOTS[robot][0]).score(mean)
    print(f"without exploration: return {mean:.1f}, score {score:.3f}")
    print(algorithm.save_to_path())
    algorithm.stop()
    return score


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("robot", choices=ROBOTS, nargs="?", default="planar-humanoid")
    parser.add_argument("--steps", type=int, default=1_300_000)
    parser.add_argument("--runners", type=int, default=0, help="processes that simulate")
    main(**vars(parser.parse_args()))
