"""Ctrl-C for the command line: it stops at once, or as soon as the work is whole again."""

from __future__ import annotations

import _thread
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from dynenvs import compiled

AGAIN = 0.2  # until the next try [s]


@contextmanager
def stopped_by_ctrl_c() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt within the block, but not out of `compiled.apart`'s stubs.

    A stub compiles what a running kernel wants to call.  What is raised there reaches nobody: the
    kernel would go on with a failure for an answer, and the program with what came of that.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are another's matter
        return
    before = signal.signal(signal.SIGINT, _stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _stop(number: int, frame: FrameType | None) -> None:
    while frame is not None:
        code = frame.f_code
        if code.co_name == "first_call" and code.co_filename == compiled.__file__:
            retry = threading.Timer(AGAIN, _thread.interrupt_main)
            retry.daemon = True
            retry.start()
            return
        frame = frame.f_back
    raise KeyboardInterrupt
