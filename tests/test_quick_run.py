"""What a bare `pytest` leaves out, and what it does not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
TESTS = """
import pytest

@pytest.mark.parametrize("k", range(9))
def test_many(k): pass

@pytest.mark.thorough
def test_long(): pass

@pytest.mark.slow
def test_for_minutes(): pass
"""
SETTINGS = """[pytest]
testpaths = tests
addopts = -m "not slow"
markers =
    thorough: t
    slow: s
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of three tests under our `conftest.py`."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text(TESTS)
    (tmp_path / "tests" / "conftest.py").write_text((FOLDER / "conftest.py").read_text("utf-8"))
    (tmp_path / "pytest.ini").write_text(SETTINGS)
    return tmp_path


def run(project: Path, *words: str) -> str:
    """What pytest prints."""
    path = os.pathsep.join([str(FOLDER), str(FOLDER.parent)])
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *words],
        cwd=project,
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    ).stdout


@pytest.mark.parametrize(
    ("words", "passed"),
    [
        ((), 3),
        (("-n2",), 3),
        (("--all",), 10),
        (("--all", "-n2"), 10),
        (("tests/test_a.py", "-n2"), 10),
        (("-k", "many or long"), 10),
        (("-k", "many or long", "-n2"), 10),
        (("-m", "slow"), 1),
        (("-m", "thorough"), 1),
    ],
)
def test_how_many_run(project: Path, words: tuple[str, ...], passed: int) -> None:
    """Three of nine cases alone; all where they are asked for; workers agree."""
    told = run(project, *words)
    assert f"{passed} passed" in told, told
    assert ("pytest --all" in told) == (passed == 3)


def test_a_file_that_would_be_left_out_whole_is_an_error(project: Path) -> None:
    """It is to be listed, with the reason."""
    text = "import pytest\n@pytest.mark.thorough\ndef test_long(): pass\n"
    (project / "tests" / "test_b.py").write_text(text)
    assert "what has no quick test: test_b.py" in run(project)
