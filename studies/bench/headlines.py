"""The page's first screen: ratios with their quartiles; what others made comes first."""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence
from typing import NamedTuple

from studies.bench.batch import BUSY
from studies.bench.race import Result, Row, quartiles


class Headline(NamedTuple):
    """One line of the screen.

    what: is measured
    peer: beside what
    family: of cases
    title: pattern of the cases' titles; its group, if it has one, names the ratio
    system: pattern of the rows; the same, where the title's has none.  Rows of one name are one
        ratio: the median of theirs.
    """

    what: str
    peer: str
    family: str
    title: str
    system: str


HEADLINES = (
    Headline(
        "**robots of others**, from the wheels that ship them: one physics step of one world, "
        "median of robots",
        "MuJoCo's `mj_step`",
        "robots",
        "Robots of others: .*",
        ".*",
    ),
    Headline(
        "robots of others: physics steps of 64 worlds, one thread",
        "mjbatch, which steps MuJoCo's worlds by Euler's rule",
        "mjbatch",
        r"Batches of others' robots: (\w+)",
        "dynenvs",
    ),
    Headline(
        "**the identical model**, Euler's rule in both: one physics step of one world",
        "MuJoCo's `mj_step`",
        "identical",
        r"Identical model, bare step: (\w+)-v5",
        "dynenvs",
    ),
    Headline(
        "the identical model: environment steps of 256 worlds, random actions, one thread",
        "EnvPool, which steps all but HalfCheetah by RK4: four evaluations a step",
        "identical",
        r"Identical model: (\w+)-v5",
        "dynenvs, 1 thread",
    ),
    Headline(
        "the identical model: environment steps of one world by `gym.make`",
        "Gymnasium, which steps all but HalfCheetah by RK4",
        "identical",
        r"Identical model: (\w+)-v5",
        "dynenvs, one world",
    ),
    Headline(
        "our own robots: steps of 1,024 worlds, random actions, one thread",
        "EnvPool's Walker2d, Humanoid and Ant",
        "peers",
        "Batch of .*",
        r"dynenvs/(\w+)-v0, random actions, 1 thread",
    ),
    Headline(
        "forward dynamics of a humanoid tree",
        "Pinocchio's `aba`",
        "dynamics",
        ".*",
        r"dynenvs (aba|mass matrix and LTDL), compiled loop",
    ),
    Headline(
        "many loose boxes",
        "MuJoCo",
        "scenes",
        ".*",
        "(.*), dynenvs",
    ),
)
HEADS = ("what", "compared with", "times as fast: median (quartiles)")


def found(headline: Headline, results: Sequence[Result]) -> list[tuple[str, Row]]:
    """Names and rows that a headline speaks of."""
    rows = []
    for result in results:
        title = re.fullmatch(headline.title, result.title)
        if result.family != headline.family or title is None:
            continue
        for row in result.rows:
            system = re.fullmatch(headline.system, row.name)
            if system is not None:
                rows.append((" ".join([*title.groups(), *system.groups()]), row))
    return rows


def screen(results: Sequence[Result]) -> str:
    """The table in Markdown; headlines of cases that did not run are left out."""
    lines = []
    for headline in HEADLINES:
        named: dict[str, list[float]] = {}
        for name, row in found(headline, results):
            named.setdefault(name, []).extend(row.ratios)
        ratios = [f"{name} {_ratio(each)}".lstrip() for name, each in named.items()]
        if ratios:
            lines.append(f"| {headline.what} | {headline.peer} | {', '.join(ratios)} |")
    if not lines:
        return ""
    head = [f"| {' | '.join(HEADS)} |", "| --- | --- | --- |"]
    return "\n".join(["## On one screen", "", *head, *lines, ""])


def _ratio(ratios: Sequence[float]) -> str:
    (low, high), middle = quartiles(ratios), statistics.median(ratios)
    digits = 1 if middle >= 1 else 2
    return f"{middle:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def threads(results: Sequence[Result]) -> str:
    """What a second thread gives, all races in one table; empty if none ran."""
    lines = []
    for result in results:
        gains = [row for row in result.rows if row.name.endswith("2 threads")]
        if result.family == "threads" and gains:
            busy = any(BUSY in note for note in result.notes)
            name = result.title.removeprefix("A second thread: ") + " (busy)" * busy
            lines.append(f"| {name} | {' | '.join(_ratio(row.ratios) for row in gains)} |")
            heads = [row.name.removesuffix(", 2 threads") for row in gains]
    if not lines:
        return ""
    return "\n".join(
        [
            "## A second thread",
            "",
            f"| times as fast as one thread | {' | '.join(heads)} |",
            "| --- |" + " ---: |" * len(heads),
            *lines,
            "",
            "The pure loop is arithmetic on registers, on plain Python threads: what a second "
            "thread can give at most. Median, and quartiles in brackets. Busy: no second core "
            "was free.",
            "",
        ]
    )
