"""Sliding in all directions: no heading is preferred; drawn as polar figures beside the table.

A block that slides straight on, in all simulators, and a tripod that spins as it slides, on
pyramids of several numbers of directions and on the exact cone.  The first direction of a pyramid
is laid along the slip to come, so that what slides straight on has no bias; three feet that each
slip their own way show what is left of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import hypot
from pathlib import Path
from typing import Any

import numpy as np

from dynenvs.files import written_whole
from dynenvs.memory.layout import Floats
from studies.bench.peers import MissingPeer, peer
from studies.verify.ours import Ours
from studies.verify.scene import Make, Reading
from studies.verify.sliding import slide, spinning_tripod

HEADINGS = np.arange(0.0, 360.0, 7.5)  # [degrees]
PYRAMIDS = (4, 8, 16)
SHADES = "#c8553d", "#e0a458", "#7a9e7e", "#4a5463"  # of our cones
ROUND = 1e-6  # the closest to a circle that a logarithmic polar axis shows


def readings(make: Make) -> Iterator[Reading]:
    """The worst of all headings."""
    off = np.abs(distances(make) - 1.0)
    name = f"slide at {len(HEADINGS)} headings"
    yield Reading(name, "worst distance / exact - 1 [1]", 0.0, float(off.max()), 1e-3)


def distances(make: Make) -> Floats:
    """Sliding distance over v^2 / (2 mu g) - v dt / 2 for each heading."""
    found = []
    for heading in HEADINGS:
        at, exact, _ = slide(make, float(heading))
        found.append(hypot(at[0], at[1]) / exact)
    return np.array(found)


def tripods(make: Make) -> Floats:
    """For each heading, by how much of its way the tripod ends in the wrong place."""
    return np.array([spinning_tripod(make, float(heading)).off for heading in HEADINGS])


def plot(path: Path, systems: dict[str, Callable[..., Any]], colors: dict[str, str]) -> None:
    """Draw distances of the block in all systems, and the tripod's errors on ours.

    Raises:
        MissingPeer: no matplotlib.
    """
    figure = peer("matplotlib.figure").Figure(figsize=(10.0, 5.8))
    figure.subplots_adjust(top=0.86, bottom=0.2)
    left, right = (figure.add_subplot(1, 2, k, projection="polar") for k in (1, 2))
    angles = np.radians(np.append(HEADINGS, 360.0))
    for name, make in _present(systems):
        around = distances(make)
        left.plot(angles, np.append(around, around[0]), label=name, color=colors[name])
    left.set_ylim(0.0, 1.5)
    left.set_title("block: distance / exact", pad=24)
    pyramids = {f"{n} directions": partial(Ours, directions=n) for n in PYRAMIDS}
    for (name, make), color in zip(
        [*pyramids.items(), ("exact cone", partial(Ours, cone="exact"))], SHADES, strict=True
    ):
        around = np.log10(np.maximum(tripods(make), ROUND) / ROUND)
        right.plot(angles, np.append(around, around[0]), label=name, color=color)
    ticks = np.arange(1, 6)
    right.set_yticks(ticks, [f"1e{k + round(np.log10(ROUND))}" for k in ticks])
    right.set_title("spinning tripod: place off / distance", pad=24)
    for panel in (left, right):
        panel.legend(loc="lower center", bbox_to_anchor=(0.5, -0.28), ncols=2, frameon=False)
    with written_whole(path) as file:
        figure.savefig(file, dpi=80)


def _present(systems: dict[str, Callable[..., Any]]) -> Sequence[tuple[str, Callable[..., Any]]]:
    """Those that are installed."""
    found = []
    for name, make in systems.items():
        try:
            slide(make, 0.0, steps=4)
        except MissingPeer:
            continue
        found.append((name, make))
    return found
