"""Work and precision: what an error costs, by length of the step and by tolerance of the solver."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import atan, sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console

from dynenvs.agents.console import working
from dynenvs.files import written_whole
from dynenvs.simulation.world import SimulationError
from studies.bench.peers import MissingPeer, peer
from studies.verify.clock import Clock
from studies.verify.in_pinocchio import InPinocchio
from studies.verify.ours import Ours
from studies.verify.piles import BRICK, pile, wall
from studies.verify.rest import HALF
from studies.verify.scene import Make, Scene, box, tilted
from studies.verify.sliding import spinning_tripod

LENGTHS = (8e-3, 4e-3, 2e-3, 1e-3)  # of a step [s]
TOLERANCES = (1e-3, 1e-5, 1e-7, 1e-9, 1e-11)
REST = 0.2  # for how long what stands is watched [s]
STEPS = 20  # of which residuals are taken
EXPLAINED = """\
Above, points by the length of the step (8, 4, 2 and 1 ms): a scene's error over the processor time
of a simulated second. Below, points by the solver's tolerance (1e-3 to 1e-11) at 2 ms: the worst
residual of a step over the median time of a step; how far impulses are from the laws of contact, in
the velocity that this is worth, over the largest free velocity. dynenvs has one tolerance, its
certificate's 1e-9, and is one point there. Left and below is better."""
LEAST = 1e-16  # what a logarithmic axis shows of zero


class Point(NamedTuple):
    """One run of one system."""

    panel: str
    system: str
    setting: float  # length of the step [s], or tolerance
    error: float
    seconds: float  # of the processor: for a simulated second above, for a step below


def stack(timestep: float, ratio: float = 1e4) -> Scene:
    """Three boxes, the heaviest on top."""
    half = (0.1, 0.1, 0.05)
    solids = tuple(
        box(sqrt(ratio) ** i, half, position=(0.0, 0.0, half[2] * (2 * i + 1))) for i in range(3)
    )
    return Scene(solids, timestep)


def bricks(timestep: float) -> Scene:
    """A wall of twelve."""
    return pile(BRICK, wall(12), timestep)


def held(timestep: float) -> Scene:
    """A block at 90 % of the slope at which it would slide."""
    block = box(2.0, HALF, position=(0.0, 0.0, HALF[2]))
    return Scene((block,), timestep, gravity=tilted(atan(0.9 * 0.5), 0.4))


def _moved(scene: Callable[[float], Scene], make: Make, timestep: float) -> float:
    """How far anything at rest is moved by the end [m]."""
    simulation = make(scene(timestep))
    start = simulation.read().position
    simulation.step(round(REST / timestep))
    return float(np.abs(simulation.read().position - start).max())


def _tripod(make: Make, timestep: float) -> float:
    """By how much of its way a tripod that spins as it slides ends in the wrong place."""
    return spinning_tripod(make, 22.5, timestep).off


BY_LENGTH: dict[str, Callable[[Make, float], float]] = {
    "tripod slides and spins: place off / distance": _tripod,
    "stack, masses 1 to 1e4: moved [m]": partial(_moved, stack),
    "wall of 12 bricks: moved [m]": partial(_moved, bricks),
}
BY_TOLERANCE: dict[str, Callable[[float], Scene]] = {
    "block held on a slope": held,
    "stack, masses 1 to 1e4": stack,
    "wall of 12 bricks": bricks,
}


def points(systems: dict[str, Callable[..., Any]], console: Console) -> list[Point]:
    """Every scene in every system; what is not installed or fails has no points."""
    found = []
    for panel, run in BY_LENGTH.items():
        for name, make in systems.items():
            for length in LENGTHS:
                with working(console, f"{panel}, {name}, {1e3 * length:g} ms"):
                    found += _by_length(panel, run, name, make, length)
    for panel, scene in BY_TOLERANCE.items():
        for name, make in systems.items():
            with working(console, f"{panel}, {name}"):
                if name.startswith("Pinocchio"):
                    found += _by_tolerance(panel, scene(2e-3), name)
                elif name.startswith("dynenvs"):
                    found += _certificate(panel, scene(2e-3), name, make)
    return found


