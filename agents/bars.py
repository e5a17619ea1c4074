"""How far a command has come: a bar on a terminal, elsewhere a line every ten seconds.

The lines go to standard error: what the command itself prints may go into a file.
"""

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

from dynenvs.agents.console import say, say_seldom

BAR = (
    TextColumn("{task.description}"),
    BarColumn(),
    TaskProgressColumn(),
    TimeRemainingColumn(),
)


@contextmanager
def collecting(episodes: int, console: Console) -> Iterator[Callable[[int, int], None]]:
    """How many of the episodes are there: to be called with these and their steps."""

    def words(done: int, steps: int) -> str:
        return f"{done} of {episodes} episodes, {steps:,} steps"

    if not console.is_terminal:
        say_seldom(f"collecting {episodes} episodes")
        yield lambda done, steps: say_seldom(f"collected {words(done, steps)}")
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("collecting")
        yield lambda done, steps: progress.update(task, description=words(done, steps))


@contextmanager
def cloning(console: Console) -> Iterator[Callable[[int, int, float], None]]:
    """How far cloning is: to be called with its gradient steps, of how many, and its loss."""

    def words(done: int, total: int, loss: float) -> str:
        return "evaluating" if done == total else f"cloning, loss {loss:.4f}"

    def line(done: int, total: int, loss: float) -> None:
        if done == total:
            say("cloned; evaluating the policy in 100 episodes")
        else:
            say_seldom(f"{words(done, total, loss)}, {done:,} of {total:,} gradient steps")

    if not console.is_terminal:
        say_seldom("cloning: first come the examples to learn from")
        yield line
        return
    with Progress(*BAR, console=console, transient=True) as progress:
        task = progress.add_task("cloning", total=None)
        yield lambda done, total, loss: progress.update(
            task, completed=done, total=total, description=words(done, total, loss)
        )


@contextmanager
def training(name: str, console: Console) -> Iterator[Callable[[int, dict[str, Any]], None]]:
    """How far a run is: to be called with its steps and its log.

    The bar stands from the first report on: what is refused shows none.
    """

    def words(steps: int, log: dict[str, Any]) -> str:
        score = f", score {log['curve'][-1]['score']:.3f}" if log["curve"] else ""
        return f"{name}, {steps:,} of {log['settings']['n_timesteps']:,} steps{score}"

    if not console.is_terminal:
        yield lambda steps, log: say_seldom(words(steps, log))
        return
    progress = Progress(*BAR, console=console)
    task = progress.add_task(name, total=None)

    def report(steps: int, log: dict[str, Any]) -> None:
        total = log["settings"]["n_timesteps"]
        progress.update(
            task, completed=min(steps, total), total=total, description=words(steps, log)
        )
        progress.start()

    try:
        yield report
    finally:
        if progress.live.is_started:
            progress.stop()
