"""Threads that share the worlds of a batch: sleeping Python threads, each with a compiled loop.

A compiled kernel releases the interpreter lock, so ordinary threads run it side by side; `numba`'s
own parallel loops would bring a runtime that dies in forked processes, and compile every step a
second time.  Each thread calls the same kernel, which takes worlds one by one (`progress.py`): a
slow world delays nobody, and who computes a world changes no bit of it.  The caller takes its share
too, and spins for the moment that the others still need: to be woken up costs more than a world.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from dynenvs.compiled import kernel
from dynenvs.layout import Ints
from dynenvs.progress import has_left, leave, new_progress

Work = Callable[[int], Any]

SPINS = 4000  # looks; some 50 us
GRACE = 400  # some 5 us
NAP = 5e-5  # between looks at threads that take longer [s]


@kernel
def _all_left(progress: Ints, threads: int, spins: int) -> bool:
    """Whether all helpers (threads 1, 2, ...) end within so many looks."""
    thread = 1
    for _ in range(spins):
        while thread < threads and has_left(progress, thread):
            thread += 1
        if thread == threads:
            return True
    return False


@kernel
def _linger(bell: Ints, spins: int, grace: int) -> None:
    """Stay awake until `bell` is rung or after so many looks; then let the ringer get ahead.

    The ringer still holds the interpreter lock; a thread that asks for it now would be put to
    sleep.
    """
    looks = 0
    while looks < spins and not has_left(bell, 0):
        looks += 1
    if looks < spins:
        for _ in range(grace):
            has_left(bell, 0)


class _Helper:
    """A thread that sleeps until it is given something to do; it never keeps a process alive.

    It stays awake for a moment after each job: steps often follow closely on one another.
    """

    def __init__(self) -> None:
        self._wake = threading.Lock()
        self._wake.acquire()
        self._job: Callable[[], None] | None = None
        self._bell = new_progress(1)
        threading.Thread(target=self._loop, name="dynenvs helper", daemon=True).start()

    def _loop(self) -> None:
        while True:
            self._wake.acquire()
            job, self._job = self._job, None
            self._bell[:] = 0
            if job is not None:
                job()
            del job  # a sleeping thread keeps no batch in memory
            _linger(self._bell, SPINS, GRACE)

    def start(self, job: Callable[[], None]) -> None:
        """Wake up for `job`, which must not raise; it says itself when it has ended."""
        self._job = job
        leave(self._bell, 0)
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
