"""Compiling what is about to be called: told, shared by two processes, and once a machine.

It happens in Python, before the kernel runs that needs it: there Ctrl-C stops it at once.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Sequence
from time import monotonic
from typing import Any, NamedTuple

import numba

from dynenvs.jit.ahead import Helper, start_helper
from dynenvs.jit.cache import cache_root, is_trusted, is_writable, say
from dynenvs.jit.estimate import DOUBT, LEAST, Speed, left, rounded, shared
from dynenvs.jit.interrupts import interrupts_kept
from dynenvs.jit.plain import KNOWN, is_known
from dynenvs.jit.turns import WORLDS, compiles_elsewhere, turn_to_compile

TOLD = 3.0  # seconds; what takes less is not worth a word


class Job(NamedTuple):
    """A kernel, and the types of the arguments with which it will be called."""

    kernel: Any
    arguments: tuple[Any, ...]
    seconds: float  # that compiling it takes, about: for people

    @property
    def name(self) -> str:
        """Module and function."""
        return f"{self.kernel.py_func.__module__}.{self.kernel.py_func.__name__}"

    @property
    def is_ready(self) -> bool:
        """Whether a call compiles nothing: it has been compiled, or its machine code is on disk."""
        return bool(self.kernel.is_compiled_for(self.arguments))


_speed = Speed()
_helpers: list[Helper] = []  # that this process has started: the last one may still run
_later: dict[str, Job] = {}  # what a helper goes on with
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_helpers.clear)  # they are the parent's


def compile_jobs(what: str, jobs: Sequence[Job]) -> None:
    """Compile those of `jobs` that are not at hand.

    Another process that compiles for the same cache is waited for, and what it has compiled is
    not compiled again.

    Args:
        what: needs them, as the message on stderr says.
        jobs: in the order in which they should be begun.
    """

    def is_done() -> bool:
        return all(job.is_ready for job in jobs)

    if is_done():
        return
    if compiles_elsewhere(WORLDS) and multiprocessing.parent_process() is None:
        say(f"waiting for another process, which compiles for {cache_root()}")
    with turn_to_compile(WORLDS, is_done) as mine:
        if mine:
            _compile(what, [job for job in jobs if not job.is_ready])


def expect(jobs: Sequence[Job]) -> None:
    """The next helper process goes on with these, when it has done what is needed at once."""
    _later.update((job.name, job) for job in jobs)


def wait_for_helper(name: str) -> None:
    """Return when no helper of this process is at this kernel."""
    for helper in _helpers:
        helper.wait_for(name)


def _helper_is_at(name: str) -> bool:
    return any(helper.is_at(name) for helper in _helpers)


def _compile(what: str, jobs: Sequence[Job]) -> None:
    begin = monotonic()
    _start_helper(jobs)
    seconds = [job.seconds for job in jobs]
    about = _speed.factor * shared(seconds, 2 if _helpers else 1)
    told = about >= TOLD
    if told:
        say(_announcement(what, len(jobs), about))
        if not is_known():
            known = ".".join(str(part) for part in KNOWN)
            say(f"numba {numba.__version__} compiles in its own way, slower than {known} here")
    waiting = list(jobs)
    if not _speed.is_measured:  # the quickest part tells soonest how fast this machine is
        telling = [job for job in jobs if job.seconds >= LEAST] or jobs
        quickest = min(telling, key=lambda job: job.seconds)
        waiting.sort(key=lambda job: job is not quickest)
    while waiting:
        job = next((job for job in waiting if not _helper_is_at(job.name)), waiting[0])
        waiting.remove(job)
        wait_for_helper(job.name)
        if not job.is_ready:
            _compile_here(job)
        waiting = [job for job in waiting if not job.is_ready]  # others are the helper's
        if told and waiting:
            done = f"{len(jobs) - len(waiting)} of {len(jobs)} parts"
            say(f"{done} after {monotonic() - begin:.0f} s, about {_left(waiting)} s left")
    if told:
        say(f"compiled in {monotonic() - begin:.0f} s")


def _compile_here(job: Job) -> None:
    begin = monotonic()
    with interrupts_kept():  # LLVM calls Python back when it has made machine code
        job.kernel.compile(job.arguments)
    _speed.measure(job.seconds, monotonic() - begin)


def _left(waiting: Sequence[Job]) -> str:
    """Seconds until all of them are compiled."""
    at = next((found for helper in _helpers if (found := helper.at())), None)
    return rounded(left({job.name: job.seconds for job in waiting}, _speed.factor, at))


def _start_helper(jobs: Sequence[Job]) -> None:
    """One that meets this process in the middle of `jobs`, and goes on with what comes later."""
    if _helpers and _helpers[0].has({job.name for job in jobs[1:]}):
        return
    while _helpers:
        _helpers.pop().stop()
    if is_writable():
        theirs = [*reversed(jobs[1:]), *(job for job in _later.values() if not job.is_ready)]
        helper = start_helper([(job.name, job.arguments) for job in theirs])
        _helpers.extend([helper] if helper else [])


def _announcement(what: str, count: int, seconds: float) -> str:
    parts = f"{count} parts" if count > 1 else "one part"
    root = cache_root()
    kept = (
        f"kept in {root}"
        if is_writable()
        else f"{root} is not {'writable' if is_trusted() else 'trusted'}, so this will happen at "
        "every start: set DYNENVS_CACHE_DIR to another folder"
    )
    span = rounded(seconds)
    if not _speed.is_measured:
        span = f"{span} to {rounded(DOUBT * seconds)}"
    cores = "two cores" if _helpers and count > 1 else "one core"
    return f"compiling {what}: {parts}, about {span} s on {cores}; {kept}"
