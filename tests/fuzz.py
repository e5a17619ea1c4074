"""A fuzzer: random inputs of all kinds that come from outside, in processes of their own.

    python tests/fuzz.py --minutes 60 --seed 7           # all kinds, each for the same time
    python tests/fuzz.py --kinds states,starts --inputs 500

It wants the compiled core (`dynenvs compile`): an environment's first input would compile it for
minutes, longer than any input may take, in each process anew.
Each input either goes well or is refused by an error that dynenvs promises, in two lines at most.
All else is told, with the input: another exception, the end of the process by a signal (a crash),
no answer within `LIMIT` seconds (a hang).  The same seed draws the same inputs; `--only KIND REPR`
tries one that was told.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

KINDS = ("options", "commands", "starts", "states", "models", "saved", "xml")
LIMIT = 100.0  # [s] of processor time for one input: compiling what it is the first to need, too
MEMORY = 8 << 30  # [bytes] that a process may have: what asks for more gets a MemoryError
CHUNK = 200  # inputs of a process
LINES = 2  # of a message


@dataclass
class Tally:
    """What became of the inputs of a kind."""

    inputs: int = 0
    good: int = 0
    refused: int = 0
    failures: dict[str, str] = field(default_factory=dict)  # what went wrong, and an input

    def add(self, what: str, told: str) -> None:
        """Note a failure; of each kind of failure the first input is kept."""
        self.failures.setdefault(what, told)


def run(kind: str, seed: int, inputs: int, tally: Tally) -> None:
    """Try `inputs` inputs of a kind in a child process, and note what became of them."""
    with tempfile.TemporaryDirectory() as folder:
        log, answer = Path(folder, "input"), Path(folder, "answer")
        arguments = ["--child", kind, str(seed), str(inputs), str(log), str(answer)]
        with Path(folder, "out").open("w") as out:
            child = subprocess.Popen(
                [sys.executable, __file__, *arguments],
                cwd=folder,
                stdout=out,
                stderr=out,
                env={**os.environ, "MINARI_DATASETS_PATH": str(Path(folder, "datasets"))},
            )
            hung = _watch(child, log)
        if answer.exists():
            for line in answer.read_text().splitlines():
                _note(tally, json.loads(line))
        if hung or child.returncode:
            tried = log.read_text(errors="replace") if log.exists() else "(before the first input)"
            end = "hang" if hung else f"end of the process, code {child.returncode}"
            tail = Path(folder, "out").read_text(errors="replace")[-1500:]
            tally.inputs += 1
            tally.add(f"{end}: {tail.splitlines()[0] if tail else ''}"[:200], f"{tried}\n{tail}")


def _note(tally: Tally, line: Any) -> None:
    tally.inputs += 1
    if line == "good":
        tally.good += 1
    elif line == "refused":
        tally.refused += 1
    else:
        tally.add(*line)


def _watch(child: subprocess.Popen[Any], log: Path) -> bool:
    """Wait for the child's end; whether it had to be ended, for it was too long at one input."""
    begun, tried = time.monotonic(), -1.0
    while True:
        try:
            child.wait(0.2)
            return False
        except subprocess.TimeoutExpired:
            pass
        now = log.stat().st_mtime_ns if log.exists() else 0
        if now != tried:
            begun, tried = time.monotonic(), now
        if time.monotonic() - begun > 3 * LIMIT:  # wall time: the machine may have other work
            child.kill()
            child.wait()
            return True


def child(kind: str, seed: int, inputs: int, log: Path, answer: Path) -> None:
    """Try inputs one after another; write each before it is tried, and what became of it."""
    from fuzz_kinds import KINDS as kinds
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    attempt = kinds[kind].attempt

    with answer.open("a") as file:

        @seeded(seed)
        @settings(
            max_examples=inputs,
            phases=[Phase.generate],
            database=None,
            deadline=None,
            derandomize=False,
            suppress_health_check=list(HealthCheck),
        )
        @given(kinds[kind].inputs)
        def tried(value: Any) -> None:
            log.write_text(repr(value), encoding="utf-8", errors="replace")
            file.write(json.dumps(outcome(attempt, value)) + "\n")
            file.flush()

        tried()


