"""The families of cases by name, and the call that measures them and writes what was found."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from dynenvs.agents.machine import describe, load
from dynenvs.files import written_whole
from dynenvs.spelling import did_you_mean
from studies.bench import (
    batch,
    compliance,
    dynamics,
    identical,
    lcp,
    memory,
    mjbatch,
    pendulum,
    robots,
    scenes,
    shell,
    siconos,
    single,
    solves,
    steps,
)
from studies.bench.peers import MissingPeer
from studies.bench.plot import plot
from studies.bench.race import Case, Result, Settings
from studies.bench.report import document, markdown, show, write_json

FAMILIES: dict[str, Callable[[Settings], list[Case]]] = {
    "single": single.cases,
    "peers": batch.peer_cases,
    "identical": identical.cases,
    "shell": shell.cases,
    "batch": batch.cases,
    "threads": batch.thread_cases,
    "steps": steps.cases,
    "scenes": scenes.cases,
    "dynamics": dynamics.cases,
    "links": dynamics.chain_cases,
    "compliance": compliance.cases,
    "lcp": lcp.cases,
    "solves": solves.cases,
    "pendulum": pendulum.cases,
    "memory": memory.cases,
    "robots": robots.cases,
    "mjbatch": mjbatch.cases,
    "siconos": siconos.cases,
}


def chosen(names: str | None) -> list[str]:
    """Names of families out of a list with commas; all if None.

    Raises:
        ValueError: no such family; lists those that there are.
    """
    return chosen_from(FAMILIES, names, "case")


def chosen_from(families: Collection[str], names: str | None, kind: str) -> list[str]:
    """The same for any families; `kind` is what an error calls one of their members."""
    if names is None:
        return list(families)
    words = [word.strip() for word in names.split(",") if word.strip()]
    for word in words:
        if word not in families:
            choices = f"choose from: {', '.join(families)}{did_you_mean(word, families)}"
            raise ValueError(f"unknown {kind} {word!r}; {choices}")
    if not words:
        raise ValueError(f"no {kind} named; choose from: {', '.join(families)}")
    return list(dict.fromkeys(words))


def bench(
    names: Sequence[str],
    settings: Settings,
    console: Console,
    *,
    out: Path,
    page: Path | None = None,
) -> list[Result]:
    """Measure families of cases; print their tables, save JSON and a plot.

    Args:
        names: of families.
        settings: how long to measure.
        console: where tables and progress go.
        out: folder for `bench.json` and `bench.png`.
        page: Markdown file to write; its plot goes beside it.

    Raises:
        OSError: a file cannot be written.
    """
    out.mkdir(parents=True, exist_ok=True)  # better to know before the race than after it
    if page is not None:
        page.parent.mkdir(parents=True, exist_ok=True)
    machine, before = describe(), load()
    results = measure(
        [case for name in names for case in FAMILIES[name](settings)], settings, console
    )
    after = load()
    results.sort(key=lambda result: list(FAMILIES).index(result.family))  # however they ran
    if before is not None and after is not None:
        machine["load"] = f"{before:.1f} and {after:.1f}"
    write_json(out / "bench.json", document(results, machine, settings))
    picture = _plot(out / "bench.png", results, console)
    if page is not None:
        drawing = page.with_suffix(".png")
        drawn = picture and _plot(drawing, results, console)
        with written_whole(page) as file:
            text = markdown(results, machine, settings, drawing.name if drawn else None)
            file.write_text(text, encoding="utf-8")
    console.print(f"wrote {out / 'bench.json'}" + (f" and {page}" if page else ""), highlight=False)
    return results


def measure(cases: Sequence[Case], settings: Settings, console: Console) -> list[Result]:
    """Results of the cases, each printed as soon as it is there."""
    results = []
    words = (TextColumn("{task.description}"), BarColumn(20), MofNCompleteColumn())
    with Progress(*words, TimeElapsedColumn(), console=console, transient=True) as progress:
        task = progress.add_task("", total=len(cases))

        def tick(what: str) -> None:
            progress.update(task, description=what[-60:])

        for case in cases:
            results.append(case.measure(settings, tick))
            progress.advance(task)
            show(results[-1], progress.console)
    return results


def _plot(path: Path, results: Sequence[Result], console: Console) -> bool:
    """Draw if there is something to draw and something to draw with."""
    try:
        return plot(path, results)
    except MissingPeer as error:
        console.print(f"no plot: {error}", style="yellow", highlight=False)
        return False
