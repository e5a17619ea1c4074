"""Tests that cannot fail: turn one operator of each core file round, and see whether a test fails.

    python tests/mutate.py --seed 1 --count 2 [FILE ...]

Works in a scratch copy, in plain Python, so that nothing is compiled.  First the quick tests run
once, and tell which functions they call (`--calls FILE` keeps that for the next time).  Each mutant
then meets the tests that call its function.  A survivor is a missing test, or changes nothing that
counts: a tolerance, an order, a shortcut.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = "dynamics", "kinematics", "contact", "lcp", "model", "simulation"
PATIENCE = 5.0  # that a test may take in plain Python [s]; longer ones are left to the compiled run
LIMIT = 120.0  # that the tests of one mutant may take [s]
MOST = 120  # tests for one mutant
ELSEWHERE = re.compile(r"gymnasium|stable_baselines3|torch|minari|subprocess|dynenvs\.agents")
SIGNS = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*"}
SIGNS |= {ast.Lt: ">", ast.LtE: ">", ast.Gt: "<", ast.GtE: "<", ast.Eq: "!=", ast.NotEq: "=="}


class Mutant(NamedTuple):
    """One operator of a file, the text that takes its place, and the function around it."""

    file: str
    function: str
    line: int
    begin: int
    end: int
    text: str


# In the process that runs tests: a plugin of pytest

_calls: set[str] = set()
_own = f"{ROOT / 'dynenvs'}{os.sep}"


def _note(frame: Any, event: str, _: Any) -> None:
    if event == "call" and (name := frame.f_code.co_filename).startswith(_own):
        _calls.add(f"{name.removeprefix(_own)} {frame.f_code.co_name}")


def _stop(*_: Any) -> None:
    raise TimeoutError(f"no end after {PATIENCE:.0f} s")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Give each test its time; note what it calls."""
    records = "MUTATE_CALLS" in os.environ
    signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE if records else 4 * PATIENCE)
    _calls.clear()
    begin = time.process_time()
    sys.setprofile(_note if records else None)
    outcome = yield
    sys.setprofile(None)
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    if records and outcome.excinfo is None:  # type: ignore[attr-defined]
        line = [item.nodeid, time.process_time() - begin, sorted(_calls)]
        with Path(os.environ["MUTATE_CALLS"]).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


# In the process that makes mutants


