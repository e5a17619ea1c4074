"""Where commands write: the terminal, or a file or pipe."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

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
