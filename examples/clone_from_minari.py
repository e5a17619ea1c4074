"""Clone a Minari dataset with nothing but torch: collect, load, fit, and see how far it comes.

A minute; needs `pip install "dynenvs[data,train]"`.  The command is `dynenvs clone`.
"""

import sys

import minari
import numpy as np
import torch

from dynenvs.agents.data.collect import collect

ENV, NAME = "dynenvs/DoublePendulum-v0", "example-v0"


def main(episodes: int = 20, steps: int = 3000) -> float:
    """Clone the pendulum's expert; returns the clone's return in one episode."""
    try:
        dataset = minari.load_dataset(f"dynenvs/double-pendulum/{NAME}")
    except FileNotFoundError:
        dataset = minari.load_dataset(collect(ENV, episodes, name=NAME, noise=0.1).name)
    recorded = list(dataset.iterate_episodes())
    observations = np.concatenate([episode.observations[:-1] for episode in recorded])
    actions = torch.as_tensor(np.concatenate([episode.actions for episode in recorded]))
    mean, scale = observations.mean(axis=0), observations.std(axis=0)
    inputs = torch.as_tensor((observations - mean) / scale, dtype=torch.float32)

    torch.manual_seed(0)
    layers = (torch.nn.Linear(6, 64), torch.nn.Tanh(), torch.nn.Linear(64, 64), torch.nn.Tanh())
    network = torch.nn.Sequential(*layers, torch.nn.Linear(64, 2))
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
    for _ in range(steps):
        chosen = torch.randint(len(inputs), (256,))
        loss = (network(inputs[chosen]) - actions[chosen]).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    env = dataset.recover_environment()
    observation, _ = env.reset(seed=1000)
    total, over = 0.0, False
    while not over:
        with torch.no_grad():
            scaled = torch.as_tensor((observation - mean) / scale, dtype=torch.float32)
            action = network(scaled).clamp(-1, 1).numpy()
        observation, reward, terminated, truncated, _ = env.step(action)
        total, over = total + float(reward), terminated or truncated
    best = np.mean([episode.rewards.sum() for episode in recorded])
    print(f"loss {loss.item():.3f}; the clone returns {total:.1f}, its teachers {best:.1f}")
    return total


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
