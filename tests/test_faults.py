"""What befalls a machine, to whole processes: nothing finished is lost (`pytest -m faults`).

Quicker ones of the kind run always: `test_journal.py` (collections), `test_stopping.py` (training),
`test_cache.py`, `test_ahead.py` and `test_first_start.py` (machine code), `test_ray.py` (nodes).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from learning import PENDULUM, SMALL, content

import dynenvs
from dynenvs import ModelBuilder, free
from dynenvs.agents.errors import UserError, told_plainly

resource = pytest.importorskip("resource")  # Windows has no such limits
pytestmark = pytest.mark.faults

NOWHERE = "/proc/no-such-home"  # where not even root can write
PATIENCE = 600.0  # [s]
EPISODES, STEPS = 6, 200
RANDOM = ("double-pendulum", "--agent", "random", "--name", "random-v0", "--episodes")
SHORT = ("--option", f"max_episode_steps={STEPS}")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, to work in and for datasets."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "datasets"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def begin(*words: str, limit: tuple[str, int] | None = None, **options: Any) -> Any:
    """A process of Python's; `limit` is one of its resources' names, and how much of it it gets."""

    def bounded() -> None:
        if limit is not None:
            resource.setrlimit(getattr(resource, limit[0]), (limit[1], limit[1]))

    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
    return subprocess.Popen([sys.executable, *words], preexec_fn=bounded, **pipes)


def command(*words: str, **options: Any) -> Any:
    """A command of dynenvs."""
    return begin("-m", "dynenvs", *words, **options)


def end(process: Any, code: int | None = 0) -> tuple[str, str]:
    """Wait for a process; what it has said."""
    out, err = process.communicate(timeout=PATIENCE)
    assert code is None or process.returncode == code, (process.returncode, out, err)
    return out or "", err or ""


def wait_until(happened: Callable[[], bool], process: Any) -> None:
    """Until something has happened, while a process runs."""
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.005)


def kill(process: Any) -> None:
    """kill -9"""
    process.send_signal(signal.SIGKILL)
    process.communicate()


# Collections


def collect(*words: str, count: int = EPISODES, **options: Any) -> Any:
    pytest.importorskip("minari")
    return command("collect", *RANDOM, str(count), *SHORT, *words, **options)


def is_whole(place: Path, count: int = EPISODES) -> bool:
    """Whether the dataset is there, is what its seeds lead to, and nothing else lies about."""
    from dynenvs.agents.data.dataset import open_dataset
    from dynenvs.agents.data.replay import replay

    opened = open_dataset("double-pendulum/random-v0")
    assert len(content(opened.id)) == count
    return replay(opened) == [] and not list((place / "datasets").rglob(".*"))


def journal(place: Path) -> Path:
    return place / "datasets/dynenvs/double-pendulum/.random-v0.unfinished"


def kept(place: Path) -> int:
    """Episodes that an unfinished collection has."""
    file = journal(place)
    return file.read_bytes().count(b'"number"') if file.is_file() else 0


def test_collect_killed_again_and_again(place: Path) -> None:
    """Each time it has more, until it is done."""
    count, before = 1500, 0
    for _ in range(3):
        process = collect(count=count)
        wait_until(lambda: kept(place) > before, process)  # noqa: B023
        kill(process)
        assert kept(place) >= before
        before = kept(place)
    end(collect(count=count))
    assert is_whole(place, count)


@pytest.mark.parametrize("size", [0, 30_000, 100_000])
def test_collect_on_a_full_disk(place: Path, size: int) -> None:
    """A line, no traceback; with room again it goes on."""
    _, err = end(collect(limit=("RLIMIT_FSIZE", size)), 2)
    assert "Traceback" not in err
    assert "cannot write" in err
    end(collect())
    assert is_whole(place)


@pytest.mark.parametrize("more", [1, 8, 32, 64])
def test_collect_without_memory(place: Path, more: int) -> None:
    """So many MB beyond what it has when it begins; the machine may end it in any way."""
    code = BOUNDED.format(more=more) + (
        "import sys\nfrom dynenvs import cli\n"
        f"sys.argv = ['dynenvs', 'collect', *{RANDOM!r}, '3000', *{SHORT!r}]\n"
        "import dynenvs.agents.data.collect, dynenvs.envs.pendulum.double_pendulum\n"
        "bound()\ncli.main()\n"
    )
    pytest.importorskip("minari")
    process = begin("-c", code)
    end(process, None)
    before = kept(place)
    if process.returncode:
        end(collect(count=max(before, EPISODES)))
    count = 3000 if not process.returncode else max(before, EPISODES)
    assert is_whole(place, count)


BOUNDED = """
import resource
def bound():
    pages = int(open('/proc/self/statm').read().split()[0])
    most = pages * resource.getpagesize() + {more} * 10**6
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
"""


def test_two_collections_of_one_name(place: Path) -> None:
    """Of two at a time one is refused in a line, and the other is whole."""
    first, second = collect(count=400), collect(count=400)
    said = [end(one, None)[1] for one in (first, second)]
    codes = sorted((first.returncode, second.returncode))
    assert codes == [0, 2], said
    refused = said[0 if first.returncode else 1]
    assert "another process is at" in refused or "there is a dataset" in refused
    assert is_whole(place, 400)


def test_collect_whose_parent_is_lost(place: Path) -> None:
    """A shell that is killed takes nothing with it: its command ends by itself, all is there."""
    words = [sys.executable, "-m", "dynenvs", "collect", *RANDOM, "300", *SHORT]
    pytest.importorskip("minari")
    code = (
        "import subprocess\n"
        f"child = subprocess.Popen({words!r}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)\n"
        "print(child.pid, flush=True)\nchild.wait()\n"
    )
    parent = begin("-c", code)
    child = int(parent.stdout.readline())
    wait_until(lambda: journal(place).exists() or not is_running(child), parent)
    kill(parent)
    deadline = time.monotonic() + PATIENCE
    while is_running(child):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    if journal(place).exists():
        end(collect(count=300))
    assert is_whole(place, 300)


def is_running(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    try:
        return status.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_collect_whose_reader_has_gone(place: Path) -> None:
    """A broken pipe is no reason to lose what is done."""
    read, write = os.pipe()
    os.close(read)
    _, err = end(collect(stdout=write), None)
    os.close(write)
    assert "Traceback" not in err
    assert is_whole(place)


@pytest.mark.parametrize("words", ["", "Unable to allocate 8.00 EiB"])
def test_no_memory_is_told_in_a_line(words: str) -> None:
    """Where Python or NumPy is refused it; what a library of C does then is its own matter."""

    def command() -> None:
        raise MemoryError(words)

    with pytest.raises(UserError, match=f"not enough memory: {words or 'none is left'}"):
        told_plainly(command)()


# A home that takes no files


def test_a_home_that_cannot_be_written(place: Path) -> None:
    """Commands that need a place say so in a line, others do without."""
    env = {**os.environ, "DYNENVS_CORE": "jit", "HOME": NOWHERE, "XDG_CACHE_HOME": NOWHERE}
    env.pop("MINARI_DATASETS_PATH")
    _, err = end(collect(env=env), 2)
    # What it begins, that machine code is not kept, and why it ends
    said = err.strip().splitlines()
    assert len(said) <= 3
    assert all(line.startswith("dynenvs: ") for line in said)
    assert NOWHERE in said[-1]
    env.pop("DYNENVS_CACHE_DIR", None)
    out, err = end(begin("-c", SOLVE, env=env))
    assert out == WANTED
    assert "not writable" in err


SOLVE = "import dynenvs; print(*dynenvs.solve_lcp([[2.0]], [-1.0]).z)"
WANTED = "0.5\n"


# Machine code


def test_compiling_killed_again_and_again(place: Path) -> None:
    """Whatever it has left, the next start has the answer, and the one after finds it all made."""
    env = {**os.environ, "DYNENVS_CORE": "jit", "DYNENVS_CACHE_DIR": str(place / "cache")}
    for seconds in (1.0, 2.0, 4.0, 6.0):
        process = begin("-c", SOLVE, env=env)
        try:
            process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            kill(process)
    assert end(begin("-c", SOLVE, env=env))[0] == WANTED
    out, err = end(begin("-c", SOLVE, env=env))
    assert (out, "compiling" in err) == (WANTED, False)


@pytest.mark.parametrize("more", [1, 40, 120])
def test_compiling_without_memory(place: Path, more: int) -> None:
    """However it ends, what was compiled before is there to the byte, and the next start goes on.

    So many MB beyond what the compiler has when it is loaded: OpenBLAS, which numba loads when it
    first compiles, waits for ever where there is not even room to load it.
    """
    env = {**os.environ, "DYNENVS_CORE": "jit", "DYNENVS_CACHE_DIR": str(place / "cache")}
    end(begin("-c", OTHER, env=env))
    before = {file: file.read_bytes() for file in finished(place)}
    assert before
    load = "import dynenvs.jit.compiler, dynenvs.jit.pipeline, numba.np.arraymath\n"
    code = load + BOUNDED.format(more=more)
    process = begin("-c", f"{code}bound()\n{SOLVE}", env=env)
    out, err = end(process, None)
    if process.returncode > 0:
        assert "memory" in err.strip().splitlines()[-1].lower(), err
    assert out == (WANTED if process.returncode == 0 else "")
    for file, data in before.items():
        assert file.read_bytes() == data
    assert end(begin("-c", SOLVE, env=env))[0] == WANTED
    assert "compiling" not in end(begin("-c", SOLVE, env=env))[1]


OTHER = """
import numpy as np
from dynenvs.lcp.roots import find_root
find_root(np.eye(2), 2, np.zeros((2, 2)), np.zeros(2))
"""


def finished(place: Path) -> list[Path]:
    """Files of machine code."""
    return sorted((place / "cache").rglob("*.nb[ci]"))


@pytest.mark.parametrize("size", [0, 20_000])
def test_compiling_on_a_full_disk(place: Path, size: int) -> None:
    """It is told, the answer comes, and what is there is no half file."""
    env = {**os.environ, "DYNENVS_CORE": "jit", "DYNENVS_CACHE_DIR": str(place / "cache")}
    out, err = end(begin("-c", SOLVE, env=env, limit=("RLIMIT_FSIZE", size)))
    assert out == WANTED
    assert "Traceback" not in err
    assert end(begin("-c", SOLVE, env=env))[0] == WANTED


# Learning


def changes(steps: int = 512) -> list[str]:
    """Settings of a small run."""
    import json

    own = {**SMALL, "n_timesteps": steps}
    return [f"--set={name}={json.dumps(value)}" for name, value in own.items()]


def train(*words: str, **options: Any) -> Any:
    pytest.importorskip("stable_baselines3")
    return command("train", "ppo", "double-pendulum", "--out", "run", *words, **options)


def steps_of(file: str) -> int:
    """Of a run's checkpoint, 0 before there is one; it must be whole."""
    from dynenvs.agents.policy_file import load_model, read_note

    if not Path(file).is_file():
        return 0
    load_model(Path(file), PENDULUM)
    return int(read_note(Path(file))["steps"])


