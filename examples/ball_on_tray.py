"""A vector environment of your own in NumPy: keep a ball in the middle of a tilting tray.

`dynenvs.Worlds` steps all worlds in one compiled call; observations, rewards and ends are array
expressions.  `python examples/train_on_tray.py` trains PPO on it in half a minute.
"""

import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from dynenvs import Model, ModelBuilder, Worlds, free, revolute

HEIGHT, HALF, RADIUS, TORQUE, EPISODE = 0.5, 0.3, 0.04, 4.0, 250  # [m], [m], [m], [N m], steps


def build() -> Model:
    """A tray on two motors, one within the other, and a ball on it."""
    motor = {"effort": TORQUE, "damping": 0.05, "limits": (-0.4, 0.4)}
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

    def __init__(self, num_envs: int = 64, threads: int = 2) -> None:
        self.num_envs, self.metadata = num_envs, {"autoreset_mode": AutoresetMode.SAME_STEP}
        self.worlds = Worlds(build(), num_envs, timestep=0.005, threads=threads)
        self.single_observation_space = Box(-np.inf, np.inf, (10,))
        self.single_action_space = Box(-1.0, 1.0, (2,))
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.steps = np.zeros(num_envs, int)

    def reset(self, *, seed=None, options=None):
        """All worlds begin an episode."""
        super().reset(seed=seed)
        return self._begin(np.ones(self.num_envs, bool)), {}

    def step(self, actions):
        """One control period of 20 ms; worlds whose episode ends begin the next one at once."""
        self.worlds.step(TORQUE * np.clip(actions, -1, 1), steps=4)
        self.steps += 1
        seen, info = self._observe(), {}
        rewards = np.maximum(0.0, 1.0 - np.hypot(seen[:, 4], seen[:, 5]) / HALF)
        terminated, truncated = seen[:, 6] < -0.15, self.steps >= EPISODE  # the ball has fallen off
        if (over := terminated | truncated).any():
            info = {"final_obs": seen, "_final_obs": over}
            seen = self._begin(over)
        return seen, rewards, terminated, truncated, info

    def _begin(self, who):
        """A level tray at rest, the ball anywhere near its middle, rolling."""
        q, v = np.tile(self.worlds.model.neutral(), (self.num_envs, 1)), 0.0 * self.worlds.v
        q[:, 2:4] = self.np_random.uniform(-0.15, 0.15, (self.num_envs, 2))
        q[:, 4] = HEIGHT + 0.01 + RADIUS
        v[:, 2:4] = self.np_random.uniform(-0.3, 0.3, (self.num_envs, 2))
        self.worlds.reset(q, v, mask=who)
        self.steps[who] = 0
        return self._observe()

    def _observe(self):
        q, v = self.worlds.q, self.worlds.v
        ball = q[:, 2:5] - (0.0, 0.0, HEIGHT)
        return np.hstack([q[:, :2], v[:, :2], ball, v[:, 2:5]]).astype(np.float32)
