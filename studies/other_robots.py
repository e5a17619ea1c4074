"""A step of other people's robots beside MuJoCo's: a line a robot, a table a kind.

    python -m studies.other_robots FOLDER ...                        # of unpacked wheels, or others
    python -m studies.other_robots FOLDER ... --only go1 --steps 200    # some of them, sooner

Where the robots come from, what is added to their files and what the lines tell: README.md, beside
this file.  A robot that cannot be raced is a line with the reason.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import track

from dynenvs.agents.machine import describe, load
from studies.bench.peers import MissingPeer
from studies.bench.report import write_json
from studies.bench.robot_files import KINDS, files_below, robot_name
from studies.bench.robot_race import MEANS, Limits, Phase, Raced
from studies.bench.robots import WITHIN, Outcome, Share, outcome, shares

HEAD = (
    f"{'robot':36}{'nv':>4}{'mj_step [us]':>14}{'World.step [us]':>18}{'times':>7}"
    f"{'contacts':>13}{'near':>6}  stages that answered; what fell short"
)
LEGEND = (
    "Two figures: under the keyframe's controls / under random ones. times: World.step over "
    "mj_step, means of both.\ncontacts: MuJoCo's / ours, mean of both. near: pairs of solids that "
    "are near. d: with dry friction, h: hulls, l: loops."
)


def main(words: Sequence[str] | None = None) -> int:
    """The command line; 1 if no robot was raced."""
    given = arguments(words)
    limits = Limits(given.steps, given.seconds, given.patience)
    try:
        files = [file for folder in given.folders for file in files_below(folder)]
    except MissingPeer as error:
        print(error, file=sys.stderr)
        return 1
    files = [file for file in files if given.only.lower() in robot_name(file).lower()]
    machine, before, found = describe(), load(), list[Outcome]()
    for file in track(files, "racing", console=Console(stderr=True), transient=True):
        found.append(outcome(file, limits))
        if given.json:  # after each: whatever happens later, these are kept
            about = {"machine": machine, "load": [before, load()], "limits": limits._asdict()}
            write_json(given.json, about | document(found))
    for line in report(found, limits):
        print(line)
    return 0 if any(each.raced for each in found) else 1


def arguments(words: Sequence[str] | None) -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--only", default="", metavar="NAME", help="robots with this in their name")
    parser.add_argument("--steps", type=int, default=Limits().steps, help="under each controls")
    parser.add_argument("--seconds", type=float, default=Limits().seconds, help="at most, a robot")
    late = "seconds until it is given up"
    parser.add_argument("--patience", type=float, default=Limits().patience, help=late)
    parser.add_argument("--json", type=Path, metavar="FILE", help="where all figures go")
    return parser.parse_args(words)


def document(found: Sequence[Outcome]) -> dict[str, object]:
    """Everything that was found, for JSON."""
    return {
        "shares": [each._asdict() for each in shares(found)],
        "robots": [each.summary() for each in found],
    }


def report(found: Sequence[Outcome], limits: Limits) -> list[str]:
    """The tables by kind, and what they come to."""
    lines = [LEGEND]
    for kind in KINDS:
        raced = [(each.name, each.raced) for each in found if each.raced and each.kind == kind]
        raced.sort(key=lambda pair: -pair[1].times)
        if raced:
            lines += ["", kind, HEAD, *(row(name, each, limits) for name, each in raced)]
    left = [f"  {each.name}: {each.fault}" for each in found if each.fault]
    lines += ["", "not raced, and not in the figures below:", *left] if left else []
    within = "".join(f"{f'<= {bound:g}':>8}" for bound in WITHIN)
    lines += ["", f"{'times mj_step':20}{'robots':>8}{'median':>9}{'90 %':>9}{'worst':>9}{within}"]
    return lines + [total(each) for each in shares(found)]


def row(name: str, raced: Raced, limits: Limits) -> str:
    """A robot's line."""
    phases = raced.kept, raced.random
    marks = "".join(sorted(word[0] for word in raced.has))
    theirs = "/".join(digits(1e6 * phase.theirs) for phase in phases)
    ours = "/".join(digits(1e6 * phase.ours) for phase in phases)
    listed = [digits(sum(getattr(phase, of) for phase in phases) / 2) for of in MEANS]
    told = "; ".join(part for part in (stages(phases), shortfalls(phases, limits)) if part)
    return (
        f"{f'{name} {marks}':36}{raced.nv:4}{theirs:>14}{ours:>18}{digits(raced.times):>7}"
        f"{'/'.join(listed[:2]):>13}{listed[2]:>6}  {told}"
    )


def digits(value: float) -> str:
    """A number with three digits that count, or all before the point."""
    return f"{value:.3g}" if value < 999.5 else f"{value:.0f}"


def stages(phases: Sequence[Phase]) -> str:
    """The share of each solver stage in all solves, the largest first, and of none.

    Where a solve has several islands, each answers for itself.
    """
    answers = sum((phase.stages for phase in phases), Counter[str]())
    solves = sum(phase.counts["solves"] for phase in phases)
    answers["none"] = max(0, solves - answers.total())
    every = max(1, answers.total())
    return ", ".join(f"{name} {100 * n / every:.0f} %" for name, n in answers.most_common() if n)


def shortfalls(phases: Sequence[Phase], limits: Limits) -> str:
    """Steps that are degraded, failed or left out, and MuJoCo's own resets; nothing if none."""
    counts = sum((phase.counts for phase in phases), Counter[str]())
    named = [
        f"{counts[word]} {word}" for word in ("degraded", "failed", "overflow") if counts[word]
    ]
    if counts["their resets"]:
        named.append(f"MuJoCo began anew {counts['their resets']} times")
    if any(phase.steps < limits.steps for phase in phases):
        named.append(f"only {phases[0].steps} and {phases[1].steps} steps")
    return ", ".join(named)


def total(share: Share) -> str:
    """The line of a kind in the last table."""
    within = "".join(f"{100 * part:6.0f} %" for part in share.within)
    return (
        f"{share.robots:20}{share.number:8}{digits(share.median):>9}{digits(share.ninety):>9}"
        f"{digits(share.worst):>9}{within}"
    )


if __name__ == "__main__":
    sys.exit(main())
