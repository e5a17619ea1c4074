"""One picture of all cases that have sizes: speed over size, a panel a case, quartiles as bars."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dynenvs.files import written_whole
from studies.bench.peers import peer
from studies.bench.race import UNITS, Result, Row, quartiles

ACROSS = 3  # panels in a row
PANEL = (4.6, 3.4)  # [inches]
COLORS = {
    "dynenvs": "#c8553d",
    "dynenvs cold": "#c8553d",
    "dynenvs warm": "#e0a458",
    "QuantEcon's Lemke": "#4a5463",
    "Pinocchio": "#4a5463",
    "1": "#4a5463",
    "2": "#c8553d",
}


def plot(path: Path, results: Sequence[Result]) -> bool:
    """Draw the cases that have sizes; returns whether there was one.

    Raises:
        MissingPeer: no matplotlib.
    """
    chosen = [result for result in results if result.x and result.rows]
    if not chosen:
        return False
    figure_type = peer("matplotlib.figure").Figure
    down = -(-len(chosen) // ACROSS)
    across = min(ACROSS, len(chosen))
    figure = figure_type(figsize=(PANEL[0] * across, PANEL[1] * down), layout="constrained")
    panels = figure.subplots(down, across, squeeze=False).ravel()
    for panel, result in zip(panels, chosen, strict=False):
        _draw(panel, result)
    for panel in panels[len(chosen) :]:
        panel.set_visible(False)
    with written_whole(path) as file:
        figure.savefig(file, dpi=80)
    return True


def _draw(panel: Any, result: Result) -> None:
    assert result.x is not None
    size, kind = result.x
    for name in dict.fromkeys(row.facts[kind] for row in result.rows):
        rows = [row for row in result.rows if row.facts[kind] == name]
        middle, below, above = zip(*(_bar(result, row) for row in rows), strict=True)
        label = str(name)
        if isinstance(name, int):
            label = f"{name} {kind if name > 1 else kind.removesuffix('s')}"
        panel.errorbar(
            [row.facts[size] for row in rows],
            middle,
            yerr=(below, above),
            label=label,
            color=COLORS.get(str(name)),
            marker="o",
            markersize=4,
            capsize=2,
        )
    panel.set_xscale("log", base=2)
    panel.set_yscale("log")
    panel.set_xlabel(size)
    each = f"{result.operation}s a second"
    if result.unit:
        each = f"{result.unit} a {result.operation}"
    panel.set_ylabel(each)
    panel.set_title(result.title, fontsize="small")
    panel.legend(fontsize="small")
    panel.grid(alpha=0.3)


def _bar(result: Result, row: Row) -> tuple[float, float, float]:
    """Median, and the distances of the quartiles below and above it."""
    low, high = quartiles(row.samples)
    middle = row.median
    if result.unit:
        one = UNITS[result.unit]
        middle, low, high = one / middle, one / high, one / low
    return middle, middle - low, high - middle