def test_train_killed_again_and_again(place: Path) -> None:
    """Each checkpoint is whole; the run goes on from it and is finished."""
    process, before = train(*changes(4096)), 0
    for _ in range(3):
        file = place / "run/last.zip"
        stamp = file.stat().st_mtime_ns if file.exists() else 0
        wait_until(lambda: file.exists() and file.stat().st_mtime_ns != stamp, process)  # noqa: B023
        kill(process)
        assert steps_of("run/last.zip") >= before
        before = steps_of("run/last.zip")
        process = train("--resume")
    end(process)
    assert steps_of("run/last.zip") == 4096
    assert steps_of("run/best.zip") > 0


@pytest.mark.parametrize(("missing", "message"), [(100, "cannot write"), (10**9, "cannot unpack")])
def test_train_on_a_full_disk(place: Path, missing: int, message: str) -> None:
    """What is there stays to the byte, and with room again it goes on."""
    end(train(*changes()))
    before = {name: Path("run", name).read_bytes() for name in ("last.zip", "best.zip")}
    room = max(2000, len(before["last.zip"]) - missing)  # for one file
    _, err = end(train("--resume", "--steps", "1024", limit=("RLIMIT_FSIZE", room)), 2)
    assert "Traceback" not in err
    assert message in err
    for name, data in before.items():
        assert Path("run", name).read_bytes() == data
    end(train("--resume", "--steps", "1024"))
    assert steps_of("run/last.zip") == 1024


