"""Scores of several environments and seeds as one number with its uncertainty.

Agarwal, Schwarzer, Castro, Courville & Bellemare, "Deep reinforcement learning at the edge of the
statistical precipice", NeurIPS 2021: the mean of the middle half of all runs, and a bootstrap that
draws seeds anew within each environment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dynenvs.memory.layout import Floats

RESAMPLES = 5000
SEED = 0  # of the resampling: the same logs give the same page


class Middle(NamedTuple):
    """Interquartile mean of runs' scores."""

    mean: float
    low: float  # 95 % interval; NaN where an environment has a single run
    high: float


def middle(scores: Sequence[Floats]) -> Middle:
    """Interquartile mean of all runs, with its interval.

    Args:
        scores: of one agent, an array of its runs' for each environment.
    """
    everything = np.concatenate(scores)
    mean = float(stats.trim_mean(everything, 0.25))
    if min(map(len, scores)) < 2:
        return Middle(mean, np.nan, np.nan)
    found = stats.bootstrap(
        tuple(scores),
        _interquartile_mean,
        n_resamples=RESAMPLES,
        method="percentile",
        vectorized=True,
        rng=np.random.default_rng(SEED),
    )
    low, high = found.confidence_interval
    return Middle(mean, float(low), float(high))


def _interquartile_mean(*samples: NDArray[Any], axis: int = -1) -> Any:
    """Of samples that are resampled each for itself."""
    return stats.trim_mean(np.concatenate(samples, axis=axis), 0.25, axis=axis)