def outcome(attempt: Any, value: Any) -> Any:
    """ "good", "refused", or what went wrong and the input."""
    from dynenvs import SimulationError

    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    signal.signal(signal.SIGPROF, _too_long)
    try:
        attempt(value)
    except (ValueError, TypeError, OSError, SimulationError) as error:
        if len(str(error).splitlines()) <= LINES:
            return "refused"
        what = f"message of many lines: {type(error).__name__} at {_place(error)}"
        return [what, f"{value!r}\n{error}"]
    except BaseException as error:
        what = f"{type(error).__name__} at {_place(error)} ({str(error)[:80]})"
        return [what, f"{value!r}\n{traceback.format_exc()[-1500:]}"]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return "good"


def _place(error: BaseException) -> str:
    """The last line of the package that an error has passed, or of any."""
    passed = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in passed if "dynenvs" in frame.filename] or passed
    return f"{own[-1].filename}:{own[-1].lineno}"


def _too_long(*_: Any) -> None:
    raise TooLongError(f"more than {LIMIT} s of processor time")


class TooLongError(BaseException):
    """An input took too long, in Python's own code."""


def fuzz(
    kinds: list[str], seed: int, inputs: int | None, minutes: float | None
) -> dict[str, Tally]:
    """Try inputs of these kinds: so many of each, or each for its share of the time."""
    tallies = {kind: Tally() for kind in kinds}
    spent, turns = dict.fromkeys(kinds, 0.0), dict.fromkeys(kinds, 0)
    end = time.monotonic() + 60.0 * (minutes or 0.0)
    while True:
        # How many of each kind are still wanted; next comes the kind that has had the least time
        wanted = {
            kind: CHUNK if minutes else min(CHUNK, (inputs or 0) - tally.inputs)
            for kind, tally in tallies.items()
        }
        left = [kind for kind in kinds if wanted[kind] > 0]
        if (minutes and time.monotonic() >= end) or not left:
            return tallies
        kind, begun = min(left, key=lambda kind: spent[kind]), time.monotonic()
        run(kind, seed * 10_000 + turns[kind], wanted[kind], tallies[kind])
        spent[kind] += time.monotonic() - begun
        print(turns[kind], tell({kind: tallies[kind]}).splitlines()[0], flush=True)
        turns[kind] += 1


def tell(tallies: dict[str, Tally]) -> str:
    """A line a kind, then the failures."""
    lines = []
    for kind, tally in tallies.items():
        crashes = sum("end of the process" in what for what in tally.failures)
        hangs = sum("hang" in what or "TooLongError" in what for what in tally.failures)
        others = len(tally.failures) - crashes - hangs
        lines.append(
            f"{kind}: {tally.inputs} inputs, {tally.good} good, {tally.refused} refused; "
            f"{crashes} kinds of crashes, {hangs} of hangs, {others} of other errors"
        )
    if len(tallies) > 1:
        lines.append(f"all: {sum(tally.inputs for tally in tallies.values())} inputs")
    for kind, tally in tallies.items():
        for what, told in tally.failures.items():
            lines.append(f"\n== {kind}: {what}\n{told}")
    return "\n".join(lines)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Try random inputs of all kinds.")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--inputs", type=int)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--child", nargs=5, help=argparse.SUPPRESS)
    parser.add_argument("--only", nargs=2, metavar=("KIND", "REPR"))
    given = parser.parse_args()
    os.environ["SDL_VIDEODRIVER"] = "dummy"
    if given.child:
        kind, seed, inputs, log, answer = given.child
        child(kind, int(seed), int(inputs), Path(log), Path(answer))
        return
    if given.only:
        from fuzz_kinds import KINDS as kinds

        value = eval(given.only[1], {"inf": float("inf"), "nan": float("nan")})
        print(outcome(kinds[given.only[0]].attempt, value))
        return
    from dynenvs.jit.library import fault

    if fault():
        print(f"options and starts will hardly be tried: {fault()}", flush=True)
    tallies = fuzz(given.kinds.split(","), given.seed, given.inputs, given.minutes)
    text = tell(tallies)
    print(text)
    sys.exit(any(tally.failures for tally in tallies.values()))


if __name__ == "__main__":
    main()
