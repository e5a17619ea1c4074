"""Experts that remember: what a kernel knows of each world goes through `predict`'s state.

It is stable-baselines3's protocol of recurrent policies.  A world's memory is a row of numbers
whose first is 1, or 0 where nothing is known yet: rows of zeros are what an expert begins with.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynenvs.agents.experts.common.controller import Action, BatchController
from dynenvs.envs.core.base import DynEnv
from dynenvs.envs.core.vector import DynVectorEnv
from dynenvs.memory.layout import Floats

State = tuple[NDArray[np.float64], ...]


class RecurrentController(BatchController):
    """A `BatchController` whose kernel sees and writes a memory of each world.

    Each row of the kernel's observations ends with what is remembered, each row of its actions with
    what is to be.  Without a state the expert acts on the observation alone.

    Attributes:
        remembered: numbers in a world's memory.
    """

    remembered: int

    def __init__(self, env: DynEnv | DynVectorEnv) -> None:
        super().__init__(env)
        self.remembered = self.count(env.task)

    @abstractmethod
    def count(self, task: Any) -> int:
        """How many numbers are remembered of a world."""

    def _needs(self) -> tuple[Any, tuple[str, ...]]:
        size, width = self._size + self.remembered, self.model.nu + self.remembered
        batch = np.zeros((1, size)), np.zeros((1, width))
        call = (self._memory, self.constants, self.table, *batch, self._progress, 0)
        groups = ("inverse", *self.model.kernel_groups) if self.inverse else ()
        return [(self.act, call)], groups

    def predict(
        self,
        observation: ArrayLike,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[Action, State]:
        """Actions in [-1, 1] for one observation, shape (obs,), or a batch, shape (n, obs).

        Args:
            observation: one or a batch.
            state: what the last call returned, of the same worlds in the same order; None where
                there was none.
            episode_start: whether each world has begun anew, shape (n,): its memory is forgotten.
            deterministic: of no effect.

        Returns:
            Actions, and the state for the next call, one array of shape (n, remembered).

        Raises:
            ValueError: another shape, or entries that are not finite.
        """
        array, batch = self._batch(observation)
        rows = np.zeros((len(batch), self._size + self.remembered))
        rows[:, : self._size] = batch
        rows[:, self._size :] = self._known(state, episode_start, len(batch))
        written = np.zeros((len(batch), self.model.nu + self.remembered))
        self._predict(rows, written)
        result = written[:, : self.model.nu].astype(np.float32)
        memory = written[:, self.model.nu :].copy()
        return (result if array.ndim == 2 else result[0]), (memory,)

    def _known(self, state: Any, episode_start: Any, count: int) -> Floats:
        """What is remembered of each world, zeros where it has begun anew."""
        shape = (count, self.remembered)
        if state is None:
            return np.zeros(shape)
        one = isinstance(state, tuple) and len(state) == 1
        if not one or np.shape(state[0]) != shape or not np.isfinite(state[0]).all():
            raise ValueError(
                f"state must be None or what predict returned for {count} observations, an array "
                f"of shape {shape} in a tuple"
            )
        memory = np.array(state[0], dtype=np.float64)
        if episode_start is not None:
            memory[np.broadcast_to(np.asarray(episode_start, bool), count)] = 0.0
        return memory
