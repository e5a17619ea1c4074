"""What a case of the table is, and what its attempts share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from dynenvs import Model, ModelBuilder, free

SOLVE = "from dynenvs.lcp import solve_lcp; print(solve_lcp([[1.0]], [-1.0]).z)"


class Case(NamedTuple):
    """Something that went wrong once."""

    tried: str
    before: str  # what it did then
    wanted: str  # a regular expression, which what it does now must match
    tests: tuple[str, ...]  # files that hold it
    attempt: Callable[[], str]  # tries it, in an empty folder; returns what happened


def answer(attempt: Callable[[], Any], otherwise: str = "taken") -> str:
    """By which error something is refused, or that it is not."""
    try:
        attempt()
    except Exception as error:
        text = " ".join(str(error).split())
        return f"{type(error).__name__}: {text[:110]}{'...' if len(text) > 110 else ''}"
    return otherwise


def boxes(count: int = 3, **options: Any) -> Model:
    """A stack of boxes on a floor."""
    builder = ModelBuilder(**options).half_space("floor", friction=0.8)
    for i in range(count):
        builder.body(f"box{i}", joint=free(position=(0.0, 0.0, 0.05 + 0.1 * i)), density=600.0)
        builder.box(f"box{i}", f"box{i}", half_size=(0.1, 0.1, 0.05), friction=0.8)
    return builder.build()


def start(code: str, cache: Path, **options: Any) -> subprocess.Popen[str]:
    """A fresh interpreter that compiles what it needs, and keeps it in `cache`."""
    kept = {"DYNENVS_CORE": "jit", "DYNENVS_CACHE_DIR": str(cache), "DYNENVS_COMPILERS": "1"}
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(
        [sys.executable, "-c", code], env={**os.environ, **kept}, text=True, **pipes | options
    )


def last_line(text: str) -> str:
    """The last line of what a process has said."""
    return (text.strip().splitlines() or [""])[-1]
