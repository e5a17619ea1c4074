"""How many control steps an episode has: the option `max_episode_steps`."""

from __future__ import annotations

import numbers
from typing import Any

from dynenvs.envs.checks import whole

MOST_STEPS = 10**9  # control steps in an episode
NO_LIMIT = -1  # as `gym.make` spells it
NEVER = 2**63 - 1  # the number of control steps that no episode reaches


def episode_limit(steps: Any, registered: int) -> int:
    """The option `max_episode_steps`: a number of control steps, or NO_LIMIT.

    Args:
        steps: as the user gave it; None is `registered`.
        registered: what the environment is registered with.

    Raises:
        ValueError: neither a whole number from 1 on, nor None, nor -1.
    """
    if steps is None:
        return registered
    if isinstance(steps, numbers.Real) and steps == NO_LIMIT:
        return NO_LIMIT
    try:
        return whole(steps, "max_episode_steps", 1, MOST_STEPS)
    except ValueError as error:
        raise ValueError(f"{error}; {NO_LIMIT} sets no limit") from None


def steps_until(limit: int | None) -> int:
    """The number of control steps that ends an episode."""
    return NEVER if limit is None or limit == NO_LIMIT else limit
