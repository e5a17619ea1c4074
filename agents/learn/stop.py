"""Ctrl-C while something learns: the work ends where it is whole, and what there is, is kept."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

WORDS = b"\ndynenvs: stopping as soon as the work is whole; Ctrl-C again stops at once\n"


class Stop:
    """Whether somebody has asked for an end."""

    def __init__(self) -> None:
        self.asked = False


@contextmanager
def stop_when_whole() -> Iterator[Stop]:
    """The first Ctrl-C within the block only asks for an end; the second one does what it did.

    The block must look at `asked` wherever its work is whole, and end there.
    """
    stop = Stop()
    before = signal.getsignal(signal.SIGINT)
    ours = threading.current_thread() is threading.main_thread()
    if not ours or not callable(before):  # another's matter, or to be ignored, as under nohup
        yield stop
        return

    def ask(number: int, frame: FrameType | None) -> None:
        if stop.asked:
            before(number, frame)
            return
        stop.asked = True
        os.write(2, WORDS)  # print could meet itself: the signal may come in the midst of one

    signal.signal(signal.SIGINT, ask)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
