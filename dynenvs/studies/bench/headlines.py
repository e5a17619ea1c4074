"""The page's first screen: five ratios, each with its quartiles; the identical model first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from dynenvs.studies.bench.batch import BUSY
from dynenvs.studies.bench.race import Result, Row, quartiles


class Headline(NamedTuple):
    """One line of the screen.

    what: is measured
    peer: beside what
    family: of cases
    title: pattern of the cases' titles; its group, if it has one, names the ratio
    system: pattern of the rows; the same, where the title's has none
    """

    what: str
    peer: str
    family: str
    title: str
    system: str


HEADLINES = (
    Headline(
        "**the identical model**: environment steps of 256 worlds, random actions, one thread",
        "EnvPool",
        "identical",
        r"Identical model: (\w+)-v5",
        "dynenvs, 1 thread",
    ),
    Headline(
        "the identical model: one physics step of one world",
        "MuJoCo's `mj_step`, Euler",
        "identical",
        r"Identical model, bare step: (\w+)-v5",
        "dynenvs",
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
        "many loose boxes, where MuJoCo is the quicker one",
        "MuJoCo",
        "scenes",
        ".*",
        "(.*), dynenvs",
    ),
)
HEADS = ("what", "beside", "times as fast: median (quartiles)")


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
        ratios = [f"{name} {_ratio(row)}" for name, row in found(headline, results)]
        if ratios:
            lines.append(f"| {headline.what} | {headline.peer} | {', '.join(ratios)} |")
    if not lines:
        return ""
    head = [f"| {' | '.join(HEADS)} |", "| --- | --- | --- |"]
    return "\n".join(["## On one screen", "", *head, *lines, ""])


def _ratio(row: Row) -> str:
    low, high = quartiles(row.ratios)
    digits = 1 if row.ratio >= 1 else 2
    return f"{row.ratio:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def threads(results: Sequence[Result]) -> str:
    """What a second thread gives, all races in one table; empty if none ran."""
    lines = []
    for result in results:
        gains = [row for row in result.rows if row.name.endswith("2 threads")]
        if result.family == "threads" and gains:
            busy = any(BUSY in note for note in result.notes)
            name = result.title.removeprefix("A second thread: ") + " (busy)" * busy
            lines.append(f"| {name} | {' | '.join(_ratio(row) for row in gains)} |")
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
