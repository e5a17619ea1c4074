"""Compiling what is about to be called: announced, shared by two processes, and once a machine.

It happens in Python, before the kernel runs that needs it: there Ctrl-C stops it at once.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from time import monotonic
from typing import Any

import numba

from dynenvs.jit.ahead import Helper, names_from_parent, start_helper
from dynenvs.jit.cache import cache_root, is_trusted, is_writable, say
from dynenvs.jit.compiled import SELDOM, units
from dynenvs.jit.estimate import DOUBT, LEAST, Speed, left, rounded, shared
from dynenvs.jit.interrupts import interrupts_kept
from dynenvs.jit.plain import is_known
from dynenvs.jit.private import KNOWN
from dynenvs.jit.turns import WORLDS, compiles_elsewhere, help_another, turn_to_compile

ANNOUNCED = 3.0  # seconds; what takes less is not worth a word

Units = Sequence[Any]  # kernels with machine code of their own (`compiled.Unit`)

_speed = Speed()
_helpers: list[Helper] = []  # that this process has started: the last one may still run
_later: dict[str, Any] = {}  # what a helper goes on with
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_helpers.clear)  # they are the parent's


def compile_units(what: str, units: Units) -> None:
    """Compile those of `units` that are not at hand.

    Another process that compiles for the same cache is waited for, and what it has compiled is
    not compiled again.

    Args:
        what: needs them, as the message on stderr says.
        units: in the order in which they should be begun.
    """

    def is_done() -> bool:
        return all(unit.is_ready for unit in units)

    if is_done():
        return
    if compiles_elsewhere(WORLDS) and multiprocessing.parent_process() is None:
        say(f"waiting for another process, which compiles for {cache_root()}")
    with turn_to_compile(WORLDS, is_done) as mine:
        if mine:
            _compile(what, [unit for unit in units if not unit.is_ready])


def expect(units: Units) -> None:
    """The next helper process goes on with these, when it has done what is needed at once."""
    _later.update((unit.name, unit) for unit in units)


def wait_for_helper(name: str) -> None:
    """Return when no helper of this process is at this kernel."""
    for helper in _helpers:
        helper.wait_for(name)


def _helper_is_at(name: str) -> bool:
    return any(helper.is_at(name) for helper in _helpers)


def _compile(what: str, units: Units) -> None:
    begin = monotonic()
    _start_helper(units)
    seconds = [unit.seconds for unit in units]
    about = _speed.factor * shared(seconds, 2 if _helpers else 1)
    is_announced = about >= ANNOUNCED
    if is_announced:
        say(_announcement(what, len(units), about))
        if not is_known():
            known = ".".join(str(part) for part in KNOWN)
            say(f"numba {numba.__version__} compiles in its own way, slower than {known} here")
    waiting = list(units)
    if not _speed.is_measured:  # the quickest part tells soonest how fast this machine is
        telling = [unit for unit in units if unit.seconds >= LEAST] or units
        quickest = min(telling, key=lambda unit: unit.seconds)
        waiting.sort(key=lambda unit: unit is not quickest)
    while waiting:
        # Something that comes later, rather than wait for the helper
        later = [unit for unit in _later.values() if unit.group != SELDOM]
        unit = next((unit for unit in (*waiting, *later) if _is_free(unit)), waiting[0])
        wait_for_helper(unit.name)
        if not unit.is_ready:
            _compile_here(unit)
        # Others that are ready are the helper's
        waiting = [left for left in waiting if left is not unit and not left.is_ready]
        if is_announced and waiting:
            done = f"{len(units) - len(waiting)} of {len(units)} parts"
            say(f"{done} after {monotonic() - begin:.0f} s, about {_left(waiting)} s left")
    if is_announced:
        say(f"compiled in {monotonic() - begin:.0f} s")


def _is_free(unit: Any) -> bool:
    return not (_helper_is_at(unit.name) or unit.is_ready)


def _compile_here(unit: Any) -> None:
    begin = monotonic()
    for helper in _helpers:
        helper.leave(unit.name)
    with interrupts_kept(), _no_garbage_sought():  # LLVM calls Python back when it is done
        unit.compile()
    _speed.measure(unit.seconds, monotonic() - begin)


@contextmanager
def _no_garbage_sought() -> Iterator[None]:
    """Look for garbage once, at the end: numba makes millions of small objects, and keeps most."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.collect()


def _left(waiting: Units) -> str:
    """Seconds until all of them are compiled."""
    at = next((found for helper in _helpers if (found := helper.at())), None)
    return rounded(left({unit.name: unit.seconds for unit in waiting}, _speed.factor, at))


def _start_helper(units: Units) -> None:
    """One that meets this process in the middle of `units`, and goes on with what comes later."""
    if _helpers and _helpers[0].has({unit.name for unit in units[1:]}):
        return
    while _helpers:
        _helpers.pop().stop()
    if is_writable():
        theirs = [*reversed(units[1:]), *(unit for unit in _later.values() if not unit.is_ready)]
        helper = start_helper([unit.name for unit in theirs])
        _helpers.extend([helper] if helper else [])


def _announcement(what: str, count: int, seconds: float) -> str:
    parts = f"{count} parts" if count > 1 else "one part"
    root = cache_root()
    span = rounded(seconds)
    kept = ""
    if not _speed.is_measured:  # the first announcement of this process
        span = f"{span} to {rounded(DOUBT * seconds)}"
        kept = f"; kept in {root}"
    if not is_writable():
        kept = (
            f"; {root} is not {'writable' if is_trusted() else 'trusted'}, so this will happen at "
            "every start: set DYNENVS_CACHE_DIR to another folder"
        )
    cores = "two cores" if _helpers and count > 1 else "one core"
    return f"compiling {what}: {parts}, about {span} s on {cores}{kept}"


def compile_now(unit: Any) -> None:
    """Compile one that is needed at once, or load it."""
    wait_for_helper(unit.name)
    compile_units(f"{unit.py_func.__name__}, needed now", [unit])
    unit.compile()


def compile_for_another() -> None:
    """What a helper process does: say which kernel it begins, and compile it into the cache."""
    names, left = names_from_parent()
    help_another()
    for name in names:
        import_module(name.rpartition(".")[0])
        unit = units[name]
        if name not in left and not unit.is_ready:
            print(name, flush=True)
            with _no_garbage_sought():
                unit.compile()
