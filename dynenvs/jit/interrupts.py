"""Ctrl-C while compiled code runs that calls Python back.

A kernel calls Python when it needs another kernel that must be compiled first; LLVM calls Python
when it has made machine code.  Python would raise KeyboardInterrupt right there, and no exception
passes through compiled code: Ctrl-C would be lost, and a kernel would go on with whatever stood in
the place of an answer.  Here the interrupt waits until the compiled code has returned, as if
nothing had happened, and is raised as soon as Python runs again.
"""

from __future__ import annotations

import _thread
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

AGAIN = 0.02  # seconds after which an interrupt that was kept back is sent again

_codes: set[CodeType] = set()  # of the functions that compiled code calls
_before: list[Any] = []  # the handler of SIGINT whose place `_keep_back` has taken
_kept_back: list[bool] = []  # not empty while an interrupt waits


def uninterrupted(function: Callable[..., int]) -> Callable[..., int]:
    """`function`, for compiled code to call: Ctrl-C is raised after that code has returned."""

    def call(*values: Any) -> int:
        with interrupts_kept():
            return function(*values)

    is_called_by_compiled_code(call)
    return call


def is_called_by_compiled_code(function: Any) -> None:
    """Note that compiled code calls this function."""
    _codes.add(function.__code__)


@contextmanager
def interrupts_kept() -> Iterator[None]:
    """Lose no Ctrl-C in here: within a function that compiled code calls it waits, else it acts.

    Signals are the main thread's matter in Python; in others nothing needs to be kept back.
    """
    main = threading.current_thread() is threading.main_thread()
    held = main and _hold()
    try:
        yield
    finally:
        if held and not _kept_back:
            _let_go()


def _hold() -> bool:
    """Take the place of SIGINT's handler; False if it is taken, or the handler is not Python's."""
    if _before or signal.getsignal(signal.SIGINT) is None:
        return False
    _before.append(signal.signal(signal.SIGINT, _keep_back))
    return True


def _let_go() -> None:
    if signal.getsignal(signal.SIGINT) is _keep_back:  # else somebody else has set another one
        signal.signal(signal.SIGINT, _before[0])
    _before.clear()


def _keep_back(number: int, frame: FrameType | None) -> None:
    """Send the interrupt again a little later, or to the handler that is meant for it."""
    if _came_from_compiled_code(frame):
        _kept_back[:] = [True]
        again = threading.Timer(AGAIN, interrupt_main_thread)
        again.daemon = True
        again.start()
    else:
        _kept_back.clear()
        _let_go()
        signal.raise_signal(number)


def interrupt_main_thread() -> None:
    """What Ctrl-C does, from any thread: it wakes up a main thread that sleeps, too."""
    main = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main is not None:
        signal.pthread_kill(main, signal.SIGINT)
    else:
        _thread.interrupt_main()


def _came_from_compiled_code(frame: FrameType | None) -> bool:
    """Whether a frame, or one that called it, is that of a function for compiled code."""
    while frame is not None:
        if frame.f_code in _codes:
            return True
        frame = frame.f_back
    return False