def _by_length(
    panel: str, run: Callable[[Make, float], float], name: str, make: Make, length: float
) -> list[Point]:
    clock = Clock(make)
    try:
        error = run(clock, length)
    except (MissingPeer, SimulationError):
        return []
    each = clock.take() or 0.0
    return [Point(panel, name, length, error, each / length)] if np.isfinite(error) else []


def _by_tolerance(panel: str, scene: Scene, name: str) -> list[Point]:
    """One of Pinocchio's solvers at all tolerances."""
    found = []
    for tolerance in TOLERANCES:
        try:
            simulation = InPinocchio(scene, name.split()[-1], tolerance)
            times = []
            for _ in range(STEPS):
                before = simulation.spent
                simulation.step()
                times.append(simulation.spent - before)
        except (MissingPeer, SimulationError):
            continue
        worst = simulation.stepper.residual
        found.append(Point(panel, name, tolerance, worst, float(np.median(times))))
    return found


def _certificate(panel: str, scene: Scene, name: str, make: Make) -> list[Point]:
    """dynenvs, which stops at its certificate."""
    clock = Clock(make)
    simulation = clock(scene)
    simulation.step(1)
    clock.take()
    simulation.step(STEPS)
    inner = simulation._simulation  # type: ignore[attr-defined]
    assert isinstance(inner, Ours)
    return [Point(panel, name, 1e-9, inner.world.diagnostics.residual, clock.take() or 0.0)]


def plot(path: Path, found: Sequence[Point], colors: dict[str, str]) -> None:
    """Draw all panels, a curve for each system.

    Raises:
        MissingPeer: no matplotlib.
    """
    figure = peer("matplotlib.figure").Figure(figsize=(13.0, 8.0), layout="constrained")
    panels = figure.subplots(2, 3)
    names: dict[str, Any] = {}
    for row, titles, across, up in (
        (panels[0], BY_LENGTH, "processor time for a simulated second [s]", "error"),
        (panels[1], BY_TOLERANCE, "processor time a step [s]", "worst residual"),
    ):
        for panel, title in zip(row, titles, strict=True):
            for name in dict.fromkeys(point.system for point in found):
                mine = [p for p in found if p.panel == title and p.system == name]
                if mine:
                    (line,) = panel.plot(
                        [p.seconds for p in mine],
                        [max(p.error, LEAST) for p in mine],
                        marker="o",
                        markersize=4,
                        color=colors.get(name),
                    )
                    names.setdefault(name, line)
            panel.set_xscale("log")
            _label_decades(panel)
            panel.set_yscale("log")
            panel.set_title(title, fontsize="medium")
            panel.set_xlabel(across)
            panel.set_ylabel(up)
            panel.grid(alpha=0.3)
    figure.legend(names.values(), names.keys(), loc="outside upper center", ncols=4, frameon=False)
    with written_whole(path) as file:
        figure.savefig(file, dpi=80)


def _label_decades(panel: Any) -> None:
    """Labels at whole decades alone, two of them at least: those between would overlap."""
    low, high = panel.get_xlim()
    if high < 100.0 * low:
        middle = (low * high) ** 0.5
        panel.set_xlim(middle / 10.0, middle * 10.0)
    panel.xaxis.set_minor_formatter(peer("matplotlib.ticker").NullFormatter())


def markdown(picture: str | None) -> str:
    """The page's section."""
    lines = ["## Work and precision", "", EXPLAINED, ""]
    return "\n".join([*lines, f"![What an error costs]({picture})", ""] if picture else lines)


def document(found: Sequence[Point]) -> list[dict[str, Any]]:
    """All points, for JSON."""
    return [point._asdict() for point in found]