def test_train_without_memory(place: Path) -> None:
    """However the machine ends it, the checkpoint of before is whole."""
    end(train(*changes()))
    before = steps_of("run/last.zip")
    code = BOUNDED.format(more=8) + (
        "import sys\nfrom dynenvs import cli\nimport dynenvs.agents.learn.train\n"
        "sys.argv = ['dynenvs', 'train', 'ppo', 'double-pendulum', '--out', 'run', '--resume',"
        " '--steps', '2048']\nbound()\ncli.main()\n"
    )
    end(begin("-c", code), None)
    assert steps_of("run/last.zip") >= before > 0
    end(train("--resume", "--steps", "2048"))
    assert steps_of("run/last.zip") == 2048


CLONE = ("clone", "double-pendulum", "--episodes", "1", "--set", "net_arch=[8]", "--out", "p.zip")


def test_clone_killed(place: Path) -> None:
    """The policy of before stays until another one is finished, and the draft acts."""
    pytest.importorskip("stable_baselines3")
    end(command(*CLONE, "--gradient-steps", "20"))
    before = Path("p.zip").read_bytes()
    often = (
        "import sys\nfrom dynenvs.agents.learn import draft\nfrom dynenvs import cli\n"
        f"draft.CLOCK = 0.0\nsys.argv = ['dynenvs', *{CLONE!r}, '--gradient-steps', '5000']\n"
        "cli.main()\n"
    )
    process = begin("-c", often)
    wait_until(Path("p.unfinished.zip").is_file, process)
    kill(process)
    assert Path("p.zip").read_bytes() == before
    steps_of("p.unfinished.zip")
    end(command(*CLONE, "--gradient-steps", "30"))
    assert Path("p.zip").read_bytes() != before
    assert not Path("p.unfinished.zip").exists()


