"""How threads share work, in compiled code: each access is one atomic instruction."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic, overload

from dynenvs.jit.lowering import fields_of
from dynenvs.simulation.progress import ENDED, LINE, SPINS, TAKEN, claim, has_left, leave


def _atomic(operation: str) -> Any:
    @intrinsic
    def change(typing_context: Any, words: Any, at: Any, value: Any) -> tuple[Any, Any]:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            array = fields_of(context, builder, signature.args[0], args[0])
            place = builder.gep(array.data, [args[1]])
            return builder.atomic_rmw(operation, place, args[2], "acq_rel")

        return types.int64(words, types.int64, types.int64), generate

    return change


@intrinsic
def _read(typing_context: Any, words: Any, at: Any) -> tuple[Any, Any]:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = fields_of(context, builder, signature.args[0], args[0])
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
        if threads == 1:
            progress[LINE + TAKEN] = 0
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
