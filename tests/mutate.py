"""Which tests notice a wrong sign? Change one in each file named, in a copy, and see.

`python tests/mutate.py dynenvs/lcp --tests tests/test_lcp.py` prints a line a file: the test
that failed, or that the change survived. Without --tests, all of the quick run is asked.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
OTHER = {"+": "-", "-": "+"}
SECONDS = 900  # for one run of pytest; a change that makes a solver run on for ever is noticed, too


class Sign(NamedTuple):
    """A plus or minus in a file: where it stands, both counted from zero."""

    line: int
    column: int


def signs(text: str) -> list[Sign]:
    """The signs of sums, differences and negative terms, but not of indices and counts."""
    lines = text.splitlines()
    found = []
    for node in _calculations(ast.parse(text)):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            line, column = node.left.end_lineno or 1, node.left.end_col_offset or 0
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add | ast.Sub):
            line, column = node.target.end_lineno or 1, node.target.end_col_offset or 0
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            line, column = node.lineno, node.col_offset
        else:
            continue
        while (match := re.compile(r"[+-]").search(lines[line - 1], column)) is None:
            line, column = line + 1, 0
        found.append(Sign(line - 1, match.start()))
    return found


def _calculations(node: ast.AST) -> list[ast.AST]:
    """The nodes below that calculate with real numbers, as far as syntax tells."""
    if isinstance(node, ast.Raise) or getattr(getattr(node, "func", None), "id", "") == "range":
        return []  # an error's message; the limits of a loop
    found: list[ast.AST] = []
    for name, child in ast.iter_fields(node):
        if name in {"slice", "annotation", "returns"}:  # an index; a type
            continue
        for part in child if isinstance(child, list) else [child]:
            if isinstance(part, ast.AST):
                found += _calculations(part)
    counts = [getattr(node, name, None) for name in ("left", "right", "value", "operand")]
    is_count = any(isinstance(c, ast.Constant) and not isinstance(c.value, float) for c in counts)
    return found if is_count else [node, *found]


def changed(text: str, sign: Sign) -> str:
    """The text with the other sign there."""
    lines = text.splitlines(keepends=True)
    line = lines[sign.line]
    lines[sign.line] = line[: sign.column] + OTHER[line[sign.column]] + line[sign.column + 1 :]
    return "".join(lines)


def first_failure(copy: Path, tests: list[str]) -> str | None:
    """The first test that fails, or None."""
    with tempfile.TemporaryDirectory() as cache:
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "-n",
            "0",
            "-p",
            "no:cacheprovider",
            *tests,
        ]
        environment = {**os.environ, "PYTHONPATH": str(copy / "src"), "DYNENVS_CACHE_DIR": cache}
        try:
            run = subprocess.run(
                command,
                cwd=copy,
                env=environment,
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return "no end"
    if run.returncode == 0:
        return None
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", run.stdout, re.MULTILINE)
    return failed[1] if failed else (run.stdout + run.stderr).strip()[-200:]


def try_file(copy: Path, path: Path, tests: list[str], seed: int) -> str:
    """Change one sign of a file and run the tests; what happened."""
    text = (copy / path).read_text("utf-8")
    all_signs = signs(text)
    if not all_signs:
        return f"{path}: no sign"
    sign = random.Random(f"{seed} {path}").choice(all_signs)
    where = f"{path}:{sign.line + 1}:{sign.column + 1}"
    (copy / path).write_text(changed(text, sign), "utf-8")
    try:
        failure = first_failure(copy, tests)
    finally:
        (copy / path).write_text(text, "utf-8")
    line = text.splitlines()[sign.line].strip()
    return f"{where}: {f'noticed by {failure}' if failure else f'SURVIVED: {line}'}"


def main() -> None:
    """Try each file named, or each file of the folders named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument(
        "--tests", nargs="*", default=[], help="test files to run; the quick run if none are named"
    )
    parser.add_argument("--seed", type=int, default=0, help="another seed changes other signs")
    arguments = parser.parse_args()
    files = [f for p in arguments.paths for f in (sorted(p.rglob("*.py")) if p.is_dir() else [p])]
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        subprocess.run(["git", "clone", "-q", str(ROOT), str(copy)], check=True)
        for path in files:
            print(try_file(copy, path, arguments.tests, arguments.seed), flush=True)


if __name__ == "__main__":
    main()
