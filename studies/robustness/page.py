"""The page of the study: tables in Markdown, and curves as pictures beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dynenvs.files import written_whole
from studies.bench.peers import peer
from studies.robustness.cases import Case, Curve
from studies.robustness.measure import Measured

ACROSS = 4  # panels in a row
PANEL = (3.3, 2.6)  # [inches]
COLORS = ("#c8553d", "#4a5463", "#e0a458", "#588b8b")
HEAD = """\
# Lab notes: robustness

Written by `{command}`.

Episodes of up to 1,000 control steps with drawn commands, {seeds} for each row of a table{curves},
from seeds with which nothing was trained or tuned. "Alive" is the share of episodes that reach the
time limit; "return" is the mean sum of rewards until an episode ends, over the same agent's without
a disturbance, which the first row has in full. The columns "aim" say what a good controller should
do; a figure below it is in italics. "-" is an agent that cannot act in that environment. The
disturbances are [options of the environments](../disturbances.md); the expert and the shipped
policies were not trained or tuned for them. The standard error of a share s of n episodes is the
square root of s (1 - s) / n: 1.5 % at 95 % of 200.
"""


class Study(NamedTuple):
    """All that was measured in an environment."""

    env_id: str
    agents: tuple[str, ...]
    base: dict[str, Measured]  # without disturbances, by agent
    rows: list[tuple[Case, dict[str, Measured | None]]]
    lines: list[tuple[Curve, dict[str, list[Measured | None]]]]

    @property
    def name(self) -> str:
        """What headings call it."""
        return self.env_id.removeprefix("dynenvs/").removesuffix("-v0")


def write_page(path: Path, studies: Sequence[Study], command: str, seeds: int, each: int) -> None:
    """Write the page and its pictures, which lie in a folder of the page's name.

    Raises:
        MissingPeer: there are curves, but no matplotlib.
    """
    drawn = any(study.lines for study in studies)
    text = HEAD.format(command=command, seeds=seeds, curves=f", {each} for each point" * drawn)
    for study in studies:
        text += f"\n## {study.name}\n\n{table(study)}"
        if study.lines:
            picture = path.parent / path.stem / f"{study.name}.png"
            plot(picture, study)
            text += f"\n![{study.name}: alive and return kept over the size of each disturbance]"
            text += f"({path.stem}/{picture.name})\n"
    with written_whole(path) as file:
        file.write_text(text, encoding="utf-8")


def table(study: Study) -> str:
    """What was measured, as Markdown."""
    heads = "".join(f" {agent}: alive | return |" for agent in study.agents)
    text = f"| disturbance | aim: alive | return |{heads}\n|---|---:|---:|"
    text += "---:|---:|" * len(study.agents) + "\n| none | | |"
    for agent in study.agents:
        base = study.base[agent]
        text += f" {_percent(base.alive)} | {base.returned:.1f} |"
    for case, found in study.rows:
        aim = "" if case.kept is None else _percent(case.kept)
        text += f"\n| {case.name} | {_percent(case.alive)} | {aim} |"
        for agent in study.agents:
            alive, kept = shares(found[agent], study.base[agent])
            text += f" {_cell(alive, case.alive)} | {_cell(kept, case.kept)} |"
    return text + "\n"


def shares(found: Measured | None, base: Measured) -> tuple[float | None, float | None]:
    """Shares alive, and of the undisturbed return."""
    return (None, None) if found is None else (found.alive, found.returned / base.returned)


def plot(path: Path, study: Study) -> None:
    """Draw the curves: alive above, return below, a column a disturbance."""
    count = len(study.lines)
    bands = -(-count // ACROSS)
    size = (PANEL[0] * min(count, ACROSS), 2 * PANEL[1] * bands)
    figure = peer("matplotlib.figure").Figure(figsize=size, layout="constrained")
    panels = figure.subplots(2 * bands, min(count, ACROSS), squeeze=False)
    for number, (curve, lines) in enumerate(study.lines):
        band, column = divmod(number, ACROSS)
        for which, what in enumerate(("alive, %", "return kept, %")):
            panel = panels[2 * band + which][column]
            _draw(panel, study, curve, lines, which)
            panel.set(ylabel=what, ylim=(0, 108), title=curve.name if which == 0 else "")
            panel.set(xlabel=curve.unit if which == 1 else "")
    for number in range(count, bands * ACROSS if bands > 1 else count):
        band, column = divmod(number, ACROSS)
        for which in range(2):
            panels[2 * band + which][column].set_visible(False)
    panels[0][0].legend(fontsize=8)
    with written_whole(path) as file:
        figure.savefig(file, dpi=80)


def _draw(
    panel: Any,
    study: Study,
    curve: Curve,
    lines: Mapping[str, Sequence[Measured | None]],
    which: int,
) -> None:
    """One panel: shares alive (0) or of the return (1)."""
    for agent, color in zip(study.agents, COLORS, strict=False):
        values = [shares(found, study.base[agent])[which] for found in lines[agent]]
        points = [(x, 100 * y) for x, y in zip(curve.sizes, values, strict=True) if y is not None]
        if points:
            panel.plot(*zip(*points, strict=True), color=color, marker="o", ms=3, label=agent)
    panel.grid(alpha=0.3)


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _cell(share: float | None, aim: float | None) -> str:
    """A figure, in italics below its aim."""
    if share is None:
        return "-"
    text = f"{100 * share:.1f} %"
    return f"*{text}*" if aim is not None and share < aim else text
