"""Where commands write: the terminal, or a file or pipe."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

SELDOM = 10.0  # between lines that say what is being done [s]
_said = [-SELDOM]  # when the last one was written [s]
WIDE = 240  # columns where there is no terminal to fit into; rich's own choice of 80 cuts tables


def open_console() -> Console:
    """A console on standard output, wide enough for every table where that is no terminal.

    The environment variable COLUMNS sets another width.
    """
    from rich.console import Console  # here: what prints no table does without

    console = Console()
    if console.is_terminal or "COLUMNS" in os.environ:
        return console
    return Console(width=WIDE)


@contextmanager
def working(console: Console, words: str) -> Iterator[None]:
    """Say what is being done: on the terminal while it is, else as `say_seldom` does."""
    if console.is_terminal:
        with console.status(words):
            yield
        return
    say_seldom(words)
    yield


def say_seldom(words: str) -> None:
    """Say on standard error what is being done, if nothing was said in the last SELDOM seconds."""
    if time.monotonic() - _said[0] >= SELDOM:
        say(words)


def say(words: str) -> None:
    """Say on standard error what is being done."""
    _said[0] = time.monotonic()
    print(f"dynenvs: {words}", file=sys.stderr, flush=True)
