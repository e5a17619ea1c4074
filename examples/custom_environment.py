"""A custom environment from the builder: push a box along the floor so that it stops at a mark."""

from typing import Any

import gymnasium as gym
import numpy as np

from dynenvs import Model, ModelBuilder, World, free, prismatic

PERIOD, TIMESTEP, STEPS = 0.05, 0.005, 60  # control period, physics step [s], control steps
FORCE, MARK = 6.0, 0.6  # limit of the pusher [N], place of the mark [m]


def build() -> Model:
    """A pusher on a rail, a box that can slide, tip and turn, a floor."""
    builder = ModelBuilder()
    builder.half_space("floor")
    rail = prismatic("rail", axis=(1, 0, 0), position=(-0.2, 0, 0.05), damping=1.0, effort=FORCE)
    builder.body("pusher", joint=rail, mass=0.5, inertia=(1e-3,) * 3)
    builder.sphere("tip", "pusher", radius=0.04, friction=0.2)
    builder.body("box", joint=free(), mass=0.4, inertia=(7e-4,) * 3)
    builder.box("skin", "box", half_size=(0.05, 0.05, 0.05), friction=0.3)
    return builder.build()


class PushToMark(gym.Env[np.ndarray[Any, Any], np.ndarray[Any, Any]]):
    """Observation: place and speed of pusher and box along x; action: force over limit."""

    def __init__(self) -> None:
        self.world = World(build(), timestep=TIMESTEP)
        self.observation_space = gym.spaces.Box(-10.0, 10.0, (4,), np.float64)
        self.action_space = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.count = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray[Any, Any], dict[str, Any]]:
        """The box lies near x = 0, the pusher stands behind it."""
        super().reset(seed=seed)
        self.world.reset()
        self.world.q[1] = self.np_random.uniform(-0.05, 0.05)
        self.world.q[3] = 0.05
        self.count = 0
        return self._observe(), {}

    def step(
        self, action: np.ndarray[Any, Any]
    ) -> tuple[np.ndarray[Any, Any], float, bool, bool, dict[str, Any]]:
        """Push for a control period; the reward is close to 1 where the box lies at the mark."""
        force = FORCE * np.clip(np.asarray(action, np.float64), -1.0, 1.0)
        self.world.step(force, steps=round(PERIOD / TIMESTEP))
        self.count += 1
        observation = self._observe()
        distance = observation[2] - MARK
        reward = float(np.exp(-((distance / 0.1) ** 2)))
        info = {"distance": float(distance), "contacts": len(self.world.contacts)}
        return observation, reward, False, self.count >= STEPS, info

    def _observe(self) -> np.ndarray[Any, Any]:
        q, v = self.world.q, self.world.v
        return np.clip(np.array([q[0] - 0.2, v[0], q[1], v[1]]), -10.0, 10.0)


def main() -> float:
    """One episode of a controller that pushes, then lets go; returns its last reward."""
    env = PushToMark()
    x, _ = env.reset(seed=0)
    reward, over = 0.0, False
    while not over:
        gliding = x[3] ** 2 / (2 * 0.3 * 9.81)  # how far the box slides on by itself [m]
        action = np.array([0.7 if x[2] + gliding < MARK else -0.2 - x[1]])
        x, reward, _, over, info = env.step(action)
    print(f"the box lies {100 * info['distance']:+.1f} cm from the mark: reward {reward:.2f} of 1")
    return reward


if __name__ == "__main__":
    main()
