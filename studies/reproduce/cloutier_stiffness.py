"""Cloutier 1995, figure 5.6: formulation stiffness."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dynenvs.memory.layout import Floats
from studies.reproduce.cloutier_dynamics import conditions
from studies.reproduce.experiment import Cell, Check, Experiment, Outcome, Table, Tick
from studies.reproduce.planar_kernels import (
    ABM,
    CRBM,
    CRBM_BY_HINGES,
    CRBM_BY_HINGES_FROM_BASE,
    CRBM_FROM_BASE,
)
from studies.reproduce.planar_robot import PlanarRobot, simulate_robot

# l1 / (l1 + l2): evaluations of ABM and CRBM in the paper's figure 5.6 (infinite: failed)
FIGURE_5_6: dict[float, tuple[int, float]] = {
    1e-1: (6526, 6553),
    1e-3: (31424, 31469),
    1e-5: (23787, 23756),
    1e-6: (23825, 23888),
    1e-7: (23797, 23779),
    1e-8: (23812, 24395),
    4e-9: (23828, 25392),
    2e-9: (23792, 31015),
    1e-9: (23792, 64065),
    1e-10: (23822, np.inf),
}
LIMIT = 500_000  # evaluations: the paper's "maximum number of iterations" is not stated
STEEP = (1e-8, 4e-9, 2e-9, 1e-9)  # where the composite method's evaluations climb
NEIGHBOURS = 1.0 + 1e-9 * np.arange(5)  # times the ratio: other roundoff, the same robot

ARRANGEMENTS = {  # of the composite method's operations
    CRBM: "about centres, from the tip (the paper's sections 3.1.1 and 4.3)",
    CRBM_FROM_BASE: "about centres, from the base",
    CRBM_BY_HINGES: "about hinges, from the tip",
    CRBM_BY_HINGES_FROM_BASE: "about hinges, from the base",
}


class Row(NamedTuple):
    """A line of figure 5.6."""

    ratio: float  # l1 / (l1 + l2)
    condition: float  # of the joint-space inertia, the largest of all poses
    abm: float  # evaluations; infinite where the integration failed
    crbm: float

    @property
    def paper(self) -> tuple[int, float]:
        """The paper's evaluations of ABM and CRBM."""
        return FIGURE_5_6[self.ratio]

    @property
    def climb(self) -> float:
        """CRBM's evaluations over ABM's."""
        return self.crbm / self.abm

    @property
    def paper_climb(self) -> float:
        """The paper's."""
        return self.paper[1] / self.paper[0]


def evaluations(ratio: float, method: int) -> float:
    """Of ten seconds; infinite where the integration fails."""
    robot = short_first_link(ratio)
    try:
        return simulate_robot(robot, np.zeros(2), 10.0, 1e-6, method, limit=LIMIT).evaluations
    except ArithmeticError:
        return np.inf


def short_first_link(ratio: float) -> PlanarRobot:
    """Lengths and masses ratio and 1 - ratio, widths 0.1."""
    parts = np.array([ratio, 1.0 - ratio])
    return PlanarRobot(parts, parts, np.array([0.1, 0.1]))


def figure_5_6(tick: Tick) -> Outcome:
    """Evaluations for chains of equal mass and length and ever smaller first links."""
    rows: list[Row] = []
    work = len(FIGURE_5_6) + len(ARRANGEMENTS) * len(STEEP)
    for ratio in FIGURE_5_6:
        kappa = conditions(short_first_link(ratio), np.linspace(0, 2 * np.pi, 41)).max()
        rows.append(Row(ratio, float(kappa), evaluations(ratio, ABM), evaluations(ratio, CRBM)))
        tick(len(rows) / work)
    abm = {row.ratio: row.abm for row in rows}
    climbs: dict[int, list[Floats]] = {method: [] for method in ARRANGEMENTS}
    for i, ratio in enumerate(STEEP):
        for k, (method, found) in enumerate(climbs.items()):
            counts = [evaluations(r, method) for r in ratio * NEIGHBOURS]
            found.append(np.array(counts) / abm[ratio])
            tick((len(rows) + i * len(climbs) + k + 1) / work)
    tables = {"evaluations": _table(rows), "arrangements": _arrangements(rows, climbs)}
    return Outcome(
        _checks(rows, climbs), tables, lambda figure: _draw(figure, rows), shown=list(tables)
    )


def _told(value: float, form: str = "") -> str:
    return f"{value:{form}}" if np.isfinite(value) else "failed"


