"""RLlib's PPO on a native vector environment of dynenvs: all worlds of a runner in one call.

RLlib pins its own Gymnasium, so it needs a virtual environment of its own, with
`pip install torch "ray[rllib]>=2.55" dynenvs`.  The score is 0 for standing, 1 for the expert.

    python train_with_rllib.py planar-humanoid [STEPS [RUNNERS]]
"""

import sys

import gymnasium as gym
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.connectors.env_to_module import MeanStdFilter
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig

from dynenvs.agents.evaluation.evaluate import references

WORLDS, FRAGMENT = 128, 64  # worlds of a runner, and steps of each between two lessons
NETWORK = DefaultModelConfig(fcnet_hiddens=[64, 64], fcnet_activation="tanh", vf_share_layers=False)
RUNNERS = {
    "num_envs_per_env_runner": WORLDS,
    "rollout_fragment_length": FRAGMENT,
    "gym_env_vectorize_mode": gym.VectorizeMode.VECTOR_ENTRY_POINT,
    "create_env_on_local_worker": True,  # evaluation is there
    # observations less their running mean, over their standard deviation
    "env_to_module_connector": lambda env=None, spaces=None, device=None: MeanStdFilter(),
}
LEARNING = {"minibatch_size": 2048, "num_epochs": 5, "gamma": 0.99, "lambda_": 0.95}
LEARNING |= {"clip_param": 0.2, "entropy_coeff": 0.0, "use_kl_loss": False, "grad_clip": 1.0}
# Returns are some tens: the policy's gradient is to count
LEARNING |= {"vf_clip_param": 1e6, "vf_loss_coeff": 0.001}
JUDGED = {"evaluation_num_env_runners": 0, "evaluation_duration": 100}
JUDGED |= {"evaluation_duration_unit": "episodes", "evaluation_config": {"explore": False}}
# Ids and options: a quadruped learns faster by targets than by torques
ROBOTS: dict[str, tuple[str, dict[str, str]]] = {
    "planar-humanoid": ("dynenvs/PlanarHumanoid-v0", {}),
    "planar-quadruped": ("dynenvs/PlanarQuadruped-v0", {"control": "position"}),
}


def main(robot: str = "planar-humanoid", steps: int = 1_300_000, runners: int = 0) -> float:
    """Train, and print how far it has come; `runners` 0 simulates here; returns the score."""
    env_id, options = ROBOTS[robot]
    settings = PPOConfig().environment(f"dynenvs:{env_id}", env_config=options)
    settings = settings.env_runners(num_env_runners=runners, **RUNNERS).evaluation(**JUDGED)
    batch, rate = WORLDS * FRAGMENT * max(runners, 1), [[0, 1e-3], [steps, 0.0]]
    settings = settings.training(train_batch_size_per_learner=batch, lr=rate, **LEARNING)
    algorithm, done = settings.rl_module(model_config=NETWORK).build_algo(), 0
    while done < steps:
        found = algorithm.train()["env_runners"]
        done = int(found["num_env_steps_sampled_lifetime"])
        print(f"{done:>9,} steps, return {found.get('episode_return_mean', 0.0):.1f}", flush=True)
    mean = algorithm.evaluate()["env_runners"]["episode_return_mean"]
    algorithm.stop()
    return references(env_id).score(mean)


if __name__ == "__main__":
    print("score", main(*sys.argv[1:2], *map(int, sys.argv[2:])))
