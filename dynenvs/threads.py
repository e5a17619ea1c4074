"""Threads that share the worlds of a batch: sleeping Python threads, each with a compiled loop.

A compiled kernel releases the interpreter lock, so ordinary threads run it side by side; `numba`'s
own parallel loops would bring a runtime that dies in forked processes, and compile every step a
second time.  Each thread calls the same kernel, which takes the next world with `claim` until none
is left and then says so with `leave`: a slow world delays nobody, and who computes a world changes
no bit of it.  The caller takes its share too, and spins for the moment that the others still need:
to be woken up costs more than a world.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numba import types
from numba.core.typing.templates import Signature
from numba.extending import intrinsic, overload
from numba.np.arrayobj import make_array

from dynenvs.compiled import kernel
from dynenvs.layout import Ints

Work = Callable[[int], Any]

LINE = 8  # words of a cache line: each thread's own, so that none waits for another's writes
SPINS = 4000  # some 50 us
NAP = 5e-5  # between looks at threads that take longer [s]

_turn = threading.Lock()


def new_progress(threads: int) -> Ints:
    """Where threads say what they have taken and that they have ended: zero to begin with."""
    return np.zeros(LINE * (threads + 1), np.int64)


def claim(progress: Ints, size: int) -> int:
    """First of the next `size` numbers that no thread has taken yet."""
    with _turn:  # in plain Python; compiled, it is one atomic instruction
        first = int(progress[0])
        progress[0] += size
    return first


def leave(progress: Ints, thread: int) -> None:
    """Say that `thread` has ended; all that it wrote can be seen by who sees this."""
    progress[LINE * (thread + 1)] = 1


def _has_left(progress: Ints, thread: int) -> bool:
    return bool(progress[LINE * (thread + 1)])


def _atomic(operation: str) -> Any:
    @intrinsic
    def change(typing_context: Any, words: Any, at: Any, value: Any) -> tuple[Signature, Any]:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            array = make_array(signature.args[0])(context, builder, args[0])
            place = builder.gep(array.data, [args[1]])
            return builder.atomic_rmw(operation, place, args[2], "acq_rel")

        return types.int64(words, types.int64, types.int64), generate

    return change


_add, _exchange = _atomic("add"), _atomic("xchg")


# Numba compares the signatures of the two functions, annotations included.
@overload(claim, inline="always")
def _claim(progress, size):  # type: ignore[no-untyped-def]
    return lambda progress, size: _add(progress, 0, size)


@overload(leave, inline="always")
def _leave(progress, thread):  # type: ignore[no-untyped-def]
    return lambda progress, thread: _exchange(progress, LINE * (thread + 1), 1)


@overload(_has_left, inline="always")
def _left(progress, thread):  # type: ignore[no-untyped-def]
    return lambda progress, thread: _add(progress, LINE * (thread + 1), 0) != 0


@kernel
def _all_left(progress: Ints, threads: int, spins: int) -> bool:
    """Whether all helpers (threads 1, 2, ...) end within so many looks."""
    thread = 1
    for _ in range(spins):
        while thread < threads and _has_left(progress, thread):
            thread += 1
        if thread == threads:
            return True
    return False


class _Helper:
    """A thread that sleeps until it is given something to do; it never keeps a process alive."""

    def __init__(self) -> None:
        self._wake = threading.Lock()
        self._wake.acquire()
        self._job: Callable[[], None] | None = None
        threading.Thread(target=self._loop, name="dynenvs helper", daemon=True).start()

    def _loop(self) -> None:
        while True:
            self._wake.acquire()
            job, self._job = self._job, None
            if job is not None:
                job()
            del job  # a sleeping thread keeps no batch in memory

    def start(self, job: Callable[[], None]) -> None:
        """Wake up for `job`, which must not raise; it says itself when it has ended."""
        self._job = job
        self._wake.release()


_idle: list[_Helper] = []  # of all batches and Python threads: whoever needs one takes it
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # a forked child has none of its parent's


def share(work: Work, threads: int, progress: Ints) -> None:
    """Run `work(0)` on the calling thread and `work(1)`, ... `work(threads - 1)` beside it.

    Returns when all have ended.  Several Python threads may share out work at a time.

    Args:
        work: calls a kernel that claims numbers and leaves.
        threads: how many.
        progress: what `new_progress` made for at least as many threads.

    Raises:
        BaseException: what any of them raised, once all have ended.
    """
    progress[:] = 0
    errors: list[BaseException] = []
    helpers = [_take() for _ in range(1, threads)]
    for number, helper in enumerate(helpers, 1):
        helper.start(partial(_part, work, number, progress, errors))
    try:
        work(0)
    except BaseException as error:
        errors.append(error)
    while not _all_left(progress, threads, SPINS):
        try:
            time.sleep(NAP)
        except KeyboardInterrupt as interrupt:  # it waits until all worlds are whole
            errors.append(interrupt)
    _idle.extend(helpers)
    if errors:
        raise errors[0]


def _part(work: Work, number: int, progress: Ints, errors: list[BaseException]) -> None:
    try:
        work(number)
    except BaseException as error:
        errors.append(error)
        leave(progress, number)


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