def test_clone_on_a_full_disk(place: Path) -> None:
    pytest.importorskip("stable_baselines3")
    end(command(*CLONE, "--gradient-steps", "20"))
    before = Path("p.zip").read_bytes()
    full = command(*CLONE, "--gradient-steps", "30", limit=("RLIMIT_FSIZE", 1000))
    _, err = end(full, 2)
    assert "Traceback" not in err
    assert "cannot write" in err
    assert Path("p.zip").read_bytes() == before


def test_clone_without_memory(place: Path) -> None:
    pytest.importorskip("stable_baselines3")
    end(command(*CLONE, "--gradient-steps", "20"))
    before = Path("p.zip").read_bytes()
    code = BOUNDED.format(more=8) + (
        "import sys\nfrom dynenvs import cli\nimport dynenvs.agents.learn.cloning\n"
        f"sys.argv = ['dynenvs', *{CLONE!r}, '--gradient-steps', '30']\nbound()\ncli.main()\n"
    )
    process = begin("-c", code)
    end(process, None)
    assert (Path("p.zip").read_bytes() == before) == (process.returncode != 0)


# Models


def model() -> Any:
    """A ball over a floor."""
    builder = ModelBuilder()
    builder.half_space("floor")
    builder.body("ball", joint=free(), mass=1.0, inertia=(1.0, 1.0, 1.0))
    builder.sphere("round", "ball", radius=0.1)
    return builder.build()


SAVE = """
import sys, dynenvs
model = dynenvs.load("a.json")
while True:
    dynenvs.save(model, "b.json")
    print("saved", flush=True)
    if len(sys.argv) > 1:
        break
"""


def test_save_killed_again_and_again(place: Path) -> None:
    """At any moment the file is whole."""
    dynenvs.save(model(), place / "a.json")
    for _ in range(5):
        process = begin("-c", SAVE)
        process.stdout.readline()
        kill(process)
        found = dynenvs.load(place / "b.json")
        np.testing.assert_array_equal(found.packed, dynenvs.load(place / "a.json").packed)


def test_save_on_a_full_disk_and_without_memory(place: Path) -> None:
    dynenvs.save(model(), place / "a.json")
    dynenvs.save(model(), place / "b.json")
    before = (place / "b.json").read_bytes()
    _, err = end(begin("-c", SAVE, "once", limit=("RLIMIT_FSIZE", 100)), 1)
    assert "cannot write 'b.json'" in err
    assert (place / "b.json").read_bytes() == before
    little = BOUNDED.format(more=0) + SAVE.replace("while True:", "bound()\nwhile True:")
    end(begin("-c", little, "once"), None)
    assert (place / "b.json").read_bytes() == before
    assert not list(place.glob(".*"))
