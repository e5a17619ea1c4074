"""A controller of your own: torques by inverse dynamics that let a humanoid bob up and down.

It speaks stable-baselines3's policy protocol: its `evaluate_policy` takes it (`dynenvs[sb3]`).
"""

from typing import Any

import gymnasium as gym
import numpy as np
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor

import dynenvs  # noqa: F401  registers the environments
from dynenvs import inverse_dynamics

DEPTH, RATE, GAIN = 0.3, 3.0, 8.0  # of the knees' bending [rad], [rad/s]; of errors [1/s]


class Bobbing:
    """Both legs bend and stretch; the joints follow through contact, whatever the load."""

    def __init__(self, env: Any) -> None:
        self.task, self.time = env.unwrapped.task, 0.0

    def predict(self, observation: Any, state: Any = None, episode_start: Any = None, **_: Any):
        """Torques over effort limits; observations come one by one or in a batch of one."""
        model, o = self.task.model, np.ravel(observation)
        if episode_start is None or np.any(episode_start):
            self.time = 0.0
        q = np.concatenate([[0.0], o[: model.nq - 1]])  # x does not matter on flat ground
        v = o[model.nq - 1 : model.nq - 1 + model.nv]
        bend = 0.5 * DEPTH * (1 - np.cos(RATE * self.time))
        turn = 0.5 * DEPTH * RATE * np.sin(RATE * self.time)
        leg = np.array([-0.5, 1.0, -0.5])  # hip, knee, ankle: the sole stays flat
        goal = self.task.standing[2:] + np.tile(bend * leg, 2)
        v_des = np.tile(turn * leg, 2) + GAIN * (goal - q[2:])
        tau = inverse_dynamics(model, q, v, v_des, self.task.dt).tau
        self.time += self.task.dt
        action = np.clip(tau / model.effort_limit[model.actuated], -1, 1).astype(np.float32)
        return action.reshape(np.shape(observation)[:-1] + action.shape), state


def main() -> float:
    """Bob through one episode; returns how far the hip moved [m]."""
    env = Monitor(gym.make("dynenvs/PlanarHumanoid-v0", command=0.3))
    heights: list[float] = []

    def watch(local: dict[str, Any], _: dict[str, Any]) -> None:
        heights.append(float(local["observations"][0][0]))

    controller: Any = Bobbing(env)
    _, lengths = evaluate_policy(controller, env, 1, callback=watch, return_episode_rewards=True)
    moved = max(heights) - min(heights[:500])
    print(f"it stood for {lengths[0]} of 1000 steps, and the hip moved by {100 * moved:.1f} cm")
    return moved if lengths == [1000] else 0.0


if __name__ == "__main__":
    main()
