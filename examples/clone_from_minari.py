"""Clone a Minari dataset with nothing but torch: collect, load, fit, and see how far it comes.

Some minutes; needs `pip install "dynenvs[data,train]"`.  The command is `dynenvs clone`.

Three things make it work.  Noise on what acts, which `collect` adds by itself: a clone errs and
leaves the teacher's path, and the teacher's own answers (`infos/expert_action`) show the way back.
Inputs of mean 0 and deviation 1.  A learning rate that falls to zero.
"""

import sys

import minari
import numpy as np
import torch

from dynenvs.agents.data.collect import collect
from dynenvs.agents.evaluation.evaluate import evaluate, references
from dynenvs.agents.names import environment_id

NAME = "example-v0"


class Clone(torch.nn.Sequential):
    """Actions from observations; `predict` is stable-baselines3's, which `evaluate` asks."""

    def __init__(self, observations: np.ndarray, actions: int, width: int = 256) -> None:
        layers = [torch.nn.Linear(observations.shape[1], width), torch.nn.ELU()]
        layers += [torch.nn.Linear(width, width), torch.nn.ELU()]
        super().__init__(*layers, torch.nn.Linear(width, actions))
        self.mean, self.scale = observations.mean(axis=0), observations.std(axis=0)

    def scaled(self, observations: np.ndarray) -> torch.Tensor:
        """What the network sees."""
        return torch.as_tensor((observations - self.mean) / self.scale, dtype=torch.float32)

    @torch.no_grad()
    def predict(self, observation: np.ndarray, **_: object) -> tuple[np.ndarray, None]:
        """Actions for one observation or a batch."""
        return self(self.scaled(observation)).clamp(-1, 1).numpy(), None


def main(env: str = "quadruped", episodes: int = 100, steps: int = 6000) -> float:
    """Clone an expert; returns the clone's score: 0 stands still, 1 is the expert."""
    env_id = environment_id(env)
    try:
        dataset = minari.load_dataset(f"dynenvs/{env}/{NAME}")
    except FileNotFoundError:
        dataset = minari.load_dataset(collect(env_id, episodes, name=NAME).name)
    recorded = list(dataset.iterate_episodes())
    observations = np.concatenate([episode.observations[:-1] for episode in recorded])
    answers = np.concatenate([episode.infos["expert_action"][:-1] for episode in recorded])
    actions = torch.as_tensor(answers)

    torch.set_num_threads(1)  # threads would wait for each other longer than so small a net takes
    torch.manual_seed(0)
    clone = Clone(observations, actions.shape[1])
    inputs = clone.scaled(observations)
    optimizer = torch.optim.Adam(clone.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, steps)
    for _ in range(steps):
        chosen = torch.randint(len(inputs), (512,))
        loss = (clone(inputs[chosen]) - actions[chosen]).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()

    score = references(env_id, 20).score(evaluate(env_id, clone, 20).mean_return)
    print(f"loss {loss.item():.3f}; the clone scores {score:.2f}, where 1 is its teacher")
    return score


if __name__ == "__main__":
    main(*sys.argv[1:2], *map(int, sys.argv[2:]))
