"""The families of scenes by name, and the call that runs them and writes what was found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from dynenvs.agents.bench.families import chosen_from
from dynenvs.agents.bench.machine import describe
from dynenvs.agents.bench.peers import MissingPeer
from dynenvs.agents.bench.report import draft, write_json
from dynenvs.agents.verify import (
    bouncing,
    closed,
    free_motion,
    impacts,
    isotropy,
    rest,
    rolling,
    sliding,
)
from dynenvs.agents.verify.in_dart import InDart
from dynenvs.agents.verify.in_mujoco import InMujoco
from dynenvs.agents.verify.ours import Ours
from dynenvs.agents.verify.report import Row, document, is_ours, markdown, plot, show
from dynenvs.agents.verify.scene import Family, Make

FAMILIES: dict[str, Family] = {
    "rest": rest.readings,
    "sliding": sliding.readings,
    "isotropy": isotropy.readings,
    "rolling": rolling.readings,
    "impacts": impacts.readings,
    "bouncing": bouncing.readings,
    "free": free_motion.readings,
    "closed": closed.readings,
}
ONE_BY_ONE = "dynenvs, one by one"
SYSTEMS: dict[str, Callable[..., Any]] = {
    "dynenvs": Ours,
    "dynenvs, exact cone": partial(Ours, cone="exact"),
    ONE_BY_ONE: partial(Ours, impacts="sequential"),
    "MuJoCo": InMujoco,
    "DART": InDart,
}


def verify(
    names: str | None, console: Console, *, out: Path, page: Path | None = None
) -> list[Row]:
    """Run families of scenes; print one table of errors, save JSON and a plot.

    Args:
        names: of families, with commas between; all if None.
        console: where the table and the progress go.
        out: folder for `verify.json` and `verify.png`.
        page: Markdown file to write; its plot goes beside it.

    Returns the table's rows.

    Raises:
        ValueError: no such family; lists those that there are.
        OSError: a file cannot be written.
    """
    families = chosen_from(FAMILIES, names, "scene")
    out.mkdir(parents=True, exist_ok=True)  # better to know before than after
    if page is not None:
        page.parent.mkdir(parents=True, exist_ok=True)
    rows, skipped = run(families, console)
    show(rows, skipped, console)
    machine = describe()
    write_json(out / "verify.json", document(rows, skipped, machine))
    picture = _plot(out / "verify.png", rows, console)
    polar = [out / "isotropy.png"]
    if page is not None:
        polar.append(page.with_name(f"{page.stem}-isotropy.png"))
    around = picture and "isotropy" in families
    if around:
        isotropy.plot(polar, {name: SYSTEMS[name] for name in SYSTEMS if name != ONE_BY_ONE})
    if page is not None:
        drawing = page.with_suffix(".png")
        drawn = picture and _plot(drawing, rows, console)
        with draft(page) as file:
            pictures = [drawing.name] * drawn + [polar[-1].name] * around
            text = markdown(rows, skipped, machine, pictures)
            file.write_text(text, encoding="utf-8")
    console.print(
        f"wrote {out / 'verify.json'}" + (f" and {page}" if page else ""), highlight=False
    )
    return rows


def run(families: Sequence[str], console: Console) -> tuple[list[Row], list[str]]:
    """Every family in every simulator: the rows, and what could not run."""
    rows: dict[tuple[str, str], Row] = {}
    skipped = []
    for family in families:
        for system, make in SYSTEMS.items():
            if system == ONE_BY_ONE and family != "bouncing":
                continue  # nothing bounces there: it would be the same
            with console.status(f"{family}, {system}"):
                try:
                    _collect(family, system, make, rows)
                except MissingPeer as error:
                    skipped.append(f"{system}, {family}: {error}")
    return list(rows.values()), list(dict.fromkeys(skipped))


def _collect(family: str, system: str, make: Make, rows: dict[tuple[str, str], Row]) -> None:
    for reading in FAMILIES[family](make):
        key = reading.scene, reading.quantity
        if key not in rows:
            rows[key] = Row(family, *key, reading.expected, reading.bar, reading.exact, {}, {})
        rows[key].measured[system] = reading.measured
        rows[key].errors[system] = reading.error


def missed(rows: Sequence[Row]) -> int:
    """How many rows of ours miss their bar."""
    return sum(any(row.fails(name) for name in row.errors if is_ours(name)) for row in rows)


def _plot(path: Path, rows: Sequence[Row], console: Console) -> bool:
    """Draw if there is something to draw with."""
    try:
        plot(path, rows, list(SYSTEMS))
    except MissingPeer as error:
        console.print(f"no plot: {error}", style="yellow", highlight=False)
        return False
    return True
