"""Rewards as a learner sees them, and the time that the simulator takes to give them."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper

NARROW = 0.5  # of a run, after which rewards are as they are


class Rewards(VecEnvWrapper):
    """Shapes rewards for the learner, and measures the time that the simulator takes.

    Rewards are bells around the command, and lie in [0, 1].  A power below 1 widens the bells: who
    stands still then sees in which way to go.  No score counts it.

    Args:
        venv: whose rewards.
        scale: a factor on them.
    """

    def __init__(self, venv: VecEnv, scale: float) -> None:
        super().__init__(venv)
        self.scale, self.power, self.seconds = scale, 1.0, 0.0

    def reset(self) -> Any:
        """First observations."""
        return self.venv.reset()

    def step_wait(self) -> Any:
        """A step, its rewards shaped."""
        begin = time.perf_counter()
        observations, rewards, dones, infos = self.venv.step_wait()
        self.seconds += time.perf_counter() - begin
        bent = np.copysign(np.abs(rewards) ** np.float32(self.power), rewards)
        shaped = np.float32(self.scale) * bent
        return observations, shaped, dones, infos


def power_at(share: float, first: float) -> float:
    """The rewards' power after a share of the run: rises from `first` to 1, and stays there."""
    return first + (1.0 - first) * min(share / NARROW, 1.0)
