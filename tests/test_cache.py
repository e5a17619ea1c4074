"""The cache of machine code removes, reads and runs only what is its own, and stops nobody."""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from filelock import Timeout

from dynenvs.jit import cache, kernel_cache, turns
from dynenvs.jit.cache import OWN, TAG

IMPORT = "import dynenvs.dynamics.rnea; from dynenvs.jit.cache import is_writable; is_writable()"
SOLVE = "from dynenvs.lcp import solve_lcp; print(solve_lcp([[1.]], [-1.]).z)"
TAKEN = """
import sys, time
from dynenvs.jit.turns import WORLDS, turn_to_compile
with turn_to_compile(WORLDS, lambda: False):
    print("mine", flush=True)
    sys.stdin.read()
"""
posix = pytest.mark.skipif(os.name == "nt", reason="Windows knows no such owners and signals")
root_alone = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files to others"
)
NOBODY = 65534


def start(code: str, folder: Path) -> subprocess.Popen[str]:
    """A fresh interpreter that keeps machine code in `folder`."""
    return subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=sys.prefix,
        env={
            **os.environ,
            "DYNENVS_CORE": "jit",
            "DYNENVS_CACHE_DIR": str(folder),
            "DYNENVS_COMPILERS": "1",
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def end(process: subprocess.Popen[str]) -> tuple[str, str]:
    """What it printed on stdout and stderr."""
    out, err = process.communicate(timeout=1800)
    assert process.returncode == 0, err
    return out, err


def unused(folder: Path, *, marked: bool) -> Path:
    """A folder named as ours are, that nobody has used for years."""
    folder.mkdir(parents=True)
    (folder / "thesis.txt").write_text("years of work")
    if marked:
        (folder / TAG).write_bytes(cache._MARK)
    os.utime(folder, (1, 1))
    return folder


# Is never stale


@pytest.mark.parametrize("edited", ["lcp/lemke.py", "jit/compiler.py", "simd/vectors_lowered.py"])
def test_an_edit_of_what_makes_machine_code_opens_new_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, edited: str
) -> None:
    """Of a callee, of the compiler, and of LLVM code of our own; not of what is no part of it."""
    copy = tmp_path / "dynenvs"
    for room in ("jit", "lcp", "simd"):
        shutil.copytree(cache._PACKAGE / room, copy / room)
    monkeypatch.setattr(cache, "_PACKAGE", copy)
    monkeypatch.setenv("DYNENVS_CACHE_DIR", str(tmp_path))

    def folder() -> Path:
        cache._imports.cache_clear()
        return cache._folder_of.__wrapped__(copy / "lcp" / "solve.py", "pipeline")

    before = folder()
    with (copy / "lcp" / "interface.py").open("a") as file:
        file.write("# edited\n")
    assert folder() == before
    with (copy / edited).open("a") as file:
        file.write("# edited\n")
    assert folder() != before


# Removes only what it has made


def test_only_marked_folders_of_its_own_are_removed(tmp_path: Path) -> None:
    name = "experiment-0123456789abcdef"
    foreign = [
        unused(tmp_path / name, marked=False),
        unused(tmp_path / "runs-0123456789abcdef", marked=True),
        unused(tmp_path / OWN / name, marked=False),
    ]
    own = unused(tmp_path / OWN / "aba-0123456789abcdef", marked=True)
    end(start(IMPORT, tmp_path))
    assert all((folder / "thesis.txt").exists() for folder in foreign)
    assert not own.exists()


@posix
def test_links_and_files_that_vanish_stop_no_start(tmp_path: Path) -> None:
    """Several processes remove the same; a link that leads nowhere looks like one removed."""
    for number in range(100):
        unused(tmp_path / OWN / f"aba-{number:016x}", marked=True)
    (tmp_path / OWN / "rnea-0123456789abcdef").symlink_to("/nowhere")
    for process in [start(IMPORT, tmp_path) for _ in range(4)]:
        assert end(process)[1] == ""
    assert not list((tmp_path / OWN).glob("aba-*"))


# Goes on by itself


def test_where_locks_cannot_be_made(tmp_path: Path) -> None:
    """A line says so, and each process compiles."""
    (tmp_path / OWN).mkdir()
    (tmp_path / OWN / "locks").write_text("")
    out, err = end(start(TAKEN.replace("sys.stdin.read()", "pass"), tmp_path))
    assert out == "mine\n"
    assert err.count("no turns can be taken") == 1
    assert err.count("\n") == 1


class Taken:
    """A lock that another process holds."""

    def acquire(self, **_: float) -> None:
        raise Timeout("")


