"""Ctrl-C for the command line: it stops at once, or as soon as the work is whole again."""

from __future__ import annotations

import _thread
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from dynenvs import compiled

SOON, LATER = 0.2, 3.0  # until the next try where a stub compiles, and where nobody heard [s]


@contextmanager
def stopped_by_ctrl_c() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt within the block, but not out of `compiled.apart`'s stubs.

    A stub compiles what a running kernel wants to call.  What is raised there reaches nobody: the
    kernel would go on with a failure for an answer, and the program with what came of that.
    Finalizers, too, swallow what is raised in them: it is raised again until the block ends.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are another's matter
        return
    over = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        stub = _in_stub(frame)
        retry = threading.Timer(
            SOON if stub else LATER, lambda: None if over.is_set() else _thread.interrupt_main()
        )
        retry.daemon = True
        retry.start()
        if not stub:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        over.set()
        signal.signal(signal.SIGINT, before)


def _in_stub(frame: FrameType | None) -> bool:
    """Whether a frame, or one that called it, is the function within `compiled.apart`."""
    while frame is not None:
        code = frame.f_code
        if code.co_name == "first_call" and code.co_filename == compiled.__file__:
            return True
        frame = frame.f_back
    return False
