"""The first start: compiled once a machine, told honestly, interrupted without harm."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from itertools import product
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from dynenvs.envs.core import worlds
from dynenvs.jit import compiled, compiling, interrupts
from dynenvs.jit.cache import OWN
from dynenvs.jit.compiled import entry, kernel, unit
from dynenvs.jit.estimate import Speed
from dynenvs.memory.layout import Floats

MINUTES = 600.0  # of which an interrupt is to leave nothing [s]
UNIT = "dynenvs.contact.assembly.loops.hold_loops"  # small
COMPILE = f"""
import sys
from dynenvs.jit import compiled
from dynenvs.jit import compiling
import dynenvs.contact.assembly.loops
unit = compiled.units[{UNIT!r}]
unit.seconds = 60.0
compiling.compile_units("a test", [unit])
unit.link()
print(sum(unit._made.dispatcher.stats.cache_misses.values()))
"""


def start(code: str, cache: Path | str, **environment: str) -> subprocess.Popen[str]:
    """A fresh interpreter that keeps machine code in `cache`."""
    return subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=sys.prefix,  # not in the checkout, which would come first on the path
        env={**os.environ, "DYNENVS_CORE": "jit", "DYNENVS_CACHE_DIR": str(cache), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def end(process: subprocess.Popen[str]) -> tuple[str, str]:
    """What it printed on stdout and stderr."""
    out, err = process.communicate(timeout=1800)
    assert process.returncode == 0, err
    return out, err


# Once a machine


@pytest.mark.thorough
def test_processes_compile_once_together(tmp_path: Path) -> None:
    """Three at a time on an empty cache: one compiles, the others wait and load."""
    told = [end(process) for process in [start(COMPILE, tmp_path) for _ in range(3)]]
    assert sorted(int(out) for out, _ in told) == [0, 0, 1]
    assert sum("compiled in" in err for _, err in told) == 1


@pytest.mark.thorough
def test_installations_share_the_cache(tmp_path: Path) -> None:
    """The same sources elsewhere, with other dates, load what the first have compiled."""
    code = COMPILE + "print(compiled.__file__)"
    assert end(start(code, tmp_path / "cache"))[0].split()[0] == "1"
    package = Path(compiled.__file__).parents[1]
    shutil.copytree(package, tmp_path / "elsewhere" / "dynenvs", copy_function=shutil.copy)
    out, err = end(start(code, tmp_path / "cache", PYTHONPATH=str(tmp_path / "elsewhere")))
    assert out.split()[0] == "0"
    assert str(tmp_path / "elsewhere") in out
    assert err == ""


@pytest.mark.thorough
def test_spoilt_files_are_compiled_again(tmp_path: Path) -> None:
    """An index or machine code that ends too early, or with another bit in it: as good as none."""

    def other_bit(content: bytes) -> bytes:
        middle = len(content) // 2
        return content[:middle] + bytes([content[middle] ^ 4]) + content[middle + 1 :]

    for kind, spoil in product(("*.nbi", "*.nbc"), (lambda content: content[:20], other_bit)):
        end(start(COMPILE, tmp_path))
        for file in tmp_path.rglob(kind):
            file.write_bytes(spoil(file.read_bytes()))
        out, err = end(start(COMPILE, tmp_path))
        assert out == "1\n"
        assert "has been damaged: compiling again" in err
        assert end(start(COMPILE, tmp_path))[0] == "0\n"


# Honestly


@pytest.mark.thorough
def test_the_message_says_what_how_long_and_where(tmp_path: Path) -> None:
    _, err = end(start(COMPILE, tmp_path, DYNENVS_COMPILERS="1"))
    lines = err.splitlines()
    assert lines[0] == (
        f"dynenvs: compiling a test: one part, about 60 to 180 s on one core; kept in "
        f"{tmp_path / OWN}"
    )
    assert lines[1].startswith("dynenvs: compiled in ")
    assert len(lines) == 2
    assert end(start(COMPILE, tmp_path))[1] == ""


@pytest.mark.thorough
def test_a_cache_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """It compiles in memory, and says that it will do so at every start."""
    file = tmp_path / "file"
    file.touch()
    out, err = end(start(COMPILE, file / "cache"))
    assert out == "1\n"
    assert "is not writable, so this will happen at every start: set DYNENVS_CACHE_DIR" in err


@pytest.mark.thorough
def test_a_full_disk_is_told_once(tmp_path: Path) -> None:
    full = """
