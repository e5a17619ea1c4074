"""Clone a Minari dataset with torch alone (`pip install "dynenvs[data,train]"`).

What makes it work: noise on what acts, which `collect` adds, while the expert's own answers show
the way back; inputs of mean 0 and deviation 1; a learning rate that falls to zero.
"""

import sys

import minari
import numpy as np
import torch
from torch import nn

from dynenvs.agents.data.collect import collect
from dynenvs.agents.evaluation.evaluate import evaluate, references
from dynenvs.agents.names import environment_id


class Clone(nn.Sequential):
    """Actions from observations; `predict` is stable-baselines3's, which `evaluate` calls."""

    def __init__(self, observations: np.ndarray, actions: int, width: int = 256) -> None:
        first, second = nn.Linear(observations.shape[1], width), nn.Linear(width, width)
        super().__init__(first, nn.ELU(), second, nn.ELU(), nn.Linear(width, actions))
        self.mean, self.scale = observations.mean(axis=0), observations.std(axis=0)

    def scaled(self, observations: np.ndarray) -> torch.Tensor:
        return torch.as_tensor((observations - self.mean) / self.scale, dtype=torch.float32)

    @torch.no_grad()
    def predict(self, observation: np.ndarray, **_: object) -> tuple[np.ndarray, None]:
        return self(self.scaled(observation)).clamp(-1, 1).numpy(), None


def main(env: str = "quadruped", episodes: int = 100, steps: int = 6000) -> float:
    """Clone an expert; returns the clone's score: 0 stands still, 1 is the expert."""
    env_id, name = environment_id(env), f"dynenvs/{env}/example-v0"
    if name not in minari.list_local_datasets():
        collect(env_id, episodes, name="example-v0")
    dataset = minari.load_dataset(name)
    observations = np.concatenate([e.observations[:-1] for e in dataset])
    actions = torch.tensor(np.concatenate([e.infos["expert_action"][:-1] for e in dataset]))

    torch.set_num_threads(1)  # threads would wait for each other longer than so small a net takes
    torch.manual_seed(0)
    inputs = (clone := Clone(observations, actions.shape[1])).scaled(observations)
    optimizer = torch.optim.Adam(clone.parameters())
    for i in range(steps):
        optimizer.param_groups[0]["lr"] = 1e-3 * (1.0 - i / steps)
        chosen = torch.randint(len(inputs), (512,))
        optimizer.zero_grad()
        loss = (clone(inputs[chosen]) - actions[chosen]).abs().mean()
        loss.backward()
        optimizer.step()
    return references(env_id, 20).score(evaluate(env_id, clone, 20).mean_return)


if __name__ == "__main__":
    print("score", main(*sys.argv[1:2], *map(int, sys.argv[2:])))
