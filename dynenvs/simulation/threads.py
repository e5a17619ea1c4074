"""Threads that share the worlds of a batch: sleeping Python threads, each with a compiled loop.

A compiled kernel releases the interpreter lock, so ordinary threads run it side by side; `numba`'s
own parallel loops would bring a runtime that dies in forked processes, and compile every step a
second time.  Each thread calls the same kernel, which takes worlds one by one (`progress.py`): a
slow world delays nobody, and which thread computes a world changes no bit of it.  The caller takes
its share too, and spins for the moment that the others still need: to be woken up costs more than a
world.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from dynenvs.jit.compiled import bind, entry
from dynenvs.memory.layout import Ints
from dynenvs.simulation.progress import SPINS, begin_round, has_left, leave, new_progress

Work = Callable[[int, Ints], Any]

NAP = 5e-5  # between looks at threads that take longer [s]


@entry
def _all_left(progress: Ints, threads: int, spins: int) -> bool:
    """Whether all helpers (threads 1, 2, ...) end within so many looks."""
    thread = 1
    for _ in range(spins):
        while thread < threads and has_left(progress, thread):
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


_own = threading.local()  # each calling thread's progress: its helpers look out for the next round


class Repeated:
    """Work that can be shared out again and again: a kernel, called with the same arguments.

    The calls are bound once, one for each thread: to pack a few dozen words takes longer than to
    step some worlds.

    Args:
        kernel: is given the arguments, the progress, the thread's number, then `last`.
        arguments: and `last`: its own.
    """

    def __init__(self, kernel: Any, arguments: Sequence[Any], last: Sequence[Any] = ()) -> None:
        self._kernel, self._arguments, self._last = kernel, arguments, last
        self._calls: dict[int, tuple[Ints, Callable[[], Any]]] = {}

    def __call__(self, thread: int, progress: Ints) -> None:
        bound = self._calls.get(thread)
        if bound is None or bound[0] is not progress:
            call = bind(self._kernel, *self._arguments, progress, thread, *self._last)
            bound = self._calls[thread] = progress, call
        bound[1]()


def share(work: Work, threads: int) -> None:
    """Run `work(0, progress)` on the calling thread and `work(1, progress)`, ... beside it.

    Returns when all have ended.  Several Python threads may share out work at a time.

    Args:
        work: calls a kernel with its number and `progress`, on which that claims and leaves.
        threads: how many.

    Raises:
        BaseException: what any of them raised, once all have ended.
    """
    if sys.is_finalizing():  # no other thread gets the interpreter any more
        threads = 1
    # One array a calling thread, long enough for all its helpers
    progress = getattr(_own, "progress", None)
    if progress is None or len(progress) < len(new_progress(threads)):
        progress = _own.progress = new_progress(threads)
    begin_round(progress, threads)
    errors: list[BaseException] = []
    # Helpers begin first; the caller takes its share meanwhile
    helpers = [_take() for _ in range(1, threads)]
    for number, helper in enumerate(helpers, 1):
        helper.start(partial(_part, work, number, progress, errors))
    try:
        work(0, progress)
    except BaseException as error:
        errors.append(error)
    while not _wait(progress, threads, errors):
        pass
    _idle.extend(reversed(helpers))  # the next round gives each the number it had
    if errors:
        raise errors[0]


def _wait(progress: Ints, threads: int, errors: list[BaseException]) -> bool:
    """Wait until all helpers have ended; False if a signal's handler raised, which is kept."""
    try:
        while not _all_left(progress, threads, SPINS):
            time.sleep(NAP)
    except BaseException as error:  # Ctrl-C, for example: it waits until all worlds are whole
        errors.append(error)
        return False
    return True


def _part(work: Work, number: int, progress: Ints, errors: list[BaseException]) -> None:
    try:
        work(number, progress)
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
