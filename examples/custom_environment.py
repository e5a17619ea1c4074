"""A custom environment from the builder: push a box along the floor so that it stops at a mark."""

import gymnasium as gym
import numpy as np

from dynenvs import Model, ModelBuilder, World, free, prismatic

STEPS, FORCE, MARK = 60, 6.0, 0.6  # of control; limit of the pusher [N], place of the mark [m]


def build() -> Model:
    """A pusher on a rail, a box that can slide, tip and turn, a floor."""
    builder = ModelBuilder()
    builder.half_space("floor")
    rail = prismatic("rail", axis=(1, 0, 0), position=(-0.2, 0, 0.05), damping=1.0, effort=FORCE)
    builder.body("pusher", joint=rail, mass=0.5, inertia=(1e-3,) * 3)
    builder.sphere("tip", "pusher", radius=0.04, friction=0.2)
    builder.body("box", joint=free(), density=400.0)
    builder.box("skin", "box", half_size=(0.05, 0.05, 0.05), friction=0.3)
    return builder.build()


class PushToMark(gym.Env):
    """Observation: place and speed of pusher and box along x; action: force over limit."""

    def __init__(self) -> None:
        self.world, self.count = World(build(), timestep=0.005), 0
        self.observation_space = gym.spaces.Box(-10.0, 10.0, (4,), np.float64)
        self.action_space = gym.spaces.Box(-1.0, 1.0, (1,))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.world.reset()
        self.world.q[1:4:2], self.count = (self.np_random.uniform(-0.05, 0.05), 0.05), 0
        return self._observe(), {}

    def step(self, action):  # for 50 ms; the reward is close to 1 where the box lies at the mark
        self.world.step(FORCE * np.clip(np.float64(action), -1.0, 1.0), steps=10)
        self.count += 1
        reward = float(np.exp(-(((self.world.q[1] - MARK) / 0.1) ** 2)))
        return self._observe(), reward, False, self.count >= STEPS, {}

    def _observe(self):
        (pusher, x), speeds = self.world.q[:2], self.world.v[:2]
        return np.clip(np.array([pusher - 0.2, speeds[0], x, speeds[1]]), -10.0, 10.0)


def main() -> float:
    """One episode of a controller that pushes, then lets go; returns its last reward."""
    (x, _), over = (env := PushToMark()).reset(seed=0), False
    while not over:
        end = x[2] + x[3] ** 2 / (2 * 0.3 * 9.81)  # where the box would slide to by itself [m]
        x, reward, _, over, _ = env.step([0.7 if end < MARK else -0.2 - x[1]])
    print(f"the box lies {100 * (x[2] - MARK):+.1f} cm from the mark: reward {reward:.2f} of 1")
    return reward


if __name__ == "__main__":
    main()
