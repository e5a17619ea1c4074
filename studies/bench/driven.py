"""Environments driven by a trained policy, which is asked beside the time that is measured.

Actions recorded once would soon be those of other states: the same policy is asked in each
simulator what it does in the states that come out there.  Its time is taken off.

`policies.npz` holds linear policies for Gymnasium's MuJoCo tasks: controls G (observation - mean),
within -1 and 1, times the motors' range.  They were found by augmented random search (Mania, Guy
and Recht 2018, version V2-t) in dynenvs' own environments in some minutes each: they run or stand,
far from as well as can be.
"""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FILE = Path(__file__).with_name("policies.npz")
Floats = NDArray[np.float64]


class Driven:
    """Vector environments and the linear policy of their task.

    Args:
        envs: a vector environment of Gymnasium's kind.
        space: the action space of one of them.
        name: of the task, as "Ant-v5".

    Attributes:
        aside: wall-clock and processor time that the policy took so far [s].
        rewards, steps: sum of all rewards, and how many there were.
    """

    def __init__(self, envs: Any, space: Any, name: str) -> None:
        self.envs, self.high = envs, space.high
        self.gain, self.mean = policy(name)
        self.seen: Floats = envs.reset()[0]
        self.aside, self.rewards, self.steps = (0.0, 0.0), 0.0, 0

    def run(self, count: int) -> None:
        """So many steps of all."""
        for _ in range(count):
            used, begin = time.process_time(), time.perf_counter()
            actions = self.act()
            wall, own = time.perf_counter() - begin, time.process_time() - used
            self.aside = self.aside[0] + wall, self.aside[1] + own
            self.seen, rewards = self.envs.step(actions)[:2]
            self.rewards, self.steps = self.rewards + rewards.sum(), self.steps + len(rewards)

    def act(self) -> NDArray[np.float32]:
        """What the policy does in the states that are seen."""
        # Not by BLAS, whose threads go on spinning while the environments are timed
        wanted = np.einsum("ij,kj->ik", self.seen - self.mean, self.gain)
        shares = np.clip(wanted, -1.0, 1.0)
        return np.asarray(shares * self.high, np.float32)

    def spent(self) -> tuple[float, float]:
        """Wall-clock and processor time that is not the environments' [s]."""
        return self.aside


@cache
def policy(name: str) -> tuple[Floats, Floats]:
    """G, shape (nu, size of an observation), and the mean, of a task."""
    with np.load(FILE) as kept:
        return kept[f"{name}/gain"].astype(float), kept[f"{name}/mean"].astype(float)
