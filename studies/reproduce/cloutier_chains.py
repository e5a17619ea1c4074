"""Cloutier 1995, figures 5.9 and 5.10: long regular chains for a minute."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from studies.reproduce.cloutier_motion import NAMES, energies
from studies.reproduce.experiment import Check, Experiment, Outcome, Table, Tick
from studies.reproduce.planar_kernels import ABM, CRBM
from studies.reproduce.planar_robot import PlanarRobot, simulate_robot

SECONDS, TOLERANCE = 60.0, 1e-4
REPEATS, TIMED = 30, 500  # the fastest of so many turns of so many evaluations


class Row(NamedTuple):
    """A line of figure 5.9."""

    links: int
    method: str
    energy: float  # at the start [J]
    evaluations: int
    deviation: float  # of the average energy [%]
    seconds: float  # that so many compiled evaluations take [s]


# links: evaluations, deviation [%] and time [s] of ABM and CRBM
PAPER = {
    2: ((2377, 0.011, 0.68), (2324, 0.003, 0.67)),
    4: ((3897, 0.017, 2.18), (4362, 0.036, 2.67)),
    6: ((5818, 0.015, 4.85), (5912, 0.021, 5.92)),
    8: ((7668, 0.028, 8.75), (6916, 0.018, 10.62)),
    10: ((8576, 0.019, 11.95), (8892, 0.030, 19.47)),
    12: ((9234, 0.025, 15.18), (9746, 0.019, 28.85)),
    14: ((10497, 0.016, 20.78), (10039, 0.015, 39.25)),
}


def run_chain(links: int, method: int) -> Row:
    """Simulate one chain from the horizontal."""
    robot = PlanarRobot.regular(links, 10.0, 10.0, 1.0)
    run = simulate_robot(robot, np.zeros(links), SECONDS, TOLERANCE, method)
    seconds = run.evaluations * min(_seconds(robot, method) for _ in range(REPEATS))
    energy = energies(robot, run)
    deviation = 100 * abs(float(energy.mean() / energy[0]) - 1)
    return Row(links, NAMES[method], float(energy[0]), run.evaluations, deviation, seconds)


def _seconds(robot: PlanarRobot, method: int) -> float:
    """Time of one compiled evaluation [s]."""
    q = np.linspace(0.1, 0.2, len(robot.masses))
    begin = time.perf_counter()
    robot.accelerate_often(q, method, TIMED)
    return (time.perf_counter() - begin) / TIMED


def figure_5_9(tick: Tick) -> Outcome:
    """Energy, evaluations and time for 2 to 14 links."""
    for method in (ABM, CRBM):  # compiled before time is taken
        run_chain(2, method)
    rows = []
    for i, links in enumerate(PAPER):
        rows += [run_chain(links, method) for method in (ABM, CRBM)]
        tick((i + 1) / len(PAPER))
    return Outcome(
        _checks(rows),
        {"chains": _table(rows)},
        lambda figure: _draw(figure, rows),
        (8.5, 3.6),
        ["chains"],
    )


def _paper(row: Row) -> tuple[int, float, float]:
    return PAPER[row.links][row.method == "CRBM"]


def _checks(rows: list[Row]) -> list[Check]:
    exact = all(row.energy == 980.0 * row.links**2 for row in rows)
    found = [
        Check(
            "energy at the start",
            "3920 to 192080 J",
            f"{rows[0].energy:.12g} to {rows[-1].energy:.12g} J",
            "980 n^2 exactly",
            exact,
        )
    ]
    for method in ("ABM", "CRBM"):
        mine = [row for row in rows if row.method == method]
        ratios = [row.evaluations / _paper(row)[0] for row in mine]
        found += [
            Check(
                f"evaluations of {method}, ours / paper",
                "1",
                ", ".join(f"{ratio:.2f}" for ratio in ratios),
                "within 15 %",
                max(abs(ratio - 1) for ratio in ratios) < 0.15,
            ),
            Check(
                f"deviation of the average energy, {method}",
                "0.003 to 0.036 %",
                f"{min(r.deviation for r in mine):.3f} to {max(r.deviation for r in mine):.3f} %",
                "below 0.05 %",
                max(row.deviation for row in mine) < 0.05,
            ),
        ]
    times = {row[:2]: row.seconds for row in rows}
    first, last = (times[n, "CRBM"] / times[n, "ABM"] for n in (2, 14))
    found.append(
        Check(
            "time of CRBM / ABM, 2 and 14 links",
            "1.0 and 1.9",
            f"{first:.1f} and {last:.1f}",
            "grows",
            last > first,
        )
    )
    return found


def _table(rows: list[Row]) -> Table:
    columns = [*Row._fields, "paper: evaluations", "deviation [%]", "seconds"]
    return Table(columns, [[*row, *_paper(row)] for row in rows])


def _draw(figure: Any, rows: list[Row]) -> None:
    counts, times = figure.subplots(1, 2)
    for method, color in (("ABM", "#4a5463"), ("CRBM", "#c8553d")):
        mine = [row for row in rows if row.method == method]
        links = [row.links for row in mine]
        counts.plot(links, [row.evaluations for row in mine], "o-", color=color, label=method)
        counts.plot(
            links, [_paper(row)[0] for row in mine], "x--", color=color, label=f"{method}, paper"
        )
        times.plot(links, [row.seconds for row in mine], "o-", color=color, label=method)
    counts.set_ylabel("evaluations")
    times.set_ylabel("time [s]")
    for panel in (counts, times):
        panel.set_xlabel("links")
        panel.legend(fontsize="small")


EXPERIMENTS = (
    Experiment(
        "cloutier-5.9",
        "Cloutier 1995, figures 5.9 and 5.10: long chains",
        "Regular chains of 2 to 14 links swing from the horizontal for 60 s, tolerance 1e-4. Mass "
        "and length are not given: the energy at the start (zero at the lowest reach) fixes their "
        "product, 100, and the evaluations single out m = l = 10, w = 1. The paper's times are a "
        "SUN 4/75's and include the integrator; ours are those of as many evaluations in compiled "
        "code.",
        figure_5_9,
    ),
)
