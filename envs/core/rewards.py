"""Bounded reward terms: each lies in [0, 1] before its weight."""

from __future__ import annotations

from typing import Any

from dynenvs.envs.core.loop import TaskWorld
from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Floats
from dynenvs.simd.elementary import exp

# Change of torques from one control step to the next that leaves exp(-1): root mean square, over
# their limits
CHANGE_SCALE = 0.2


@inlined
def closeness(error: float, scale: float) -> float:
    """1 where the error is zero, exp(-1) at one scale, soon nothing beyond: exp(-(e/s)^2)."""
    return exp(-((error / scale) ** 2))


@inlined
def ease(action: Floats) -> float:
    """1 without effort, 0 with every joint at its limit: 1 - mean square of the actions."""
    total = 0.0
    for i in range(action.shape[0]):
        total += action[i] * action[i]
    return 1.0 - total / action.shape[0]


@inlined
def smoothness(action: Floats, before: Floats) -> float:
    """1 where torques stay, exp(-1) where their changes' root mean square is CHANGE_SCALE."""
    total = 0.0
    for i in range(action.shape[0]):
        change = action[i] - before[i]
        total += change * change
    return exp(-total / (action.shape[0] * CHANGE_SCALE * CHANGE_SCALE))


@inlined
def effortless(w: TaskWorld, measured: Any) -> float:
    """The quality of a term (`records.py`): `ease` of the action."""
    return ease(w.action)
