"""What an experiment leaves: CSV and JSON files, a PNG, and its section of a page."""

from __future__ import annotations

import csv
import json
import re
import tempfile
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from dynenvs.files import written_whole
from studies.bench.peers import peer
from studies.reproduce.experiment import Cell, Experiment, Outcome, Table, number

DPI = 80
WIDEST = 12  # columns of a table that fit on a page


def save(folder: Path, experiment: Experiment, outcome: Outcome) -> list[Path]:
    """Write NAME.json, NAME.png and NAME-TABLE.csv, each whole or not at all; returns them.

    Raises:
        MissingPeer: no matplotlib.
        OSError: a file cannot be written.
    """
    written = [folder / f"{experiment.name}.json"]
    found = {
        "title": experiment.title,
        "about": experiment.about,
        "checks": [check._asdict() for check in outcome.checks],
        "data": {name: table._asdict() for name, table in outcome.data.items()},
    }
    with written_whole(written[0]) as draft:
        draft.write_text(json.dumps(found, indent=1, default=float) + "\n", encoding="utf-8")
    for name, table in outcome.data.items():
        written.append(folder / f"{experiment.name}-{name}.csv")
        _write_csv(written[-1], table)
    picture = folder / f"{experiment.name}.png"
    if write_picture(picture, outcome):
        written.append(picture)
    return written


def _write_csv(path: Path, table: Table) -> None:
    with written_whole(path) as draft, draft.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(table.columns)
        writer.writerows(table.rows)


def write_picture(path: Path, outcome: Outcome) -> bool:
    """Write the figure as a PNG; returns whether there is one."""
    if outcome.picture is not None:
        with written_whole(path) as draft:
            Image.fromarray(outcome.picture).save(draft, format="PNG", optimize=True)
        return True
    if outcome.draw is None:
        return False
    figure = new_figure(outcome.size)
    outcome.draw(figure)
    with written_whole(path) as draft:
        figure.savefig(draft, dpi=DPI, format="png")
    return True


def ready(out: Path, page: Path | None) -> None:
    """See before the first experiment that what comes out can be drawn and written.

    Raises:
        MissingPeer: no matplotlib.
        OSError: a folder cannot be made or written into, or the page is a folder.
    """
    peer("matplotlib.figure")
    folders = [out]
    if page:
        if page.is_dir():
            raise OSError(f"cannot write {str(page)!r}: it is a folder; give a file's name")
        folders += [page.parent, page.parent / page.stem]
    for folder in folders:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            reason = error.strerror or error
            raise OSError(f"cannot write into {str(folder)!r}: {reason}") from error


def new_figure(size: tuple[float, float]) -> Any:
    """A matplotlib figure without a window."""
    return peer("matplotlib.figure").Figure(figsize=size, layout="constrained")


def section(experiment: Experiment, outcome: Outcome, picture: str | None) -> str:
    """The experiment's part of the page."""
    about = textwrap.fill(experiment.about, 100, break_long_words=False, break_on_hyphens=False)
    lines = [f"## {experiment.title}", "", about, ""]
    if outcome.checks:
        heads = ["what", "paper", "ours", "must", "holds"]
        rows = [(c.what, c.paper, c.ours, c.bar, c.verdict) for c in outcome.checks]
        lines += [*_table(heads, rows), ""]
    for name in outcome.shown:
        table = outcome.data[name]
        if len(outcome.shown) > 1:
            lines += [f"{name.capitalize()}:", ""]
        lines += [*_table(*_upright(table.columns, table.rows)), ""]
    if picture:
        lines += [f"![{experiment.title}]({picture})", ""]
    lines += [f"`python -m studies reproduce {experiment.name}`", ""]
    return "\n".join(lines)


def _upright(
    heads: Sequence[str], rows: Sequence[Sequence[Cell]]
) -> tuple[Sequence[str], Sequence[Sequence[Cell]]]:
    """A table with its columns as rows if these are too many for a page."""
    if len(heads) <= WIDEST:
        return heads, rows
    first, *columns = zip(heads, *rows, strict=True)
    return [number(cell) for cell in first], columns


def _table(heads: Sequence[str], rows: Sequence[Sequence[Cell]]) -> list[str]:
    def line(cells: Sequence[Any]) -> str:
        return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"

    written = [[number(cell) for cell in row] for row in rows]
    sides = ["---:" if _are_figures(column) else "---" for column in zip(*written, strict=True)]
    return [line(heads), line(sides), *map(line, written)]


def _are_figures(column: Sequence[str]) -> bool:
    """Whether a column is numbers alone: the page does not break those at their hyphens."""
    return any(column) and all(re.fullmatch(r"[-+\d.e/% ]*|failed", cell) for cell in column)
