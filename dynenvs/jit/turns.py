"""Nothing is compiled by two processes of a machine at a time.

A process that compiles holds a lock, which the system takes back however the process ends, and
gives signs of life.  Where there are no locks to be had, or its holder stands still (Ctrl-Z), a
process goes on by itself: the same is then compiled twice, and nobody waits for ever.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from dynenvs.jit.cache import cache_root, is_writable, mark, say

WORLDS = "worlds"  # what is compiled by one process of a machine, part by part
PATIENCE = 10.0  # with a process that gives no sign of life [s]
BEAT = 1.0  # between signs of life [s]
_LOOK = 0.5  # between looks whether another process has compiled what is needed here [s]

_helps: list[bool] = []  # not empty in a process that helps another one, which holds the lock
_stuck: set[str] = set()  # processes that stand still: they are waited for no more


def help_another() -> None:
    """From now on this process compiles on behalf of one that holds the lock."""
    _helps.append(True)


@contextmanager
def turn_to_compile(what: str, is_done: Callable[[], bool]) -> Iterator[bool]:
    """Wait until no other process compiles this; True if there is still something to do.

    A process that ends, however it ends, gives its turn away; one that stands still is waited for
    no longer.  Within a turn a thread may take another one.

    Args:
        what: a kernel's module and name, or `WORLDS` for all that a robot needs.
        is_done: whether others have meanwhile put on disk all that is needed.
    """
    lock = _lock_of(what)
    if lock is None or not _wait(what, lock, is_done):
        yield not is_done()
        return
    try:
        with _signs_of_life(_signs(what)):
            yield not is_done()
    finally:
        lock.release()


def compiles_elsewhere(what: str) -> bool:
    """Whether another process, or thread, has its turn at present."""
    lock = _lock_of(what)
    taken = None if lock is None else _acquire(lock, 0.0)
    if taken:
        lock.release()
    return taken is False and _who(_read(_signs(what))) not in _stuck


def _wait(what: str, lock: Any, is_done: Callable[[], bool]) -> bool:
    """Whether the lock was taken: not if all is done, nor if it is not worth waiting any longer."""
    last, since = "", time.monotonic()
    while not is_done():
        taken = _acquire(lock)
        if taken is not False:
            return bool(taken)
        sign = _read(_signs(what))
        if _who(sign) in _stuck:
            return False
        if sign != last:
            last, since = sign, time.monotonic()
        elif time.monotonic() - since > PATIENCE:
            _stuck.add(_who(sign))
            say(
                f"{_who(sign)} compiles for {cache_root()} and has stood still for "
                f"{PATIENCE:.0f} s: this one compiles by itself"
            )
    return False


def _who(sign: str) -> str:
    """Which process gave the sign of life."""
    return sign.partition("\n")[0] or "another process"


@contextmanager
def _signs_of_life(file: Path) -> Iterator[None]:
    """Write this process and a new number into the file, again and again until the block ends."""
    process, ended = f"process {os.getpid()} on {socket.gethostname()}", threading.Event()

    def write() -> None:
        for number in count(1):
            if ended.wait(BEAT):
                return
            with suppress(OSError), file.open("r+") as sign:  # which is never empty in between
                sign.write(f"{process}\n{number}")

    with suppress(OSError):  # the first one at once: whoever waits can then say for whom
        file.write_text(f"{process}\n0")

    with suppress(RuntimeError):  # no thread is to be had: others then go on by themselves
        threading.Thread(target=write, name="dynenvs signs of life", daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""


def _acquire(lock: Any, timeout: float = _LOOK) -> bool | None:
    """Whether the lock was taken; None where the file system knows no locks."""
    from filelock import Timeout

    try:
        lock.acquire(timeout=timeout, poll_interval=_LOOK / 2)
    except Timeout:
        return False
    except NotImplementedError as error:
        _go_on_alone(str(error))
        return None
    except OSError as error:
        _go_on_alone(error.strerror or str(error))
        return None
    return True


def _lock_of(what: str) -> Any:
    """The lock of a turn; None where there is nothing to wait for."""
    return None if _helps or not is_writable() else _lock(what)


@cache
def _lock(what: str) -> Any:
    from filelock import FileLock  # 30 ms, and seldom needed

    try:
        mark(_locks())
    except OSError as error:
        _go_on_alone(error.strerror or str(error))
        return None
    return FileLock(_locks() / f"{what}.lock")


def _locks() -> Path:
    return cache_root() / "locks"


def _signs(what: str) -> Path:
    """The file in which the process that has a turn gives signs of life."""
    return _locks() / f"{what}.alive"


@cache
def _go_on_alone(reason: str) -> None:
    say(f"no turns can be taken in {_locks()} ({reason}): this process compiles by itself")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_lock.cache_clear)
