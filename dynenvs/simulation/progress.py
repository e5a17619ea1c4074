"""How threads that run the same kernel share its work: `claim` until none is left, then `leave`.

Each thread begins with a range of its own, the same one every time, so that its worlds stay in
its core's cache, and then helps the others with theirs.  One array says what is taken and which has
ended; compiled, each access is one atomic instruction (`progress_lowered.py`).
"""

from __future__ import annotations

import threading

import numpy as np

from dynenvs.memory.layout import Ints

SPINS = 100_000  # looks at most; some 50 us
# The array: the number of threads, and for each thread a cache line of its own with
LINE = 8
APART = 4096  # bytes between what two threads write, so that neither slows the other
ENDED, TAKEN = 0, 1  # whether it has ended, and how much of its range is taken

_turn = threading.Lock()


def new_progress(threads: int) -> Ints:
    """An array for up to so many threads; `begin_round` comes before every use."""
    return np.zeros(LINE * (threads + 1), np.int64)


def begin_round(progress: Ints, threads: int) -> None:
    """Nothing is taken, nobody has ended."""
    progress[:] = 0
    progress[0] = threads


def claim(progress: Ints, thread: int, count: int) -> int:
    """A number below `count` that no thread has taken yet, or `count` if there is none.

    A thread that works alone then gives all back, and can begin its next round at once.
    """
    threads = int(progress[0])
    with _turn:
        for k in range(threads):
            owner = (thread + k) % threads
            number = owner * count // threads + int(progress[LINE * (owner + 1) + TAKEN])
            if number < (owner + 1) * count // threads:
                progress[LINE * (owner + 1) + TAKEN] += 1
                return number
        if threads == 1:
            progress[LINE + TAKEN] = 0
    return count


def leave(progress: Ints, thread: int) -> None:
    """Say that `thread` has ended; all that it wrote can be seen by a thread that sees this.

    Compiled, a helper (thread 1, 2, ...) then stays for a moment, until the next round has begun:
    steps often follow closely on one another, and it neither falls asleep nor asks for the
    interpreter lock just when the caller needs it.
    """
    progress[LINE * (thread + 1) + ENDED] = 1


def has_left(progress: Ints, thread: int) -> bool:
    """Whether `thread` has ended."""
    return bool(progress[LINE * (thread + 1) + ENDED])
