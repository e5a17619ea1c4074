"""How threads that run the same kernel share its work: `claim` until none is left, then `leave`.

One array says what is taken and who has ended.  Compiled, each access is one atomic instruction.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numba import types
from numba.core.typing.templates import Signature
from numba.extending import intrinsic, overload
from numba.np.arrayobj import make_array

from dynenvs.layout import Ints

LINE = 8  # words of a cache line: each thread's own, so that none waits for another's writes

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


def has_left(progress: Ints, thread: int) -> bool:
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


@overload(has_left, inline="always")
def _left(progress, thread):  # type: ignore[no-untyped-def]
    return lambda progress, thread: _add(progress, LINE * (thread + 1), 0) != 0
