"""The cache of machine code, what may run code, and faults under way."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import pickle
import random
import signal
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from dynenvs import Worlds
from studies.trust.case import SOLVE, Case, answer, boxes, last_line, start

IMPORT = "import dynenvs.dynamics.rnea; from dynenvs.jit.cache import is_writable; is_writable()"
STOPPED = """
from dynenvs.jit.turns import WORLDS, turn_to_compile
with turn_to_compile(WORLDS, lambda: False):
    print("mine", flush=True)
    input()
"""
NOBODY = 65534


# The cache


def foreign_folder() -> str:
    """A user's folder that is named as ours are, and a month old."""
    own = Path("experiment-0123456789abcdef")
    own.mkdir()
    (own / "thesis.txt").write_text("years of work")
    os.utime(own, (1, 1))
    start(IMPORT, Path.cwd()).communicate()
    return "the folder stays" if (own / "thesis.txt").exists() else "the folder is gone"


def outdated_folders() -> str:
    """Four processes that remove the same folders."""
    from dynenvs.jit.cache import _MARK, OWN, TAG

    failed = 0
    for round_ in range(3):
        for k in range(100):
            folder = Path(f"{round_}", OWN, f"aba-{k:016x}")
            folder.mkdir(parents=True)
            (folder / TAG).write_bytes(_MARK)
            os.utime(folder, (1, 1))
        started = [start(IMPORT, Path(f"{round_}").absolute()) for _ in range(4)]
        for process in started:
            process.communicate()
            failed += process.returncode != 0
    return f"{failed} of 12 starts fail"


def no_locks() -> str:
    """A file where the folder of locks should be."""
    from dynenvs.jit.cache import OWN

    Path(OWN).mkdir(mode=0o755)
    Path(OWN, "locks").write_text("")
    process = start(SOLVE, Path.cwd())
    out, err = process.communicate()
    return f"code {process.returncode}, {out.strip() or last_line(err)}"


def stopped_compiler() -> str:
    """Ctrl-Z in the middle of compiling, and another process."""
    first = start(STOPPED, Path.cwd())
    try:
        assert first.stdout is not None
        first.stdout.readline()
        os.kill(first.pid, signal.SIGSTOP)
        begun = time.monotonic()
        _, err = start("import sys\n" + STOPPED, Path.cwd(), stdin=subprocess.DEVNULL).communicate(
            timeout=120
        )
        after = "goes on" if time.monotonic() - begun < 100 else "waits"
        told = (
            "says which process stands still" if f"process {first.pid}" in err else "says nothing"
        )
        return f"{after}, and {told}"
    finally:
        first.kill()
        first.communicate()


