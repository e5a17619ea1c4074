"""PPO in one file, in CleanRL's way: torch, Gymnasium, and sixty-four worlds in one compiled call.

A planar quadruped that trots, in two to three minutes on two cores (`pip install torch`).  Copy it
and change what you like.  Arrays of the worlds become tensors without a copy, by DLPack.

What makes it work is what `train_with_sb3.py` explains: normalized observations and rewards, a
learning rate that falls, and noise on the actions that is wide while a gait is sought and narrow
in the end.
"""

import sys
import time

import gymnasium as gym
import numpy as np
import torch
from torch import nn
from torch.distributions import Normal

import dynenvs  # noqa: F401  registers the environments
from dynenvs.agents.evaluation.evaluate import references

ENV = "dynenvs/PlanarQuadruped-v0"
WORLDS, STEPS, BATCH, EPOCHS = 64, 64, 1024, 5  # of a rollout, and what is learned from it
RATE, CLIP, GAMMA, LAMBDA, MOST_GRADIENT = 1e-3, 0.2, 0.99, 0.95, 1.0
WIDE, NARROW = -1.0, -2.0  # logarithm of the noise on the actions, first and last


class Scale:
    """Running mean and deviation of all rows seen so far."""

    def __init__(self, size: int) -> None:
        self.count, self.mean, self.square = 1e-4, torch.zeros(size), torch.ones(size)

    def update(self, rows: torch.Tensor) -> None:
        self.count += len(rows)
        part = len(rows) / self.count
        self.mean += part * (rows.mean(0) - self.mean)
        self.square += part * ((rows - self.mean).square().mean(0) - self.square)

    def __call__(self, rows: torch.Tensor) -> torch.Tensor:
        return ((rows - self.mean) / (self.square + 1e-8).sqrt()).clamp(-10, 10)


class Agent(nn.Module):
    """Two small networks: what to do, and what is to be had from here."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()

        def network(size: int, gain: float) -> nn.Sequential:
            last = nn.Linear(64, size)
            nn.init.orthogonal_(last.weight, gain)
            return nn.Sequential(
                nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), last
            )

        self.actor, self.critic = network(outputs, 0.01), network(1, 1.0)
        self.log_std = WIDE

    def policy(self, observations: torch.Tensor) -> Normal:
        return Normal(self.actor(observations), np.exp(self.log_std), validate_args=False)

    def value(self, observations: torch.Tensor) -> torch.Tensor:
        return self.critic(observations)[:, 0]


def tensor(array: np.ndarray) -> torch.Tensor:
    """The array's own memory as a tensor: nothing is copied."""
    return torch.from_dlpack(array)


def rollout(envs, agent, scale, reward_scale, state):
    """STEPS steps of all worlds; returns observations, actions, log-probabilities, goals."""
    seen, gained = state
    rows = []
    with torch.no_grad():
        for _ in range(STEPS):
            scale.update(seen)
            observation = scale(seen)
            policy = agent.policy(observation)
            action = policy.sample()
            following, reward, terminated, truncated, info = envs.step(action.numpy())
            over = tensor(terminated | truncated)
            reward = tensor(reward).float()
            gained = GAMMA * gained + reward
            reward_scale.update(gained[:, None])
            gained = gained * ~over
            seen = tensor(following).float()
            ahead = agent.value(scale(seen))
            if over.any():  # the next episode has begun: what followed the last one is in info
                last = np.stack(
                    [o if o is not None else seen[0].numpy() for o in info["final_obs"]]
                )
                ends = agent.value(scale(torch.as_tensor(last, dtype=torch.float32)))
                ahead = torch.where(over, ends, ahead) * ~tensor(terminated)
            reward = reward / reward_scale.square.sqrt()
            likely = policy.log_prob(action).sum(1)
            rows.append(
                (observation, action, likely, agent.value(observation), reward, ahead, over)
            )
    *first, value, reward, ahead, over = map(torch.stack, zip(*rows, strict=True))
    advantage, later = torch.zeros_like(reward), torch.zeros(WORLDS)
    for t in reversed(range(STEPS)):  # generalized advantage estimation
        later = reward[t] + GAMMA * ahead[t] - value[t] + GAMMA * LAMBDA * ~over[t] * later
        advantage[t] = later
    data = [x.flatten(0, 1) for x in (*first, advantage, advantage + value)]
    return data, (seen, gained)


def learn(agent, optimizer, data) -> None:
    """EPOCHS passes over a rollout."""
    for _ in range(EPOCHS):
        for chosen in torch.randperm(len(data[0])).split(BATCH):
            observation, action, likely, advantage, goal = (x[chosen] for x in data)
            advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
            ratio = (agent.policy(observation).log_prob(action).sum(1) - likely).exp()
            gain = torch.min(ratio * advantage, ratio.clamp(1 - CLIP, 1 + CLIP) * advantage).mean()
            loss = 0.5 * (agent.value(observation) - goal).square().mean() - gain
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), MOST_GRADIENT)
            optimizer.step()


def judge(agent, scale, worlds: int = 20) -> float:
    """Mean return of an episode a world, without noise."""
    envs = gym.make_vec(ENV, num_envs=worlds)
    seen, _ = envs.reset(seed=1_000_000)
    running, total = np.ones(worlds, bool), 0.0
    while running.any():
        with torch.no_grad():
            action = agent.actor(scale(tensor(seen).float())).numpy()
        seen, reward, terminated, truncated, _ = envs.step(action)
        total += reward[running].sum()
        running &= ~(terminated | truncated)
    return total / worlds


def main(steps: int = 1_000_000, seed: int = 0) -> float:
    """Train for so many steps; returns the score of 20 episodes: 0 stands, 1 is the expert."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)  # the worlds have threads of their own, and the networks are small
    envs = gym.make_vec(ENV, num_envs=WORLDS, autoreset_mode="SameStep")
    agent = Agent(envs.single_observation_space.shape[0], envs.single_action_space.shape[0])
    optimizer = torch.optim.Adam(agent.parameters(), eps=1e-5)
    scale, reward_scale = Scale(envs.single_observation_space.shape[0]), Scale(1)
    state = tensor(envs.reset(seed=seed)[0]).float(), torch.zeros(WORLDS)
    rounds, begin = max(1, steps // (WORLDS * STEPS)), time.perf_counter()
    for i in range(rounds):
        left = 1.0 - i / rounds
        optimizer.param_groups[0]["lr"] = RATE * left
        agent.log_std = NARROW + (WIDE - NARROW) * left
        data, state = rollout(envs, agent, scale, reward_scale, state)
        learn(agent, optimizer, data)
    pace = rounds * WORLDS * STEPS / (time.perf_counter() - begin)
    score = references(ENV, 20).score(judge(agent, scale))
    print(f"{pace:,.0f} steps a second; it scores {score:.2f}, where 1 is the expert")
    return score


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
