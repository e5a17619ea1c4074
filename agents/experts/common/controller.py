"""The skeleton of every expert: the policy protocol, and compiled prediction over a batch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynenvs.agents.experts.common.carried import carry_on
from dynenvs.agents.experts.common.memory import new_memory
from dynenvs.agents.experts.common.sight import see_blocks
from dynenvs.envs.core.base import DynEnv
from dynenvs.envs.core.task import Task
from dynenvs.envs.core.vector import DynVectorEnv
from dynenvs.jit.compiled import expect, prepare
from dynenvs.jit.handles import Handle
from dynenvs.memory.layout import Floats, Ints, Records
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
        """Action for one observation, or actions for a batch of them, and the state to hand on."""
        ...


class Knowledge(NamedTuple):
    """What an expert's kernel is given beside its memory and the batch."""

    model: Model  # of the robot, a copy of which each thread opens
    constants: Records  # one record: body, gait, gains, times; places of blocks follow (`sight.py`)
    table: NDArray[Any]  # what has no fixed length: the leg of each contact feature, say


class BatchController(ABC):
    """Predicts with a kernel that threads call side by side; it remembers nothing by itself.

    A robot's expert derives from this class and says which tasks it knows (`task_type`, `check`),
    what it knows of the robot (`know`), and how it acts: by a kernel that is called as

        act(memory, constants, table, observations, actions, progress, thread) -> missed

    memory: of all threads, uint8, shape (threads, bytes); `open_memory` opens a thread's.
    constants, table: as `know` returns them.
    observations: as the environment gives them, shape (n, obs).
    actions: what it writes, shape (n, nu).
    progress, thread: the kernel claims one observation after another until all are taken.
    missed: how many observations had a desired motion that the ground could not give.

    One that estimates over time says how many numbers it carries from call to call (`carried`).
    They are what `predict` returns as state: each row of observations ends with those of the last
    call, all zero at an episode's start, and each row of actions with those for the next one.

    Args:
        env: whose observations it will see; a vector environment gives its number of threads.

    Attributes:
        constants: one record, shape (1,); changes of it count from the next prediction on.
        missed: predictions whose desired motion the ground could not give.

    Raises:
        ValueError: it does not know the environment's task with these options.
    """

    task_type: ClassVar[type[Task] | tuple[type[Task], ...]]
    act: ClassVar[Callable[..., int]]
    view: ClassVar[type[Handle] | None] = None  # its own arrays (`memory.py`), if it has any
    carried: int = 0  # numbers that it hands on from one call to the next, if any
    inverse: ClassVar[bool] = True  # whether it asks for inverse dynamics through contact

    def __init__(self, env: DynEnv | DynVectorEnv) -> None:
        self.check(env.task)
        if isinstance(env, DynVectorEnv):
            self.num_threads = env.num_threads
        else:
            self.num_threads = available_threads()
        self.missed = 0
        self._size = len(env.task.observation_space.low)
        self.model, self.constants, self.table = self.know(env.task)
        see_blocks(self.constants, env.task)
        self._memory = new_memory(self.model, self.view, 1)
        self._progress = new_progress(1)
        self._prepared = False  # whether all that it calls has been compiled
        self._task = type(env.task).__name__

    def __repr__(self) -> str:
        sizes = f"observation ({self._size},), action ({self.model.nu},)"
        return f"<{type(self).__name__} of {self._task}: {sizes}>"

    @classmethod
    def check(cls, task: Task) -> None:
        """Ask whether it knows a task with these options.

        Raises:
            ValueError: it does not, and why.
        """
        known = cls.task_type if isinstance(cls.task_type, tuple) else (cls.task_type,)
        if not isinstance(task, known):
            names = " or ".join(kind.__name__ for kind in known)
            raise ValueError(f"{cls.__name__} acts in {names}, not in {type(task).__name__}")

    @abstractmethod
    def know(self, task: Any) -> Knowledge:
        """What the kernel is to know of a task, which is one of `task_type`."""

    def expect(self) -> None:
        """Let a helper process that compiles for the worlds go on with what this calls."""
        expect(*self._needs())

    def _needs(self) -> tuple[list[Any], tuple[str, ...]]:
        """The kernel that Python calls, and the groups of kernels that it needs."""
        groups = ("inverse", *self.model.kernel_groups) if self.inverse else ()
        return [self.act], groups

    def predict(
        self,
        observation: ArrayLike,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[Action, Any]:
        """Actions in [-1, 1] for one observation, shape (obs,), or a batch, shape (n, obs).

        A batch gives the bits that its observations give one by one, whatever the threads.  An
        expert that carries nothing returns `state` as it is; another one acts better when its
        state comes back to it, and without it as at an episode's start.  episode_start: where the
        state is to be forgotten, shape (n,).

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
        nu = self.model.nu
        if self.carried:
            batch = np.hstack([batch, carry_on(state, episode_start, len(batch), self.carried)])
        actions = np.zeros((len(batch), nu + self.carried))
        self._predict(batch, actions)
        result = actions[:, :nu].astype(np.float32)
        if self.carried:
            state = actions[:, nu:].copy() if array.ndim == 2 else actions[0, nu:].copy()
        return (result if array.ndim == 2 else result[0]), state

    def _predict(self, batch: Floats, actions: Floats) -> None:
        threads = max(1, min(self.num_threads, len(batch) // LEAST_SHARE))
        if threads > len(self._memory):
            self._memory = new_memory(self.model, self.view, threads)
        arguments = (self._memory, self.constants, self.table, batch, actions)
        missed = np.zeros(threads, np.int64)

        def work(thread: int, progress: Ints) -> None:
            missed[thread] = self.act(*arguments, progress, thread)

        if not self._prepared:
            prepare(f"the expert ({type(self).__name__})", *self._needs())
            self._prepared = True
        if threads == 1:
            begin_round(self._progress, 1)
            work(0, self._progress)
        else:
            share(work, threads)
        self.missed += int(missed.sum())
