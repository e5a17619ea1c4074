"""Cloutier 1995, figures 5.2 and 5.8: what an adaptive integrator makes of the methods."""

from __future__ import annotations

from typing import Any

import numpy as np

from dynenvs.memory.layout import Floats
from studies.reproduce.experiment import Check, Experiment, Outcome, Table, Tick, percent
from studies.reproduce.planar_kernels import ABM, CRBM, GRAVITY
from studies.reproduce.planar_robot import PlanarRobot, Run, simulate_robot

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
        "Cloutier 1995, figure 5.2: the simulator's statistics",
        "Three links, q = (1.5, 0, 0), torques of 1 N m, tolerance 1e-4, 10 s, Cash-Karp steps by "
        "Numerical Recipes' `odeint`. The robot file is not printed: mass 1, length 10 and width 1 "
        "were reconstructed from the average energy. The motion is chaotic, so counts depend on "
        "the order of roundings; the paper ran the composite method with LU factors.",
        figure_5_2,
    ),
    Experiment(
        "cloutier-5.8",
        "Cloutier 1995, figure 5.8: energy is kept",
        "A four-link chain, tolerance 1e-5, 20 s. The robot and its start are not given and could "
        "not be reconstructed: here equal links of mass 1 and width 1 start from the horizontal, "
        "their length chosen so that the energy is the paper's 3304.8 J. So only the size of the "
        "deviation can be compared, not the curve.",
        figure_5_8,
    ),
)