import errno, os
from dynenvs.jit.kernel_cache import _Files
def fail(self, name, data):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
_Files._save_data = fail
"""
    more = "compiled.units['dynenvs.contact.assembly.loops.respect_loops'].link()"
    _, err = end(start(full + COMPILE + more, tmp_path, DYNENVS_COMPILERS="1"))
    assert err.count("No space left on device") == 1
    assert err.count("cannot keep machine code in") == 1


@entry(seconds=60)
def _called_by_a_function(x: float) -> float:
    return 3.0 * x


def test_what_a_function_calls_is_told_the_first_time(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No silent wait: as `solve_lcp`, `aba` and `inverse_dynamics` do."""
    monkeypatch.setattr(compiling, "compiles_elsewhere", lambda _: False)
    monkeypatch.setattr(compiling, "_speed", Speed())
    compiled.prepare("a test", [_called_by_a_function], ())
    first = capsys.readouterr().err
    assert first.startswith(
        "dynenvs: compiling a test: one part, about 60 to 180 s on one core; kept"
    )
    compiled.prepare("a test", [_called_by_a_function], ())
    assert capsys.readouterr().err == ""


@unit("seldom")
def _seldom_needed(x: Floats) -> int:
    x[0] = 1.0
    return 3


@entry
def _seldom_calls_it(x: Floats) -> int:
    return int(_seldom_needed(x)) if x[0] > 0.0 else 0


def test_what_first_steps_do_without_is_a_helpers_later_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is not waited for; a call that needs it finds it."""
    monkeypatch.setattr(compiling, "_later", {})
    unit, x = compiled.units[f"{__name__}._seldom_needed"], np.zeros(1)
    compiled.prepare("a test", [_seldom_calls_it], ())
    assert unit.name in compiling._later
    assert _seldom_calls_it(x) == 0
    assert not unit.is_linked
    assert _seldom_calls_it(np.ones(1)) == 3
    assert unit.is_linked


# Interrupted


@unit("test_first_start")
def _slow_to_compile(x: Floats) -> int:
    x[0] += 1.0
    return 7


@kernel
def _calls_it(x: Any) -> int:
    answer = _slow_to_compile(x)
    x[1] = 5.0
    return int(answer)


def test_an_interrupt_waits_for_the_kernel_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a kernel's call of another one nobody would hear of it: it comes right afterwards."""
    unit = compiled.units[f"{__name__}._slow_to_compile"]
    compile_it = unit.link

    def interrupted() -> None:
        signal.raise_signal(signal.SIGINT)
        compile_it()

    monkeypatch.setattr(unit, "link", interrupted)
    before = signal.getsignal(signal.SIGINT)
    x, answers = np.zeros(2), []

    def work() -> None:
        answers.append(_calls_it(x))
        threading.Event().wait(MINUTES)
        answers.append(0)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert answers == [7]  # it wakes up who sleeps
    np.testing.assert_array_equal(x, [1.0, 5.0])
    assert signal.getsignal(signal.SIGINT) is before
    assert not interrupts._before


@kernel
def _compiled_late(x: Any) -> Any:
    return 2.0 * x


