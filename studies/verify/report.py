"""What was found, as a table for eyes, a page for the documentation, JSON and a picture."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from dynenvs.files import written_whole
from studies.bench.peers import peer
from studies.listed import fits, print_listed

EXACT = "exact cone"  # part of the name of systems that have it
LEAST = 1e-17  # what a picture with a logarithmic axis shows of zero
MOST = 1e3  # and of more than that
COLORS = (
    "#c8553d",
    "#8c2f39",
    "#f08a8a",
    "#7f5539",
    "#d17ab0",
    "#e0a458",
    "#b8860b",
    "#4a5463",
    "#3f88c5",
    "#7a9e7e",
)  # of the simulators, ours first

COST = "time a step [us]"
PICTURES = {"verify": "Errors of all scenes", "isotropy": "Sliding in all directions"}
TITLE = "# Lab notes: verification\n\nThe short guide: [verification](../verification.md).\n"
GROUPS = {  # what is verified: the families of scenes that say so, and by what the truth is known
    "resting, piles": (("rest", "piles", "pinched"), "equilibrium"),
    "sliding": (("sliding", "isotropy", "groove"), "closed forms"),
    "rolling, spinning": (("rolling", "moments"), "closed forms"),
    "falling": (("impacts", "corners"), "non-penetration, momentum"),
    "bouncing": (("bouncing",), "Newton's law, momentum, energy"),
    "closed loops": (("closed",), "the loop's equations"),
    "conveyor belts": (("conveyor",), "closed forms"),
    "reports of users": (("reported",), "closed forms, conservation"),
}
BESIDE = """\
Beside these scenes: equations of motion of imported robots equal MuJoCo's to 1e-10
([robots](../robots.md), `pytest tests/test_import_mujoco.py`), and observations,
rewards and ends of Gymnasium's tasks equal Gymnasium's own to 1e-12 ([tasks](../mujoco-tasks.md),
`pytest tests/test_mujoco_tasks.py`).
"""
INTRODUCTION = """\
## How it is done

Written by `python -m studies verify --markdown`: scenes whose outcome is known, in dynenvs and
other simulators. The table shows errors: distances from the known answer, in the unit of the
quantity. The threshold is what dynenvs must stay below; rows without one are shown for comparison:
there, integrators of first order differ by as much as their step allows.

Each simulator gets the same bodies, step and coefficients.

- dynenvs: the default friction pyramid of eight directions, or what the column names. "One by one"
  takes impacts in sequence, the fastest pair first; the others take all that happen at once
  together, and both answers to Newton's cradle keep momentum and energy. "Poisson" has his law of
  restitution, with the energy guard, where the others have Newton's.
- MuJoCo: elliptic cones, `impratio` 10, Newton's solver to 1e-12; its contacts are soft by design,
  so a block sinks and creeps a little. "Hard" is what its documentation offers against that:
  `solref` at five steps (at two, which is allowed, sliding bodies hop by millimetres), `solimp` up
  to 0.9999, `impratio` 100 and the no-slip solver.
- DART: its own collision detector, boxed LCP, sleeping switched off.
- Pinocchio: its ADMM and projected Gauss-Seidel solvers of contact with the exact cone. It has no
  simulator, so they drive the step of its authors' ADMM example: contact points as dynenvs finds
  them, a tolerance of 1e-9 (their default is 1e-6), at most 1,000 iterations, Anderson acceleration
  and the proximal term of that example, and Lanczos' method cut at 10 (all of it, the default,
  takes most of the time of a wall). Free bodies are a slide and a ball joint: the body's own axes
  of a `FreeFlyer` would lose 1 % of a rolling ball's acceleration at these steps. ADMM starts from
  nothing in each step: from the last step's impulses it stalls on a wall in three steps. PGS starts
  from them; its test of the tolerance judges each contact right after that contact was solved, and
  ends after one sweep, so that it is asked again until the residual of all contacts together is
  below the tolerance.  Where things pass seams or thin walls it has the contacts that dynenvs finds
  at the start of the step, without what dynenvs does about such steps.

