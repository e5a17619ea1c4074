"""The process that compiles ahead: it helps, and whatever happens to it does no harm."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dynenvs import ahead
from dynenvs.ahead import Worker, start_worker

UNIT = "dynenvs.contact.loops.hold_loops"  # small
CODE = f"""
from dynenvs import ahead, compiled
import dynenvs.contact.loops
unit = compiled._units[{UNIT!r}]
def at_hand():
    return compiled.is_compiled(unit.function)
"""


def python(code: str, cache: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A fresh interpreter with an empty cache, after `CODE`."""
    done = subprocess.run(
        [sys.executable, "-c", CODE + code],
        env={**os.environ, "DYNENVS_CACHE_DIR": str(cache), **environment},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


def test_a_worker_fills_the_cache(tmp_path: Path) -> None:
    """This process then loads what the worker compiled."""
    code = f"""
worker = ahead.Worker([{UNIT!r}])
assert not at_hand()
worker._process.wait(300)
assert worker._process.returncode == 0 and at_hand()
worker.wait_for({UNIT!r})  # it is no longer at it: no waiting
unit.function.compile(unit.arguments)
assert not unit.function.stats.cache_misses
"""
    python(code, tmp_path)


def test_a_killed_worker_leaves_nothing_broken(tmp_path: Path) -> None:
    """Killed in the middle of a kernel: this process compiles it itself."""
    code = f"""
import time
worker = ahead.Worker([{UNIT!r}])
while not worker.is_at({UNIT!r}):
    time.sleep(0.001)
worker._process.kill()
worker.wait_for({UNIT!r})
assert worker._process.wait() != 0 and not at_hand()
unit.function.compile(unit.arguments)
assert at_hand() and unit.function.stats.cache_misses
"""
    python(code, tmp_path)


def test_a_worker_that_hangs_is_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says that it is at a kernel, and never ends."""
    hanging = "import time; print('unit', flush=True); time.sleep(600)"
    monkeypatch.setattr(ahead, "_CODE", hanging.replace("{", "{{"))
    monkeypatch.setattr(ahead, "PATIENCE", 0.2)
    worker = Worker(["unit"])
    while not worker.is_at("unit"):
        time.sleep(0.001)
    assert not worker.is_at("another")
    begin = time.monotonic()
    worker.wait_for("unit")
    assert 0.2 <= time.monotonic() - begin < 5.0
    worker.stop()
    assert not worker.is_at("unit")


@pytest.mark.skipif(os.name == "nt", reason="a shell script stands for the interpreter")
def test_where_no_worker_can_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """None, or one that ends at once and is at no kernel."""
    assert start_worker([]) is None
    for executable in ("", "/somewhere/blender", "/nowhere/python3"):
        monkeypatch.setattr(sys, "executable", executable)
        assert start_worker([UNIT]) is None
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(broken.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(sys, "executable", str(broken))
    monkeypatch.setenv("DYNENVS_COMPILERS", "1")
    assert start_worker([UNIT]) is None
    monkeypatch.setenv("DYNENVS_COMPILERS", "2")
    monkeypatch.setattr(ahead, "_cores", lambda: 1)
    assert start_worker([UNIT]) is None
    monkeypatch.setattr(ahead, "_cores", lambda: 2)
    worker = start_worker([UNIT])
    assert worker is not None
    assert worker._process.wait(10) == 1
    assert not worker.is_at(UNIT)


def test_a_worker_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    """Even where that one is killed and can say nothing."""
    code = f"""
import os
worker = ahead.Worker([{UNIT!r}] * 1000)
while not worker.is_at({UNIT!r}):
    pass
print(worker._process.pid, flush=True)
os._exit(0)
"""
    pid = int(python(code, tmp_path).stdout)
    end = time.monotonic() + 10.0
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


STEP = """
import gymnasium as gym, dynenvs
env = gym.make("dynenvs/PlanarHumanoid-v0")
env.reset(seed=0)
print(env.step(env.action_space.sample() * 0)[0].tobytes().hex())
"""


@pytest.mark.slow
def test_first_step_from_an_empty_cache(tmp_path: Path) -> None:
    """It says that it compiles; the same bits come out with a worker, without, or with a dead one.

    And once everything is on disk, nothing is said.
    """
    broken = "import sys; sys.executable = '/bin/false-python'\n"
    dies = (
        "import threading, time\n"
        "def kill():\n"
        "    while not compiled._workers or not compiled._workers[0]._at: time.sleep(0.01)\n"
        "    compiled._workers[0]._process.kill()\n"
        "threading.Thread(target=kill, daemon=True).start()\n"
    )
    together = python(STEP, tmp_path / "together")
    said = [together.stderr]
    bits = {together.stdout}
    for number, start in enumerate((broken, dies)):
        done = python(start + STEP, tmp_path / str(number))
        said.append(done.stderr)
        bits.add(done.stdout)
    assert [text.count("compiling the dynamics") for text in said] == [1, 1, 1]
    again = python(STEP, tmp_path / "together")
    assert again.stderr == ""
    assert bits == {again.stdout}