def run_tests(folder: Path, tests: list[str], limit: float, **environ: str) -> tuple[int, str]:
    """Exit status (-1: no end) and output of these tests, in plain Python."""
    path = f"{folder}{os.pathsep}{folder / 'tests'}"
    plugins = ["-p", "mutate", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", "-n0", "-q", *plugins]
    environ = {**os.environ, "PYTHONPATH": path, "NUMBA_DISABLE_JIT": "1", **environ}
    with subprocess.Popen(
        [*command, *tests],
        cwd=folder,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            told = process.communicate(timeout=limit)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            return -1, process.communicate()[0]
    return process.returncode, told


def calls_of_tests(folder: Path, kept: Path) -> list[tuple[str, float, set[str]]]:
    """Of each test: name, seconds, "file function" of all that it calls; quick ones first."""
    if not kept.exists():
        files = sorted((folder / "tests").glob("test_*.py"))
        others = [path for path in files if ELSEWHERE.search(path.read_text("utf-8"))]
        ignored = [f"--ignore={path}" for path in others]
        told = run_tests(folder, ignored, 3600.0, MUTATE_CALLS=str(kept.absolute()))[1]
        print(told[-300:])
    lines = [json.loads(line) for line in kept.read_text("utf-8").splitlines()]
    found = [(name, seconds, set(calls)) for name, seconds, calls in lines]
    return sorted(found, key=lambda test: test[1])


def mutants_of(file: str, source: str) -> Iterator[Mutant]:
    """Every operator that stands in a statement of a function."""
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def place(node: ast.expr, end: bool) -> int:
        if end:
            return starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        return starts[node.lineno - 1] + node.col_offset

    def walk(node: ast.AST, function: str) -> Iterator[Mutant]:
        if isinstance(node, ast.Raise | ast.JoinedStr | ast.Assert):
            return
        if isinstance(node, ast.FunctionDef):
            for statement in node.body:
                yield from walk(statement, node.name)
            return
        found: tuple[ast.expr, ast.AST, ast.expr] | None = None
        if isinstance(node, ast.BinOp):
            found = node.left, node.op, node.right
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            found = node.left, node.ops[0], node.comparators[0]
        if function and found and type(found[1]) in SIGNS:
            begin, end = place(found[0], True), place(found[2], False)
            between = source.encode()[begin:end].decode()
            match = re.search(r"[-+*/<>=!]=?", between)
            if match and "#" not in between:
                at = begin + len(between[: match.start()].encode())
                line = source.encode()[:at].count(b"\n") + 1
                sign = SIGNS[type(found[1])]
                yield Mutant(file, function, line, at, at + len(match.group()), sign)
        for child in ast.iter_child_nodes(node):
            yield from walk(child, function)

    yield from walk(ast.parse(source), "")


def tests_for(mutant: Mutant, tests: list[tuple[str, float, set[str]]]) -> list[str]:
    """Those that call its function: one case of each test first, within the time limit."""
    called = [test for test in tests if f"{mutant.file} {mutant.function}" in test[2]]
    seen: dict[str, int] = {}
    ranks = []
    for name, seconds, _ in called:
        own = name.partition("[")[0]
        seen[own] = seen.get(own, -1) + 1
        ranks.append((seen[own], seconds, name))
    total, chosen = 0.0, []
    for _, seconds, name in sorted(ranks)[:MOST]:
        total += seconds
        if total < LIMIT / 3:
            chosen.append(name)
    return chosen


def try_mutant(folder: Path, mutant: Mutant, tests: list[tuple[str, float, set[str]]]) -> str:
    """A line that says what became of it."""
    path = folder / "dynenvs" / mutant.file
    source = path.read_bytes()
    changed = source[: mutant.begin] + mutant.text.encode() + source[mutant.end :]
    text = changed.decode().splitlines()[mutant.line - 1].strip()
    what = f"{mutant.file}:{mutant.line} {mutant.function}: {text}"
    chosen = tests_for(mutant, tests)
    if not chosen:
        return f"UNCALLED {what}"
    path.write_bytes(changed)
    try:
        status, told = run_tests(folder, ["-x", *chosen], LIMIT)
    finally:
        path.write_bytes(source)
    killer = re.search(r"^(?:FAILED|ERROR) (\S+)", told, re.MULTILINE)
    if status == 0:
        return f"SURVIVED {what}  [{len(chosen)} tests]"
    by = killer.group(1) if killer else ""
    return f"{'timeout ' if status == -1 else 'killed  '} {what}  [{by}]"


def main() -> None:
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", help="under dynenvs/; all files of the core if none")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1, help="mutants of each file")
    parser.add_argument("--calls", type=Path, help="file that keeps which test calls what")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "copy"
        ignored = shutil.ignore_patterns(".*", "__pycache__", "build", "runs", "videos")
        shutil.copytree(ROOT, folder, symlinks=True, ignore=ignored)
        tests = calls_of_tests(folder, given.calls or Path(scratch) / "calls.jsonl")
        home = folder / "dynenvs"
        paths = [path for room in ROOMS for path in sorted((home / room).rglob("*.py"))]
        for file in given.files or [path.relative_to(home).as_posix() for path in paths]:
            found = list(mutants_of(file, (home / file).read_text("utf-8")))
            draw = random.Random(f"{given.seed} {file}")
            for mutant in draw.sample(found, min(given.count, len(found))):
                print(try_mutant(folder, mutant, tests), flush=True)


if __name__ == "__main__":
    main()