def flipped_bits() -> str:
    """Files of machine code with one bit flipped, each started with once."""
    start(SOLVE, Path.cwd()).communicate()
    files, draw, good = sorted(Path.cwd().rglob("*.nbc")), random.Random(2), 0
    for _ in range(12):
        file = draw.choice(files)
        data = file.read_bytes()
        bit, spoilt = draw.randrange(8 * len(data)), bytearray(data)
        spoilt[bit // 8] ^= 1 << bit % 8
        file.write_bytes(spoilt)
        process = start(SOLVE, Path.cwd())
        good += process.communicate()[0] == "[1.]\n" and process.returncode == 0
        file.write_bytes(data)
    return f"{good} of 12 starts have the answer"


class Marking:
    """What it is unpickled to: a folder, made by code of whoever wrote the file."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(Path("ran").absolute()),)


def cache_of_others() -> str:
    """Pickles in a cache that all may write."""
    from dynenvs.jit.cache import OWN

    start(SOLVE, Path.cwd()).communicate()
    for file in [*Path.cwd().rglob("*.nbi"), *Path.cwd().rglob("*.nbc")]:
        file.write_bytes(pickle.dumps(Marking()))
        file.chmod(0o666)
    Path(OWN).chmod(0o777)
    out, err = start(SOLVE, Path.cwd()).communicate()
    told = "and says so" if "others can write it" in err else "and says nothing"
    return "their code has run" if Path("ran").exists() else f"{out.strip()}, none runs, {told}"


CACHE = (
    Case("a month-old folder of the user's in `DYNENVS_CACHE_DIR`", "deleted",
         "the folder stays", ("test_cache",), foreign_folder),
    Case("four starts beside outdated folders", "18 of 24 failed with FileNotFoundError",
         "0 of 12 starts fail", ("test_cache",), outdated_folders),
    Case("locks cannot be made", "the first step failed",
         r"code 0, \[1\.\]", ("test_cache",), no_locks),
    Case("a compiler that is stopped by Ctrl-Z", "all others waited for ever",
         "goes on, and says which", ("test_cache",), stopped_compiler),
    Case("a bit flipped in a file of machine code", "13 of 66 crashed, at each start",
         "12 of 12 starts", ("test_cache", "test_first_start"), flipped_bits),
    Case("a cache that others can write", "their pickles ran",
         r"\[1\.\], none runs, and says so", ("test_cache",), cache_of_others),
)  # fmt: skip


# What may run code


def policy_on_a_node() -> str:
    """A file of somebody else's, where a policy used to be unpacked."""
    from dynenvs.agents import cluster

    tempfile.tempdir = str(Path.cwd())
    sent = cluster.File("best.zip", b"what was sent")
    digest = hashlib.sha256(sent.content).hexdigest()
    guessed = Path(f"dynenvs-{os.getuid()}-{digest[:16]}", "best.zip")
    guessed.parent.mkdir()
    guessed.write_bytes(b"somebody else's")
    return sent.unpacked().read_bytes().decode()


def policy_zip() -> str:
    """What is said before a policy's zip is unpickled."""
    from dynenvs.agents import files

    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        files.warn_of_code(Path("best.zip"))
    return said.getvalue().strip().removeprefix("dynenvs: ") or "nothing is said"


def shipped_policy() -> str:
    """Whether pickle has a part in loading what ships."""
    import torch

    from dynenvs.agents import load_policy
    from dynenvs.agents.files import shipped_file

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("pickle was asked")

    file = shipped_file("dynenvs/DoublePendulum-v0", "ppo")
    for module, name in ((pickle, "load"), (pickle, "loads"), (torch, "load")):
        setattr(module, name, refuse)
    return f"{file.suffix}: {answer(lambda: load_policy(file), 'loaded, pickle has no part in it')}"


def live_page() -> str:
    """Nonsense, two hundred connections that say nothing, and a request without the token."""
    from dynenvs.viewer import live

    before, held, threads = threading.active_count(), [], 0
    with live.LiveServer("a page", live.Channel(), "token") as server:
        port = int(urlsplit(server.url).port or 0)
        first = [_asked(port, path) for path in ("http://[::1", "/")]
        for _ in range(200):
            held.append(socket.create_connection(("127.0.0.1", port), timeout=30))
            threads = max(threads, threading.active_count() - before)
        for connection in held:
            with contextlib.suppress(OSError):
                connection.recv(1)
        return f"nonsense {first[0]}, without the token {first[1]}, {threads} threads at most"


def _asked(port: int, path: str) -> str:
    """The status of an answer."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        line = connection.makefile("rb").readline().decode()
    return line.split()[1] if line else "nothing"


CODE = (
    Case("somebody else's file where a Ray node unpacks a policy", "it was loaded",
         "what was sent$", ("test_foreign_files",), policy_on_a_node),
    Case("a stranger's policy zip", "unpickled without a word",
         "open only what you trust", ("test_foreign_files",), policy_zip),
    Case("a policy that ships", "a zip, unpickled",
         r"\.safetensors: loaded, pickle has no part", ("test_policy_card",), shipped_policy),
    Case("the live page: nonsense; no token; 200 silent connections",
         "a traceback; shown to all users; 200 threads held",
         r"nonsense 400, without the token 403, \d?\d threads", ("test_live_server",), live_page),
)  # fmt: skip


# Faults under way


def ctrl_c() -> str:
    """Ctrl-C in a call that would take days."""
    worlds = Worlds(boxes(), 64, threads=2)
    worlds.step()
    pressed: list[float] = []

    def press() -> None:
        pressed.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(1.0, press)
    timer.start()
    try:
        worlds.step(steps=10**9)
    except KeyboardInterrupt:
        took = time.monotonic() - pressed[0]
        whole = np.ptp(np.rint(worlds.time / worlds.timestep)) == 0
        soon = "within a second" if took < 1.0 else f"after {took:.1f} s"
        return f"ends {soon}, the worlds {'have made the same steps' if whole else 'are torn'}"
    return "was not heard"


FAULTS = (
    Case("Ctrl-C in `Worlds.step(steps=...)`", "came at the end of all steps, after 27 s",
         "ends within a second, the worlds have made the same steps", ("test_long_calls",), ctrl_c),
)  # fmt: skip
