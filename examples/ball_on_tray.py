"""A task of your own in NumPy, on many worlds at once: keep a ball in the middle of a tilting tray.

`dynenvs.Worlds` steps all worlds in one compiled call; observations, rewards and ends are plain
array expressions.  `BallOnTray` is a vector environment of Gymnasium's; `main` trains PPO of
stable-baselines3 on it, in half a minute on two cores (`pip install "dynenvs[sb3]"`).
"""

import sys
from typing import ClassVar

import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from dynenvs import Model, ModelBuilder, Worlds, free, revolute

HEIGHT, HALF, RADIUS = 0.5, 0.3, 0.04  # of the tray's pivot; of its edges; of the ball [m]
TORQUE, LIMIT = 4.0, 0.4  # [N m], [rad]
PERIOD, TIMESTEP = 0.02, 0.005  # of control and of physics [s]
EPISODE = 250  # control steps


def build() -> Model:
    """A tray on two motors, one within the other, and a ball on it."""
    motor = {"effort": TORQUE, "damping": 0.05, "limits": (-LIMIT, LIMIT)}
    builder = ModelBuilder()
    roll = revolute(axis=(1, 0, 0), position=(0, 0, HEIGHT), **motor)
    builder.body("yoke", joint=roll, mass=0.2, inertia=(2e-3, 2e-3, 2e-3))
    builder.body("tray", parent="yoke", joint=revolute(axis=(0, 1, 0), **motor))
    builder.box("plate", "tray", half_size=(HALF, HALF, 0.01), mass=1.0, friction=0.8)
    builder.body("ball", joint=free())
    builder.sphere("ball", "ball", radius=RADIUS, mass=0.2, friction=0.8)
    return builder.build()


class BallOnTray(VectorEnv):
    """Observed are angles and rates of the tray, place and velocity of the ball: 10 numbers."""

    metadata: ClassVar = {"autoreset_mode": AutoresetMode.SAME_STEP}

    def __init__(self, num_envs: int = 64, threads: int = 2) -> None:
        self.num_envs = num_envs
        self.worlds = Worlds(build(), num_envs, timestep=TIMESTEP, threads=threads)
        self.single_observation_space = Box(-np.inf, np.inf, (10,))
        self.single_action_space = Box(-1.0, 1.0, (2,))
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.steps = np.zeros(num_envs, int)

    def reset(self, *, seed=None, options=None):
        """All worlds begin an episode."""
        super().reset(seed=seed)
        self._begin(np.ones(self.num_envs, bool))
        return self._observe(), {}

    def step(self, actions):
        """One control period; worlds whose episode ends begin the next one at once."""
        self.worlds.step(TORQUE * np.clip(actions, -1, 1), steps=round(PERIOD / TIMESTEP))
        self.steps += 1
        seen = self._observe()
        away = np.hypot(seen[:, 4], seen[:, 5])  # of the ball from the middle [m]
        rewards = np.maximum(0.0, 1.0 - away / HALF)
        terminated = seen[:, 6] < -0.15  # it has fallen off
        truncated = self.steps >= EPISODE
        over, info = terminated | truncated, {}
        if over.any():
            info = {"final_obs": seen, "_final_obs": over}
            self._begin(over)
            seen = self._observe()
        return seen, rewards, terminated, truncated, info

    def _begin(self, who):
        """A level tray at rest, the ball anywhere near its middle, rolling."""
        n = self.num_envs
        q = np.tile(self.worlds.model.neutral(), (n, 1))
        v = np.zeros_like(self.worlds.v)
        q[:, 2:4] = self.np_random.uniform(-0.15, 0.15, (n, 2))
        q[:, 4] = HEIGHT + 0.01 + RADIUS
        v[:, 2:4] = self.np_random.uniform(-0.3, 0.3, (n, 2))
        self.worlds.reset(q, v, mask=who)
        self.steps[who] = 0

    def _observe(self):
        q, v = self.worlds.q, self.worlds.v
        ball = q[:, 2:5] - (0.0, 0.0, HEIGHT)
        return np.hstack([q[:, :2], v[:, :2], ball, v[:, 2:5]]).astype(np.float32)


def main(steps: int = 150_000, seed: int = 0) -> float:
    """Train for so many steps; returns the mean return, at most 250: the ball in the middle."""
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.evaluation import evaluate_policy

    from dynenvs.agents import as_sb3

    torch.set_num_threads(1)
    worlds = as_sb3(BallOnTray())
    worlds.seed(seed)
    model = PPO("MlpPolicy", worlds, n_steps=64, batch_size=1024, gamma=0.98, learning_rate=1e-3,
                policy_kwargs={"log_std_init": -1.0}, device="cpu", seed=seed)  # fmt: skip
    model.learn(steps)
    mean, deviation = evaluate_policy(model, as_sb3(BallOnTray(20)), n_eval_episodes=40)
    print(f"return {mean:.0f} +- {deviation:.0f} of {EPISODE}")
    return float(mean)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
