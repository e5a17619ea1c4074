"""The families of scenes by name, and the call that runs them and writes what was found."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from dynenvs.agents.console import working
from dynenvs.agents.machine import describe
from dynenvs.files import written_whole
from dynenvs.simulation.world import SimulationError
from studies.bench.families import chosen_from
from studies.bench.peers import MissingPeer
from studies.bench.report import write_json
from studies.verify import (
    bouncing,
    closed,
    conveyor,
    corners,
    free_motion,
    groove,
    impacts,
    isotropy,
    moments,
    piles,
    pinched,
    precision,
    reported,
    rest,
    rolling,
    sliding,
    solvers,
)
from studies.verify.clock import Clock
from studies.verify.in_dart import InDart
from studies.verify.in_mujoco import InMujoco
from studies.verify.in_pinocchio import InPinocchio
from studies.verify.ours import Ours
from studies.verify.report import COLORS, Row, document, is_ours, markdown, plot, show
from studies.verify.scene import Family, Make

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
    "conveyor": conveyor.readings,
    "moments": moments.readings,
    "reported": reported.readings,
}
SOLVERS = "solvers"  # no scenes: LCPs, in a table of their own
PRECISION = "precision"  # no table: curves of what an error costs
ONE_BY_ONE = "dynenvs, one by one"
POISSON = "dynenvs, exact cone, Poisson"
OF_BOUNCING = ONE_BY_ONE, POISSON  # where nothing bounces they would be the same as others
MIDPOINT = "dynenvs, midpoint"
OF_MIDPOINT = "free", "rest", "rolling"  # families in which the integrator shows, or must not show
SYSTEMS: dict[str, Callable[..., Any]] = {
    "dynenvs": Ours,
    "dynenvs, exact cone": partial(Ours, cone="exact"),
    ONE_BY_ONE: partial(Ours, impacts="sequential"),
    POISSON: partial(Ours, cone="exact", restitution="poisson"),
    MIDPOINT: partial(Ours, integrator="midpoint"),
    "MuJoCo": InMujoco,
    "MuJoCo, hard": partial(InMujoco, hard=True),
    "DART": InDart,
    "Pinocchio ADMM": partial(InPinocchio, solver="ADMM"),
    "Pinocchio PGS": partial(InPinocchio, solver="PGS"),
}


class Found(NamedTuple):
    """Everything that a call found."""

    rows: list[Row]
    skipped: list[str]  # scenes and simulators, with the reason
    scores: list[solvers.Score]
    missing: list[str]  # LCP solvers, with the reason
    points: list[precision.Point]


def verify(
    names: str | None, console: Console, *, out: Path, page: Path | None = None
) -> tuple[list[Row], list[solvers.Score]]:
    """Run families of scenes and the LCP solvers; print tables, save JSON and plots.

    Args:
        names: of families, with commas between; all if None.
        console: where the table and the progress go.
        out: folder for `verify.json` and the plots.
        page: Markdown file to write; its plots go beside it.

    Returns the tables' rows.

    Raises:
        ValueError: no such family; lists those that there are.
        OSError: a file cannot be written.
    """
    begin = time.monotonic()
    families = chosen_from([*FAMILIES, SOLVERS, PRECISION], names, "scene")
    out.mkdir(parents=True, exist_ok=True)  # better to know before than after
    if page is not None:
        page.parent.mkdir(parents=True, exist_ok=True)
    found = Found([], [], [], [], [])
    try:
        _measure(families, found, console)
    except KeyboardInterrupt:
        _save(found, begin, out)
        console.print(f"stopped: {len(found.rows)} readings are in {out / 'verify.json'}")
        raise
    drawn = _draw(found, "isotropy" in families, out, console)
    machine = _save(found, begin, out)
    if page is not None:
        _write_page(page, found, machine, drawn)
    console.print(
        f"wrote {out / 'verify.json'}" + (f" and {page}" if page else ""), highlight=False
    )
    return found.rows, found.scores


def _measure(families: Sequence[str], found: Found, console: Console) -> None:
    """Everything, each part printed as soon as it is there."""
    for family in families:
        if family in FAMILIES:
            run(family, console, found)
    if found.rows or found.skipped:
        show(found.rows, found.skipped, console)
    if SOLVERS in families:
        scores, missing = solvers.scores(console)
        found.scores.extend(scores)
        found.missing.extend(missing)
        solvers.show(found.scores, found.missing, console)
    if PRECISION in families:
        found.points.extend(precision.points(_without_bouncing(), console))


def _save(found: Found, begin: float, out: Path) -> dict[str, Any]:
    """Write all that was found; returns what is said of the machine and the time."""
    machine = describe() | {"minutes": round((time.monotonic() - begin) / 60, 1)}
    facts = document(found.rows, [*found.skipped, *found.missing], machine)
    facts |= {"solvers": solvers.document(found.scores)}
    facts |= {"precision": precision.document(found.points)}
    write_json(out / "verify.json", facts)
    return machine


def _without_bouncing() -> dict[str, Callable[..., Any]]:
    left_out = (*OF_BOUNCING, MIDPOINT)
    return {name: make for name, make in SYSTEMS.items() if name not in left_out}


def _draw(found: Found, around: bool, out: Path, console: Console) -> dict[str, Path]:
    """The pictures that there is something to draw of, by name."""
    colors = dict(zip(SYSTEMS, COLORS, strict=True))
    systems = _without_bouncing()
    draws: dict[str, Callable[[Path], None] | None] = {
        "verify": partial(plot, rows=found.rows, colors=colors) if found.rows else None,
        "isotropy": partial(isotropy.plot, systems=systems, colors=colors) if around else None,
        "precision": partial(precision.plot, found=found.points, colors=colors)
        if found.points
        else None,
        "solvers": partial(solvers.plot, found=found.scores) if found.scores else None,
    }
    drawn = {}
    for name, draw in draws.items():
        path = out / f"{name}.png"
        if draw is not None and _plot(path, draw, console):
            drawn[name] = path
    return drawn


def _write_page(page: Path, found: Found, machine: dict[str, Any], drawn: dict[str, Path]) -> None:
    """The page of the documentation, and copies of the pictures beside it."""
    beside: dict[str, str] = {}
    for name, path in drawn.items():
        picture = page.with_name(f"{page.stem}{'' if name == 'verify' else f'-{name}'}.png")
        with written_whole(picture) as file:
            file.write_bytes(path.read_bytes())
        beside[name] = picture.name
    parts = []
    if found.rows or found.skipped:
        parts.append(markdown(found.rows, found.skipped, machine, beside))
    if found.points:
        parts.append(precision.markdown(beside.get("precision")))
    if found.scores:
        parts.append(solvers.markdown(found.scores, found.missing, beside.get("solvers")))
    with written_whole(page) as file:
        file.write_text("\n".join(parts), encoding="utf-8")


def run(family: str, console: Console, found: Found) -> None:
    """A family in every simulator; rows, and what could not run, are added to `found`."""
    rows = {(row.scene, row.quantity): row for row in found.rows if row.family == family}
    for system, make in SYSTEMS.items():
        if system in OF_BOUNCING and family != "bouncing":
            continue
        if system == MIDPOINT and family not in OF_MIDPOINT:
            continue
        with working(console, f"{family}, {system}"):
            try:
                for row in _collect(family, system, make, rows):
                    found.rows.append(row)
            except MissingPeer as error:
                found.skipped.append(f"{system}, {family}: {error}")
            except SimulationError as error:
                if is_ours(system):
                    raise
                found.skipped.append(f"{system}, {family}: it failed, {error}")


def _collect(
    family: str, system: str, make: Make, rows: dict[tuple[str, str], Row]
) -> Iterator[Row]:
    """Put a simulator's readings into the rows; the new ones, as soon as they are there."""
    clock, scene = Clock(make), None
    for reading in FAMILIES[family](clock):
        if reading.scene != scene:
            scene, cost = reading.scene, clock.take()
        key = reading.scene, reading.quantity
        if key not in rows:
            rows[key] = Row(family, *key, reading.expected, reading.bar, reading.exact, {}, {}, {})
            yield rows[key]
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
