"""Policies carried over between soft and hard contact: `python -m studies.transfer runs`.

Trains stable-baselines3's PPO in Gymnasium's robots and in the same ones here, with the same
settings, and lets each policy run, unchanged, in both.  Finished trainings are kept in the folder:
called again, it goes on.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from dynenvs.files import written_whole

ROBOTS = ("HalfCheetah", "Hopper", "Walker2d", "Ant")
PLACES = {"MuJoCo": "{}-v5", "dynenvs": "dynenvs/Mujoco{}-v5"}  # where a policy learns and runs
SEEDS = (0, 1, 2)
WORLDS = 8
EPISODES = 10  # of an evaluation
# Those of CleanRL's and the RL Zoo's MuJoCo baselines, for eight worlds
SETTINGS: dict[str, Any] = {"n_steps": 512, "batch_size": 256, "n_epochs": 10, "gae_lambda": 0.95}


def trained(folder: Path, robot: str, place: str, seed: int, steps: int) -> tuple[Path, Path]:
    """Files of a policy and of the scaling of its observations; trained if they are not there."""
    name = f"{robot}-{place}-{seed}-{steps}"
    policy, scaling = folder / f"{name}.zip", folder / f"{name}.pkl"
    if not (policy.exists() and scaling.exists()):
        envs = VecNormalize(_worlds(robot, place, WORLDS))
        agent = PPO("MlpPolicy", envs, seed=seed, device="cpu", **SETTINGS)
        agent.learn(steps)
        folder.mkdir(parents=True, exist_ok=True)
        with written_whole(scaling) as draft:
            envs.save(str(draft))
        with written_whole(policy) as draft:
            agent.save(draft)
    return policy, scaling


def returns(files: tuple[Path, Path], robot: str, place: str) -> list[float]:
    """Returns of a policy's episodes, its mean action taken, in MuJoCo or here."""
    policy, scaling = files
    envs = VecNormalize.load(str(scaling), _worlds(robot, place, EPISODES))
    envs.training = envs.norm_reward = False
    agent = PPO.load(policy, device="cpu")
    envs.seed(1000)
    observations: Any = envs.reset()
    total, live = np.zeros(EPISODES), np.ones(EPISODES, np.bool_)
    while live.any():
        actions, _ = agent.predict(observations, deterministic=True)
        observations, rewards, ended, _ = envs.step(actions)
        total[live] += rewards[live]
        live &= ~ended
    return total.tolist()


def table(results: dict[str, list[float]], steps: int) -> str:
    """Mean return of each robot's policies, by where they learned and where they run."""
    text = "| robot | learned in | run in MuJoCo | run in dynenvs |\n| --- | --- | ---: | ---: |\n"
    for robot, learned in itertools.product(ROBOTS, PLACES):
        cells = []
        for run in PLACES:
            each = [results.get(_key(robot, learned, run, seed, steps)) for seed in SEEDS]
            means = [np.mean(one) for one in each if one]
            cells.append(_cell(means))
        text += f"| {robot} | {learned} | {' | '.join(cells)} |\n"
    return text


def _cell(means: Sequence[Any]) -> str:
    """The seeds' mean, least and most."""
    if not means:
        return "-"
    return f"{np.mean(means):.0f} ({min(means):.0f} to {max(means):.0f})"


def _key(robot: str, learned: str, run: str, seed: int, steps: int) -> str:
    return f"{robot}, {learned} to {run}, {steps} steps, seed {seed}"


def _worlds(robot: str, place: str, count: int) -> DummyVecEnv:
    return DummyVecEnv([lambda: gym.make(PLACES[place].format(robot))] * count)


def _kept(file: Path) -> dict[str, list[float]]:
    return json.loads(file.read_text()) if file.exists() else {}


def main() -> None:
    """Train what is missing, evaluate it both ways, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="for policies and results")
    parser.add_argument("--steps", type=int, default=1_000_000, help="of each training")
    parser.add_argument("--robots", nargs="+", default=ROBOTS, choices=ROBOTS)
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    file = options.folder / "returns.json"
    for seed, robot, learned in itertools.product(options.seeds, options.robots, PLACES):
        files = trained(options.folder, robot, learned, seed, options.steps)
        for run in PLACES:
            key = _key(robot, learned, run, seed, options.steps)
            results = _kept(file)
            if key not in results:
                results[key] = returns(files, robot, run)
                with written_whole(file) as draft:
                    draft.write_text(json.dumps(results, indent=1))
            print(f"{key}: {np.mean(results[key]):.0f}", flush=True)
    print(table(_kept(file), options.steps))


if __name__ == "__main__":
    main()
