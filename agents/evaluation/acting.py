"""A policy in a loop: what it remembers, and where episodes begin, are passed on to it.

That is stable-baselines3's protocol of recurrent policies: `predict` gives back a state and wants
it again with the next observations, beside the flags of those with which an episode begins.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynenvs.agents.experts.common.controller import Action, Policy
from dynenvs.memory.layout import Floats


class Acting:
    """Predictions for one environment, or for a vector environment in mode "NextStep".

    Args:
        policy: what acts.
        count: number of worlds; 1 for an environment, too.
    """

    def __init__(self, policy: Policy, count: int = 1) -> None:
        self._policy = policy
        self._state: Any = None
        self._begun = np.ones(count, np.bool_)  # whether an observation is its episode's first
        self._over = np.zeros(count, np.bool_)

    def act(self, observations: Floats, deterministic: bool = True) -> Action:
        """Actions for the observations that the last step gave."""
        actions, self._state = self._policy.predict(
            observations,
            state=self._state,
            episode_start=self._begun.copy(),
            deterministic=deterministic,
        )
        return actions

    def foretell(self, observations: Floats) -> Action:
        """What `act` would give, without going on from there."""
        return self._policy.predict(
            observations,
            state=self._state,
            episode_start=self._begun.copy(),
            deterministic=True,
        )[0]

    def note(self, ended: NDArray[np.bool_] | bool) -> None:
        """After a step: which episodes it has ended; their worlds' next step begins others."""
        self._begun[:] = self._over
        self._over[:] = ended

    def begin(self, chosen: NDArray[np.bool_]) -> None:
        """Worlds of which a reset has begun another episode, between two steps."""
        self._begun[chosen], self._over[chosen] = True, False