"Time a step" is processor time. dynenvs, MuJoCo and DART: the whole step, called from Python.
Pinocchio: its own functions only, without the detection of contacts and without Python's share.
Painleve's rod is read after one step, in which an impulse stops its tip in dynenvs; MuJoCo and DART
slow it down over some twenty. "Solves above tolerance" are what the solvers report: dynenvs'
degraded and failed solves, those of ADMM that did not converge, and PGS's that end with a residual
above 1e-9; the others keep no count. The pinched capsule, that of MuJoCo's issue 3328, is in
equilibrium from the start, but its ends may share the load in many ways: a solver whose impulses
wander among them comes to one that cannot hold. MuJoCo's frictions share one bound: what a ball
does that slides and spins at once is not its law.

The polar figures: how far a block slides whatever its heading (1 is exact), and by how much of its
way a tripod that spins as it slides ends in the wrong place, on pyramids of several numbers of
directions and on the exact cone. "Random rough impacts": pairs of cubes, balls and jacks of four
balls meet in empty space; coefficients of friction (0 to 1) and restitution (0.05 to 1) are drawn.
"""

SUMMARY = """\
## Which simulator is better at what

How many thresholds each simulator meets, and the median of its time a step over the scenes. The
thresholds are those of exact contact, which soft contact does not aim at; here the pyramid is
compared with those of the exact cone, too.
"""
READ = """\
What these scenes show of each simulator:

- MuJoCo is the quickest where many bodies touch, several times as quick as dynenvs in piles and in
  what falls on corners. What rests sinks, and what is held creeps: its contacts are springs.
- MuJoCo at its hardest wins one or two digits in piles and six in a grasp, at some cost in time.
  What falls still goes in by millimetres, and in a groove friction is no better than before.
- DART is quick and close along the axes of its friction pyramid; off those axes what slides turns
  aside and stops elsewhere, heavy boxes on light ones sink, and what falls on a corner goes in by
  millimetres.
- Pinocchio's ADMM is as exact: walls, towers, grasps and grooves come out as with
  dynenvs' exact cone. It takes some ten times as long, and loses Painleve's rod, great ratios of
  masses and some of the drops.
- Pinocchio's PGS is as exact as any on single bodies, and does not converge where a load has
  to find its way through several bodies: ratios of masses, towers, a grasp.
- dynenvs is as quick as MuJoCo on single bodies, and slower where many touch. Its pyramid prefers
  some headings by one or two percent, and in a groove by more; the exact cone does not, at about
  the same cost. Where a box rests between two planes that wedge it, both take tens of times as long
  as where it lies on a floor; MuJoCo and DART are far quicker there.
