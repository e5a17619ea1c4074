"""Ctrl-C for the command line: finalizers cannot swallow it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

LATER = 3.0  # seconds after which an interrupt that nobody heard is sent again


@contextmanager
def stopped_by_ctrl_c() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt within the block, again and again until the block ends.

    Finalizers and callbacks swallow what is raised in them: once would not be enough.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are another's matter
        return
    over = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        retry = threading.Timer(LATER, _again, [over])
        retry.daemon = True
        retry.start()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        over.set()
        signal.signal(signal.SIGINT, before)


def _again(over: threading.Event) -> None:
    """Send the interrupt once more, unless what it was to end is over."""
    from dynenvs.jit.interrupts import interrupt_main_thread  # here: it brings LLVM

    if not over.is_set():
        interrupt_main_thread()
