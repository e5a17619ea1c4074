"""The process that compiles ahead: it helps, and whatever happens to it does no harm."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from dynenvs.jit import ahead
from dynenvs.jit.ahead import Helper, start_helper

UNIT = "dynenvs.contact.assembly.loops.hold_loops"  # small
CODE = f"""
from dynenvs.jit import ahead
from dynenvs.jit import cache
from dynenvs.jit import compiled
import dynenvs.contact.assembly.loops
unit = compiled.units[{UNIT!r}]
names = [unit.name]
"""


def python(code: str, cache: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A fresh interpreter with an empty cache, after `CODE`."""
    done = subprocess.run(
        [sys.executable, "-c", CODE + code],
        env={**os.environ, "DYNENVS_CORE": "jit", "DYNENVS_CACHE_DIR": str(cache), **environment},
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.thorough
def test_a_helper_fills_the_cache(tmp_path: Path) -> None:
    """This process then loads what the helper compiled."""
    code = """
helper = ahead.Helper(names)
assert not unit.is_ready
helper._process.wait(1800)
assert helper._process.returncode == 0 and unit.is_ready
helper.wait_for(unit.name)  # it is no longer at it: no waiting
unit.compile()
assert not unit._made.dispatcher.stats.cache_misses
"""
    python(code, tmp_path)


@pytest.mark.thorough
def test_a_killed_helper_leaves_nothing_broken(tmp_path: Path) -> None:
    """Killed in the middle of a kernel: this process compiles it itself."""
    code = """
import time
helper = ahead.Helper(names)
while not helper.is_at(unit.name):
    time.sleep(0.001)
helper._process.kill()
helper.wait_for(unit.name)
assert helper._process.wait() != 0 and not unit.is_ready
unit.compile()
assert unit.is_ready and unit._made.dispatcher.stats.cache_misses
"""
    python(code, tmp_path)


@pytest.mark.thorough
def test_a_helper_leaves_what_this_process_has_begun(tmp_path: Path) -> None:
    """Or both would compile the same, and neither the next."""
    code = """
other = compiled.units["dynenvs.contact.assembly.loops.respect_loops"]
helper = ahead.Helper([other.name, unit.name])
helper.leave(unit.name)
assert helper._process.wait(1800) == 0
assert other.is_ready and not unit.is_ready
"""
    python(code, tmp_path)


def test_a_helper_that_hangs_is_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says that it is at a kernel, and never ends."""
    hanging = "import time; print('unit', flush=True); time.sleep(600)"
    monkeypatch.setattr(ahead, "_CODE", hanging.replace("{", "{{"))
    monkeypatch.setattr(ahead, "PATIENCE", 10 * ahead.LOOK)
    helper = Helper([("unit", ())])
    while not helper.is_at("unit"):
        time.sleep(0.001)
    assert not helper.is_at("another")
    looks: list[float] = []
    clock = SimpleNamespace(sleep=looks.append, monotonic=lambda: sum(looks))
    monkeypatch.setattr(ahead, "time", clock)
    helper.wait_for("unit")
    assert 10 <= len(looks) <= 11
    helper.stop()
    assert not helper.is_at("unit")


@pytest.mark.skipif(os.name == "nt", reason="a shell script stands for the interpreter")
def test_where_no_helper_can_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """None, or one that ends at once and is at no kernel."""
    assert start_helper([]) is None
    for executable in ("", "/somewhere/blender", "/nowhere/python3"):
        monkeypatch.setattr(sys, "executable", executable)
        assert start_helper([UNIT]) is None
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(broken.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(sys, "executable", str(broken))
    monkeypatch.setenv("DYNENVS_COMPILERS", "1")
    assert start_helper([UNIT]) is None
    monkeypatch.setenv("DYNENVS_COMPILERS", "2")
    monkeypatch.setattr(ahead, "_cores", lambda: 1)
    assert start_helper([UNIT]) is None
    monkeypatch.setattr(ahead, "_cores", lambda: 2)
    helper = start_helper([UNIT])
    assert helper is not None
    assert helper._process.wait(1800) == 1
    assert not helper.is_at(UNIT)


@pytest.mark.thorough
def test_a_helper_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    """Even where that one is killed and can say nothing."""
    code = """
import os
helper = ahead.Helper(names * 1000)
while not helper.is_at(unit.name):
    pass
print(helper._process.pid, flush=True)
os._exit(0)
"""
    pid = int(python(code, tmp_path).stdout)
    end = time.monotonic() + 1800.0
    while _runs(pid) and time.monotonic() < end:
        time.sleep(0.01)
    assert not _runs(pid)


def _runs(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    if Path("/proc/self/stat").exists():
        return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True
