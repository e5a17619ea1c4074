"""What was found, as tables for eyes, Markdown for the documentation and JSON for machines."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from dynenvs.files import written_whole
from studies.bench.headlines import screen, threads
from studies.bench.race import UNITS, Result, Row, Settings
from studies.listed import fits, print_listed

HIDDEN = ("marks", "by", "solver", "worlds", "threads", "links")  # facts that the name tells too

TITLE = "# Lab notes: speed\n\nThe short guide: [benchmarks](../benchmarks.md).\n"
INTRODUCTION = """\
## How it is measured

Written by `python -m studies bench --markdown`; run it to see what your machine says. Each table is
one race: its systems take turns of about {seconds:g} s, {repeats} times, forwards and backwards, in
one process. A figure is the median of a system's turns; the spread is the distance between their
quartiles over the median. A ratio above 1 is faster than the table's first row, or than the row
that the text names: the median of ratios of turns taken side by side. Speeds are of one thread
unless a row names more.
"""

HONESTY = """\
How to read them:

- Ratios travel between machines better than speeds do. A spread above 10 % says that something
  else was running; the ratio suffers less from it than the figure.
- "Cores" is processor time over wall-clock time: below 1 on one thread, others had the core for
  the rest, and the speed is too low by about as much.
- What each system computes differs: integrators, contact models and robots stand beside the
  figures. MuJoCo's contact is soft; dynenvs' is hard, and each step's solution carries a
  certificate, which is part of its time.
- Compiling and loading are not part of any figure.
"""


def columns(result: Result) -> list[str]:
    """Heads of a result's table."""
    facts = dict.fromkeys(k for row in result.rows for k in row.facts if k not in HIDDEN)
    each = f"{result.unit} a {result.operation}" if result.unit else f"{result.operation}s/s"
    timed = any(row.period for row in result.rows)
    simulated = ["simulated s/s"] if timed else []
    ratio = ["ratio"] if compared(result) else []
    return ["system", *facts, each, "spread", "cores", *simulated, *ratio]


def compared(result: Result) -> bool:
    """Whether a row was compared with another one."""
    return any(ratio != 1.0 for row in result.rows for ratio in row.ratios)


def cells(result: Result, row: Row) -> list[str]:
    """A row of a result's table."""
    facts = dict.fromkeys(k for r in result.rows for k in r.facts if k not in HIDDEN)
    figure = UNITS[result.unit] / row.median if result.unit else row.median
    words = [row.name, *(str(row.facts.get(k, "")) for k in facts), digits(figure)]
    words += [f"{100 * row.spread:.0f} %", f"{statistics.median(row.cores):.2f}"]
    if any(r.period for r in result.rows):
        words.append(digits(row.period * row.median) if row.period else "")
    return [*words, f"{row.ratio:.2f}"] if compared(result) else words


def digits(value: float) -> str:
    """A number with three or more digits that count."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value < 1 else f"{value:.4g}"


def show(result: Result, console: Console) -> None:
    """Print a result."""
    console.print()
    if result.rows:
        table = Table(*columns(result), title=result.title, title_justify="left")
        for column in table.columns[1:]:
            column.justify = "right"
        for row in result.rows:
            table.add_row(*cells(result, row))
        if fits(table, console):
            console.print(table)
        else:
            _list(result, console)
    else:
        console.print(f"{result.title}: nothing ran")
    for line in result.skipped:
        console.print(f"skipped {line}", style="yellow", highlight=False)
    for note in result.notes:
        console.print(note, style="dim", highlight=False)


def _list(result: Result, console: Console) -> None:
    """A result row by row, for consoles that are too narrow for its table."""
    console.print(result.title, highlight=False, markup=False)
    for row in result.rows:
        name, *found = zip(columns(result), cells(result, row), strict=True)
        print_listed(console, f"  {name[1]}", [f"{head} {cell}" for head, cell in found if cell])


def document(
    results: Sequence[Result], machine: dict[str, Any], settings: Settings
) -> dict[str, Any]:
    """Everything, for JSON."""
    return {
        "machine": machine,
        "settings": settings._asdict(),
        "cases": [result.summary() for result in results],
    }


def markdown(
    results: Sequence[Result], machine: dict[str, Any], settings: Settings, picture: str | None
) -> str:
    """The page of the documentation; `picture` is the plot's file, beside it."""
    about = [
        f"{machine['processor']}, {machine['cores']} cores available, {machine['system']}; "
        f"{machine['date']}; load before and after {machine.get('load', 'unknown')}.",
        ", ".join(f"{name} {version}" for name, version in machine["versions"].items()) + ".",
    ]
    parts = [
        TITLE,
        screen(results),
        INTRODUCTION.format(seconds=settings.seconds, repeats=settings.repeats),
        "## Machine and versions\n\n" + "\n\n".join(about) + "\n",
        HONESTY,
    ]
    if picture:
        parts.append(f"![Speed by size]({picture})\n")
    parts += [_section(result) for result in results if result.family != "threads"]
    parts.append(threads(results))
    return "\n".join(part for part in parts if part)


def _section(result: Result) -> str:
    """A result's table and what must be known about it."""
    lines = [f"## {result.title}", ""]
    if result.rows:
        heads = columns(result)
        lines += [_line(heads), _line(["---"] + ["---:"] * (len(heads) - 1))]
        lines += [_line(cells(result, row)) for row in result.rows]
        lines.append("")
    lines += [f"Skipped: {line}\n" for line in result.skipped]
    lines += [f"{note}\n" for note in result.notes]
    return "\n".join(lines)


def _line(words: Sequence[str]) -> str:
    return "| " + " | ".join(word.replace("|", "\\|") for word in words) + " |"


def write_json(path: Path, found: dict[str, Any]) -> None:
    """Write the document, whole or not at all."""
    with written_whole(path) as file:
        file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
