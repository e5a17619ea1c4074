"""Without the accelerator of the first start: `numba.njit` alone gives and keeps the same bits.

`.ci/run` runs a selection of the other tests in this mode too, on the lowest numba as well.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from dynenvs.jit import compiling, plain

START = """
import sys
import numpy as np
from dynenvs.jit import compiled
from dynenvs.lcp import solve_lcp
A = np.array([[2.0, -1.0], [0.5, 3.0]])
print(solve_lcp(A, np.array([-1.0, -0.3])).z.tobytes().hex())
private = {f"dynenvs.jit.{name}" for name in ("pipeline", "linking", "kernel_cache")}
print(sorted(private & set(sys.modules)))
"""


def run(cache: Path, compiler: str) -> subprocess.CompletedProcess[str]:
    """A fresh interpreter that keeps machine code in `cache`."""
    return subprocess.run(
        [sys.executable, "-c", START],
        env={
            **os.environ,
            "DYNENVS_CACHE_DIR": str(cache),
            "DYNENVS_COMPILER": compiler,
            "DYNENVS_CORE": "jit",
        },
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )


@pytest.mark.thorough
def test_the_same_bits_come_out_and_are_kept(tmp_path: Path) -> None:
    """A second start compiles nothing; nothing that numba keeps to itself is imported."""
    expected = run(tmp_path, "").stdout.splitlines()[0]
    for _ in range(2):
        found = run(tmp_path, "plain")
        assert found.stdout.splitlines() == [expected, "[]"]
        files = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nbc")}
        assert files
    before = files
    assert run(tmp_path, "plain").stderr == ""
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nbc")} == before


@pytest.mark.thorough
def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    found = run(file / "cache", "plain")
    assert found.returncode == 0, found.stderr


def test_an_unknown_compiler_is_one_line(tmp_path: Path) -> None:
    found = run(tmp_path, "fast")
    assert found.returncode != 0
    assert "DYNENVS_COMPILER is 'fast': it may be 'plain', or not be set" in found.stderr


def test_a_numba_that_the_accelerator_does_not_know_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line beside the message that something is compiled."""
    monkeypatch.setattr(numba, "__version__", "0.99.1")
    assert not plain.is_known()

    class Part:
        name, seconds, is_ready = "a part", 60.0, False

        def compile(self) -> None: ...

    monkeypatch.setattr(compiling, "start_helper", lambda _: None)
    compiling._compile("a test", [Part()])
    told = capsys.readouterr().err.splitlines()
    assert told[1] == "dynenvs: numba 0.99.1 compiles in its own way, slower than 0.68 here"
