"""How threads that run the same kernel share its work: `claim` until none is left, then `leave`.

Each thread begins with a range of its own, the same one every time, so that its worlds stay in
its core's cache, and then helps the others with theirs.  One array says what is taken and who has
ended; compiled, each access is one atomic instruction.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numba import types
from numba.core.typing.templates import Signature
from numba.extending import intrinsic, overload
from numba.np.arrayobj import make_array

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
    """A number below `count` that no thread has taken yet, or `count` if there is none."""
    threads = int(progress[0])
    with _turn:
        for k in range(threads):
            owner = (thread + k) % threads
            number = owner * count // threads + int(progress[LINE * (owner + 1) + TAKEN])
            if number < (owner + 1) * count // threads:
                progress[LINE * (owner + 1) + TAKEN] += 1
                return number
    return count


def leave(progress: Ints, thread: int) -> None:
    """Say that `thread` has ended; all that it wrote can be seen by who sees this.

    Compiled, a helper (thread 1, 2, ...) then stays for a moment, until the next round has begun:
    steps often follow closely on one another, and it neither falls asleep nor asks for the
    interpreter lock just when the caller needs it.
    """
    progress[LINE * (thread + 1) + ENDED] = 1


def has_left(progress: Ints, thread: int) -> bool:
    """Whether `thread` has ended."""
    return bool(progress[LINE * (thread + 1) + ENDED])


def _atomic(operation: str) -> Any:
    @intrinsic
    def change(typing_context: Any, words: Any, at: Any, value: Any) -> tuple[Signature, Any]:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            array = make_array(signature.args[0])(context, builder, args[0])
            place = builder.gep(array.data, [args[1]])
            return builder.atomic_rmw(operation, place, args[2], "acq_rel")

        return types.int64(words, types.int64, types.int64), generate

    return change


@intrinsic
def _read(typing_context: Any, words: Any, at: Any) -> tuple[Signature, Any]:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = make_array(signature.args[0])(context, builder, args[0])
        return builder.load_atomic(builder.gep(array.data, [args[1]]), "acquire", 8)

    return types.int64(words, types.int64), generate


_add, _exchange = _atomic("add"), _atomic("xchg")
_load: Any = _read  # mypy takes an intrinsic for the Python function that makes it


# Numba compares the signatures of the two functions, annotations included.
@overload(claim)
def _claim(progress, thread, count):  # type: ignore[no-untyped-def]
    def claim_compiled(progress, thread, count):  # type: ignore[no-untyped-def]
        threads = progress[0]
        for k in range(threads):
            owner = (thread + k) % threads
            at = LINE * (owner + 1) + TAKEN
            last = (owner + 1) * count // threads
            first = owner * count // threads
            if first + _load(progress, at) < last:
                number = first + _add(progress, at, 1)
                if number < last:
                    return number
        return count

    return claim_compiled


@overload(leave)
def _leave(progress, thread):  # type: ignore[no-untyped-def]
    def leave_and_linger(progress, thread):  # type: ignore[no-untyped-def]
        mine, callers = LINE * (thread + 1) + ENDED, LINE + TAKEN
        _exchange(progress, mine, 1)
        looks = 0
        # A round begins when the caller has wiped the array and, without the lock, claimed
        while (
            thread > 0 and looks < SPINS and (_load(progress, mine) or not _load(progress, callers))
        ):
            looks += 1

    return leave_and_linger


@overload(has_left, jit_options={"forceinline": True})
def _has_left(progress, thread):  # type: ignore[no-untyped-def]
    return lambda progress, thread: _load(progress, LINE * (thread + 1) + ENDED) != 0
