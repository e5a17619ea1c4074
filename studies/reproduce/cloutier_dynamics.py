"""Cloutier 1995, figures 5.3, 5.4, 5.5 and 5.7: one evaluation of the forward dynamics."""

from __future__ import annotations

from typing import Any

import numpy as np

from dynenvs.memory.layout import Floats
from studies.reproduce.experiment import Check, Experiment, Outcome, Table, Tick
from studies.reproduce.planar_kernels import ABM, BAD_ABM, CRBM
from studies.reproduce.planar_robot import PlanarRobot

SWEEP = np.linspace(0.0, 2 * np.pi, 401)  # of joint 2 [rad]
ZERO = np.zeros(2)


def heavy_tip(size: float) -> PlanarRobot:
    """Unit first link, second link of length and mass `size`, widths one."""
    return PlanarRobot(np.array([1.0, size]), np.array([1.0, size]), np.ones(2))


def sweep(robot: PlanarRobot, method: int, angles: Floats = SWEEP) -> Floats:
    """Acceleration of joint 1 at rest, for each angle of joint 2 [rad/s^2]."""
    found = [robot.acceleration(np.array([0.0, a]), ZERO, ZERO, method)[0] for a in angles]
    return np.array(found)


def conditions(robot: PlanarRobot, angles: Floats = SWEEP) -> Floats:
    """2-norm condition number of the joint-space inertia for each angle."""
    return np.array([np.linalg.cond(robot.inertia(np.array([0.0, a]))) for a in angles])


def _difference(robot: PlanarRobot) -> Floats:
    """|ABM - CRBM| / |ABM| of joint 1."""
    abm = sweep(robot, ABM)
    return np.abs((abm - sweep(robot, CRBM)) / abm)


def figure_5_3(tick: Tick) -> Outcome:
    """Condition number and difference over the angle of joint 2."""
    robot = heavy_tip(1e2)
    kappa, difference = conditions(robot), _difference(robot)
    worst = float(SWEEP[np.argmax(kappa)])

    def draw(figure: Any) -> None:
        top, bottom = figure.subplots(2, 1, sharex=True)
        top.semilogy(SWEEP, kappa, color="#4a5463")
        top.set_ylabel("condition number")
        bottom.semilogy(SWEEP, np.maximum(difference, 1e-17), ".", ms=3, color="#c8553d")
        bottom.set_ylabel("relative difference")
        bottom.set_xlabel("angle of joint 2 [rad]")

    straight = abs(np.sin(worst)) < 0.02
    return Outcome(
        [
            Check(
                "condition number",
                "order of 1e4",
                f"{kappa.min():.2g} to {kappa.max():.2g}",
                "1e4 to 1e5",
                bool(kappa.min() > 1e4 and kappa.max() < 1e5),
            ),
            Check("it is largest at", "the singularities", f"{worst:.2f} rad", "sin = 0", straight),
            Check(
                "relative difference of ABM and CRBM",
                "order of 1e-12",
                f"median {np.median(difference):.1g}, largest {difference.max():.1g}",
                "median 1e-13 to 1e-11",
                bool(1e-13 < np.median(difference) < 1e-11),
            ),
        ],
        {"sweep": Table(["angle", "condition", "difference"], _rows(SWEEP, kappa, difference))},
        draw,
    )


def figure_5_4(tick: Tick) -> Outcome:
    """Largest condition number and difference of sweeps, over the second link's size."""
    sizes = 10.0 ** np.arange(0, 6.5, 0.5)
    kappa = np.array([conditions(heavy_tip(s)).max() for s in sizes])
    worst = np.array([_difference(heavy_tip(s)).max() for s in sizes])
    usual = np.array([np.median(_difference(heavy_tip(s))) for s in sizes])

    def draw(figure: Any) -> None:
        panel = figure.subplots()
        panel.loglog(sizes, kappa * 1.1e-16, "--", color="#4a5463", label="condition x 1.1e-16")
        panel.loglog(sizes, np.maximum(worst, 1e-17), "o-", color="#c8553d", label="largest")
        panel.loglog(sizes, np.maximum(usual, 1e-17), "s-", color="#e0a458", label="median")
        panel.set_xlabel("length and mass of link 2")
        panel.set_ylabel("difference of ABM and CRBM")
        panel.legend()

    ratio = worst / (kappa * 1.1e-16)
    slope = np.polyfit(np.log10(kappa), np.log10(worst), 1)[0]
    decades = np.log10(kappa[-1] / kappa[0])
    return Outcome(
        [
            Check(
                "difference against condition number",
                "proportional",
                f"slope {slope:.2f} over {decades:.1f} decades",
                "0.9 to 1.1 over ten decades",
                bool(0.9 < slope < 1.1 and decades > 10),
            ),
            Check(
                "difference / (condition x 1.1e-16)",
                "about 1",
                f"{ratio.min():.2g} to {ratio.max():.2g}",
                "1e-2 to 1e2",
                bool(ratio.min() > 1e-2 and ratio.max() < 1e2),
            ),
        ],
        {
            "sizes": Table(
                ["size", "condition", "largest difference", "median difference"],
                _rows(sizes, kappa, worst, usual),
            )
        },
        draw,
        shown=["sizes"],
    )


