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
    corners,
    free_motion,
    groove,
    impacts,
    isotropy,
    piles,
    pinched,
    rest,
    rolling,
    sliding,
    solvers,
)
from dynenvs.agents.verify.clock import Clock
from dynenvs.agents.verify.in_dart import InDart
from dynenvs.agents.verify.in_mujoco import InMujoco
from dynenvs.agents.verify.in_pinocchio import InPinocchio
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
    "piles": piles.readings,
    "groove": groove.readings,
    "pinched": pinched.readings,
    "corners": corners.readings,
    # "conveyor" waits for a law of contact with surface velocity; then it stands here
}
SOLVERS = "solvers"  # no scenes: LCPs, in a table of their own
ONE_BY_ONE = "dynenvs, one by one"
POISSON = "dynenvs, exact cone, Poisson"
OF_BOUNCING = ONE_BY_ONE, POISSON  # where nothing bounces they would be the same as others
SYSTEMS: dict[str, Callable[..., Any]] = {
    "dynenvs": Ours,
    "dynenvs, exact cone": partial(Ours, cone="exact"),
    ONE_BY_ONE: partial(Ours, impacts="sequential"),
    POISSON: partial(Ours, cone="exact", restitution="poisson"),
    "MuJoCo": InMujoco,
    "MuJoCo, hard": partial(InMujoco, hard=True),
    "DART": InDart,
    "Pinocchio ADMM": partial(InPinocchio, solver="ADMM"),
    "Pinocchio PGS": partial(InPinocchio, solver="PGS"),
}


def verify(
    names: str | None, console: Console, *, out: Path, page: Path | None = None
) -> tuple[list[Row], list[solvers.Score]]:
    """Run families of scenes and the LCP solvers; print tables, save JSON and plots.

    Args:
        names: of families, with commas between; all if None.
        console: where the table and the progress go.
        out: folder for `verify.json`, `verify.png` and `solvers.png`.
        page: Markdown file to write; its plots go beside it.

    Returns the tables' rows.

    Raises:
        ValueError: no such family; lists those that there are.
        OSError: a file cannot be written.
    """
    families = chosen_from([*FAMILIES, SOLVERS], names, "scene")
    out.mkdir(parents=True, exist_ok=True)  # better to know before than after
    if page is not None:
        page.parent.mkdir(parents=True, exist_ok=True)
    rows, skipped = run([family for family in families if family != SOLVERS], console)
    if rows or skipped:
        show(rows, skipped, console)
    found, missing = solvers.scores(console) if SOLVERS in families else ([], [])
    if found:
        solvers.show(found, missing, console)
    machine = describe()
    facts = document(rows, [*skipped, *missing], machine) | {"solvers": solvers.document(found)}
    write_json(out / "verify.json", facts)
    scenes = partial(plot, rows=rows, names=list(SYSTEMS))
    scores = partial(solvers.plot, found=found)
    drawn = [_plot(out / "verify.png", scenes, console) if rows else False]
    drawn += [_plot(out / "solvers.png", scores, console) if found else False]
    polar = [out / "isotropy.png"]
    if page is not None:
        polar.append(page.with_name(f"{page.stem}-isotropy.png"))
    around = drawn[0] and "isotropy" in families
    if around:
        isotropy.plot(polar, {name: SYSTEMS[name] for name in SYSTEMS if name not in OF_BOUNCING})
    if page is not None:
        pictures = [page.with_suffix(".png"), page.with_name(f"{page.stem}-solvers.png")]
        names_of = [
            picture.name if good and _plot(picture, draw, console) else None
            for picture, draw, good in zip(pictures, (scenes, scores), drawn, strict=True)
        ]
        with draft(page) as file:
            shown = [*filter(None, names_of[:1]), *[polar[-1].name] * around]
            parts = [markdown(rows, skipped, machine, shown)] if rows or skipped else []
            parts += [solvers.markdown(found, missing, names_of[1])] if found else []
            file.write_text("\n".join(parts), encoding="utf-8")
    console.print(
        f"wrote {out / 'verify.json'}" + (f" and {page}" if page else ""), highlight=False
    )
    return rows, found


def run(families: Sequence[str], console: Console) -> tuple[list[Row], list[str]]:
    """Every family in every simulator: the rows, and what could not run."""
    rows: dict[tuple[str, str], Row] = {}
    skipped = []
    for family in families:
        for system, make in SYSTEMS.items():
            if system in OF_BOUNCING and family != "bouncing":
                continue
            with console.status(f"{family}, {system}"):
                try:
                    _collect(family, system, make, rows)
                except MissingPeer as error:
                    skipped.append(f"{system}, {family}: {error}")
    return list(rows.values()), list(dict.fromkeys(skipped))


def _collect(family: str, system: str, make: Make, rows: dict[tuple[str, str], Row]) -> None:
    clock, scene = Clock(make), None
    for reading in FAMILIES[family](clock):
        if reading.scene != scene:
            scene, cost = reading.scene, clock.take()
        key = reading.scene, reading.quantity
        if key not in rows:
            rows[key] = Row(family, *key, reading.expected, reading.bar, reading.exact, {}, {}, {})
        rows[key].measured[system] = reading.measured
        rows[key].errors[system] = reading.error
        if cost is not None:
            rows[key].costs[system] = cost


def missed(rows: Sequence[Row]) -> int:
    """How many rows of ours miss their bar."""
    return sum(any(row.fails(name) for name in row.errors if is_ours(name)) for row in rows)


def _plot(path: Path, draw: Callable[[Path], None], console: Console) -> bool:
    """Draw if there is something to draw with."""
    try:
        draw(path)
    except MissingPeer as error:
        console.print(f"no plot: {error}", style="yellow", highlight=False)
        return False
    return True
