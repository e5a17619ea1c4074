"""What an expert carries from one call of `predict` to the next."""

from __future__ import annotations

from typing import Any

import numpy as np

from dynenvs.memory.layout import Floats


def carry_on(state: Any, episode_start: Any, count: int, size: int) -> Floats:
    """The numbers carried for each of `count` observations, shape (count, size); zero at a start.

    Args:
        state: what the last call returned, shape (count, size) or (size,); None at a start.
        episode_start: where an episode begins, shape (count,) or a single flag; None: nowhere.
        count: how many observations there are.
        size: how many numbers belong to each.

    Raises:
        ValueError: a state of another shape, or with entries that are not finite.
    """
    if state is None:
        return np.zeros((count, size))
    try:
        carried = np.array(state, dtype=np.float64)
    except (TypeError, ValueError):
        carried = np.zeros(0)
    if carried.size != count * size or carried.shape[-1] != size:
        raise ValueError(
            f"state must be None or have shape ({count}, {size}), got {np.shape(state)}: pass "
            "on what the last call of predict returned"
        )
    carried = carried.reshape(count, size)
    if not np.isfinite(carried).all():
        raise ValueError("state must be finite: pass on what the last call of predict returned")
    if episode_start is not None:
        carried[np.broadcast_to(np.asarray(episode_start, dtype=bool), count)] = 0.0
    return carried
