"""What an agent did in episodes of fixed seeds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dynenvs.memory.layout import Floats


class Evaluation(NamedTuple):
    """What an agent did in episodes of fixed seeds; one entry an episode."""

    returns: list[float]
    lengths: list[int]  # control steps
    falls: list[bool]  # ended by termination
    speed_errors: list[float]  # mean |velocity - command| [m/s]; NaN where nothing is commanded
    efforts: list[float]  # mean square of the actions
    slips: list[float]  # way that standing feet slid [m] (`slip.py`); NaN where there are no feet
    torque_changes: list[float]  # 99th percentile from step to step, share of the limits

    @property
    def mean_return(self) -> float:
        """Mean of the returns."""
        return float(np.mean(self.returns))


def torque_change(actions: Floats) -> float:
    """99th percentile of the torques' changes from one control step to the next, all joints.

    Args:
        actions: shares of their limits, shape (T, nu): from one limit to the other is 2.
    """
    changes = np.abs(np.diff(actions, axis=0))
    return float(np.percentile(changes, 99)) if changes.size else 0.0
