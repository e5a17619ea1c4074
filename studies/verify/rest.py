"""At rest: nothing creeps, nothing sinks, whatever stands on what."""

from __future__ import annotations

from collections.abc import Iterator
from math import atan, sqrt

import numpy as np

from studies.verify.scene import Make, Reading, Scene, box, lowest, tilted

HALF = (0.2, 0.15, 0.05)
RATIOS = (1.0, 1e2, 1e4, 1e6)


def readings(make: Make) -> Iterator[Reading]:
    """A block holds on a slope for a minute; a stack stands, the heaviest on top."""
    yield from _hold(make)
    for ratio in RATIOS:
        yield from _stack(make, ratio)


def _hold(make: Make) -> Iterator[Reading]:
    """At 90 % of the slope at which it would slide (mu = 0.5), 2 ms, from a second on."""
    slope = atan(0.9 * 0.5)
    block = box(2.0, HALF, position=(0.0, 0.0, HALF[2]))
    scene = Scene((block,), 2e-3, gravity=tilted(slope, 0.4))
    simulation = make(scene)
    simulation.step(500)
    start = simulation.read()
    simulation.step(30000)
    end = simulation.read()
    name = "hold on a slope for a minute"
    creep = float(np.abs(end.position - start.position).max())
    yield Reading(name, "creep [m]", 0.0, creep, 1e-12)
    yield Reading(name, "penetration [m]", 0.0, max(0.0, -lowest(end, 0, HALF)), 1e-9)


def _stack(make: Make, ratio: float) -> Iterator[Reading]:
    """Three boxes for 5 s, 2 ms."""
    half = (0.1, 0.1, 0.05)
    solids = tuple(
        box(sqrt(ratio) ** i, half, position=(0.0, 0.0, half[2] * (2 * i + 1))) for i in range(3)
    )
    scene = Scene(solids, 2e-3)
    simulation = make(scene)
    start = simulation.read()
    simulation.step(2500)
    end = simulation.read()
    name = f"stack of three boxes, masses 1 to {ratio:.0e}".replace("1e+00", "1")
    moved = float(np.abs(end.position - start.position).max())
    yield Reading(name, "moved [m]", 0.0, moved if np.isfinite(moved) else np.inf, 1e-9)
