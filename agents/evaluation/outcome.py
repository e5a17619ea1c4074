"""What all measured episodes have in common, and the table of the worst of many."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from rich.table import Table

from dynenvs.agents.evaluation.episode import Episode


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What one episode was like, whatever moved."""

    steps: int  # control steps
    end: str  # why it ended
    fell: bool
    degraded: int
    failed: int
    residual: float
    returned: float  # sum of rewards
    simulating: float  # wall-clock time in `env.step` [s]


def outcome_of(episode: Episode) -> dict[str, Any]:
    """The fields of `Outcome`."""
    names = ("steps", "end", "fell", "degraded", "failed", "residual", "simulating")
    found = {name: getattr(episode, name) for name in names}
    return {**found, "returned": float(episode.rewards.sum())}


class Row(NamedTuple):
    """A row of the table: the worst is the largest figure times `sign`."""

    words: str
    field: str
    form: str
    scale: float = 1.0
    sign: int = 1


STEPS = Row("steps", "steps", "{:.0f}", sign=-1)
SOLVED = (
    Row("penetration, m", "penetration", "{:.1e}"),
    Row("LCP residual", "residual", "{:.1e}"),
    Row("degraded solves", "degraded", "{:.0f}"),
    Row("failed solves", "failed", "{:.0f}"),
    Row("return", "returned", "{:.1f}", sign=-1),
)


def worst_of(
    outcomes: Sequence[Outcome], dt: float, rows: Sequence[Row], good: str, count: int
) -> Table:
    """The worst figures over many episodes, each with the seed it came from.

    Args:
        outcomes: one a seed, counted from 0.
        dt: control period [s].
        rows: what is told besides what all episodes have.
        good: what some episodes come to.
        count: how many of them do.
    """
    table = Table("reading", "worst", "seed", "mean")
    table.add_row(good, f"{count} of {len(outcomes)}", "", "")
    for row in (STEPS, *rows, *SOLVED):
        values = [getattr(one, row.field) for one in outcomes]
        _add_worst(table, row, np.array(values, dtype=float) * row.scale)
    speeds = np.array([one.steps * dt / one.simulating for one in outcomes])
    _add_worst(table, Row("simulated s per s", "", "{:.0f}", sign=-1), speeds)
    return table


def _add_worst(table: Table, row: Row, values: Any) -> None:
    """The worst of one value a seed, its seed, the mean; a value that is not known is the worst."""
    unknown = np.isnan(values)
    seed = int(np.argmax(unknown) if unknown.any() else np.argmax(row.sign * values))
    mean = float(np.nanmean(values)) if not unknown.all() else math.nan
    table.add_row(row.words, row.form.format(values[seed]), str(seed), row.form.format(mean))
