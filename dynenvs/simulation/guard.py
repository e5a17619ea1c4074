"""What keeps compiled code within its memory: it trusts the sizes that it was given.

Memory is made once for a model, so many worlds and threads, which therefore stay; and one thread at
a time may work in it, as kernels run beside other Python threads.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import RLock
from typing import Any, Concatenate, ParamSpec, TypeVar

from dynenvs.model.model import Model

P = ParamSpec("P")
R = TypeVar("R")
Owner = TypeVar("Owner", bound="Guarded")


class Guarded:
    """Something that steps a model; `_turn` is whose thread works on it."""

    _model: Model
    _turn: Any

    def _guard(self, other: Guarded | None = None) -> None:
        """Begin with a turn of one's own, or the one of something that works on the same memory."""
        self._turn = RLock() if other is None else other._turn

    @property
    def model(self) -> Model:
        """What is simulated; it stays, but for room that a step makes for contacts."""
        return self._model


class GuardedBatch(Guarded):
    """The same of many worlds."""

    _count: int
    _threads: int

    @property
    def count(self) -> int:
        """How many worlds; it stays."""
        return self._count

    @property
    def threads(self) -> int:
        """How many threads share out the worlds of a call; it stays."""
        return self._threads


def in_use(worlds: Guarded) -> RuntimeError:
    """The error for a second thread."""
    return RuntimeError(
        f"another thread is using this {type(worlds).__name__} in this moment: let each thread "
        "have its own, or take turns with a threading.Lock"
    )


def alone(method: Callable[Concatenate[Owner, P], R]) -> Callable[Concatenate[Owner, P], R]:
    """Let one thread at a time into those methods of an object that are marked so.

    Where every microsecond counts, a method takes its turn itself.

    Raises:
        RuntimeError: another thread is in one of them; nothing has changed.
    """

    @wraps(method)
    def call(self: Owner, /, *args: P.args, **kwargs: P.kwargs) -> R:
        if not self._turn.acquire(False):
            raise in_use(self)
        try:
            return method(self, *args, **kwargs)
        finally:
            self._turn.release()

    return call
