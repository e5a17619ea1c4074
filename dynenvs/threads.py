"""Threads that share the worlds of a batch: sleeping Python threads, each with a compiled loop.

A compiled kernel releases the interpreter lock, so ordinary threads run it side by side; `numba`'s
own parallel loops would bring a runtime that dies in forked processes, and compile every step a
second time.  Each thread calls the same kernel, which takes the next world with `claim` until none
is left: a slow world delays nobody, and who computes a world changes no bit of it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

from numba import types
from numba.core.typing.templates import Signature
from numba.extending import intrinsic, overload
from numba.np.arrayobj import make_array

from dynenvs.layout import Ints

Work = Callable[[int], Any]

_turn = threading.Lock()


def claim(counter: Ints, size: int) -> int:
    """First of the next `size` numbers that nobody has taken yet; `counter` has shape (1,)."""
    with _turn:  # in plain Python; compiled, it is one atomic instruction
        first = int(counter[0])
        counter[0] += size
    return first


@intrinsic
def _fetch_and_add(typing_context: Any, counter: Any, size: Any) -> tuple[Signature, Any]:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = make_array(signature.args[0])(context, builder, args[0])
        return builder.atomic_rmw("add", array.data, args[1], "monotonic")

    return types.int64(counter, types.int64), generate


# Numba compares the signatures of the two functions, annotations included.
@overload(claim, inline="always")
def _claim(counter, size):  # type: ignore[no-untyped-def]
    return lambda counter, size: _fetch_and_add(counter, size)  # type: ignore[call-arg]


class _Helper:
    """A thread that sleeps until it is given something to do; it never keeps a process alive."""

    def __init__(self) -> None:
        self._start, self._done = threading.Lock(), threading.Lock()
        self._start.acquire()
        self._done.acquire()
        self._job: tuple[Work, int] | None = None
        self._error: BaseException | None = None
        threading.Thread(target=self._loop, name="dynenvs helper", daemon=True).start()

    def _loop(self) -> None:
        while True:
            self._start.acquire()
            if self._job is not None:
                work, number = self._job
                try:
                    work(number)
                except BaseException as error:
                    self._error = error
                del work  # a sleeping thread keeps no batch in memory
            self._job = None
            self._done.release()

    def start(self, work: Work, number: int) -> None:
        """Wake up for `work(number)`."""
        self._job = (work, number)
        self._start.release()

    def finish(self) -> BaseException | None:
        """Wait for the end of it; what it raised.  An interrupt waits too: worlds stay whole."""
        interrupt = None
        while True:
            try:
                self._done.acquire()
                break
            except KeyboardInterrupt as pressed:
                interrupt = pressed
        error, self._error = self._error, None
        return error or interrupt


_idle: list[_Helper] = []  # of all batches and Python threads: whoever needs one takes it
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # a forked child has none of its parent's


def share(work: Work, threads: int) -> None:
    """Run `work(0)` on the calling thread and `work(1)`, ... `work(threads - 1)` beside it.

    Returns when all have ended.  Several Python threads may share out work at a time.

    Raises:
        BaseException: the first thing that any of them raised.
    """
    helpers = []
    errors = []
    try:
        for number in range(1, threads):
            helper = _take()
            helpers.append(helper)
            helper.start(work, number)
        work(0)
    finally:
        for helper in helpers:
            errors.append(helper.finish())
            _idle.append(helper)
    for error in errors:
        if error is not None:
            raise error


def _take() -> _Helper:
    try:
        return _idle.pop()
    except IndexError:
        return _Helper()


def available_threads() -> int:
    """How many threads this process may run at once."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
