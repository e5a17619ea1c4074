"""What an experiment is: something of a source, run anew, set against what the source says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

Tick = Callable[[float], None]  # told the done part of an experiment, 0 to 1
Cell = float | int | str


class Check(NamedTuple):
    """One figure of the paper's beside ours."""

    what: str
    paper: str
    ours: str
    bar: str = ""  # what must hold; empty where nothing is asked
    held: bool | None = None  # whether it does

    @property
    def verdict(self) -> str:
        """How the check came out, in a word."""
        return {True: "yes", False: "NO", None: ""}[self.held]


class Table(NamedTuple):
    """Data behind a figure, or a table of the source."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]


class Outcome(NamedTuple):
    """What came out of an experiment."""

    checks: list[Check]
    data: dict[str, Table]  # by the name of their file
    draw: Callable[[Any], None] | None = None  # fills a matplotlib figure
    size: tuple[float, float] = (7.0, 4.2)  # of the figure [inches]
    shown: Sequence[str] = ()  # tables that the page prints in full
    picture: Any = None  # pixels, shape (height, width, 3), instead of a drawn figure


class Experiment(NamedTuple):
    """Something that the command can remake by name."""

    name: str
    title: str
    about: str  # what was reconstructed, what could not be, and why
    run: Callable[[Tick], Outcome]


def number(value: Cell) -> str:
    """A cell as people read it."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def percent(ours: float, paper: float) -> str:
    """How far ours is from the paper's."""
    return f"{100 * (ours / paper - 1):+.1f} %"
