"""PPO in one file with torch alone, as CleanRL has it: train_with_sb3.py's quadruped trots."""

import sys

import gymnasium as gym
import torch
from gymnasium.wrappers.vector import NormalizeObservation, NormalizeReward
from torch import nn
from torch.distributions import Normal

ENV, WORLDS, STEPS, GAMMA = "dynenvs:dynenvs/PlanarQuadruped-v0", 64, 64, 0.99


def network(inputs: int, outputs: int, gain: float) -> nn.Sequential:
    nn.init.orthogonal_((last := nn.Linear(64, outputs)).weight, gain)
    return nn.Sequential(nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), last)


def main(steps: int = 1_000_000, seed: int = 0) -> float:
    """Train for so many steps; returns the last rollout's mean reward; the expert's is 0.93."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)  # the worlds have threads of their own, and the networks are small
    envs = NormalizeReward(NormalizeObservation(gym.make_vec(ENV, num_envs=WORLDS)), gamma=GAMMA)
    actor, critic = network(34, 12, 0.01), network(34, 1, 1.0)  # observations, actions; value
    optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], eps=1e-5)
    seen, over = torch.Tensor(envs.reset(seed=seed)[0]), torch.zeros(WORLDS, dtype=torch.bool)
    for i in range(rounds := max(1, steps // (WORLDS * STEPS))):
        optimizer.param_groups[0]["lr"] = 1e-3 * (1.0 - i / rounds)
        spread, rows, earned = torch.tensor(-1.0 - i / rounds).exp(), [], 0.0
        for _ in range(STEPS):
            with torch.no_grad():
                action = (policy := Normal(actor(seen), spread)).sample()
                following, reward, terminated, truncated, info = envs.step(action.numpy())
                row = [seen, action, policy.log_prob(action).sum(1), critic(seen)[:, 0], ~over]
                seen, over = torch.Tensor(following), torch.as_tensor(terminated | truncated)
                ahead = critic(seen)[:, 0] * torch.as_tensor(~terminated)
                rows.append([*row, torch.Tensor(reward) + GAMMA * ahead, over])
                earned += sum(v.mean() for k, v in info.items() if k.startswith("reward_"))
        *data, value, live, goal, ends = map(torch.stack, zip(*rows, strict=True))
        error, later = goal - value, torch.zeros(WORLDS)
        for t in reversed(range(STEPS)):  # generalized advantage estimation
            error[t] = later = error[t] + GAMMA * 0.95 * ~ends[t] * later
        # Live: the step after an end only begins the next episode, and teaches nothing
        data = [x[live] for x in (*data, error, error + value)]
        for chosen in (c for _ in range(5) for c in torch.randperm(len(data[0])).split(1024)):
            observation, action, likely, advantage, goal = (x[chosen] for x in data)
            advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
            ratio = (Normal(actor(observation), spread).log_prob(action).sum(1) - likely).exp()
            gain = torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
            loss = 0.5 * (critic(observation)[:, 0] - goal).square().mean() - gain
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return earned / STEPS


if __name__ == "__main__":
    print(f"reward {main(*map(int, sys.argv[1:])):.2f} a step")
