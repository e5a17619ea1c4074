"""Scenes of many loose boxes beside MuJoCo and Pinocchio's solvers, each step timed alone.

A time says little without the answer's quality, so each row also tells the worst residual, how far
things at rest moved, and how deep boxes were in each other.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from dynenvs.simulation.world import SimulationError
from studies.bench.loose import TIMESTEP, OnPinocchio, Ours, Scene, Simulation, Theirs
from studies.bench.peers import MissingPeer
from studies.bench.race import FEWEST_SECONDS, Case, Result, Row, Settings, Tick, timed
from studies.bench.report import digits

BRICK = (0.1, 0.05, 0.05)  # half edges [m]
DOMINO = (0.01, 0.05, 0.1)
STONE = (0.05, 0.06, 0.07)
ROOM = 0.24  # between the centres of boxes that are dropped: none touch, however turned [m]
SEED = 0  # of how the heap's boxes are turned and placed
SETTLED = 50  # steps before the first one timed where boxes stand as they are placed

SYSTEMS: dict[str, Callable[[Scene], Simulation]] = {
    "MuJoCo": Theirs,
    "dynenvs": Ours,
    "dynenvs, exact cone": partial(Ours, cone="exact"),
    "Pinocchio ADMM": partial(OnPinocchio, solver="ADMM"),
    "Pinocchio PGS": partial(OnPinocchio, solver="PGS"),
}
NOTES = [
    "Equal boxes of 600 kg/m^3 on a floor, friction 0.6, the same in both; MuJoCo with its "
    "defaults (pyramidal cone, Newton's solver, Euler). `World.step` and `mj_step` are called from "
    "Python for one step at a time, and each call is timed: a row's figure is the median of its "
    "steps, its spread is theirs, and its ratio to MuJoCo that of the same steps of the scene. "
    "Each step is done once; the systems take turns. First: the very first step, cold, in which "
    "room for contacts is made; it is in none of the other times but the dominoes'. First and "
    "max/median are of processor time, in which other programs have no share. The walls' rows are "
    "shifted by a quarter of a brick; the heap's boxes are dropped, turned and placed at random by "
    "a seed.",
    "Residual: the worst certificate of a step. Degraded: solves above the certificate's 1e-9, and "
    "halved steps. Crept and sank: the furthest that a centre of what should rest went sideways, "
    "and up or down, since it was placed (the heap: since the first step that is timed). Overlap: "
    "the deepest contact at the end of any turn. MuJoCo's contact is soft: it holds by overlap, "
    "and its answers carry no certificate.",
    "Pinocchio's solvers (ADMM and projected Gauss-Seidel, exact cone) drive a step that dynenvs "
    "finds the contacts of, with the settings that `docs/lab/verification.md` tells; their times "
    "are those of Pinocchio's own functions, without detection and Python. Degraded: above 1e-9, "
    "the tolerance that they are given.",
    "`python -m studies bench --cases scenes` makes this table alone.",
]


def cases(settings: Settings) -> list[Case]:
    """One table of all scenes."""
    return [Scenes()]


def scenes(quick: bool) -> list[Scene]:
    """All scenes; small ones with few steps if `quick`."""
    walls = (4, 8) if quick else (20, 50)
    towers, high = (2, 3) if quick else (40, 5)
    dominoes, stones, apart = (3, 5, 4) if quick else (10, 100, 50)
    long, fall = (20, 30) if quick else (500, 1000)
    topple = 30 if quick else 600  # until all dominoes lie
    drop, rest = (60, 300) if quick else (100, 3000)  # until they land, and lie still
    found = [_standing(f"wall of {n} bricks", _wall(n), long) for n in walls]
    tower = [(float(i % 8), float(i // 8), z) for i in range(towers) for z in _heights(high)]
    found.append(_standing(f"{towers} towers of {high}", tower, long))
    row = _standing(f"{dominoes} dominoes fall", [(0.1 * i, 0, 0.1) for i in range(dominoes)], long)
    found.append(row._replace(half=DOMINO, before=0, steps=topple, rests=False, pushed=True))
    found.append(_heap(f"heap of {stones}, falls", stones, drop, fall)._replace(rests=False))
    found.append(_heap(f"heap of {stones}, rests", stones, rest, long))
    places = [(2.0 * (i % 10), 2.0 * (i // 10), BRICK[2]) for i in range(apart)]
    found.append(_standing(f"{apart} boxes far apart", places, long))
    return found


def _standing(name: str, places: list[Any], steps: int) -> Scene:
    turned = np.tile((1.0, 0.0, 0.0, 0.0), (len(places), 1))
    return Scene(name, BRICK, np.array(places, float), turned, SETTLED, steps)


def _heights(count: int) -> list[float]:
    """Centres of bricks on top of each other [m]."""
    return [BRICK[2] * (1 + 2 * i) for i in range(count)]


def _wall(count: int, width: int = 4) -> list[tuple[float, float, float]]:
    """Bricks in rows, every other row shifted by a quarter of a brick: all stand on their own."""
    rows = (divmod(i, width) for i in range(count))
    return [
        (2 * BRICK[0] * (column + 0.25 * (row % 2)), 0.0, BRICK[2] * (1 + 2 * row))
        for row, column in rows
    ]


def _heap(name: str, count: int, before: int, steps: int) -> Scene:
    """Boxes in four by four columns above the floor, turned at random."""
    rng = np.random.default_rng(SEED)
    at = np.arange(count)
    grid = np.stack((at % 4, at // 4 % 4, 0.5 + at // 16), axis=1)
    turned = rng.normal(size=(count, 4))
    turned /= np.linalg.norm(turned, axis=1, keepdims=True)
    places = ROOM * grid + rng.uniform(-0.01, 0.01, (count, 3))
    begin, end = TIMESTEP * before, TIMESTEP * (before + steps)
    name = f"{name}, {begin:.2g} to {end:.2g} s"
    return Scene(name, STONE, places, turned, before, steps, since=before)


class Scenes:
    """All scenes, one after the other; on each the systems take turns."""

    family, title = "scenes", "Scenes: many loose boxes, 2 ms a step"

    def measure(self, settings: Settings, tick: Tick) -> Result:
        """Step all scenes; a system that is missing or fails is named with the reason."""
        rows: list[Row] = []
        skipped: list[str] = []
        for scene in scenes(settings.quick):
            found = _race(scene, settings.repeats, skipped, partial(_say, tick, scene.name))
            rows += found
        return Result("scenes", self.title, "step", rows, skipped, NOTES, unit="ms")


def _say(tick: Tick, scene: str, what: str) -> None:
    tick(f"{scene}: {what}")


def _one_step(simulation: Simulation) -> tuple[float, float]:
    """Wall-clock and processor time of a step [s], or what it itself says that it took."""
    before: float | None = getattr(simulation, "spent", None)
    seconds, used = timed(simulation.step, 1)
    if before is not None:
        seconds = used = max(FEWEST_SECONDS, getattr(simulation, "spent", 0.0) - before)
    return seconds, used


class Watched:
    """A system on a scene: the times of its steps, and what became of the boxes."""

    def __init__(self, make: Callable[[Scene], Simulation], scene: Scene) -> None:
        for _ in range(2):  # the first of them may load or compile
            _, self._first = _one_step(make(scene))
        self._scene, self._simulation = scene, make(scene)
        self._simulation.step(scene.since)
        self._simulation.begin()
        self._origin, self._deepest = self._simulation.places(), 0.0
        self._simulation.step(scene.before - scene.since)
        self.seconds: list[float] = []  # of each step, by the clock
        self._used: list[float] = []  # of the processor

    def turn(self, count: int) -> None:
        """Time so many steps, each alone."""
        for _ in range(count):
            seconds, used = _one_step(self._simulation)
            self.seconds.append(seconds)
            self._used.append(used)
        self._deepest = max(self._deepest, self._simulation.overlap())

    def row(self, name: str, others: list[float]) -> Row:
        """What was found; `others` are the times of the same steps in another system [s]."""
        moved = self._simulation.places() - self._origin
        crept, sank = np.linalg.norm(moved[:, :2], axis=1).max(), np.abs(moved[:, 2]).max()
        facts = {
            "first ms": digits(1e3 * self._first),
            "p95 ms": digits(1e3 * float(np.quantile(self.seconds, 0.95))),
            "max/median": digits(max(self._used) / statistics.median(self._used)),
            **self._simulation.facts(),
            "crept m": f"{crept:.0e}" if self._scene.rests else "",
            "sank m": f"{sank:.0e}" if self._scene.rests else "",
            "overlap m": f"{self._deepest:.0e}",
        }
        rates = [1 / x for x in self.seconds]
        ratios = [y / x for x, y in zip(self.seconds, others, strict=True)]
        cores = [used / x for x, used in zip(self.seconds, self._used, strict=True)]
        return Row(f"{self._scene.name}, {name}", rates, ratios, None, facts, cores)


def _race(scene: Scene, turns: int, skipped: list[str], tick: Tick) -> list[Row]:
    """Rows of the systems that came through; adds a line to `skipped` for each other one."""
    running: dict[str, Watched] = {}

    def attempt(name: str, part: Callable[[], None]) -> None:
        tick(name)
        try:
            part()
        except (MissingPeer, SimulationError) as error:
            running.pop(name, None)
            reason = str(error).partition(" (timestep")[0]  # the state of a hundred boxes follows
            skipped.append(f"{scene.name}, {name}: {reason}")

    def begin(name: str) -> None:
        running[name] = Watched(SYSTEMS[name], scene)

    for name in SYSTEMS:
        attempt(name, partial(begin, name))
    for turn, part in enumerate(np.array_split(np.arange(scene.steps), turns)):
        # Every other turn backwards, as in all races
        for name in list(running) if turn % 2 == 0 else list(reversed(running)):
            attempt(name, partial(running[name].turn, len(part)))
    if not running:
        return []
    first = next(iter(running.values())).seconds
    return [watched.row(name, first) for name, watched in running.items()]
