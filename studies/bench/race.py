"""Systems take turns, several times over, so that what else the machine does falls on all alike.

A system's figure is the median of its turns, its spread the quartiles; the ratio of two systems is
the median of the ratios of their turns, each taken side by side.
"""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Protocol

from studies.bench.peers import MissingPeer

FEWEST_SECONDS = 1e-9  # a turn is never thought shorter: clocks have a grain [s]
# Environments of a quick run: what must be compiled for all of them would take minutes
FEW = ("dynenvs/DoublePendulum-v0", "dynenvs/PlanarHumanoid-v0")
MOST_CALLS = 10**9  # in a turn, of what takes no time
UNITS = {"us": 1e6, "ms": 1e3}  # of an operation's time, in a second
CALIBRATIONS = 3  # how often the length of a turn is adjusted

Tick = Callable[[str], None]


class Settings(NamedTuple):
    """How long to measure.

    repeats: turns of each system
    seconds: aimed at for a turn [s]
    quick: fewer sizes and cases, to see that all works
    """

    repeats: int = 7
    seconds: float = 0.2
    quick: bool = False


@dataclass
class System:
    """What takes part.

    Args:
        run: does so many calls of what is measured.
        operations: in each call; the worlds of a batch.
        period: simulated time of an operation [s].
        facts: what else its row says.
        close: gives back what it holds.
        aside: wall-clock and processor time [s] that its runs have spent, from its beginning on, on
            what is not measured.
    """

    run: Callable[[int], None]
    operations: int = 1
    period: float | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    close: Callable[[], None] | None = None
    aside: Callable[[], tuple[float, float]] | None = None


Maker = Callable[[], System]


@dataclass
class Row:
    """What was found of one system; `samples` are operations a second, one a turn."""

    name: str
    samples: list[float]
    ratios: list[float]  # to the system that it is compared with, one a turn
    period: float | None
    facts: dict[str, Any]
    cores: list[float]  # processor time over wall-clock time, one a turn

    @property
    def median(self) -> float:
        """Operations a second."""
        return statistics.median(self.samples)

    @property
    def spread(self) -> float:
        """Distance between the quartiles over the median."""
        low, high = quartiles(self.samples)
        return (high - low) / self.median

    @property
    def ratio(self) -> float:
        """How many times as fast as the system that it is compared with."""
        return statistics.median(self.ratios)

    def summary(self) -> dict[str, Any]:
        """Everything, for JSON."""
        low, high = quartiles(self.samples)
        return {
            "system": self.name,
            "median_per_second": self.median,
            "quartiles_per_second": [low, high],
            "ratio": self.ratio,
            "ratio_quartiles": list(quartiles(self.ratios)),
            "simulated_seconds_per_second": self.period and self.period * self.median,
            "cores": statistics.median(self.cores),
            "samples": self.samples,
            "facts": self.facts,
        }


@dataclass
class Result:
    """What was found of one case.

    Args:
        family: the word by which it is chosen.
        title: above its table.
        operation: what is counted, as "environment step".
        rows: one a system that ran.
        skipped: one line for each system that did not, with the reason.
        notes: what a reader must know to read the table rightly.
        unit: "us" or "ms": the table shows the time of an operation in it instead of the rate.
        x: name of the fact that a plot draws the rows over, and the fact that names its curves.
    """

    family: str
    title: str
    operation: str
    rows: list[Row]
    skipped: list[str]
    notes: list[str]
    unit: str = ""
    x: tuple[str, str] | None = None

    def summary(self) -> dict[str, Any]:
        """Everything, for JSON."""
        return {
            "family": self.family,
            "title": self.title,
            "operation": self.operation,
            "rows": [row.summary() for row in self.rows],
            "skipped": self.skipped,
            "notes": self.notes,
        }


class Case(Protocol):
    """Something to measure."""

    family: str
    title: str

    def measure(self, settings: Settings, tick: Tick) -> Result:
        """Do it; `tick` hears what it is at."""
        ...


