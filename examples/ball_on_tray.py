"""A vector environment of your own in NumPy: keep a ball in the middle of a tilting tray.

Observed: angles and rates of the tray, the ball's place and velocity.  Run `train_on_tray.py`.
"""

import gymnasium as gym
import numpy as np
from gymnasium.vector.utils import batch_space

from dynenvs import Model, ModelBuilder, Worlds, free, revolute

HALF, RADIUS, TORQUE, EPISODE = 0.3, 0.04, 4.0, 250  # [m], [m], [N m], control steps


def build() -> Model:
    """A tray on two motors, one within the other, and a ball on it."""
    builder, motor = ModelBuilder(), {"effort": TORQUE, "damping": 0.05, "limits": (-0.4, 0.4)}
    roll = revolute(axis=(1, 0, 0), **motor)
    builder.body("yoke", joint=roll, mass=0.2, inertia=(2e-3, 2e-3, 2e-3))
    builder.body("tray", parent="yoke", joint=revolute(axis=(0, 1, 0), **motor))
    builder.box("plate", "tray", half_size=(HALF, HALF, 0.01), mass=1.0, friction=0.8)
    builder.body("ball", joint=free())
    builder.sphere("ball", "ball", radius=RADIUS, mass=0.2, friction=0.8)
    return builder.build()


class BallOnTray(gym.vector.VectorEnv):
    def __init__(self, num_envs: int = 64, threads: int = 2) -> None:
        self.num_envs, self.steps = num_envs, np.zeros(num_envs, int)
        self.metadata = {"autoreset_mode": gym.vector.AutoresetMode.SAME_STEP}
        self.worlds = Worlds(build(), num_envs, timestep=0.005, threads=threads)
        one = gym.spaces.Box(-np.inf, np.inf, (10,)), gym.spaces.Box(-1.0, 1.0, (2,))
        self.single_observation_space, self.single_action_space = one
        self.observation_space, self.action_space = (batch_space(s, num_envs) for s in one)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        who = (options or {}).get("reset_mask", np.ones(self.num_envs, bool))
        q, v = np.tile(self.worlds.model.neutral(), (self.num_envs, 1)), 0.0 * self.worlds.v
        where, speed = self.np_random.uniform(-0.15, 0.15, (2, self.num_envs, 2))
        q[:, 2:4], q[:, 4], v[:, 2:4] = where, 0.01 + RADIUS, 2.0 * speed  # the ball rolls
        self.worlds.reset(q, v, mask=who)
        self.steps[who] = 0
        return self._observe(), {}

    def step(self, actions):
        self.worlds.step(TORQUE * np.clip(actions, -1, 1), steps=4)  # all worlds, for 20 ms
        self.steps += 1
        seen, info = self._observe(), {}
        rewards = np.maximum(0.0, 1.0 - np.hypot(seen[:, 4], seen[:, 5]) / HALF)
        terminated, truncated = seen[:, 6] < -0.15, self.steps >= EPISODE  # the ball has fallen off
        if (over := terminated | truncated).any():  # these worlds begin the next episode at once
            info = {"final_obs": seen, "_final_obs": over}
            seen, _ = self.reset(options={"reset_mask": over})
        return seen, rewards, terminated, truncated, info

    def _observe(self):
        q, v = self.worlds.q, self.worlds.v
        return np.hstack([q[:, :2], v[:, :2], q[:, 2:5], v[:, 2:5]]).astype(np.float32)
