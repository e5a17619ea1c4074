"""A second process that compiles ahead, so that a first step from an empty cache uses two cores.

Numba compiles under one lock: threads would wait for each other.  A helper process fills the cache
on disk instead with what the next steps will call, while this process compiles something else;
where that is needed then, it is loaded, or waited for if the helper is just at it.

It is an interpreter of its own, started anew: nothing of `__main__` runs again, and no thread or
lock is inherited.  Whatever happens to it, this process compiles itself what it does not find.
It ends with this process.  `DYNENVS_COMPILERS=1` does without it.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

LOOK = 0.02  # seconds between looks at what the helper has done
PATIENCE = 120.0  # seconds that one kernel may take it

_CODE = (
    "import sys; sys.path[:] = {path!r}\n"
    "from dynenvs.jit.compiling import compile_for_another; compile_for_another()"
)


class Helper:
    """A process that compiles these kernels, in this order."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = set(names)
        self._process = subprocess.Popen(
            [sys.executable, "-c", _CODE.format(path=sys.path)],
            stdin=subprocess.PIPE,  # its end tells the helper that this process has ended
            stdout=subprocess.PIPE,  # says which kernel it begins
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._tell(list(names))
        self._at, self._since = "", time.monotonic()
        threading.Thread(target=self._listen, name="dynenvs compiler", daemon=True).start()
        atexit.register(self.stop)

    def _tell(self, what: Any) -> None:
        # Written in pieces: a pipe takes so much at once
        assert self._process.stdin is not None
        line = json.dumps(what).encode() + b"\n"
        with suppress(BrokenPipeError):  # it has ended already
            while line:
                line = line[os.write(self._process.stdin.fileno(), line) :]

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._at, self._since = line.strip(), time.monotonic()
        self._process.wait()

    def is_at(self, name: str) -> bool:
        """Whether it compiles this kernel now."""
        return self._at == name and self._process.poll() is None

    def at(self) -> tuple[str, float] | None:
        """The kernel that it compiles now, and for how many seconds; None if there is none."""
        return (self._at, time.monotonic() - self._since) if self.is_at(self._at) else None

    def leave(self, name: str) -> None:
        """This process compiles this kernel itself."""
        self._tell(name)

    def has(self, names: set[str]) -> bool:
        """Whether it still runs, and has all of these among what it compiles."""
        return names <= self._names and self._process.poll() is None

    def wait_for(self, name: str) -> None:
        """Return when it is no longer at this kernel, or patience has ended."""
        end = time.monotonic() + PATIENCE
        while self.is_at(name) and time.monotonic() < end:
            time.sleep(LOOK)

    def stop(self) -> None:
        """End it; what it has written stays."""
        atexit.unregister(self.stop)
        self._process.kill()
        self._process.wait()


def start_helper(names: Sequence[str]) -> Helper | None:
    """A helper for these kernels, by module and name; None where it has no core or interpreter."""
    # Not in a program that has no interpreter, nor on one core
    interpreter = Path(sys.executable or "").name.lower().startswith("py")  # or a program around it
    wanted = os.environ.get("DYNENVS_COMPILERS", "2") != "1"
    if not (names and wanted and interpreter and _cores() > 1) or hasattr(sys, "frozen"):
        return None
    try:
        return Helper(names)
    except OSError:  # no process to be had
        return None


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def names_from_parent() -> tuple[list[str], set[str]]:
    """In the helper: what it is to compile, and what of that its parent has begun by itself.

    The second grows.  The helper leaves as soon as its parent has ended.
    """
    names: list[str] = json.loads(sys.stdin.readline())
    left: set[str] = set()

    def watch() -> None:
        for line in sys.stdin:
            left.add(json.loads(line))
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    return names, left
