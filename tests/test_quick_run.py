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
MISSING = """
import pytest

def test_needs_it(): pytest.importorskip("unheard_of")
"""
SETTINGS = """[pytest]
testpaths = tests
addopts = -m "not slow and not faults"
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


DRAWING = """
from hypothesis import given, settings, strategies as st

@settings(max_examples=5)
@given(x=st.floats())
def test_draws(x): print("drawn", x.hex())
"""


def test_hypothesis_draws_the_same_in_every_run_unless_asked(project: Path) -> None:
    """By default; random ones by a profile of their own; neither leaves anything behind."""
    (project / "tests" / "test_a.py").write_text(DRAWING)

    def drawn(*words: str) -> list[str]:
        told = run(project, "-s", *words)
        assert "1 passed" in told, told
        return [line for line in told.splitlines() if "drawn" in line]

    assert len(drawn()) >= 5
    assert drawn() == drawn()
    other = ("--hypothesis-profile=random", "--hypothesis-verbosity=normal")
    assert any(drawn(*other) != drawn() for _ in range(3))
    assert not (project / ".hypothesis" / "examples").exists()


def test_what_is_not_installed_is_told(project: Path) -> None:
    """At the start; and of each test that it was skipped, and why."""
    (project / "tests" / "test_a.py").write_text(MISSING)
    conftest = project / "tests" / "conftest.py"
    own = conftest.read_text("utf-8")
    conftest.write_text(own.replace("LIBRARIES = (", 'LIBRARIES = ("unheard_of",', 1))
    told = run(project, "-rs")
    assert "not installed, so that their tests are skipped: unheard_of" in told
    assert "could not import 'unheard_of'" in told
    assert "1 skipped" in told


def test_a_file_that_would_be_left_out_whole_is_an_error(project: Path) -> None:
    """It is to be listed, with the reason."""
    text = "import pytest\n@pytest.mark.thorough\ndef test_long(): pass\n"
    (project / "tests" / "test_b.py").write_text(text)
    assert "what has no quick test: test_b.py" in run(project)