@dataclass
class Race:
    """A case whose systems take turns; arguments as of `Result`.

    Args:
        makers: name and maker of each system.
        against: which system a system is compared with; the first that runs, if not said here.
        conclude: sentences that follow from the rows, added to the notes.
    """

    family: str
    title: str
    operation: str
    makers: Sequence[tuple[str, Maker]]
    notes: Sequence[str] = ()
    unit: str = ""
    x: tuple[str, str] | None = None
    conclude: Callable[[list[Row]], list[str]] | None = None
    against: dict[str, str] = field(default_factory=dict)

    def measure(self, settings: Settings, tick: Tick) -> Result:
        """Make the systems, let them take turns, and compare."""
        systems: dict[str, System] = {}
        skipped = []
        for name, maker in self.makers:
            tick(f"{self.title}: {name}")
            try:
                systems[name] = maker()
            except MissingPeer as error:
                skipped.append(f"{name}: {error}")
        try:
            say = partial(_say, tick, self.title)
            rows = take_turns(systems, settings, say, self.against)
        finally:
            for system in systems.values():
                if system.close:
                    system.close()
        notes = [*self.notes, *(self.conclude(rows) if self.conclude and rows else [])]
        return Result(
            self.family,
            self.title,
            self.operation,
            rows,
            skipped,
            notes,
            self.unit,
            self.x,
        )


def _say(tick: Tick, title: str, what: str) -> None:
    tick(f"{title}: {what}")


def take_turns(
    systems: dict[str, System], settings: Settings, tick: Tick, against: dict[str, str]
) -> list[Row]:
    """Rows of the systems, measured in alternation; `against` as for `Race`."""
    counts = {}
    for name, system in systems.items():
        tick(name)
        counts[name] = calibrate(system.run, settings.seconds)
    samples: dict[str, list[float]] = {name: [] for name in systems}
    cores: dict[str, list[float]] = {name: [] for name in systems}
    for turn in range(settings.repeats):
        tick(f"turn {turn + 1} of {settings.repeats}")
        # Every other turn backwards: none is always the one that follows a hot neighbour
        order = list(systems) if turn % 2 == 0 else list(reversed(systems))
        for name in order:
            seconds, used = _measured(systems[name], counts[name])
            cores[name].append(used / seconds)
            samples[name].append(counts[name] * systems[name].operations / seconds)

    def reference(name: str) -> list[float]:
        first = next(iter(samples))
        return samples.get(against.get(name, first), samples[first])

    return [
        Row(
            name,
            samples[name],
            [mine / theirs for mine, theirs in zip(samples[name], reference(name), strict=True)],
            system.period,
            system.facts,
            cores[name],
        )
        for name, system in systems.items()
    ]


def calibrate(run: Callable[[int], None], seconds: float) -> int:
    """How many calls take about so long [s]; the first one, which may compile, does not count."""
    run(1)
    count = 1
    for _ in range(CALIBRATIONS):
        spent, _ = timed(run, count)
        while spent < 0.05 * seconds and count < MOST_CALLS:
            count *= 2
            spent, _ = timed(run, count)
        count = max(1, min(MOST_CALLS, math.ceil(count * seconds / spent)))
    return count


def timed(run: Callable[[int], None], count: int) -> tuple[float, float]:
    """Wall-clock and processor time of so many calls [s], without the garbage collector's."""
    enabled = gc.isenabled()
    gc.disable()
    used, begin = time.process_time(), time.perf_counter()
    try:
        run(count)
        return max(FEWEST_SECONDS, time.perf_counter() - begin), time.process_time() - used
    finally:
        if enabled:
            gc.enable()


def _measured(system: System, count: int) -> tuple[float, float]:
    """The same of a system, without what it spent aside."""
    before = system.aside() if system.aside else (0.0, 0.0)
    seconds, used = timed(system.run, count)
    if system.aside:
        wall, own = system.aside()
        seconds, used = seconds - (wall - before[0]), used - (own - before[1])
    return max(FEWEST_SECONDS, seconds), used


def quartiles(values: Sequence[float]) -> tuple[float, float]:
    """First and third quartile; of fewer than two values, the value."""
    if len(values) < 2:
        return values[0], values[0]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high