def test_who_gives_signs_of_life_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Looks a second apart, by a clock of our own: for a hundred of them there is a new sign."""
    looks: list[int] = []

    def read(_: Path) -> str:
        looks.append(len(looks))
        return f"process 7 on earth\n{min(len(looks), 100)}"

    monkeypatch.setattr(turns, "time", SimpleNamespace(monotonic=lambda: float(len(looks))))
    monkeypatch.setattr(turns, "_read", read)
    monkeypatch.setattr(turns, "_stuck", set())
    assert not turns._wait("x", Taken(), lambda: False)
    assert 100 + turns.PATIENCE <= len(looks) <= 100 + turns.PATIENCE + 3
    assert capsys.readouterr().err.count("process 7 on earth compiles for") == 1
    looks.clear()
    assert not turns._wait("y", Taken(), lambda: False)  # it is known by now
    assert len(looks) == 1
    assert capsys.readouterr().err == ""


def test_signs_of_life_go_on_until_the_turn_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "BEAT", 0.001)
    seen: set[str] = set()
    with turns._signs_of_life(tmp_path / "x.alive"):
        while len(seen) < 5:
            seen.add(turns._read(tmp_path / "x.alive"))
    assert {turns._who(sign) for sign in seen if sign} == {
        f"process {os.getpid()} on {socket.gethostname()}"
    }


@posix
def test_a_process_that_stands_still_blocks_nobody(tmp_path: Path) -> None:
    """Stopped by Ctrl-Z in the middle of its turn: another one says so, and has its own."""
    other = start(TAKEN, tmp_path)
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == "mine\n"
        os.kill(other.pid, signal.SIGSTOP)
        out, err = end(start("import dynenvs.jit.turns as t; t.PATIENCE = 1.0" + TAKEN, tmp_path))
        assert out == "mine\n"
        assert f"process {other.pid} on" in err
        assert err.count("\n") == 1
    finally:
        other.kill()
        other.communicate()


# Runs only what it has written


class Marking:
    """What it is unpickled to: a folder, made by code of whoever wrote the file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.folder),)


def test_what_is_damaged_is_not_unpickled(tmp_path: Path) -> None:
    """Every bit counts, those of the digest, too."""
    file = tmp_path / "a.nbc"
    kernel_cache._save(str(file), pickle.dumps({"machine": "code"}))
    assert kernel_cache._load(str(file)) == {"machine": "code"}
    good = file.read_bytes()
    for bit in range(8 * len(good)):
        bad = bytearray(good)
        bad[bit // 8] ^= 1 << bit % 8
        file.write_bytes(bad)
        with pytest.raises(kernel_cache.SpoiltError, match="has been damaged"):
            kernel_cache._load(str(file))
    file.write_bytes(pickle.dumps(Marking(tmp_path / "ran")))
    with pytest.raises(kernel_cache.SpoiltError):
        kernel_cache._load(str(file))
    assert not (tmp_path / "ran").exists()


def test_a_file_under_another_name_is_not_unpickled(tmp_path: Path) -> None:
    """Machine code for other types would run on these; an index is no machine code."""
    one, two = tmp_path / "a-1.nbc", tmp_path / "a-2.nbc"
    kernel_cache._save(str(one), pickle.dumps("code"))
    one.rename(two)
    with pytest.raises(kernel_cache.SpoiltError, match="has been damaged"):
        kernel_cache._load(str(two))


@posix
def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    """A pipe, a device that never ends, a file larger than all memory: said at once."""
    pipe, device, sparse = (tmp_path / name for name in ("pipe", "device", "sparse"))
    os.mkfifo(pipe)
    device.symlink_to("/dev/zero")
    with sparse.open("wb") as file:
        file.truncate(1 << 40)
    for path in (pipe, sparse):
        with pytest.raises(kernel_cache.SpoiltError, match="no file of machine code"):
            kernel_cache._load(str(path))
    with pytest.raises(kernel_cache.SpoiltError):  # which everybody can write, too
        kernel_cache._load(str(device))


@posix
def test_what_others_can_write_is_not_unpickled(tmp_path: Path) -> None:
    file = tmp_path / "a.nbc"
    kernel_cache._save(str(file), pickle.dumps("code"))
    file.chmod(0o664)
    with pytest.raises(kernel_cache.SpoiltError, match="others can write it"):
        kernel_cache._load(str(file))


@posix
def test_written_files_are_no_others(tmp_path: Path) -> None:
    """Whatever the umask allows to others."""
    before = os.umask(0)
    try:
        cache.mark(tmp_path / "own")
        kernel_cache._save(str(tmp_path / "own" / "a.nbc"), b"")
    finally:
        os.umask(before)
    assert all(cache.is_own(path.stat()) for path in (tmp_path / "own", tmp_path / "own" / "a.nbc"))


@posix
@pytest.mark.parametrize(("owner", "own"), [(0, True), (1000, True), (1001, False)])
def test_whose_a_file_is(monkeypatch: pytest.MonkeyPatch, owner: int, own: bool) -> None:
    """Root's and one's own, seen as user 1000: also where no root runs the tests."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert cache.is_own(os.stat_result((0o100644, 1, 1, 1, owner, 1000, 0, 0, 0, 0))) is own


@posix
@pytest.mark.parametrize("way", ["mode", pytest.param("owner", marks=root_alone)])
def test_a_cache_of_others_is_not_used(tmp_path: Path, way: str) -> None:
    """A line says so; what is needed is compiled in memory, and nothing is written there."""
    own = tmp_path / OWN
    own.mkdir()
    if way == "mode":
        own.chmod(0o777)
    else:
        os.chown(own, NOBODY, NOBODY)
    begin = time.time()
    process = start(
        "from dynenvs.jit.cache import is_writable, is_trusted\n"
        "from dynenvs.lcp.gauss_seidel import gauss_seidel as k\n"
        "assert not is_trusted() and not is_writable()\n"
        "from dynenvs.jit.compiler import dispatcher_of\n"
        "assert type(dispatcher_of(k)._cache).__name__ == 'NullCache'",
        tmp_path,
    )
    _, err = end(process)
    assert err.count("belongs to another user, or others can write it") == 1
    assert err.count("\n") == 1
    assert not list(own.iterdir())
    assert own.stat().st_mtime <= begin
