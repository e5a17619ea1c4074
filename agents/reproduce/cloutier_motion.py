"""Source 003, figures 5.2, 5.6 and 5.8: what an adaptive integrator makes of the methods."""

from __future__ import annotations

from typing import Any

import numpy as np

from dynenvs.agents.reproduce.cloutier_dynamics import conditions
from dynenvs.agents.reproduce.experiment import Check, Experiment, Outcome, Table, Tick, percent
from dynenvs.agents.reproduce.planar_robot import (
    ABM,
    CRBM,
    GRAVITY,
    PlanarRobot,
    Run,
    simulate_robot,
)
from dynenvs.layout import Floats

NAMES = {ABM: "ABM", CRBM: "CRBM"}


def energies(robot: PlanarRobot, run: Run) -> Floats:
    """Energy of each state [J]."""
    n = len(robot.masses)
    return np.array([robot.energy(y[:n], y[n:]) for y in run.y])


def figure_5_2(tick: Tick) -> Outcome:
    """The statistics that the simulator prints."""
    robot = PlanarRobot.regular(3, 10.0, 1.0, 1.0)
    rows, checks = [], []
    for i, method in enumerate((CRBM, ABM)):
        run = simulate_robot(robot, np.array([1.5, 0, 0]), 10.0, 1e-4, method, tau=np.ones(3))
        mean = float(energies(robot, run).mean())
        rows.append((NAMES[method], run.good, run.bad, run.evaluations, mean))
        if method == CRBM:
            checks = [
                Check("successful steps", "58", str(run.good)),
                Check("bad steps", "38", str(run.bad)),
                Check(
                    "function evaluations",
                    "801",
                    f"{run.evaluations} ({percent(run.evaluations, 801)})",
                    "within 10 %",
                    abs(run.evaluations / 801 - 1) < 0.1,
                ),
                Check(
                    "average energy [J]",
                    "1313.94",
                    f"{mean:.2f} ({percent(mean, 1313.94)})",
                    "within 0.1 %",
                    abs(mean / 1313.94 - 1) < 1e-3,
                ),
            ]
        tick((i + 1) / 2)
    table = Table(["method", "good", "bad", "evaluations", "average energy"], rows)
    return Outcome(checks, {"statistics": table}, shown=["statistics"])


# l1 / (l1 + l2): evaluations of ABM and CRBM in the paper's figure 5.6 (None: failed)
FIGURE_5_6: dict[float, tuple[int, int | None]] = {
    1e-1: (6526, 6553),
    1e-3: (31424, 31469),
    1e-5: (23787, 23756),
    1e-6: (23825, 23888),
    1e-7: (23797, 23779),
    1e-8: (23812, 24395),
    4e-9: (23828, 25392),
    2e-9: (23792, 31015),
    1e-9: (23792, 64065),
    1e-10: (23822, None),
}
LIMIT = 500_000  # evaluations: the paper's "maximum number of iterations" is not stated


def figure_5_6(tick: Tick) -> Outcome:
    """Evaluations for chains of equal mass and length and ever smaller first links."""
    rows: list[tuple[Any, ...]] = []
    for i, (ratio, (paper_abm, paper_crbm)) in enumerate(FIGURE_5_6.items()):
        parts = np.array([ratio, 1.0 - ratio])
        robot = PlanarRobot(parts, parts, np.array([0.1, 0.1]))
        counts: dict[int, int | None] = {}
        for method in (ABM, CRBM):
            try:
                run = simulate_robot(robot, np.zeros(2), 10.0, 1e-6, method, limit=LIMIT)
                counts[method] = run.evaluations
            except ArithmeticError:
                counts[method] = None
        kappa = float(conditions(robot, np.linspace(0, 2 * np.pi, 41)).max())
        rows.append((ratio, kappa, counts[ABM], paper_abm, counts[CRBM], paper_crbm))
        tick((i + 1) / len(FIGURE_5_6))
    return Outcome(
        _checks_5_6(rows), {"evaluations": _table_5_6(rows)}, _draw_5_6(rows), shown=["evaluations"]
    )


def _table_5_6(rows: list[tuple[Any, ...]]) -> Table:
    columns = ["l1/L", "condition", "ABM", "paper", "CRBM", "paper's", "ratio", "paper's ratio"]
    cells = []
    for r, kappa, abm, paper_abm, crbm, paper_crbm in rows:
        ours = "failed" if crbm is None else f"{crbm / abm:.2f}"
        theirs = "failed" if paper_crbm is None else f"{paper_crbm / paper_abm:.2f}"
        pair = (crbm if crbm else "failed", paper_crbm if paper_crbm else "failed")
        cells.append([f"{r:.0e}", f"{kappa:.1e}", abm, paper_abm, *pair, ours, theirs])
    return Table(columns, cells)


