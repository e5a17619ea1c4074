"""What experts share: the policy protocol, and compiled prediction over a batch of observations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynenvs.envs.core.base import DynEnv
from dynenvs.envs.core.vector import DynVectorEnv
from dynenvs.jit.compiled import expect, prepare
from dynenvs.memory.layout import Floats, Ints
from dynenvs.model.model import Model
from dynenvs.simulation.progress import begin_round, new_progress
from dynenvs.simulation.threads import available_threads, share

Action = NDArray[np.float32]

LEAST_SHARE = 16  # observations that are worth waking up another thread


class Policy(Protocol):
    """stable-baselines3's policy protocol."""

    def predict(
        self,
        observation: Floats,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[Action, Any]:
        """Action for one observation, or actions for a batch of them, and the unchanged state."""
        ...


class BatchController:
    """Predicts with a kernel that threads call side by side; nothing is remembered between calls.

    Args:
        env: whose observations it will see; a vector environment gives its number of threads.
        act: kernel, called with (packed model, *constants, rows, workspaces, scratch,
            observations, actions, progress, thread).
        constants: what the expert knows.
        scratch: shape of a thread's scratch memory.
        model: what the expert knows of the robot, if not the environment's.
    """

    inverse = True  # whether it asks for inverse dynamics through contact

    def __init__(
        self,
        env: DynEnv | DynVectorEnv,
        act: Callable[..., int],
        constants: tuple[Any, ...],
        scratch: tuple[int, ...],
        model: Model | None = None,
    ) -> None:
        self.model = model or env.task.model
        if isinstance(env, DynVectorEnv):
            self.num_threads = env.num_threads
        else:
            self.num_threads = available_threads()
        self.missed = 0  # predictions whose desired motion the ground could not give
        self._size = len(env.task.observation_space.low)
        self._act, self._constants, self._shape = act, constants, scratch
        self._rows, self._buffers, self._scratch = self._memory(1)
        self._progress = new_progress(1)
        self._prepared = False  # whether all that it calls has been compiled

    def _memory(self, threads: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8], Floats]:
        """A row, a workspace and scratch memory for each thread."""
        rows = self.model.states(threads).view(np.uint8).reshape(threads, -1)
        buffers = np.zeros((threads, self.model.header.workspace_bytes), np.uint8)
        return rows, buffers, np.zeros((threads, *self._shape))

    def expect(self) -> None:
        """Let a helper process that compiles for the worlds go on with what this calls."""
        expect(*self._needs())

    def _needs(self) -> tuple[Any, tuple[str, ...]]:
        """The kernel that Python calls, with arguments, and the groups of kernels that it needs."""
        memory = (self._rows, self._buffers, self._scratch)
        batch = np.zeros((1, self._size)), np.zeros((1, self.model.nu))
        call = (self.model.packed, *self._constants, *memory, *batch, self._progress, 0)
        groups = ("inverse", *self.model.kernel_groups) if self.inverse else ()
        return [(self._act, call)], groups

    def predict(
        self,
        observation: ArrayLike,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[Action, Any]:
        """Actions in [-1, 1] for one observation, shape (obs,), or a batch, shape (n, obs).

        A batch gives the bits that its observations give one by one, whatever the threads.

        Raises:
            ValueError: another shape, or entries that are not finite.
        """
        array = np.array(observation, dtype=np.float64, order="C")
        if array.ndim not in (1, 2) or array.shape[-1] != self._size:
            raise ValueError(
                f"observation must have shape ({self._size},) or (n, {self._size}), "
                f"got {array.shape}"
            )
        if not np.isfinite(array).all():
            raise ValueError("observation must be finite")
        batch = array.reshape(-1, self._size)
        actions = np.zeros((len(batch), self.model.nu))
        self._predict(batch, actions)
        result = actions.astype(np.float32)
        return (result if array.ndim == 2 else result[0]), state

    def _predict(self, batch: Floats, actions: Floats) -> None:
        threads = max(1, min(self.num_threads, len(batch) // LEAST_SHARE))
        if threads > len(self._rows):
            self._rows, self._buffers, self._scratch = self._memory(threads)
        memory = (self._rows, self._buffers, self._scratch)
        arguments = (self.model.packed, *self._constants, *memory, batch, actions)
        missed = np.zeros(threads, np.int64)

        def work(thread: int, progress: Ints) -> None:
            missed[thread] = self._act(*arguments, progress, thread)

        if not self._prepared:
            prepare(f"the expert ({type(self).__name__})", *self._needs())
            self._prepared = True
        if threads == 1:
            begin_round(self._progress, 1)
            work(0, self._progress)
        else:
            share(work, threads)
        self.missed += int(missed.sum())