"""


class Row(NamedTuple):
    """One quantity in all simulators."""

    family: str
    scene: str
    quantity: str
    expected: float
    bar: float | None
    exact: bool  # whether the bar is for the exact friction cone only
    measured: dict[str, float]
    errors: dict[str, float]
    costs: dict[str, float]  # processor time of a step of the scene [s]

    def fails(self, ours: str) -> bool:
        """Whether a system of ours misses the bar."""
        error = self.errors.get(ours, 0.0)
        judged = self.bar is not None and (EXACT in ours or not self.exact)
        return judged and not error <= (self.bar or 0.0)


def systems(rows: Sequence[Row]) -> list[str]:
    """Names of all simulators that measured something."""
    return list(dict.fromkeys(name for row in rows for name in row.errors))


def digits(value: float | None) -> str:
    """An error or a bar, short."""
    if value is None:
        return ""
    return "0" if value == 0.0 else f"{value:.1e}" if math.isfinite(value) else "lost"


def microseconds(seconds: float | None) -> str:
    """A time, short."""
    if seconds is None:
        return ""
    return f"{1e6 * seconds:,.0f}" if seconds >= 1e-4 else f"{1e6 * seconds:.3g}"


def show(rows: Sequence[Row], skipped: Sequence[str], console: Console) -> None:
    """Print the table, or a list where the console is too narrow for it."""
    table = _table(rows)
    if fits(table, console):
        console.print(table)
    else:
        _list(rows, console)
    for line in skipped:
        console.print(f"skipped {line}", style="yellow", highlight=False)


def _list(rows: Sequence[Row], console: Console) -> None:
    """Scene by scene, quantity by quantity: the errors of all simulators."""
    names = systems(rows)
    for row, after in zip(rows, [*rows[1:], None], strict=True):
        bar = f", threshold {digits(row.bar)}" if row.bar is not None else ""
        head = f"{row.scene}: {row.quantity}, {row.expected:.6g} expected{bar}; errors:"
        misses = {name: " (misses)" for name in names if is_ours(name) and row.fails(name)}
        errors = {name: digits(row.errors[name]) for name in names if name in row.errors}
        print_listed(console, head, [f"{k} {v}{misses.get(k, '')}" for k, v in errors.items()])
        if after is None or after.scene != row.scene:
            costs = _costs(rows, row)
            times = [f"{name} {microseconds(costs[name])}" for name in names if name in costs]
            print_listed(console, f"{row.scene}: {COST}:", times)


def _table(rows: Sequence[Row]) -> Table:
    """All of it."""
    names = systems(rows)
    table = Table("scene", "quantity", "expected", "threshold", *names)
    for column in table.columns[2:]:
        column.justify, column.min_width = "right", 7
    last = ""
    for row, after in zip(rows, [*rows[1:], None], strict=True):
        cells = [
            f"[red]{digits(row.errors.get(name))}[/red]"
            if is_ours(name) and row.fails(name)
            else digits(row.errors.get(name))
            for name in names
        ]
        scene = row.scene if row.scene != last else ""
        last = row.scene
        quantity = row.quantity.replace("[", "\\[")
        table.add_row(scene, quantity, f"{row.expected:.6g}", digits(row.bar), *cells)
        if after is None or after.scene != row.scene:
            costs = _costs(rows, row)
            times = [microseconds(costs.get(name)) for name in names]
            table.add_row("", COST.replace("[", "\\["), "", "", *times, style="dim")
    return table


def is_ours(name: str) -> bool:
    """Whether a simulator is this package."""
    return name.startswith("dynenvs")


def document(
    rows: Sequence[Row], skipped: Sequence[str], machine: dict[str, Any]
) -> dict[str, Any]:
    """Everything, for JSON (which knows no infinity: a lost body's reading is null)."""

    def finite(values: dict[str, float]) -> dict[str, float | None]:
        return {name: x if math.isfinite(x) else None for name, x in values.items()}

    found = [
        {**row._asdict(), "measured": finite(row.measured), "errors": finite(row.errors)}
        for row in rows
    ]
    return {"machine": machine, "rows": found, "skipped": list(skipped)}


def markdown(
    rows: Sequence[Row], skipped: Sequence[str], machine: dict[str, Any], pictures: dict[str, str]
) -> str:
    """The page of the documentation; `pictures`: the plots' files by name, beside it."""
    names = systems(rows)
    heads = ["scene", "quantity", "expected", "threshold", *names]
    lines = [TITLE, screen(rows), BESIDE, INTRODUCTION]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    lines.append(f"{machine['date']}, {machine['processor']}; {versions}.\n")
    lines.append(f"The command took {machine['minutes']:g} minutes.\n")
    lines += _summary(rows, names)
    lines += [f"![{t}]({pictures[name]})\n" for name, t in PICTURES.items() if name in pictures]
    lines.append("## All scenes\n")
    lines += [_line(heads), _line(["---", "---"] + ["---:"] * (len(heads) - 2))]
    for row, after in zip(rows, [*rows[1:], None], strict=True):
        cells = [digits(row.errors.get(name)) for name in names]
        cells = [
            f"**{cell}**" if is_ours(name) and row.fails(name) else cell
            for name, cell in zip(names, cells, strict=True)
        ]
        expected, bar = f"{row.expected:.6g}", digits(row.bar)
        lines.append(_line([row.scene, row.quantity, expected, bar, *cells]))
        if after is None or after.scene != row.scene:
            costs = _costs(rows, row)
            times = [microseconds(costs.get(name)) for name in names]
            lines.append(_line(["", f"*{COST}*", "", "", *times]))
    missed = [row for row in rows if any(row.fails(name) for name in names if is_ours(name))]
    lines.append("")
    if missed:
        lines.append(f"Bold: dynenvs misses the threshold ({len(missed)} of {len(rows)} rows).\n")
    lines += [f"Skipped: {line}\n" for line in skipped]
    return "\n".join(lines)


def screen(rows: Sequence[Row]) -> str:
    """The page's first table: bars kept, and the error that comes nearest to its bar."""
    names = systems(rows)
    ours = next((name for name in names if EXACT in name), names[0])
    peers = [name for name in names if not is_ours(name)]
    lines = [
        "## On one screen\n",
        f"How many thresholds {ours} meets, its error that comes nearest to one, and how many",
        "others meet. `python -m studies verify` makes all of it; the date is below.\n",
        _line(["scenes", "known by", "meets", "its worst error, and the threshold", "others meet"]),
        _line(["---"] * 5),
    ]
    for what, (families, known) in GROUPS.items():
        judged = [row for row in rows if row.family in families and row.bar is not None]
        here = [row for row in judged if ours in row.errors]
        if not here:
            continue
        worst = max(here, key=lambda row: _share(row, ours))
        error = f"{digits(worst.errors[ours])} of {digits(worst.bar)}: {worst.quantity}"
        others = [f"{name} {kept}" for name in peers if (kept := _kept(judged, name)) != "-"]
        lines.append(_line([what, known, _kept(judged, ours), error, "; ".join(others) or "-"]))
    return "\n".join([*lines, ""])


def _share(row: Row, name: str) -> float:
    """An error over its bar; a bar of 0 is kept or not."""
    error, bar = row.errors[name], row.bar or 0.0
    return error / bar if bar else (0.0 if error == 0.0 else math.inf)


def _kept(rows: Sequence[Row], name: str) -> str:
    """How many of the bars of exact contact a simulator keeps."""
    told = [row for row in rows if name in row.errors]
    kept = sum(row.errors[name] <= (row.bar or 0.0) for row in told)
    return f"{kept} of {len(told)}" if told else "-"


def _line(words: Sequence[str]) -> str:
    return "| " + " | ".join(words) + " |"


def _costs(rows: Sequence[Row], row: Row) -> dict[str, float]:
    """Times a step of all simulators in the row's scene: not each has all of its quantities [s]."""
    same = [other for other in rows if (other.family, other.scene) == (row.family, row.scene)]
    return {name: each for other in same for name, each in other.costs.items()}


def _summary(rows: Sequence[Row], names: Sequence[str]) -> list[str]:
    """How often each simulator keeps the bars of each family, and what a step costs it."""
    lines = [SUMMARY, _line(["scenes", *names]), _line(["---"] + ["---:"] * len(names))]
    for family in dict.fromkeys(row.family for row in rows):
        mine = [row for row in rows if row.family == family]
        lines.append(_line([family, *(_tally(mine, name) for name in names)]))
    return [*lines, "", READ, ""]


def _tally(rows: Sequence[Row], name: str) -> str:
    """Bars kept, and the median over scenes of the time of a step."""
    ran = [row for row in rows if name in row.errors]
    if not ran:
        return "-"
    judged = [row for row in ran if row.bar is not None]
    kept = sum(row.errors[name] <= (row.bar or 0.0) for row in judged)
    costs = {row.scene: row.costs[name] for row in ran if name in row.costs}
    each = f", {microseconds(statistics.median(costs.values()))} us" if costs else ""
    return f"{kept} of {len(judged)}{each}"


def plot(path: Path, rows: Sequence[Row], colors: dict[str, str]) -> None:
    """Draw all errors on a logarithmic axis, a row each, and the bars as strokes.

    Raises:
        MissingPeer: no matplotlib.
    """
    figure = peer("matplotlib.figure").Figure(
        figsize=(10.0, 1.2 + 0.2 * len(rows)), layout="constrained"
    )
    panel = figure.subplots()
    heights = [-i for i in range(len(rows))]
    for row, y in zip(rows, heights, strict=True):
        if row.bar is not None:
            panel.plot([row.bar, row.bar], [y - 0.4, y + 0.4], color="black", linewidth=1.5)
    for name, color in colors.items():
        points = [
            (min(max(row.errors[name], LEAST), MOST), y)
            for row, y in zip(rows, heights, strict=True)
            if math.isfinite(row.errors.get(name, math.inf))
        ]
        if points:
            panel.scatter(*zip(*points, strict=True), label=name, color=color, s=22, zorder=3)
    panel.set_xscale("log")
    panel.set_xlim(LEAST / 3, 3 * MOST)
    panel.set_ylim(heights[-1] - 0.8, 0.8)
    panel.set_yticks(heights, [f"{row.scene}: {row.quantity}" for row in rows], fontsize=7)
    panel.set_xlabel(
        "error, in the quantity's unit; at the edges: none, or more (black: dynenvs' threshold)"
    )
    panel.grid(axis="x", alpha=0.3)
    figure.legend(loc="outside upper center", ncols=4, frameon=False)
    with written_whole(path) as file:
        figure.savefig(file, dpi=80)