def _table(rows: list[Row]) -> Table:
    columns = ["l1/L", "condition", "ABM", "paper", "CRBM", "paper's", "ratio", "paper's ratio"]
    cells: list[list[Cell]] = []
    for r in rows:
        climbs = (_told(x, ".2f") for x in (r.climb, r.paper_climb))
        counts = (_told(r.abm), r.paper[0], _told(r.crbm), _told(r.paper[1]))
        cells.append([f"{r.ratio:.0e}", f"{r.condition:.1e}", *counts, *climbs])
    return Table(columns, cells)


def _arrangements(rows: list[Row], climbs: dict[int, list[Floats]]) -> Table:
    """CRBM / ABM of five neighbouring ratios: median, least and most."""
    cells = [
        [ARRANGEMENTS[method]]
        + [f"{np.median(c):.2f} ({c.min():.2f} to {c.max():.2f})" for c in found]
        for method, found in climbs.items()
    ]
    paper = [f"{row.paper_climb:.2f}" for row in rows if row.ratio in STEEP]
    columns = ["moments, elimination", *(f"{ratio:.0e}" for ratio in STEEP)]
    return Table(columns, [*cells, ["paper", *paper]])


def _checks(rows: list[Row], climbs: dict[int, list[Floats]]) -> list[Check]:
    worst = max(abs(row.abm / row.paper[0] - 1) for row in rows)
    flat = max(row.climb for row in rows if row.ratio > 5e-8)
    steep = [row for row in rows if row.ratio in STEEP]
    off = max(abs(row.climb / row.paper_climb - 1) for row in steep)
    last = rows[-1]
    medians = [[float(np.median(c)) for c in found] for found in climbs.values()]
    return [
        Check(
            "ABM's evaluations, ten ratios",
            "6526, 31424, then 23800",
            f"worst off by {100 * worst:.1f} %",
            "within 3 %",
            worst < 0.03,
        ),
        Check("CRBM / ABM down to 1e-7", "1.00", f"at most {flat:.3f}", "below 1.02", flat < 1.02),
        Check(
            "CRBM / ABM at 1e-8, 4e-9, 2e-9, 1e-9, 1e-10",
            ", ".join(_told(row.paper_climb, ".2f") for row in (*steep, last)),
            ", ".join(_told(row.climb, ".2f") for row in (*steep, last)),
            "each within 10 %, the last fails",
            bool(off < 0.1 and last.climb == np.inf),
        ),
        Check(
            "CRBM / ABM at 1e-9, four orders of operations",
            "2.69",
            ", ".join(f"{m[-1]:.2f}" for m in medians),
            "in each, CRBM climbs past 1.1 between 1e-8 and 2e-9",
            all(m == sorted(m) and m[0] < 1.1 < m[2] for m in medians),
        ),
    ]


def _draw(figure: Any, rows: list[Row]) -> None:
    panel = figure.subplots()
    ratio = [row.ratio for row in rows]
    for label, color, style, values in (
        ("ABM", "#4a5463", "o-", [row.abm for row in rows]),
        ("ABM, paper", "#4a5463", "x--", [row.paper[0] for row in rows]),
        ("CRBM", "#c8553d", "o-", [row.crbm for row in rows]),
        ("CRBM, paper", "#c8553d", "x--", [row.paper[1] for row in rows]),
    ):
        shown = [value if np.isfinite(value) else np.nan for value in values]
        panel.loglog(ratio, shown, style, color=color, label=label, ms=5)
    panel.set_xlabel("length of link 1 / length of both")
    panel.set_ylabel("evaluations")
    panel.invert_xaxis()
    panel.legend()


EXPERIMENTS = (
    Experiment(
        "cloutier-5.6",
        "Cloutier 1995, figure 5.6: formulation stiffness",
        "Two links of total length and mass 1, width 0.1 (reconstructed), masses as lengths, from "
        "rest along the horizontal, 10 s, tolerance 1e-6. Where the composite method's error "
        "passes the tolerance, its noise makes the integrator shorten its steps. How steeply it "
        "climbs there is a matter of the order of operations, which is not printed: the second "
        "table has four orders that agree in exact numbers, each for five first links that differ "
        "by parts in 1e9 (median, least and most). The one that follows the text (mass, centre "
        "and moment of what a joint carries, section 3.1.1; elimination from the tip, eq. 4.9) "
        "comes within some per cent of the paper; Cholesky's factors from the base, which section "
        "5.2.1 names for single evaluations, nearly double the climb. The limit after which the "
        f"paper gave up is not stated: here {LIMIT} evaluations.",
        figure_5_6,
    ),
)
