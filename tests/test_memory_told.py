"""Memory is told before it is asked for: of the machine, of the container, of the process."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import dynenvs.model.model as limits
from dynenvs import Model, ModelBuilder, Worlds, free
from dynenvs.model.model import available_bytes

CODE = """
import resource
from dynenvs import ModelBuilder, Worlds, free
builder = ModelBuilder().half_space("floor").body("a", joint=free(), density=1.0)
model = builder.sphere("s", "a", radius=0.1).build()
size = model.state_dtype.itemsize
worlds = Worlds(model, 1000)
worlds.step()
have = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (have + 10**9,) * 2)
worlds = Worlds(model, 100_000_000 // size)  # a tenth of it
worlds.step()
print("stepped", len(worlds))
try:
    Worlds(model, 2_000_000_000 // size)
except ValueError as error:
    print(error)
"""


def ball() -> Model:
    builder = ModelBuilder().half_space("floor").body("a", joint=free(), density=1.0)
    return builder.sphere("s", "a", radius=0.1).build()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_worlds_for_which_there_is_no_room_are_refused_with_figures() -> None:
    """A fitting number is made and stepped; what asks for more than the limit is told both."""
    run = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    stepped, refused = run.stdout.splitlines()
    assert stepped.startswith("stepped ")
    told = re.fullmatch(
        r"\d+ worlds of this model need 2\.\d GB, more than the (0\.\d) GB that are free", refused
    )
    assert told is not None, refused
    assert 0.5 < float(told[1]) <= 1.0


def test_a_container_has_what_it_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its control group; "max" is no limit."""
    most, used = tmp_path / "max", tmp_path / "current"
    monkeypatch.setattr(limits, "GROUPS", ((str(most), str(used)),))
    monkeypatch.setattr(limits, "LARGE", 1000)
    used.write_text("5000000\n")
    most.write_text("max\n")
    before = available_bytes()
    assert before > 8_000_000
    most.write_text("8000000\n")
    assert available_bytes() == 3_000_000
    monkeypatch.setattr("dynenvs.simulation.worlds.LARGE", 1000)
    model = ball()
    count = 4_000_000 // model.state_dtype.itemsize
    with pytest.raises(ValueError, match=rf"{count} worlds .* than the 0\.0 GB that are free"):
        Worlds(model, count)
    most.write_text("4000000\n")
    assert available_bytes() == 0


def test_files_are_as_private_as_the_umask_says(tmp_path: Path) -> None:
    """And stay as they were made when they are written anew."""
    import os

    from dynenvs import save

    before = os.umask(0o077)
    try:
        save(ball(), tmp_path / "a.json")
        assert (tmp_path / "a.json").stat().st_mode & 0o777 == 0o600
        os.umask(0o022)
        save(ball(), tmp_path / "a.json")
        assert (tmp_path / "a.json").stat().st_mode & 0o777 == 0o600
        save(ball(), tmp_path / "b.json")
        assert (tmp_path / "b.json").stat().st_mode & 0o777 == 0o644
    finally:
        os.umask(before)
