"""Noise that makes demonstrations teach: how much of it, and in which episodes.

A clone errs, leaves its teacher's path, and does not know what to do there.  With noise on what
acts, the teacher shows the way back from such errors, and its own answers are what is learned from
(Laskey et al., DART: noise injection for robust imitation learning, CoRL 2017).  DART takes the
noise as large as the clone's error.  Here it is some times as large: the clone errs in the same way
for many steps, which noise drawn anew in each step does not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dynenvs.memory.layout import Floats

# Standard deviation on every joint, share of its limit: of those in docs/lab/learning.md ("How much
# noise"), measured by `dynenvs collect ENV --noise S` and `dynenvs clone ENV --dataset ...`, one at
# which clones score best
STANDARD = {
    "dynenvs/DoublePendulum-v0": 0.1,
    "dynenvs/ChainPendulum-v0": 0.05,
    "dynenvs/PlanarHumanoid-v0": 0.02,
    "dynenvs/PlanarQuadruped-v0": 0.02,
    "dynenvs/Quadruped-v0": 0.02,
    "dynenvs/Humanoid-v0": 0.02,
}
OTHERS = 0.02  # of robots that users bring
EVERY = 10  # an episode whose seed ends with a 9 goes without noise: what the expert does by itself


def standard_noise(env_id: str, agent: str) -> float:
    """What the standard dataset of an agent adds: none but to the expert."""
    return STANDARD.get(env_id, OTHERS) if agent == "expert" else 0.0


def is_plain(seed: int) -> bool:
    """Whether the episode of a seed goes without noise."""
    return seed % EVERY == EVERY - 1


def shares(noise: float, seeds: Sequence[int]) -> Floats:
    """The noise of each episode, shape (seeds,)."""
    return np.array([0.0 if is_plain(seed) else noise for seed in seeds])