def _rows(*columns: Floats) -> list[list[float]]:
    return [[float(x) for x in row] for row in zip(*columns, strict=True)]


def _roughness(values: Floats) -> float:
    """Largest second difference: what is not smooth at the sweep's spacing."""
    return float(np.abs(np.diff(values, 2)).max())


NARROW = np.linspace(1.0, 1.02, 201)  # where roundoff shows against the curve [rad]


def figure_5_5(tick: Tick) -> Outcome:
    """Acceleration of joint 1 as each method has it, for three sizes of link 2."""
    sizes = (4e4, 5e4, 1e5)
    found = {s: (sweep(heavy_tip(s), ABM), sweep(heavy_tip(s), CRBM)) for s in sizes}
    narrow = [sweep(heavy_tip(1e5), m, NARROW) for m in (ABM, CRBM)]

    def draw(figure: Any) -> None:
        for panel, size in zip(figure.subplots(1, 3), sizes, strict=True):
            panel.plot(SWEEP, found[size][1], lw=0.5, color="#e0a458", label="CRBM")
            panel.plot(SWEEP, found[size][0], lw=1.5, color="#4a5463", label="ABM")
            panel.set_title(f"link 2: {size:.0e}", fontsize="small")
            panel.ticklabel_format(useOffset=False)
            panel.tick_params(labelsize=7)
            panel.set_xlabel("joint 2 [rad]")
        panel.legend(fontsize="small")

    span = found[4e4][0]
    rough = [_roughness(n) for n in narrow]
    return Outcome(
        [
            Check(
                "range of ABM's acceleration, link 2 = 4e4",
                "-9.80001 to -9.8001",
                f"{span.max():.6f} to {span.min():.6f}",
            ),
            Check(
                "second difference at 1e5, ABM",
                "smooth",
                f"{rough[0]:.1g}",
                "below 1e-7",
                rough[0] < 1e-7,
            ),
            Check(
                "second difference at 1e5, CRBM",
                "not smooth",
                f"{rough[1]:.1g}",
                "above 1e-5",
                rough[1] > 1e-5,
            ),
        ],
        {
            f"size-{size:.0e}": Table(["angle", "ABM", "CRBM"], _rows(SWEEP, *pair))
            for size, pair in found.items()
        },
        draw,
        (9.0, 3.4),
    )


def figure_5_7(tick: Tick) -> Outcome:
    """The good and the bad order of the articulated-body method."""
    robot = heavy_tip(1e5)
    good, bad = sweep(robot, ABM), sweep(robot, BAD_ABM)
    rough = [_roughness(sweep(robot, m, NARROW)) for m in (ABM, BAD_ABM)]

    def draw(figure: Any) -> None:
        panel = figure.subplots()
        panel.plot(SWEEP, bad, lw=0.5, color="#e0a458", label='"bad" ABM')
        panel.plot(SWEEP, good, lw=1.5, color="#4a5463", label="ABM")
        panel.ticklabel_format(useOffset=False)
        panel.set_xlabel("angle of joint 2 [rad]")
        panel.set_ylabel("acceleration of joint 1 [rad/s$^2$]")
        panel.legend()

    return Outcome(
        [
            Check(
                "second difference, ABM", "smooth", f"{rough[0]:.1g}", "below 1e-7", rough[0] < 1e-7
            ),
            Check(
                'second difference, "bad" ABM',
                "not smooth",
                f"{rough[1]:.1g}",
                "above 1e-5",
                rough[1] > 1e-5,
            ),
        ],
        {"sweep": Table(["angle", "ABM", "bad ABM"], _rows(SWEEP, good, bad))},
        draw,
    )


EXPERIMENTS = (
    Experiment(
        "cloutier-5.3",
        "Cloutier 1995, figure 5.3: the condition number follows the configuration",
        "Two links, the second of length and mass 100, widths one, first link of unit length and "
        "mass, at rest under gravity; joint 2 turns once round. All parameters are stated.",
        figure_5_3,
    ),
    Experiment(
        "cloutier-5.4",
        "Cloutier 1995, figure 5.4: the error follows the condition number",
        "The same robot, link 2 of length and mass 1 to 1e6; largest values of a sweep of joint 2. "
        "The paper shows the points of one configuration; its numbers are not printed.",
        figure_5_4,
    ),
    Experiment(
        "cloutier-5.5",
        "Cloutier 1995, figure 5.5: where the composite method's acceleration is noise",
        "Link 2 of 4e4, 5e4 and 1e5. The curves' second differences are taken over a sweep of "
        "0.02 rad in steps of 1e-4, where the curve itself is straight.",
        figure_5_5,
    ),
    Experiment(
        "cloutier-5.7",
        "Cloutier 1995, figure 5.7: the articulated-body method written badly",
        "The bad form adds a child's inertia to its parent's before it subtracts the projection "
        "(section 4.3); it loses what the good form keeps. Link 2 of 1e5.",
        figure_5_7,
    ),
)
