"""Bars that show how far a command has come, on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)


@contextmanager
def collecting(episodes: int, console: Console) -> Iterator[Callable[[int, int], None]]:
    """How many of the episodes are there: to be called with these and their steps."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    hidden = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as progress:
        task = progress.add_task("collecting")

        def report(done: int, steps: int) -> None:
            progress.update(task, description=f"{done} of {episodes} episodes, {steps:,} steps")

        yield report


@contextmanager
def cloning(console: Console) -> Iterator[Callable[[int, int, float], None]]:
    """How far cloning is: to be called with its gradient steps, of how many, and its loss."""
    bar = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    hidden = not console.is_terminal
    with Progress(
        *bar, TimeRemainingColumn(), console=console, transient=True, disable=hidden
    ) as progress:
        task = progress.add_task("cloning", total=None)

        def report(done: int, total: int, loss: float) -> None:
            words = "evaluating" if done == total else f"cloning, loss {loss:.4f}"
            progress.update(task, completed=done, total=total, description=words)

        yield report


@contextmanager
def training(name: str, console: Console) -> Iterator[Callable[[int, dict[str, Any]], None]]:
    """How far a run is: to be called with its steps and its log.

    The bar stands from the first report on: what is refused shows none.
    """
    bar = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    progress = Progress(*bar, TimeRemainingColumn(), console=console)
    task = progress.add_task(name, total=None)

    def report(steps: int, log: dict[str, Any]) -> None:
        score = f", score {log['curve'][-1]['score']:.3f}" if log["curve"] else ""
        total = log["settings"]["n_timesteps"]
        progress.update(
            task,
            completed=min(steps, total),
            total=total,
            description=f"{name}, {steps:,} steps{score}",
        )
        progress.start()

    try:
        yield report
    finally:
        if progress.live.is_started:
            progress.stop()