def _checks_5_6(rows: list[tuple[Any, ...]]) -> list[Check]:
    worst = max(abs(abm / paper - 1) if abm else 1.0 for _, _, abm, paper, _, _ in rows)
    climb = {r: (crbm / abm if crbm else np.inf) for r, _, abm, _, crbm, _ in rows}
    tail = [climb[r] for r in (1e-8, 4e-9, 2e-9, 1e-9, 1e-10)]
    return [
        Check(
            "ABM's evaluations, ten ratios",
            "6526, 31424, then 23800",
            f"worst off by {100 * worst:.1f} %",
            "within 3 %",
            worst < 0.03,
        ),
        Check(
            "CRBM / ABM down to 1e-7",
            "1.00",
            f"at most {max(climb[r] for r in (1e-1, 1e-3, 1e-5, 1e-6, 1e-7)):.3f}",
            "below 1.02",
            max(climb[r] for r in (1e-1, 1e-3, 1e-5, 1e-6, 1e-7)) < 1.02,
        ),
        Check(
            "CRBM / ABM at 1e-8, 4e-9, 2e-9, 1e-9, 1e-10",
            "1.02, 1.07, 1.30, 2.69, fails",
            ", ".join("fails" if x == np.inf else f"{x:.2f}" for x in tail),
            "rises, 1.1 passed between 1e-8 and 2e-9, fails at 1e-10",
            bool(np.all(np.diff(tail[:4]) > 0) and tail[0] < 1.1 < tail[2] and tail[4] == np.inf),
        ),
    ]


def _draw_5_6(rows: list[tuple[Any, ...]]) -> Any:
    def draw(figure: Any) -> None:
        panel = figure.subplots()
        ratio = [row[0] for row in rows]
        for column, label, color, style in (
            (2, "ABM", "#4a5463", "o-"),
            (3, "ABM, paper", "#4a5463", "x--"),
            (4, "CRBM", "#c8553d", "o-"),
            (5, "CRBM, paper", "#c8553d", "x--"),
        ):
            values = [np.nan if row[column] is None else row[column] for row in rows]
            panel.loglog(ratio, values, style, color=color, label=label, ms=5)
        panel.set_xlabel("length of link 1 / length of both")
        panel.set_ylabel("evaluations")
        panel.invert_xaxis()
        panel.legend()

    return draw


def figure_5_8(tick: Tick) -> Outcome:
    """Total energy of a four-link chain over 20 s."""
    length = 3304.8 / (16 * GRAVITY)
    robot = PlanarRobot.regular(4, length, 1.0, 1.0)
    found, checks = {}, []
    for i, method in enumerate((ABM, CRBM)):
        run = simulate_robot(robot, np.zeros(4), 20.0, 1e-5, method)
        energy = energies(robot, run)
        found[method] = (np.array(run.t), energy)
        worst = float(np.abs(energy / energy[0] - 1).max())
        name = NAMES[method]
        checks += [
            Check(
                f"energy lost or gained at most, {name}",
                "0.15 of 3304.8 J: 5 digits",
                f"{worst * energy[0]:.2f} J ({worst:.1e})",
                "below 1e-4 (the step's tolerance is 1e-5)",
                worst < 1e-4,
            ),
        ]
        tick((i + 1) / 2)

    def draw(figure: Any) -> None:
        for panel, (method, (t, energy)) in zip(figure.subplots(2, 1), found.items(), strict=True):
            panel.plot(t, energy, color="#4a5463")
            panel.set_title(NAMES[method], fontsize="small")
            panel.set_ylabel("energy [J]")
            panel.ticklabel_format(useOffset=False)
        panel.set_xlabel("time [s]")

    data = {
        NAMES[method]: Table(
            ["time", "energy"], [[float(a), float(b)] for a, b in zip(*pair, strict=True)]
        )
        for method, pair in found.items()
    }
    return Outcome(checks, data, draw)


EXPERIMENTS = (
    Experiment(
        "cloutier-5.2",
        "003, figure 5.2: the simulator's statistics",
        "Three links, q = (1.5, 0, 0), torques of 1 N m, tolerance 1e-4, 10 s, Cash-Karp steps by "
        "Numerical Recipes' `odeint`. The robot file is not printed: mass 1, length 10 and width 1 "
        "were reconstructed from the average energy. The motion is chaotic, so counts depend on "
        "the order of roundings; the paper ran the composite method with LU factors.",
        figure_5_2,
    ),
    Experiment(
        "cloutier-5.6",
        "003, figure 5.6: formulation stiffness",
        "Two links of total length and mass 1, width 0.1 (reconstructed), masses as lengths, from "
        "rest along the horizontal, 10 s, tolerance 1e-6. Where the composite method's error "
        "passes the tolerance, its noise makes the integrator shorten its steps. The last rows "
        "depend on the pattern of roundoff; the limit after which the paper gave up is not "
        f"stated: here {LIMIT} evaluations.",
        figure_5_6,
    ),
    Experiment(
        "cloutier-5.8",
        "003, figure 5.8: energy is kept",
        "A four-link chain, tolerance 1e-5, 20 s. The robot and its start are not given and could "
        "not be reconstructed: here equal links of mass 1 and width 1 start from the horizontal, "
        "their length chosen so that the energy is the paper's 3304.8 J. So only the size of the "
        "deviation can be compared, not the curve.",
        figure_5_8,
    ),
)