def test_an_interrupt_while_llvm_makes_machine_code_is_not_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """LLVM, which takes seconds for a large kernel, calls Python at the end: Ctrl-C acts there."""
    engine = _compiled_late._for_python.targetctx.codegen()._engine._ee  # type: ignore[attr-defined]
    plain, called = engine._object_cache_notify, []

    def interrupted(module: Any, code: bytes) -> None:
        if not called:
            called.append(True)
            signal.raise_signal(signal.SIGINT)
        plain(module, code)

    monkeypatch.setattr(engine, "_object_cache_notify", interrupted)
    before = signal.getsignal(signal.SIGINT)

    def work() -> None:
        assert _compiled_late(3.0) == 6.0
        time.sleep(MINUTES)  # it may come a moment after a compiling as short as this one

    with pytest.raises(KeyboardInterrupt):
        work()
    assert called
    assert signal.getsignal(signal.SIGINT) is before
    assert _compiled_late(3.0) == 6.0


@pytest.mark.parametrize("name", ["dynenvs/DoublePendulum-v0", "dynenvs/PlanarHumanoid-v0"])
def test_an_interrupt_while_compiling_changes_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reset and step raise KeyboardInterrupt with the state that was; the next call goes on."""
    env = gym.make(name, disable_env_checker=True).unwrapped
    env.reset(seed=0)
    state = env.get_state()
    expected = env.step(env.action_space.low)
    env.set_state(state)

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    for act in (lambda: env.step(env.action_space.low), lambda: env.reset(seed=1)):
        with monkeypatch.context() as patched:
            patched.setattr(env.worlds, "_prepared", False)
            patched.setattr(worlds, "prepare", interrupt)
            with pytest.raises(KeyboardInterrupt):
                act()
        now = env.get_state()
        assert all(now[part].tobytes() == state[part].tobytes() for part in state)
    found = env.step(env.action_space.low)
    assert found[0].tobytes() == expected[0].tobytes()


STEP = """
import os, signal, sys, threading
import gymnasium as gym, dynenvs
env = gym.make("dynenvs/PlanarHumanoid-v0").unwrapped
if len(sys.argv) > 1:
    threading.Timer(float(sys.argv[1]), lambda: os.kill(os.getpid(), signal.SIGINT)).start()
while True:
    try:
        env.reset(seed=0)
        observation, _, _, truncated, _ = env.step(env.action_space.low * 0)
        break
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
assert not truncated
print(observation.tobytes().hex())
"""


@pytest.mark.slow
def test_first_steps_from_an_empty_cache_give_the_same_bits(tmp_path: Path) -> None:
    """With a helper, without, without a cache, and interrupted in the middle of compiling."""
    out, err = end(start(STEP, tmp_path / "a"))
    assert err.count("compiling the dynamics of PlanarHumanoid") == 1
    assert end(start(STEP, tmp_path / "a")) == (out, "")
    assert end(start(STEP, tmp_path / "b", DYNENVS_COMPILERS="1"))[0] == out
    for seconds in (4, 9, 15):
        cut = STEP.replace("len(sys.argv) > 1", "True").replace("sys.argv[1]", str(seconds))
        again, err = end(start(cut, tmp_path / str(seconds)))
        assert again == out
        assert err.count("interrupted") == 1


WORKERS = """
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import SubprocVecEnv
if __name__ == "__main__":
    envs = make_vec_env("dynenvs:dynenvs/Humanoid-v0", 16, vec_env_cls=SubprocVecEnv)
    envs.reset()
    for _ in range(3):
        envs.step([envs.action_space.sample() for _ in range(16)])
    envs.close()
"""


@pytest.mark.slow
def test_of_sixteen_processes_one_compiles(tmp_path: Path) -> None:
    """stable-baselines3's own process a world, on an empty cache: the others wait and load."""
    pytest.importorskip("stable_baselines3")
    script = tmp_path / "workers.py"
    script.write_text(WORKERS)
    process = subprocess.Popen(
        [sys.executable, str(script)],
        env={**os.environ, "DYNENVS_CORE": "jit", "DYNENVS_CACHE_DIR": str(tmp_path / "cache")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    _, told = end(process)
    assert told.count("compiling the dynamics") == 1
